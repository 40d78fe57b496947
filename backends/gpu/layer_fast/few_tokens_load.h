/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How weights come to few_tokens.h.  One warp fetches them; what it does
 * before the first are on their way is what all wait for, so that it does
 * little: experts, the first unit.  The orders of the units behind it are made
 * by its lanes at once.
 */
#ifndef GPU_FEW_TOKENS_LOAD_H
#define GPU_FEW_TOKENS_LOAD_H

#include "layer/layer.h"
#include "layer_fast/few_tokens.h"
#include "layer_fast/small_batch.h"
#include "port/device.h"

/* Of few_tokens_row_mbarriers. */
GPU_FN uint32_t few_tokens_arrivals(uint32_t i)
{
    return i < 2    ? FEW_TOKENS_ACTIVATION_LOADERS
           : i == 2 ? FEW_TOKENS_TEAM * FEW_TOKENS_TEAMS
                    : 1;
}

/* Gates by all warps but the one that fetches, because a device sets them one
   by one; that one sets those of its own, which are the first. */
GPU_FN void few_tokens_init_mbarriers(const small_batch_args *a, uint32_t few)
{
    enum {
        SINGLE = FEW_TOKENS_STAGES + FEW_TOKENS_SLOTS,
        TEAMS = SINGLE + FEW_TOKENS_STAGES + FEW_TOKENS_SLOTS,
        OF_ROW = sizeof(few_tokens_row_mbarriers) / sizeof(mbarrier)
    };
    mbarrier *const b = (mbarrier *)&few_tokens_state()->mbarrier;
    const uint32_t all =
        TEAMS + OF_ROW * (few_tokens_count(a, few) + (uint32_t)a->p.pairs);

    if (gpu_thread() % 32 == 0) {
        GPU_LOOP
        for (uint32_t i = FEW_TOKENS_STAGES + gpu_thread() / 32; i < all;
             i += FEW_TOKENS_LOADER) {
            mbarrier_init(
                &b[i], i < SINGLE  ? 1
                       : i < TEAMS ? FEW_TOKENS_TEAM
                                   : few_tokens_arrivals((i - TEAMS) % OF_ROW));
        }
        mbarrier_init_fence();
    }
}

GPU_FN void few_tokens_set_full(void)
{
    if (gpu_thread() % 32 == 0) {
        GPU_UNROLL
        for (uint32_t i = 0; i < FEW_TOKENS_STAGES; i++) {
            mbarrier_init(&few_tokens_state()->mbarrier.full[i], 1);
        }
        mbarrier_init_fence();
    }
    warp_sync();
}

/* A lane's place in the sums over experts, and who has it. */
typedef struct few_tokens_place {
    uint32_t token, pair;
    uint32_t is_pair;
    int32_t expert; /* local, or less than 0 */
    float weight;
} few_tokens_place;

/* A token has four places or eight. */
GPU_FN few_tokens_place few_tokens_place_of(const small_batch_args *a,
                                            uint32_t few)
{
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t slot = few ? lane & ((1u << a->places) - 1) : lane;
    few_tokens_place p;

    p.token = few ? lane >> a->places : 0;
    p.is_pair = p.token < few_tokens_count(a, few) && slot < a->p.topk;
    p.pair = p.is_pair ? p.token * a->p.topk + slot : 0;
    const int32_t expert = layer_expert(&a->p, p.pair);
    const float weight = layer_weight_of(&a->p, p.pair);
    p.expert = p.is_pair ? expert : -1;
    p.weight = p.is_pair ? weight : 0;
    return p;
}

/* Where the list has a lane's pair.  Of pairs with one expert two at a time
   are twins. */
GPU_FN uint32_t few_tokens_sort(const few_tokens_place *p, few_tokens_list *l)
{
    const uint32_t before = (1u << gpu_thread() % 32) - 1;
    const uint32_t same = warp_match(p->expert);
    const uint32_t rank = count_ones(same & before);
    const int is_twin = p->expert >= 0 && (rank | 1) < count_ones(same);
    const uint32_t alone = warp_ballot(p->expert >= 0 && !is_twin);
    const uint32_t opens = warp_ballot(is_twin && rank % 2 == 0);

    l->singles = count_ones(alone);
    l->twins = count_ones(opens);
    if (!is_twin) {
        return count_ones(alone & before);
    }
    /* An even rank's twin comes later: it counts itself. */
    const uint32_t odd = rank % 2;
    const uint32_t mine = odd ? highest_one(same & before) : 0;
    return l->singles +
           2 * count_ones(opens & (odd ? (1u << mine) - 1 : before)) + odd;
}

/* List of pairs of local experts.  Loads of weights start after it. */
GPU_FN void few_tokens_make_list(uint32_t few, const few_tokens_place *p)
{
    few_tokens_shared *const s = few_tokens_state();
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t all = warp_ballot(p->expert >= 0);
    few_tokens_list l = {count_ones(all), 0};
    uint32_t at = count_ones(all & ((1u << lane) - 1));

    if (few) {
        at = few_tokens_sort(p, &l);
    }
    if (p->expert >= 0) {
        s->expert[at] = p->expert;
        s->pair[at] = p->pair;
        if (few) {
            s->token[at] = p->token;
            s->place[at] = lane;
        }
    }
    if (lane == 0) {
        s->list = l;
    }
    warp_sync();
}

/* A pair's part in the sum over experts is x * factor * fused, of which the
   first product is rounded; of an expert elsewhere x is 0.  Nobody needs this
   before the second unit is there. */
