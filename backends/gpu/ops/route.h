/* SPDX-License-Identifier: Apache-2.0 */
/* route.topk, a token per thread: the router of ../../router.h. */
#ifndef GPU_ROUTE_H
#define GPU_ROUTE_H

#include "ops/route_math.h"

#include "../../common/router_choose.h"

typedef struct route_args {
    route_plan plan; /* its bias lies on the device */
    const void *logits;
    const void *input;      /* int32; NULL: experts are chosen */
    const void *table;      /* int32[vocabulary, top_k] */
    uint32_t *room;         /* of each token: route_room() words */
    void *ids, *weights;    /* [tokens, top_k + shared] */
    void *indices, *packed; /* NULL: not wanted */
} route_args;

/* A bias of BF16 as binary32. */
typedef struct route_widen_args {
    const void *from;
    uint32_t *to;
    uint32_t n;
} route_widen_args;

GPU_FN void route_widen_body(const route_widen_args *a)
{
    for (uint32_t i = gpu_block() * GPU_BLOCK + gpu_thread(); i < a->n;
         i += gpu_grid() * GPU_BLOCK) {
        gpu_store_u32(a->to, i, (uint32_t)gpu_load_u16(a->from, i) << 16);
    }
}

/* Words of a token's room; the host asks, too. */
#define ROUTE_ROOM(p) \
    (3 * (uint64_t)(p)->experts + (p)->groups + 2 * (p)->top_k)

/* Shared experts come behind the others and weigh 1. */
GPU_FN void route_store(const route_args *a, uint64_t token,
                        const route_token *t)
{
    const route_plan *const p = t->p;
    const uint32_t slots = p->top_k + p->shared;

    for (uint32_t k = 0; k < slots; k++) {
        const int is_chosen = k < p->top_k;
        const uint64_t at = token * slots + k;
        const uint32_t id = is_chosen ? t->id[k] : p->experts + k - p->top_k;
        const float w = route_through(ROUTE_F32, is_chosen ? t->w[k] : 1.0f);
        const uint32_t code = glu_finish((int)p->to, w);

        gpu_store_u32(a->ids, at, id);
        if (p->to == ROUTE_F32) {
            gpu_store_u32(a->weights, at, code);
        } else {
            gpu_store_u16(a->weights, at, code);
        }
        if (a->indices != NULL) {
            gpu_store_u32(a->indices, at, (uint32_t)(k * p->tokens + token));
        }
        if (a->packed != NULL) {
            gpu_store_u32(a->packed, at, id << 16 | code);
        }
    }
}

GPU_FN void route_one(const route_args *a, uint64_t token)
{
    const route_plan *const p = &a->plan;
    const uint64_t row = token * p->experts * (p->from == ROUTE_F32 ? 4 : 2);
    uint32_t *const room = a->room + token * ROUTE_ROOM(p);
    route_token t;

    t.p = p;
    t.logits = (const uint8_t *)a->logits + row;
    t.score = room;
    t.choice = t.score + p->experts;
    t.out = t.choice + p->experts;
    t.group = t.out + p->experts;
    t.id = t.group + p->groups;
    t.w = (float *)(void *)(t.id + p->top_k);
    route_score(&t);
    route_choose(&t);
    for (uint32_t k = 0; a->table != NULL && k < p->top_k; k++) {
        const uint64_t word = gpu_load_u32(a->input, token);
        t.id[k] = gpu_load_u32(a->table, word * p->top_k + k);
    }
    route_weigh(&t);
    route_store(a, token, &t);
}

GPU_FN void route_body(const route_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->plan.tokens; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        route_one(a, i);
    }
}

#endif
