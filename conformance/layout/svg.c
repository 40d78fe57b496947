/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a layout: the tensor with each element's offset in memory,
 * and memory with the row and column of what it holds. Digits of the notation
 * are frames around both; colours are the values of the digit that moves
 * furthest, so that the eye follows it from one table to the other.
 */
#include "drawing.h"
#include "picture.h"
#include "steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_ROWS = 12,
    MOST_COLS = 8,
    MEMORY_COLS = 16,
    CELL_H = 18,
    LETTER_W = 7, /* of 11 px monospace, rounded up */
    GAP_W = 34,
    GAP_H = 16,
    MARGIN = 12,
    TOP = 62,      /* below the title, the map and the caption */
    LEAST_W = 860, /* of the caption */
    BESIDE = 1280
};

/* Where a table lies, and how wide its parts are. */
typedef struct frame {
    const picture *p;
    const picture_table *t;
    strbuf *out;
    int x, y; /* of the headings' corner */
    int head_w[MXO_LAYOUT_DIGITS +
               1]; /* each part of the rows, the last: number */
    int left, top; /* of the first cell */
    int cell_w;
    int right, bottom;
} frame;

/* Paul Tol's light scheme: told apart by the colour-blind, dark text on all. */
static const char style[] =
    "text{font:11px monospace;text-anchor:middle;fill:#111}"
    ".t{font:bold 14px sans-serif}.c{font:12px sans-serif}"
    ".t,.c,.m{text-anchor:start}.n{font-weight:bold}.g{fill:#555}"
    ".d{fill:#e8e8e8}.x{fill:#fff}"
    ".k0{fill:#77aadd}.k1{fill:#eedd88}.k2{fill:#ee8866}.k3{fill:#99ddff}"
    ".k4{fill:#bbcc33}.k5{fill:#ffaabb}.k6{fill:#44bb99}.k7{fill:#aaaa00}"
    ".k{fill:#f4f4f4}";
static const char lines_style[] =
    "path{fill:none;stroke:#222}rect:hover+text{font-weight:bold}";
/* The dark scheme has the same colours of digits, and dark text on them. */
static const char dark_style[] =
    "text{fill:#e6edf3}g text{fill:#111}.p+text{fill:#e6edf3}.g{fill:#9ea7b3}"
    ".d{fill:#30363d}.x{fill:#0d1117}.k{fill:#b1bac4}path{stroke:#0d1117}";

/* Rules, every selector behind scope. */
static void say_rules(const char *rules, const char *scope, strbuf *out)
{
    int begins = 1;
    int is_selector = 1;

    for (const char *c = rules; *c != '\0'; c++) {
        strbuf_add(out, "%s%c", begins ? scope : "", *c);
        is_selector = *c == '{' ? 0 : *c == '}' ? 1 : is_selector;
        begins = *c == '}' || (*c == ',' && is_selector);
    }
}

static void say_style(const char *scope, const char *pad, const char *dark_pad,
                      strbuf *out)
{
    strbuf_add(out, "<style>");
    say_rules(style, scope, out);
    strbuf_add(out, "%s.p{fill:%s}", scope, pad);
    say_rules(lines_style, scope, out);
    strbuf_add(out, "@media screen and (prefers-color-scheme:dark){");
    say_rules(dark_style, scope, out);
    strbuf_add(out, "%s.p{fill:%s}}</style>\n", scope, dark_pad);
}

static int gap_before(const picture_side *s, int i)
{
    return picture_skipped(s, i) > 0;
}

static int row_y(const frame *f, int i)
{
    int y = f->top;

    for (int k = 0; k <= i; k++) {
        y += (k < i ? CELL_H : 0) + (gap_before(&f->t->rows, k) ? GAP_H : 0);
    }
    return y;
}

static int col_x(const frame *f, int i)
{
    int x = f->left;

    for (int k = 0; k <= i; k++) {
        x += (k < i ? f->cell_w : 0) + (gap_before(&f->t->cols, k) ? GAP_W : 0);
    }
    return x;
}

static void put(strbuf *out, const char *class, int x, int y, const char *text)
{
    strbuf_add(out, "<text%s%s%s x=\"%d\" y=\"%d\">",
               class[0] ? " class=\"" : "", class, class[0] ? "\"" : "", x, y);
    for (; *text != '\0'; text++) {
        strbuf_add(out,
                   *text == '<'   ? "&lt;"
                   : *text == '>' ? "&gt;"
                                  : "%c",
                   *text);
    }
    strbuf_add(out, "</text>\n");
}

static void box(const frame *f, const char *class, int x, int y, int w, int h)
{
    strbuf_add(f->out,
               "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" "
               "height=\"%d\"/>",
               class, x, y, w, h);
}

