/* SPDX-License-Identifier: Apache-2.0 */
/* Choice and launch of small_batch.h: whole layers of few tokens.
 */
#include "port/runtime.h"

#if GPU_HAS_SMALL_BATCH
#include "layer/layer.h"
#include "layer_fast/small_batch.h"
#include "layer_fast/small_batch_epilogue.h"
#include "layer_plan/layer_job.h"
#include "layer_plan/plan_single_token.h"
#include "ops/dequant.h"

enum {
    SMALL_BATCH_PUBLISHED = 8 << 20, /* bytes of what blocks tell each other */
    SMALL_BATCH_LEAST_STAGES = SMALL_BATCH_TEAMS
};

/* Are this GEMM's rows whole units, and copies of them whole pieces of 16? */
static int small_batch_takes(const layer_gemm *g)
{
    const uint64_t bits = (uint64_t)(uintptr_t)g->w |
                          (uint64_t)(uintptr_t)g->scale |
                          (uint64_t)(uintptr_t)g->a;

    return g->k % 32 == 0 && g->n % 32 == 0 && g->k > 0 && g->n > 0 &&
           g->k < 1u << 16 && g->n <= 1u << 18 && g->a_type == LAYER_BF16 &&
           !g->exact &&
           (g->rule & ~(uint32_t)(DEQUANT_ZERO | DEQUANT_INF)) == 0 &&
           bits % 16 == 0;
}

static uint32_t small_batch_stage_bytes(const layer_gemm *g)
{
    const uint32_t blocks = (uint32_t)(g->k / LAYER_BLOCK);

    return (SMALL_BATCH_ROWS / 2 * (uint32_t)g->k +
            2 * SMALL_BATCH_SCALE_ROOM(blocks) + 127) /
           128 * 128;
}

/* Shared memory but for the stages. */
static uint32_t small_batch_fixed(const small_batch_args *a)
{
    return (uint32_t)(sizeof(small_batch_shared) + 127) / 128 * 128 +
           a->buffers * a->act_bytes;
}

/* As many as there is room for, and as are of use. */
static uint32_t small_batch_stages_beside(const small_batch_args *a)
{
    const uint32_t fixed = small_batch_fixed(a);
    const uint32_t n = fixed < SMALL_BATCH_SHARED
                           ? (SMALL_BATCH_SHARED - fixed) / a->stage_bytes
                           : 0;

    return (n < SMALL_BATCH_EPILOGUE_WARPS
                ? n
                : (uint32_t)SMALL_BATCH_EPILOGUE_WARPS) /
           SMALL_BATCH_TEAMS * SMALL_BATCH_TEAMS;
}

/*
 * Stages are a multiple of teams, so that a stage is always the same team's:
 * then nobody mistakes the phase of a gate for the one two before it.  Nor are
 * they more than those who finish, for the gates of sums.
 */
static void small_batch_stages(small_batch_args *a)
{
    a->columns = 1;
    while (a->columns < a->tokens && a->columns < SMALL_BATCH_COLUMNS) {
        a->columns *= 2;
    }
    const uint32_t one = small_batch_stage_bytes(&a->g[0]);
    const uint32_t two = small_batch_stage_bytes(&a->g[1]);

    a->stage_bytes = one < two ? two : one;
    const uint64_t k = a->g[0].k < a->g[1].k ? a->g[1].k : a->g[0].k;
    a->act_bytes = 2 * a->columns *
                   (uint32_t)((k + SMALL_BATCH_CHUNK - 1) / SMALL_BATCH_CHUNK) *
                   SMALL_BATCH_CHUNK;
    a->buffers = 1;
    a->stages = small_batch_stages_beside(a);
    for (a->buffers = SMALL_BATCH_BUFFERS;
         a->buffers > 1 && small_batch_stages_beside(a) < a->stages;
         a->buffers--) {
    }
}

/* Activations between the GEMMs, and rows behind them. */
static uint64_t small_batch_acts_bytes(const small_batch_args *a)
{
    return (2 * a->p.pairs * a->g[1].k + 15) / 16 * 16;
}

static uint64_t small_batch_rows_bytes(const small_batch_args *a)
{
    return (a->p.pairs * a->g[1].n * layer_bytes(a->g[1].out) + 15) / 16 * 16;
}

