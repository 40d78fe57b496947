/* SPDX-License-Identifier: Apache-2.0 */
/* A router's choice, and the weights of the chosen. */
#ifndef BACKENDS_ROUTER_CHOOSE_H
#define BACKENDS_ROUTER_CHOOSE_H

#include "router_score.h"

#define ROUTE_EPSILON 1e-20f

/* Keys are compared as integers that grow with the number, NaN at both ends:
   -NaN, -Inf .. -0, +0 .. +Inf, +NaN.  The larger of two is the better
   candidate: the key, then the lower index. */
ROUTE_FN uint64_t route_rank(uint32_t x, uint32_t index)
{
    const uint32_t key = (x & 0x80000000u) != 0 ? ~x : x | 0x80000000u;

    return (uint64_t)key << 32 | (0xffffffffu - index);
}

ROUTE_FN uint32_t route_index(uint64_t rank)
{
    return 0xffffffffu - (uint32_t)rank;
}

/* A group's two best in one pass: their sum, or the best alone. */
ROUTE_FN uint32_t route_score_group(const route_token *t, uint32_t first,
                                    uint32_t size, int two)
{
    uint64_t most = 0;
    uint64_t next = 0;

    for (uint32_t e = first; e < first + size; e++) {
        const uint64_t rank = route_rank(t->choice[e], e);
        const uint64_t lower = rank < most ? rank : most;
        next = next < lower ? lower : next;
        most = most < rank ? rank : most;
    }
    const uint32_t best = t->choice[route_index(most)];

    if (!two) {
        return best;
    }
    const float sum =
        route_float(best) + route_float(t->choice[route_index(next)]);

    return route_bits(route_through(t->p->choice_type, sum));
}

/* A group stays if fewer than `kept` are better; the others' experts are out.
   With the last to stay at -Inf the token fails. */
ROUTE_FN void route_keep_groups(route_token *t)
{
    const route_plan *const p = t->p;
    const uint32_t size = p->experts / p->groups;
    const int two = (p->flags & ROUTE_TWO) != 0 || p->bias != NULL;

    for (uint32_t g = 0; g < p->groups; g++) {
        t->group[g] = route_score_group(t, g * size, size, two);
    }
    for (uint32_t g = 0; g < p->groups; g++) {
        uint32_t better = 0;

        for (uint32_t h = 0; h < p->groups; h++) {
            better += route_rank(t->group[h], h) > route_rank(t->group[g], g);
        }
        for (uint32_t e = g * size; e < (g + 1) * size; e++) {
            t->out[e] = better >= p->kept;
        }
        t->failed |= p->general && better + 1 == p->kept &&
                     t->group[g] == ROUTE_MINUS_INFINITY;
    }
}

/* The k best so far are held in order; a candidate is let in from below. */
ROUTE_FN void route_by_key(const route_token *t)
{
    uint32_t held = 0;

    for (uint32_t e = 0; e < t->p->experts; e++) {
        const uint64_t rank = route_rank(t->choice[e], e);
        uint32_t at = held;

        if (t->out[e]) {
            continue;
        }
        while (at > 0 &&
               route_rank(t->choice[t->id[at - 1]], t->id[at - 1]) < rank) {
            if (at < t->p->top_k) {
                t->id[at] = t->id[at - 1];
            }
            at--;
        }
        if (at < t->p->top_k) {
            t->id[at] = e;
            held += held < t->p->top_k;
        }
    }
}

/* The largest; who was chosen drops to -10000: a number below is chosen
   twice. */
ROUTE_FN uint32_t route_best_value(const route_token *t)
{
    uint32_t best = 0;

    for (uint32_t e = 1; e < t->p->experts; e++) {
        best =
            route_float(t->choice[e]) > route_float(t->choice[best]) ? e : best;
    }
    t->choice[best] = route_bits(-10000.0f);
    return best;
}

/* The search starts with expert 0 and -1; who was chosen is passed over. */
ROUTE_FN uint32_t route_best_from_minus_1(const route_token *t)
{
    float most = -1;
    uint32_t best = 0;

    for (uint32_t e = 0; e < t->p->experts; e++) {
        const float x = route_float(t->choice[e]);
        if (!t->out[e] && x > most) {
            most = x;
            best = e;
        }
    }
    t->out[best] = 1;
    return best;
}

/* Ascending numbers. */
ROUTE_FN void route_sort_ids(const route_token *t)
{
    for (uint32_t k = 1; k < t->p->top_k; k++) {
        const uint32_t own = t->id[k];
        uint32_t at = k;

        for (; at > 0 && t->id[at - 1] > own; at--) {
            t->id[at] = t->id[at - 1];
        }
        t->id[at] = own;
    }
}

/* vLLM's own kernels compare numbers, all others keys.  The first of equals
   wins everywhere. */
ROUTE_FN void route_choose(route_token *t)
{
    const route_plan *const p = t->p;
    const int by_value = (p->flags & ROUTE_BY_VALUE) != 0;

    for (uint32_t e = 0; e < p->experts; e++) {
        t->out[e] = 0;
    }
    t->failed = 0;
    if (p->groups > 1 || p->general) {
        route_keep_groups(t);
    }
    if (!t->failed && !by_value) {
        route_by_key(t);
    }
    for (uint32_t k = 0; t->failed && k < p->top_k; k++) {
        t->id[k] = k;
    }
    for (uint32_t k = 0; by_value && k < p->top_k; k++) {
        t->id[k] =
            p->has_warp ? route_best_value(t) : route_best_from_minus_1(t);
    }
    if ((p->flags & ROUTE_BY_ID) != 0) {
        route_sort_ids(t);
    }
}

