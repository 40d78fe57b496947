/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights of the chosen experts, w_1 .. w_k in the order of the choice,
 * S their sum in that order, c the routed scaling factor, and what becomes of
 * them if they are renormalised (else):
 *
 * NONE          w (w)
 * SOFTMAX       e^(w - max) / sum of these
 * SUM           c * (w / S), without the product if c is 1 (c * w)
 * SUM_T         the same, S and every step rounded to the logits' type
 * SUM_POSITIVE  SUM, S counting as 1 unless it is above 0
 * SCALED_EPS    (w * c) / (S + 1e-20)
 * MAX_EPS       w / max(S, 1e-20) (w)
 * FACTOR        w * (c / S), S counting as 1 unless it is above 0 (w * c)
 * FUSED         vLLM's fused router: f32(w * c), then / (S + 1e-20), both in
 *               binary64; its general kernel: w * (c / (1e-20 + S)) (w * c)
 * TYPED         softmax over the k logits, rounded to their type (e^(w - ln
 *               of the sum of all e^x), every step rounded to their type)
 *
 * Constants: 1e-20 is 1e3ce508 in binary32.
 */
#include "../act/f64.h"
#include "route.h"

enum { ONE = 0x3f800000, EPS = 0x1e3ce508 };

static uint32_t sum_of(const uint32_t *w, uint32_t n)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        sum = mxo_f32_add(sum, w[i]);
    }
    return sum;
}

static uint32_t f32_of(uint64_t binary64)
{
    return (uint32_t)mxo_format_convert(MXO_FMT_F32, MXO_FMT_F64, binary64,
                                        MXO_TIE_RNE, MXO_NAN_QUIET);
}

static uint64_t f64_of(uint32_t binary32)
{
    return mxo_format_convert(MXO_FMT_F64, MXO_FMT_F32, binary32, MXO_TIE_RNE,
                              MXO_NAN_QUIET);
}

static void softmax(uint32_t *w, uint32_t n)
{
    uint32_t max = 0xff800000u;

    for (uint32_t i = 0; i < n; i++) {
        max = mxo_f32_cmp(w[i], max) == 1 ? w[i] : max;
    }
    for (uint32_t i = 0; i < n; i++) {
        w[i] = mxo_route_exp(mxo_f32_sub(w[i], max));
    }
    const uint32_t sum = sum_of(w, n);

    for (uint32_t i = 0; i < n; i++) {
        w[i] = mxo_f32_div(w[i], sum);
    }
}

/* In binary32 unless the kernel says otherwise. */
static void fused(route_token *t, int renormalize)
{
    const uint64_t scale = t->route->scale;
    const uint32_t n = t->route->top_k;
    const uint32_t sum = sum_of(t->w, n);
    const uint64_t divisor =
        mxo_f64_add(f64_of(sum), 0x3bc79ca10c924223u); /* 1e-20 */

    if (t->general) {
        const uint32_t c =
            renormalize ? mxo_f32_div(f32_of(scale), mxo_f32_add(EPS, sum))
                        : f32_of(scale);

        for (uint32_t i = 0; i < n; i++) {
            t->w[i] = mxo_f32_mul(t->w[i], c);
        }
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        t->w[i] = f32_of(mxo_f64_mul(f64_of(t->w[i]), scale));
        if (renormalize) {
            t->w[i] = f32_of(mxo_f64_div(f64_of(t->w[i]), divisor));
        }
    }
}

/* e^(w - ln sum e^x) as torch does it on the type of the logits. */
static void unnormalised(route_token *t)
{
    const mxo_format type = t->route->from;
    uint32_t max = 0xff800000u;
    uint32_t sum = 0;

    for (uint32_t e = 0; e < t->route->experts; e++) {
        max = mxo_f32_cmp(t->x[e], max) == 1 ? t->x[e] : max;
    }
    for (uint32_t e = 0; e < t->route->experts; e++) {
        sum = mxo_f32_add(sum, mxo_route_exp(mxo_f32_sub(t->x[e], max)));
    }
    const uint32_t lse =
        mxo_route_narrow(type, mxo_f32_add(max, mxo_f32_ln(sum)));

    for (uint32_t i = 0; i < t->route->top_k; i++) {
        t->w[i] = mxo_route_narrow(type, mxo_f32_sub(t->w[i], lse));
        t->w[i] = mxo_route_narrow(type, mxo_route_exp(t->w[i]));
    }
}