static int text_width(const char *text)
{
    return LETTER_W * (int)strlen(text);
}

/* Wide enough for the longest text of a cell and of a column's number. */
static int widest_cell(const frame *f)
{
    int most = 24;

    for (int r = 0; r < f->t->rows.n; r++) {
        for (int c = 0; c < f->t->cols.n; c++) {
            char text[64];
            const picture_cell cell = picture_at(f->p, f->t, r, c);
            picture_cell_text(f->p, f->t, &cell, text);
            most = text_width(text) + 8 > most ? text_width(text) + 8 : most;
        }
    }
    return most;
}

static void place(frame *f, int x, int y)
{
    const picture_side *rows = &f->t->rows;

    f->x = x;
    f->y = y;
    f->left = x;
    for (int k = 0; k < rows->n_parts; k++) {
        const int name = text_width(rows->part[k].name) + 8;
        f->head_w[k] = name > 28 ? name : 28;
        f->left += f->head_w[k];
    }
    f->head_w[rows->n_parts] = 50;
    for (int k = 0; k < f->t->cols.n_parts; k++) {
        const int name = text_width(f->t->cols.part[k].name) + 8;
        f->head_w[rows->n_parts] =
            name > f->head_w[rows->n_parts] ? name : f->head_w[rows->n_parts];
    }
    f->left += f->head_w[rows->n_parts];
    f->top = y + (f->t->cols.n_parts + 1) * CELL_H + 4;
    f->cell_w = widest_cell(f);
    f->right = col_x(f, f->t->cols.n - 1) + f->cell_w +
               (gap_before(&f->t->cols, f->t->cols.n) ? GAP_W : 0);
    f->bottom = row_y(f, rows->n - 1) + CELL_H +
                (gap_before(rows, rows->n) ? GAP_H : 0);
}

/* Middle of the last heading: numbers of rows, names of the columns' parts. */
static int numbers_x(const frame *f)
{
    return f->left - f->head_w[f->t->rows.n_parts] / 2 - 1;
}

/* A value of a part and the frame around the rows that have it. */
static void row_headings(const frame *f, int k, int x)
{
    const picture_side *s = &f->t->rows;
    const picture_part *part = &s->part[k];
    const int w = f->head_w[k];
    char text[24];

    put(f->out, "n", x + w / 2, f->top - 8, part->name);
    for (int i = 0, end; i < s->n; i = end) {
        for (end = i + 1; end < s->n && !picture_starts(s, k, end); end++) {
        }
        const int y = row_y(f, i);
        const int h = row_y(f, end - 1) + CELL_H - y;
        box(f, "d", x, y, w - 2, h - 1);
        (void)snprintf(text, sizeof text, "%" PRIu64,
                       picture_value(f->p, part, s->at[i]));
        put(f->out, "", x + w / 2 - 1, y + h / 2 + 4, text);
    }
}

static void col_headings(const frame *f, int k, int y)
{
    const picture_side *s = &f->t->cols;
    const picture_part *part = &s->part[k];
    char text[24];

    put(f->out, "n", numbers_x(f), y + 13, part->name);
    for (int i = 0, end; i < s->n; i = end) {
        for (end = i + 1; end < s->n && !picture_starts(s, k, end); end++) {
        }
        const int x = col_x(f, i);
        const int w = col_x(f, end - 1) + f->cell_w - x;
        box(f, "d", x, y, w - 1, CELL_H - 2);
        (void)snprintf(text, sizeof text, "%" PRIu64,
                       picture_value(f->p, part, s->at[i]));
        put(f->out, "", x + w / 2, y + 12, text);
    }
}

/* Row, column or offset: the number at the edge of the cells. */
static void edge_numbers(const frame *f)
{
    const picture_side *rows = &f->t->rows;
    const picture_side *cols = &f->t->cols;
    const uint64_t units = f->p->e->l.units;
    const uint64_t base = picture_at(f->p, f->t, 0, 0).unit;
    char text[32];

    for (int i = 0; i < rows->n; i++) {
        (void)snprintf(text, sizeof text, "%" PRIu64,
                       f->t->is_memory ? picture_at(f->p, f->t, i, 0).unit
                                       : rows->at[i]);
        put(f->out, "g", numbers_x(f), row_y(f, i) + 13, text);
    }
    for (int i = 0; i < cols->n; i++) {
        if (f->t->is_memory) {
            (void)snprintf(text, sizeof text, "+%" PRIu64,
                           picture_at(f->p, f->t, 0, i).unit - base);
        } else {
            (void)snprintf(text, sizeof text,
                           cols->at[i] % units == 0 ? "%" PRIu64 : "",
                           cols->at[i] / units);
        }
        put(f->out, "g", col_x(f, i) + f->cell_w / 2, f->top - 8, text);
    }
}

