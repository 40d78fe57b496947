/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dot products in binary32, in a declared order: what a kernel computes whose
 * order is known.  Each order is one function over the blocks of a row pair.
 */
#ifndef MXO_EMU_DOT_ORDER_H
#define MXO_EMU_DOT_ORDER_H

#include "dot.h"

typedef enum mxo_order {
    MXO_ORDER_EXACT,    /* no order: the exact sum */
    MXO_ORDER_F32,      /* binary32, order not declared: the exact sum */
    MXO_ORDER_TC25,     /* truncating steps, 25 bits, order not declared */
    MXO_ORDER_TC13,     /* the same, 13 bits */
    MXO_ORDER_SEQ,      /* k ascending, one accumulator */
    MXO_ORDER_PAIRWISE, /* neighbours, then neighbours of sums, ... */
    MXO_ORDER_SPLIT,    /* contiguous parts of K, added in order */
    MXO_ORDER_BLOCK,    /* 32 unscaled products, times the scale, added */
    MXO_ORDER_DPBF16,   /* AVX512-BF16: k + 1 before k, fma, no subnormals */
    MXO_ORDER_AMX,      /* even and odd chains of 32, added, then added */
    MXO_ORDER_WGMMA,    /* Hopper's steps of 16, operands as a's type */
    MXO_N_ORDERS
} mxo_order;

/* Whether the sum is exact, because no order is declared. */
int mxo_order_is_exact(mxo_order order);
/* MXO_N_ORDERS if unknown. */
mxo_order mxo_order_by_name(const char *name);

typedef struct mxo_order_job {
    const mxo_dot_matrix *a;
    const mxo_dot_matrix *b;
    mxo_order order;
    int fma;         /* the product is not rounded before it is added */
    uint64_t splits; /* SPLIT: parts, each a multiple of 32 long */
    uint32_t
        start; /* SEQ, BLOCK, DPBF16, WGMMA: what the accumulator starts with */
} mxo_order_job;

/* Blocks of a row; the last may be short. */
static inline uint64_t dot_blocks(uint64_t k)
{
    return k / MXO_DOT_BLOCK + (k % MXO_DOT_BLOCK != 0);
}
/* Rounded to binary32, as a pattern. */
static inline uint32_t dot_f32(mxo_real x)
{
    return (uint32_t)mxo_format_round(MXO_FMT_F32, x);
}

/* Row r of a against row c of b; a binary32 pattern, NaN 7fc00000. */
uint32_t mxo_order_dot(const mxo_order_job *job, uint64_t r, uint64_t c);

/* Block number block of the same rows, k ascending, from +0. */
uint32_t mxo_order_part(const mxo_order_job *job, uint64_t r, uint64_t c,
                        uint64_t block);

#endif
