/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of vectors.  The nine bits of the index of a bit within 64 bytes of
 * memory are digits of two.  On the logical side a vector is made of chunks
 * of neighbours: the longest for which no more than three digits are left to
 * be exchanged with the numbers of vectors.
 */
#include "layout_tile.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_LOG = 3, NONE = -1 };

typedef struct vectors {
    cpu_tiler t;
    int at[CPU_VECTOR_LOG]; /* atom at each bit, before the exchanges */
    int n_in;               /* atoms of memory that are not in the chunk */
    int in[CPU_VECTOR_LOG];
    int out[CPU_TRANSPOSE_REGS]; /* atoms that leave the vector for a register
                                  */
} vectors;

static int is_in_memory(const cpu_tiler *t, int atom)
{
    for (int b = 0; b < CPU_VECTOR_LOG; b++) {
        if (t->physical_bit[b] == atom) {
            return 1;
        }
    }
    return 0;
}

static int is_in_chunk(const vectors *v, int atom)
{
    for (uint32_t b = 0; b < v->t.chunk_log; b++) {
        if (v->t.logical_bit[b] == atom) {
            return 1;
        }
    }
    return 0;
}

static void find_in(vectors *v)
{
    v->n_in = 0;
    for (int b = 0; b < CPU_VECTOR_LOG; b++) {
        if (!is_in_chunk(v, v->t.physical_bit[b])) {
            v->in[v->n_in++] = v->t.physical_bit[b];
        }
    }
}

/* Both sides' bits; 0 if memory has none or chunks are below a byte, -1
   without memory. */
static int find_bits(vectors *v)
{
    cpu_tiler *t = &v->t;

    t->log = CPU_VECTOR_LOG;
    t->n = cpu_plan_atoms(t->plan, 1u << t->log, t->atom, t->opened);
    if (t->n > 0 && cpu_cut_blocks(t) != 0) {
        return -1;
    }
    for (int b = 0; b < CPU_VECTOR_LOG; b++) {
        t->physical_bit[b] =
            t->n > 0 ? cpu_find_bit(t, (uint64_t)1 << b, 1) : NONE;
        if (t->physical_bit[b] < 0) {
            return 0;
        }
    }
    for (v->t.chunk_log = 0; v->t.chunk_log < CPU_VECTOR_LOG;
         v->t.chunk_log++) {
        const int bit = cpu_find_bit(t, (uint64_t)1 << v->t.chunk_log, 0);
        if (bit < 0) {
            break;
        }
        t->logical_bit[v->t.chunk_log] = bit;
    }
    return v->t.chunk_log >= LEAST_LOG;
}

/* Shorter chunks leave fewer digits to exchange. */
static int choose_chunk(vectors *v)
{
    for (; v->t.chunk_log >= LEAST_LOG; v->t.chunk_log--) {
        find_in(v);
        v->t.n_reg = v->n_in - (CPU_VECTOR_LOG - (int)v->t.chunk_log);
        if (v->t.n_reg <= CPU_TRANSPOSE_REGS) {
            return 1;
        }
    }
    return 0;
}

/* Choose the digit of each bit of a vector, and the bits to exchange. */
static void choose_bits(vectors *v)
{
    cpu_tiler *t = &v->t;
    int used = 0;
    int n_out = 0;

    for (uint32_t b = 0; b < CPU_VECTOR_LOG; b++) {
        v->at[b] = b < v->t.chunk_log ? t->logical_bit[b] : v->in[used++];
        t->is_word[v->at[b]] = 1;
        if (!is_in_memory(t, v->at[b])) {
            t->plan->bit[n_out] = (uint8_t)b;
            v->out[n_out++] = v->at[b];
        }
    }
    for (int r = 0; r < t->n_reg; r++) {
        t->reg[r] = v->in[used++];
        t->is_word[t->reg[r]] = 2;
    }
    t->slots = (uint64_t)1 << t->n_reg;
    for (int i = 0; i < t->n; i++) {
        t->in_tile[i] = t->is_word[i] != 0;
    }
}

static uint64_t logical_order(const cpu_atom *a)
{
    return a->hop == NULL ? a->logical : UINT64_MAX;
}

/* The logical side lies in order along a tile. */
static void order_along(cpu_tiler *t)
{
    for (int i = 0; i < t->n; i++) {
        int k = t->n_along;
        if (!t->in_tile[i] || t->is_word[i] != 0) {
            continue;
        }
        while (k > 0 && logical_order(&t->atom[t->along[k - 1]]) <
                            logical_order(&t->atom[i])) {
            t->along[k] = t->along[k - 1];
            k--;
        }
        t->along[k] = i;
        t->n_along++;
    }
}

/* The bits of a vector after the exchanges, to their places in memory. */
static int plan_inner(const vectors *v)
{
    const cpu_tiler *t = &v->t;
    cpu_plan *p = t->plan;
    int after[CPU_VECTOR_LOG];
    uint16_t from[8 * CPU_VECTOR];
    uint16_t to[8 * CPU_VECTOR];

    memcpy(after, v->at, sizeof after);
    for (int r = 0; r < t->n_reg; r++) {
        after[p->bit[r]] = t->reg[r];
    }
    for (uint32_t i = 0; i < 8 * CPU_VECTOR; i++) {
        uint32_t place = 0;
        for (uint32_t b = 0; b < CPU_VECTOR_LOG; b++) {
            place |= (i >> b & 1) * (uint32_t)t->atom[after[b]].physical;
        }
        place = cpu_through_tables(t, place);
        to[i] = (uint16_t)place;
        from[place] = (uint16_t)i;
    }
    return cpu_inner_of(&p->inner, from) && cpu_inner_of(&p->outward, to);
}

