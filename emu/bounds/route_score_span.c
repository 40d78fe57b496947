/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors are counted in u = 2^-24 of a number.  A softmax over n experts is
 * off by what its exponential is off by (kernel_math.c), by the mean of that
 * over all experts, weighted by their shares, by n - 1 for a sum in any
 * order, and by the quotient.  The declared answer counts twice where it is
 * rounded too.  Sigmoids are taken step by step: every step is monotone.
 */
#include "route_score_span.h"

#include "kernel_math.h"

#include <mxoracle/act.h>

#define ONE 0x3f800000u
#define HALF 0x3f000000u
#define SIGN 0x80000000u
#define INFINITE 0x7f800000u
#define LEAST_NORMAL 0x00800000u
#define LG2_LOST 0x34c14b9du /* 2^-21.41: __logf between 0.5 and 2 */

enum {
    TANH_LIBRARY = 6, /* 2 units in the last place, and the nearest's half */
    TANH_FAST = 268,  /* 134 codes: hopper-measured 4 */
    LN_UNITS = 8,     /* 3 units in the last place, and the nearest's half */
    SQRT_UNITS = 4
};

static mxo_span not_negative(mxo_span x)
{
    x.lo = x.lo >> 31 ? 0 : x.lo;
    x.hi = x.hi >> 31 ? 0 : x.hi;
    return x;
}

/* A whole number of u that is not below x, which is not negative. */
static uint32_t units_above(uint32_t x)
{
    const mxo_real r = mxo_format_decode(MXO_FMT_F32, x);

    if (r.cls != MXO_CLASS_FINITE) {
        return 0;
    }
    return r.exp >= 0     ? (uint32_t)(r.mant << r.exp)
           : r.exp <= -32 ? 1
                          : (uint32_t)(r.mant >> -r.exp) + 1;
}

static uint32_t largest(const uint32_t *x, uint32_t n)
{
    uint32_t max = x[0];

    for (uint32_t i = 1; i < n; i++) {
        max = mxo_f32_cmp(x[i], max) == 1 ? x[i] : max;
    }
    return max;
}

/* e^(x - max), as declared, and the mean of what they are off by. */
typedef struct shares {
    uint32_t max;
    uint32_t sum;
    uint32_t units; /* of the sum */
} shares;

static shares share_out(int kernel, const uint32_t *x, uint32_t n)
{
    shares s = {largest(x, n), 0, 0};
    uint32_t mean = 0;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t d = mxo_f32_sub(x[i], s.max);
        const uint32_t e = mxo_route_exp(d);
        const uint32_t off =
            mxo_f32_from_f64((double)kernel_exp_units(kernel, d));

        s.sum = mxo_f32_add(s.sum, e);
        mean = mxo_f32_add(mean, mxo_f32_mul(e, off));
    }
    s.units = units_above(mxo_f32_div(mean, s.sum)) + 2 * n;
    return s;
}

void mxo_route_softmax_span(int kernel, const uint32_t *x, uint32_t n,
                            mxo_span *p)
{
    const shares s = share_out(kernel, x, n);

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t d = mxo_f32_sub(x[i], s.max);
        const uint32_t q = mxo_f32_div(mxo_route_exp(d), s.sum);
        const uint32_t off = kernel_exp_units(kernel, d) + s.units + 2;
        const mxo_span near = kernel_quotient(
            kernel, kernel_widen((mxo_span){q, q}, off), (mxo_span){ONE, ONE});

        p[i] = mxo_f32_is_finite(x[i])
                   ? not_negative(kernel_widen_by(near, LEAST_NORMAL))
                   : (mxo_span){0, 0};
    }
}

mxo_span mxo_route_lse_span(int kernel, const uint32_t *x, uint32_t n)
{
    const shares s = share_out(kernel, x, n);
    const mxo_span sum = kernel_widen((mxo_span){s.sum, s.sum}, s.units);
    const mxo_span ln = kernel_widen(
        (mxo_span){mxo_f32_ln(sum.lo), mxo_f32_ln(sum.hi)}, LN_UNITS);

    return (mxo_span){mxo_f32_add(s.max, ln.lo), mxo_f32_add(s.max, ln.hi)};
}

