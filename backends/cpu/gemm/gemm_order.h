/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of rows against E2M1 columns in float, in a declared order, 16 columns
 * at a time: every output is a chain of its own, so columns fill vectors and
 * nobody may re-order a chain.  Products are exact in double; one rounding to
 * float is one statement.
 */
#ifndef CPU_GEMM_ORDER_H
#define CPU_GEMM_ORDER_H

#include "gemm_block.h"

typedef enum cpu_order_kind {
    CPU_ORDER_EXACT,    /* no order: not here, but cpu_tile_columns */
    CPU_ORDER_BLOCK32,  /* exact sums of blocks: cpu_tile_blocks */
    CPU_ORDER_BLOCK,    /* seq within a block, then the scales, then added */
    CPU_ORDER_SEQ,      /* k ascending */
    CPU_ORDER_PAIRWISE, /* neighbours, then neighbours of sums, ... */
    CPU_ORDER_SPLIT,    /* contiguous parts of K, added in order */
    CPU_ORDER_DPBF16,   /* AVX512-BF16: k + 1 before k, no subnormals */
    CPU_ORDER_AMX       /* even and odd chains of 32, added, then added */
} cpu_order_kind;

typedef struct cpu_order {
    cpu_order_kind kind;
    int fma;       /* a product is not rounded before it is added */
    size_t splits; /* of SPLIT */
} cpu_order;

/* Row numbers of a tile, [m, k], and of 16 columns, [k]; with BLOCK without
   the factors of their blocks, which are in scale[m, blocks], unit[blocks]. */
typedef struct cpu_order_tile {
    const cpu_order *order;
    const double *x;
    const double *scale;
    size_t m;
    size_t k;
    double (*w)[CPU_MAC_COLS];
    double (*unit)[CPU_MAC_COLS];
} cpu_order_tile;

/* Columns first .. first + n - 1 (n <= 16) of weights into w and unit. */
void cpu_order_load(const cpu_order_tile *t, const cpu_weights *w, size_t first,
                    size_t n);
/* The loaded columns: y[row in tile][16].  start[16] is what the sums start
   with; AMX adds it at the end. */
void cpu_order_columns(const cpu_order_tile *t, const float *start,
                       float (*y)[CPU_MAC_COLS]);
/* Their products first .. end - 1 alone, in no order: summed in binary64. */
void cpu_order_part(const cpu_order_tile *t, size_t first, size_t end,
                    float (*y)[CPU_MAC_COLS]);

#endif
