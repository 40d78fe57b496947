/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a warp of single_token.h finishes a unit's rows, a lane an output of the
 * first GEMM or a row of the second; and the sum over experts, once a block has
 * all of its rows.
 */
#ifndef GPU_SINGLE_TOKEN_EPILOGUE_H
#define GPU_SINGLE_TOKEN_EPILOGUE_H

#include "layer/layer.h"
#include "layer/layer_act.h"
#include "layer/layer_add.h"
#include "layer_fast/single_token.h"
#include "layer_fast/single_token_activations.h"
#include "layer_fast/single_token_load.h"
#include "layer_fast/single_token_math.h"
#include "layer_fast/small_batch.h"
#include "layer_fast/small_batch_sort.h"
#include "ops/glu.h"
#include "port/device.h"

typedef struct single_token_epilogue {
    const small_batch_args *a;
    uint32_t is_real;
    uint32_t second;
    uint32_t tells;    /* the lane's expert is one to look for from here on */
    uint32_t is_there; /* the lane's row, as what follows */
    uint32_t row;      /* of an expert's */
    uint32_t pair;
    uint64_t number; /* row of the weights, over all experts: the gate */
    uint64_t up;
    float bias[2];
    uint32_t buffer; /* of activations */
    uint32_t slot, parity;
} single_token_epilogue;

GPU_FN void single_token_epilogue_biases(single_token_epilogue *e)
{
    const layer_gemm *const one = &e->a->g[0];
    const layer_gemm *const two = &e->a->g[1];

    e->bias[0] = 0;
    e->bias[1] = 0;
    if (!e->is_there) {
        return;
    }
    if (e->second) {
        if (two->bias_at != LAYER_BIAS_NONE) {
            e->bias[0] = layer_bias(two, e->number);
        }
    } else if (one->bias_at != LAYER_BIAS_NONE) {
        e->bias[0] = layer_bias(one, e->number);
        e->bias[1] = layer_bias(one, e->up);
    }
}

/* The unit behind which expert i's activations are looked for: its last one,
   or, as long as nobody waits for them, the next, when others will have told
   theirs. */
GPU_FN uint32_t single_token_published_by(const single_token_share *s,
                                          uint32_t n, uint32_t i)
{
    const uint32_t last = ((i + 1) * s->rows[0] - 1) / single_token_size(0);

    return i + 2 < n ? last + 1 : last;
}

/* Unit i of a GEMM, and what is to be known of it long before its sums are
   there. */
GPU_FN void single_token_epilogue_turn_to(single_token_epilogue *e,
                                          const single_token_share *s,
                                          uint32_t second, uint32_t i)
{
    const small_batch_args *const a = e->a;
    const single_token_shared *const here = single_token_state();
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t n = small_batch_n(a, second);
    const single_token_unit x = here->unit[second][i];
    const single_token_row r = single_token_row_of(&x, lane);

    e->second = second;
    e->is_there = e->is_real && lane < x.count;
    e->tells = e->is_real && !second && lane < here->n &&
               single_token_published_by(s, here->n, lane) == i;
    const uint32_t at = x.at + (e->is_there ? r.next : 0);
    e->row = (second ? s->first[1] : s->first[0]) + r.row;
    e->buffer = second ? 1 + at : 0;
    e->pair = here->pair[at];
    e->number = (uint64_t)here->expert[at] * n +
                (e->row << single_token_gate_up(a, second));
    e->up = e->number + (a->halves ? n / 2 : 1);
    single_token_epilogue_biases(e);
}

/* A row's sum, by the order of warps and blocks. */
GPU_FN float single_token_epilogue_add(const single_token_epilogue *e,
                                       uint32_t row)
{
    const float *const part = single_token_state()->sums[e->slot][row];
    float sum = 0;

    GPU_UNROLL
    for (int i = 0; i < SINGLE_TOKEN_PARTS; i += 4) {
        const gpu_u128 v = gpu_cell_load_u8x16((const uint8_t *)(part + i));
        const float one = gpu_float(v.w[0]) + gpu_float(v.w[1]);
        const float two = gpu_float(v.w[2]) + gpu_float(v.w[3]);

        sum += one + two;
    }
    return sum;
}

