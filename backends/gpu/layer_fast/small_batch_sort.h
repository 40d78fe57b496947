/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How blocks of small_batch.h begin: pairs by expert, and groups of them.  No
 * weight can be fetched before, so that up to 32 pairs are sorted by the warp
 * that fetches, a pair a lane, without a loop that waits for memory; more of
 * them by the whole block.
 */
#ifndef GPU_SMALL_BATCH_SORT_H
#define GPU_SMALL_BATCH_SORT_H

#include "layer/layer.h"
#include "layer_fast/small_batch.h"
#include "port/device.h"

/* Pair i's place among those of its expert, and the expert's first place. */
GPU_FN void small_batch_place(const small_batch_args *a, uint32_t i)
{
    small_batch_shared *const s = small_batch_state();
    const uint32_t pairs = (uint32_t)a->p.pairs;
    const int32_t e = s->expert[i];
    uint32_t before = 0;
    uint32_t earlier = 0;

    GPU_LOOP
    for (uint32_t j = 0; j < pairs; j++) {
        const int32_t other = s->expert[j];
        before += other >= 0 && other < e;
        earlier += other == e && j < i;
    }
    s->opens[i] = e >= 0 && (earlier & (a->columns - 1)) == 0;
    if (e >= 0) {
        s->list[before + earlier] = (uint16_t)i;
        s->token[before + earlier] = (uint16_t)gpu_quotient(i, a->by_topk);
    }
}

GPU_FN small_batch_group small_batch_group_of(uint32_t expert, uint32_t first,
                                              uint32_t n)
{
    const small_batch_group g = {expert, (uint16_t)first, (uint16_t)n};

    return g;
}

/* The group that pair i opens: number, first place, length. */
GPU_FN void small_batch_open(const small_batch_args *a, uint32_t i)
{
    small_batch_shared *const s = small_batch_state();
    const uint32_t pairs = (uint32_t)a->p.pairs;
    const int32_t e = s->expert[i];
    uint32_t at = 0;
    uint32_t first = 0;
    uint32_t n = 0;

    GPU_LOOP
    for (uint32_t j = 0; j < pairs; j++) {
        const int32_t other = s->expert[j];
        const int is_before = other < e || (other == e && j < i);
        at += s->opens[j] && is_before;
        first += other >= 0 && is_before;
        n += other == e && j >= i;
    }
    s->group[at] = small_batch_group_of((uint32_t)e, first,
                                        n < a->columns ? n : a->columns);
}

/* A warp does so; all begin empty. */
GPU_FN void small_batch_mbarriers(void)
{
    small_batch_shared *const s = small_batch_state();
    const uint32_t i = gpu_thread() % 32;

    if (i < SMALL_BATCH_EPILOGUE_WARPS) {
        mbarrier_init(&s->full[i], 1);
        mbarrier_init(&s->empty[i], SMALL_BATCH_TEAM);
        mbarrier_init(&s->sums_full[i], SMALL_BATCH_TEAM);
        mbarrier_init(&s->sums_empty[i], 1);
    }
    mbarrier_init_fence();
}

/* Arguments on their way to where constants are cached, a line a lane. */
GPU_FN void small_batch_call_args(const small_batch_args *a)
{
    const uint32_t at = gpu_thread() % 32 * 8;

    if (at * 4 < sizeof *a) {
        (void)keep_in_register(((const uint32_t *)a)[at]);
    }
}

/* Activations on their way to the cache, a line a thread. */
GPU_FN void small_batch_call_acts(const small_batch_args *a)
{
    const uint64_t at = gpu_block() + (uint64_t)gpu_grid() * gpu_thread();

    if (at * 128 < 2 * a->tokens * a->g[0].k) {
        prefetch_l2((const uint8_t *)a->g[0].a + at * 128);
    }
}

/* Groups, and pairs. */
GPU_FN void small_batch_count(uint32_t pairs)
{
    small_batch_shared *const s = small_batch_state();
    uint32_t groups = 0;
    uint32_t n = 0;

    GPU_LOOP
    for (uint32_t j = 0; j < pairs; j++) {
        groups += s->opens[j];
        n += s->expert[j] >= 0;
    }
    s->n_groups = groups;
    s->n_pairs = n;
}

