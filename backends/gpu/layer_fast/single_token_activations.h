/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How activations come to single_token.h: some warps carry them from memory to
 * shared memory, the token's first and then, as other blocks have told them,
 * those of one expert after the other; a lane up to four pieces of sixteen
 * bytes.  They look with few instructions: those who multiply are short of
 * them.  And they look for an expert's when the block itself has told its own
 * (single_token_published_by()): others are not far then, while all who look
 * before that stand in the weights' way, some blocks' more than others' (1 us
 * of a layer's 23).
 */
#ifndef GPU_SINGLE_TOKEN_ACTIVATIONS_H
#define GPU_SINGLE_TOKEN_ACTIVATIONS_H

#include "layer_fast/single_token.h"
#include "layer_fast/small_batch.h"
#include "layer_fast/small_batch_acts.h"
#include "port/device.h"

/* Sizes of activations: is one so large that those which are too small do not
   count, and is one not 0? */
enum {
    SINGLE_TOKEN_FAIR = 1,
    SINGLE_TOKEN_SOME = 2,
    SINGLE_TOKEN_LEAST_FAIR = 0x2180 /* 2^-60 */
};

/* A lane's pieces of a row of activations. */
typedef struct single_token_pieces {
    gpu_u128 v[SINGLE_TOKEN_PIECES];
} single_token_pieces;

GPU_FN uint32_t single_token_piece(uint32_t j)
{
    return gpu_thread() - 32 * SINGLE_TOKEN_EPILOGUE_WARPS +
           j * 32 * SINGLE_TOKEN_ACTIVATION_LOADERS;
}

/* They may not be there yet. */
GPU_FN single_token_pieces single_token_look(const uint8_t *from, uint32_t k)
{
    const gpu_u128 nothing = {{0, 0, 0, 0}};
    single_token_pieces p;

    GPU_UNROLL
    for (uint32_t j = 0; j < SINGLE_TOKEN_PIECES; j++) {
        const uint32_t piece = single_token_piece(j);

        p.v[j] =
            piece * 8 < k ? load_relaxed_u16x8(from + 16 * piece) : nothing;
    }
    return p;
}

/* The largest of all halves, of low ones and of high ones. */
GPU_FN uint32_t single_token_largest(const single_token_pieces *p,
                                     uint32_t mask)
{
    uint32_t largest = 0;

    GPU_UNROLL
    for (uint32_t j = 0; j < SINGLE_TOKEN_PIECES; j++) {
        const gpu_u128 v = p->v[j];

        largest = max3_u16x2(largest, v.w[0] & mask, v.w[1] & mask);
        largest = max3_u16x2(largest, v.w[2] & mask, v.w[3] & mask);
    }
    return largest;
}

GPU_FN int single_token_lacks(const single_token_pieces *p)
{
    const uint32_t most = single_token_largest(p, ~0u);

    return most >> 16 == SMALL_BATCH_UNPUBLISHED ||
           (most & 0xffffu) == SMALL_BATCH_UNPUBLISHED;
}

GPU_FN void single_token_measure(const single_token_pieces *p, uint32_t buffer)
{
    single_token_shared *const s = single_token_state();
    const uint32_t most = single_token_largest(p, 0x7fff7fffu);
    const uint32_t is_fair =
        warp_ballot(most >> 16 >= SINGLE_TOKEN_LEAST_FAIR ||
                    (most & 0xffffu) >= SINGLE_TOKEN_LEAST_FAIR);
    const uint32_t is_some = warp_ballot(most != 0);

    if (gpu_thread() % 32 == 0) {
        s->sizes[buffer][gpu_thread() / 32 - SINGLE_TOKEN_EPILOGUE_WARPS] =
            (is_fair ? SINGLE_TOKEN_FAIR : 0) |
            (is_some ? SINGLE_TOKEN_SOME : 0);
        mbarrier_arrive(&s->mbarrier.sizes_ready[buffer]);
    }
}

/* Lifted by 2^80, because codes come as numbers times 2^-126, to where lanes
   find theirs side by side; zeros behind k. */
GPU_FN void single_token_put(const small_batch_args *a,
                             const single_token_pieces *p, uint32_t k,
                             uint32_t buffer)
{
    const uint32_t pieces = (k + SINGLE_TOKEN_SPAN - 1) / SINGLE_TOKEN_SPAN *
                            (SINGLE_TOKEN_SPAN / 8);
    gpu_u128 *const to = single_token_acts(a, buffer);

    GPU_UNROLL
    for (uint32_t j = 0; j < SINGLE_TOKEN_PIECES; j++) {
        const uint32_t piece = single_token_piece(j);
        gpu_u128 v = p->v[j];

        GPU_UNROLL
        for (int i = 0; i < 4; i++) {
            v.w[i] = multiply_bf16x2(v.w[i], 0x67806780u);
        }
        if (piece < pieces) {
            gpu_cell_store_u8x16(to + piece / 16 * 16 + piece % 4 * 4 +
                                     piece / 4 % 4,
                                 small_batch_in_order(v));
        }
    }
}

/* Activations of the first GEMM for an expert of the list. */
GPU_FN const uint8_t *single_token_from(const small_batch_args *a, uint32_t i)
{
    return (const uint8_t *)a->g[1].a +
           2 * (uint64_t)(single_token_state()->pair[i] * small_batch_k(a, 1));
}

/* Activations that are there to where they are multiplied. */
GPU_FN void single_token_hand(const small_batch_args *a,
                              const single_token_pieces *p, uint32_t k,
                              uint32_t buffer)
{
    single_token_put(a, p, k, buffer);
    warp_sync();
    if (gpu_thread() % 32 == 0) {
        mbarrier_arrive(&single_token_state()->mbarrier.ready[buffer]);
    }
    single_token_measure(p, buffer);
}

/* The token's, then expert by expert. */
GPU_FN void single_token_activation_loader(const small_batch_args *a,
                                           const single_token_pieces *token)
{
    const uint32_t k = small_batch_k(a, 1);
    const uint32_t n = single_token_state()->n;
    single_token_pieces p = *token;

    single_token_hand(a, &p, small_batch_k(a, 0), 0);
    GPU_LOOP
    for (uint32_t i = 0; i < n; i++) {
        mbarrier_wait(&single_token_state()->mbarrier.published[i], 0);
        do {
            p = single_token_look(single_token_from(a, i), k);
        } while (back_off_if(single_token_lacks(&p)));
        single_token_hand(a, &p, k, 1 + i);
    }
}

#endif