/* The sums are in registers: others may come.  Which lanes' are void? */
GPU_FN uint32_t single_token_epilogue_has(const single_token_epilogue *e)
{
    single_token_shared *const here = single_token_state();
    const uint32_t *const sizes = here->sizes[e->buffer];
    uint32_t rare = 0;
    uint32_t size = 0;

    if (e->is_real) {
        mbarrier_wait(&here->mbarrier.sizes_ready[e->buffer], 0);
    }
    GPU_UNROLL
    for (int w = 0; w < SINGLE_TOKEN_TEAM; w++) {
        rare |= here->rare[e->slot][w];
    }
    GPU_UNROLL
    for (int w = 0; w < SINGLE_TOKEN_ACTIVATION_LOADERS; w++) {
        size |= sizes[w];
    }
    warp_sync();
    if (e->is_real && gpu_thread() % 32 == 0) {
        mbarrier_arrive(&here->mbarrier.sums_empty[e->slot]);
    }
    return size == SINGLE_TOKEN_SOME ? ~0u : rare;
}

/* Whether a row of the stage is rare, or its sum overflowed because an
   activation was too large to be lifted. */
GPU_FN int single_token_epilogue_is_rare(const single_token_epilogue *e,
                                         uint32_t rare, uint32_t row, float sum)
{
    return e->is_there && ((rare >> row / 2 * 4 & 15) != 0 ||
                           !(gpu_fabsf(sum) < (float)GPU_INFINITY));
}

GPU_FN void single_token_epilogue_act(const single_token_epilogue *e)
{
    const layer_gemm *const g = &e->a->g[0];
    const uint32_t lane = gpu_thread() % 8;
    const uint32_t one = e->a->halves ? lane : 2 * lane;
    const uint32_t two = e->a->halves ? lane + 8 : 2 * lane + 1;
    float gate = single_token_epilogue_add(e, one);
    float up = single_token_epilogue_add(e, two);
    const uint32_t rare = single_token_epilogue_has(e);
    glu_two in;

    if (single_token_epilogue_is_rare(e, rare, one, gate) ||
        single_token_epilogue_is_rare(e, rare, two, up)) {
        gate = layer_dot(g, e->pair, e->number);
        up = layer_dot(g, e->pair, e->up);
    }
    in.g = e->is_real ? layer_finish(g, gate, e->bias[0], 0) : 1;
    in.v = e->is_real ? layer_finish(g, up, e->bias[1], 0) : 1;
    const uint32_t y =
        layer_act_one(&e->a->glu, e->a->glu_mode, in, !e->is_real);
    if (e->is_there) {
        publish_u16(g->y, e->pair * ((uint32_t)g->n / 2) + e->row, y);
    }
    if (e->tells) {
        mbarrier_arrive(
            &single_token_state()->mbarrier.published[gpu_thread() % 32]);
    }
}

GPU_FN void single_token_epilogue_row(const single_token_epilogue *e,
                                      const single_token_share *s)
{
    const layer_gemm *const g = &e->a->g[1];
    const uint32_t row = gpu_thread() % SMALL_BATCH_ROWS;
    single_token_shared *const here = single_token_state();
    float sum = single_token_epilogue_add(e, row);

    if (single_token_epilogue_is_rare(e, single_token_epilogue_has(e), row,
                                      sum)) {
        acquire_fence();
        sum = layer_dot(g, e->pair, e->number);
    }
    if (e->is_there) {
        here->term[e->pair][e->row - s->first[1]] =
            layer_finish(g, sum, e->bias[0], here->weight[e->pair]) *
            here->factor[e->pair];
    }
}

/* The layer's output in a row of the block's.  It never is -0 on its way, so
   that zeros make no difference. */
GPU_FN void single_token_add(const small_batch_args *a,
                             const single_token_share *s, uint32_t row,
                             uint32_t is_real)
{
    const layer_sum_args *const sum = &a->sum;
    const single_token_shared *const here = single_token_state();
    float y = 0;

    for (uint32_t first = 0; first < a->p.topk; first += LAYER_LANES) {
        GPU_UNROLL
        for (uint32_t i = first; i < first + LAYER_LANES; i++) {
            y = gpu_fmaf(here->term[i][row], here->fused[i], y);
        }
    }
    y = layer_round(sum->out, y);
    if (is_real) {
        layer_store(sum->out, sum->y, s->first[1] + row, y);
    }
}

/* Blank activations and rows for the next launch. */
GPU_FN void single_token_unpublish(const small_batch_args *a)
{
    enum { WIDTH = 32 * SINGLE_TOKEN_EPILOGUE_WARPS };
    const gpu_u128 blank = {{~0u, ~0u, ~0u, ~0u}};

    GPU_LOOP
    for (uint32_t i = gpu_block() * WIDTH + gpu_thread(); i < a->n_stale;
         i += gpu_grid() * WIDTH) {
        gpu_store_u8x16(a->stale, i, blank);
    }
}

