/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of the exponential and the quotient inside a kernel, where the
 * column kernel of glu.def does not promise their bits (numerics 6.3).
 * Errors are counted in u = 2^-24 of a number; every span returned holds what
 * a kernel may have where the emulator has a number of the span given.
 */
#ifndef MXO_EMU_ACT_KERNEL_MATH_H
#define MXO_EMU_ACT_KERNEL_MATH_H

#include "span.h"

enum {
    KERNEL_DECLARED,
    KERNEL_EXPF,
    KERNEL_EX2,
    KERNEL_FAST,
    KERNEL_ROUGH,
    N_KERNEL
};

/* Every number of x times 1 - n u to 1 + n u, and rounded; n below 2^20. */
mxo_span kernel_widen(mxo_span x, uint32_t n);
/* Every number of x less or more size, which is positive, and rounded. */
mxo_span kernel_widen_by(mxo_span x, uint32_t size);

/* e, correctly rounded, became e^-t for every t of a span. */
mxo_span kernel_exp(int kernel, mxo_span e, mxo_span t);
/* So many u, of the exponential and of its correct rounding. */
uint32_t kernel_exp_units(int kernel, uint32_t t);
/* q, correctly rounded, became a quotient whose numerators are those. */
mxo_span kernel_quotient(int kernel, mxo_span q, mxo_span numerator);
/* y, correctly rounded, became tanh of every number of a span; by a sum that
   cancels or not. */
mxo_span kernel_tanh(int kernel, mxo_span y, int cancels);
/* Sums and products are rounded as they should be, but results below 2^-126
   may be zero. */
mxo_span kernel_flush(int kernel, mxo_span x);

/* How far from the real g sigmoid(t), t = alpha g, steps of binary32 may end:
   so many u, and kernel_least(g) for what is flushed or overflows on the way.
   recipe is what the declared exponential is off by, in u. */
uint32_t kernel_silu_units(int kernel, mxo_span t, uint32_t recipe);
/* 2^-126 times the largest size in x, and 2^-126 at least. */
uint32_t kernel_least(mxo_span x);

#endif
