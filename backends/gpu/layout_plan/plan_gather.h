/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a tile to the arguments of its kernel: runs, vectors, how far runs lie
 * apart in shared memory, and what a vector gathers from there.
 */
#ifndef GPU_PLAN_GATHER_H
#define GPU_PLAN_GATHER_H

#include "host/call.h"
#include "layout/layout.h"
#include "layout/layout_gather.h"
#include "layout_plan/layout_text.h"
#include "layout_plan/plan_tile.h"
#include "port/runtime.h"

typedef struct gather_plan {
    int kind; /* GATHER_..., or -1: there is no kernel for it */
    int direct;
    uint64_t low[128]; /* bits of shared memory for those of a vector */
} gather_plan;

/* The tile's runs in the source; where each atom lies in shared memory.  A run
   may end before the source's does, once it has `enough` bytes. */
static void gather_runs(tile_plan *t, tile_args *a, uint64_t enough,
                        uint64_t pitch)
{
    tile_atom *sorted[TILE_ATOMS];
    const uint32_t n = tile_sorted(t, t->back, 1, sorted);
    uint64_t run = 1;
    uint64_t runs = 1;
    uint32_t i = 0;

    while (i < n && run < 8 * enough &&
           atom_order(t, sorted[i], t->back) == run &&
           (t->back || sorted[i]->axis == LAYOUT_C)) {
        const int group = t->back ? sorted[i]->group : -1;

        sorted[i]->s = group < 0 ? run : 0;
        run *= group < 0 ? sorted[i]->n : t->map->group[group].n;
        for (i++; i < n && group >= 0 && sorted[i]->group == group; i++) {
            sorted[i]->s = 0; /* the table says */
        }
    }
    t->run_bytes = run / 8;
    a->n_run_digits = 0;
    for (; i < n; i++) {
        sorted[i]->s = 8 * pitch * runs;
        runs *= sorted[i]->n;
        if (a->n_run_digits < TILE_INNER) {
            tile_inner *const d = &a->run[a->n_run_digits];

            d->n = divisor_of((uint32_t)sorted[i]->n);
            d->row = sorted[i]->axis == LAYOUT_R ? (uint32_t)sorted[i]->l : 0;
            d->col =
                sorted[i]->axis == LAYOUT_C ? (uint32_t)(sorted[i]->l / 8) : 0;
            d->memory = (uint32_t)(sorted[i]->p / 8);
        }
        a->n_run_digits++;
    }
    a->n_runs = (uint32_t)runs;
    a->pitch = (uint32_t)pitch;
}

/* Along a digit that runs backwards the source counts down. */
static void gather_backwards(const tile_plan *t, tile_inner *d,
                             tile_inner *from)
{
    const uint32_t last = d->n.by - 1;

    from->bits += last * d->bits;
    d->bits = 0 - d->bits;
    if (t->back) {
        from->memory += last * d->memory;
        d->memory = 0 - d->memory;
    } else {
        from->row += last * d->row;
        from->col += last * d->col;
        d->row = 0 - d->row;
        d->col = 0 - d->col;
    }
}

/* The vectors of the destination, and bit by bit the low end of one. */
static int gather_vectors(tile_plan *t, tile_args *a)
{
    tile_atom *sorted[TILE_ATOMS];
    const uint32_t n = tile_sorted(t, !t->back, 1, sorted);

    a->n_vector_digits = 0;
    memset(&a->from, 0, sizeof a->from);
    for (uint32_t i = 0; i < n; i++) {
        const tile_atom *const from = sorted[i];

        if (atom_order(t, from, !t->back) < 128) {
            continue;
        }
        if (a->n_vector_digits == TILE_INNER) {
            return 0;
        }
        tile_inner *const d = &a->vector[a->n_vector_digits++];
        d->n = divisor_of((uint32_t)from->n);
        d->row = from->axis == LAYOUT_R ? (uint32_t)from->l : 0;
        d->col = from->axis == LAYOUT_C ? (uint32_t)(from->l / 8) : 0;
        d->memory = (uint32_t)(from->p / 8);
        d->bits = (uint32_t)from->s;
        if (from->backwards) {
            gather_backwards(t, d, &a->from);
        }
    }
    a->n_vectors = (uint32_t)(t->bits / 128);
    return 1;
}

/* Bits of the members of a table's group for its number v. */
static uint64_t gather_table(const tile_plan *t, uint32_t group, uint64_t v)
{
    const layout_group *const g = &t->map->group[group];
    uint64_t bits = 0;
    uint64_t value = 0;

    while (t->map->table[(uint64_t)g->table + value] != v) {
        value++;
    }
    for (uint32_t i = g->n_members; i-- > 0;) {
        const layout_digit *const d = &t->map->digit[g->member[i]];
        const uint64_t mine = value % d->n;

        value /= d->n;
        for (uint32_t k = 0; k < t->n; k++) {
            const tile_atom *const a = &t->atom[k];

            if (a->group == (int)group && a->digit == g->member[i]) {
                bits += mine * a->s;
            }
        }
    }
    return bits;
}

