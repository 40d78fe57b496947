/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles whose destination has no whole vectors: what follows each other there
 * in the tile is a span of so many bytes that vectors fit, and every byte of
 * it is looked up.
 */
#ifndef GPU_PLAN_LINES_H
#define GPU_PLAN_LINES_H

#include "host/call.h"
#include "layout/layout.h"
#include "layout/layout_lines.h"
#include "layout_plan/layout_text.h"
#include "layout_plan/plan_gather.h"
#include "layout_plan/plan_tile.h"
#include "port/runtime.h"

static uint64_t common_unit(uint64_t unit, uint64_t bytes)
{
    return (uint64_t)gcd_of((int64_t)unit, (int64_t)bytes);
}

/* Bytes from the low end of a side that are in the tile and have no gap.  In
   the tensor these are rows as they really are. */
static uint64_t lines_run(tile_plan *t, int memory)
{
    tile_atom *sorted[TILE_ATOMS];
    const uint32_t n = tile_sorted(t, memory, 1, sorted);
    uint64_t run = 1;
    uint64_t rows = 1;

    for (uint32_t i = 0; i < n && atom_order(t, sorted[i], memory) == run;
         i++) {
        run *= sorted[i]->n;
        rows *= sorted[i]->axis == LAYOUT_R ? sorted[i]->n : 1;
    }
    return memory || t->one_row ? run / 8
           : run < t->row_bits  ? 0
                                : rows * t->row_bytes;
}

/* The lowest atom of a side that is not in the tile. */
static uint32_t lines_next(const tile_plan *t, int memory)
{
    uint32_t best = t->n;

    for (uint32_t i = 0; i < t->n; i++) {
        if (!t->atom[i].in &&
            (best == t->n || atom_order(t, &t->atom[i], memory) <
                                 atom_order(t, &t->atom[best], memory))) {
            best = i;
        }
    }
    return best;
}

/* The smallest divisor of an atom that makes a run whole vectors, or all. */
static uint64_t lines_divisor(uint64_t n, uint64_t run)
{
    uint64_t d = 1;

    if (run == 0) {
        return n; /* within a row */
    }
    while (d < n && (n % d != 0 || run * d % 16 != 0)) {
        d++;
    }
    return d;
}

/* Take low atoms of a side until its run is whole vectors. */
static int lines_until_whole(tile_plan *t, int memory)
{
    uint64_t run = lines_run(t, memory);

    for (; run == 0 || run % 16 != 0; run = lines_run(t, memory)) {
        const uint32_t i = lines_next(t, memory);

        if (i == t->n || t->atom[i].axis == LAYOUT_E) {
            return 0;
        }
        const uint64_t d = lines_divisor(t->atom[i].n, run);
        if (d * t->bits > 8 * TILE_BYTES) {
            return 0;
        }
        if (d == t->atom[i].n) {
            tile_include(t, &t->atom[i]);
        } else if (tile_split(t, i, d)) {
            tile_include(t, &t->atom[t->n - 1]);
        } else {
            return 0;
        }
    }
    return 1;
}

/* Whatever is not of the run of that side begins at a vector. */
static int lines_begin_whole(const tile_plan *t, int memory, uint64_t run)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const tile_atom *const a = &t->atom[i];
        uint64_t at;

        if (memory) {
            at = a->p / 8;
        } else if (a->axis == LAYOUT_C) {
            at = 0;
        } else if (a->axis == LAYOUT_R) {
            at = a->l * t->row_bytes;
        } else {
            at = a->l * t->rows * t->row_bytes;
        }

        if ((!a->in || at >= run) && at % 16 != 0) {
            return 0;
        }
    }
    return 1;
}

static int lines_choose(tile_plan *t)
{
    if (tile_has_tables(t) || t->map->unit_bits < 8 ||
        (t->back && t->one_row)) {
        return 0;
    }
    t->bits = 1;
    tile_include_below(t, 1, 8);
    if (!lines_until_whole(t, !t->back) ||
        (t->back && !lines_until_whole(t, 1))) {
        return 0;
    }
    tile_grow_both(t, 8 * TILE_BYTES);
    return 1;
}

/* An odd number of words from run to run meets all banks. */
static uint64_t lines_gap(tile_plan *t, tile_args *a)
{
    gather_runs(t, a, TILE_BYTES, 0);
    return a->n_runs > 1 && (t->run_bytes + 3) / 4 % 2 == 0 ? 4 : 0;
}

