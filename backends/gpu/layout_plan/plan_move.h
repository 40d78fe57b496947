/* SPDX-License-Identifier: Apache-2.0 */
/* layout.*: a map, a direction and two buffers become one launch. */
#ifndef GPU_PLAN_MOVE_H
#define GPU_PLAN_MOVE_H

#include "host/call.h"
#include "layout/layout.h"
#include "layout/layout_gather.h"
#include "layout/layout_lines.h"
#include "layout/layout_walk.h"
#include "layout_plan/gather_cost.h"
#include "layout_plan/layout_text.h"
#include "layout_plan/plan_gather.h"
#include "layout_plan/plan_lines.h"
#include "layout_plan/plan_tile.h"
#include "port/runtime.h"

typedef struct layout_move {
    const layout_map *map;
    int back;
    uint64_t kept[3]; /* of the logical tensor: what is really there */
    const uint8_t *src;
    uint8_t *dst;
} layout_move;

/* The widest access to the tensor that is aligned and ends with its rows. */
static uint32_t tile_unit(tile_plan *t, const tile_args *a)
{
    uint64_t unit = common_unit(16, t->row_bytes);

    if (t->back) {
        return unit == 16 ? 16 : 1;
    }
    unit = common_unit(unit, t->run_bytes);
    for (uint32_t i = 0; i < a->n_run_digits; i++) {
        unit = common_unit(unit, a->run[i].col);
    }
    for (uint32_t i = 0; i < t->n; i++) {
        if (!t->atom[i].in && t->atom[i].axis == LAYOUT_C) {
            unit = common_unit(unit, t->atom[i].l / 8);
        }
    }
    return (uint32_t)unit;
}

/* Rows that are not even whole words: those that follow each other in the
   tensor are read as one piece.  Its length, or 0. */
static uint64_t tile_lines(tile_plan *t)
{
    tile_atom *sorted[TILE_ATOMS];
    const uint32_t n = tile_sorted(t, 0, 1, sorted);
    uint64_t lines = 1;

    if (t->back || t->one_row || t->row_bytes % 4 == 0 ||
        t->run_bytes != t->row_bits / 8 || t->rows * t->row_bytes % 16 != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (sorted[i]->axis == LAYOUT_R && sorted[i]->l == lines) {
            lines *= sorted[i]->n;
        }
    }
    for (uint32_t i = 0; i < t->n; i++) {
        const tile_atom *const a = &t->atom[i];
        const int within = a->in && a->l < lines;

        if (a->axis == LAYOUT_R && !within && a->l * t->row_bytes % 16 != 0) {
            return 0;
        }
    }
    return lines * t->row_bytes % 16 == 0 ? lines : 0;
}

/* How a tile gets into shared memory, with runs so far apart. */
static int tile_loads(tile_plan *t, tile_args *a, uint64_t enough, uint64_t gap)
{
    gather_runs(t, a, enough, 0);
    const uint64_t pitch = (t->run_bytes + 3) / 4 * 4 + gap;
    gather_runs(t, a, enough, pitch);
    if (a->n_run_digits > TILE_INNER || a->n_runs > TILE_RUNS ||
        (uint64_t)a->n_runs * pitch > TILE_ROOM || t->run_bytes == 0) {
        return 0;
    }
    a->unit = tile_unit(t, a);
    const uint64_t load = t->back ? 16 : a->unit;
    if (t->run_bytes % load != 0) {
        return 0;
    }
    a->units = divisor_of((uint32_t)(t->run_bytes / load));
    a->n_units = a->n_runs * a->units.by;
    const uint64_t lines = tile_lines(t);
    a->lines = (uint32_t)lines;
    if (lines != 0) {
        a->line = divisor_of((uint32_t)t->row_bytes);
        a->units = divisor_of((uint32_t)(lines * t->row_bytes / 16));
        a->n_units = (uint32_t)(a->n_runs / lines) * a->units.by;
    }
    return 1;
}

/* Everything that depends on how far apart the runs lie. */
static int tile_at_pitch(tile_plan *t, tile_args *a, gather_plan *g,
                         uint64_t enough, uint64_t gap)
{
    if (!tile_loads(t, a, enough, gap) || !gather_vectors(t, a)) {
        return 0;
    }
    gather_choose(t, a, g);
    return g->kind >= 0;
}

