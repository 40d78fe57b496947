/* SPDX-License-Identifier: Apache-2.0 */
/*
 * math.lg2: the base-2 logarithm of a binary32 number, correctly rounded.
 *
 * Bit by bit: squaring m in [1, 2) doubles its logarithm, so whether m^2 is 2
 * or more is the next bit.  m is held in 224 bits, cut at each squaring; after
 * n squarings the relative error is below 2^(n - 220), so 96 bits are right
 * unless 120 bits in a row are all equal, which no binary32 input has: the
 * logarithm is irrational unless x is a power of two.
 */
#include "../call.h"

#include <string.h>

enum { LIMBS = 7, BITS = 96 };

/* One integer bit at the top: limb[6] bit 31. */
typedef struct fixed {
    uint32_t limb[LIMBS];
} fixed;

/* The upper half of m^2, as a number in [1, 4) with the point one bit lower. */
static fixed square(const fixed *m)
{
    uint64_t wide[2 * LIMBS] = {0};
    fixed y;

    for (int i = 0; i < LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < LIMBS; j++) {
            carry += wide[i + j] + (uint64_t)m->limb[i] * m->limb[j];
            wide[i + j] = carry & 0xffffffffu;
            carry >>= 32;
        }
        wide[i + LIMBS] = carry;
    }
    for (int i = 0; i < LIMBS; i++) {
        y.limb[i] = (uint32_t)wide[i + LIMBS];
    }
    return y;
}

static void shift_up(fixed *m)
{
    for (int i = LIMBS - 1; i > 0; i--) {
        m->limb[i] = m->limb[i] << 1 | m->limb[i - 1] >> 31;
    }
    m->limb[0] <<= 1;
}

/* The fraction bits of log2(mant), mant in [2^63, 2^64): high and low part. */
static void fraction(uint64_t mant, uint64_t *high, uint32_t *low)
{
    fixed m = {{0}};

    m.limb[LIMBS - 1] = (uint32_t)(mant >> 32);
    m.limb[LIMBS - 2] = (uint32_t)mant;
    *high = 0;
    *low = 0;
    for (int i = 0; i < BITS; i++) {
        m = square(&m);
        const uint32_t bit = m.limb[LIMBS - 1] >> 31;
        if (bit == 0) {
            shift_up(&m);
        }
        *high = *high << 1 | *low >> 31;
        *low = *low << 1 | bit;
    }
}

/* e + f as a number: |e + f| in units of 2^-96, the rest as sticky. */
static mxo_real number(int e, uint64_t high, uint32_t low)
{
    mxo_real y = {0, -64, MXO_CLASS_FINITE, e < 0, 1};
    uint64_t whole = (uint64_t)(e < 0 ? -(e + 1) : e);

    if (e < 0) {
        /* -(e + f) = (-e - 1) + (1 - f); what is cut off f turns into sticky
           below the complement of its bits. */
        high = ~high;
        low = ~low;
    }
    /* Leading bit of whole:high:low to the top of 64 bits. */
    while (whole != 0) {
        y.sticky = 1;
        low = low >> 1 | (uint32_t)(high << 31);
        high = high >> 1 | whole << 63;
        whole >>= 1;
        y.exp++;
    }
    while (high >> 63 == 0) {
        high = high << 1 | low >> 31;
        low <<= 1;
        y.exp--;
    }
    y.mant = high;
    return y;
}

uint32_t mxo_lg2_rn(uint32_t x)
{
    const mxo_real r = mxo_format_decode(MXO_FMT_F32, x);

    if (r.cls == MXO_CLASS_ZERO) {
        return 0xff800000u;
    }
    if (r.cls == MXO_CLASS_NAN || r.neg) {
        return 0x7fc00000u;
    }
    if (r.cls == MXO_CLASS_INF) {
        return 0x7f800000u;
    }
    const int e = mxo_real_lg(r);
    const uint64_t mant = r.mant << (63 - (e - r.exp));

    if (mant << 1 == 0) {
        const mxo_real whole = {(uint64_t)(e < 0 ? -e : e), 0,
                                e == 0 ? MXO_CLASS_ZERO : MXO_CLASS_FINITE,
                                e < 0, 0};
        return (uint32_t)mxo_format_round(MXO_FMT_F32, whole);
    }
    uint64_t high;
    uint32_t low;

    fraction(mant, &high, &low);
    return (uint32_t)mxo_format_round(MXO_FMT_F32, number(e, high, low));
}

mxo_status infer_math_lg2(const mxo_call *call, mxo_tensor *out_tensor,
                          uint32_t *n_out, mxo_text why)
{
    (void)why;
    return mxo_infer_like(call, "x", out_tensor, n_out, "y", MXO_F32);
}

mxo_status run_math_lg2(const mxo_call *call, mxo_text why)
{
    const int ftz = mxo_call_int(call, "ftz") != 0;
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const uint64_t n = mxo_tensor_elems(x);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t u = (uint32_t)mxo_load(x, i);
        mxo_store(y, i, mxo_lg2_rn(ftz ? mxo_f32_ftz(u) : u));
    }
    return MXO_OK;
}
