/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a layout_map to a tile: which digits a block moves at once.
 *
 * The digits become atoms with a stride in the tensor (rows; columns counted
 * in bits) and one in memory (bits).  A tile takes the low atoms of both
 * sides in turn until both have runs worth a transaction; an atom that is too
 * large is split at a divisor.  What cannot be a tile is refused, and walks.
 */
#ifndef GPU_PLAN_TILE_H
#define GPU_PLAN_TILE_H

#include "layout/layout.h"
#include "layout_plan/layout_text.h"
#include "port/runtime.h"

enum { TILE_ATOMS = 48, TILE_LEAST = TILE_BYTES / 4 * 3 };

typedef struct tile_atom {
    uint64_t n;
    int axis;       /* LAYOUT_E, LAYOUT_R, or LAYOUT_C in bits */
    int backwards;  /* memory counts down along the axis */
    uint64_t l;     /* stride along the axis */
    uint64_t p;     /* stride in memory, bits; of a table: of its group */
    int group;      /* whose table it goes through, or -1 */
    uint32_t digit; /* and as which digit of the map */
    int in;         /* part of the tile */
    uint64_t s;     /* stride in shared memory, bits */
} tile_atom;

typedef struct tile_plan {
    const layout_map *map;
    int back;      /* from memory to the tensor */
    uint64_t rows; /* of the tensor, really there */
    uint64_t row_bytes;
    uint64_t row_bits;    /* padded */
    uint64_t tensor_bits; /* of an expert, padded */
    int one_row;          /* rows are taken for columns */
    uint64_t line_bits;   /* then what a row of the map has */
    uint8_t pad_row, pad_col;
    uint32_t n;
    tile_atom atom[TILE_ATOMS];
    uint64_t bits; /* of a tile */
    uint64_t run_bytes;
} tile_plan;

/* Where an atom stands in the order of the tensor, in bits. */
static uint64_t atom_logical(const tile_plan *t, const tile_atom *a)
{
    return a->axis == LAYOUT_C   ? a->l
           : a->axis == LAYOUT_R ? a->l * t->row_bits
                                 : a->l * t->tensor_bits;
}

static uint64_t atom_order(const tile_plan *t, const tile_atom *a, int memory)
{
    return memory ? a->p : atom_logical(t, a);
}

/* Atoms that continue each other on both sides are one. */
static int tile_add(tile_plan *t, tile_atom a)
{
    if (a.n == 1) {
        return 1;
    }
    if (t->n > 0) {
        tile_atom *const last = &t->atom[t->n - 1];
        if (last->group < 0 && a.group < 0 && last->axis == a.axis &&
            !last->backwards && !a.backwards && last->l == a.l * a.n &&
            last->p == a.p * a.n) {
            last->n *= a.n;
            last->l = a.l;
            last->p = a.p;
            return 1;
        }
    }
    if (t->n == TILE_ATOMS) {
        return 0;
    }
    t->atom[t->n++] = a;
    return 1;
}

static int group_counts_down(const layout_map *m, const layout_group *g)
{
    if (g->table < 0 || g->n_members != 1) {
        return 0;
    }
    for (uint64_t i = 0; i < g->n; i++) {
        if (m->table[(uint64_t)g->table + i] != g->n - 1 - i) {
            return 0;
        }
    }
    return 1;
}

/* Where nothing is padded or cut off, the rows of an expert are one row. */
static int tile_is_flat(const layout_map *m, const uint64_t kept[3])
{
    return kept[1] == m->axis[1].padded && kept[2] == m->axis[2].padded;
}

/* And a single column is a row. */
static int tile_is_column(const layout_map *m)
{
    return m->axis[LAYOUT_C].padded == 1;
}

static int tile_add_group(tile_plan *t, uint32_t index)
{
    const layout_map *const m = t->map;
    const layout_group *const g = &m->group[index];
    const int down = group_counts_down(m, g);
    uint64_t p = g->stride * g->n;

    for (uint32_t i = 0; i < g->n_members; i++) {
        const layout_digit *const d = &m->digit[g->member[i]];
        tile_atom a = {d->n, d->axis,      down, d->stride, 0,
                       -1,   g->member[i], 0,    0};

        p /= d->n;
        a.p = g->table >= 0 && !down ? g->stride : p;
        a.group = g->table >= 0 && !down ? (int)index : -1;
        if (d->axis == LAYOUT_BELOW) {
            a.axis = LAYOUT_C;
        } else if (d->axis == LAYOUT_C) {
            a.l *= 8 * m->elem_bytes;
        } else if (d->axis == LAYOUT_R && t->one_row) {
            a.axis = LAYOUT_C;
            a.l *= t->line_bits;
        }
        if (!tile_add(t, a)) {
            return 0;
        }
    }
    return 1;
}