GPU_FN void few_tokens_weights(const small_batch_args *a,
                               const few_tokens_place *p)
{
    const layer_sum_args *const sum = &a->sum;
    few_tokens_shared *const s = few_tokens_state();
    const uint32_t lane = gpu_thread() % 32;
    const int is_here = p->expert >= 0;
    const int is_fused = sum->sum == LAYER_SUM_FMA || !is_here;
    const float w =
        sum->sum == LAYER_SUM_SLOTS || !sum->weigh ? 1.0f : p->weight;

    if (lane < FEW_TOKENS_PAIRS) {
        s->weight[lane] = p->weight;
        s->factor[lane] = is_fused ? 1.0f : w;
        s->fused[lane] = !is_fused                               ? 1.0f
                         : is_here || (sum->keeps && p->is_pair) ? w
                                                                 : 0;
    }
}

/* Copies that a lane issues for a unit: a part's codes, then its scales. */
typedef struct few_tokens_order {
    const uint8_t *codes, *scales;
    uint32_t codes_at, scales_at;       /* in a stage */
    uint32_t codes_bytes, scales_bytes; /* 0: the lane sends nothing */
} few_tokens_order;

/* Part `part` of a unit. */
GPU_FN few_tokens_order few_tokens_order_of(const small_batch_args *a,
                                            const few_tokens_share *s,
                                            uint32_t second, uint32_t unit,
                                            uint32_t part)
{
    const few_tokens_shared *const here = few_tokens_state();
    const few_tokens_unit x = few_tokens_unit_of(s, second, &here->list, unit);
    const uint32_t next = part & 1;
    const uint32_t is_up = part >> 1 & 1;
    const uint32_t twins = few_tokens_gate_up(a, second);
    const uint32_t half = small_batch_k(a, second) / 2;
    const uint32_t blocks = half / (LAYER_BLOCK / 2);
    const uint32_t of = next ? x.count - x.first : x.first;
    const uint32_t rows =
        is_up && !small_batch_is_split(a, second) ? 0 : of << twins;
    const few_tokens_part p = few_tokens_part_of(a, s, &x, second, next, is_up);
    const uint32_t expert = rows > 0 ? (uint32_t)here->expert[x.at + next] : 0;
    const uint64_t row = (uint64_t)expert * small_batch_n(a, second) + p.number;
    few_tokens_order o;

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
GPU_FN void few_tokens_send(const small_batch_args *a,
                            const few_tokens_order *o, int is_number,
                            uint32_t stage_number)
{
    mbarrier *const full = &few_tokens_state()->mbarrier.full[stage_number];
    uint8_t *const stage = few_tokens_stage(a, stage_number);

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
typedef struct few_tokens_loader {
    uint32_t one, end; /* units of the first GEMM, of both */
    uint32_t parts;    /* of a unit: lanes that send it */
} few_tokens_loader;

/* Units behind the first one: as many at a time as there are lanes for.  Few
   are on their way at once, because others, who look for activations, stand in
   the same queue. */
GPU_FN void few_tokens_load(const small_batch_args *a,
                            const few_tokens_share *s,
                            const few_tokens_loader *l)
{
    enum { AT_ONCE = 2 };
    few_tokens_mbarriers *const b = &few_tokens_state()->mbarrier;
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t many = 32 / l->parts;

    GPU_LOOP
    for (uint32_t begin = 1; begin < l->end; begin += many) {
        const uint32_t mine = lane / l->parts;
        const uint32_t second = begin + mine >= l->one;
        const few_tokens_order o = few_tokens_order_of(
            a, s, second, begin + mine - (second ? l->one : 0),
            lane % l->parts);
        GPU_LOOP
        for (uint32_t i = begin; i < begin + many && i < l->end; i++) {
            const uint32_t before = i - AT_ONCE;

            mbarrier_wait(&b->empty[i % FEW_TOKENS_STAGES],
                          ~(i / FEW_TOKENS_STAGES) & 1);
            if (i >= AT_ONCE) {
                mbarrier_wait(&b->full[before % FEW_TOKENS_STAGES],
                              before / FEW_TOKENS_STAGES & 1);
            }
            few_tokens_send(a, &o, i - begin == mine, i % FEW_TOKENS_STAGES);
        }
    }
}

/* The warp that fetches: the first unit is sent as soon as can be, before any
   other warp knows of it.  Experts are asked for by all lanes, and what can be
   done without them is done while they come. */
GPU_FN void few_tokens_fetch(const small_batch_args *a, uint32_t few)
{
    const uint32_t lane = gpu_thread() % 32;
    const few_tokens_place p = few_tokens_place_of(a, few);
    const few_tokens_share s = few_tokens_share_of(a, few);
    const few_tokens_list *const list = &few_tokens_state()->list;
    few_tokens_loader l;

    few_tokens_set_full();
    l.parts = a->halves ? 4 : 2;
    few_tokens_make_list(few, &p);
    if (few_tokens_pairs(list) > 0) {
        const few_tokens_order o =
            few_tokens_order_of(a, &s, 0, 0, lane % l.parts);
        few_tokens_send(a, &o, lane < l.parts, 0);
    }
    named_barrier(0, FEW_TOKENS_THREADS);
    few_tokens_weights(a, &p);
    l.one = few_tokens_units(&s, 0, list);
    l.end = l.one + few_tokens_units(&s, 1, list);
    few_tokens_load(a, &s, &l);
}

#endif
