/* SPDX-License-Identifier: Apache-2.0 */
/* See walk.h. */
#include "layout_walk.h"

enum { STRETCH = 4096 }; /* units of a stretch of columns */

/* Columns first .. first+n-1 of a layout's padded tensor. */
typedef struct stretch {
    const layout_chain *c;
    const mxo_layout *l; /* the last step's */
    int is_sum;
    int keeps_bytes; /* a row begins where a byte does */
    int keeps_columns;
    uint64_t origin; /* of the first row, where it is a sum */
    uint64_t base;   /* of the row before, beyond it; and how far it is from */
    uint64_t step;   /* there to the next one, but for every so many rows */
    uint64_t every;
    uint64_t first;
    uint64_t n;
    layout_part part[STRETCH];
    uint16_t parts[STRETCH + 1]; /* those before each column's */
} stretch;

/* Members of a term that are digits of the column. */
static int inner_digits(const mxo_layout *l, const mxo_layout_term *t)
{
    const uint64_t row = l->padded[2] * l->units;
    int inner = 0;

    for (int k = 0; k < t->n; k++) {
        inner += l->digit[t->first + k].src < row;
    }
    return inner;
}

/* Does no table have digits of columns beside others? */
static int is_sum(const mxo_layout *l)
{
    int good = 1;

    for (uint8_t i = 0; i < l->n_terms; i++) {
        const int inner = inner_digits(l, &l->term[i]);
        good =
            good && (!l->term[i].mapped || inner == 0 || inner == l->term[i].n);
    }
    return good;
}

/* Does another row only add whole bytes? */
static int keeps_bytes(const mxo_layout *l)
{
    int good = 1;

    for (uint8_t i = 0; i < l->n_terms; i++) {
        const mxo_layout_term *t = &l->term[i];
        good = good && (inner_digits(l, t) == t->n || t->dst % l->units == 0);
    }
    return good;
}

/* Do the steps before the last move whole rows only?  Their last digit in
   memory is the column as it was, and the next step sees rows as long. */
static int keeps_columns(const layout_chain *c)
{
    int keeps = 1;

    for (int i = 0; i + 1 < c->n; i++) {
        const mxo_layout *l = &c->step[i].map;
        const mxo_layout_term *t = &l->term[l->n_terms - 1];
        const uint64_t width = l->extent[2];
        keeps = keeps && t->n == 1 && !t->mapped && t->size == width &&
                l->digit[t->first].src == 1 && l->padded[2] == width &&
                c->step[i + 1].map.extent[2] == width;
    }
    return keeps;
}

/* The lowest digit of the row, if nothing but a stride is made of it. */
static void find_step(stretch *s)
{
    const mxo_layout *l = s->l;

    s->every = 1;
    for (uint8_t i = 0; i < l->n_terms && l->n_records == 0; i++) {
        const mxo_layout_term *t = &l->term[i];
        uint64_t step = t->dst;
        for (int k = t->n - 1; k >= 0 && !t->mapped; k--) {
            const mxo_layout_digit *d = &l->digit[t->first + k];
            if (d->src == l->padded[2] * l->units && d->size > 1) {
                s->every = d->size;
                s->step = step;
            }
            step *= d->size;
        }
    }
}

/* Unit u of an element joins the part before it, or begins another; returns
   how many parts there are then. */
static uint16_t add_unit(stretch *s, uint16_t n, uint32_t u, uint64_t at)
{
    const uint32_t bits = 8 / s->l->units;
    const uint8_t mask = (uint8_t)((1u << bits) - 1);

    if (u > 0 && s->keeps_bytes && at % s->l->units != 0 &&
        at == s->part[n - 1].at + s->part[n - 1].n) {
        layout_part *last = &s->part[n - 1];
        last->n++;
        last->mask = (uint8_t)(last->mask << bits | mask);
        return n;
    }
    s->part[n] = (layout_part){at, 1, (uint8_t)(u * bits), mask};
    return (uint16_t)(n + 1);
}

