/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first step of every router: a score per expert, and what is compared,
 * the score with the correction bias.
 */
#include "route.h"

#include <mxoracle/act.h>

enum { ONE = 0x3f800000, HALF = 0x3f000000, INFINITE = 0x7f800000 };

static mxo_real real(uint32_t x)
{
    return mxo_format_decode(MXO_FMT_F32, x);
}

uint32_t mxo_route_exp(uint32_t x)
{
    return (uint32_t)mxo_act_eval(MXO_ACT_EXP, real(x), MXO_FMT_F32, NULL);
}

uint32_t mxo_route_narrow(mxo_format format, uint32_t x)
{
    const uint64_t code =
        mxo_format_convert(format, MXO_FMT_F32, x, MXO_TIE_RNE, MXO_NAN_QUIET);

    return (uint32_t)mxo_format_convert(MXO_FMT_F32, format, code, MXO_TIE_RNE,
                                        MXO_NAN_QUIET);
}

uint32_t mxo_route_key(uint32_t x)
{
    return x >> 31 != 0 ? ~x : x | 0x80000000u;
}

/* 1 / (1 + e^-x) */
static uint32_t sigmoid_steps(uint32_t x)
{
    const uint32_t e = mxo_route_exp(x ^ 0x80000000u);

    return mxo_f32_div(ONE, mxo_f32_add(ONE, e));
}

/* 0.5 tanh(0.5 x) + 0.5 */
static uint32_t sigmoid_tanh(uint32_t x)
{
    const uint32_t half = mxo_f32_mul(HALF, x);
    const uint32_t t =
        (uint32_t)mxo_act_eval(MXO_ACT_TANH, real(half), MXO_FMT_F32, NULL);

    return mxo_f32_fma(HALF, t, HALF);
}

uint32_t mxo_route_tanh_sat(uint32_t x)
{
    const uint32_t magnitude = x & 0x7fffffff;

    if (mxo_f32_is_nan(x)) {
        return 0x7fc00000;
    }
    if (magnitude >= 0x41800000) { /* 16 */
        return x >> 31 != 0 ? 0 : ONE;
    }
    return sigmoid_tanh(x);
}

/* sqrt(x > 20 ? x : ln(1 + e^x)) */
static uint32_t softplus_sqrt(uint32_t x)
{
    if (mxo_f32_cmp(x, 0x41a00000) == 1) {
        return mxo_f32_sqrt(x);
    }
    return mxo_f32_sqrt(mxo_f32_ln(mxo_f32_add(ONE, mxo_route_exp(x))));
}

static uint32_t own_score(int kind, uint32_t x)
{
    switch (kind) {
    case ROUTE_SCORE_SIGMOID:
    case ROUTE_SCORE_SIGMOID_T:
        return (uint32_t)mxo_act_eval(MXO_ACT_SIGMOID, real(x), MXO_FMT_F32,
                                      NULL);
    case ROUTE_SCORE_EXPF:
        return sigmoid_steps(x);
    case ROUTE_SCORE_TANH:
        return sigmoid_tanh(x);
    case ROUTE_SCORE_TANH_SAT:
        return mxo_route_tanh_sat(x);
    case ROUTE_SCORE_SOFTPLUS:
        return softplus_sqrt(x);
    default:
        return x;
    }
}

/* The largest logit, without NaN; -Inf if there is none. */
static uint32_t largest(const route_token *t)
{
    uint32_t max = 0xff800000u;

    for (uint32_t e = 0; e < t->route->experts; e++) {
        max = mxo_f32_cmp(t->x[e], max) == 1 ? t->x[e] : max;
    }
    return max;
}

/* In the order of the experts. */
static uint32_t plain_sum(const uint32_t *v, uint32_t n)
{
    uint32_t sum = 0;

    for (uint32_t e = 0; e < n; e++) {
        sum = mxo_f32_add(sum, v[e]);
    }
    return sum;
}

int mxo_route_is_warp(uint32_t n)
{
    return (n <= 512 && (n & (n - 1)) == 0) ||
           (n % 64 == 0 && n >= 192 && n <= 576);
}

/*
 * As vLLM's warps add: thread p of P takes L neighbours out of every L * P,
 * adds its V elements in order, then threads p and p ^ P/2, p ^ P/4, ... add.
 */
