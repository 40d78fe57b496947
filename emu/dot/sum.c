/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The register of dot.h: adding, carrying, reading.  A number enters as three
 * pieces of 32 bits, so that a lane grows by less than 2^32 per addition and
 * carries are due only every 2^30 numbers.
 */
#include "dot.h"

#include <string.h>

enum { CARRY_DUE = 1 << 30, LIMBS = MXO_DOT_LANES + 1 };

#define LOW UINT64_C(0xffffffff)

void mxo_dot_reset(mxo_dot *d)
{
    memset(d, 0, sizeof *d);
}

/* Lanes to 0 .. 2^32 - 1, except the last, which keeps the sign. */
static void carry(mxo_dot *d)
{
    int64_t up = 0;

    for (int i = 0; i < MXO_DOT_LANES - 1; i++) {
        const int64_t v = d->lane[i] + up;
        const int64_t low = (int64_t)((uint64_t)v & LOW);
        d->lane[i] = low;
        up = (v - low) / (INT64_C(1) << 32); /* exact */
    }
    d->lane[MXO_DOT_LANES - 1] += up;
    d->added = 0;
}

void mxo_dot_add_int(mxo_dot *d, int64_t p, int exp)
{
    const unsigned at = (unsigned)(exp - d->exp - MXO_DOT_BASE);
    const unsigned shift = at % 32;
    int64_t *lane = &d->lane[at / 32];
    const uint64_t u = p < 0 ? (uint64_t)-p : (uint64_t)p;
    const uint64_t low = u << shift;
    const int64_t a = (int64_t)(low & LOW);
    const int64_t b = (int64_t)(low >> 32);
    const int64_t c = shift == 0 ? 0 : (int64_t)(u >> (64 - shift));

    lane[0] += p < 0 ? -a : a;
    lane[1] += p < 0 ? -b : b;
    lane[2] += p < 0 ? -c : c;
    if (++d->added >= CARRY_DUE) {
        carry(d);
    }
}

void mxo_dot_add(mxo_dot *d, mxo_real x)
{
    switch (x.cls) {
    case MXO_CLASS_NAN:
        d->nan = 1;
        break;
    case MXO_CLASS_INF:
        d->inf[x.neg] = 1;
        break;
    case MXO_CLASS_FINITE:
        mxo_dot_add_int(d, x.neg ? -(int64_t)x.mant : (int64_t)x.mant, x.exp);
        break;
    default:
        break;
    }
}

void mxo_dot_add_product(mxo_dot *d, mxo_real a, mxo_real b)
{
    mxo_dot_add(d, mxo_real_mul(a, b));
}

/* Multiplication by or of infinities and NaN; 0 * Inf is NaN. */
static void scale_specials(mxo_dot *d, mxo_real x)
{
    const mxo_real sum = mxo_dot_value(d);

    if (x.cls != MXO_CLASS_FINITE || sum.cls != MXO_CLASS_FINITE) {
        const mxo_real y = mxo_real_mul(sum, x);
        mxo_dot_reset(d);
        mxo_dot_add(d, y);
    }
}

void mxo_dot_scale(mxo_dot *d, mxo_real x)
{
    scale_specials(d, x);
    if (x.cls != MXO_CLASS_FINITE) {
        return;
    }
    carry(d);
    for (int i = 0; i < MXO_DOT_LANES; i++) {
        d->lane[i] *= x.neg ? -(int64_t)x.mant : (int64_t)x.mant;
    }
    d->exp += x.exp;
    carry(d);
}

/* sign * sum as limbs; returns the last carry, which is negative if that is. */
static int64_t limbs_of(const mxo_dot *d, int sign, uint32_t *limb)
{
    int64_t up = 0;
    int i = 0;

    for (; i < MXO_DOT_LANES && d->lane[i] == 0; i++) {
        limb[i] = 0;
    }
    for (; i < MXO_DOT_LANES; i++) {
        const int64_t v = sign * d->lane[i] + up;
        const int64_t low = (int64_t)((uint64_t)v & LOW);
        limb[i] = (uint32_t)low;
        up = (v - low) / (INT64_C(1) << 32);
    }
    limb[MXO_DOT_LANES] = (uint32_t)up;
    return up;
}

/* |sum| as limbs; returns the sign. */
static int magnitude(const mxo_dot *d, uint32_t *limb)
{
    const int neg = limbs_of(d, 1, limb) < 0;

    if (neg) {
        (void)limbs_of(d, -1, limb);
    }
    return neg;
}

/* The 64 bits from the leading one down, and whether bits are below them. */
static mxo_real leading(const uint32_t *limb, int top)
{
    mxo_real x = {0, 0, MXO_CLASS_FINITE, 0, 0};
    const uint32_t below = top > 1 ? limb[top - 2] : 0;

    x.mant = (uint64_t)limb[top] << 32 | (top > 0 ? limb[top - 1] : 0);
    const int up = 63 - mxo_real_lg(x);

    x.mant <<= up;
    if (up > 0) {
        x.mant |= below >> (32 - up);
        x.sticky = (uint32_t)(below << up) != 0;
    } else {
        x.sticky = below != 0;
    }
    for (int i = 0; i < top - 2; i++) {
        x.sticky |= limb[i] != 0;
    }
    x.exp = 32 * (top - 1) - up + MXO_DOT_BASE;
    return x;
}

mxo_real mxo_dot_value(const mxo_dot *d)
{
    mxo_real x = {0, 0, MXO_CLASS_ZERO, 0, 0};
    uint32_t limb[LIMBS];
    int top = LIMBS - 1;

    if (d->nan || (d->inf[0] && d->inf[1])) {
        x.cls = MXO_CLASS_NAN;
        return x;
    }
    if (d->inf[0] || d->inf[1]) {
        x.cls = MXO_CLASS_INF;
        x.neg = d->inf[1];
        return x;
    }
    const int neg = magnitude(d, limb);
    while (top >= 0 && limb[top] == 0) {
        top--;
    }
    if (top < 0) {
        return x;
    }
    x = leading(limb, top);
    x.neg = (uint8_t)neg;
    x.exp += d->exp;
    return x;
}

uint64_t mxo_dot_round(const mxo_dot *d, mxo_format to)
{
    static const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};

    return mxo_format_encode(to, mxo_dot_value(d), nearest_even);
}
