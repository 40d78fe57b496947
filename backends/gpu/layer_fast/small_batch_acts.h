/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How those who multiply (small_batch_math.h) come by a group's activations: a
 * piece of sixteen bytes a thread, up to four columns at once.  Between the
 * GEMMs they look for them until they are there.
 */
#ifndef GPU_SMALL_BATCH_ACTS_H
#define GPU_SMALL_BATCH_ACTS_H

#include "layer_fast/small_batch.h"
#include "port/device.h"

/* Sixteen bytes each, of a row of activations in whole chunks. */
GPU_FN uint32_t small_batch_pieces(const small_batch_args *a, uint32_t second)
{
    return (small_batch_k(a, second) + SMALL_BATCH_CHUNK - 1) /
           SMALL_BATCH_CHUNK * (SMALL_BATCH_CHUNK / 8);
}

/* A piece of a column, eight numbers; zeros behind k. */
GPU_FN gpu_u128 small_batch_piece(const small_batch_args *a,
                                  const small_batch_unit *x, uint32_t column,
                                  uint32_t piece)
{
    const small_batch_shared *const s = small_batch_state();
    const uint32_t at = s->group[x->group].first + column;
    const void *const from = x->second ? a->g[1].a : a->g[0].a;
    const uint32_t row = x->second ? s->list[at] : s->token[at];
    const uint32_t k = small_batch_k(a, x->second);
    const gpu_u128 nothing = {{0, 0, 0, 0}};

    if (piece * 8 >= k) {
        return nothing;
    }
    return load_relaxed_u16x8((const uint8_t *)from + 2 * (uint64_t)(row * k) +
                              16 * piece);
}

/* Whether one of eight activations has not arrived.  Blank ones are zeros of
   ~x; a top bit that the subtraction sets shows one. */
GPU_FN int small_batch_lacks(gpu_u128 v)
{
    uint32_t lacks = 0;

    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        lacks |= (~v.w[i] - 0x10001u) & v.w[i];
    }
    return (lacks & 0x80008000u) != 0;
}

/* A piece as the steps want it: numbers i and i + 4 are neighbours. */
GPU_FN gpu_u128 small_batch_in_order(gpu_u128 v)
{
    gpu_u128 y;

    y.w[0] = gpu_bytes(v.w[0], v.w[2], 0x5410);
    y.w[1] = gpu_bytes(v.w[0], v.w[2], 0x7632);
    y.w[2] = gpu_bytes(v.w[1], v.w[3], 0x5410);
    y.w[3] = gpu_bytes(v.w[1], v.w[3], 0x7632);
    return y;
}

/* To where lanes find theirs of a step side by side. */
GPU_FN void small_batch_put(const small_batch_args *a, const small_batch_run *r,
                            uint32_t column, uint32_t piece, gpu_u128 v)
{
    gpu_cell_store_u8x16(small_batch_acts(a, r->buffer) +
                             (piece / 16 * 16 + piece % 4 * 4) * a->columns +
                             column * 4 + piece / 4 % 4,
                         small_batch_in_order(v));
}

GPU_FN uint32_t small_batch_act_thread(void)
{
    return gpu_thread() - 32 * SMALL_BATCH_EPILOGUE_WARPS;
}

/* A thread's first piece of a run, which may not be there yet: asked for before
   it is needed. */
GPU_FN gpu_u128 small_batch_peek(const small_batch_args *a,
                                 const small_batch_run *r)
{
    return small_batch_piece(a, &r->x, 0, small_batch_act_thread());
}

/* A piece of some columns from `first` on, once it is there.  A warp's lanes
   wait together, and not too eagerly: others are at work. */
GPU_FN void small_batch_take_piece(const small_batch_args *a,
                                   const small_batch_run *r, uint32_t first,
                                   uint32_t piece)
{
    const uint32_t is_piece = piece < small_batch_pieces(a, r->x.second);
    const uint32_t n =
        is_piece ? small_batch_state()->group[r->x.group].n : first;
    gpu_u128 v[SMALL_BATCH_AT_ONCE];
    int lacks;

    do {
        lacks = 0;
        GPU_UNROLL
        for (uint32_t j = 0; j < SMALL_BATCH_AT_ONCE; j++) {
            if (first + j < n) {
                v[j] = small_batch_piece(a, &r->x, first + j, piece);
                lacks |= r->x.second && small_batch_lacks(v[j]);
            }
        }
    } while (back_off_if(lacks));
    GPU_UNROLL
    for (uint32_t j = 0; j < SMALL_BATCH_AT_ONCE; j++) {
        if (first + j < n) {
            small_batch_put(a, r, first + j, piece, v[j]);
        }
    }
}

/* The piece that was peeked at. */
GPU_FN void small_batch_take_peeked(const small_batch_args *a,
                                    const small_batch_run *r, gpu_u128 v)
{
    const uint32_t piece = small_batch_act_thread();

    while (back_off_if(r->x.second && small_batch_lacks(v))) {
        v = small_batch_piece(a, &r->x, 0, piece);
    }
    if (piece < small_batch_pieces(a, r->x.second)) {
        small_batch_put(a, r, 0, piece, v);
    }
}

/* A run's activations.  Columns that its group lacks keep what they have:
   nobody looks at their sums. */
GPU_FN void small_batch_take_acts(const small_batch_args *a,
                                  const small_batch_run *r, gpu_u128 peeked)
{
    const uint32_t n = small_batch_state()->group[r->x.group].n;
    const uint32_t pieces = small_batch_pieces(a, r->x.second);
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t warp = small_batch_act_thread() - lane;

    small_batch_take_peeked(a, r, peeked);
    GPU_LOOP
    for (uint32_t i = warp; i < pieces; i += 32 * SMALL_BATCH_MATH) {
        GPU_LOOP
        for (uint32_t first = i == warp; first < n;
             first += SMALL_BATCH_AT_ONCE) {
            small_batch_take_piece(a, r, first, i + lane);
        }
    }
}

#endif
