/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A router's score for every expert, and what is compared.  One rounded
 * binary32 operation per statement.
 *
 * Who includes it has defined ROUTE_FN, what stands before a function, and
 *
 * route_logit(t, e)     logit e of the token; a NaN has its sign, which ranks,
 *                       and its payload where ROUTE_PAYLOADS is set
 * route_float, route_bits   patterns and numbers
 * route_through(type, x)    x through a type; a NaN becomes the quiet one
 * route_exp, route_ln, route_sigmoid, route_half_tanh   correctly rounded
 * route_root(x)         the root of a double, correctly rounded
 */
#ifndef BACKENDS_ROUTER_SCORE_H
#define BACKENDS_ROUTER_SCORE_H

#include "router.h"

#define ROUTE_MINUS_INFINITY 0xff800000u

ROUTE_FN int route_is_finite(float x)
{
    return x - x == 0;
}

ROUTE_FN float route_x(const route_token *t, uint32_t e)
{
    return route_float(route_logit(t, e));
}

/* The largest logit, NaN apart; -Inf if there is none. */
ROUTE_FN float route_largest_logit(const route_token *t)
{
    float most = route_float(ROUTE_MINUS_INFINITY);

    for (uint32_t e = 0; e < t->p->experts; e++) {
        const float x = route_x(t, e);
        most = x > most ? x : most;
    }
    return most;
}

ROUTE_FN float route_saturated(float x)
{
    if (x >= 16) {
        return 1.0f;
    }
    return x <= -16 ? 0.0f : route_half_tanh(x);
}

ROUTE_FN float route_reciprocal(float x)
{
    const float below = 1.0f + route_exp(-x);

    return 1.0f / below;
}

/* A root of binary64, rounded again, is that of binary32: 53 bits are more
   than twice 24 and two. */
ROUTE_FN float route_softplus(float x)
{
    const float sum = 1.0f + route_exp(x);

    return (float)route_root((double)(x > 20 ? x : route_ln(sum)));
}

ROUTE_FN float route_own_score(uint32_t kind, float x)
{
    switch (kind) {
    case ROUTE_SIGMOID:
        return route_sigmoid(x);
    case ROUTE_RECIPROCAL:
        return route_reciprocal(x);
    case ROUTE_TANH:
        return route_half_tanh(x);
    case ROUTE_SATURATED:
        return route_saturated(x);
    default:
        return route_softplus(x);
    }
}

ROUTE_FN float route_sum_in_order(const uint32_t *x, uint32_t n)
{
    float sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        sum = sum + route_float(x[i]);
    }
    return sum;
}

/*
 * A warp of vLLM's softmax.  A thread reads vectors of width neighbours, one
 * from each of its rounds through the row, and adds them in the order it reads
 * them; then halves of the warp add to each other.
 */
ROUTE_FN float route_sum_in_warp(const uint32_t *x, uint32_t n, int is_f32)
{
    const int is_power = (n & (n - 1)) == 0;
    const uint32_t vector = is_f32 ? 4 : 8;
    const uint32_t wide = is_power ? vector : 2;
    const uint32_t width = n < wide ? n : wide;
    const uint32_t turns = n / width / 32 > 1 ? n / width / 32 : 1;
    const uint32_t threads = n / width / turns;
    float part[32];

    for (uint32_t p = 0; p < threads; p++) {
        part[p] = 0;
        for (uint32_t r = 0; r < turns; r++) {
            const uint32_t *const own = x + (r * threads + p) * width;
            for (uint32_t i = 0; i < width; i++) {
                part[p] = part[p] + route_float(own[i]);
            }
        }
    }
    for (uint32_t half = threads / 2; half > 0; half /= 2) {
        for (uint32_t p = 0; p < half; p++) {
            part[p] = part[p] + part[p + half];
        }
    }
    return part[0];
}

ROUTE_FN void route_softmax(const route_token *t)
{
    const uint32_t n = t->p->experts;
    const float most = route_largest_logit(t);
    const int is_warp = t->p->score == ROUTE_WARP;

    for (uint32_t e = 0; e < n; e++) {
        t->score[e] = route_bits(route_exp(route_x(t, e) - most));
    }
    const float sum =
        is_warp && t->p->has_warp
            ? route_sum_in_warp(t->score, n, t->p->from == ROUTE_F32)
            : route_sum_in_order(t->score, n);
    const float inverse = 1.0f / sum;

    for (uint32_t e = 0; e < n; e++) {
        const float x = route_float(t->score[e]);
        t->score[e] = route_bits(is_warp ? x * inverse : x / sum);
    }
}

/* A bias through the type that it counts in. */
ROUTE_FN float route_bias_of(const route_plan *p, uint32_t e)
{
    const int is_narrow = (p->flags & ROUTE_BIAS_BF16) != 0 && p->groups > 1;

    return p->general || is_narrow
               ? route_through(p->general ? p->from : (uint32_t)ROUTE_BF16,
                               p->bias[e])
               : p->bias[e];
}

ROUTE_FN uint32_t route_choice_of(const route_token *t, uint32_t e)
{
    if (t->p->bias == NULL) {
        return t->score[e];
    }
    const float sum = route_float(t->score[e]) + route_bias_of(t->p, e);

    return route_bits(route_through(t->p->choice_type, sum));
}

/* A NaN of the logits ranks by its sign; one that was computed is +NaN. */
ROUTE_FN float route_settled(const route_plan *p, float score)
{
    const int is_typed = (p->flags & ROUTE_IN_TYPE) != 0;

    return (p->flags & ROUTE_CLEAN) != 0 && !route_is_finite(score)
               ? 0.0f
               : route_through(is_typed ? p->from : (uint32_t)ROUTE_F32, score);
}

ROUTE_FN void route_score(const route_token *t)
{
    const route_plan *const p = t->p;
    const int is_softmax = p->score == ROUTE_SOFTMAX || p->score == ROUTE_WARP;

    if (is_softmax) {
        route_softmax(t);
    }
    for (uint32_t e = 0; e < p->experts; e++) {
        if (p->score == ROUTE_LOGIT) {
            t->score[e] = route_logit(t, e);
        } else {
            const float own = is_softmax
                                  ? route_float(t->score[e])
                                  : route_own_score(p->score, route_x(t, e));
            t->score[e] = route_bits(route_settled(p, own));
        }
        t->choice[e] = route_choice_of(t, e);
    }
    for (uint32_t e = 0; p->general && e < p->experts; e++) {
        t->score[e] =
            route_bits(route_through(p->from, route_float(t->score[e])));
        t->choice[e] = route_is_finite(route_x(t, e))
                           ? route_bits(route_through(
                                 p->from, route_float(route_choice_of(t, e))))
                           : ROUTE_MINUS_INFINITY;
    }
}

#endif
