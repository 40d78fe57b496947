/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a warp of small_batch.h finishes a unit's rows: the sum over its team, in
 * the order of warps; bias, rounding, then the activation or the routing
 * weight.
 */
#ifndef GPU_SMALL_BATCH_EPILOGUE_H
#define GPU_SMALL_BATCH_EPILOGUE_H

#include "layer/layer.h"
#include "layer/layer_act.h"
#include "layer_fast/small_batch.h"
#include "layer_fast/small_batch_add.h"
#include "layer_fast/small_batch_math.h"
#include "layer_fast/small_batch_sort.h"
#include "ops/glu.h"
#include "port/device.h"

typedef struct small_batch_epilogue {
    const small_batch_args *a;
    small_batch_unit x;
    small_batch_group of;
    uint32_t warp;
    uint32_t parity; /* of the gate behind which the sums are full */
    uint32_t first;  /* of the lane's columns */
    uint32_t pair;   /* of the lane */
    float bias[2];   /* of the lane's gate and up, or of its row */
} small_batch_epilogue;

/* A lane's first row; gates and ups are eight each. */
GPU_FN uint64_t small_batch_epilogue_at(const small_batch_epilogue *e)
{
    const uint32_t lane = gpu_thread() % 32;
    const uint64_t first = small_batch_row(e->a, &e->x, 0);

    return e->x.second ? first + lane % SMALL_BATCH_ROWS
                       : first + lane % 8 * (e->a->halves ? 1 : 2);
}

GPU_FN uint64_t small_batch_epilogue_up(const small_batch_epilogue *e,
                                        uint64_t gate)
{
    return gate + (e->a->halves ? e->a->g[0].n / 2 : 1);
}

GPU_FN uint32_t small_batch_epilogue_pair(const small_batch_epilogue *e,
                                          uint32_t column)
{
    return small_batch_state()->list[e->of.first + column];
}

GPU_FN void small_batch_epilogue_biases(small_batch_epilogue *e)
{
    const uint64_t at = small_batch_epilogue_at(e);

    e->bias[0] = 0;
    e->bias[1] = 0;
    if (e->x.second) {
        if (e->a->g[1].bias_at != LAYER_BIAS_NONE) {
            e->bias[0] = layer_bias(&e->a->g[1], at);
        }
    } else if (e->a->g[0].bias_at != LAYER_BIAS_NONE) {
        e->bias[0] = layer_bias(&e->a->g[0], at);
        e->bias[1] = layer_bias(&e->a->g[0], small_batch_epilogue_up(e, at));
    }
}

/* Unit `at` of the block, and what is to be known of it long before its sums
   are there: behind them others wait. */
GPU_FN void small_batch_epilogue_turn_to(small_batch_epilogue *e,
                                         const small_batch_share *s,
                                         uint32_t at)
{
    const uint32_t lane = gpu_thread() % 32;

    e->x = small_batch_unit_at(e->a, s, at);
    e->of = small_batch_state()->group[e->x.group];
    e->first = e->x.second ? lane / SMALL_BATCH_ROWS : lane / 8;
    e->pair = small_batch_epilogue_pair(e, e->first < e->of.n ? e->first : 0);
    small_batch_epilogue_biases(e);
}

/* Has the unit a scale that makes its sums void?  Then nobody looks at them. */
GPU_FN uint32_t small_batch_epilogue_begins(const small_batch_epilogue *e)
{
    const small_batch_sums *const sums = &small_batch_state()->sums[e->warp];
    uint32_t rare = 0;

    mbarrier_wait(&small_batch_state()->sums_full[e->warp], e->parity);
    GPU_UNROLL
    for (int w = 0; w < SMALL_BATCH_TEAM; w++) {
        rare |= sums->rare[w];
    }
    return rare;
}

/* The sums are in registers: others may come. */
GPU_FN void small_batch_epilogue_has(const small_batch_epilogue *e)
{
    warp_sync();
    if (gpu_thread() % 32 == 0) {
        mbarrier_arrive(&small_batch_state()->sums_empty[e->warp]);
    }
}

/* A row's sum in a column. */
GPU_FN float small_batch_epilogue_add(const small_batch_epilogue *e,
                                      uint32_t row, uint32_t column)
{
    float sum = 0;

    GPU_UNROLL
    for (int w = 0; w < SMALL_BATCH_TEAM; w++) {
        sum += small_batch_state()
                   ->sums[e->warp]
                   .part[w][row * SMALL_BATCH_COLUMNS + column];
    }
    return sum;
}

/* A lane's output of the first GEMM in a column: its gate and its up. */
GPU_FN void small_batch_epilogue_output(const small_batch_epilogue *e,
                                        uint32_t column, uint32_t pair,
                                        uint32_t rare)
{
    const layer_gemm *const g = &e->a->g[0];
    const uint32_t j = gpu_thread() % 8;
    float gate = small_batch_epilogue_add(e, j, column);
    float up = small_batch_epilogue_add(e, j + 8, column);
    glu_two in;

    if (rare) {
        gate = layer_dot(g, pair, small_batch_epilogue_at(e));
        up = layer_dot(g, pair,
                       small_batch_epilogue_up(e, small_batch_epilogue_at(e)));
    }
    in.g = layer_finish(g, gate, e->bias[0], 0);
    in.v = layer_finish(g, up, e->bias[1], 0);
    publish_u16(g->y, pair * ((uint32_t)g->n / 2) + e->x.tile * 8 + j,
                layer_act_one(&e->a->glu, e->a->glu_mode, in, 0));
}

