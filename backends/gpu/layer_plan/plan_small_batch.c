/* SPDX-License-Identifier: Apache-2.0 */
/* Choice and launch of small_batch.h: whole layers of few tokens.
 */
#include "port/runtime.h"

#if GPU_HAS_SMALL_BATCH
#include "layer/layer.h"
#include "layer_fast/small_batch.h"
#include "layer_fast/small_batch_epilogue.h"
#include "layer_plan/layer_job.h"
#include "layer_plan/plan_few_tokens.h"
#include "ops/dequant.h"

enum {
    SMALL_BATCH_EXPERTS = 4096,
    SMALL_BATCH_PUBLISHED = 8 << 20 /* bytes of what blocks tell each other */
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

/* A stage of whole units, or of their parts. */
static uint32_t small_batch_stage_bytes(const small_batch_args *a,
                                        const layer_gemm *g)
{
    const uint32_t k = (uint32_t)g->k;
    const uint32_t bytes =
        k > a->part ? SMALL_BATCH_ROWS * (a->part / 2 + a->part / LAYER_BLOCK)
                    : SMALL_BATCH_ROWS / 2 * k +
                          2 * SMALL_BATCH_SCALE_ROOM(k / LAYER_BLOCK);

    return (bytes + 127) / 128 * 128;
}

static uint32_t small_batch_shared_bytes(const small_batch_args *a)
{
    return (uint32_t)(sizeof(small_batch_shared) + 127) / 128 * 128 +
           a->buffers * a->act_bytes + a->stages * a->stage_bytes;
}

/* Are rows of a part whole pieces of 16 bytes, of codes and of scales? */
static int small_batch_divides(const layer_gemm *g, uint32_t part)
{
    return g->k <= part || g->k % SMALL_BATCH_SPAN == 0;
}

/* So many stages, of `part` of k, beside two buffers of activations or one: do
   they fit? */
static int small_batch_fits(small_batch_args *a, uint32_t part, uint32_t stages)
{
    a->part = part;
    a->stages = stages;
    const uint32_t one = small_batch_stage_bytes(a, &a->g[0]);
    const uint32_t two = small_batch_stage_bytes(a, &a->g[1]);

    a->stage_bytes = one < two ? two : one;
    for (a->buffers = SMALL_BATCH_BUFFERS; a->buffers > 0; a->buffers--) {
        if (small_batch_shared_bytes(a) <= SMALL_BATCH_SHARED) {
            return small_batch_divides(&a->g[0], part) &&
                   small_batch_divides(&a->g[1], part);
        }
    }
    return 0;
}

/*
 * Stages are a multiple of teams, so that a stage is always the same team's:
 * then nobody mistakes the phase of a gate for the one two before it.  Nor are
 * they more than those who finish, for the gates of sums.  Two for each team
 * with whole units; for up to eight tokens, where four launches take longer,
 * two with parts, which are at most one more than that (small_batch_load()), or
 * one.  Returns whether one of these fits.
 */
static int small_batch_stages(small_batch_args *a)
{
    enum { TWO = 2 * SMALL_BATCH_TEAMS, ONE = SMALL_BATCH_TEAMS };
    const uint32_t k =
        (uint32_t)(a->g[0].k < a->g[1].k ? a->g[1].k : a->g[0].k);

    a->columns = 1;
    while (a->columns < a->tokens && a->columns < SMALL_BATCH_COLUMNS) {
        a->columns *= 2;
    }
    a->act_bytes =
        2 * a->columns *
        ((k + SMALL_BATCH_CHUNK - 1) / SMALL_BATCH_CHUNK * SMALL_BATCH_CHUNK);
    if (small_batch_fits(a, k, TWO)) {
        return 1;
    }
    if (a->tokens > SMALL_BATCH_COLUMNS) {
        return 0;
    }
    for (uint32_t parts = 2; parts <= 3; parts++) {
        const uint32_t spans =
            (k + parts * SMALL_BATCH_SPAN - 1) / (parts * SMALL_BATCH_SPAN);

        if (small_batch_fits(a, spans * SMALL_BATCH_SPAN, TWO)) {
            return 1;
        }
    }
    return small_batch_fits(a, k, ONE);
}

/* Maps of a GEMM's codes and scales, eight rows of a part to a box. */
static mxo_status small_batch_map(small_batch_args *a, int i, uint64_t rows,
                                  mxo_text why)
{
    enum { ELEMENT = 8, ROWS = SMALL_BATCH_ROWS / 2 };
    const layer_gemm *const g = &a->g[i];
    const uint64_t codes = g->k / 2;
    const uint64_t scales = g->k / LAYER_BLOCK;
    const gpu_boxes w = {g->w,
                         ELEMENT,
                         {codes / ELEMENT, rows, 1},
                         {codes, codes * rows},
                         {a->part / 2 / ELEMENT, ROWS, 1}};
    const gpu_boxes s = {g->scale,
                         ELEMENT,
                         {scales / ELEMENT, rows, 1},
                         {scales, scales * rows},
                         {a->part / LAYER_BLOCK / ELEMENT, ROWS, 1}};

    MXO_TRY(gpu_map_of(&w, &a->codes[i], why));
    return gpu_map_of(&s, &a->scales[i], why);
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
        j->experts > SMALL_BATCH_EXPERTS || j->glu.glu.to != GLU_BF16 ||
        j->sum.sum == LAYER_SUM_EXACT) {
        return 0;
    }
    small_batch_fill(&a, j);
    if (!small_batch_takes(&a.g[0]) || !small_batch_takes(&a.g[1])) {
        return 0;
    }
    return small_batch_stages(&a) &&
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
    static const gpu_kernel whole = KERNEL(small_batch_layer, 1);
    static const gpu_kernel parts = KERNEL(small_batch_parts_layer, 1);
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
    if (plan_is_few_tokens(a, scratch->units)) {
        plan_few_tokens(a, plan);
    } else {
        (void)small_batch_stages(a); /* job_is_small_batch() has asked */
        for (int i = 0; i < 2; i++) {
            if (a->g[i].k > a->part) {
                MXO_TRY(small_batch_map(a, i, j->experts * a->g[i].n, why));
            }
        }
        plan->kernel =
            a->g[0].k > a->part || a->g[1].k > a->part ? &parts : &whole;
        plan->threads = SMALL_BATCH_THREADS;
        plan->shared = small_batch_shared_bytes(a);
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