/* Unit i, of the block's, of which `one` are of the first GEMM. */
GPU_FN void single_token_epilogue_unit(single_token_epilogue *e,
                                       const single_token_share *s, uint32_t i,
                                       uint32_t one)
{
    const uint32_t second = i >= one;

    single_token_epilogue_turn_to(e, s, second, second ? i - one : i);
    if (e->is_real) {
        mbarrier_wait(&single_token_state()->mbarrier.sums_full[e->slot],
                      e->parity);
    }
    if (second) {
        single_token_epilogue_row(e, s);
    } else {
        single_token_epilogue_act(e);
    }
}

GPU_FN void single_token_zero(void)
{
    enum {
        WIDTH = 32 * SINGLE_TOKEN_EPILOGUE_WARPS,
        ALL = SINGLE_TOKEN_PAIRS * SINGLE_TOKEN_MOST_ROWS
    };
    float *const term = single_token_state()->term[0];

    GPU_LOOP
    for (uint32_t i = gpu_thread(); i < ALL; i += WIDTH) {
        term[i] = 0;
    }
}

/* Units of the block, those of one warp.  Others wait for what is done here,
   and not for its instructions and arguments to come from far away: each warp
   does its first unit once before, for nothing. */
GPU_FN void single_token_epilogue_units(const small_batch_args *a,
                                        const single_token_share *s)
{
    const uint32_t one = single_token_units(s, 0, single_token_state()->n);
    const uint32_t end =
        one + single_token_units(s, 1, single_token_state()->n);
    single_token_epilogue e;

    e.a = a;
    e.slot = gpu_thread() / 32;
    e.parity = 0;
    e.is_real = 0;
    GPU_LOOP
    for (uint32_t i = e.slot; i < end;) {
        single_token_epilogue_unit(&e, s, i, one);
        if (e.is_real) {
            i += SINGLE_TOKEN_EPILOGUE_WARPS;
            e.slot += SINGLE_TOKEN_EPILOGUE_WARPS;
            if (e.slot >= SINGLE_TOKEN_SLOTS) {
                e.slot -= SINGLE_TOKEN_SLOTS;
                e.parity ^= 1;
            }
        }
        e.is_real = 1;
    }
}

/* So it is with the sum at the end: what it reads then may still be stored by
   others, and is of no use. */
GPU_FN void single_token_epilogue_warps(const small_batch_args *a,
                                        const single_token_share *s)
{
    GPU_LOOP
    for (uint32_t is_real = 0; is_real < 2; is_real++) {
        if (is_real) {
            single_token_epilogue_units(a, s);
            named_barrier(1, 32 * SINGLE_TOKEN_EPILOGUE_WARPS);
        }
        GPU_LOOP
        for (uint32_t i = gpu_thread(); i < s->rows[1];
             i += 32 * SINGLE_TOKEN_EPILOGUE_WARPS) {
            single_token_add(a, s, i, is_real);
        }
    }
}

/* All meet when gates are set and the experts known, and all but those who
   carry once more when there are tables, too.  The first weights are on their
   way by then.  Each kind of warps computes the block's share for itself: kept
   from before they part, it is kept in memory. */
GPU_FN void single_token_body(const small_batch_args *a)
{
    const uint32_t warp = gpu_thread() / 32;

    if (warp == SINGLE_TOKEN_LOADER) {
        single_token_fetch(a);
    } else if (warp < SINGLE_TOKEN_EPILOGUE_WARPS) {
        if (warp == 0) {
            small_batch_call_args(a);
        }
        single_token_init_mbarriers();
        named_barrier(0, SINGLE_TOKEN_THREADS);
        const single_token_share s = single_token_share_of(a);
        single_token_unpublish(a);
        single_token_zero();
        named_barrier(2, SINGLE_TOKEN_MET);
        single_token_epilogue_warps(a, &s);
    } else if (warp < SINGLE_TOKEN_MATH) {
        const single_token_pieces token =
            single_token_look((const uint8_t *)a->g[0].a, small_batch_k(a, 0));
        single_token_init_mbarriers();
        named_barrier(0, SINGLE_TOKEN_THREADS);
        single_token_activation_loader(a, &token);
    } else {
        single_token_init_mbarriers();
        named_barrier(0, SINGLE_TOKEN_THREADS);
        const single_token_share s = single_token_share_of(a);
        single_token_tables(a, &s);
        named_barrier(2, SINGLE_TOKEN_MET);
        single_token_math(a, &s);
    }
}

#if defined(__CUDACC__)
static __global__ void __launch_bounds__(SINGLE_TOKEN_THREADS, 1)
    single_token_layer(const __grid_constant__ small_batch_args args)
{
#if defined(GPU_IS_SM90A)
    single_token_body(&args);
#endif
}
#else
GPU_ENTRY(single_token_layer, small_batch_args, single_token_body(a))
#endif

#endif