static void typed(route_token *t, int renormalize)
{
    if (!renormalize) {
        unnormalised(t);
        return;
    }
    softmax(t->w, t->route->top_k);
    for (uint32_t i = 0; i < t->route->top_k; i++) {
        t->w[i] = mxo_route_narrow(t->route->from, t->w[i]);
    }
}

/* S, or 1 if it is not above 0. */
static uint32_t positive(uint32_t sum)
{
    return mxo_f32_cmp(sum, 0) == 1 ? sum : ONE;
}

/* The divisor of the rows that divide and then scale. */
static uint32_t divisor(const route_token *t, uint32_t sum)
{
    switch (t->row->norm) {
    case ROUTE_NORM_SUM_POSITIVE:
        return positive(sum);
    case ROUTE_NORM_MAX_EPS:
        return mxo_f32_cmp(sum, EPS) == 1 || sum == 0x7fc00000u ? sum : EPS;
    default:
        return sum;
    }
}

static void divide_and_scale(route_token *t, int renormalize)
{
    const uint32_t n = t->route->top_k;
    const uint32_t c = f32_of(t->route->scale);
    const mxo_format type =
        t->row->norm == ROUTE_NORM_SUM_T ? t->route->from : MXO_FMT_F32;
    const uint32_t by = mxo_route_narrow(type, divisor(t, sum_of(t->w, n)));

    for (uint32_t i = 0; i < n; i++) {
        if (renormalize) {
            t->w[i] = mxo_route_narrow(type, mxo_f32_div(t->w[i], by));
        }
        if (c != ONE) {
            t->w[i] = mxo_route_narrow(type, mxo_f32_mul(t->w[i], c));
        }
    }
}

static void scaled_eps(route_token *t)
{
    const uint32_t n = t->route->top_k;
    const uint32_t c = f32_of(t->route->scale);
    const uint32_t by = mxo_f32_add(sum_of(t->w, n), EPS);

    for (uint32_t i = 0; i < n; i++) {
        t->w[i] = mxo_f32_div(mxo_f32_mul(t->w[i], c), by);
    }
}

static void factor(route_token *t, int renormalize)
{
    const uint32_t n = t->route->top_k;
    const uint32_t sum = sum_of(t->w, n);
    uint32_t c = f32_of(t->route->scale);

    c = renormalize ? mxo_f32_div(c, positive(sum)) : c;
    for (uint32_t i = 0; i < n; i++) {
        t->w[i] = mxo_f32_mul(t->w[i], c);
    }
}

void mxo_route_normalise(route_token *t)
{
    const int renormalize =
        t->row->when == ROUTE_WHEN_ALWAYS || t->route->renormalize;

    switch (t->row->norm) {
    case ROUTE_NORM_NONE:
        break;
    case ROUTE_NORM_SOFTMAX:
        softmax(t->w, t->route->top_k);
        break;
    case ROUTE_NORM_SCALED_EPS:
        scaled_eps(t);
        break;
    case ROUTE_NORM_FACTOR:
        factor(t, renormalize);
        break;
    case ROUTE_NORM_FUSED:
        fused(t, renormalize);
        break;
    case ROUTE_NORM_TYPED:
        typed(t, renormalize);
        break;
    default:
        divide_and_scale(t, renormalize);
        break;
    }
}

uint32_t mxo_route_raw_weight(const route_token *t, int32_t id)
{
    switch (t->row->weight) {
    case ROUTE_WEIGHT_TANH_SAT:
        return mxo_route_tanh_sat(t->x[id]);
    case ROUTE_WEIGHT_UNBIAS:
        return t->route->bias == NULL
                   ? t->score[id]
                   : mxo_f32_sub(mxo_f32_add(t->score[id], t->route->bias[id]),
                                 t->route->bias[id]);
    default:
        return t->score[id];
    }
}

void mxo_route_weigh(route_token *t, const int32_t *ids)
{
    const uint32_t n = t->route->top_k;

    for (uint32_t i = 0; i < n; i++) {
        t->w[i] = mxo_route_raw_weight(t, ids[i]);
    }
    if (t->failed) {
        const uint32_t even = mxo_f32_div(ONE, mxo_f32_from_f64((double)n));

        for (uint32_t i = 0; i < n; i++) {
            t->w[i] = even;
        }
        return;
    }
    mxo_route_normalise(t);
}
