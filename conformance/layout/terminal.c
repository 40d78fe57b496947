/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of a layout in letters, with or without ANSI colours. */
#include "picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 12, LEAST_EDGE = 7 };

typedef struct sheet {
    const picture *p;
    const picture_table *t;
    strbuf *out;
    int head_w[MXO_LAYOUT_DIGITS];
    int edge_w; /* rows or offsets, below the names of the columns' digits */
    int cell_w;
    int gap_w; /* of columns that are left out */
    int colour;
} sheet;

/* Backgrounds of the 256 colours nearest to those of the SVG; text black. */
static const int background[PICTURE_COLOURS] = {110, 222, 209, 117,
                                                149, 217, 79,  142};

static void spaces(strbuf *out, int n)
{
    strbuf_add(out, "%*s", n > 0 ? n : 0, "");
}

static int at_least(int n, int least)
{
    return n > least ? n : least;
}

static void measure(sheet *s)
{
    const picture_side *rows = &s->t->rows;
    const picture_side *cols = &s->t->cols;
    char text[64];

    for (int k = 0; k < rows->n_parts; k++) {
        s->head_w[k] = at_least((int)strlen(rows->part[k].name), 2) + 1;
    }
    s->edge_w = LEAST_EDGE;
    for (int k = 0; k < cols->n_parts; k++) {
        s->edge_w = at_least(s->edge_w, (int)strlen(cols->part[k].name) + 1);
    }
    s->cell_w = 3;
    for (int r = 0; r < rows->n; r++) {
        for (int c = 0; c < cols->n; c++) {
            const picture_cell cell = picture_at(s->p, s->t, r, c);
            picture_cell_text(s->p, s->t, &cell, text);
            s->cell_w = at_least(s->cell_w, (int)strlen(text) + 1);
        }
    }
    s->gap_w = 0;
    for (int c = 0; c <= cols->n; c++) {
        s->gap_w = at_least(s->gap_w, snprintf(NULL, 0, " ..%" PRIu64,
                                               picture_skipped(cols, c)));
    }
}

static int head_width(const sheet *s)
{
    int w = s->edge_w;

    for (int k = 0; k < s->t->rows.n_parts; k++) {
        w += s->head_w[k];
    }
    return w;
}

static int width(const sheet *s)
{
    const picture_side *cols = &s->t->cols;
    int w = head_width(s) + cols->n * s->cell_w;

    for (int c = 0; c <= cols->n; c++) {
        w += picture_skipped(cols, c) > 0 ? s->gap_w : 0;
    }
    return w;
}

static void column_heading(const sheet *s, int k)
{
    const picture_side *cols = &s->t->cols;

    spaces(s->out, head_width(s) - s->edge_w);
    strbuf_add(s->out, "%*s", s->edge_w - 1, cols->part[k].name);
    strbuf_add(s->out, " ");
    for (int c = 0; c < cols->n; c++) {
        spaces(s->out, picture_skipped(cols, c) > 0 ? s->gap_w : 0);
        if (picture_starts(cols, k, c)) {
            strbuf_add(s->out, "%*" PRIu64, s->cell_w,
                       picture_value(s->p, &cols->part[k], cols->at[c]));
        } else {
            strbuf_add(s->out, "%*s", s->cell_w, "-");
        }
    }
    strbuf_add(s->out, "\n");
}

/* Names of the rows' digits, and the column or offset of each column. */
static void edge_heading(const sheet *s)
{
    const picture_side *rows = &s->t->rows;
    const picture_side *cols = &s->t->cols;
    const uint64_t units = s->p->e->l.units;
    const uint64_t base = picture_at(s->p, s->t, 0, 0).unit;
    char text[32];

    for (int k = 0; k < rows->n_parts; k++) {
        strbuf_add(s->out, "%-*s", s->head_w[k], rows->part[k].name);
    }
    strbuf_add(s->out, "%*s ", s->edge_w - 1,
               s->t->is_memory ? "offset" : "row");
    for (int c = 0; c <= cols->n; c++) {
        if (picture_skipped(cols, c) > 0) {
            (void)snprintf(text, sizeof text, "..%" PRIu64,
                           picture_skipped(cols, c));
            strbuf_add(s->out, "%*s", s->gap_w, text);
        }
        if (c == cols->n) {
            break;
        }
        if (s->t->is_memory) {
            (void)snprintf(text, sizeof text, "+%" PRIu64,
                           picture_at(s->p, s->t, 0, c).unit - base);
        } else {
            (void)snprintf(text, sizeof text,
                           cols->at[c] % units == 0 ? "%" PRIu64 : "",
                           cols->at[c] / units);
        }
        strbuf_add(s->out, "%*s", s->cell_w, text);
    }
    strbuf_add(s->out, "\n");
}

