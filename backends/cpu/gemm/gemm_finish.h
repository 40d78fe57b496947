/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the sums of gemm.mx to its outputs: bias, rounding, storing; and the
 * forms of it that need no speed: declared orders, binary64, sums of
 * magnitudes.
 */
#ifndef CPU_GEMM_FINISH_H
#define CPU_GEMM_FINISH_H

#include "gemm_order.h"
#include "gemm_read.h"

typedef enum cpu_bias_place {
    CPU_BIAS_NONE,
    CPU_BIAS_SUM,
    CPU_BIAS_F32,
    CPU_BIAS_TO
} cpu_bias_place;

typedef struct cpu_gemm_job {
    cpu_operand a;
    cpu_operand w;
    cpu_order order;
    const float *bias; /* NULL: none */
    cpu_bias_place place;
    uint32_t to;
    const mxo_tensor *y;
    const mxo_tensor *sum_abs; /* NULL: not wanted */
    double *x;                 /* a as numbers */
    cpu_gemm_line *row;
    int failed; /* a panel had no memory; only ever set to 1 */
} cpu_gemm_job;

/* Output (r, c) of an exact sum that is rounded to odd, the bias in it if its
   place is the sum. */
void cpu_gemm_finish(const cpu_gemm_job *j, size_t r, size_t c, double s);

/* Columns begin .. end - 1: in a declared order; product by product to binary64
   and as magnitudes, what of these is wanted. */
void cpu_gemm_declared(void *job, uint64_t begin, uint64_t end);
void cpu_gemm_wide(void *job, uint64_t begin, uint64_t end);

#endif
