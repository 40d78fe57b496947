/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary32 arithmetic in integers.  Vendors' recipes are chains of single
 * binary32 operations; doing them on the host's floating point unit would
 * trust its rounding mode, its flush bits and (x87) its precision.
 */
#include <mxoracle/format.h>

#include <string.h>

#define QUIET_NAN 0x7fc00000u

static const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};
static const mxo_real zero = {0, 0, MXO_CLASS_ZERO, 0, 0};

static mxo_real load(uint32_t a)
{
    return mxo_format_decode(MXO_FMT_F32, a);
}

static uint32_t store(mxo_real x)
{
    if (x.cls == MXO_CLASS_NAN) {
        return QUIET_NAN;
    }
    return (uint32_t)mxo_format_encode(MXO_FMT_F32, x, nearest_even);
}

static mxo_real special(uint8_t cls, int neg)
{
    mxo_real x = zero;

    x.cls = cls;
    x.neg = (uint8_t)neg;
    return x;
}

mxo_real mxo_real_mul(mxo_real a, mxo_real b)
{
    const int neg = a.neg ^ b.neg;

    if (a.cls == MXO_CLASS_NAN || b.cls == MXO_CLASS_NAN ||
        (a.cls == MXO_CLASS_INF && b.cls == MXO_CLASS_ZERO) ||
        (a.cls == MXO_CLASS_ZERO && b.cls == MXO_CLASS_INF)) {
        return special(MXO_CLASS_NAN, 0);
    }
    if (a.cls == MXO_CLASS_INF || b.cls == MXO_CLASS_INF) {
        return special(MXO_CLASS_INF, neg);
    }
    if (a.cls == MXO_CLASS_ZERO || b.cls == MXO_CLASS_ZERO) {
        return special(MXO_CLASS_ZERO, neg);
    }
    mxo_real x = a;

    x.neg = (uint8_t)neg;
    x.mant = a.mant * b.mant;
    x.exp = a.exp + b.exp;
    return x;
}

/* Leading bit to position 62, so that one addition cannot overflow. */
static mxo_real normalise(mxo_real x)
{
    const int up = 62 - (mxo_real_lg(x) - x.exp);

    x.mant <<= up;
    x.exp -= up;
    return x;
}

/* The smaller addend, cut to the larger's exponent, the rest as sticky. */
static mxo_real align(mxo_real x, int exp)
{
    const int shift = exp - x.exp;
    const uint64_t lost =
        shift > 63 ? x.mant : x.mant & (((uint64_t)1 << shift) - 1);

    x.mant = shift > 63 ? 0 : x.mant >> shift;
    x.sticky = lost != 0;
    x.exp = exp;
    return x;
}

static mxo_real add_finite(mxo_real a, mxo_real b)
{
    a = normalise(a);
    b = normalise(b);
    if (mxo_real_cmp_abs(a, b) < 0) {
        const mxo_real t = a;
        a = b;
        b = t;
    }
    b = align(b, a.exp);
    a.sticky = b.sticky;
    if (a.neg == b.neg) {
        a.mant += b.mant;
    } else {
        /* a - (b + s) = (a - b - 1) + (1 - s): still a sticky fraction. */
        a.mant -= b.mant + b.sticky;
    }
    if (a.mant == 0) {
        return zero; /* exact cancellation: +0 in round to nearest */
    }
    return a;
}

static mxo_real add(mxo_real a, mxo_real b)
{
    if (a.cls == MXO_CLASS_NAN || b.cls == MXO_CLASS_NAN ||
        (a.cls == MXO_CLASS_INF && b.cls == MXO_CLASS_INF && a.neg != b.neg)) {
        return special(MXO_CLASS_NAN, 0);
    }
    if (a.cls == MXO_CLASS_INF || b.cls == MXO_CLASS_INF) {
        return a.cls == MXO_CLASS_INF ? a : b;
    }
    if (a.cls == MXO_CLASS_ZERO && b.cls == MXO_CLASS_ZERO) {
        return special(MXO_CLASS_ZERO, a.neg & b.neg);
    }
    if (a.cls == MXO_CLASS_ZERO || b.cls == MXO_CLASS_ZERO) {
        return a.cls == MXO_CLASS_ZERO ? b : a;
    }
    return add_finite(a, b);
}

static mxo_real divide(mxo_real a, mxo_real b)
{
    const int neg = a.neg ^ b.neg;

    if (a.cls == MXO_CLASS_NAN || b.cls == MXO_CLASS_NAN ||
        (a.cls == b.cls && a.cls != MXO_CLASS_FINITE)) {
        return special(MXO_CLASS_NAN, 0);
    }
    if (a.cls == MXO_CLASS_INF || b.cls == MXO_CLASS_ZERO) {
        return special(MXO_CLASS_INF, neg);
    }
    if (a.cls == MXO_CLASS_ZERO || b.cls == MXO_CLASS_INF) {
        return special(MXO_CLASS_ZERO, neg);
    }
    /* 63-bit numerator over at most 24 bits: at least 39 quotient bits. */
    mxo_real x = normalise(a);
    const uint64_t numerator = x.mant;

    x.neg = (uint8_t)neg;
    x.mant = numerator / b.mant;
    x.exp -= b.exp;
    x.sticky = numerator % b.mant != 0;
    return x;
}

uint32_t mxo_f32_add(uint32_t a, uint32_t b)
{
    return store(add(load(a), load(b)));
}

uint32_t mxo_f32_sub(uint32_t a, uint32_t b)
{
    mxo_real y = load(b);

    y.neg ^= 1;
    return store(add(load(a), y));
}

uint32_t mxo_f32_mul(uint32_t a, uint32_t b)
{
    return store(mxo_real_mul(load(a), load(b)));
}

uint32_t mxo_f32_div(uint32_t a, uint32_t b)
{
    return store(divide(load(a), load(b)));
}

uint32_t mxo_f32_fma(uint32_t a, uint32_t b, uint32_t c)
{
    return store(add(mxo_real_mul(load(a), load(b)), load(c)));
}

uint32_t mxo_f32_add_real(uint32_t a, mxo_real x)
{
    return store(add(load(a), x));
}

uint32_t mxo_f32_ftz(uint32_t a)
{
    return (a & 0x7f800000u) == 0 ? a & 0x80000000u : a;
}

int mxo_f32_cmp(uint32_t a, uint32_t b)
{
    const mxo_real x = load(a);
    const mxo_real y = load(b);

    if (x.cls == MXO_CLASS_NAN || y.cls == MXO_CLASS_NAN) {
        return 2;
    }
    if (x.cls == MXO_CLASS_ZERO && y.cls == MXO_CLASS_ZERO) {
        return 0;
    }
    /* Sign-magnitude patterns to a monotone integer. */
    const int64_t i = x.neg ? -(int64_t)(a & 0x7fffffffu) : (int64_t)a;
    const int64_t j = y.neg ? -(int64_t)(b & 0x7fffffffu) : (int64_t)b;
    return (i > j) - (i < j);
}

uint32_t mxo_f32_from_f64(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return store(mxo_format_decode(MXO_FMT_F64, bits));
}
