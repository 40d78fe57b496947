/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How weights come to single_token.h.  One warp fetches them; what it does
 * before the first are on their way is what all wait for, so that it does
 * little: experts, the first unit.  The orders of the units behind it are made
 * by its lanes at once.
 */
#ifndef GPU_SINGLE_TOKEN_LOAD_H
#define GPU_SINGLE_TOKEN_LOAD_H

#include "layer/layer.h"
#include "layer_fast/single_token.h"
#include "layer_fast/small_batch.h"
#include "port/device.h"

/* Gates by all warps but the one that fetches, because a device sets them one
   by one; that one sets those of its own, which are the first. */
GPU_FN void single_token_init_mbarriers(void)
{
    enum {
        SINGLE = SINGLE_TOKEN_STAGES + SINGLE_TOKEN_SLOTS + SINGLE_TOKEN_PAIRS,
        TEAMS = SINGLE + SINGLE_TOKEN_STAGES + SINGLE_TOKEN_SLOTS
    };
    mbarrier *const b = (mbarrier *)&single_token_state()->mbarrier;
    const uint32_t all = sizeof(single_token_mbarriers) / sizeof(mbarrier);

    if (gpu_thread() % 32 == 0) {
        GPU_LOOP
        for (uint32_t i = SINGLE_TOKEN_STAGES + gpu_thread() / 32; i < all;
             i += SINGLE_TOKEN_LOADER) {
            mbarrier_init(&b[i], i < SINGLE  ? 1
                                 : i < TEAMS ? SINGLE_TOKEN_TEAM
                                             : SINGLE_TOKEN_ACTIVATION_LOADERS);
        }
        mbarrier_init_fence();
    }
}

GPU_FN void single_token_set_full(void)
{
    if (gpu_thread() % 32 == 0) {
        GPU_UNROLL
        for (uint32_t i = 0; i < SINGLE_TOKEN_STAGES; i++) {
            mbarrier_init(&single_token_state()->mbarrier.full[i], 1);
        }
        mbarrier_init_fence();
    }
    warp_sync();
}

/* List of the token's local experts.  Loads of weights start after it. */
GPU_FN void single_token_list(int32_t expert)
{
    single_token_shared *const s = single_token_state();
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t all = warp_ballot(expert >= 0);
    const uint32_t at = count_ones(all & ((1u << lane) - 1));

    if (expert >= 0) {
        s->expert[at] = expert;
        s->pair[at] = lane;
    }
    if (lane == 0) {
        s->n = count_ones(all);
    }
    warp_sync();
}

/* A pair's part in the sum over experts is x * factor * fused, of which the
   first product is rounded; of an expert elsewhere x is 0.  Nobody needs this
   before the second unit is there. */
GPU_FN void single_token_weights(const small_batch_args *a, int32_t expert,
                                 float weight)
{
    const layer_sum_args *const sum = &a->sum;
    single_token_shared *const s = single_token_state();
    const uint32_t lane = gpu_thread() % 32;
    const int is_here = expert >= 0;
    const int is_fused = sum->sum == LAYER_SUM_FMA || !is_here;
    const float w = sum->sum == LAYER_SUM_SLOTS || !sum->weigh ? 1.0f : weight;

    if (lane < SINGLE_TOKEN_PAIRS) {
        s->weight[lane] = weight;
        s->factor[lane] = is_fused ? 1.0f : w;
        s->fused[lane] = !is_fused                                     ? 1.0f
                         : is_here || (sum->keeps && lane < a->p.topk) ? w
                                                                       : 0;
    }
}

/* Copies that a lane issues for a unit: a part's codes, then its scales. */
typedef struct single_token_order {
    const uint8_t *codes, *scales;
    uint32_t codes_at, scales_at;       /* in a stage */
    uint32_t codes_bytes, scales_bytes; /* 0: the lane sends nothing */
} single_token_order;