/* The stretch's columns in the row that begins at start. */
static void tabulate(stretch *s, uint64_t start)
{
    const mxo_layout *l = s->l;
    uint16_t n = 0;

    for (uint64_t c = 0; c < s->n; c++) {
        s->parts[c] = n;
        for (uint32_t u = 0; u < l->units; u++) {
            const uint64_t src = (s->first + c) * l->units + u;
            n = add_unit(s, n, u, mxo_layout_forward(l, start + src));
        }
    }
    s->parts[s->n] = n;
}

/* Content of an element of the padded tensor, and the length of its run. */
static void find(const stretch *s, const uint64_t index[3], layout_run *r)
{
    const mxo_layout *l = s->l;
    const int is_inner = index[2] < l->extent[2];
    const uint64_t end = is_inner ? l->extent[2] : l->padded[2];
    const uint64_t left = s->first + s->n - index[2];

    r->n = left < end - index[2] ? left : end - index[2];
    r->byte = 0;
    r->content = mxo_layout_content_of(l, index, &r->byte);
    if (r->content != MXO_LAYOUT_LIVE) {
        return;
    }
    r->n = s->keeps_columns ? r->n : 1;
    r->element = (index[0] * l->extent[1] + index[1]) * l->extent[2] + index[2];
    for (int i = s->c->n - 2; i >= 0 && r->content == MXO_LAYOUT_LIVE; i--) {
        uint64_t src = 0;
        r->content = mxo_layout_content_at(&s->c->step[i].map, r->element, &src,
                                           &r->byte);
        r->element = src;
    }
}

static int walk_row(stretch *s, const uint64_t row[2], int is_first,
                    int (*visit)(void *state, const layout_run *r), void *state)
{
    const mxo_layout *l = s->l;
    const uint64_t number = row[0] * l->padded[1] + row[1];
    const uint64_t start = number * l->padded[2] * l->units;
    layout_run r = {MXO_LAYOUT_LIVE, 0, 0, 0, 0, 8 / l->units, s->part, NULL};
    int go = 1;

    if (s->is_sum) { /* perhaps before the first row: then it wraps twice */
        s->base = is_first || number % s->every == 0
                      ? mxo_layout_forward(l, start) - s->origin
                      : s->base + s->step;
        r.base = s->base;
    } else {
        tabulate(s, start);
    }
    for (uint64_t c = 0; c < s->n && go; c += r.n) {
        const uint64_t index[3] = {row[0], row[1], s->first + c};
        r.first = s->parts + c;
        find(s, index, &r);
        go = visit(state, &r);
    }
    return go;
}

/* Rows of the padded tensor before expert e: those of a stack lie without a
   gap, and the last expert has the pad. */
static uint64_t rows_before(const mxo_layout *l, uint64_t e)
{
    const int is_stack = l->padded[0] != l->logical[0];

    return is_stack && e < l->logical[0] ? e * l->logical[1]
           : is_stack                    ? l->padded[1]
                                         : e * l->padded[1];
}

int layout_walk(const layout_chain *c, layout_experts experts,
                int (*visit)(void *state, const layout_run *r), void *state)
{
    stretch s;
    int go = 1;

    s.c = c;
    s.l = &chain_last(c)->map;
    s.is_sum = is_sum(s.l);
    s.keeps_bytes = !s.is_sum || keeps_bytes(s.l);
    s.keeps_columns = keeps_columns(c);
    find_step(&s);
    s.n = 0;
    const uint64_t rows = s.l->padded[1];
    const uint64_t begin = rows_before(s.l, experts.first);
    const uint64_t end = rows_before(s.l, experts.first + experts.n);

    for (s.first = 0; s.first < s.l->padded[2] && go; s.first += s.n) {
        const uint64_t left = s.l->padded[2] - s.first;
        s.n = left < STRETCH / s.l->units ? left : STRETCH / s.l->units;
        if (s.is_sum && experts.n > 0 && rows > 0) {
            s.origin = mxo_layout_forward(s.l, 0);
            tabulate(&s, 0);
        }
        for (uint64_t i = begin; i < end && go; i++) {
            const uint64_t row[2] = {i / rows, i % rows};
            go = walk_row(&s, row, i == begin, visit, state);
        }
    }
    return go;
}
