/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How activations come to few_tokens.h: some warps carry them from memory to
 * shared memory, the tokens' first and then, as other blocks have told them,
 * those of one pair after the other; a lane up to four pieces of sixteen
 * bytes.  They look with few instructions: those who multiply are short of
 * them.  And they look for an expert's when the block itself has told its own
 * (few_tokens_published_by()): others are not far then, while all who look
 * before that stand in the weights' way, some blocks' more than others' (1 us
 * of a layer's 23).
 */
#ifndef GPU_FEW_TOKENS_ACTIVATIONS_H
#define GPU_FEW_TOKENS_ACTIVATIONS_H

#include "layer_fast/few_tokens.h"
#include "layer_fast/small_batch.h"
#include "layer_fast/small_batch_acts.h"
#include "port/device.h"

/* Sizes of activations: is one so large that those which are too small do not
   count, and is one not 0? */
enum {
    FEW_TOKENS_FAIR = 1,
    FEW_TOKENS_SOME = 2,
    FEW_TOKENS_LEAST_FAIR = 0x2180 /* 2^-60 */
};

/* A lane's pieces of a row of activations. */
typedef struct few_tokens_pieces {
    gpu_u128 v[FEW_TOKENS_PIECES];
} few_tokens_pieces;

GPU_FN uint32_t few_tokens_piece(uint32_t j)
{
    return gpu_thread() - 32 * FEW_TOKENS_EPILOGUE_WARPS +
           j * 32 * FEW_TOKENS_ACTIVATION_LOADERS;
}

/* They may not be there yet. */
GPU_FN few_tokens_pieces few_tokens_look(const uint8_t *from, uint32_t k)
{
    const gpu_u128 nothing = {{0, 0, 0, 0}};
    few_tokens_pieces p;

    GPU_UNROLL
    for (uint32_t j = 0; j < FEW_TOKENS_PIECES; j++) {
        const uint32_t piece = few_tokens_piece(j);

        p.v[j] =
            piece * 8 < k ? load_relaxed_u16x8(from + 16 * piece) : nothing;
    }
    return p;
}

/* The largest of all halves, of low ones and of high ones. */
GPU_FN uint32_t few_tokens_largest(const few_tokens_pieces *p, uint32_t mask)
{
    uint32_t largest = 0;

    GPU_UNROLL
    for (uint32_t j = 0; j < FEW_TOKENS_PIECES; j++) {
        const gpu_u128 v = p->v[j];

        largest = max3_u16x2(largest, v.w[0] & mask, v.w[1] & mask);
        largest = max3_u16x2(largest, v.w[2] & mask, v.w[3] & mask);
    }
    return largest;
}

GPU_FN int few_tokens_lacks(const few_tokens_pieces *p)
{
    const uint32_t most = few_tokens_largest(p, ~0u);

    return most >> 16 == SMALL_BATCH_UNPUBLISHED ||
           (most & 0xffffu) == SMALL_BATCH_UNPUBLISHED;
}

GPU_FN void few_tokens_measure(const few_tokens_pieces *p, uint32_t row)
{
    few_tokens_shared *const s = few_tokens_state();
    const uint32_t most = few_tokens_largest(p, 0x7fff7fffu);
    const uint32_t is_fair =
        warp_ballot(most >> 16 >= FEW_TOKENS_LEAST_FAIR ||
                    (most & 0xffffu) >= FEW_TOKENS_LEAST_FAIR);
    const uint32_t is_some = warp_ballot(most != 0);

    if (gpu_thread() % 32 == 0) {
        s->sizes[row][gpu_thread() / 32 - FEW_TOKENS_EPILOGUE_WARPS] =
            (is_fair ? FEW_TOKENS_FAIR : 0) | (is_some ? FEW_TOKENS_SOME : 0);
        mbarrier_arrive(&s->mbarrier.row[row].sizes_ready);
    }
}

/* Lifted by 2^80, because codes come as numbers times 2^-126, to where lanes
   find theirs side by side; zeros behind k. */
GPU_FN void few_tokens_put(const small_batch_args *a,
                           const few_tokens_pieces *p, uint32_t k,
                           uint32_t buffer)
{
    const uint32_t pieces =
        (k + FEW_TOKENS_SPAN - 1) / FEW_TOKENS_SPAN * (FEW_TOKENS_SPAN / 8);
    gpu_u128 *const to = few_tokens_acts(a, buffer);

    GPU_UNROLL
    for (uint32_t j = 0; j < FEW_TOKENS_PIECES; j++) {
        const uint32_t piece = few_tokens_piece(j);
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

/* Row x of activations: the tokens', then of the list's pairs. */
GPU_FN const uint8_t *few_tokens_from(const small_batch_args *a,
                                      uint32_t tokens, uint32_t x)
{
    const uint32_t second = x >= tokens;
    const uint32_t row = second ? few_tokens_state()->pair[x - tokens] : x;

    return (const uint8_t *)(second ? a->g[1].a : a->g[0].a) +
           2 * (uint64_t)(row * small_batch_k(a, second));
}

/* Row x, which is there, to where it is multiplied. */
GPU_FN void few_tokens_hand(const small_batch_args *a, uint32_t tokens,
                            const few_tokens_pieces *p, uint32_t x,
                            uint32_t buffer)
{
    few_tokens_put(a, p, small_batch_k(a, x >= tokens), buffer);
    warp_sync();
    if (gpu_thread() % 32 == 0) {
        mbarrier_arrive(&few_tokens_state()->mbarrier.row[x].ready);
    }
    few_tokens_measure(p, x);
}

/* Row x once it is there. */
GPU_FN few_tokens_pieces few_tokens_row_come(const small_batch_args *a,
                                             uint32_t tokens, uint32_t x)
{
    const uint8_t *const from = few_tokens_from(a, tokens, x);
    few_tokens_pieces p;

    if (x < tokens) {
        return few_tokens_look(from, small_batch_k(a, 0));
    }
    mbarrier_wait(&few_tokens_state()->mbarrier.row[x].published, 0);
    do {
        p = few_tokens_look(from, small_batch_k(a, 1));
    } while (back_off_if(few_tokens_lacks(&p)));
    return p;
}

/* The first token's, which are there, then row by row around the ring. */
GPU_FN void few_tokens_activation_loader(const small_batch_args *a,
                                         uint32_t few,
                                         const few_tokens_pieces *token)
{
    few_tokens_mbarriers *const b = &few_tokens_state()->mbarrier;
    const uint32_t tokens = few_tokens_count(a, few);
    const uint32_t end = tokens + few_tokens_pairs(&few_tokens_state()->list);
    few_tokens_pieces p = *token;
    uint32_t buffer = 0;

    few_tokens_hand(a, tokens, &p, 0, 0);
    GPU_LOOP
    for (uint32_t x = 1; x < end; x++) {
        buffer = !few || buffer + 1 < a->buffers ? buffer + 1 : 0;
        if (few && x >= a->buffers) {
            mbarrier_wait(&b->row[x - a->buffers].freed, 0);
        }
        p = few_tokens_row_come(a, tokens, x);
        few_tokens_hand(a, tokens, &p, x, buffer);
    }
}

#endif
