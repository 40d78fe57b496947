/* SPDX-License-Identifier: Apache-2.0 */
/* Content of a layout's picture; see picture.h. */
#include "picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_MEMORY_COLS = 16 };

static uint64_t per_row(const mxo_layout *l)
{
    return l->padded[2] * l->units;
}

/* 0: experts, 1: rows, 2: columns and what lies below them. */
static int axis_of(const mxo_layout *l, const mxo_layout_digit *d)
{
    return d->src >= l->padded[1] * per_row(l) ? 0
           : d->src >= per_row(l)              ? 1
                                               : 2;
}

/* Digits as the tensor has them, most significant first. */
static void tensor_side(const explained *e, int axis, picture_side *s)
{
    const mxo_layout *l = &e->l;

    for (uint64_t below = UINT64_MAX;;) {
        int next = -1;
        for (int d = 0; d < l->n_digits; d++) {
            const mxo_layout_digit *digit = &l->digit[d];
            if (digit->size > 1 && axis_of(l, digit) == axis &&
                digit->src < below &&
                (next < 0 || digit->src > l->digit[next].src)) {
                next = d;
            }
        }
        if (next < 0) {
            return;
        }
        below = l->digit[next].src;
        picture_part *part = &s->part[s->n_parts++];
        (void)snprintf(part->name, sizeof part->name, "%s", e->digit[next]);
        part->size = l->digit[next].size;
        part->src = below;
    }
}

static int is_expert(const mxo_layout *l, const mxo_layout_term *t)
{
    return axis_of(l, &l->digit[t->first]) == 0;
}

static void name_term(const explained *e, const mxo_layout_term *t,
                      char name[PICTURE_NAME])
{
    int n = 0;

    if (t->n == 1) {
        (void)snprintf(name, PICTURE_NAME, "%s", e->digit[t->first]);
        return;
    }
    for (int k = 0; k < t->n && n < PICTURE_NAME - EXPLAIN_WORD; k++) {
        n += snprintf(name + n, (size_t)(PICTURE_NAME - n), "%s%s",
                      k == 0 ? "<" : " ", e->digit[t->first + k]);
    }
    (void)snprintf(name + n, (size_t)(PICTURE_NAME - n), ">");
}

/* Terms as memory has them: the last ones that fit into a row of 16. */
static void memory_sides(const explained *e, picture_side *rows,
                         picture_side *cols)
{
    const mxo_layout *l = &e->l;
    int first = l->n_terms;
    uint64_t product = 1;

    while (first > 0) {
        const mxo_layout_term *t = &l->term[first - 1];
        if (is_expert(l, t) && t->size > 1) {
            break;
        }
        if (product > 1 && product * t->size > MOST_MEMORY_COLS) {
            break;
        }
        product *= t->size;
        first--;
    }
    for (int i = 0; i < l->n_terms; i++) {
        const mxo_layout_term *t = &l->term[i];
        picture_side *s = i < first ? rows : cols;
        if (t->size == 1 || is_expert(l, t)) {
            continue;
        }
        picture_part *part = &s->part[s->n_parts++];
        name_term(e, t, part->name);
        part->size = t->size;
        part->term = t;
    }
}

/* Whether this part is of the digit that gives the colours. */
static int is_moving(const picture *p, const picture_part *part)
{
    const mxo_layout *l = &p->e->l;

    return p->moving >= 0 &&
           (part->term == NULL ? part->src == l->digit[p->moving].src
                               : part->term->first == p->moving);
}

static uint64_t product_of(const uint64_t *shown, int n, uint64_t most)
{
    uint64_t product = 1;

    for (int k = 0; k < n && product <= most; k++) {
        product = shown[k] > most ? most + 1 : product * shown[k];
    }
    return product;
}

/* How many values of each part are shown. The longest give way first, the
   moving digit after the others are down to their first and last value, and
   these two of its own last of all: its colours meet in both tables. */