/* All but what blocks tell each other. */
static void small_batch_fill(small_batch_args *a, const layer_job *j)
{
    memset(a, 0, sizeof *a);
    a->p = j->p;
    a->g[0] = j->one;
    a->g[1] = j->two;
    a->g[1].a_type = LAYER_BF16;
    a->glu = j->glu.glu;
    a->glu_mode = layer_act_mode(&a->glu);
    a->tokens = (uint32_t)j->tokens;
    a->halves = (uint32_t)j->halves;
    a->tiles[0] = (uint32_t)(j->one.n / SMALL_BATCH_ROWS);
    a->tiles[1] = (uint32_t)(j->two.n / SMALL_BATCH_ROWS);
    a->by_topk = divisor_of(a->p.topk);
    a->by_pieces = divisor_of((uint32_t)(j->hidden / 32));
    a->by_tiles[0] = divisor_of(a->tiles[0]);
    a->by_tiles[1] = divisor_of(a->tiles[1]);
}

int job_is_small_batch(const layer_job *j, const gpu_plan *plan)
{
    small_batch_args a;

    if (!plan->scratch->has_tensor_cores || !j->has_sum || !j->has_one ||
        j->p.pairs == 0 || j->p.pairs > SMALL_BATCH_PAIRS ||
        j->glu.glu.to != GLU_BF16 || j->sum.sum == LAYER_SUM_EXACT) {
        return 0;
    }
    small_batch_fill(&a, j);
    if (!small_batch_takes(&a.g[0]) || !small_batch_takes(&a.g[1])) {
        return 0;
    }
    small_batch_stages(&a);
    return a.stages >= SMALL_BATCH_LEAST_STAGES &&
           small_batch_acts_bytes(&a) + small_batch_rows_bytes(&a) <=
               SMALL_BATCH_PUBLISHED;
}

/* Device memory that keeps what launches leave in it; blank at first. */
static mxo_status small_batch_keeps(gpu_scratch *s, void **p, uint64_t n,
                                    mxo_text why)
{
    void *fresh = NULL;

    if (*p != NULL) {
        return MXO_OK;
    }
    mxo_status status = gpu_malloc(&fresh, n);
    if (status != MXO_OK) {
        return gpu_fail(status, why, "no memory for what launches share");
    }
    status = gpu_fill(fresh, 0xff, n, s->lanes.stream[0], why);
    if (status != MXO_OK) {
        gpu_free(fresh);
        return status;
    }
    *p = fresh;
    return MXO_OK;
}

/* Each launch uses one buffer and clears the previous launch's. */
static void small_batch_turn(gpu_plan *plan)
{
    gpu_scratch *const s = plan->scratch;
    small_batch_args *const a = PLAN_ARGS(plan, small_batch_args);
    const uint32_t last = s->turn;
    const uint64_t acts = small_batch_acts_bytes(a);

    s->turn ^= 1;
    a->g[0].y = s->published[s->turn];
    a->g[1].a = s->published[s->turn];
    a->g[1].y = (uint8_t *)s->published[s->turn] + acts;
    a->sum.rows = a->g[1].y;
    a->stale = (gpu_u128 *)s->published[last];
    a->n_stale = s->n_published[last];
    s->n_published[s->turn] =
        (uint32_t)((acts + small_batch_rows_bytes(a)) / 16);
}

/* A graph has the same arguments each time: it clears before, not behind. */
static void small_batch_capture(gpu_plan *plan)
{
    gpu_scratch *const s = plan->scratch;

    small_batch_turn(plan);
    plan->turn = NULL;
    plan->clear = s->published[s->turn];
    plan->n_clear = 16 * (uint64_t)s->n_published[s->turn];
    plan->clear_to = 0xff;
}

mxo_status plan_small_batch(layer_job *j, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(small_batch_layer, 1);
    small_batch_args *const a = PLAN_ARGS(plan, small_batch_args);
    gpu_scratch *const scratch = plan->scratch;

    for (int i = 0; i < 2; i++) {
        MXO_TRY(small_batch_keeps(scratch, &scratch->published[i],
                                  SMALL_BATCH_PUBLISHED, why));
    }
    j->sum.row_type = j->two.out;
    j->sum.y = j->y;
    sum_fill(j);
    small_batch_fill(a, j);
    a->sum = j->sum;
    a->sum.p = j->p;
    plan->turn = small_batch_turn;
    if (plan_is_single_token(a, scratch->units)) {
        plan_single_token(a, plan);
    } else {
        small_batch_stages(a);
        plan->kernel = &kernel;
        plan->threads = SMALL_BATCH_THREADS;
        plan->shared = small_batch_fixed(a) + a->stages * a->stage_bytes;
    }
    plan->blocks = scratch->units;
    plan->together = 1;
    a->by_grid = divisor_of((uint32_t)plan->blocks);
    if (scratch->captures) {
        small_batch_capture(plan);
    }
    return MXO_OK;
}
#endif