/* Omitted rows and columns, with their count. */
static void gaps(const frame *f)
{
    const picture_side *rows = &f->t->rows;
    const picture_side *cols = &f->t->cols;
    char text[32];

    for (int i = 0; i <= rows->n; i++) {
        if (gap_before(rows, i)) {
            const int y = i < rows->n ? row_y(f, i) : f->bottom;
            (void)snprintf(text, sizeof text, "..%" PRIu64,
                           picture_skipped(rows, i));
            put(f->out, "g", numbers_x(f), y - 4, text);
        }
    }
    for (int i = 0; i <= cols->n; i++) {
        if (gap_before(cols, i)) {
            const int x = i < cols->n ? col_x(f, i) : f->right;
            (void)snprintf(text, sizeof text, "..%" PRIu64,
                           picture_skipped(cols, i));
            put(f->out, "g", x - GAP_W / 2, f->top - 8, text);
        }
    }
}

static void cells(const frame *f)
{
    const explained *e = f->p->e;

    for (int r = 0; r < f->t->rows.n; r++) {
        for (int c = 0; c < f->t->cols.n; c++) {
            const picture_cell cell = picture_at(f->p, f->t, r, c);
            const int x = col_x(f, c);
            const int y = row_y(f, r);
            char text[64];
            char class[4] = "p";
            strbuf_add(f->out, "<g><title>");
            if (cell.live) {
                explain_place(e, e->l.units, cell.source, f->out);
                (void)snprintf(class, sizeof class,
                               cell.colour < 0 ? "k" : "k%d", cell.colour);
            } else {
                strbuf_add(f->out, "pad");
            }
            strbuf_add(f->out, ": ");
            explain_memory(e, e->l.units, cell.unit, f->out);
            strbuf_add(f->out, "</title>");
            box(f, class, x, y, f->cell_w, CELL_H);
            picture_cell_text(f->p, f->t, &cell, text);
            strbuf_add(f->out, "<text x=\"%d\" y=\"%d\">%s</text></g>\n",
                       x + f->cell_w / 2, y + 13, text);
        }
    }
}

/* Frames: the further out a digit is, the stronger the line. */
static double weight(const picture_side *s, int i)
{
    const int inner = s->n_parts - 1 - picture_level(s, i);

    if (inner <= 0) {
        return 0.3;
    }
    if (inner == 1) {
        return 1.2;
    }
    if (inner == 2) {
        return 2.0;
    }
    return 2.8;
}

static void frames(const frame *f)
{
    const picture_side *rows = &f->t->rows;
    const picture_side *cols = &f->t->cols;

    for (int i = 1; i < rows->n; i++) {
        strbuf_add(f->out, "<path stroke-width=\"%.1f\" d=\"M%d %dH%d\"/>\n",
                   weight(rows, i), f->left, row_y(f, i), f->right);
    }
    for (int i = 1; i < cols->n; i++) {
        strbuf_add(f->out, "<path stroke-width=\"%.1f\" d=\"M%d %dV%d\"/>\n",
                   weight(cols, i), col_x(f, i), f->top, f->bottom);
    }
    strbuf_add(f->out, "<path stroke-width=\"2.8\" d=\"M%d %dH%dV%dH%dz\"/>\n",
               f->left, f->top, f->right, f->bottom, f->left);
}

static void table(const frame *f)
{
    int x = f->x;

    for (int k = 0; k < f->t->rows.n_parts; k++) {
        row_headings(f, k, x);
        x += f->head_w[k];
    }
    for (int k = 0; k < f->t->cols.n_parts; k++) {
        col_headings(f, k, f->y + k * CELL_H);
    }
    put(f->out, "n", numbers_x(f), f->top - 8,
        f->t->is_memory ? "offset" : "row");
    edge_numbers(f);
    cells(f);
    gaps(f);
    frames(f);
}

static void legend(const picture *p, int y, strbuf *out)
{
    int x = MARGIN;
    char text[96];

    if (p->moving < 0) {
        put(out, "c", x, y, "No digit moves: memory is in the tensor's order.");
        return;
    }
    (void)snprintf(text, sizeof text,
                   "Colour: %s, the digit that moves furthest.",
                   p->e->digit[p->moving]);
    put(out, "c", x, y, text);
    x += text_width(text) + 8;
    for (uint64_t k = 0; k < p->colours; k++) {
        char value[48];
        picture_legend(p, k, value);
        const int w = text_width(value) + 14;
        strbuf_add(out,
                   "<g><rect class=\"k%d\" x=\"%d\" y=\"%d\" width=\"%d\" "
                   "height=\"16\"/>",
                   (int)k, x, y - 12, w);
        put(out, "", x + w / 2, y, value);
        strbuf_add(out, "</g>\n");
        x += w + 3;
    }
}

