/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unsigned integers of n 32-bit limbs, least significant first: the few
 * schoolbook operations that tier 2 needs, on the caller's arrays.
 */
#ifndef MXO_EMU_ACT_LIMBS_H
#define MXO_EMU_ACT_LIMBS_H

#include "mul64.h"

int mxo_limbs_cmp(const uint32_t *a, const uint32_t *b, int n);
/* x += y, x -= y; the carry out is returned. */
uint32_t mxo_limbs_add(uint32_t *x, const uint32_t *y, int n);
uint32_t mxo_limbs_sub(uint32_t *x, const uint32_t *y, int n);
/* x *= m; the limb that left at the top is returned. */
uint32_t mxo_limbs_mul_small(uint32_t *x, int n, uint32_t m);
/* x = floor(x / d) */
void mxo_limbs_div_small(uint32_t *x, int n, uint32_t d);
/* dst[0 .. na+nb-1] = a * b; dst overlaps neither. */
void mxo_limbs_mul(uint32_t *dst, const uint32_t *a, int na, const uint32_t *b,
                   int nb);
/* x = floor(x / 2^bits) */
void mxo_limbs_shift_right(uint32_t *x, int n, int bits);
/* x = floor(value * 2^shift), shift of either sign, cut to n limbs. */
void mxo_limbs_set(uint32_t *x, int n, mxo_u128 value, int shift);
/* Whether x * 2^-shift is an integer: mxo_limbs_set with -shift was exact. */
int mxo_limbs_is_multiple(mxo_u128 value, int shift);

#endif
