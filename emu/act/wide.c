/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier 2: the same formula in 256 bits, then 512, ... until the interval
 * around the result lies between two neighbouring rounding boundaries.
 *
 * Fixed point of L limbs: the top limb is the integer part, F = 32 (L - 1)
 * bits follow.  The guard (F - precision = 96 bits) swallows all errors; the
 * bound is proved in docs/design/004-exponential.md.  Intervals are open, so
 * that a result just beside a boundary (sigmoid(2^-140) beside 1/2) is
 * decided by its side and not by its distance.
 */
#include "limbs.h"
#include "ln2.h"
#include "problem.h"

#include <string.h>

enum {
    FIRST_BITS = 256,
    LAST_BITS = 8192,
    GUARD_LIMBS = 4, /* one of them is the integer part */
    MAX_LIMBS = LAST_BITS / 32 + GUARD_LIMBS,
    FACTOR_LIMBS = MAX_LIMBS + 2
};

/* lo < value * 2^-exp < hi, or equal to both if exact. */
typedef struct interval {
    uint32_t lo[MAX_LIMBS];
    uint32_t hi[MAX_LIMBS];
    int exp;
    int exact;
} interval;

static void fixed_mul(uint32_t *x, const uint32_t *y, int limbs)
{
    uint32_t product[2 * MAX_LIMBS];

    mxo_limbs_mul(product, x, limbs, y, limbs);
    memcpy(x, product + limbs - 1, (size_t)limbs * sizeof x[0]);
}

static void set_power_of_two(uint32_t *x, int limbs, int bit)
{
    memset(x, 0, (size_t)limbs * sizeof x[0]);
    x[bit / 32] = (uint32_t)1 << bit % 32;
}

static void copy(uint32_t *dst, const uint32_t *src, int limbs)
{
    memcpy(dst, src, (size_t)limbs * sizeof dst[0]);
}

static int is_zero(const uint32_t *x, int limbs)
{
    uint32_t any = 0;

    for (int i = 0; i < limbs; i++) {
        any |= x[i];
    }
    return any == 0;
}

/* Halvings of r before the series, undone by squaring: 10 .. 72. */
static int halvings(int limbs)
{
    return 8 + (limbs - GUARD_LIMBS) / 4;
}

/* x = e^-x for 0 <= x < 0.7 */
static void exp_series(uint32_t *x, int limbs)
{
    const int half = halvings(limbs);
    uint32_t term[MAX_LIMBS];
    uint32_t sum[2][MAX_LIMBS]; /* even and odd powers: no negative number */

    mxo_limbs_shift_right(x, limbs, half);
    set_power_of_two(term, limbs, 32 * (limbs - 1));
    copy(sum[0], term, limbs);
    memset(sum[1], 0, sizeof sum[1]);
    for (uint32_t i = 1; !is_zero(term, limbs); i++) {
        fixed_mul(term, x, limbs);
        mxo_limbs_div_small(term, limbs, i);
        (void)mxo_limbs_add(sum[i % 2], term, limbs);
    }
    (void)mxo_limbs_sub(sum[0], sum[1], limbs);
    for (int i = 0; i < half; i++) {
        copy(term, sum[0], limbs);
        fixed_mul(sum[0], term, limbs);
    }
    copy(x, sum[0], limbs);
}

static void load_ln2(uint32_t *x, int limbs)
{
    x[limbs - 1] = 0;
    for (int i = 0; i < limbs - 1; i++) {
        x[limbs - 2 - i] = mxo_ln2[i];
    }
}

/* x = z - k ln 2, rounded so that it is not negative; returns k. */
static int reduce(uint32_t *z, int limbs)
{
    const uint64_t floor_2_63_by_ln2 = UINT64_C(0xb8aa3b295c17f0bb);
    const uint64_t top = (uint64_t)z[limbs - 1] << 32 | z[limbs - 2];
    const int k = (int)(mxo_mulhi64(top << 19, floor_2_63_by_ln2) >> 50);
    uint32_t multiple[MAX_LIMBS];

    load_ln2(multiple, limbs);
    (void)mxo_limbs_mul_small(multiple, limbs, (uint32_t)k);
    (void)mxo_limbs_sub(z, multiple, limbs);
    return k;
}

/* x = e^-|t| (exp2: 2^-|t|) * 2^k; returns k. */
static int decay(uint32_t *x, const mxo_act_problem *p, int limbs)
{
    const int point = 32 * (limbs - 1);
    uint32_t ln2[MAX_LIMBS];
    int k;

    mxo_limbs_set(x, limbs, p->t, p->t_exp + point + (p->fn == MXO_F_TANH));
    if (p->fn == MXO_F_EXP2) {
        k = (int)x[limbs - 1];
        x[limbs - 1] = 0;
        load_ln2(ln2, limbs);
        fixed_mul(x, ln2, limbs);
    } else {
        k = reduce(x, limbs);
    }
    exp_series(x, limbs);
    return k;
}

/*
 * n = floor(n / d) in fixed point for d >= 1/2, n <= d * 2^31.  Digits are
 * estimated from the leading bits, never too large, and corrected until the
 * rest is less than d.
 */