/* A file of its own; pads are hatched. */
static void open_file(const char *name, int width, int height, strbuf *out)
{
    strbuf_add(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" "
               "viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
               "role=\"img\">\n<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
               "<title>%s</title>\n",
               width, height, width, height, name);
    say_style("", "url(#pad)", "url(#pad)", out);
    strbuf_add(out,
               "<defs><pattern id=\"pad\" width=\"6\" height=\"6\" "
               "patternUnits=\"userSpaceOnUse\"><rect class=\"d\" width=\"6\" "
               "height=\"6\"/><path d=\"M0 6 6 0\" stroke-width=\".5\"/>"
               "</pattern></defs>\n");
}

/* A part of a page, whose other parts its rules leave alone. */
static void open_part(const char *name, int width, int height, strbuf *out)
{
    strbuf_add(out,
               "<svg class=layout role=img aria-label=\"layout %s\" "
               "viewBox=\"0 0 %d %d\" width=%d height=%d>",
               name, width, height, width, height);
    say_style(".layout ", "#d0d0d0", "#30363d", out);
}

static void heading(const picture *p, int width, int height, strbuf *out)
{
    const mxo_layout *l = &p->e->l;
    char text[200];

    strbuf_add(out, "<rect class=\"x\" width=\"%d\" height=\"%d\"/>\n", width,
               height);
    put(out, "t", MARGIN, 20, p->e->name);
    put(out, "m", MARGIN, 38, l->row->map);
    (void)snprintf(
        text, sizeof text,
        "Tensor %" PRIu64 " x %" PRIu64 "%s: the offset of each "
        "element; memory, in its order: row,column. Counted in %s; ..N: "
        "so many left out.",
        l->extent[1], l->extent[2], l->extent[0] > 1 ? " (expert 0)" : "",
        l->units == 8   ? "bits"
        : l->units == 2 ? "nibbles (l low, h high)"
                        : "elements");
    put(out, "c", MARGIN, 56, text);
}

typedef void opening(const char *name, int width, int height, strbuf *out);

static void draw(const explained *e, opening *begin, strbuf *out)
{
    picture p;
    strbuf body = {0};

    picture_make(&p, e, MOST_ROWS, MOST_COLS, MEMORY_COLS);
    frame tensor = {.p = &p, .t = &p.tensor, .out = &body};
    frame memory = {.p = &p, .t = &p.memory, .out = &body};
    place(&tensor, MARGIN, TOP + 22);
    place(&memory, tensor.right + 28, TOP + 22);
    if (memory.right > BESIDE) {
        place(&memory, MARGIN, tensor.bottom + 40);
    }
    put(&body, "c n", tensor.x, tensor.y - 8, "tensor");
    put(&body, "c n", memory.x, memory.y - 8, "memory");
    table(&tensor);
    table(&memory);

    const int right = tensor.right > memory.right ? tensor.right : memory.right;
    const int bottom =
        tensor.bottom > memory.bottom ? tensor.bottom : memory.bottom;
    legend(&p, bottom + 26, &body);
    const int map = text_width(e->l.row->map) + 2 * MARGIN;
    const int least = map > LEAST_W ? map : LEAST_W;
    const int width = right + MARGIN > least ? right + MARGIN : least;

    begin(e->name, width, bottom + 40, out);
    heading(&p, width, bottom + 40, out);
    strbuf_add(out, "%s</svg>\n", strbuf_text(&body));
    strbuf_clear(&body);
}

void explain_svg(const explained *e, strbuf *out)
{
    draw(e, open_file, out);
}

int drawing_add(const char *layout, uint32_t elem_bytes,
                const uint64_t extent[3], strbuf *out)
{
    char text[256];
    const mxo_text why = {text, sizeof text};
    steps s;

    if (extent[0] == 0 || extent[1] == 0 || extent[2] == 0) {
        return -1; /* as explain takes none */
    }
    if (steps_find(&s, layout, why) != 0 ||
        (steps_bind(&s, elem_bytes, extent, why) != 0 &&
         steps_bind(&s, 0, extent, why) != 0)) {
        return -1;
    }
    /* A picture shows one layout: the last step, where things end. */
    draw(&s.step[s.n - 1], open_part, out);
    return 0;
}
