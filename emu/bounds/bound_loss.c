/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loss of a sum in no declared order.  Rounding a number below 2^(e+1)
 * loses 2^(e-24) at most, wherever it lies in its binade; adding a zero, or
 * to nothing, loses nothing; nor does a sum of multiples of one unit that
 * stay within 24 bits of it.
 */
#include "bound.h"

enum {
    STEP = 16,      /* products that a tensor-core step adds at once */
    UNIT = 1 << 16, /* 2^-24 of the binade, in units of 2^-40 */
    CUT = 1 << 15,  /* 2^-25 of it */
    RESULT = 4,     /* cuts that a step's result, to 2^-23, counts for */
    ONCE = 8,       /* a product and a late scale round S <= 2 M each */
    BITS = 24,      /* of a binary32 number */
    MOST = 1 << 20  /* products, or there is no bound */
};

static int lowest_bit(uint32_t x)
{
    int n = 0;

    for (; (x & 1) == 0; x >>= 1) {
        n++;
    }
    return n;
}

/* Bits of the nonzero, 16 numbers at a time, and all their bits. */
static uint32_t short_mask(const int16_t *x, uint32_t *any)
{
    static const uint16_t bit[16] = {1u << 0,  1u << 1,  1u << 2,  1u << 3,
                                     1u << 4,  1u << 5,  1u << 6,  1u << 7,
                                     1u << 8,  1u << 9,  1u << 10, 1u << 11,
                                     1u << 12, 1u << 13, 1u << 14, 1u << 15};
    uint16_t half[2] = {0, 0};
    uint16_t all = 0;

    for (int h = 0; h < 2; h++) {
        for (int i = 0; i < 16; i++) {
            half[h] |= x[16 * h + i] != 0 ? bit[i] : 0;
            all |= (uint16_t)x[16 * h + i];
        }
    }
    *any = all;
    return half[0] | (uint32_t)half[1] << 16;
}

/* Under one exponent the lowest bit that any number has is the unit; it is the
   same bit in a number and in its negative. */
static bound_nonzero aligned_live(const mxo_dot_block *x)
{
    uint32_t mask = 0;
    uint32_t any = 0;

    if (x->is_short) {
        mask = short_mask(x->digit[0], &any);
    }
    for (int i = 0; !x->is_short && i < MXO_DOT_BLOCK; i++) {
        any |= (uint32_t)x->v[i];
        mask |= (uint32_t)(x->v[i] != 0) << i;
    }
    return (bound_nonzero){mask,
                           any == 0 ? INT16_MAX : x->exp + lowest_bit(any)};
}

bound_nonzero bound_nonzero_of(const mxo_dot_block *x)
{
    bound_nonzero live = {0, INT16_MAX};

    if (x->kind == MXO_DOT_ALIGNED) {
        return aligned_live(x);
    }
    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        const uint32_t size = (uint32_t)(x->v[i] < 0 ? -x->v[i] : x->v[i]);
        const int is_special = x->kind == MXO_DOT_SPECIAL &&
                               x->cls[i] != MXO_CLASS_FINITE &&
                               x->cls[i] != MXO_CLASS_ZERO;
        if (size != 0 && !is_special) {
            const int unit = x->e[i] + lowest_bit(size);
            live.unit = unit < live.unit ? unit : live.unit;
        }
        live.mask |= (uint32_t)(size != 0 || is_special) << i;
    }
    return live;
}

/* Bits that are set: in pairs, fours, eights, then the sum of the bytes. */
static uint64_t ones(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    return x * 0x01010101u >> 24;
}

void bound_count(bound_terms *t, bound_nonzero a, bound_nonzero b)
{
    const uint32_t both = a.mask & b.mask;
    const int is_known = a.unit != BOUND_NO_UNIT && b.unit != BOUND_NO_UNIT;
    const int unit = is_known ? a.unit + b.unit : BOUND_NO_UNIT;

    if (both != 0) {
        t->n += ones(both);
        t->unit = unit < t->unit ? unit : t->unit;
    }
}

int bound_is_exact(const bound_terms *t, mxo_real size)
{
    return t->unit >= BOUND_LEAST && size.cls == MXO_CLASS_FINITE &&
           mxo_real_lg(size) < t->unit + BITS;
}

uint64_t bound_loss(uint64_t n, uint64_t k)
{
    const uint64_t all = k / STEP + (k % STEP != 0);
    const uint64_t steps = n < all ? n : all; /* of zeros none counts */
    const uint64_t a = (n + ONCE) * UNIT;
    const uint64_t b = (n + (RESULT + 1) * steps) * CUT + (steps + ONCE) * UNIT;

    return k >= MOST ? 0 : a > b ? a : b;
}

int bound_binade(mxo_real most, uint64_t loss)
{
    const int lg = mxo_real_lg(most);
    const int up = BITS - 1 - (lg - most.exp);
    const uint64_t mant = up >= 0 ? most.mant << up : (most.mant >> -up) + 1;
    const uint64_t more = (mant * loss >> 40) + 1;

    return lg + (mant + more >= UINT64_C(1) << BITS);
}
