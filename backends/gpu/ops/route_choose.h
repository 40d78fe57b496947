/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of route.topk.  Keys are compared as integers that grow with the
 * number, NaN at both ends; vLLM's own kernels compare numbers.  The first of
 * equals wins everywhere.
 */
#ifndef GPU_ROUTE_CHOOSE_H
#define GPU_ROUTE_CHOOSE_H

#include "ops/route.h"
#include "port/device.h"

/* -NaN, -Inf .. -0, +0 .. +Inf, +NaN; the larger of two is the better
   candidate: the key, then the lower index. */
GPU_FN uint64_t route_rank(uint32_t x, uint32_t index)
{
    const uint32_t key = (x & 0x80000000u) != 0 ? ~x : x | 0x80000000u;

    return (uint64_t)key << 32 | (0xffffffffu - index);
}

GPU_FN uint32_t route_index(uint64_t rank)
{
    return 0xffffffffu - (uint32_t)rank;
}

GPU_FN uint32_t route_id(const route_token *t, uint32_t k)
{
    return gpu_load_u32(t->a->ids,
                        t->number * (t->a->top_k + t->a->shared) + k);
}

GPU_FN void route_put_id(const route_token *t, uint32_t k, uint32_t e)
{
    gpu_store_u32(t->a->ids, t->number * (t->a->top_k + t->a->shared) + k, e);
}

/* A group's two best in one pass: their sum, or the best alone. */
GPU_FN uint32_t route_score_group(const route_token *t, uint32_t first,
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

    return two ? gpu_bits(route_through(
                     t->a->choice_type,
                     gpu_float(best) + gpu_float(t->choice[route_index(next)])))
               : best;
}

/* A group stays if fewer than `kept` are better; the others' experts are out.
   With the last to stay at -Inf the token fails. */
GPU_FN void route_keep_groups(route_token *t)
{
    const route_args *const a = t->a;
    const uint32_t size = a->experts / a->groups;
    const int two = (a->flags & ROUTE_TWO) != 0 || a->bias != NULL;

    for (uint32_t g = 0; g < a->groups; g++) {
        t->group[g] = route_score_group(t, g * size, size, two);
    }
    for (uint32_t g = 0; g < a->groups; g++) {
        uint32_t better = 0;

        for (uint32_t h = 0; h < a->groups; h++) {
            better += route_rank(t->group[h], h) > route_rank(t->group[g], g);
        }
        for (uint32_t e = g * size; e < (g + 1) * size; e++) {
            t->out[e] = better >= a->kept;
        }
        t->failed |=
            a->general && better + 1 == a->kept && t->group[g] == 0xff800000u;
    }
}

GPU_FN uint32_t route_best_key(const route_token *t)
{
    uint64_t best = 0;

    for (uint32_t e = 0; e < t->a->experts; e++) {
        const uint64_t rank = t->out[e] ? 0 : route_rank(t->choice[e], e);
        best = best < rank ? rank : best;
    }
    return route_index(best);
}

/* Who was chosen drops to -10000: a number below is chosen twice. */
GPU_FN uint32_t route_best_value(const route_token *t)
{
    uint32_t best = 0;

    for (uint32_t e = 1; e < t->a->experts; e++) {
        best = gpu_float(t->choice[e]) > gpu_float(t->choice[best]) ? e : best;
    }
    t->choice[best] = gpu_bits(-10000.0f);
    return best;
}

/* The search starts with expert 0 and -1; who was chosen is passed over. */
GPU_FN uint32_t route_best_from_minus_1(const route_token *t)
{
    float most = -1;
    uint32_t best = 0;

    for (uint32_t e = 0; e < t->a->experts; e++) {
        const float x = gpu_float(t->choice[e]);
        if (!t->out[e] && x > most) {
            most = x;
            best = e;
        }
    }
    return best;
}

/* Ascending numbers. */
GPU_FN void route_sort_ids(const route_token *t)
{
    for (uint32_t k = 1; k < t->a->top_k; k++) {
        const uint32_t own = route_id(t, k);
        uint32_t at = k;

        for (; at > 0 && route_id(t, at - 1) > own; at--) {
            route_put_id(t, at, route_id(t, at - 1));
        }
        route_put_id(t, at, own);
    }
}

GPU_FN void route_choose(route_token *t)
{
    const route_args *const a = t->a;
    const int by_value = (a->flags & ROUTE_BY_VALUE) != 0;

    for (uint32_t e = 0; e < a->experts; e++) {
        t->out[e] = 0;
    }
    t->failed = 0;
    if (a->groups > 1 || a->general) {
        route_keep_groups(t);
    }
    for (uint32_t k = 0; k < a->top_k; k++) {
        const uint32_t best = t->failed     ? k
                              : !by_value   ? route_best_key(t)
                              : a->has_warp ? route_best_value(t)
                                            : route_best_from_minus_1(t);
        t->out[best] = 1;
        route_put_id(t, k, best);
    }
    if ((a->flags & ROUTE_BY_ID) != 0) {
        route_sort_ids(t);
    }
}

#endif