static void choose_shown(const picture *p, const picture_side *s, uint64_t most,
                         uint64_t *shown)
{
    for (int k = 0; k < s->n_parts; k++) {
        shown[k] = s->part[k].size;
    }
    while (product_of(shown, s->n_parts, most) > most) {
        uint64_t longest = 0;
        int at = 0;
        for (int k = 0; k < s->n_parts; k++) {
            const uint64_t n =
                is_moving(p, &s->part[k]) && shown[k] <= PICTURE_COLOURS
                    ? 1 + (shown[k] > 2)
                    : shown[k];
            at = shown[k] > 1 && n > longest ? k : at;
            longest = shown[k] > 1 && n > longest ? n : longest;
        }
        shown[at] = shown[at] > most                  ? most
                    : shown[at] > 4 && s->n_parts > 1 ? 4
                                                      : shown[at] - 1;
    }
}

/* The first values, and the last one. */
static uint64_t shown_value(uint64_t i, uint64_t shown, uint64_t size)
{
    return shown > 1 && i == shown - 1 ? size - 1 : i;
}

static void finish_side(const picture *p, picture_side *s, int most)
{
    uint64_t shown[MXO_LAYOUT_DIGITS];
    uint64_t n = 1;

    s->size = 1;
    for (int k = s->n_parts - 1; k >= 0; k--) {
        s->part[k].stride = s->size;
        s->size *= s->part[k].size;
    }
    choose_shown(p, s, (uint64_t)(most < PICTURE_AT ? most : PICTURE_AT),
                 shown);
    for (int k = 0; k < s->n_parts; k++) {
        n *= shown[k];
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t rest = i;
        uint64_t index = 0;
        for (int k = s->n_parts - 1; k >= 0; k--) {
            index += shown_value(rest % shown[k], shown[k], s->part[k].size) *
                     s->part[k].stride;
            rest /= shown[k];
        }
        s->at[s->n++] = index;
    }
}

/* Places between its rank in the tensor and its rank in memory; a table of
   its own moves a digit that keeps its rank. */
static int distance(const mxo_layout *l, int d)
{
    int in_tensor = 0;
    int in_memory = 0;

    for (int i = 0; i < l->n_digits; i++) {
        if (l->digit[i].size > 1) {
            in_tensor += l->digit[i].src > l->digit[d].src;
            in_memory += i < d;
        }
    }
    const int moved =
        in_tensor > in_memory ? in_tensor - in_memory : in_memory - in_tensor;
    for (int i = 0; moved == 0 && i < l->n_terms; i++) {
        if (l->term[i].mapped && l->term[i].first <= d &&
            d < l->term[i].first + l->term[i].n) {
            return 1;
        }
    }
    return moved;
}

/* The digit that moves furthest, of those with few values if one is there. */
static int find_moving(const mxo_layout *l)
{
    int best = -1;
    int most = 0;

    for (int d = 0; d < l->n_digits; d++) {
        const mxo_layout_digit *digit = &l->digit[d];
        if (digit->size == 1 || axis_of(l, digit) == 0) {
            continue;
        }
        const int few = digit->size <= PICTURE_COLOURS;
        const int worth = distance(l, d) == 0 ? 0 : distance(l, d) + 100 * few;
        if (worth > most || (worth == most && most > 0)) {
            best = d;
            most = worth;
        }
    }
    return best;
}

void picture_make(picture *p, const explained *e, int rows, int cols,
                  int memory_cols)
{
    memset(p, 0, sizeof *p);
    p->e = e;
    p->moving = find_moving(&e->l);
    p->colours = p->moving < 0 ? 0 : e->l.digit[p->moving].size;
    p->colours = p->colours > PICTURE_COLOURS ? PICTURE_COLOURS : p->colours;
    tensor_side(e, 1, &p->tensor.rows);
    tensor_side(e, 2, &p->tensor.cols);
    p->memory.is_memory = 1;
    memory_sides(e, &p->memory.rows, &p->memory.cols);
    finish_side(p, &p->tensor.rows, rows);
    finish_side(p, &p->tensor.cols, cols);
    finish_side(p, &p->memory.rows, rows);
    finish_side(p, &p->memory.cols, memory_cols);
}

