/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate of OpenBLAS's float GEMM: on a square product, which rates the machine,
 * and on the very products behind a case, with weights already in
 * binary32.  A yardstick is a list of shapes.
 */
#ifndef MXO_BENCH_GEMM_H
#define MXO_BENCH_GEMM_H

#include "bench.h"

#include "data/fill.h"

#include <stdint.h>

/* One product, [m, k] x [k, n]. */
typedef struct gemm_shape {
    uint64_t m;
    uint64_t n;
    uint64_t k;
} gemm_shape;

/* 2048 cubed. */
extern const gemm_shape gemm_square;

/*
 * The products behind a case whose rows are there repeats times: of a layer
 * two for every expert that has tokens. *shape is the caller's to free; 0: no
 * product, or one whose shapes the case does not say.
 */
size_t gemm_shapes_of(const test_case *c, const tensor_set *in,
                      uint64_t repeats, gemm_shape **shape);

/*
 * GFLOP/s of these products one after the other, each on all the threads and
 * with weights of its own (cold, as a layer's are); 0 without OpenBLAS. Both
 * orders of the weights are tried, single rows by sgemv too: the best counts.
 */
double gemm_rate(const gemm_shape *shape, size_t n, int threads);

/* Both yardsticks of a row, if it is a product at all. */
void gemm_rate_row(bench_row *row, const test_case *c, const tensor_set *in,
                   int threads);

/* For which processor OpenBLAS calculates; "" without it. */
const char *gemm_core(void);

#endif
