/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of few_tokens.h: what a block's warps are.  One token has a
 * kernel of its own, in which nothing asks for twins or for room in a ring: who
 * waits for a single instruction notices (1 us of 20).
 */
#ifndef GPU_FEW_TOKENS_KERNEL_H
#define GPU_FEW_TOKENS_KERNEL_H

#include "layer_fast/few_tokens.h"
#include "layer_fast/few_tokens_activations.h"
#include "layer_fast/few_tokens_epilogue.h"
#include "layer_fast/few_tokens_load.h"
#include "layer_fast/few_tokens_math.h"
#include "layer_fast/small_batch.h"
#include "layer_fast/small_batch_sort.h"
#include "port/device.h"

/* Blank activations and rows for the next launch. */
GPU_FN void few_tokens_unpublish(const small_batch_args *a)
{
    enum { WIDTH = 32 * FEW_TOKENS_EPILOGUE_WARPS };
    const gpu_u128 blank = {{~0u, ~0u, ~0u, ~0u}};

    GPU_LOOP
    for (uint32_t i = gpu_block() * WIDTH + gpu_thread(); i < a->n_stale;
         i += gpu_grid() * WIDTH) {
        gpu_store_u8x16(a->stale, i, blank);
    }
}

GPU_FN void few_tokens_zero(void)
{
    enum { WIDTH = 32 * FEW_TOKENS_EPILOGUE_WARPS };
    float *const term = few_tokens_state()->term;

    GPU_LOOP
    for (uint32_t i = gpu_thread(); i < FEW_TOKENS_TERMS; i += WIDTH) {
        term[i] = 0;
    }
}

/* All meet when gates are set and the experts known, and all but those who
   carry once more when there are tables, too.  The first weights are on their
   way by then.  Each kind of warps computes the block's share for itself: kept
   from before they part, it is kept in memory. */
GPU_FN void few_tokens_body(const small_batch_args *a, const uint32_t few)
{
    const uint32_t warp = gpu_thread() / 32;

    if (warp == FEW_TOKENS_LOADER) {
        few_tokens_fetch(a, few);
    } else if (warp < FEW_TOKENS_EPILOGUE_WARPS) {
        if (warp == 0) {
            small_batch_call_args(a);
        } else if (few) {
            small_batch_call_acts(a);
        }
        few_tokens_init_mbarriers(a, few);
        named_barrier(0, FEW_TOKENS_THREADS);
        const few_tokens_share s = few_tokens_share_of(a, few);
        few_tokens_unpublish(a);
        few_tokens_zero();
        named_barrier(2, FEW_TOKENS_MET);
        few_tokens_epilogue_warps(a, &s);
    } else if (warp < FEW_TOKENS_MATH) {
        const few_tokens_pieces token =
            few_tokens_look((const uint8_t *)a->g[0].a, small_batch_k(a, 0));
        few_tokens_init_mbarriers(a, few);
        named_barrier(0, FEW_TOKENS_THREADS);
        few_tokens_activation_loader(a, few, &token);
    } else {
        few_tokens_init_mbarriers(a, few);
        named_barrier(0, FEW_TOKENS_THREADS);
        const few_tokens_share s = few_tokens_share_of(a, few);
        few_tokens_tables(a, &s);
        named_barrier(2, FEW_TOKENS_MET);
        few_tokens_math(a, &s);
    }
}

#if defined(__CUDACC__)
static __global__ void __launch_bounds__(FEW_TOKENS_THREADS, 1)
    single_token_layer(const __grid_constant__ small_batch_args args)
{
#if defined(GPU_IS_SM90A)
    few_tokens_body(&args, 0);
#endif
}

static __global__ void __launch_bounds__(FEW_TOKENS_THREADS, 1)
    few_tokens_layer(const __grid_constant__ small_batch_args args)
{
#if defined(GPU_IS_SM90A)
    few_tokens_body(&args, 1);
#endif
}
#else
GPU_ENTRY(single_token_layer, small_batch_args, few_tokens_body(a, 0))
GPU_ENTRY(few_tokens_layer, small_batch_args, few_tokens_body(a, 1))
#endif

#endif