/* Offset in the tensor of a term at this position of memory. */
static uint64_t term_source(const mxo_layout *l, const mxo_layout_term *t,
                            uint64_t position)
{
    uint64_t v = t->mapped ? l->from[t->table + position] : position;
    uint64_t src = 0;

    for (int k = t->n - 1; k >= 0; k--) {
        const mxo_layout_digit *d = &l->digit[t->first + k];
        src += v % d->size * d->src;
        v /= d->size;
    }
    return src;
}

static uint64_t side_source(const picture *p, const picture_side *s,
                            uint64_t index)
{
    uint64_t src = 0;

    for (int k = 0; k < s->n_parts; k++) {
        const picture_part *part = &s->part[k];
        const uint64_t v = index / part->stride % part->size;
        src += part->term == NULL ? v * part->src
                                  : term_source(&p->e->l, part->term, v);
    }
    return src;
}

picture_cell picture_at(const picture *p, const picture_table *t, int row,
                        int col)
{
    const mxo_layout *l = &p->e->l;
    const uint64_t padded = side_source(p, &t->rows, t->rows.at[row]) +
                            side_source(p, &t->cols, t->cols.at[col]);
    picture_cell cell = {.colour = -1};
    uint8_t byte = 0;

    cell.unit = mxo_layout_forward(l, padded);
    cell.live = mxo_layout_content_at(l, cell.unit, &cell.source, &byte) ==
                MXO_LAYOUT_LIVE;
    if (p->moving >= 0) {
        const mxo_layout_digit *d = &l->digit[p->moving];
        cell.colour = (int)(padded / d->src % d->size * p->colours / d->size);
    }
    return cell;
}

uint64_t picture_value(const picture *p, const picture_part *part,
                       uint64_t index)
{
    const uint64_t v = index / part->stride % part->size;

    return part->term != NULL && part->term->n == 1 && part->term->mapped
               ? p->e->l.from[part->term->table + v]
               : v;
}

int picture_starts(const picture_side *s, int k, int i)
{
    return i == 0 ||
           s->at[i] / s->part[k].stride != s->at[i - 1] / s->part[k].stride;
}

int picture_level(const picture_side *s, int i)
{
    int k = 0;

    while (k < s->n_parts - 1 && !picture_starts(s, k, i)) {
        k++;
    }
    return k;
}

uint64_t picture_skipped(const picture_side *s, int i)
{
    const uint64_t next = i < s->n ? s->at[i] : s->size;

    return i == 0 ? next : next - s->at[i - 1] - 1;
}

void picture_legend(const picture *p, uint64_t colour, char text[48])
{
    const uint64_t size = p->e->l.digit[p->moving].size;
    const uint64_t first = (colour * size + p->colours - 1) / p->colours;
    const uint64_t last =
        ((colour + 1) * size + p->colours - 1) / p->colours - 1;

    if (first == last) {
        (void)snprintf(text, 48, "%" PRIu64, first);
    } else {
        (void)snprintf(text, 48, "%" PRIu64 "-%" PRIu64, first, last);
    }
}

static void place(const picture *p, uint64_t source, char text[64])
{
    const mxo_layout *l = &p->e->l;
    const uint64_t element = source / l->units;
    char part[24] = "";

    if (l->units == 2) {
        (void)snprintf(part, sizeof part, "%s", source % 2 == 0 ? "l" : "h");
    } else if (l->units > 2) {
        (void)snprintf(part, sizeof part, ".%" PRIu64, source % l->units);
    }
    (void)snprintf(text, 64, "%" PRIu64 ",%" PRIu64 "%s",
                   element / l->extent[2] % l->extent[1],
                   element % l->extent[2], part);
}

void picture_cell_text(const picture *p, const picture_table *t,
                       const picture_cell *c, char text[64])
{
    if (!t->is_memory) {
        (void)snprintf(text, 64, "%" PRIu64, c->unit);
    } else if (c->live) {
        place(p, c->source, text);
    } else {
        (void)snprintf(text, 64, "pad");
    }
}