/* An atom's part of the bits: as many in a row are the same as its order. */
static void gather_atom(const tile_atom *a, uint64_t at, uint64_t low[128])
{
    uint64_t v = 0;

    for (uint64_t first = 0; first < 128; first += at) {
        const uint64_t bits = (a->backwards ? a->n - 1 - v : v) * a->s;

        for (uint64_t bit = first; bit < first + at && bit < 128; bit++) {
            low[bit] += bits;
        }
        v = v + 1 < a->n ? v + 1 : 0;
    }
}

static void gather_low(const tile_plan *t, gather_plan *g)
{
    memset(g->low, 0, sizeof g->low);
    for (uint32_t i = 0; i < t->n; i++) {
        const tile_atom *const a = &t->atom[i];
        const uint64_t at = atom_order(t, a, !t->back);

        if (a->group < 0 && at < 128) {
            gather_atom(a, at, g->low);
        }
    }
    for (uint32_t i = 0; i < t->map->n_groups; i++) {
        const layout_group *const group = &t->map->group[i];

        if (group->table < 0 || group_counts_down(t->map, group)) {
            continue;
        }
        for (uint32_t bit = 0; bit < 128 && group->stride < 128; bit++) {
            g->low[bit] += gather_table(t, i, bit / group->stride % group->n);
        }
    }
}

/* Pieces of so many bytes lie together wherever a vector looks. */
static int gather_pieces(const tile_args *a, const gather_plan *g,
                         uint32_t bytes)
{
    for (uint32_t i = 0; i < a->n_vector_digits; i++) {
        if (a->vector[i].bits % (8 * bytes) != 0) {
            return 0;
        }
    }
    for (uint32_t bit = 0; bit < 128; bit++) {
        const uint64_t first = g->low[bit - bit % (8 * bytes)];

        if (first % (8 * bytes) != 0 ||
            g->low[bit] != first + bit % (8 * bytes)) {
            return 0;
        }
    }
    return 1;
}

/* Number of the byte among those a word gathers, or 8. */
static uint32_t gather_byte(tile_args *a, uint32_t *n, uint64_t at)
{
    for (uint32_t i = 0; i < *n; i++) {
        if (a->gathered[i] == (uint32_t)at) {
            return i;
        }
    }
    if (*n == 8) {
        return 8;
    }
    a->gathered[*n] = (uint32_t)at;
    return (*n)++;
}

/* Bit `from` of a register becomes bit `to` of the word. */
static uint32_t gather_term(tile_term term[TILE_TERMS], uint32_t n,
                            uint32_t from, uint32_t to)
{
    const uint32_t turn = (to - from) & 31;
    uint32_t i = 0;

    while (i < n && term[i].turn != turn) {
        i++;
    }
    if (i == n) {
        if (n == TILE_TERMS) {
            return TILE_TERMS + 1;
        }
        term[n].turn = turn;
        term[n].times = 1u << turn;
        term[n].mask = 0;
        n++;
    }
    term[i].mask |= 1u << to;
    return n;
}

/* Low and high nibbles of the same bytes take the same way. */
static int gather_pairs(const tile_args *a, const gather_plan *g)
{
    for (uint32_t bit = 0; bit < 16; bit++) {
        if ((g->low[bit] & 7) > 3 || g->low[bit + 16] != g->low[bit] + 4) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < a->n_vector_digits; i++) {
        if (a->vector[i].bits % 8 != 0) {
            return 0;
        }
    }
    return 1;
}

/* Bits that leave at the top and come in below make no product; one such term
   may be the first.  0: there are more. */
static int gather_products(tile_term term[TILE_TERMS], uint32_t n)
{
    uint32_t others = 0;

    for (uint32_t i = 0; i < n; i++) {
        if ((term[i].mask & (term[i].times - 1)) != 0) {
            const tile_term first = term[0];

            term[0] = term[i];
            term[i] = first;
            others++;
        }
    }
    return others <= 1;
}

/* The kernel for words of four or eight bytes, by the terms they need. */
static int gather_kind(tile_args *a, int pairs, uint32_t bytes,
                       const uint32_t terms[2], int back)
{
    const uint32_t most = terms[0] > terms[1] ? terms[0] : terms[1];
    const int products = gather_products(a->term[0], terms[0]) &
                         gather_products(a->term[1], terms[1]);

    if (pairs && !back) {
        if (!products) {
            return -1;
        }
        if (most <= 2) {
            return GATHER_PAIR2;
        }
        if (most <= 5) {
            return GATHER_PAIR5;
        }
        return -1;
    }
    if (bytes > 4) {
        return most <= 4 ? GATHER_WIDE : -1;
    }
    return most <= 4 && products ? GATHER_BITS4 : most <= 5 ? GATHER_BITS5 : -1;
}

/* Every vector starts at a word of shared memory. */
static int gather_aligned(const tile_args *a)
{
    for (uint32_t i = 0; i < a->n_vector_digits; i++) {
        if (a->vector[i].bits % 32 != 0) {
            return 0;
        }
    }
    return 1;
}

