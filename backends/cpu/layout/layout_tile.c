/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choice of the words of a tile, and of the moves that bring their bits from
 * one side's order into the other's.
 */
#include "layout_tile.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_BITS = 6,
    STRETCH_BYTES = 128,
    LOGICAL_BYTES = 128,
    NEAR_BYTES = 2048,
};

int cpu_find_bit(const cpu_tiler *t, uint64_t stride, int physical)
{
    for (int i = 0; i < t->n; i++) {
        const cpu_atom *a = &t->atom[i];
        if (a->size == 2 && a->hop == NULL &&
            (physical ? a->physical : a->logical) == stride) {
            return i;
        }
    }
    return -1;
}

/* Words of 2^log bits exist on both sides. */
static int has_words(cpu_tiler *t, uint32_t log)
{
    t->log = log;
    t->chunk_log = log;
    t->n = cpu_plan_atoms(t->plan, 1u << log, t->atom, t->opened);
    for (uint32_t b = 0; b < log && t->n > 0; b++) {
        t->logical_bit[b] = cpu_find_bit(t, (uint64_t)1 << b, 0);
        t->physical_bit[b] = cpu_find_bit(t, (uint64_t)1 << b, 1);
        if (t->logical_bit[b] < 0 || t->physical_bit[b] < 0) {
            return 0;
        }
    }
    return t->n > 0;
}

static int add(cpu_tiler *t, int i)
{
    const uint64_t slots = cpu_times(t->slots, t->atom[i].size);

    if (t->in_tile[i]) {
        return 1;
    }
    /* Exchanges work in the nearest cache, beside what they read. */
    const uint64_t most = t->n_reg == 0 ? CPU_TILE_BYTES : CPU_TILE_BYTES / 2;
    if (slots > CPU_TILE_SLOTS || slots > (most * 8) >> t->log) {
        return 0;
    }
    t->slots = slots;
    t->in_tile[i] = 1;
    return 1;
}

/* Neighbours on the logical side: some lines in a row, no more, so that there
   is room for neighbours in memory. */
static void add_logical_neighbours(cpu_tiler *t)
{
    uint64_t run = (uint64_t)1 << t->chunk_log;

    for (int i = 0; i < t->n && run < (uint64_t)8 * LOGICAL_BYTES; i++) {
        if (t->atom[i].hop == NULL && t->atom[i].logical == run &&
            t->atom[i].size <= 8 && add(t, i)) {
            run *= t->atom[i].size;
            i = -1;
        }
    }
}

/* Neighbours in memory, until a stretch has that many bytes. */
static void add_physical_neighbours(cpu_tiler *t, uint64_t bytes)
{
    uint64_t stretch = 1;

    for (int i = t->n - 1; i >= 0 && stretch < 8 * bytes; i--) {
        stretch *= add(t, i) ? t->atom[i].size : 1;
    }
}

void cpu_grow_tile(cpu_tiler *t)
{
    add_physical_neighbours(t, STRETCH_BYTES);
    add_logical_neighbours(t);
    add_physical_neighbours(t, CPU_TILE_BYTES);
}

static void choose_tile(cpu_tiler *t)
{
    for (uint32_t b = 0; b < t->log; b++) {
        t->is_word[t->logical_bit[b]] |= 1;
        t->is_word[t->physical_bit[b]] |= 2;
    }
    t->slots = 1;
    for (int i = 0; i < t->n; i++) {
        t->in_tile[i] = t->is_word[i] != 0;
        if (t->is_word[i] == 2) {
            t->reg[t->n_reg++] = i;
            t->slots *= 2;
        }
    }
    cpu_grow_tile(t);
}

/* Along a tile the side that is read lies in order; without exchanges memory
   does, so that words go straight to their places. */
