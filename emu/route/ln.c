/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logarithm and square root of binary32, correctly rounded: DeepSeek-V4's
 * router takes sqrt(ln(1 + e^x)).
 *
 * x = c * 2^k with c = p / 2^23 in [1, 2), and
 * ln c = 2 artanh((p - 2^23) / (p + 2^23)), a series of which every step is a
 * product or a quotient by one word.  160 bits follow the point; some 60
 * terms, each too small by less than two units, leave more than 150 of them
 * right, and no binary32 logarithm lies closer to a rounding boundary than
 * 2^-60 of itself.
 */
#include "../act/limbs.h"
#include "../act/ln2.h"

#include <mxoracle/route.h>

#include <string.h>

enum { LIMBS = 6, BITS = 32 * (LIMBS - 1) };

static int is_zero(const uint32_t *x)
{
    uint32_t any = 0;

    for (int i = 0; i < LIMBS; i++) {
        any |= x[i];
    }
    return any == 0;
}

/* sum = ln(p / 2^23), fixed point */
static void ln_mantissa(uint32_t *sum, uint32_t p)
{
    const uint32_t above = p - ((uint32_t)1 << 23);
    const uint32_t below = p + ((uint32_t)1 << 23);
    uint32_t power[LIMBS] = {0};
    uint32_t term[LIMBS];

    power[LIMBS - 1] = 2;
    (void)mxo_limbs_mul_small(power, LIMBS, above);
    mxo_limbs_div_small(power, LIMBS, below);
    memset(sum, 0, LIMBS * sizeof sum[0]);
    for (uint32_t i = 1; !is_zero(power); i += 2) {
        memcpy(term, power, sizeof term);
        mxo_limbs_div_small(term, LIMBS, i);
        (void)mxo_limbs_add(sum, term, LIMBS);
        for (int twice = 0; twice < 2; twice++) {
            (void)mxo_limbs_mul_small(power, LIMBS, above);
            mxo_limbs_div_small(power, LIMBS, below);
        }
    }
}

/* |k| ln 2, fixed point */
static void ln_power(uint32_t *x, uint32_t k)
{
    x[LIMBS - 1] = 0;
    for (int i = 0; i < LIMBS - 1; i++) {
        x[LIMBS - 2 - i] = mxo_ln2[i];
    }
    (void)mxo_limbs_mul_small(x, LIMBS, k);
}

/* x, which is no number a format has, with its 64 leading bits. */
static mxo_real leading(const uint32_t *x, int neg)
{
    mxo_real y = {0, -BITS, MXO_CLASS_FINITE, (uint8_t)neg, 1};
    int top = LIMBS - 1;

    while (x[top] == 0) {
        top--;
    }
    for (int i = 0; i < 3; i++) {
        const uint64_t limb = top >= i ? x[top - i] : 0;
        const int room = i == 0 ? 0 : mxo_clz64(y.mant);

        if (i < 2) {
            y.mant = y.mant << 32 | limb;
        } else if (room > 0) {
            y.mant = y.mant << room | limb >> (32 - room);
            y.exp -= room;
        }
    }
    y.exp += 32 * (top - 1);
    return y;
}

uint32_t mxo_f32_ln(uint32_t x)
{
    const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};
    const mxo_real v = mxo_format_decode(MXO_FMT_F32, x);
    uint32_t sum[LIMBS];
    uint32_t rest[LIMBS];
    int neg = 0;

    if (v.cls == MXO_CLASS_ZERO) {
        return 0xff800000u;
    }
    if (v.cls == MXO_CLASS_NAN || v.neg) {
        return 0x7fc00000u;
    }
    if (v.cls == MXO_CLASS_INF || x == 0x3f800000u) {
        return v.cls == MXO_CLASS_INF ? x : 0;
    }
    const int k = mxo_real_lg(v);
    const uint32_t p = (uint32_t)(v.mant << (23 - k + v.exp));

    ln_mantissa(sum, p);
    ln_power(rest, (uint32_t)(k < 0 ? -k : k));
    if (k >= 0) {
        (void)mxo_limbs_add(sum, rest, LIMBS);
    } else {
        (void)mxo_limbs_sub(rest, sum, LIMBS); /* |k| ln 2 > ln c */
        memcpy(sum, rest, sizeof sum);
        neg = 1;
    }
    return (uint32_t)mxo_format_encode(MXO_FMT_F32, leading(sum, neg),
                                       nearest_even);
}

uint32_t mxo_f32_sqrt(uint32_t x)
{
    const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};
    mxo_real v = mxo_format_decode(MXO_FMT_F32, x);
    uint64_t root = 0;

    if (v.cls == MXO_CLASS_ZERO || (v.cls == MXO_CLASS_INF && !v.neg)) {
        return x;
    }
    if (v.cls != MXO_CLASS_FINITE || v.neg) {
        return 0x7fc00000u;
    }
    /* An even exponent and 62 or 61 bits: the root has 31. */
    const int lg = mxo_real_lg(v) - v.exp;
    int up = 61 - lg;

    up += (v.exp - up) % 2 != 0;
    v.mant <<= up;
    v.exp -= up;
    for (uint64_t bit = (uint64_t)1 << 31; bit != 0; bit >>= 1) {
        const uint64_t next = root | bit;

        root = next * next <= v.mant ? next : root;
    }
    const mxo_real y = {root, v.exp / 2, MXO_CLASS_FINITE, 0,
                        (uint8_t)(root * root != v.mant)};

    return (uint32_t)mxo_format_encode(MXO_FMT_F32, y, nearest_even);
}