GPU_FN void small_batch_epilogue_act(const small_batch_epilogue *e)
{
    const uint32_t rare = small_batch_epilogue_begins(e);
    uint32_t pair = e->pair;

    GPU_LOOP
    for (uint32_t c = e->first; c < e->of.n; c += 4) {
        small_batch_epilogue_output(e, c, pair, rare);
        pair = small_batch_epilogue_pair(e, c + 4 < e->of.n ? c + 4 : 0);
    }
    small_batch_epilogue_has(e);
}

/* A row's element, as layer_store() has it, for the block that sums. */
GPU_FN void small_batch_epilogue_publish(const layer_gemm *g, uint64_t i,
                                         float y)
{
    const uint32_t bits = y != y ? 0x7fc00000u : gpu_bits(y);

    if (g->out == LAYER_F32) {
        publish_u32(g->y, i, bits);
    } else {
        publish_u16(g->y, i, bits >> 16);
    }
}

/* A lane's row of the second GEMM in a column. */
GPU_FN void small_batch_epilogue_element(const small_batch_epilogue *e,
                                         uint32_t column, uint32_t pair,
                                         uint32_t rare)
{
    const layer_gemm *const g = &e->a->g[1];
    const uint32_t r = gpu_thread() % SMALL_BATCH_ROWS;
    const float weight = small_batch_state()->weight[pair];
    float sum = small_batch_epilogue_add(e, r / 2 + r % 2 * 8, column);

    if (rare) {
        sum = layer_dot(g, pair, small_batch_epilogue_at(e));
    }
    small_batch_epilogue_publish(
        g, pair * (uint32_t)g->n + e->x.tile * SMALL_BATCH_ROWS + r,
        layer_finish(g, sum, e->bias[0], weight));
}

GPU_FN void small_batch_epilogue_row(const small_batch_epilogue *e)
{
    const uint32_t rare = small_batch_epilogue_begins(e);
    uint32_t pair = e->pair;

    if (rare) {
        acquire_fence();
    }
    GPU_LOOP
    for (uint32_t c = e->first; c < e->of.n; c += 2) {
        small_batch_epilogue_element(e, c, pair, rare);
        pair = small_batch_epilogue_pair(e, c + 2 < e->of.n ? c + 2 : 0);
    }
    small_batch_epilogue_has(e);
}

/* Blank activations and rows for the next launch. */
GPU_FN void small_batch_epilogue_unpublish(const small_batch_args *a)
{
    enum { WIDTH = 32 * SMALL_BATCH_EPILOGUE_WARPS };
    const gpu_u128 blank = {{~0u, ~0u, ~0u, ~0u}};

    GPU_LOOP
    for (uint32_t i = gpu_block() * WIDTH + gpu_thread(); i < a->n_stale;
         i += gpu_grid() * WIDTH) {
        gpu_store_u8x16(a->stale, i, blank);
    }
}

/* Units of the block, those of one warp. */
GPU_FN void small_batch_epilogue_warps(const small_batch_args *a,
                                       const small_batch_share *s)
{
    const uint32_t end = s->till[1];
    small_batch_epilogue e;

    e.a = a;
    e.warp = gpu_thread() / 32;
    e.parity = 0;
    small_batch_epilogue_unpublish(a);
    GPU_LOOP
    for (uint32_t at = e.warp; at < end; at += SMALL_BATCH_EPILOGUE_WARPS) {
        small_batch_epilogue_turn_to(&e, s, at);
        if (e.x.second) {
            small_batch_epilogue_row(&e);
        } else {
            small_batch_epilogue_act(&e);
        }
        e.parity ^= 1;
    }
}

/* Every warp has its part, and they meet once. */
GPU_FN void small_batch_body(const small_batch_args *a, const uint32_t in_parts)
{
    small_batch_begin(a);
    const small_batch_share s = small_batch_share_of(a, in_parts);
    if (gpu_thread() < 32 * SMALL_BATCH_EPILOGUE_WARPS) {
        small_batch_epilogue_warps(a, &s);
    } else if (gpu_thread() < 32 * SMALL_BATCH_LOADER) {
        small_batch_math(a, &s);
        small_batch_add_all(a);
    } else if (gpu_thread() == 32 * SMALL_BATCH_LOADER) {
        small_batch_load(a, &s);
    }
}

#if defined(__CUDACC__)
static __global__ void __launch_bounds__(SMALL_BATCH_THREADS, 1)
    small_batch_layer(const __grid_constant__ small_batch_args args)
{
#if defined(GPU_IS_SM90A)
    small_batch_body(&args, 0);
#endif
}

static __global__ void __launch_bounds__(SMALL_BATCH_THREADS, 1)
    small_batch_parts_layer(const __grid_constant__ small_batch_args args)
{
#if defined(GPU_IS_SM90A)
    small_batch_body(&args, 1);
#endif
}
#else
GPU_ENTRY(small_batch_layer, small_batch_args, small_batch_body(a, 0))
GPU_ENTRY(small_batch_parts_layer, small_batch_args, small_batch_body(a, 1))
#endif

#endif
