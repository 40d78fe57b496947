/* SPDX-License-Identifier: Apache-2.0 */
/* See walk.h. */
#include "walk.h"

enum { STRETCH = 4096 }; /* units of a stretch of columns */

/* Columns first .. first+n-1 of a layout's padded tensor. */
typedef struct stretch {
    const layout_chain *c;
    const mxo_layout *l; /* the last step's */
    int is_sum;
    uint64_t first;
    uint64_t n;
    uint64_t at[STRETCH]; /* of a sum: where a unit lies beyond its row */
} stretch;

int layout_can_walk(const layout_chain *c)
{
    int can = 1;

    for (int i = 0; i + 1 < c->n; i++) {
        can = can && c->step[i].map.units == 1;
    }
    return can;
}

/* Does no table have digits of columns beside others? */
static int is_sum(const mxo_layout *l)
{
    const uint64_t row = l->padded[2] * l->units;
    int good = 1;

    for (uint8_t i = 0; i < l->n_terms; i++) {
        const mxo_layout_term *t = &l->term[i];
        int inner = 0;
        for (int k = 0; k < t->n; k++) {
            inner += l->digit[t->first + k].src < row;
        }
        good = good && (!t->mapped || inner == 0 || inner == t->n);
    }
    return good;
}

static void tabulate(stretch *s)
{
    const uint64_t zero = mxo_layout_forward(s->l, 0);

    for (uint64_t i = 0; s->is_sum && i < s->n * s->l->units; i++) {
        /* Below zero it wraps, and back when a row is added. */
        s->at[i] =
            mxo_layout_forward(s->l, s->first * s->l->units + i) - zero;
    }
}

/* What lies at an element of the padded tensor. */
static void find(const stretch *s, const uint64_t index[3], layout_spot *spot)
{
    const mxo_layout *l = s->l;

    spot->byte = 0;
    spot->content = mxo_layout_content_of(l, index, &spot->byte);
    if (spot->content != MXO_LAYOUT_LIVE) {
        return;
    }
    spot->element =
        (index[0] * l->extent[1] + index[1]) * l->extent[2] + index[2];
    for (int i = s->c->n - 2; i >= 0 && spot->content == MXO_LAYOUT_LIVE; i--) {
        uint64_t src = 0;
        spot->content = mxo_layout_content_at(&s->c->step[i].map, spot->element,
                                              &src, &spot->byte);
        spot->element = src;
    }
}

static int walk_row(const stretch *s, const uint64_t row[2],
                    int (*visit)(void *state, const layout_spot *s),
                    void *state)
{
    const mxo_layout *l = s->l;
    const uint64_t start =
        (row[0] * l->padded[1] + row[1]) * l->padded[2] * l->units;
    uint64_t at[8];
    layout_spot spot = {MXO_LAYOUT_LIVE, 0, 0, 0, at};
    int go = 1;

    spot.base = s->is_sum ? mxo_layout_forward(l, start) : 0;
    for (uint64_t c = 0; c < s->n && go; c++) {
        const uint64_t index[3] = {row[0], row[1], s->first + c};
        for (uint32_t u = 0; u < l->units && !s->is_sum; u++) {
            at[u] = mxo_layout_forward(l, start + index[2] * l->units + u);
        }
        spot.at = s->is_sum ? s->at + c * l->units : at;
        find(s, index, &spot);
        go = visit(state, &spot);
    }
    return go;
}

int layout_walk(const layout_chain *c,
                int (*visit)(void *state, const layout_spot *s), void *state)
{
    stretch s;
    int go = 1;

    s.c = c;
    s.l = &chain_last(c)->map;
    s.is_sum = is_sum(s.l);
    s.n = 0;
    for (s.first = 0; s.first < s.l->padded[2] && go; s.first += s.n) {
        const uint64_t left = s.l->padded[2] - s.first;
        s.n = left < STRETCH / s.l->units ? left : STRETCH / s.l->units;
        if (s.l->padded[0] > 0 && s.l->padded[1] > 0) {
            tabulate(&s);
        }
        for (uint64_t i = 0; i < s.l->padded[0] * s.l->padded[1] && go; i++) {
            const uint64_t row[2] = {i / s.l->padded[1], i % s.l->padded[1]};
            go = walk_row(&s, row, visit, state);
        }
    }
    return go;
}