/* The words' bytes number i are four neighbours. */
static int gather_is_column(const tile_args *a)
{
    for (uint32_t i = 0; i < 16; i++) {
        if (a->piece[i] != a->piece[i % 4] + i / 4 ||
            a->piece[i % 4] % 4 != 0) {
            return 0;
        }
    }
    return gather_aligned(a);
}

/* The bytes of each word are neighbours, in the same order. */
static int gather_is_word(const tile_args *a)
{
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t first = a->piece[i - i % 4] / 4 * 4;

        if (a->piece[i] / 4 * 4 != first ||
            a->piece[i] % 4 != a->piece[i % 4] % 4) {
            return 0;
        }
    }
    return gather_aligned(a);
}

/* Each byte that each word gathers; neighbours go in one access. */
static void gather_spread(tile_args *a, gather_plan *g, int back)
{
    for (uint32_t i = 0; i < 16; i++) {
        a->piece[i] = (a->word[i / 4] >> 3) + a->gathered[i % 4];
    }
    const int pairs = g->kind == GATHER_PAIR2 || g->kind == GATHER_PAIR5;
    if (back) {
        return;
    }
    if ((pairs || g->kind == GATHER_BITS4) && gather_is_column(a)) {
        g->kind = pairs ? GATHER_COLUMN_PAIR5 : GATHER_COLUMN_BITS4;
    } else if (g->kind == GATHER_PAIR5 && gather_is_word(a)) {
        const uint32_t *const at = a->piece;
        const uint32_t low = at[0] % 4 | at[1] % 4 << 4;
        const uint32_t high = at[2] % 4 | at[3] % 4 << 4;

        g->kind = GATHER_WORD_PAIR5;
        for (uint32_t i = 0; i < 4; i++) {
            a->word[i] = at[4 * i] / 4 * 4;
        }
        a->gathered[0] = low * 0x101u;
        a->gathered[1] = high * 0x101u;
    }
}

static void gather_bits(const tile_plan *t, tile_args *a, gather_plan *g)
{
    const int pairs = gather_pairs(a, g) && !t->back;
    uint32_t terms[2] = {0, 0};
    uint32_t bytes = 0;

    g->kind = -1;
    memset(a->gathered, 0, sizeof a->gathered);
    memset(a->term, 0, sizeof a->term);
    for (uint32_t bit = 0; bit < 32; bit++) {
        const uint64_t at = g->low[bit];
        const uint32_t byte = gather_byte(a, &bytes, at >> 3);

        if (byte >= (pairs ? 4 : 8)) {
            return;
        }
        const uint32_t half = byte / (pairs ? 2 : 4);
        const uint32_t from =
            pairs ? 8 * (byte & 1) + ((uint32_t)at & 3) + (at & 4 ? 16u : 0u)
                  : 8 * (byte & 3) + ((uint32_t)at & 7);
        terms[half] = gather_term(a->term[half], terms[half], from, bit);
    }
    for (uint32_t word = 0; word < 4; word++) {
        a->word[word] = (uint32_t)(g->low[32 * word] - g->low[0]);
        for (uint32_t bit = 0; bit < 32; bit++) {
            if (g->low[32 * word + bit] - g->low[32 * word] !=
                g->low[bit] - g->low[0]) {
                return;
            }
        }
        if (bytes <= 4 && a->word[word] % 8 != 0) {
            return;
        }
    }
    g->kind = gather_kind(a, pairs, bytes, terms, t->back);
    if (g->kind >= 0 && g->kind != GATHER_WIDE) {
        gather_spread(a, g, t->back);
    }
}

/* Runs that are the same on both sides need no shared memory if each is worth
   a transaction of its own. */
static int gather_is_long(const tile_plan *t)
{
    uint64_t run = 1;

    for (uint32_t i = 0; i < t->n; i++) {
        const tile_atom *const a = &t->atom[i];

        if (a->in && a->axis == LAYOUT_C && a->l == run && a->p == run) {
            run *= a->n;
            i = UINT32_MAX;
        }
    }
    return run >= 8 * 64;
}

static void gather_choose(const tile_plan *t, tile_args *a, gather_plan *g)
{
    static const struct {
        uint32_t bytes;
        int kind;
    } sizes[] = {{16, GATHER_16}, {4, GATHER_4}, {2, GATHER_2}, {1, GATHER_1}};

    g->direct = 0;
    g->kind = -1;
    if (t->back && tile_has_tables(t)) {
        return;
    }
    gather_low(t, g);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint32_t bytes = sizes[i].bytes;

        if (gather_pieces(a, g, bytes)) {
            for (uint32_t k = 0; k < 16 / bytes; k++) {
                a->piece[k] = (uint32_t)(g->low[8 * bytes * k] / 8);
            }
            g->kind = sizes[i].kind;
            g->direct = bytes == 16 && a->unit == 16 && gather_is_long(t);
            return;
        }
    }
    gather_bits(t, a, g);
}

#endif
