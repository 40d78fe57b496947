/* SPDX-License-Identifier: Apache-2.0 */
/* Choice and launch of single_token.h, for the single tokens that it can take
   among those of small_batch.h. */
#include "port/runtime.h"

#if GPU_HAS_SMALL_BATCH
#include "layer/layer.h"
#include "layer_fast/single_token.h"
#include "layer_fast/single_token_epilogue.h"
#include "layer_fast/small_batch.h"
#include "layer_plan/plan_single_token.h"

/* A stage, and a row of activations. */
static void single_token_sizes(small_batch_args *a)
{
    const uint64_t k = a->g[0].k < a->g[1].k ? a->g[1].k : a->g[0].k;
    const uint64_t codes = SMALL_BATCH_ROWS * k / 2;
    const uint64_t scales =
        SMALL_BATCH_ROWS * k / LAYER_BLOCK + 16 + 4 * SINGLE_TOKEN_GAP;

    a->stage_bytes = (uint32_t)((codes + scales + 127) / 128 * 128);
    a->act_bytes = 2 *
                   (uint32_t)((k + SINGLE_TOKEN_SPAN - 1) / SINGLE_TOKEN_SPAN) *
                   SINGLE_TOKEN_SPAN;
}

static uint32_t single_token_shared_bytes(const small_batch_args *a)
{
    return (uint32_t)(sizeof(single_token_shared) + 127) / 128 * 128 +
           (1 + a->p.topk) * a->act_bytes +
           SINGLE_TOKEN_STAGES * a->stage_bytes;
}

/* Do `units` blocks have a unit of each expert at least, and at most what there
   are tables for? */
static int single_token_fits(const small_batch_args *a, uint64_t units,
                             uint32_t second)
{
    const uint64_t n = second ? a->g[1].n : a->g[0].n / 2;
    const uint64_t size = second ? SMALL_BATCH_ROWS : SMALL_BATCH_ROWS / 2;

    return n / units >= size && n / units < SINGLE_TOKEN_MOST_ROWS &&
           (n / units + 1) * a->p.topk <= SINGLE_TOKEN_UNITS * size &&
           a->g[second].k <=
               32 * 8 * SINGLE_TOKEN_ACTIVATION_LOADERS * SINGLE_TOKEN_PIECES;
}

int plan_is_single_token(small_batch_args *a, uint64_t units)
{
    single_token_sizes(a);
    return a->tokens == 1 && a->p.topk <= SINGLE_TOKEN_PAIRS &&
           (a->sum.sum == LAYER_SUM_FMA || a->sum.sum == LAYER_SUM_PRODUCT ||
            a->sum.sum == LAYER_SUM_SLOTS) &&
           single_token_fits(a, units, 0) && single_token_fits(a, units, 1) &&
           single_token_shared_bytes(a) <= SMALL_BATCH_SHARED;
}

void plan_single_token(const small_batch_args *a, gpu_plan *plan)
{
    static const gpu_kernel kernel = KERNEL(single_token_layer, 1);

    plan->kernel = &kernel;
    plan->threads = SINGLE_TOKEN_THREADS;
    plan->shared = single_token_shared_bytes(a);
}
#endif
