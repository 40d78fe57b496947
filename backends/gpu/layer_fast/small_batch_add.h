/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum over a token's experts, by the warps of small_batch.h that have
 * nothing left to multiply: 32 columns at a time.  Rows tell themselves that
 * they are there, so that a warp looks for them while others still finish them.
 */
#ifndef GPU_SMALL_BATCH_ADD_H
#define GPU_SMALL_BATCH_ADD_H

#include "layer/layer.h"
#include "layer/layer_add.h"
#include "layer_fast/small_batch.h"
#include "port/device.h"

/* Where four of a token's slots are at a column; ~0: not here. */
typedef struct small_batch_slots {
    uint32_t at[LAYER_LANES];
    layer_four four;
} small_batch_slots;

GPU_FN void small_batch_slots_find(const layer_slots *s, uint32_t first,
                                   small_batch_slots *d)
{
    const layer_sum_args *const a = s->a;
    const small_batch_shared *const here = small_batch_state();
    const uint32_t cols = (uint32_t)a->cols;

    GPU_UNROLL
    for (uint32_t i = 0; i < LAYER_LANES; i++) {
        const uint32_t j = first + i < a->p.topk ? first + i : a->p.topk - 1;
        const uint32_t pair = (uint32_t)s->first + j;
        const int is_here = here->expert[pair] >= 0;
        d->at[i] = is_here ? pair * cols + (uint32_t)s->col : ~0u;
        d->four.w[i] = a->weigh ? here->weight[pair] : 1.0f;
        d->four.there[i] = first + i < a->p.topk && (a->keeps || is_here);
    }
}

/* Their rows.  Is one of them not there? */
GPU_FN int small_batch_slots_fetch(const layer_sum_args *a,
                                   small_batch_slots *d)
{
    uint32_t bits[LAYER_LANES];
    int lacks = 0;

    GPU_UNROLL
    for (int i = 0; i < LAYER_LANES; i++) {
        bits[i] = 0;
        if (d->at[i] != ~0u) {
            bits[i] = a->row_type == LAYER_F32
                          ? load_relaxed_u32(a->rows, d->at[i])
                          : load_relaxed_u16(a->rows, d->at[i]) << 16;
        }
    }
    GPU_UNROLL
    for (int i = 0; i < LAYER_LANES; i++) {
        lacks |= bits[i] >> 16 == SMALL_BATCH_UNPUBLISHED;
        d->four.x[i] = gpu_float(bits[i]);
    }
    return lacks;
}

/* Of a token, at a lane's column.  The first four slots stay at hand, what
   comes behind is read anew. */
GPU_FN void small_batch_add(const small_batch_args *a, uint32_t token,
                            uint32_t column)
{
    const layer_sum_args *const s = &a->sum;
    small_batch_slots d;
    const layer_slots of = {s, (uint64_t)token * s->p.topk, column, &d.four};

    for (uint32_t j = LAYER_LANES; j < s->p.topk; j += LAYER_LANES) {
        small_batch_slots_find(&of, j, &d);
        while (back_off_if(small_batch_slots_fetch(s, &d))) {
        }
        acquire_fence();
    }
    small_batch_slots_find(&of, 0, &d);
    while (back_off_if(small_batch_slots_fetch(s, &d))) {
    }
    const int is_plain =
        s->p.topk <= LAYER_LANES &&
        (s->sum == LAYER_SUM_FMA || s->sum == LAYER_SUM_PRODUCT ||
         s->sum == LAYER_SUM_SLOTS);
    const float y = is_plain ? layer_four_more(s->sum, LAYER_F32, 0, &d.four)
                             : layer_sum_of(&of);
    layer_store(s->out, s->y, token * s->cols + column, layer_round(s->out, y));
}

GPU_FN void small_batch_add_all(const small_batch_args *a)
{
    const uint32_t pieces = a->by_pieces.by;
    const uint32_t warp = gpu_thread() / 32 - SMALL_BATCH_EPILOGUE_WARPS;

    GPU_LOOP
    for (uint32_t i = gpu_block() + gpu_grid() * warp; i < a->tokens * pieces;
         i += gpu_grid() * SMALL_BATCH_MATH) {
        const uint32_t token = gpu_quotient(i, a->by_pieces);
        const uint32_t column = (i - token * pieces) * 32 + gpu_thread() % 32;
        small_batch_add(a, token, column);
    }
}

#endif