GPU_FN void small_batch_sort_many(const small_batch_args *a)
{
    small_batch_shared *const s = small_batch_state();
    const uint32_t pairs = (uint32_t)a->p.pairs;

    GPU_LOOP
    for (uint32_t i = gpu_thread(); i < pairs; i += SMALL_BATCH_THREADS) {
        s->expert[i] = layer_expert(&a->p, i);
        s->weight[i] = layer_weight_of(&a->p, i);
    }
    gpu_barrier();
    GPU_LOOP
    for (uint32_t i = gpu_thread(); i < pairs; i += SMALL_BATCH_THREADS) {
        small_batch_place(a, i);
    }
    gpu_barrier();
    GPU_LOOP
    for (uint32_t i = gpu_thread(); i < pairs; i += SMALL_BATCH_THREADS) {
        if (s->opens[i]) {
            small_batch_open(a, i);
        }
    }
    if (gpu_thread() + 1 == SMALL_BATCH_THREADS) {
        small_batch_count(pairs);
    }
}

/* Place of a lane's pair among the others. */
typedef struct small_batch_rank {
    uint32_t lane;
    int32_t expert;
    uint32_t before; /* pairs that come first in the list */
    uint32_t same;   /* pairs of its expert */
    uint32_t all;    /* pairs that the list has */
} small_batch_rank;

GPU_FN small_batch_rank small_batch_rank_of(uint32_t lane, int32_t expert,
                                            uint32_t pairs)
{
    enum { AT_ONCE = 8 };
    const int32_t *const others = small_batch_state()->expert;
    small_batch_rank r = {lane, expert, 0, 0, 0};

    for (uint32_t first = 0; first < pairs; first += AT_ONCE) {
        GPU_UNROLL
        for (uint32_t j = 0; j < AT_ONCE; j++) {
            const int32_t other = others[first + j];
            const uint32_t bit = 1u << (first + j);
            r.all |= other >= 0 ? bit : 0;
            r.before |= other >= 0 && other < expert ? bit : 0;
            r.same |= other == expert ? bit : 0;
        }
    }
    r.before |= r.same & ((1u << lane) - 1);
    return r;
}

/* A lane's pair to where it belongs, and the group that it opens. */
GPU_FN void small_batch_rank_put(const small_batch_args *a,
                                 const small_batch_rank *r)
{
    small_batch_shared *const s = small_batch_state();
    const uint32_t is_here = r->expert >= 0;
    const uint32_t at = count_ones(r->before);
    const uint32_t nth = count_ones(r->before & r->same);
    const uint32_t left = count_ones(r->same) - nth;
    const uint32_t opens = is_here && (nth & (a->columns - 1)) == 0;
    const uint32_t openers = warp_ballot((int)opens);

    if (is_here) {
        s->list[at] = (uint16_t)r->lane;
        s->token[at] = (uint16_t)gpu_quotient(r->lane, a->by_topk);
    }
    if (opens) {
        s->group[count_ones(openers & r->before)] = small_batch_group_of(
            (uint32_t)r->expert, at, left < a->columns ? left : a->columns);
    }
    if (r->lane == 0) {
        s->n_groups = count_ones(openers);
        s->n_pairs = count_ones(r->all);
    }
}

/* One warp. */
GPU_FN void small_batch_sort_few(const small_batch_args *a)
{
    small_batch_shared *const s = small_batch_state();
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t pairs = (uint32_t)a->p.pairs;
    int32_t expert = -1;
    float weight = 0;

    if (lane < pairs) {
        expert = layer_expert(&a->p, lane);
        weight = layer_weight_of(&a->p, lane);
    }
    s->expert[lane] = expert;
    warp_sync();
    const small_batch_rank r = small_batch_rank_of(lane, expert, pairs);
    small_batch_rank_put(a, &r);
    s->weight[lane] = weight;
}

/* All that a block has to know. */
GPU_FN void small_batch_begin(const small_batch_args *a)
{
    const uint32_t warp = gpu_thread() / 32;

    if (warp == 0) {
        small_batch_mbarriers();
    } else if (warp == 1) {
        small_batch_call_args(a);
    }
    if (warp != SMALL_BATCH_LOADER) {
        small_batch_call_acts(a);
    }
    if (a->p.pairs > 32) {
        small_batch_sort_many(a);
    } else if (warp == SMALL_BATCH_LOADER) {
        small_batch_sort_few(a);
    }
    gpu_barrier();
}

#endif
