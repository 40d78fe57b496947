/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact matrix products in double.  If every product of a row pair is a
 * multiple of one unit 2^q and the sum of magnitudes stays within 2^(53+q), no
 * addition in any order can round, so any BLAS gives the exact sum; rows for
 * which that does not hold are cut into slices for which it does, and what is
 * left is added in a fixed point register (numerics 7.2, 7.3, 7.1).
 */
#ifndef CPU_GEMM_H
#define CPU_GEMM_H

#include <stddef.h>
#include <stdint.h>

/* y[m,n] = x[m,k] w[n,k]^T with row stride ldx of x. */
typedef struct cpu_product {
    const double *x;
    const double *w;
    double *y;
    size_t m;
    size_t n;
    size_t k;
} cpu_product;

/* By OpenBLAS where it is installed, else by a loop. */
void cpu_dgemm(const cpu_product *p, int threads);
/* "openblas" or "loop". */
const char *cpu_dgemm_name(void);

/* Properties of a row of numbers that a certificate needs. */
typedef struct cpu_gemm_line {
    double norm; /* at least its Euclidean length; infinite or NaN: special */
    int unit;    /* all elements are multiples of 2^unit */
    double span; /* norm / 2^unit */
} cpu_gemm_line;

double cpu_norm(const double *x, size_t k);
cpu_gemm_line cpu_gemm_line_of(double norm, int unit);
cpu_gemm_line cpu_gemm_row(const double *x, size_t k);

/*
 * May the products of two rows be added in any order?  Cauchy-Schwarz: the
 * sum of |a||b| is at most the product of the norms.  False for a NaN.
 */
static inline int cpu_is_exact(cpu_gemm_line a, cpu_gemm_line b)
{
    return a.span * b.span <= 0x1p53;
}

/* hi + lo as one double rounded to odd: rounding it once more to at most 50
   bits gives what rounding the sum would. */
double cpu_odd_sum(double hi, double lo);

/* The same of three, stride apart; 0 if they cancel too far to be sure. */
int cpu_odd_sum3(const double *part, size_t stride, double *sum);

/* The same of n finite numbers, which are overwritten. */
double cpu_odd_total(double *term, size_t n);

/* Exact sum of the products of two rows, plus extra, rounded to odd; NaN and
   infinities as IEEE 754 has them. */
double cpu_exact_dot(const double *x, const double *w, size_t k, double extra);
/* The same rounded to nearest even; is_abs: of magnitudes. */
double cpu_nearest_dot(const double *x, const double *w, size_t k, double extra,
                       int is_abs);

/* Split a row: high[i] + low[i] = x[i], high a multiple of 2^unit. */
void cpu_split_row(const double *x, size_t k, int unit, double *high,
                   double *low);

#endif