static int allocate(cpu_plan *p)
{
    const size_t n = p->n_slots;

    p->logical_at = calloc(n, sizeof *p->logical_at);
    p->physical_at = calloc(p->n_vectors, sizeof *p->physical_at);
    p->packed_at = calloc(p->n_vectors, sizeof *p->packed_at);
    p->line_at = calloc(n, sizeof *p->line_at);
    p->slot_coord = calloc(n * CPU_WALLS, sizeof *p->slot_coord);
    return p->logical_at == NULL || p->physical_at == NULL ||
                   p->packed_at == NULL || p->line_at == NULL ||
                   p->slot_coord == NULL
               ? -1
               : 0;
}

static void add_value(cpu_plan *p, uint64_t slot, const cpu_atom *a, uint64_t v)
{
    p->logical_at[slot] += cpu_value_at(a, v);
    for (int w = 0; w < p->map.n_walls; w++) {
        p->slot_coord[slot * CPU_WALLS + (unsigned)w] += cpu_coord_at(a, v, w);
    }
}

/* One vector: its place in memory, and where its chunks lie. */
static void fill_vector(vectors *v, uint64_t number)
{
    const cpu_tiler *t = &v->t;
    cpu_plan *p = t->plan;
    const uint64_t chunks = CPU_VECTOR / p->word_bytes;
    const uint64_t first = number * chunks;
    uint64_t rest = number;

    p->packed_at[number] = number * CPU_VECTOR;
    for (int i = t->n_along - 1; i >= 0; i--) {
        const cpu_atom *a = &t->atom[t->along[i]];
        add_value(p, first, a, rest % a->size);
        p->physical_at[number] +=
            (a->hop == NULL ? rest % a->size * a->physical
                            : a->hop[rest % a->size].physical) /
            8;
        rest /= a->size;
    }
    for (int r = 0; r < t->n_reg; r++) {
        add_value(p, first, &t->atom[t->reg[r]], rest >> r & 1);
        p->physical_at[number] +=
            (rest >> r & 1) * t->atom[v->out[r]].physical / 8;
    }
    for (uint64_t c = chunks; c-- > 0;) {
        if (c > 0) {
            p->logical_at[first + c] = p->logical_at[first];
            memcpy(&p->slot_coord[(first + c) * CPU_WALLS],
                   &p->slot_coord[first * CPU_WALLS],
                   CPU_WALLS * sizeof *p->slot_coord);
        }
        for (uint32_t b = v->t.chunk_log; b < CPU_VECTOR_LOG; b++) {
            add_value(p, first + c, &t->atom[v->at[b]],
                      c >> (b - v->t.chunk_log) & 1);
        }
    }
}

static int by_address(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Each line of the logical side once. */
static void plan_lines(cpu_plan *p)
{
    uint64_t n = 0;

    p->memory_lines = 1;
    for (uint32_t i = 0; i < p->n_vectors; i++) {
        p->memory_lines &= p->physical_at[i] % CPU_VECTOR == 0;
    }
    p->whole_lines = p->word_bytes == CPU_VECTOR;
    for (uint32_t slot = 0; slot < p->n_slots; slot++) {
        p->line_at[slot] = p->logical_at[slot] + p->word_bytes - 1;
        p->line_at[slot] -= p->line_at[slot] % CPU_VECTOR;
        p->whole_lines &= p->logical_at[slot] % CPU_VECTOR == 0;
    }
    qsort(p->line_at, p->n_slots, sizeof *p->line_at, by_address);
    for (uint32_t slot = 0; slot < p->n_slots; slot++) {
        if (n == 0 || p->line_at[n - 1] != p->line_at[slot]) {
            p->line_at[n++] = p->line_at[slot];
        }
    }
    p->n_lines = n;
}

int cpu_plan_vectors(cpu_plan *plan)
{
    vectors v = {.t = {.plan = plan}};

    const int found = find_bits(&v);

    if (found <= 0 || !choose_chunk(&v)) {
        return found < 0 ? -1 : 0;
    }
    choose_bits(&v);
    if (!plan_inner(&v)) {
        return 0;
    }
    cpu_grow_tile(&v.t);
    order_along(&v.t);
    plan->n_reg = v.t.n_reg;
    plan->word_bytes = 1u << (v.t.chunk_log - 3);
    plan->pitch = plan->word_bytes;
    plan->n_vectors = (uint32_t)v.t.slots;
    plan->n_slots = plan->n_vectors * (CPU_VECTOR / plan->word_bytes);
    if (allocate(plan) != 0) {
        return -1;
    }
    for (uint64_t i = 0; i < plan->n_vectors; i++) {
        fill_vector(&v, i);
    }
    plan->logical_run = cpu_run_of(plan, plan->logical_at);
    plan_lines(plan);
    cpu_plan_edges(&v.t);
    cpu_plan_rest(&v.t);
    return 1;
}
