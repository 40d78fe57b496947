/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A score for every expert, and what is compared.  Exponentials, hyperbolic
 * tangents and logarithms are correctly rounded.
 */
#include "act/act.h"
#include "act/exact.h"
#include "number.h"
#include "route.h"

#include <math.h>

float cpu_route_through(uint32_t dtype, float x)
{
    if (x != x) {
        return cpu_float(0x7fc00000u);
    }
    return dtype == MXO_BF16  ? cpu_from_bf16(cpu_bf16_of(x))
           : dtype == MXO_F16 ? cpu_from_f16(cpu_f16_of(x))
                              : x;
}

float cpu_route_largest(const float *x, int n)
{
    float most = -INFINITY;

    for (int i = 0; i < n; i++) {
        most = x[i] > most ? x[i] : most;
    }
    return most;
}

int cpu_route_is_warp(int experts)
{
    const int is_power = (experts & (experts - 1)) == 0;

    return (is_power && experts <= 512) ||
           (experts % 64 == 0 && experts >= 192 && experts <= 576);
}

static float half_tanh(float x)
{
    return cpu_fma32(0.5f, cpu_tanh_one(0.5f * x), 0.5f);
}

float cpu_route_saturated(float x)
{
    return x >= 16 ? 1 : x <= -16 ? 0 : half_tanh(x);
}

static float sigmoid(float x)
{
    const cpu_glu c = {
        .alpha = 1, .limit = INFINITY, .no_mul = 1, .to = MXO_F32};

    return cpu_float(cpu_glu_one(&c, x, 1));
}

float cpu_route_exp(float x)
{
    return cpu_float(cpu_exp_one(x, MXO_F32));
}

static float reciprocal(float x)
{
    const float below = 1.0f + cpu_route_exp(-x);

    return 1.0f / below;
}

/* A double root rounded to float is the float root: 53 bits are more than
   twice 24 and two. */
static float softplus(float x)
{
    const float sum = 1.0f + cpu_route_exp(x);

    return (float)sqrt((double)(x > 20 ? x : cpu_ln_one(sum)));
}

static float own_score(int kind, float x)
{
    switch (kind) {
    case ROUTE_SIGMOID:
        return sigmoid(x);
    case ROUTE_RECIPROCAL:
        return reciprocal(x);
    case ROUTE_TANH:
        return half_tanh(x);
    case ROUTE_SATURATED:
        return cpu_route_saturated(x);
    case ROUTE_SOFTPLUS:
        return softplus(x);
    default:
        return x;
    }
}

static float sum_in_order(const float *x, int n)
{
    float sum = 0;

    for (int i = 0; i < n; i++) {
        sum = sum + x[i];
    }
    return sum;
}

/*
 * A warp of vLLM's softmax.  A thread reads vectors of width neighbours, one
 * from each of its rounds through the row, and adds them in the order it reads
 * them; then halves of the warp add to each other.
 */
static float sum_in_warp(const float *x, int n, int is_f32)
{
    const int is_power = (n & (n - 1)) == 0;
    const int wide = !is_power ? 2 : is_f32 ? 4 : 8;
    const int width = n < wide ? n : wide;
    const int rounds = n / width / 32 > 1 ? n / width / 32 : 1;
    const int threads = n / width / rounds;
    float part[32] = {0};

    for (int p = 0; p < threads; p++) {
        for (int r = 0; r < rounds; r++) {
            const float *own = x + (r * threads + p) * width;
            for (int i = 0; i < width; i++) {
                part[p] = part[p] + own[i];
            }
        }
    }
    for (int half = threads / 2; half > 0; half /= 2) {
        for (int p = 0; p < half; p++) {
            part[p] = part[p] + part[p + half];
        }
    }
    return part[0];
}

static void softmax(route_token *t)
{
    const route_plan *p = t->p;
    const int n = p->experts;
    const float most = cpu_route_largest(t->x, n);
    const int is_warp = p->row->score == ROUTE_WARP;

    for (int e = 0; e < n; e++) {
        t->score[e] = cpu_route_exp(t->x[e] - most);
    }
    const float sum = is_warp && cpu_route_is_warp(n)
                          ? sum_in_warp(t->score, n, p->from == MXO_F32)
                          : sum_in_order(t->score, n);
    const float inverse = 1.0f / sum;

    for (int e = 0; e < n; e++) {
        t->score[e] = is_warp ? t->score[e] * inverse : t->score[e] / sum;
    }
}

static float choice_of(const route_token *t, int e)
{
    const route_plan *p = t->p;
    const int is_narrow =
        (p->row->flags & ROUTE_BIAS_BF16) != 0 && p->groups > 1;

    if (p->bias == NULL) {
        return t->score[e];
    }
    const float sum =
        t->score[e] + (p->general  ? cpu_route_through(p->from, p->bias[e])
                       : is_narrow ? cpu_route_through(MXO_BF16, p->bias[e])
                                   : p->bias[e]);

    return cpu_route_through(p->choice_type, sum);
}

/* A NaN of the logits ranks by its sign; one that was computed is +NaN. */
static float settled(const route_plan *p, float score)
{
    if (p->row->score == ROUTE_LOGIT) {
        return score;
    }
    if ((p->row->flags & ROUTE_CLEAN) != 0 && !isfinite(score)) {
        return 0;
    }
    return cpu_route_through(
        (p->row->flags & ROUTE_IN_TYPE) != 0 ? p->from : MXO_F32, score);
}

void cpu_route_score(route_token *t)
{
    const route_plan *p = t->p;
    const int is_softmax =
        p->row->score == ROUTE_SOFTMAX || p->row->score == ROUTE_WARP;

    if (is_softmax) {
        softmax(t);
    }
    for (int e = 0; e < p->experts; e++) {
        t->score[e] = settled(
            p, is_softmax ? t->score[e] : own_score(p->row->score, t->x[e]));
        t->choice[e] = choice_of(t, e);
    }
    for (int e = 0; p->general && e < p->experts; e++) {
        t->score[e] = cpu_route_through(p->from, t->score[e]);
        t->choice[e] = isfinite(t->x[e])
                           ? cpu_route_through(p->from, choice_of(t, e))
                           : -INFINITY;
    }
}