/* kept: experts, rows and columns of the tensor that are really there; flat:
   all rows may be taken for one. */
static int tile_begin(tile_plan *t, const layout_map *m, int back,
                      const uint64_t kept[3], int flat)
{
    const int column = tile_is_column(m);
    const uint64_t elem_bits = 8 * m->elem_bytes;

    memset(t, 0, sizeof *t);
    t->map = m;
    t->back = back;
    t->one_row = column || (flat && tile_is_flat(m, kept));
    t->line_bits = m->axis[LAYOUT_C].padded * elem_bits;
    t->tensor_bits = t->line_bits * m->axis[LAYOUT_R].padded;
    t->row_bits = t->one_row ? t->tensor_bits : t->line_bits;
    t->rows = t->one_row ? 1 : kept[1];
    t->row_bytes = (t->one_row ? kept[1] : 1) * kept[2] * m->elem_bytes;
    t->pad_row = m->axis[LAYOUT_R].byte;
    t->pad_col = m->axis[column ? LAYOUT_R : LAYOUT_C].byte;
    if (m->axis[0].padded != kept[0] || kept[0] == 0 || t->tensor_bits == 0 ||
        t->row_bytes >> 30 != 0 || t->rows >> 30 != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < m->n_groups; i++) {
        if (!tile_add_group(t, i)) {
            return 0;
        }
    }
    const tile_atom unit = {m->unit_bits, LAYOUT_C, 0, 1, 1, -1, 0, 0, 0};
    return tile_add(t, unit);
}

static int tile_has_tables(const tile_plan *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->atom[i].group >= 0) {
            return 1;
        }
    }
    return 0;
}

/* The inner n of atom i become an atom of their own. */
static int tile_split(tile_plan *t, uint32_t i, uint64_t n)
{
    if (t->n == TILE_ATOMS || t->atom[i].group >= 0) {
        return 0;
    }
    tile_atom *const inner = &t->atom[t->n++];
    *inner = t->atom[i];
    inner->n = n;
    t->atom[i].n /= n;
    t->atom[i].l *= n;
    t->atom[i].p *= n;
    return 1;
}

/* No atom may reach across `cut` bits of that side. */
static int tile_cut(tile_plan *t, int memory, uint64_t cut)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const tile_atom *const a = &t->atom[i];
        const uint64_t at = atom_order(t, a, memory);
        const uint64_t n =
            memory && a->group >= 0 ? t->map->group[a->group].n : a->n;

        if (at >= cut || at * n <= cut) {
            continue;
        }
        if (cut % at != 0 || at * n % cut != 0 || !tile_split(t, i, cut / at)) {
            return 0;
        }
    }
    return 1;
}

static void tile_include(tile_plan *t, tile_atom *a)
{
    if (!a->in) {
        a->in = 1;
        t->bits *= a->n;
    }
}

/* Everything below so many bits of a side. */
static void tile_include_below(tile_plan *t, int memory, uint64_t bits)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (atom_order(t, &t->atom[i], memory) < bits) {
            tile_include(t, &t->atom[i]);
        }
    }
}

/* Cut where bytes, words and vectors begin; the low ends are in any tile. */
static int tile_low_ends(tile_plan *t)
{
    const uint64_t low = t->back ? 128 : 8;

    for (uint32_t i = 0; i < t->n; i++) {
        const int group = t->atom[i].group;
        if (group >= 0 &&
            t->map->group[group].stride * t->map->group[group].n > 32) {
            return 0;
        }
    }
    if (t->back && !t->one_row && t->row_bits % 128 != 0) {
        return 0;
    }
    if ((!t->back && !tile_cut(t, 0, 8)) || !tile_cut(t, !t->back, 32) ||
        !tile_cut(t, 1, 128) || (t->back && !tile_cut(t, 0, 128))) {
        return 0;
    }
    t->bits = 1;
    tile_include_below(t, 1, 128);
    tile_include_below(t, 0, low);
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->atom[i].in && t->atom[i].axis == LAYOUT_E) {
            return 0;
        }
    }
    return t->bits % 128 == 0 && t->bits <= 8 * TILE_BYTES;
}