mxo_span mxo_route_tanh_span(int kernel, uint32_t x)
{
    const uint32_t half = mxo_f32_mul(HALF, x);
    const uint32_t t = (uint32_t)mxo_act_eval(
        MXO_ACT_TANH, mxo_format_decode(MXO_FMT_F32, half), MXO_FMT_F32, NULL);
    const mxo_span near = kernel_widen(
        (mxo_span){t, t}, kernel == KERNEL_FAST ? TANH_FAST : TANH_LIBRARY);

    return not_negative((mxo_span){mxo_f32_fma(HALF, near.lo, HALF),
                                   mxo_f32_fma(HALF, near.hi, HALF)});
}

static mxo_span sigmoid_span(int kernel, uint32_t x)
{
    const uint32_t e = mxo_route_exp(x ^ SIGN);
    const mxo_span near =
        kernel_exp(kernel, (mxo_span){e, e}, (mxo_span){x, x});
    const mxo_span q = {mxo_f32_div(ONE, mxo_f32_add(ONE, near.hi)),
                        mxo_f32_div(ONE, mxo_f32_add(ONE, near.lo))};

    return not_negative(
        kernel_quotient(kernel, kernel_widen(q, 2), (mxo_span){ONE, ONE}));
}

/* sqrt(x > 20 ? x : ln(1 + e^x)) */
static mxo_span softplus_span(int kernel, uint32_t x)
{
    mxo_span y = {x, x};

    if (mxo_f32_cmp(x, 0x41a00000) != 1) {
        const uint32_t e = mxo_route_exp(x);
        const mxo_span near = kernel_exp(kernel, (mxo_span){e, e},
                                         (mxo_span){x ^ SIGN, x ^ SIGN});

        y.lo = mxo_f32_ln(mxo_f32_add(ONE, near.lo));
        y.hi = mxo_f32_ln(mxo_f32_add(ONE, near.hi));
        y = kernel_widen(y, LN_UNITS);
        y = kernel == KERNEL_FAST ? kernel_widen_by(y, LG2_LOST) : y;
        y = not_negative(y);
    }
    return kernel_widen((mxo_span){mxo_f32_sqrt(y.lo), mxo_f32_sqrt(y.hi)},
                        SQRT_UNITS);
}

static mxo_span own_span(const route_token *t, uint32_t e)
{
    const int kernel = t->row->kernel;

    switch (t->row->score) {
    case ROUTE_SCORE_LOGIT:
        return (mxo_span){t->x[e], t->x[e]};
    case ROUTE_SCORE_TANH_SAT:
        if ((t->x[e] & ~SIGN) >= 0x41800000) { /* 16 */
            return (mxo_span){t->score[e], t->score[e]};
        }
        return mxo_route_tanh_span(kernel, t->x[e]);
    case ROUTE_SCORE_TANH:
        return mxo_route_tanh_span(kernel, t->x[e]);
    case ROUTE_SCORE_SOFTPLUS:
        return softplus_span(kernel, t->x[e]);
    default:
        return sigmoid_span(kernel, t->x[e]);
    }
}

static int is_softmax(const route_token *t)
{
    return t->row->score == ROUTE_SCORE_SOFTMAX ||
           t->row->score == ROUTE_SCORE_SOFTMAX_T ||
           t->row->score == ROUTE_SCORE_VLLM_SOFTMAX;
}

/* No +Inf or NaN, and a number among them: the softmax is one of numbers. */
static int is_ordinary(const route_token *t)
{
    int n_finite = 0;

    for (uint32_t e = 0; e < t->route->experts; e++) {
        n_finite += mxo_f32_is_finite(t->x[e]);
        if (!mxo_f32_is_finite(t->x[e]) && t->x[e] != (INFINITE | SIGN)) {
            return 0;
        }
    }
    return n_finite > 0;
}

void mxo_route_score_span(const route_token *t, mxo_span *score)
{
    const int typed = t->row->score == ROUTE_SCORE_SOFTMAX_T ||
                      t->row->score == ROUTE_SCORE_SIGMOID_T || t->general;
    const int ordinary = !is_softmax(t) || is_ordinary(t);

    if (is_softmax(t) && ordinary) {
        mxo_route_softmax_span(t->row->kernel, t->x, t->route->experts, score);
    }
    for (uint32_t e = 0; e < t->route->experts; e++) {
        if (!ordinary || (!is_softmax(t) && !mxo_f32_is_finite(t->x[e]))) {
            score[e] = (mxo_span){t->score[e], t->score[e]};
            continue;
        }
        score[e] = is_softmax(t) ? score[e] : own_span(t, e);
        if (typed) {
            score[e].lo = mxo_route_narrow(t->route->from, score[e].lo);
            score[e].hi = mxo_route_narrow(t->route->from, score[e].hi);
        }
    }
}