static void fixed_div(uint32_t *n, const uint32_t *d, int limbs)
{
    const uint64_t d_top =
        ((uint64_t)d[limbs - 1] << 32 | d[limbs - 2]) + 1; /* up */
    uint32_t rest[MAX_LIMBS + 1];
    uint32_t step[MAX_LIMBS + 1];
    uint32_t divisor[MAX_LIMBS + 1];

    copy(rest, n, limbs);
    rest[limbs] = 0;
    copy(divisor, d, limbs);
    divisor[limbs] = 0;
    for (int i = limbs - 1; i >= 0; i--) {
        uint64_t digit = 0;
        while (mxo_limbs_cmp(rest, divisor, limbs + 1) >= 0) {
            /* rest < 2^32 d: its top three limbs over d's top two. */
            const mxo_u128 top = {rest[limbs], (uint64_t)rest[limbs - 1] << 32 |
                                                   rest[limbs - 2]};
            uint64_t q = mxo_div128(top, d_top);
            q = q == 0 ? 1 : q;
            copy(step, divisor, limbs + 1);
            (void)mxo_limbs_mul_small(step, limbs + 1, (uint32_t)q);
            (void)mxo_limbs_sub(rest, step, limbs + 1);
            digit += q;
        }
        n[i] = (uint32_t)digit;
        memmove(rest + 1, rest, (size_t)limbs * sizeof rest[0]);
        rest[0] = 0;
    }
}

/* x = numerator / denominator of f; returns the power of two that is left. */
static int quotient(uint32_t *x, const mxo_act_problem *p, int limbs)
{
    const int point = 32 * (limbs - 1);
    uint32_t e[MAX_LIMBS];
    uint32_t one[MAX_LIMBS];
    const int k = decay(e, p, limbs);

    set_power_of_two(one, limbs, point);
    copy(x, p->t_neg ? e : one, limbs);
    if (p->fn == MXO_F_EXP || p->fn == MXO_F_EXP2) {
        if (!p->t_neg) {
            fixed_div(x, e, limbs);
        }
        return p->t_neg ? -k : k;
    }
    mxo_limbs_shift_right(e, limbs, k);
    if (p->fn == MXO_F_TANH) {
        (void)mxo_limbs_sub(x, e, limbs);
    }
    (void)mxo_limbs_add(e, one, limbs);
    fixed_div(x, e, limbs);
    return p->fn == MXO_F_SIGMOID && p->t_neg ? -k : 0;
}

/* Where f is known to lie strictly above or below a dyadic number. */
static void clip(interval *f, const mxo_act_problem *p, int limbs)
{
    const int point = 32 * (limbs - 1);
    uint32_t one[MAX_LIMBS];
    uint32_t half[MAX_LIMBS];
    const int is_sigmoid = p->fn == MXO_F_SIGMOID;

    if (f->exp != 0) {
        return; /* the bound is a power of two away */
    }
    set_power_of_two(one, limbs, point);
    set_power_of_two(half, limbs, point - 1);
    /* sigmoid(-z) < 1/2 < sigmoid(z) < 1; e^-z < 1 < e^z; tanh z < 1 */
    const uint32_t *above = is_sigmoid ? half : one;
    const uint32_t *below = is_sigmoid && p->t_neg ? half : one;
    const int has_above = !p->t_neg && p->fn != MXO_F_TANH;
    const int has_below = is_sigmoid || p->t_neg || p->fn == MXO_F_TANH;

    if (has_above && mxo_limbs_cmp(f->lo, above, limbs) < 0) {
        copy(f->lo, above, limbs);
    }
    if (has_below && mxo_limbs_cmp(f->hi, below, limbs) > 0) {
        copy(f->hi, below, limbs);
    }
}

/* The interval of f(t); 0 if it reaches down to zero. */
static int bracket(interval *f, const mxo_act_problem *p, int limbs)
{
    const int point = 32 * (limbs - 1);
    uint32_t error[MAX_LIMBS];

    f->exact = p->t.hi == 0 && p->t.lo == 0;
    if (f->exact) { /* only a sigmoid gets here: 1/2 */
        f->exp = -point;
        set_power_of_two(f->lo, limbs, point - 1);
        copy(f->hi, f->lo, limbs);
        return 1;
    }
    if (mxo_act_t_lg(p) < MXO_ACT_T_LG) {
        f->exp = quotient(f->lo, p, limbs);
    } else { /* 1, or out of every format's range */
        set_power_of_two(f->lo, limbs, point);
        f->exp = p->fn == MXO_F_TANH || (p->fn == MXO_F_SIGMOID && !p->t_neg)
                     ? 0
                 : p->t_neg ? -16384
                            : 16384;
    }
    set_power_of_two(error, limbs, halvings(limbs) + 13);
    copy(f->hi, f->lo, limbs);
    (void)mxo_limbs_add(f->hi, error, limbs);
    if (mxo_limbs_cmp(f->lo, error, limbs) <= 0) {
        return 0;
    }
    (void)mxo_limbs_sub(f->lo, error, limbs);
    clip(f, p, limbs);
    f->exp -= point;
    return 1;
}

