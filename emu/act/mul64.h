/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64 x 64 -> 128 bits and back, the only arithmetic C11 does not have.
 * Compilers with a 128-bit integer use it; the portable forms give the same
 * bits everywhere and are compared with it in the unit tests.
 */
#ifndef MXO_EMU_ACT_MUL64_H
#define MXO_EMU_ACT_MUL64_H

#include <stdint.h>

typedef struct mxo_u128 {
    uint64_t hi;
    uint64_t lo;
} mxo_u128;

static inline mxo_u128 mxo_mul64_portable(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a;
    const uint64_t a1 = a >> 32;
    const uint64_t b0 = (uint32_t)b;
    const uint64_t b1 = b >> 32;
    const uint64_t low = a0 * b0;
    const uint64_t x = a0 * b1;
    const uint64_t y = a1 * b0;
    const uint64_t mid = (low >> 32) + (uint32_t)x + (uint32_t)y;
    const mxo_u128 product = {
        a1 * b1 + (x >> 32) + (y >> 32) + (mid >> 32),
        mid << 32 | (uint32_t)low,
    };

    return product;
}

/* floor(n / d) for n.hi < d: one bit of the quotient at a time. */
static inline uint64_t mxo_div128_portable(mxo_u128 n, uint64_t d)
{
    for (int bit = 0; bit < 64; bit++) {
        const uint64_t carry = n.hi >> 63;
        n.hi = n.hi << 1 | n.lo >> 63;
        n.lo <<= 1;
        if (carry != 0 || n.hi >= d) {
            n.hi -= d;
            n.lo |= 1;
        }
    }
    return n.lo;
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 mxo_native_u128;

static inline mxo_u128 mxo_mul64(uint64_t a, uint64_t b)
{
    const mxo_native_u128 p = (mxo_native_u128)a * b;
    const mxo_u128 product = {(uint64_t)(p >> 64), (uint64_t)p};

    return product;
}

static inline uint64_t mxo_div128(mxo_u128 n, uint64_t d)
{
    return (uint64_t)(((mxo_native_u128)n.hi << 64 | n.lo) / d);
}
#else
static inline mxo_u128 mxo_mul64(uint64_t a, uint64_t b)
{
    return mxo_mul64_portable(a, b);
}

static inline uint64_t mxo_div128(mxo_u128 n, uint64_t d)
{
    return mxo_div128_portable(n, d);
}
#endif

static inline uint64_t mxo_mulhi64(uint64_t a, uint64_t b)
{
    return mxo_mul64(a, b).hi;
}

/* Leading zeros of a nonzero x. */
static inline int mxo_clz64(uint64_t x)
{
#if defined(__GNUC__)
    return __builtin_clzll(x);
#else
    int n = 0;

    for (int step = 32; step > 0; step /= 2) {
        if (x >> (64 - step) == 0) {
            n += step;
            x <<= step;
        }
    }
    return n;
#endif
}

/* x * 2^shift, bits below the point dropped; no bit may leave at the top. */
static inline mxo_u128 mxo_shift128(mxo_u128 x, int shift)
{
    mxo_u128 y = {0, 0};

    if (shift >= 64) {
        y.hi = shift >= 128 ? 0 : x.lo << (shift - 64);
    } else if (shift > 0) {
        y.hi = x.hi << shift | x.lo >> (64 - shift);
        y.lo = x.lo << shift;
    } else if (shift == 0) {
        y = x;
    } else if (shift > -64) {
        y.hi = x.hi >> -shift;
        y.lo = x.lo >> -shift | x.hi << (64 + shift);
    } else if (shift > -128) {
        y.lo = x.hi >> (-shift - 64);
    }
    return y;
}

#endif
