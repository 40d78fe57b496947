/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of 1440 bytes have no neighbours beyond 32 of them by factors of two.
 * A digit of 45 is 44 and one more: twenty-two pairs, and one that overlaps.
 * What is in two blocks is moved twice, by one thread.
 */
#include "layout_tile.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 4096, MOST_LOG = CPU_VECTOR_LOG };

/* The digit in question; -1 if there is none. */
static int odd_after(const cpu_tiler *t, uint64_t stride)
{
    for (int i = 0; i < t->n; i++) {
        const cpu_atom *a = &t->atom[i];
        if (a->hop == NULL && a->logical == stride && a->size > 2 &&
            a->size % 2 != 0) {
            return i;
        }
    }
    return -1;
}

static void fill_block(cpu_hop *h, const cpu_atom *a, uint64_t first)
{
    h->logical = first * a->logical;
    h->physical = first * a->physical;
    for (int w = 0; w < CPU_WALLS; w++) {
        h->coord[w] = first * a->coord[w];
    }
}

/* Atom number i becomes its blocks and log digits of two. */
static void replace(cpu_tiler *t, int i, uint64_t n_blocks, uint32_t log)
{
    const cpu_atom whole = t->atom[i];

    memmove(&t->atom[i + 1 + (int)log], &t->atom[i + 1],
            (size_t)(t->n - i - 1) * sizeof t->atom[0]);
    t->n += (int)log;
    t->atom[i] = (cpu_atom){.size = n_blocks, .hop = t->plan->blocks};
    for (uint32_t b = 0; b < log; b++) {
        cpu_atom *bit = &t->atom[i + 1 + (int)b];
        const uint32_t shift = log - 1 - b;
        *bit = whole;
        bit->size = 2;
        bit->logical <<= shift;
        bit->physical <<= shift;
        for (int w = 0; w < CPU_WALLS; w++) {
            bit->coord[w] <<= shift;
        }
    }
}

int cpu_cut_blocks(cpu_tiler *t)
{
    uint32_t chunk = 0;
    uint32_t log = 0;

    while (chunk < MOST_LOG && cpu_find_bit(t, (uint64_t)1 << chunk, 0) >= 0) {
        chunk++;
    }
    const int i = odd_after(t, (uint64_t)1 << chunk);
    if (chunk < 3 || chunk == MOST_LOG || i < 0) {
        return 0;
    }
    const cpu_atom whole = t->atom[i];
    while (chunk + log < MOST_LOG && whole.size >> (log + 1) != 0) {
        log++;
    }
    const uint64_t size = (uint64_t)1 << log;
    const uint64_t n = (whole.size + size - 1) / size;
    if (n > MOST_BLOCKS || t->n + (int)log > CPU_ATOMS) {
        return 0;
    }
    t->plan->blocks = calloc(n, sizeof *t->plan->blocks);
    if (t->plan->blocks == NULL) {
        return -1;
    }
    for (uint64_t v = 0; v < n; v++) {
        fill_block(&t->plan->blocks[v], &whole,
                   v + 1 < n ? v * size : whole.size - size);
    }
    replace(t, i, n, log);
    return 0;
}