/* A divisor of n, best at least `wanted`, that the tile has room for. */
static uint64_t tile_divisor(const tile_plan *t, uint64_t n, uint64_t wanted)
{
    const uint64_t room = 8 * TILE_BYTES / t->bits;
    uint64_t best = 1;

    for (uint64_t d = 1; d <= n && d <= room; d++) {
        if (n % d == 0) {
            best = d;
            if (d >= wanted) {
                break;
            }
        }
    }
    return best;
}

/* Take atoms of one side until its low run has so many bits. */
static void tile_grow(tile_plan *t, int memory, uint64_t target)
{
    uint64_t run = 1;

    for (uint32_t i = 0; i < t->n; i++) {
        tile_atom *const a = &t->atom[i];

        if (atom_order(t, a, memory) != run) {
            continue;
        }
        if (memory && a->group >= 0) {
            run *= t->map->group[a->group].n; /* the table as a whole */
            i = UINT32_MAX;
            continue;
        }
        if (!a->in) {
            if (run >= target || a->axis == LAYOUT_E) {
                return;
            }
            const uint64_t d = tile_divisor(t, a->n, (target + run - 1) / run);
            if (d == 1) {
                return;
            }
            if (d == a->n) {
                tile_include(t, a);
            } else if (tile_split(t, i, d)) {
                tile_include(t, &t->atom[t->n - 1]);
                return;
            } else {
                return;
            }
        }
        run *= a->n;
        i = UINT32_MAX; /* look again from the first */
    }
}

/* Room that no run can use is for twice as many of them. */
static void tile_double(tile_plan *t)
{
    for (uint32_t i = 0; i < t->n && 2 * t->bits <= 8 * TILE_BYTES; i++) {
        tile_atom *const a = &t->atom[i];

        if (a->in || a->axis == LAYOUT_E || a->group >= 0 || a->n % 2 != 0) {
            continue;
        }
        if (a->n == 2) {
            tile_include(t, a);
        } else if (tile_split(t, i, 2)) {
            tile_include(t, &t->atom[t->n - 1]);
        }
    }
}

/* The atom that has the largest divisor for which there is room; its number,
   or that of no atom. */
static uint32_t tile_largest(const tile_plan *t, uint64_t *divisor)
{
    uint32_t best = t->n;

    *divisor = 1;
    for (uint32_t i = 0; i < t->n; i++) {
        const tile_atom *const a = &t->atom[i];
        const uint64_t room = 8 * TILE_BYTES / t->bits;
        uint64_t d = a->n < room ? a->n : room;

        if (a->in || a->axis == LAYOUT_E || a->group >= 0) {
            continue;
        }
        while (a->n % d != 0) {
            d--;
        }
        if (d > *divisor) {
            *divisor = d;
            best = i;
        }
    }
    return best;
}

/* Large odd factors find room only before small even ones take it. */
static void tile_fill_up(tile_plan *t)
{
    uint64_t d;

    for (uint32_t i = tile_largest(t, &d); i < t->n; i = tile_largest(t, &d)) {
        if (d == t->atom[i].n) {
            tile_include(t, &t->atom[i]);
        } else if (tile_split(t, i, d)) {
            tile_include(t, &t->atom[t->n - 1]);
        } else {
            return;
        }
    }
}

static void tile_grow_both(tile_plan *t, uint64_t most)
{
    for (uint64_t target = 32 * 8; target <= most; target *= 2) {
        if (target > 128 * 8 && t->bits >= 8 * TILE_LEAST) {
            break;
        }
        tile_grow(t, 0, target);
        tile_grow(t, 1, target);
    }
}

/* Long runs on both sides; a full tile instead if not even half is. */
static int tile_choose(tile_plan *t)
{
    if (!tile_low_ends(t)) {
        return 0;
    }
    tile_plan full = *t;
    tile_grow_both(t, 8 * TILE_BYTES);
    tile_double(t);
    tile_grow_both(&full, 128 * 8);
    tile_fill_up(&full);
    if (2 * t->bits < 8 * TILE_BYTES && full.bits > t->bits) {
        *t = full;
    }
    return 1;
}

/* The tile's atoms along one side, lowest first. */
static uint32_t tile_sorted(tile_plan *t, int memory, int in,
                            tile_atom *sorted[TILE_ATOMS])
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        tile_atom *const a = &t->atom[i];
        uint32_t at = n;

        if (a->in != in) {
            continue;
        }
        for (; at > 0 &&
               atom_order(t, sorted[at - 1], memory) > atom_order(t, a, memory);
             at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = a;
        n++;
    }
    return n;
}

#endif
