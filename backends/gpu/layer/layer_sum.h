/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums whose value does not depend on an order, for moe.layer: products of
 * two binary32 numbers are added as binary64 numbers first, and the error of
 * every addition is kept.  While nothing gets lost the answer is known; else
 * the products are added once more as integers of fixed weight.
 */
#ifndef GPU_LAYER_SUM_H
#define GPU_LAYER_SUM_H

#include "ops/glu_exact.h"
#include "port/device.h"

/*
 * Are weights numbers, as gemm.mx has them, beside codes?  Only its unit says 1
 * before its includes: the layers' kernels would get a third more registers.
 */
#ifndef LAYER_HAS_NUMBERS
#define LAYER_HAS_NUMBERS 0
#endif

/* Limbs of 32 bits; limb 0 counts units of 2^-LAYER_LOWEST.  Products need
   2^-552 .. 2^542 of numbers, 2^-298 .. 2^290 of codes. */
#if LAYER_HAS_NUMBERS
enum { LAYER_LIMBS = 38, LAYER_LOWEST = 608 };
#else
enum { LAYER_LIMBS = 24, LAYER_LOWEST = 320 };
#endif

typedef struct layer_limbs {
    int64_t limb[LAYER_LIMBS];
} layer_limbs;

/* A sum as a number, what it lacks, and whether even that is not all. */
typedef struct layer_total {
    double value;
    double rest;
    uint32_t lost;
} layer_total;

GPU_FN void layer_total_add(layer_total *t, double x)
{
    const glu_pair sum = glu_two_sum(t->value, x);
    const glu_pair rest = glu_two_sum(t->rest, sum.lo);

    t->value = sum.hi;
    t->rest = rest.hi;
    t->lost |= rest.lo != 0;
}

/* x is an integer times 2^-LAYER_LOWEST, and no limb's sum overflows. */
GPU_FN void layer_limbs_add(layer_limbs *s, double x)
{
    const uint64_t bits = gpu_bits64(x);
    const int64_t sign = bits >> 63 != 0 ? -1 : 1;
    uint64_t m = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
    int at = (int)(bits >> 52 & 2047) - 1075 + LAYER_LOWEST;

    if (x == 0) {
        return;
    }
    if (at < 0) {
        m >>= -at;
        at = 0;
    }
    const uint64_t low = (m & 0xffffffffu) << (at & 31);
    const uint64_t high = (m >> 32) << (at & 31);
    int64_t *const limb = s->limb + at / 32;

    limb[0] += sign * (int64_t)(low & 0xffffffffu);
    limb[1] += sign * (int64_t)((low >> 32) + (high & 0xffffffffu));
    limb[2] += sign * (int64_t)(high >> 32);
}

/* Every limb but the last becomes 0 .. 2^32 - 1. */
GPU_FN void layer_limbs_carry(layer_limbs *s)
{
    GPU_LOOP
    for (int i = 0; i + 1 < LAYER_LIMBS; i++) {
        const int64_t low = s->limb[i] & 0xffffffff;

        s->limb[i + 1] += (s->limb[i] - low) / ((int64_t)1 << 32);
        s->limb[i] = low;
    }
}

/* The 64 leading bits of a sum's magnitude; 0: the sum is 0. */
typedef struct layer_top {
    uint64_t m;
    int unit; /* binary exponent of m's last bit */
    uint32_t sticky;
    int negative;
} layer_top;

GPU_FN layer_top layer_limbs_top(layer_limbs *s)
{
    layer_top t = {0, 0, 0, 0};
    int top = LAYER_LIMBS - 1;

    layer_limbs_carry(s);
    t.negative = s->limb[top] < 0;
    if (t.negative) {
        GPU_LOOP
        for (int i = 0; i < LAYER_LIMBS; i++) {
            s->limb[i] = -s->limb[i];
        }
        layer_limbs_carry(s);
    }
    while (top > 2 && s->limb[top] == 0) {
        top--;
    }
    uint64_t next = (uint64_t)s->limb[top - 2];

    t.m = (uint64_t)s->limb[top] << 32 | (uint64_t)s->limb[top - 1];
    t.unit = 32 * (top - 1) - LAYER_LOWEST;
    GPU_LOOP
    for (int i = top - 3; i >= 0; i--) {
        t.sticky |= s->limb[i] != 0;
    }
    GPU_LOOP
    for (int i = 0; i < 96 && t.m >> 63 == 0; i++) {
        t.m = t.m << 1 | (next >> 31 & 1);
        next = next << 1 & 0xffffffffu;
        t.unit--;
    }
    t.sticky |= next != 0;
    return t;
}

/* The sum, rounded to a type. */
GPU_FN uint32_t layer_limbs_round(layer_limbs *s, int to)
{
    const layer_top t = layer_limbs_top(s);

    if (t.m == 0) {
        return 0;
    }
    const double h =
        (double)(t.m >> 11) * gpu_double((uint64_t)(t.unit + 11 + 1023) << 52);

    return glu_round(to, t.negative ? -h : h,
                     t.sticky != 0 || (t.m & 0x7ff) != 0);
}

/* A total that lost nothing, rounded once; NaN and infinities as they are. */
GPU_FN uint32_t layer_total_round(const layer_total *t, int to)
{
    const glu_pair sum = glu_two_sum(t->value, t->rest);

    if (t->value != t->value) {
        return glu_nan(to);
    }
    if (t->value - t->value != 0) {
        return glu_infinity(to) | glu_sign(to, t->value < 0);
    }
    if (sum.hi == 0) {
        return 0;
    }
    const int rest = sum.lo == 0 ? 0 : (sum.lo > 0) == (sum.hi > 0) ? 1 : -1;

    return glu_round(to, sum.hi, rest);
}

/* Nothing got lost, or something is not finite: then the total is the answer.
   Errors of additions to an infinity are NaN, and no loss. */
GPU_FN int layer_total_is_answer(const layer_total *t)
{
    return !t->lost || t->value - t->value != 0;
}

#endif