/* A digit among those of a line or those that count lines; the lowest atom
   counts bits. */
static int lines_digit(const tile_atom *from, tile_inner *list, uint32_t *n,
                       uint32_t *base)
{
    const uint64_t unit = from->p == 1 ? 8 : 1;

    if (from->n == unit) {
        return 1;
    }
    if (*n == TILE_INNER) {
        return 0;
    }
    tile_inner *const d = &list[(*n)++];
    d->n = divisor_of((uint32_t)(from->n / unit));
    d->bits = (uint32_t)(from->s * unit);
    if (from->backwards) {
        *base += (d->n.by - 1) * d->bits;
        d->bits = 0 - d->bits;
    }
    return 1;
}

/* The remaining atoms of a tile count spans. */
static int lines_spans(const tile_plan *t, tile_args *a, uint32_t span,
                       tile_atom *const *atom, uint32_t n)
{
    uint32_t spans = 1;

    a->n_vector_digits = 0;
    memset(&a->from, 0, sizeof a->from);
    if (n > TILE_INNER) {
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        tile_inner *const d = &a->vector[a->n_vector_digits++];

        d->n = divisor_of((uint32_t)atom[i]->n);
        d->row = atom[i]->axis == LAYOUT_R ? (uint32_t)atom[i]->l : 0;
        d->memory = (uint32_t)(atom[i]->p / 8);
        d->bits = (uint32_t)atom[i]->s;
        if (atom[i]->backwards) {
            gather_backwards(t, d, &a->from);
        }
        spans *= d->n.by;
    }
    a->n_vectors = spans * span;
    return 1;
}

static uint32_t lines_sum(const tile_inner *digit, uint32_t n, uint32_t i)
{
    uint32_t bits = 0;

    for (uint32_t k = 0; k < n; k++) {
        bits += i % digit[k].n.by * digit[k].bits;
        i /= digit[k].n.by;
    }
    return bits;
}

/* The fewest lines that are vectors, if all such packs of lines look alike. */
static int lines_pack(lines_args *a, uint64_t line, uint64_t lines)
{
    const uint64_t together = 16 / common_unit(line, 16);

    if (together * line > LINES_TABLE || lines > LINES_TABLE ||
        lines % together != 0) {
        return 0;
    }
    a->line = divisor_of((uint32_t)line);
    a->lines = (uint32_t)lines;
    a->together = (uint32_t)together;
    a->period = divisor_of((uint32_t)(together * line));
    for (uint32_t i = 0; i < a->lines; i++) {
        const uint32_t in_pack = i % a->together;

        if (lines_sum(a->high_digit, a->n_high_digits, i) !=
            lines_sum(a->high_digit, a->n_high_digits, i - in_pack) +
                lines_sum(a->high_digit, a->n_high_digits, in_pack)) {
            return 0;
        }
    }
    return 1;
}

/* Split the atoms into those of a line's bytes, of lines and of spans. */
static int lines_cut(tile_plan *t, lines_args *a)
{
    tile_atom *sorted[TILE_ATOMS];
    const int memory = !t->back;
    const uint32_t n = tile_sorted(t, memory, 1, sorted);
    const uint64_t span = lines_run(t, memory);
    uint64_t low = 1; /* bits */
    uint64_t high = 1;
    uint32_t i = 0;
    int fits = 1;

    for (; i < n && atom_order(t, sorted[i], memory) == low * high; i++) {
        if (memory ? high == 1 && (low <= 8 || low * sorted[i]->n <= 8 * 128)
                   : sorted[i]->axis == LAYOUT_C) {
            low *= sorted[i]->n;
            fits &= lines_digit(sorted[i], a->low_digit, &a->n_low_digits,
                                &a->low_from);
        } else {
            high *= sorted[i]->n;
            fits &= lines_digit(sorted[i], a->high_digit, &a->n_high_digits,
                                &a->high_from);
        }
    }
    low = memory ? low / 8 : t->row_bytes;
    if (!fits || span == 0 || span % 16 != 0 || !lines_pack(a, low, high) ||
        !lines_begin_whole(t, memory, span) ||
        (t->back && !lines_begin_whole(t, 1, t->run_bytes))) {
        return 0;
    }
    a->span = divisor_of((uint32_t)(span / 16));
    return lines_spans(t, &a->tile, a->span.by, sorted + i, n - i);
}

#endif