static void order_along(cpu_tiler *t)
{
    for (int i = 0; i < t->n; i++) {
        if (t->in_tile[i] && t->is_word[i] == 0) {
            t->along[t->n_along++] = i;
        }
    }
    if (t->n_reg == 0) {
        return;
    }
    for (int i = 1; i < t->n_along; i++) {
        const int a = t->along[i];
        int k = i;
        while (k > 0 && t->atom[t->along[k - 1]].logical < t->atom[a].logical) {
            t->along[k] = t->along[k - 1];
            k--;
        }
        t->along[k] = a;
    }
}

/* One swap puts one bit in its place for good. */
static void plan_swaps(cpu_tiler *t, int at[CPU_MOST_BITS])
{
    cpu_plan *p = t->plan;
    int found = 1;

    memcpy(at, t->logical_bit, sizeof t->logical_bit);
    memcpy(t->swapped, t->reg, sizeof t->reg);
    while (found) {
        found = 0;
        for (uint32_t b = 0; b < t->log; b++) {
            for (int r = 0; r < t->n_reg; r++) {
                if (t->swapped[r] == t->physical_bit[b]) {
                    p->swap[p->n_swaps++] = (cpu_swap){(uint32_t)r, b};
                    t->swapped[r] = at[b];
                    at[b] = t->physical_bit[b];
                    found = 1;
                }
            }
        }
    }
}

uint32_t cpu_through_tables(const cpu_tiler *t, uint32_t bit)
{
    const cpu_map *m = &t->plan->map;

    for (int k = 0; k < m->n_tables; k++) {
        const cpu_table *table = &m->table[k];
        const uint32_t stride =
            t->opened[k]
                ? (uint32_t)m->digit[table->first + table->count - 1].physical
                : 0;
        if (stride != 0) {
            const uint32_t v = bit / stride % table->size;
            bit = bit - v * stride + table->entry[v] * stride;
        }
    }
    return bit;
}

static void mix_bit(cpu_mix *mix, const cpu_tiler *t, uint32_t from,
                    uint32_t to)
{
    const int shift = (int)to - (int)from;
    int i = 0;

    while (i < mix->n && mix->shift[i] != shift) {
        i++;
    }
    if (i == mix->n) {
        mix->shift[mix->n] = (int8_t)shift;
        mix->mask[mix->n++] = 0;
    }
    for (uint32_t bit = to; bit < 64; bit += 1u << t->log) {
        mix->mask[i] |= (uint64_t)1 << bit;
    }
}

static void plan_mix(cpu_tiler *t, const int at[CPU_MOST_BITS])
{
    cpu_plan *p = t->plan;

    for (uint32_t from = 0; from < 1u << t->log; from++) {
        uint32_t to = 0;
        for (uint32_t b = 0; b < t->log; b++) {
            for (uint32_t k = 0; k < t->log; k++) {
                to |= t->physical_bit[k] == at[b] ? (from >> b & 1) << k : 0;
            }
        }
        to = cpu_through_tables(t, to);
        mix_bit(&p->mix, t, from, to);
        mix_bit(&p->unmix, t, to, from);
    }
    if (p->mix.n == 1 && p->mix.shift[0] == 0) {
        p->mix.n = p->unmix.n = 0;
    }
}

uint64_t cpu_value_at(const cpu_atom *a, uint64_t v)
{
    return (a->hop == NULL ? v * a->logical : a->hop[v].logical) / 8;
}

uint64_t cpu_coord_at(const cpu_atom *a, uint64_t v, int w)
{
    return a->hop == NULL ? v * a->coord[w] : a->hop[v].coord[w];
}