static uint32_t warp_sum(const route_token *t)
{
    const uint32_t n = t->route->experts;
    const int power = (n & (n - 1)) == 0;
    const uint32_t wide = t->route->from == MXO_FMT_F32;
    const uint32_t full = !power ? 2 : wide ? 4 : 8;
    const uint32_t load = n > 0 && n < full ? n : full;
    const uint32_t loads = n / (32 * load) > 1 ? n / (32 * load) : 1;
    const uint32_t threads = n / (load * loads);
    uint32_t part[32] = {0};

    for (uint32_t p = 0; p < threads; p++) {
        part[p] = 0;
        for (uint32_t i = 0; i < load * loads; i++) {
            const uint32_t e = p * load + i / load * load * threads + i % load;

            part[p] = mxo_f32_add(part[p], t->score[e]);
        }
    }
    for (uint32_t step = threads / 2; step > 0; step /= 2) {
        for (uint32_t p = 0; p < step; p++) {
            part[p] = mxo_f32_add(part[p], part[p + step]);
        }
    }
    return part[0];
}

static void vllm_softmax(route_token *t, uint32_t max)
{
    const uint32_t n = t->route->experts;

    for (uint32_t e = 0; e < n; e++) {
        t->score[e] = mxo_route_exp(mxo_f32_sub(t->x[e], max));
    }
    const uint32_t sum =
        mxo_route_is_warp(n) ? warp_sum(t) : plain_sum(t->score, n);
    const uint32_t inverse = mxo_f32_div(ONE, sum);

    for (uint32_t e = 0; e < n; e++) {
        t->score[e] = mxo_f32_mul(t->score[e], inverse);
    }
}

static void softmax(route_token *t, uint32_t max)
{
    const uint32_t n = t->route->experts;

    for (uint32_t e = 0; e < n; e++) {
        t->score[e] = mxo_route_exp(mxo_f32_sub(t->x[e], max));
    }
    const uint32_t sum = plain_sum(t->score, n);

    for (uint32_t e = 0; e < n; e++) {
        t->score[e] = mxo_f32_div(t->score[e], sum);
        if (t->row->score == ROUTE_SCORE_SOFTMAX_T) {
            t->score[e] = mxo_route_narrow(t->route->from, t->score[e]);
        }
    }
}

/*
 * torch promotes: the score, of the type of the logits, keeps it without a
 * bias or with one of the same type, and becomes binary32 with any other.
 */
uint32_t mxo_route_choice(const route_token *t, uint32_t x)
{
    const mxo_route *r = t->route;
    const int typed = t->row->bias == ROUTE_BIAS_TYPED &&
                      (r->bias == NULL || r->bias_from == r->from);

    return t->general || typed ? mxo_route_narrow(r->from, x) : x;
}

/* The bias as it is added: vLLM's general kernel casts it to the type of the
   logits first. */
static uint32_t bias_of(const route_token *t, uint32_t e)
{
    const uint32_t bias = t->route->bias[e];

    if (t->general) {
        return mxo_route_narrow(t->route->from, bias);
    }
    return t->row->bias == ROUTE_BIAS_GROUPED_BF16 && t->route->groups > 1
               ? mxo_route_narrow(MXO_FMT_BF16, bias)
               : bias;
}

uint32_t mxo_route_biased(const route_token *t, uint32_t e, uint32_t score)
{
    if (t->general && !mxo_f32_is_finite(t->x[e])) {
        return 0xff800000u; /* Inf and NaN are out */
    }
    if (t->route->bias != NULL) {
        return mxo_route_choice(t, mxo_f32_add(score, bias_of(t, e)));
    }
    return t->general ? mxo_route_choice(t, score) : score;
}

void mxo_route_score(route_token *t)
{
    const uint32_t n = t->route->experts;
    const int kind = t->row->score;

    if (kind == ROUTE_SCORE_VLLM_SOFTMAX) {
        vllm_softmax(t, largest(t));
    } else if (kind == ROUTE_SCORE_SOFTMAX || kind == ROUTE_SCORE_SOFTMAX_T) {
        softmax(t, largest(t));
    } else {
        for (uint32_t e = 0; e < n; e++) {
            t->score[e] = own_score(kind, t->x[e]);
            t->score[e] = kind == ROUTE_SCORE_SIGMOID_T
                              ? mxo_route_narrow(t->route->from, t->score[e])
                              : t->score[e];
        }
    }
    for (uint32_t e = 0; e < n; e++) {
        if (t->row->clean == ROUTE_CLEAN_ZERO &&
            !mxo_f32_is_finite(t->score[e])) {
            t->score[e] = 0;
        }
        if (t->general) { /* that kernel works in the scores' type */
            t->score[e] = mxo_route_narrow(t->route->from, t->score[e]);
        }
        t->choice[e] = mxo_route_biased(t, e, t->score[e]);
    }
}