static mxo_u128 mantissa(mxo_real x)
{
    const mxo_u128 m = {0, x.mant};

    return m;
}

/*
 * |v + b| = s * 2^(returned) with *cut = 0, or between s and s + 1 of those
 * units with *cut = 1.
 */
static int factor_sum(uint32_t *s, const mxo_act_problem *p, int limbs,
                      int *cut)
{
    const int swap =
        p->v.cls == MXO_CLASS_ZERO ||
        (p->b.cls == MXO_CLASS_FINITE && mxo_real_cmp_abs(p->v, p->b) < 0);
    const mxo_real x = swap ? p->b : p->v;
    const mxo_real y = swap ? p->v : p->b;
    const int exp = mxo_real_lg(x) - (32 * limbs - 2);
    uint32_t other[FACTOR_LIMBS];

    mxo_limbs_set(s, limbs, mantissa(x), x.exp - exp);
    *cut = 0;
    if (y.cls == MXO_CLASS_ZERO) {
        return exp;
    }
    mxo_limbs_set(other, limbs, mantissa(y), y.exp - exp);
    *cut = !mxo_limbs_is_multiple(mantissa(y), exp - y.exp);
    if (x.neg == y.neg) {
        (void)mxo_limbs_add(s, other, limbs);
        return exp;
    }
    (void)mxo_limbs_sub(s, other, limbs);
    if (*cut) { /* x - (y + part) lies between one less and this */
        set_power_of_two(other, limbs, 0);
        (void)mxo_limbs_sub(s, other, limbs);
    }
    return exp;
}

/* The leading 64 bits of x * 2^exp; less = 1: a hair below x. */
static mxo_real leading(uint32_t *x, int limbs, int exp, int less, int sticky)
{
    mxo_real y = {0, 0, MXO_CLASS_FINITE, 0, 0};
    int n = limbs;

    for (int i = 0; less && i < limbs; i++) {
        less = x[i] == 0;
        x[i]--;
    }
    while (n > 2 && x[n - 1] == 0) {
        n--;
    }
    /* Three limbs hold 64 bits whatever the leading zeros. */
    const int low = n > 3 ? n - 3 : 0;
    mxo_u128 top = {0, 0};

    for (int i = n - 1; i >= low; i--) {
        top = mxo_shift128(top, 32);
        top.lo |= x[i];
    }
    const int drop = top.hi != 0 ? 64 - mxo_clz64(top.hi) : -mxo_clz64(top.lo);
    y.mant = mxo_shift128(top, -drop).lo;
    y.exp = exp + 32 * low + drop;
    y.sticky = (uint8_t)(sticky || !is_zero(x, low) ||
                         !mxo_limbs_is_multiple(top, drop));
    return y;
}

static uint64_t encode(mxo_real y, const mxo_act_problem *p, mxo_format to)
{
    const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};

    y.neg = p->neg;
    return mxo_format_encode(to, y, nearest_even);
}

/* One precision: *code, and 1 if both ends of the interval round to it. */
static int attempt(const mxo_act_problem *p, mxo_format to, int limbs,
                   uint64_t *code)
{
    const mxo_real one = {1, 0, MXO_CLASS_FINITE, 0, 0};
    const mxo_real g = p->has_factor ? p->g : one;
    const uint32_t g_limb[2] = {(uint32_t)g.mant, (uint32_t)(g.mant >> 32)};
    uint32_t s[FACTOR_LIMBS];
    uint32_t factor[FACTOR_LIMBS];
    uint32_t y[MAX_LIMBS + FACTOR_LIMBS];
    interval f;
    int exp = 0;
    int cut = 0;

    if (!bracket(&f, p, limbs)) {
        return 0;
    }
    memset(s, 0, sizeof s);
    s[0] = 1;
    if (p->has_factor) {
        exp = factor_sum(s, p, limbs, &cut);
    }
    exp += g.exp + f.exp;
    mxo_limbs_mul(factor, s, limbs, g_limb, 2);
    mxo_limbs_mul(y, f.lo, limbs, factor, limbs + 2);
    const int open = !f.exact || cut;
    *code = encode(leading(y, 2 * limbs + 2, exp, 0, open), p, to);
    if (cut) {
        memset(s, 0, sizeof s);
        memcpy(s, g_limb, sizeof g_limb);
        (void)mxo_limbs_add(factor, s, limbs + 2);
    }
    mxo_limbs_mul(y, f.hi, limbs, factor, limbs + 2);
    return encode(leading(y, 2 * limbs + 2, exp, open, open), p, to) == *code;
}

uint64_t mxo_act_wide(const mxo_act_problem *p, mxo_format to, uint32_t *bits)
{
    uint64_t code = 0;
    int precision = FIRST_BITS;

    /* The last one always decides; see "Why 8192 bits" in the design note. */
    while (!attempt(p, to, precision / 32 + GUARD_LIMBS, &code) &&
           precision < LAST_BITS) {
        precision *= 2;
    }
    *bits = (uint32_t)precision;
    return code;
}
