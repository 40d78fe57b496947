/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back through tables of bits: which bits of shared memory each bit of
 * a vector comes from, and terms that bring them there.
 */
#ifndef GPU_PLAN_TERMS_H
#define GPU_PLAN_TERMS_H

#include "host/call.h"
#include "layout/layout.h"
#include "layout/layout_terms.h"
#include "layout_plan/layout_text.h"
#include "layout_plan/plan_gather.h"
#include "layout_plan/plan_lines.h"
#include "layout_plan/plan_move.h"
#include "layout_plan/plan_tile.h"
#include "port/runtime.h"

/* The digit of a group's member for a bit of the vector; `kind` if it counts
   rows. */
static uint64_t terms_member(const tile_plan *t, int group, uint32_t digit,
                             uint32_t bit, uint64_t kind)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const tile_atom *const a = &t->atom[i];

        if (a->group == group && a->digit == digit) {
            const uint64_t at = atom_logical(t, a);
            return at < 128 ? bit / at % a->n : kind;
        }
    }
    return 0;
}

/* The tables' term for a bit of the vector, in bits of shared memory. */
static uint64_t terms_tables(const tile_plan *t, uint32_t bit, uint64_t kind)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < t->map->n_groups; i++) {
        const layout_group *const g = &t->map->group[i];
        uint64_t value = 0;

        if (g->table < 0 || group_counts_down(t->map, g)) {
            continue;
        }
        for (uint32_t k = 0; k < g->n_members; k++) {
            value = value * t->map->digit[g->member[k]].n +
                    terms_member(t, (int)i, g->member[k], bit, kind);
        }
        sum += t->map->table[(uint64_t)g->table + value] * g->stride;
    }
    return sum;
}

static void terms_low(const tile_plan *t, uint64_t kind, uint64_t low[128])
{
    for (uint32_t bit = 0; bit < 128; bit++) {
        low[bit] = terms_tables(t, bit, kind);
        for (uint32_t i = 0; i < t->n; i++) {
            const tile_atom *const a = &t->atom[i];
            const uint64_t at = atom_logical(t, a);

            if (a->group < 0 && at < 128) {
                const uint64_t v = bit / at % a->n;
                low[bit] += (a->backwards ? a->n - 1 - v : v) * a->s;
            }
        }
    }
}

/* A place among the terms for bits of that word of shared memory that take
   that turn; -1: there are too many. */
static int terms_place(terms_word *w, uint32_t used[TERMS_SOURCES], uint32_t at,
                       uint32_t turn)
{
    for (int s = 0; s < TERMS_SOURCES; s++) {
        if (used[s] > 0 && w->at[s] != at) {
            continue;
        }
        for (uint32_t k = 0; k < used[s]; k++) {
            if (w->turn[s * TERMS_EACH + (int)k] == turn) {
                return s * TERMS_EACH + (int)k;
            }
        }
        if (used[s] < TERMS_EACH) {
            w->at[s] = at;
            w->turn[s * TERMS_EACH + (int)used[s]] = turn;
            return s * TERMS_EACH + (int)used[s]++;
        }
    }
    return -1;
}

/* 0: a word needs more terms than there are. */
static int terms_of_word(terms_word *w, const uint64_t low[32])
{
    uint32_t used[TERMS_SOURCES] = {0};

    for (uint32_t bit = 0; bit < 32; bit++) {
        const int i = terms_place(w, used, (uint32_t)(low[bit] / 32 * 4),
                                  (bit - (uint32_t)low[bit]) & 31);

        if (i < 0) {
            return 0;
        }
        w->mask[i] |= 1u << bit;
    }
    return 1;
}

/* Where rows choose the terms, their digit counts vectors last; 0: several do,
   or one that is not binary. */
static int terms_kinds(const tile_plan *t, terms_args *a)
{
    tile_args *const tile = &a->tile;
    uint32_t kinds = 0;

    a->kind_from = UINT32_MAX;
    for (uint32_t i = 0; i < t->n; i++) {
        const tile_atom *const atom = &t->atom[i];

        if (atom->group >= 0 && atom_logical(t, atom) >= 128) {
            kinds += atom->n == 2 ? 1 : 2;
        }
    }
    if (kinds > 1) {
        return 0;
    }
    for (uint32_t i = 0; i < tile->n_vector_digits && kinds == 1; i++) {
        const tile_inner d = tile->vector[i];

        if (d.bits == 0) {
            memmove(&tile->vector[i], &tile->vector[i + 1],
                    (tile->n_vector_digits - 1 - i) * sizeof d);
            tile->vector[tile->n_vector_digits - 1] = d;
            a->kind_from = tile->n_vectors / 2;
            return 1;
        }
    }
    return kinds == 0;
}

static int terms_choose(const tile_plan *t, terms_args *a)
{
    uint64_t low[128];

    if (!terms_kinds(t, a) || !gather_aligned(&a->tile)) {
        return 0;
    }
    memset(a->word, 0, sizeof a->word);
    for (uint64_t kind = 0; kind < TERMS_KINDS; kind++) {
        terms_low(t, kind, low);
        for (uint32_t word = 0; word < 4; word++) {
            if (!terms_of_word(&a->word[kind][word], low + 32 * word)) {
                return 0;
            }
        }
    }
    return 1;
}

/* 0: not the way back, no tables, or too many terms. */
static int plan_terms(const layout_move *move, gpu_plan *plan)
{
    static const gpu_kernel kernel = KERNEL(layout_back_terms, 1);
    terms_args *const a = PLAN_ARGS(plan, terms_args);
    tile_plan t;

    memset(a, 0, sizeof *a);
    if (!move->back || !tile_begin(&t, move->map, 1, move->kept, 1) ||
        !tile_has_tables(&t) || !tile_choose(&t) || !tile_count(&t, &a->tile) ||
        !tile_loads(&t, &a->tile, TILE_BYTES, lines_gap(&t, &a->tile)) ||
        !gather_vectors(&t, &a->tile) || !terms_choose(&t, a)) {
        return 0;
    }
    tile_facts(&t, move, plan);
    plan->kernel = &kernel;
    return 1;
}

/* 0: no tile will do.  Bytes that are written one by one come last. */
static int plan_tiles(const layout_move *move, gpu_plan *plan)
{
    return plan_terms(move, plan) ||
           (plan_vectors(move, plan) &&
            (!move->back || PLAN_ARGS(plan, tile_args)->unit == 16)) ||
           plan_lines(move, plan) || plan_vectors(move, plan);
}

static void plan_move(const layout_move *move, gpu_plan *plan)
{
    if (move->map->n_records > 0 || !plan_tiles(move, plan)) {
        plan_walk(move, 0, plan);
    }
}

#endif