static void row_gap(const sheet *s, int r)
{
    const uint64_t n = picture_skipped(&s->t->rows, r);
    char text[32];

    if (n > 0) {
        (void)snprintf(text, sizeof text, "..%" PRIu64, n);
        strbuf_add(s->out, "%*s\n", head_width(s) - 1, text);
    }
}

static void row_line(const sheet *s, int r)
{
    const picture_side *rows = &s->t->rows;
    const picture_side *cols = &s->t->cols;

    for (int k = 0; k < rows->n_parts; k++) {
        if (picture_starts(rows, k, r)) {
            strbuf_add(s->out, "%-*" PRIu64, s->head_w[k],
                       picture_value(s->p, &rows->part[k], rows->at[r]));
        } else {
            strbuf_add(s->out, "%-*s", s->head_w[k], "|");
        }
    }
    strbuf_add(s->out, "%*" PRIu64 " ", s->edge_w - 1,
               s->t->is_memory ? picture_at(s->p, s->t, r, 0).unit
                               : rows->at[r]);
    for (int c = 0; c < cols->n; c++) {
        const picture_cell cell = picture_at(s->p, s->t, r, c);
        const int coloured = s->colour && cell.live && cell.colour >= 0;
        char text[64];
        picture_cell_text(s->p, s->t, &cell, text);
        spaces(s->out, picture_skipped(cols, c) > 0 ? s->gap_w : 0);
        if (coloured) {
            strbuf_add(s->out, "\033[30;48;5;%dm", background[cell.colour]);
        }
        strbuf_add(s->out, "%*s%s", s->cell_w, text, coloured ? "\033[0m" : "");
    }
    strbuf_add(s->out, "\n");
}

static void table(const sheet *s)
{
    for (int k = 0; k < s->t->cols.n_parts; k++) {
        column_heading(s, k);
    }
    edge_heading(s);
    for (int r = 0; r < s->t->rows.n; r++) {
        row_gap(s, r);
        row_line(s, r);
    }
    row_gap(s, s->t->rows.n);
}

static void legend(const picture *p, int colour, strbuf *out)
{
    char text[48];

    if (p->moving < 0) {
        strbuf_add(out, "\nno digit moves: memory is in the tensor's order\n");
        return;
    }
    strbuf_add(out, "\n%s moves furthest", p->e->digit[p->moving]);
    for (uint64_t k = 0; colour && k < p->colours; k++) {
        picture_legend(p, k, text);
        strbuf_add(out, "%s\033[30;48;5;%dm %s \033[0m", k == 0 ? ": " : " ",
                   background[k], text);
    }
    strbuf_add(out, "\n");
}

/* The most columns of a table that the line has room for. */
static sheet fitted(picture *p, const explained *e, int memory, int columns,
                    int colour, strbuf *out)
{
    sheet s = {.p = p,
               .t = memory ? &p->memory : &p->tensor,
               .out = out,
               .colour = colour};

    for (int most = 16; most > 0; most--) {
        picture_make(p, e, MOST_ROWS, most, most);
        measure(&s);
        if (columns <= 0 || width(&s) <= columns) {
            break;
        }
    }
    return s;
}

void explain_terminal(const explained *e, int columns, int colour, strbuf *out)
{
    const char *unit = e->l.units == 8   ? "bits"
                       : e->l.units == 2 ? "nibbles, l low and h high"
                                         : "elements";
    picture p;
    sheet s = fitted(&p, e, 0, columns, colour, out);

    const char *blank = columns < 80 ? "\n  " : " ";

    strbuf_add(out,
               "tensor: offsets in memory,%sin %s;%s..N: so many left out\n\n",
               blank, unit, blank);
    table(&s);
    s = fitted(&p, e, 1, columns, colour, out);
    strbuf_add(out, "\nmemory: row,column\n\n");
    table(&s);
    legend(&p, colour, out);
}
