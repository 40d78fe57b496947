/* SPDX-License-Identifier: Apache-2.0 */
/* Choice and launch of few_tokens.h, for the calls of one token or two that it
   can take among those of small_batch.h. */
#include "port/runtime.h"

#if GPU_HAS_SMALL_BATCH
#include "layer/layer.h"
#include "layer_fast/few_tokens.h"
#include "layer_fast/few_tokens_kernel.h"
#include "layer_fast/small_batch.h"
#include "layer_plan/plan_few_tokens.h"

/* A stage, and a row of activations. */
static void few_tokens_sizes(small_batch_args *a)
{
    const uint64_t k = a->g[0].k < a->g[1].k ? a->g[1].k : a->g[0].k;
    const uint64_t codes = SMALL_BATCH_ROWS * k / 2;
    const uint64_t scales =
        SMALL_BATCH_ROWS * k / LAYER_BLOCK + 16 + 4 * FEW_TOKENS_GAP;

    a->stage_bytes = (uint32_t)((codes + scales + 127) / 128 * 128);
    a->act_bytes = 2 * (uint32_t)((k + FEW_TOKENS_SPAN - 1) / FEW_TOKENS_SPAN) *
                   FEW_TOKENS_SPAN;
}

static uint32_t few_tokens_shared_bytes(const small_batch_args *a)
{
    return (uint32_t)(sizeof(few_tokens_shared) + 127) / 128 * 128 +
           a->buffers * a->act_bytes + FEW_TOKENS_STAGES * a->stage_bytes;
}

/* As many buffers of activations as there are rows, or room.  A unit may need
   two rows while the next one comes: less than two beside the tokens' would
   have to wait for themselves. */
static int few_tokens_buffers(small_batch_args *a)
{
    const uint32_t rows = a->tokens + (uint32_t)a->p.pairs;
    const uint32_t limit = a->tokens > 1 ? (uint32_t)FEW_TOKENS_BUFFERS : rows;
    const uint32_t most = rows < limit ? rows : limit;

    a->buffers = 0;
    const uint32_t rest = few_tokens_shared_bytes(a);
    if (rest > SMALL_BATCH_SHARED) {
        return 0;
    }
    const uint32_t room = (SMALL_BATCH_SHARED - rest) / a->act_bytes;
    a->buffers = room < most ? room : most;
    return a->buffers == rows || (a->tokens > 1 && a->buffers >= a->tokens + 2);
}

/* Do `units` blocks have a unit of each expert at least, and at most what there
   are tables for? */
static int few_tokens_fits(const small_batch_args *a, uint64_t units,
                           uint32_t second)
{
    const uint64_t n = second ? a->g[1].n : a->g[0].n / 2;
    const uint64_t size = second ? SMALL_BATCH_ROWS : SMALL_BATCH_ROWS / 2;

    return n / units >= size && n / units < FEW_TOKENS_MOST_ROWS &&
           (n / units + 1) * a->p.pairs <= FEW_TOKENS_UNITS * size &&
           a->g[second].k <=
               32 * 8 * FEW_TOKENS_ACTIVATION_LOADERS * FEW_TOKENS_PIECES;
}

int plan_is_few_tokens(small_batch_args *a, uint64_t units)
{
    if (a->tokens > FEW_TOKENS_TOKENS || a->p.topk > 8 ||
        !(a->sum.sum == LAYER_SUM_FMA || a->sum.sum == LAYER_SUM_PRODUCT ||
          a->sum.sum == LAYER_SUM_SLOTS)) {
        return 0;
    }
    few_tokens_sizes(a);
    a->places = a->p.topk > 4 ? 3 : 2;
    a->terms = (uint32_t)(a->g[1].n / units + 1);
    return few_tokens_fits(a, units, 0) && few_tokens_fits(a, units, 1) &&
           (uint64_t)a->tokens * a->terms << a->places <= FEW_TOKENS_TERMS &&
           few_tokens_buffers(a);
}

void plan_few_tokens(const small_batch_args *a, gpu_plan *plan)
{
    static const gpu_kernel one = KERNEL(single_token_layer, 1);
    static const gpu_kernel few = KERNEL(few_tokens_layer, 1);

    plan->kernel = a->tokens == 1 ? &one : &few;
    plan->threads = FEW_TOKENS_THREADS;
    plan->shared = few_tokens_shared_bytes(a);
}
#endif
