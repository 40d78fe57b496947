/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of the chosen, and what route.topk stores. */
#ifndef GPU_ROUTE_WEIGH_H
#define GPU_ROUTE_WEIGH_H

#include "ops/route.h"
#include "ops/route_choose.h"
#include "port/device.h"

#define ROUTE_EPSILON 1e-20f

GPU_FN float route_sum(const route_token *t)
{
    float sum = 0;

    for (uint32_t i = 0; i < t->a->top_k; i++) {
        sum = sum + t->w[i];
    }
    return sum;
}

GPU_FN float route_positive(float sum)
{
    return sum > 0 ? sum : 1.0f;
}

GPU_FN void route_over_k(const route_token *t)
{
    const uint32_t n = t->a->top_k;
    float most = -(float)GPU_INFINITY;

    for (uint32_t i = 0; i < n; i++) {
        most = t->w[i] > most ? t->w[i] : most;
    }
    for (uint32_t i = 0; i < n; i++) {
        t->w[i] = glu_exp32(t->w[i] - most);
    }
    const float sum = route_sum(t);

    for (uint32_t i = 0; i < n; i++) {
        t->w[i] = t->w[i] / sum;
    }
}

/* c (w / by), a product that is left out if c is 1; torch has the type of the
   logits throughout. */
GPU_FN void route_divide(const route_token *t, int divides, float sum)
{
    const int is_torch = (t->a->flags & ROUTE_TORCH) != 0;
    const uint32_t type = is_torch ? t->a->from : (uint32_t)GLU_F32;
    const float by = route_through(type, sum);
    const float c = (float)t->a->scale;

    for (uint32_t i = 0; i < t->a->top_k; i++) {
        if (divides) {
            t->w[i] = route_through(type, t->w[i] / by);
        }
        if (c != 1) {
            t->w[i] = route_through(type, t->w[i] * c);
        }
    }
}

GPU_FN void route_scaled(const route_token *t)
{
    const float c = (float)t->a->scale;
    const float by = route_sum(t) + ROUTE_EPSILON;

    for (uint32_t i = 0; i < t->a->top_k; i++) {
        const float product = t->w[i] * c;
        t->w[i] = product / by;
    }
}

GPU_FN void route_times(const route_token *t, float factor)
{
    for (uint32_t i = 0; i < t->a->top_k; i++) {
        t->w[i] = t->w[i] * factor;
    }
}

/* vLLM's fused router: a product and a quotient in binary64, each rounded to
   binary32; its general kernel has one factor. */
GPU_FN void route_fused(const route_token *t, int divides)
{
    const float sum = route_sum(t);
    const double by = (double)sum + 1e-20;

    if (t->a->general) {
        const float c = (float)t->a->scale;
        const float below = ROUTE_EPSILON + sum;
        route_times(t, divides ? c / below : c);
        return;
    }
    for (uint32_t i = 0; i < t->a->top_k; i++) {
        const float product = (float)((double)t->w[i] * t->a->scale);
        t->w[i] = divides ? (float)((double)product / by) : product;
    }
}

/* e^(w - ln of the sum over all experts), in the type of the logits. */
GPU_FN void route_over_all(const route_token *t)
{
    const route_args *const a = t->a;
    const float most = route_largest_logit(t);
    float sum = 0;

    for (uint32_t e = 0; e < a->experts; e++) {
        sum = sum + glu_exp32(route_x(t, e) - most);
    }
    const float ln_sum = route_through(a->from, most + route_ln(sum));

    for (uint32_t i = 0; i < a->top_k; i++) {
        const float power = route_through(a->from, t->w[i] - ln_sum);
        t->w[i] = route_through(a->from, glu_exp32(power));
    }
}

GPU_FN void route_typed(const route_token *t, int over_chosen)
{
    if (!over_chosen) {
        route_over_all(t);
        return;
    }
    route_over_k(t);
    for (uint32_t i = 0; i < t->a->top_k; i++) {
        t->w[i] = route_through(t->a->from, t->w[i]);
    }
}

GPU_FN void route_normalise(const route_token *t)
{
    const route_args *const a = t->a;
    const int divides = a->renormalize || (a->flags & ROUTE_ALWAYS) != 0;
    const float sum = route_sum(t);
    const float c = (float)a->scale;

    switch (a->norm) {
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
        route_scaled(t);
        break;
    case ROUTE_FACTOR:
        route_times(t, divides ? c / route_positive(sum) : c);
        break;
    case ROUTE_FUSED:
        route_fused(t, divides);
        break;
    case ROUTE_TYPED:
        route_typed(t, divides);
        break;
    default:
        break;
    }
}

GPU_FN float route_raw_weight(const route_token *t, uint32_t e)
{
    const route_args *const a = t->a;

    if ((a->flags & ROUTE_WEIGH_LOGIT) != 0) {
        return route_saturated(route_x(t, e));
    }
    if ((a->flags & ROUTE_UNBIAS) != 0 && a->bias != NULL) {
        const float sum = gpu_float(t->score[e]) + a->bias[e];
        return sum - a->bias[e];
    }
    return gpu_float(t->score[e]);
}

GPU_FN void route_weigh(const route_token *t)
{
    const uint32_t n = t->a->top_k;

    for (uint32_t i = 0; i < n; i++) {
        t->w[i] =
            t->failed ? 1.0f / (float)n : route_raw_weight(t, route_id(t, i));
    }
    if (!t->failed) {
        route_normalise(t);
    }
}

/* Shared experts come behind the others and weigh 1. */
GPU_FN void route_store(const route_token *t)
{
    const route_args *const a = t->a;
    const uint32_t slots = a->top_k + a->shared;

    for (uint32_t k = 0; k < slots; k++) {
        const uint64_t at = t->number * slots + k;
        const float w = route_through(GLU_F32, k < a->top_k ? t->w[k] : 1.0f);
        const uint32_t code = glu_finish((int)a->to, w);

        if (k >= a->top_k) {
            route_put_id(t, k, a->experts + k - a->top_k);
        }
        if (a->to == GLU_F32) {
            gpu_store_u32(a->weights, at, code);
        } else {
            gpu_store_u16(a->weights, at, code);
        }
        if (a->indices != NULL) {
            gpu_store_u32(a->indices, at,
                          (uint32_t)(k * a->tokens + t->number));
        }
        if (a->packed != NULL) {
            gpu_store_u32(a->packed, at, route_id(t, k) << 16 | code);
        }
    }
}

GPU_FN void route_one(const route_args *a, uint64_t token)
{
    uint32_t *const room = a->room + token * route_room(a);
    route_token t;

    t.a = a;
    t.number = token;
    t.score = room;
    t.choice = room + a->experts;
    t.out = room + 2 * (uint64_t)a->experts;
    t.group = room + 3 * (uint64_t)a->experts;
    t.w = (float *)(void *)(t.group + a->groups);
    route_score(&t);
    route_choose(&t);
    for (uint32_t k = 0; a->table != NULL && k < a->top_k; k++) {
        const uint64_t row = gpu_load_u32(a->input, token);
        route_put_id(&t, k, gpu_load_u32(a->table, row * a->top_k + k));
    }
    route_weigh(&t);
    route_store(&t);
}

GPU_FN void route_body(const route_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->tokens; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        route_one(a, i);
    }
}

#endif