/* Length of runs and gap between them that cost the fewest cycles. */
static int tile_best_pitch(tile_plan *t, tile_args *a, gather_plan *g)
{
    uint32_t least = UINT32_MAX;
    uint64_t best[2] = {0, 0};
    uint64_t run_bytes = 0;

    for (uint64_t enough = TILE_BYTES; enough >= 64; enough /= 2) {
        gather_runs(t, a, enough, 0);
        if (t->run_bytes == run_bytes) {
            continue; /* nothing new */
        }
        run_bytes = t->run_bytes;
        for (uint64_t gap = 0; gap <= 64; gap += 4) {
            if (!tile_at_pitch(t, a, g, enough, gap)) {
                continue;
            }
            if (g->direct) {
                return 1;
            }
            const uint32_t cost = gather_cost(a, g) + keep_cost(a);
            if (cost < least) {
                least = cost;
                best[0] = enough;
                best[1] = gap;
            }
        }
    }
    return least != UINT32_MAX && tile_at_pitch(t, a, g, best[0], best[1]);
}

/* Digits that are not in the tile count tiles. */
static int tile_count(tile_plan *t, tile_args *a)
{
    tile_atom *sorted[TILE_ATOMS];
    const uint32_t n = tile_sorted(t, !t->back, 0, sorted);
    uint64_t tiles = 1;

    if (n > TILE_OUTER) {
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        const tile_atom *const from = sorted[i];
        tile_outer *const d = &a->outer[i];

        tiles *= from->n;
        if (tiles >> 31 != 0) {
            return 0;
        }
        d->n = divisor_of((uint32_t)from->n);
        d->row = from->axis == LAYOUT_R ? (uint32_t)from->l : 0;
        d->col = from->axis == LAYOUT_C ? (uint32_t)(from->l / 8) : 0;
        d->logical =
            from->axis == LAYOUT_E ? from->l * t->rows * t->row_bytes : 0;
        d->memory = from->backwards ? 0 - from->p / 8 : from->p / 8;
        a->memory_from += from->backwards ? (from->n - 1) * from->p / 8 : 0;
    }
    a->n_outer = n;
    a->tiles = (uint32_t)tiles;
    return 1;
}

/* The last row and byte of a row that a tile reaches beyond its first. */
static void tile_spans(const tile_plan *t, tile_args *a)
{
    uint64_t row = 0;
    uint64_t bits = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        const tile_atom *const from = &t->atom[i];
        const uint64_t reach = (from->n - 1) * from->l;

        row += from->in && from->axis == LAYOUT_R ? reach : 0;
        bits += from->in && from->axis == LAYOUT_C ? reach : 0;
    }
    a->row_span = (uint32_t)row;
    a->col_span = (uint32_t)(bits / 8);
}

static const gpu_kernel *tile_kernel(const tile_plan *t, const gather_plan *g)
{
    static const gpu_kernel there[GATHER_KINDS] = {
        KERNEL(layout_16, 1),
        KERNEL(layout_4, 1),
        KERNEL(layout_2, 1),
        KERNEL(layout_1, 1),
        KERNEL(layout_bits4, 1),
        KERNEL(layout_bits5, 1),
        KERNEL(layout_wide, 1),
        KERNEL(layout_pair2, 1),
        KERNEL(layout_pair5, 1),
        KERNEL(layout_column_bits4, 1),
        KERNEL(layout_column_pair5, 1),
        KERNEL(layout_word_pair5, 1)};
    static const gpu_kernel back[] = {
        KERNEL(layout_back_16, 1),    KERNEL(layout_back_4, 1),
        KERNEL(layout_back_2, 1),     KERNEL(layout_back_1, 1),
        KERNEL(layout_back_bits5, 1), KERNEL(layout_back_bits5, 1),
        KERNEL(layout_back_wide, 1)};
    static const gpu_kernel direct[] = {KERNEL(layout_direct, 0),
                                        KERNEL(layout_back_direct, 0)};

    if (g->direct) {
        return &direct[t->back];
    }
    return t->back ? &back[g->kind] : &there[g->kind];
}

static uint32_t tile_steps(const tile_plan *t, const tile_args *a)
{
    const int has_pads = t->row_bits != 8 * t->row_bytes ||
                         t->tensor_bits != t->row_bits * t->rows;

    if (a->src == NULL || a->lines != 0 || (!t->back && a->unit != 16) ||
        a->n_units > TILE_STEPS * GPU_BLOCK) {
        return STEPS_NONE;
    }
    if (t->back || (!has_pads && t->rows * t->row_bytes >> 32 == 0)) {
        return STEPS_BYTES;
    }
    return a->row_span >> 16 == 0 && a->col_span >> 16 == 0 ? STEPS_PLACES
                                                            : STEPS_NONE;
}

/* Arguments of every kind of tile. */
static void tile_facts(const tile_plan *t, const layout_move *move,
                       gpu_plan *plan)
{
    tile_args *const a = PLAN_ARGS(plan, tile_args);

    tile_spans(t, a);
    a->src = move->src;
    a->dst = move->dst;
    a->rows = (uint32_t)t->rows;
    a->row_bytes = (uint32_t)t->row_bytes;
    a->pad_row = t->pad_row * 0x01010101u;
    a->pad_col = t->pad_col * 0x01010101u;
    a->stepped = tile_steps(t, a);
    plan->blocks = a->tiles;
    plan->waves = 1;
}

