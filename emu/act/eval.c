/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From operands to a problem for the two tiers: special values, exact
 * results, and the exact product alpha * G.
 */
#include "problem.h"

#include <mxoracle/act.h>

static uint64_t encode(mxo_format to, mxo_real x)
{
    const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};

    return mxo_format_encode(to, x, nearest_even);
}

static uint64_t encode_class(mxo_format to, mxo_class cls, int neg)
{
    const mxo_real x = {0, 0, (uint8_t)cls, (uint8_t)neg, 0};

    return encode(to, x);
}

static uint64_t encode_power_of_two(mxo_format to, int exp, int neg)
{
    const mxo_real x = {1, exp, MXO_CLASS_FINITE, (uint8_t)neg, 0};

    return encode(to, x);
}

/* Infinite x: e^x and its relatives. */
static uint64_t at_infinity(mxo_act_fn fn, int neg, mxo_format to)
{
    switch (fn) {
    case MXO_ACT_TANH:
        return encode_power_of_two(to, 0, neg);
    case MXO_ACT_SIGMOID:
        return neg ? encode_class(to, MXO_CLASS_ZERO, 0)
                   : encode_power_of_two(to, 0, 0);
    default:
        return neg ? encode_class(to, MXO_CLASS_ZERO, 0)
                   : encode_class(to, MXO_CLASS_INF, 0);
    }
}

static uint64_t at_zero(mxo_act_fn fn, int neg, mxo_format to)
{
    switch (fn) {
    case MXO_ACT_TANH:
        return encode_class(to, MXO_CLASS_ZERO, neg);
    case MXO_ACT_SIGMOID:
        return encode_power_of_two(to, -1, 0);
    default:
        return encode_power_of_two(to, 0, 0);
    }
}

static int is_integer(mxo_real x)
{
    return x.exp >= 0 ||
           (x.exp > -64 && (x.mant & (((uint64_t)1 << -x.exp) - 1)) == 0);
}

/* 2^x for an integer x, the only dyadic x with a dyadic 2^x. */
static uint64_t exact_exp2(mxo_real x, mxo_format to)
{
    const int huge = 1 << 14;
    const int lg = mxo_real_lg(x);
    const int size = lg > 13      ? huge
                     : x.exp >= 0 ? (int)(x.mant << x.exp)
                                  : (int)(x.mant >> -x.exp);

    return encode_power_of_two(to, x.neg ? -size : size, 0);
}

static mxo_act_problem problem_of(mxo_act_fn fn, mxo_real x)
{
    static const mxo_transcendent transcendent[] = {
        [MXO_ACT_EXP] = MXO_F_EXP,      [MXO_ACT_EXP2] = MXO_F_EXP2,
        [MXO_ACT_TANH] = MXO_F_TANH,    [MXO_ACT_SIGMOID] = MXO_F_SIGMOID,
        [MXO_ACT_SILU] = MXO_F_SIGMOID,
    };
    mxo_act_problem p = {0};

    p.fn = (uint8_t)transcendent[fn];
    p.t.lo = x.mant;
    p.t_exp = x.exp;
    p.t_neg = x.neg;
    if (fn == MXO_ACT_TANH) {
        p.t_neg = 0;
        p.neg = x.neg;
    }
    return p;
}

static uint64_t silu(mxo_real x, mxo_format to, uint32_t *bits)
{
    const mxo_real one = {1, 0, MXO_CLASS_FINITE, 0, 0};
    const mxo_real zero = {0, 0, MXO_CLASS_ZERO, 0, 0};
    const mxo_act_gated a = {x, one, one, zero};

    return mxo_act_gated_eval(&a, to, bits);
}