static void fill_slot(cpu_tiler *t, uint32_t slot)
{
    cpu_plan *p = t->plan;
    uint64_t rest = slot;

    for (int i = t->n_along - 1; i >= 0; i--) {
        const cpu_atom *a = &t->atom[t->along[i]];
        const uint64_t v = rest % a->size;

        rest /= a->size;
        p->logical_at[slot] += cpu_value_at(a, v);
        p->physical_at[slot] += v * a->physical / 8;
        for (int w = 0; w < p->map.n_walls; w++) {
            p->slot_coord[slot * CPU_WALLS + (unsigned)w] +=
                cpu_coord_at(a, v, w);
        }
    }
    for (int r = 0; r < t->n_reg; r++) {
        const uint64_t v = rest >> r & 1;
        const cpu_atom *a = &t->atom[t->reg[r]];

        p->logical_at[slot] += cpu_value_at(a, v);
        p->physical_at[slot] += v * t->atom[t->swapped[r]].physical / 8;
        for (int w = 0; w < p->map.n_walls; w++) {
            p->slot_coord[slot * CPU_WALLS + (unsigned)w] +=
                cpu_coord_at(a, v, w);
        }
    }
}

uint32_t cpu_run_of(const cpu_plan *p, const uint64_t *at)
{
    uint32_t run = p->n_slots;

    while (run > 1) {
        uint32_t slot = 0;
        while (slot < p->n_slots &&
               at[slot] == at[slot - slot % run] + slot % run * p->word_bytes) {
            slot++;
        }
        if (slot == p->n_slots) {
            return run;
        }
        /* A run that breaks at slot cannot be longer than that. */
        const uint32_t most = slot % run;
        for (run = most; p->n_slots % run != 0; run--) {
        }
    }
    return run;
}

/* Atoms of the tile fill memory from the least significant on. */
static void plan_stretches(cpu_tiler *t)
{
    cpu_plan *p = t->plan;
    uint64_t bits = 1;
    int i = t->n - 1;

    for (; i >= 0 && t->in_tile[i]; i--) {
        bits *= t->atom[i].size;
    }
    p->in_order = 1;
    p->stretch = bits / 8;
    p->n_stretches = (uint32_t)(p->n_slots * p->word_bytes / p->stretch);
    for (uint32_t s = 0; s < p->n_stretches; s++) {
        uint64_t rest = s;
        p->stretch_at[s] = 0;
        for (int k = i; k >= 0; k--) {
            if (t->in_tile[k]) {
                p->stretch_at[s] +=
                    rest % t->atom[k].size * t->atom[k].physical / 8;
                rest /= t->atom[k].size;
            }
        }
    }
    for (uint32_t slot = 0; slot < p->n_slots; slot++) {
        const uint64_t at = p->physical_at[slot];
        uint32_t s = 0;
        uint32_t above = p->n_stretches;
        while (above - s > 1) {
            const uint32_t middle = s + (above - s) / 2;
            s = p->stretch_at[middle] <= at ? middle : s;
            above = s == middle ? above : middle;
        }
        p->staged_at[slot] =
            (uint32_t)(s * p->stretch + (at - p->stretch_at[s]));
        p->in_order &= p->staged_at[slot] == slot * p->word_bytes;
    }
}

/* Neighbours on the logical side whose coordinates go on evenly, too. */
static uint32_t even_run(const cpu_plan *p)
{
    const uint32_t run = p->logical_run;

    for (uint32_t slot = 0; slot < p->n_slots; slot++) {
        for (int w = 0; w < p->map.n_walls; w++) {
            const uint64_t *first =
                &p->slot_coord[(size_t)(slot - slot % run) * CPU_WALLS];
            if (p->slot_coord[(size_t)slot * CPU_WALLS + (unsigned)w] !=
                first[w] + (uint64_t)(slot % run) * p->word_bytes *
                               p->byte_coord[1][w]) {
                return 1;
            }
        }
    }
    return run;
}