/* 0: no tile of whole vectors will do. */
static int plan_vectors(const layout_move *move, gpu_plan *plan)
{
    tile_args *const a = PLAN_ARGS(plan, tile_args);
    gather_plan g;
    tile_plan t;

    memset(a, 0, sizeof *a);
    if (!tile_begin(&t, move->map, move->back, move->kept, 1) ||
        !tile_choose(&t) || !tile_count(&t, a) || !tile_best_pitch(&t, a, &g)) {
        return 0;
    }
    tile_facts(&t, move, plan);
    plan->kernel = tile_kernel(&t, &g);
    return 1;
}

/* The same where vectors are cut from lines. */
static int plan_lines(const layout_move *move, gpu_plan *plan)
{
    static const gpu_kernel kernels[] = {KERNEL(layout_lines, 1),
                                         KERNEL(layout_back_lines, 1)};
    lines_args *const a = PLAN_ARGS(plan, lines_args);
    tile_plan t;

    memset(a, 0, sizeof *a);
    if (!tile_begin(&t, move->map, move->back, move->kept, !move->back) ||
        !lines_choose(&t) || !tile_count(&t, &a->tile) ||
        !tile_loads(&t, &a->tile, TILE_BYTES, lines_gap(&t, &a->tile)) ||
        !lines_cut(&t, a)) {
        return 0;
    }
    tile_facts(&t, move, plan);
    plan->kernel = &kernels[t.back];
    return 1;
}

/* Bytes of memory without the gaps of records, and with them. */
static uint64_t map_dense(const layout_map *m)
{
    return m->axis[0].padded * m->axis[1].padded * m->axis[2].padded *
           m->elem_bytes;
}

static uint64_t map_bytes(const layout_map *m)
{
    uint64_t n = map_dense(m);

    for (uint32_t i = 0; i < m->n_records; i++) {
        n = n / m->record[i].body * m->record[i].every;
    }
    return n;
}

static void walk_digits(const layout_map *m, walk_args *a)
{
    uint32_t n = 0;

    a->n_groups = m->n_groups;
    for (uint32_t i = 0; i < m->n_groups; i++) {
        const layout_group *const from = &m->group[i];
        walk_group *const to = &a->group[i];

        to->n = from->n;
        to->stride = from->stride / m->unit_bits;
        to->first = n;
        to->count = from->n_members;
        to->table = from->table;
        for (uint32_t k = 0; k < from->n_members; k++) {
            const layout_digit *const d = &m->digit[from->member[k]];

            a->digit[n].n = d->n;
            a->digit[n].stride = d->stride;
            a->digit[n++].axis = (uint32_t)d->axis;
        }
        for (uint64_t v = 0; from->table >= 0 && v < from->n; v++) {
            const uint64_t at = (uint64_t)from->table + v;

            a->number[at] = m->table[at];
            a->value[(uint64_t)from->table + m->table[at]] = (uint16_t)v;
        }
    }
}

static void walk_facts(const layout_map *m, const uint64_t extent[3],
                       walk_args *a)
{
    walk_digits(m, a);
    a->elem_bytes = m->elem_bytes;
    a->unit_bits = m->unit_bits;
    a->n_records = m->n_records;
    for (uint32_t i = 0; i < m->n_records; i++) {
        const walk_record r = {m->record[i].first, m->record[i].body,
                               m->record[i].every};

        a->record[i] = r;
    }
    for (int i = 0; i < 3; i++) {
        a->extent[i] = extent[i];
        a->pad[i] = m->axis[i].byte;
        a->undefined[i] = (uint8_t)m->axis[i].undefined;
    }
}

/* defined: y says which elements of memory are. */
static void plan_walk(const layout_move *move, int defined, gpu_plan *plan)
{
    static const gpu_kernel kernels[] = {KERNEL(layout_walk, 0),
                                         KERNEL(layout_walk_back, 0),
                                         KERNEL(layout_defined, 0)};
    const layout_map *const m = move->map;
    walk_args *const a = PLAN_ARGS(plan, walk_args);

    memset(a, 0, sizeof *a);
    walk_facts(m, move->kept, a);
    a->src = move->src;
    a->dst = move->dst;
    a->n = move->back
               ? move->kept[0] * move->kept[1] * move->kept[2] * m->elem_bytes
               : map_dense(m);
    a->n /= defined ? m->elem_bytes : 1;
    plan->kernel = &kernels[defined ? WALK_DEFINED : move->back];
    plan->blocks = (a->n + GPU_BLOCK - 1) / GPU_BLOCK;
}

#endif