ROUTE_FN float route_sum(const route_token *t)
{
    float sum = 0;

    for (uint32_t i = 0; i < t->p->top_k; i++) {
        sum = sum + t->w[i];
    }
    return sum;
}

ROUTE_FN float route_positive(float sum)
{
    return sum > 0 ? sum : 1.0f;
}

ROUTE_FN void route_over_k(const route_token *t)
{
    const uint32_t n = t->p->top_k;
    float most = route_float(ROUTE_MINUS_INFINITY);

    for (uint32_t i = 0; i < n; i++) {
        most = t->w[i] > most ? t->w[i] : most;
    }
    for (uint32_t i = 0; i < n; i++) {
        t->w[i] = route_exp(t->w[i] - most);
    }
    const float sum = route_sum(t);

    for (uint32_t i = 0; i < n; i++) {
        t->w[i] = t->w[i] / sum;
    }
}

/* c (w / by), a product that is left out if c is 1; torch has the type of the
   logits throughout. */
ROUTE_FN void route_divide(const route_token *t, int divides, float sum)
{
    const int is_torch = (t->p->flags & ROUTE_TORCH) != 0;
    const uint32_t type = is_torch ? t->p->from : (uint32_t)ROUTE_F32;
    const float by = route_through(type, sum);
    const float c = (float)t->p->scale;

    for (uint32_t i = 0; i < t->p->top_k; i++) {
        if (divides) {
            t->w[i] = route_through(type, t->w[i] / by);
        }
        if (c != 1) {
            t->w[i] = route_through(type, t->w[i] * c);
        }
    }
}

ROUTE_FN void route_scaled(const route_token *t, float sum)
{
    const float c = (float)t->p->scale;
    const float by = sum + ROUTE_EPSILON;

    for (uint32_t i = 0; i < t->p->top_k; i++) {
        const float product = t->w[i] * c;
        t->w[i] = product / by;
    }
}

ROUTE_FN void route_times(const route_token *t, float factor)
{
    for (uint32_t i = 0; i < t->p->top_k; i++) {
        t->w[i] = t->w[i] * factor;
    }
}

/* vLLM's fused router: a product and a quotient in binary64, each rounded to
   binary32; its general kernel has one factor. */
ROUTE_FN void route_fused(const route_token *t, int divides, float sum)
{
    const double by = (double)sum + 1e-20;

    if (t->p->general) {
        const float c = (float)t->p->scale;
        const float below = ROUTE_EPSILON + sum;
        route_times(t, divides ? c / below : c);
        return;
    }
    for (uint32_t i = 0; i < t->p->top_k; i++) {
        const float product = (float)((double)t->w[i] * t->p->scale);
        t->w[i] = divides ? (float)((double)product / by) : product;
    }
}

/* e^(w - ln of the sum over all experts), in the type of the logits. */
ROUTE_FN void route_over_all(const route_token *t)
{
    const route_plan *const p = t->p;
    const float most = route_largest_logit(t);
    float sum = 0;

    for (uint32_t e = 0; e < p->experts; e++) {
        sum = sum + route_exp(route_x(t, e) - most);
    }
    const float ln_sum = route_through(p->from, most + route_ln(sum));

    for (uint32_t i = 0; i < p->top_k; i++) {
        const float power = route_through(p->from, t->w[i] - ln_sum);
        t->w[i] = route_through(p->from, route_exp(power));
    }
}

ROUTE_FN void route_typed(const route_token *t, int over_chosen)
{
    if (!over_chosen) {
        route_over_all(t);
        return;
    }
    route_over_k(t);
    for (uint32_t i = 0; i < t->p->top_k; i++) {
        t->w[i] = route_through(t->p->from, t->w[i]);
    }
}

ROUTE_FN void route_normalise(const route_token *t)
{
    const route_plan *const p = t->p;
    const int divides = p->renormalize || (p->flags & ROUTE_ALWAYS) != 0;
    const float sum = route_sum(t);
    const float c = (float)p->scale;

    switch (p->norm) {
    case ROUTE_OVER_K:
        route_over_k(t);
        break;
    case ROUTE_OVER_SUM:
        route_divide(t, divides, sum);
        break;
    case ROUTE_OVER_POSITIVE:
        route_divide(t, divides, route_positive(sum));
        break;
    case ROUTE_AT_LEAST:
        route_divide(t, divides, sum < ROUTE_EPSILON ? ROUTE_EPSILON : sum);
        break;
    case ROUTE_SCALED:
        route_scaled(t, sum);
        break;
    case ROUTE_FACTOR:
        route_times(t, divides ? c / route_positive(sum) : c);
        break;
    case ROUTE_FUSED:
        route_fused(t, divides, sum);
        break;
    case ROUTE_TYPED:
        route_typed(t, divides);
        break;
    default:
        break;
    }
}

ROUTE_FN float route_raw_weight(const route_token *t, uint32_t e)
{
    const route_plan *const p = t->p;

    if ((p->flags & ROUTE_WEIGH_LOGIT) != 0) {
        return route_saturated(route_x(t, e));
    }
    if ((p->flags & ROUTE_UNBIAS) != 0 && p->bias != NULL) {
        const float sum = route_float(t->score[e]) + p->bias[e];
        return sum - p->bias[e];
    }
    return route_float(t->score[e]);
}

ROUTE_FN void route_weigh(const route_token *t)
{
    const uint32_t n = t->p->top_k;

    for (uint32_t i = 0; i < n; i++) {
        t->w[i] = t->failed ? 1.0f / (float)n : route_raw_weight(t, t->id[i]);
    }
    if (!t->failed) {
        route_normalise(t);
    }
}

#endif