void cpu_plan_edges(cpu_tiler *t)
{
    cpu_plan *p = t->plan;

    p->even_run = 1;
    for (uint32_t byte = 0; byte < p->word_bytes; byte++) {
        for (uint32_t b = 3; b < t->log; b++) {
            for (int w = 0; w < p->map.n_walls; w++) {
                p->byte_coord[byte][w] +=
                    (byte >> (b - 3) & 1) * t->atom[t->logical_bit[b]].coord[w];
            }
        }
    }
    for (int w = 0; w < p->map.n_walls; w++) {
        uint64_t most = 0;
        for (uint32_t slot = 0; slot < p->n_slots; slot++) {
            const uint64_t at = p->slot_coord[slot * CPU_WALLS + (unsigned)w];
            most = at > most ? at : most;
        }
        for (uint32_t byte = 0; byte < p->word_bytes; byte++) {
            const uint64_t at = p->byte_coord[byte][w];
            p->even_run &= at == byte * p->byte_coord[1][w];
            p->byte_most[w] = at > p->byte_most[w] ? at : p->byte_most[w];
        }
        p->tile_most[w] = most + p->byte_most[w];
    }
    if (p->even_run == 1 && p->pitch == p->word_bytes) {
        p->even_run = even_run(p);
    }
}

static int allocate(cpu_plan *p)
{
    const size_t n = p->n_slots;

    p->logical_at = calloc(n, sizeof *p->logical_at);
    p->physical_at = calloc(n, sizeof *p->physical_at);
    p->staged_at = calloc(n, sizeof *p->staged_at);
    p->stretch_at = calloc(n, sizeof *p->stretch_at);
    p->slot_coord = calloc(n * CPU_WALLS, sizeof *p->slot_coord);
    return p->logical_at == NULL || p->physical_at == NULL ||
                   p->staged_at == NULL || p->stretch_at == NULL ||
                   p->slot_coord == NULL
               ? -1
               : 0;
}

/* The digit that continues the rows of a tile of vectors: blocks, or else the
   nearest neighbours; -1 if tiles have whole rows. */
static int next_along_rows(const cpu_tiler *t)
{
    const cpu_plan *p = t->plan;
    int nearest = -1;

    for (int i = 0; i < t->n && p->n_vectors > 0; i++) {
        const cpu_atom *a = &t->atom[i];
        if (t->in_tile[i] || (a->hop != NULL && a->hop != p->blocks)) {
            continue;
        }
        if (a->hop != NULL) {
            return i;
        }
        if (a->logical < 8 * NEAR_BYTES &&
            (nearest < 0 || a->logical < t->atom[nearest].logical)) {
            nearest = i;
        }
    }
    return nearest;
}

void cpu_plan_rest(cpu_tiler *t)
{
    cpu_plan *p = t->plan;
    const int last = next_along_rows(t);
    cpu_atom outer[CPU_ATOMS];
    int n = 0;

    for (int i = 0; i < t->n; i++) {
        if (!t->in_tile[i] && i != last) {
            outer[n++] = t->atom[i];
        }
    }
    if (last >= 0) {
        outer[n++] = t->atom[last];
        p->grain = t->atom[last].hop == NULL ? 1 : t->atom[last].size;
    }
    cpu_plan_outer(p, outer, n);
}

int cpu_plan_tiles(cpu_plan *plan)
{
    cpu_tiler t = {.plan = plan};
    uint32_t log = MOST_BITS;
    int at[CPU_MOST_BITS] = {0};

    while (log >= 3 && !has_words(&t, log)) {
        log--;
    }
    if (log < 3) {
        return 0;
    }
    choose_tile(&t);
    order_along(&t);
    plan->word_bytes = 1u << (log - 3);
    plan->n_slots = (uint32_t)t.slots;
    plan_swaps(&t, at);
    plan_mix(&t, at);
    if (allocate(plan) != 0) {
        return -1;
    }
    for (uint32_t slot = 0; slot < plan->n_slots; slot++) {
        fill_slot(&t, slot);
    }
    const uint64_t along = t.slots >> t.n_reg;
    plan->pitch = t.n_reg == 0 || along * plan->word_bytes % 8 == 0
                      ? plan->word_bytes
                      : 8;
    plan->n_reg = t.n_reg;
    plan->logical_run = cpu_run_of(plan, plan->logical_at);
    plan->physical_run = cpu_run_of(plan, plan->physical_at);
    plan_stretches(&t);
    cpu_plan_edges(&t);
    cpu_plan_rest(&t);
    return 1;
}
