/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's part of the epilogue of prefill_math.cuh; and the sums of tiles
 * whose scales exceed BF16's range.
 */
#ifndef GPU_PREFILL_END_CUH
#define GPU_PREFILL_END_CUH

#include "layer/layer.h"
#include "layer_fast/prefill.cuh"
#include "layer_fast/prefill_math.cuh"
#include "port/device.h"

#if defined(GPU_IS_SM90A)
/* State of a thread in the epilogue. */
template <int BLOCKS> struct prefill_end {
    const prefill_args *a;
    prefill_tile t;
    uint32_t m;
    const prefill_turn *known;
    uint32_t *turned; /* the warp's */
    float bias[BLOCKS * 2];
};

/* Lowest and highest byte, by every warp for itself. */
GPU_FN void prefill_extremes(const uint8_t *scales, uint32_t bytes,
                             uint32_t *low, uint32_t *high)
{
    for (uint32_t i = threadIdx.x % 32; i < bytes; i += 32) {
        const uint32_t x = scales[i];
        *low = x < *low ? x : *low;
        *high = x > *high ? x : *high;
    }
    *low = __reduce_min_sync(0xffffffffu, *low);
    *high = __reduce_max_sync(0xffffffffu, *high);
}

/* Do the tile's scales exceed what factors can hold?  Then all are shifted, or
   (returned) sums must be done without tensor cores. */
GPU_FN int prefill_range(const prefill_block *b, const uint8_t *scales,
                         const prefill_turn *turn, uint32_t *shift)
{
    const uint32_t blocks = (uint32_t)(b->a->g.k / LAYER_BLOCK);
    uint32_t low = 255, high = 0;

    *shift = 0;
    if ((turn->large[0] | turn->large[1] | turn->large[2]) == 0) {
        return 0;
    }
    prefill_extremes(scales, prefill_rows(b->a, turn->m, 0) * blocks, &low,
                     &high);
    prefill_extremes(scales + PREFILL_ROWS / 2 * blocks,
                     prefill_rows(b->a, turn->m, 1) * blocks, &low, &high);
    *shift = high > 128 && high <= 192 ? high - 128 : 0;
    return high > 192 || (high > 128 && low < 64);
}

/* Row of the tile's expert that row r of a warp's block is. */
template <int BLOCKS>
GPU_FN uint32_t prefill_weight_row(const prefill_args *a, uint32_t m,
                                   uint32_t block, uint32_t r)
{
    const uint32_t row = prefill_row_of<BLOCKS>(a, threadIdx.x / 32, block, r);

    return row < PREFILL_ROWS / 2
               ? prefill_first(a, m) + row
               : prefill_second(a, m) + row - PREFILL_ROWS / 2;
}

/* Whether that row exists. */
template <int BLOCKS>
GPU_FN int prefill_is_row(const prefill_args *a, uint32_t m, uint32_t block,
                          uint32_t r)
{
    const uint32_t row = prefill_row_of<BLOCKS>(a, threadIdx.x / 32, block, r);
    const uint32_t half = row >= PREFILL_ROWS / 2;

    return row - half * (PREFILL_ROWS / 2) < prefill_rows(a, m, half);
}

/* A sum in binary64, for weights beyond BF16. */
GPU_SLOW float prefill_dot(const prefill_args *a, const prefill_tile *t,
                           uint32_t col, uint32_t row)
{
    const layer_gemm *const g = &a->g;
    const layer_row r = {g, 0, t->expert * g->n + row, 0};
    double sum = 0;

    for (uint64_t at = 0; at * LAYER_BLOCK < g->k; at++) {
        const layer_block k = layer_block_at(&r, at);
        for (uint64_t i = k.first; i < k.end; i++) {
            const float x = layer_load(
                LAYER_BF16, g->a, prefill_at(t, g->pitch, col, (uint32_t)i));
            sum += (double)x * layer_weight(g->rule, k.byte, k.power,
                                            layer_code(g, r.w * g->k + i));
        }
    }
    return (float)sum;
}

/* All of a thread's sums so, or those that a shift may have lost. */
template <int BLOCKS>
GPU_FN void prefill_repair(const prefill_end<BLOCKS> *e, int is_all,
                           uint32_t shift, float *acc)
{
    const uint32_t width = PREFILL_WIDTH(BLOCKS) / 2;
    const uint32_t lane = threadIdx.x % 32;
    float all[BLOCKS * PREFILL_WIDTH(BLOCKS) / 2];

    GPU_UNROLL
    for (uint32_t i = 0; i < BLOCKS * width; i++) {
        all[i] = acc[i];
    }
    GPU_LOOP
    for (uint32_t i = 0; i < BLOCKS * width; i++) {
        const uint32_t block = i / width;
        const uint32_t r = lane / 4 + (i >> 1 & 1) * 8;
        const uint32_t col = i % width / 4 * 8 + lane % 4 * 2 + (i & 1);

        if (col < e->t.n && prefill_is_row<BLOCKS>(e->a, e->m, block, r) &&
            (is_all || layer_is_lost(shift, all[i]))) {
            all[i] =
                prefill_dot(e->a, &e->t, col,
                            prefill_weight_row<BLOCKS>(e->a, e->m, block, r));
        }
    }
    GPU_UNROLL
    for (uint32_t i = 0; i < BLOCKS * width; i++) {
        acc[i] = all[i];
    }
}
#endif

#endif