/* Part `part` of a unit. */
GPU_FN single_token_order single_token_order_of(const small_batch_args *a,
                                                const single_token_share *s,
                                                uint32_t second, uint32_t unit,
                                                uint32_t part)
{
    const single_token_shared *const here = single_token_state();
    const single_token_unit x = single_token_unit_of(s, second, here->n, unit);
    const uint32_t next = part & 1;
    const uint32_t is_up = part >> 1 & 1;
    const uint32_t twins = single_token_gate_up(a, second);
    const uint32_t half = small_batch_k(a, second) / 2;
    const uint32_t blocks = half / (LAYER_BLOCK / 2);
    const uint32_t of = next ? x.count - x.first : x.first;
    const uint32_t rows =
        is_up && !small_batch_is_split(a, second) ? 0 : of << twins;
    const single_token_part p =
        single_token_part_of(a, s, &x, second, next, is_up);
    const uint32_t expert = rows > 0 ? (uint32_t)here->expert[x.at + next] : 0;
    const uint64_t row = (uint64_t)expert * small_batch_n(a, second) + p.number;
    single_token_order o;

    o.codes = (second ? a->g[1].w : a->g[0].w) + row * half;
    o.scales =
        (second ? a->g[1].scale : a->g[0].scale) + (row * blocks - p.off);
    o.codes_at = p.line * half;
    o.scales_at = SMALL_BATCH_ROWS * half + p.scales;
    o.codes_bytes = rows * half;
    o.scales_bytes = (p.off + rows * blocks + 15) / 16 * 16;
    return o;
}

/* Lanes of a number send their parts of a unit. */
GPU_FN void single_token_send(const small_batch_args *a,
                              const single_token_order *o, int is_number,
                              uint32_t stage_number)
{
    mbarrier *const full = &single_token_state()->mbarrier.full[stage_number];
    uint8_t *const stage = single_token_stage(a, stage_number);

    if (is_number && o->codes_bytes > 0) {
        mbarrier_expect(full, o->codes_bytes + o->scales_bytes);
        bulk_copy(stage + o->codes_at, o->codes, o->codes_bytes, full);
        bulk_copy(stage + o->scales_at, o->scales, o->scales_bytes, full);
    }
    warp_sync();
    if (gpu_thread() % 32 == 0) {
        mbarrier_arrive(full);
    }
}

/* State of the loading warp. */
typedef struct single_token_loader {
    uint32_t one, end; /* units of the first GEMM, of both */
    uint32_t parts;    /* of a unit: lanes that send it */
    int32_t expert;    /* of the lane's pair */
    float weight;
} single_token_loader;

/* Units behind the first one: as many at a time as there are lanes for.  Few
   are on their way at once, because others, who look for activations, stand in
   the same queue. */
GPU_FN void single_token_load(const small_batch_args *a,
                              const single_token_share *s,
                              const single_token_loader *l)
{
    enum { AT_ONCE = 2 };
    single_token_mbarriers *const b = &single_token_state()->mbarrier;
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t many = 32 / l->parts;

    GPU_LOOP
    for (uint32_t begin = 1; begin < l->end; begin += many) {
        const uint32_t mine = lane / l->parts;
        const uint32_t second = begin + mine >= l->one;
        const single_token_order o = single_token_order_of(
            a, s, second, begin + mine - (second ? l->one : 0),
            lane % l->parts);
        GPU_LOOP
        for (uint32_t i = begin; i < begin + many && i < l->end; i++) {
            const uint32_t before = i - AT_ONCE;

            mbarrier_wait(&b->empty[i % SINGLE_TOKEN_STAGES],
                          ~(i / SINGLE_TOKEN_STAGES) & 1);
            if (i >= AT_ONCE) {
                mbarrier_wait(&b->full[before % SINGLE_TOKEN_STAGES],
                              before / SINGLE_TOKEN_STAGES & 1);
            }
            single_token_send(a, &o, i - begin == mine,
                              i % SINGLE_TOKEN_STAGES);
        }
    }
}

/* The warp that fetches: the first unit is sent as soon as can be, before any
   other warp knows of it.  Experts are asked for by all lanes, and what can be
   done without them is done while they come. */
GPU_FN void single_token_fetch(const small_batch_args *a)
{
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t pair = lane < a->p.topk ? lane : a->p.topk - 1;
    const int32_t expert = layer_expert(&a->p, pair);
    const float weight = layer_weight_of(&a->p, pair);
    const single_token_share s = single_token_share_of(a);
    single_token_loader l;

    single_token_set_full();
    l.expert = lane < a->p.topk ? expert : -1;
    l.weight = lane < a->p.topk ? weight : 0;
    l.parts = a->halves ? 4 : 2;
    single_token_list(l.expert);
    const uint32_t n = single_token_state()->n;
    if (n > 0) {
        const single_token_order o =
            single_token_order_of(a, &s, 0, 0, lane % l.parts);
        single_token_send(a, &o, lane < l.parts, 0);
    }
    named_barrier(0, SINGLE_TOKEN_THREADS);
    single_token_weights(a, l.expert, l.weight);
    l.one = single_token_units(&s, 0, n);
    l.end = l.one + single_token_units(&s, 1, n);
    single_token_load(a, &s, &l);
}

#endif
