/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A permutation of the 512 bits of a vector as a network: every byte of the
 * result is a sum of bytes of the source, each through a matrix of 8 x 8 bits.
 * Eight bytes share a matrix, so bytes with the same matrices are computed
 * side by side and put in order afterwards.
 */
#include "layout_tile.h"

#include <string.h>

typedef struct maker {
    cpu_inner *inner;
    int n[CPU_VECTOR]; /* terms of each byte */
    uint8_t from[CPU_VECTOR][CPU_TRANSPOSE_TERMS];
    uint64_t matrix[CPU_VECTOR][CPU_TRANSPOSE_TERMS];
} maker;

/* Row k, for bit k, is byte 7 - k. */
static uint64_t matrix_bit(uint32_t to, uint32_t from)
{
    return (uint64_t)1 << (8 * (7 - to) + from);
}

/* Bit from of the source becomes bit to; 0 if that takes too many terms. */
static int add_bit(maker *m, uint32_t to, uint32_t from)
{
    const uint32_t byte = to / 8;
    int t = 0;

    while (t < m->n[byte] && m->from[byte][t] != from / 8) {
        t++;
    }
    if (t == CPU_TRANSPOSE_TERMS) {
        return 0;
    }
    if (t == m->n[byte]) {
        m->from[byte][t] = (uint8_t)(from / 8);
        m->n[byte]++;
    }
    m->matrix[byte][t] |= matrix_bit(to % 8, from % 8);
    return 1;
}

/* Terms by their matrices, so that equal bytes look equal. */
static void sort_terms(maker *m, uint32_t byte)
{
    for (int i = 1; i < m->n[byte]; i++) {
        const uint64_t matrix = m->matrix[byte][i];
        const uint8_t from = m->from[byte][i];
        int k = i;
        while (k > 0 && m->matrix[byte][k - 1] > matrix) {
            m->matrix[byte][k] = m->matrix[byte][k - 1];
            m->from[byte][k] = m->from[byte][k - 1];
            k--;
        }
        m->matrix[byte][k] = matrix;
        m->from[byte][k] = from;
    }
}

static int is_identity(const uint8_t order[CPU_VECTOR])
{
    for (uint32_t i = 0; i < CPU_VECTOR; i++) {
        if (order[i] != i) {
            return 0;
        }
    }
    return 1;
}

/* Whole bytes only move. */
static int only_moves(const maker *m)
{
    uint64_t same = 0;

    for (uint32_t k = 0; k < 8; k++) {
        same |= matrix_bit(k, k);
    }
    for (uint32_t i = 0; i < CPU_VECTOR; i++) {
        if (m->n[i] != 1 || m->matrix[i][0] != same) {
            return 0;
        }
    }
    return 1;
}

static void place_byte(maker *m, uint32_t slot, uint32_t byte)
{
    cpu_inner *inner = m->inner;

    for (int t = 0; t < CPU_TRANSPOSE_TERMS; t++) {
        inner->from[t][slot] = m->from[byte][t];
        inner->matrix[t][slot / 8] = m->matrix[byte][t];
    }
    inner->order[byte] = (uint8_t)slot;
    inner->n_terms = m->n[byte] > inner->n_terms ? m->n[byte] : inner->n_terms;
}

/* Bytes with the same matrices, eight at a time; 0 if some are left over. */
static int place_all(maker *m)
{
    uint8_t placed[CPU_VECTOR] = {0};
    uint32_t slot = 0;

    for (uint32_t i = 0; i < CPU_VECTOR; i++) {
        for (uint32_t k = placed[i] ? CPU_VECTOR : i; k < CPU_VECTOR; k++) {
            if (!placed[k] &&
                memcmp(m->matrix[k], m->matrix[i], sizeof m->matrix[i]) == 0) {
                placed[k] = 1;
                place_byte(m, slot++, k);
            }
        }
        if (slot % 8 != 0) {
            return 0;
        }
    }
    return 1;
}

int cpu_inner_of(cpu_inner *inner, const uint16_t from[8 * CPU_VECTOR])
{
    maker m = {.inner = inner};

    memset(inner, 0, sizeof *inner);
    for (uint32_t bit = 0; bit < 8 * CPU_VECTOR; bit++) {
        if (!add_bit(&m, bit, from[bit])) {
            return 0;
        }
    }
    if (only_moves(&m)) {
        for (uint32_t i = 0; i < CPU_VECTOR; i++) {
            inner->order[i] = m.from[i][0];
        }
    } else {
        for (uint32_t i = 0; i < CPU_VECTOR; i++) {
            sort_terms(&m, i);
        }
        if (!place_all(&m)) {
            return 0;
        }
    }
    inner->ordered = !is_identity(inner->order);
    return 1;
}