uint64_t mxo_act_eval(mxo_act_fn fn, mxo_real x, mxo_format to, uint32_t *bits)
{
    uint32_t unused;

    bits = bits == NULL ? &unused : bits;
    *bits = 0;
    if (fn == MXO_ACT_SILU) {
        return silu(x, to, bits);
    }
    switch (x.cls) {
    case MXO_CLASS_NAN:
        return encode_class(to, MXO_CLASS_NAN, 0);
    case MXO_CLASS_INF:
        return at_infinity(fn, x.neg, to);
    case MXO_CLASS_ZERO:
        return at_zero(fn, x.neg, to);
    default:
        break;
    }
    if (fn == MXO_ACT_EXP2 && is_integer(x)) {
        return exact_exp2(x, to);
    }
    const mxo_act_problem p = problem_of(fn, x);

    return mxo_act_solve(&p, to, bits);
}

/* Class of a product in the extended reals. */
static mxo_class times(mxo_class a, mxo_class b)
{
    if (a == MXO_CLASS_NAN || b == MXO_CLASS_NAN) {
        return MXO_CLASS_NAN;
    }
    if (a == MXO_CLASS_FINITE || b == MXO_CLASS_FINITE) {
        return a == MXO_CLASS_FINITE ? b : a;
    }
    return a == b ? a : MXO_CLASS_NAN; /* 0 * Inf */
}

/* Class and sign of V + beta; an exact zero counts as +0. */
static mxo_class plus(mxo_real v, mxo_real b, int *neg)
{
    const int swap = mxo_real_cmp_abs(v, b) < 0;

    *neg = swap ? b.neg : v.neg;
    if (v.cls == MXO_CLASS_NAN || b.cls == MXO_CLASS_NAN) {
        return MXO_CLASS_NAN;
    }
    if (v.cls == MXO_CLASS_INF && b.cls == MXO_CLASS_INF) {
        return v.neg == b.neg ? MXO_CLASS_INF : MXO_CLASS_NAN;
    }
    if (v.cls == MXO_CLASS_INF || b.cls == MXO_CLASS_INF) {
        return MXO_CLASS_INF;
    }
    if ((v.cls == MXO_CLASS_ZERO && b.cls == MXO_CLASS_ZERO) ||
        (v.neg != b.neg && mxo_real_cmp_abs(v, b) == 0)) {
        *neg = 0;
        return MXO_CLASS_ZERO;
    }
    return MXO_CLASS_FINITE;
}

/* Class of sigmoid(alpha * G): zero only at -Inf. */
static mxo_class sigmoid_class(mxo_class t, int t_neg)
{
    if (t == MXO_CLASS_NAN) {
        return MXO_CLASS_NAN;
    }
    return t == MXO_CLASS_INF && t_neg ? MXO_CLASS_ZERO : MXO_CLASS_FINITE;
}

uint64_t mxo_act_gated_eval(const mxo_act_gated *a, mxo_format to,
                            uint32_t *bits)
{
    const mxo_class t = times((mxo_class)a->alpha.cls, (mxo_class)a->gate.cls);
    const int t_neg = a->alpha.neg ^ a->gate.neg;
    uint32_t unused;
    int sum_neg;
    const mxo_class sum = plus(a->up, a->beta, &sum_neg);
    const mxo_class y =
        times(times((mxo_class)a->gate.cls, sigmoid_class(t, t_neg)), sum);
    const int neg = a->gate.neg ^ sum_neg;

    bits = bits == NULL ? &unused : bits;
    *bits = 0;
    if (y != MXO_CLASS_FINITE) {
        return encode_class(to, y, y == MXO_CLASS_NAN ? 0 : neg);
    }
    /* alpha = 0: t stays zero, the sigmoid is 1/2 and the result exact.
       alpha infinite: the sigmoid is 1, which is 1/2 of twice the gate. */
    mxo_act_problem p = {0};

    p.fn = MXO_F_SIGMOID;
    p.neg = (uint8_t)neg;
    p.t_neg = (uint8_t)t_neg;
    p.has_factor = 1;
    p.g = a->gate;
    p.v = a->up;
    p.b = a->beta;
    if (t == MXO_CLASS_FINITE) {
        p.t = mxo_mul64(a->alpha.mant, a->gate.mant);
        p.t_exp = a->alpha.exp + a->gate.exp;
    } else if (t == MXO_CLASS_INF) {
        p.g.exp++;
    }
    return mxo_act_solve(&p, to, bits);
}
