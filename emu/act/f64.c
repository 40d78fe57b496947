/* SPDX-License-Identifier: Apache-2.0 */
/* Binary64 steps in integers.  See f64.h. */
#include "f64.h"

#include "mul64.h"

#include <mxoracle/format.h>

static mxo_real load(uint64_t a)
{
    return mxo_format_decode(MXO_FMT_F64, a);
}

static uint64_t store(mxo_real x)
{
    const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};

    return mxo_format_encode(MXO_FMT_F64, x, nearest_even);
}

static uint64_t special(mxo_class cls, int neg)
{
    const mxo_real x = {0, 0, (uint8_t)cls,
                        (uint8_t)(cls == MXO_CLASS_NAN ? 0 : neg), 0};

    return store(x);
}

/* wide * 2^exp, wide not zero, as 64 bits and a sticky bit. */
static mxo_real narrow(mxo_u128 wide, int exp, int neg, int sticky)
{
    const int up = wide.hi != 0 ? mxo_clz64(wide.hi) : 64 + mxo_clz64(wide.lo);
    const mxo_u128 top = mxo_shift128(wide, up);
    const mxo_real x = {top.hi, exp + 64 - up, MXO_CLASS_FINITE, (uint8_t)neg,
                        (uint8_t)(sticky || top.lo != 0)};

    return x;
}

uint64_t mxo_f64_mul(uint64_t a, uint64_t b)
{
    const mxo_real x = load(a);
    const mxo_real y = load(b);
    const int neg = x.neg ^ y.neg;
    const int has_zero = x.cls == MXO_CLASS_ZERO || y.cls == MXO_CLASS_ZERO;
    const int has_inf = x.cls == MXO_CLASS_INF || y.cls == MXO_CLASS_INF;

    if (x.cls == MXO_CLASS_NAN || y.cls == MXO_CLASS_NAN ||
        (has_zero && has_inf)) {
        return special(MXO_CLASS_NAN, 0);
    }
    if (has_zero || has_inf) {
        return special(has_zero ? MXO_CLASS_ZERO : MXO_CLASS_INF, neg);
    }
    return store(narrow(mxo_mul64(x.mant, y.mant), x.exp + y.exp, neg, 0));
}

uint64_t mxo_f64_div(uint64_t a, uint64_t b)
{
    const mxo_real x = load(a);
    const mxo_real y = load(b);
    const int neg = x.neg ^ y.neg;

    if (x.cls == MXO_CLASS_NAN || y.cls == MXO_CLASS_NAN ||
        (x.cls == y.cls && x.cls != MXO_CLASS_FINITE)) {
        return special(MXO_CLASS_NAN, 0);
    }
    if (x.cls != MXO_CLASS_FINITE || y.cls != MXO_CLASS_FINITE) {
        const int large = x.cls == MXO_CLASS_INF || y.cls == MXO_CLASS_ZERO;
        return special(large ? MXO_CLASS_INF : MXO_CLASS_ZERO, neg);
    }
    /* Both leading bits up, the numerator one lower: a 63-bit quotient. */
    const int up_x = mxo_clz64(x.mant);
    const int up_y = mxo_clz64(y.mant);
    const uint64_t d = y.mant << up_y;
    const mxo_u128 n = {x.mant << up_x >> 1, 0};
    const uint64_t q = mxo_div128(n, d);
    const mxo_u128 product = mxo_mul64(q, d);
    const mxo_u128 wide = {0, q};
    const int rest = product.hi != n.hi || product.lo != 0;

    return store(
        narrow(wide, x.exp - up_x + 1 - (y.exp - up_y) - 64, neg, rest));
}

/* a + b for finite a and b, |a| >= |b|. */
static uint64_t add_finite(mxo_real a, mxo_real b)
{
    const int up_a = mxo_clz64(a.mant);
    const int up_b = mxo_clz64(b.mant);
    const mxo_u128 a_top = {a.mant << up_a, 0};
    const mxo_u128 b_top = {b.mant << up_b, 0};
    const int exp = a.exp - up_a - 64 + 1; /* one bit for the carry */
    const int shift = b.exp - up_b - 64 - exp;
    mxo_u128 p = mxo_shift128(a_top, -1);
    const mxo_u128 q = mxo_shift128(b_top, shift);
    const mxo_u128 back = mxo_shift128(q, -shift);
    const int rest = back.hi != b_top.hi || back.lo != b_top.lo;

    if (a.neg == b.neg) {
        p.lo += q.lo;
        p.hi += q.hi + (p.lo < q.lo);
    } else {
        p.hi -= q.hi + (p.lo < q.lo);
        p.lo -= q.lo;
        /* a - (q + rest) = (a - q - 1) + (1 - rest) */
        p.hi -= rest && p.lo == 0;
        p.lo -= (uint64_t)rest;
    }
    return p.hi == 0 && p.lo == 0 ? special(MXO_CLASS_ZERO, 0)
                                  : store(narrow(p, exp, a.neg, rest));
}

uint64_t mxo_f64_add(uint64_t a, uint64_t b)
{
    const mxo_real x = load(a);
    const mxo_real y = load(b);

    if (x.cls == MXO_CLASS_NAN || y.cls == MXO_CLASS_NAN ||
        (x.cls == MXO_CLASS_INF && y.cls == MXO_CLASS_INF && x.neg != y.neg)) {
        return special(MXO_CLASS_NAN, 0);
    }
    if (x.cls == MXO_CLASS_INF || y.cls == MXO_CLASS_ZERO) {
        return x.cls == MXO_CLASS_ZERO ? special(MXO_CLASS_ZERO, x.neg & y.neg)
                                       : a;
    }
    if (y.cls == MXO_CLASS_INF || x.cls == MXO_CLASS_ZERO) {
        return b;
    }
    return mxo_real_cmp_abs(x, y) >= 0 ? add_finite(x, y) : add_finite(y, x);
}
