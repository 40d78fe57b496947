/* SPDX-License-Identifier: Apache-2.0 */
/* See read_as_sm90.h. */
#include "read_as_sm90.h"

/* The expert's codes, and the place of the code that is asked for. */
typedef struct place {
    const host_tensor *t;
    row_order order;
    uint64_t expert; /* its first byte */
    uint64_t row;    /* of the kernel */
} place;

static uint64_t row_of_kernel(row_order order, uint64_t r, uint64_t rows)
{
    const uint64_t half = rows / 2;

    if (order == ROWS_PLAIN) {
        return r;
    }
    if (order == ROWS_HALVES) {
        return (r + half) % rows;
    }
    if (r % 2 == 1) {
        return r / 2;
    }
    return half + r / 2;
}

static uint64_t row_of_tensor(row_order order, uint64_t r, uint64_t rows)
{
    const uint64_t half = rows / 2;

    if (order == ROWS_PLAIN) {
        return r;
    }
    if (order == ROWS_HALVES) {
        return (r + half) % rows;
    }
    if (r < half) {
        return 2 * r + 1;
    }
    return 2 * (r - half);
}

/* A byte by the kernel's row. */
static unsigned byte_at(const place *p, uint64_t row, uint64_t column)
{
    const uint64_t r = row_of_tensor(p->order, row, p->t->shape[1]);

    return (unsigned)tensor_load(p->t, p->expert + r * p->t->shape[2] + column);
}

/* Rows 8 apart share bytes; s says which of the two rows holds column k. */
static uint64_t row_that_holds(const place *p, uint64_t s)
{
    return p->row - p->row % 16 + 8 * s + p->row % 8;
}

static unsigned code_rev1(const place *p, uint64_t k)
{
    const uint64_t b = k / 2;
    const uint64_t column = b - b % 16 + 4 * (b % 4) + 2 * (b % 8 / 4) + k % 2;
    const unsigned shared = byte_at(p, row_that_holds(p, b % 16 / 8), column);

    return shared >> (p->row % 16 / 8 * 4) & 15;
}

static unsigned code_rev2(const place *p, uint64_t k)
{
    const uint64_t word = k / 64 * 8 + k % 64 / 32 * 4 + k % 8 / 2;
    const uint64_t row = row_that_holds(p, k % 32 / 16);
    const uint64_t at = 4 * word + 2 * (k % 2);
    const unsigned bits = byte_at(p, row, at) | byte_at(p, row, at + 1) << 8;
    const int is_second = k % 16 >= 8;

    if (p->row % 16 < 8) {
        return is_second ? (bits >> 9 & 1) << 3 | (bits & 7)
                         : (bits >> 15 & 1) << 3 | (bits >> 6 & 7);
    }
    return is_second ? (bits >> 14 & 1) << 3 | (bits >> 10 & 3) << 1 |
                           (bits >> 13 & 1)
                     : (bits >> 12 & 1) << 3 | (bits >> 3 & 7);
}

uint64_t read_as_sm90(const host_tensor *t, uint64_t i, row_order order,
                      int revision)
{
    const uint64_t bytes = t->shape[2];
    const uint64_t r = i / bytes % t->shape[1];
    const uint64_t k = 2 * (i % bytes);
    const place p = {t, order, i - i % (bytes * t->shape[1]),
                     row_of_kernel(order, r, t->shape[1])};

    if (bytes % 32 != 0 || t->shape[1] % 32 != 0) {
        return tensor_load(t, i);
    }
    return revision == 1 ? code_rev1(&p, k) | code_rev1(&p, k + 1) << 4
                         : code_rev2(&p, k) | code_rev2(&p, k + 1) << 4;
}
