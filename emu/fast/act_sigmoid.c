/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier 1: 64-bit fixed point.  e^-z = 2^(-k/64) * e^-r with a table for the
 * first factor and a polynomial for the second; the sigmoid is one quotient.
 * The error bound MXO_ACT_FAST_ERROR is proved in
 * docs/design/004-exponential.md, step by step in the order of this file.
 */
#include "../act/exp_table.h"
#include "../act/problem.h"

/* An approximation mant * 2^exp. */
typedef struct approx {
    uint64_t mant;
    int exp;
} approx;

int mxo_act_t_lg(const mxo_act_problem *p)
{
    return p->t_exp +
           (p->t.hi != 0 ? 127 - mxo_clz64(p->t.hi) : 63 - mxo_clz64(p->t.lo));
}

/* e^-r for r in units of 2^-64 below ln 2/64, times 2^(-k/64). */
static approx power(uint64_t k, uint64_t r)
{
    const uint64_t base = mxo_power_of_two[k & 63];
    uint64_t poly = mxo_taylor[5];

    for (int i = 4; i >= 0; i--) {
        poly = mxo_taylor[i] - mxo_mulhi64(r, poly);
    }
    const uint64_t below_one = r - mxo_mulhi64(r, mxo_mulhi64(r, poly));
    const approx e = {base - mxo_mulhi64(base, below_one), -63 - (int)(k >> 6)};

    return e;
}

/* e^-z, or 2^-z, for z in units of 2^-64 below 2^76. */
static approx decay(mxo_u128 z, int fn)
{
    if (fn == MXO_F_EXP2) {
        return power(z.hi << 6 | z.lo >> 58,
                     mxo_mulhi64(z.lo << 6, MXO_LN2_BY_64_HI));
    }
    /* Rounded down twice, so that r below is not negative. */
    const uint64_t k =
        mxo_mulhi64(z.hi << 52 | z.lo >> 12, MXO_64_BY_LN2) >> 45;
    const uint64_t r =
        z.lo - k * MXO_LN2_BY_64_HI - mxo_mulhi64(k, MXO_LN2_BY_64_LO);

    return power(k, r);
}

/* floor(2^125 / mant) for 2^61 < mant <= 2^63 */
static uint64_t reciprocal(uint64_t mant)
{
    const mxo_u128 one = {(uint64_t)1 << 61, 0};

    return mxo_div128(one, mant);
}

/* 1/(1+e) or, for a negative t, e/(1+e). */
static approx sigmoid(approx e, int t_neg)
{
    const int drop = -62 - e.exp; /* from e's unit to 2^-62; at least 1 */
    const uint64_t sum = ((uint64_t)1 << 62) + (drop > 63 ? 0 : e.mant >> drop);
    const mxo_u128 top = {e.mant >> 2, e.mant << 62};
    approx s = {0, -63};

    if (t_neg) {
        s.mant = mxo_div128(top, sum);
        s.exp = e.exp;
    } else {
        s.mant = reciprocal(sum);
    }
    return s;
}

static approx normalise(approx x)
{
    const int up = mxo_clz64(x.mant);

    x.mant <<= up;
    x.exp -= up;
    return x;
}

static approx multiply(approx a, approx b)
{
    const approx c = {mxo_mulhi64(a.mant, b.mant), a.exp + b.exp + 64};

    return normalise(c);
}

static approx from_real(mxo_real x)
{
    const approx a = {x.mant, x.exp};

    return normalise(a);
}

/* |v + b| with both leading bits at 63, 128 bits wide while they cancel. */
static approx sum(mxo_real v, mxo_real b)
{
    if (v.cls == MXO_CLASS_ZERO || b.cls == MXO_CLASS_ZERO) {
        return from_real(v.cls == MXO_CLASS_ZERO ? b : v);
    }
    const int v_larger =
        mxo_real_lg(v) > mxo_real_lg(b) ||
        (mxo_real_lg(v) == mxo_real_lg(b) && mxo_real_cmp_abs(v, b) >= 0);
    const approx x = from_real(v_larger ? v : b);
    const approx y = from_real(v_larger ? b : v);
    /* One bit of room for the carry. */
    mxo_u128 p = {x.mant >> 1, x.mant << 63};
    const mxo_u128 y_at = {y.mant, 0};
    const mxo_u128 q = mxo_shift128(y_at, y.exp - x.exp - 1);

    if (v.neg == b.neg) {
        p.lo += q.lo;
        p.hi += q.hi + (p.lo < q.lo);
    } else {
        p.hi -= q.hi + (p.lo < q.lo);
        p.lo -= q.lo;
    }
    const int up = p.hi != 0 ? mxo_clz64(p.hi) : 64 + mxo_clz64(p.lo);
    const approx s = {mxo_shift128(p, up).hi, x.exp + 1 - up};

    return s;
}

int mxo_act_fast(const mxo_act_problem *p, mxo_real *y)
{
    approx e = {(uint64_t)1 << 63, -63 - 16384};

    if (p->fn == MXO_F_TANH) {
        return 0;
    }
    if (mxo_act_t_lg(p) < MXO_ACT_T_LG) {
        e = decay(mxo_shift128(p->t, p->t_exp + 64), p->fn);
    }
    if (p->fn == MXO_F_SIGMOID) {
        e = sigmoid(e, p->t_neg);
    } else if (!p->t_neg) {
        const approx grown = {reciprocal(e.mant), -125 - e.exp};
        e = grown;
    }
    e = normalise(e);
    if (p->has_factor) {
        e = multiply(e, multiply(from_real(p->g), sum(p->v, p->b)));
    }
    const mxo_real result = {e.mant, e.exp, MXO_CLASS_FINITE, p->neg, 1};

    *y = result;
    return 1;
}
