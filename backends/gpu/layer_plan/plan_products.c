/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer of a profile that layer_fast/ does not know, where its sums have
 * no order of their own: rows are made in BF16 (quantised and read back, a
 * number of E4M3 or E2M1 under a power of two is one), the tensor cores give
 * the sums, and the plain launches do what the profile says of biases, types
 * and weights.  A row that has no BF16 marks the call; then the plain launches
 * compute all of it, which else end at once.
 */
#include "layer/layer.h"
#include "layer/layer_operands.h"
#include "layer_plan/layer_job.h"
#include "layer_plan/layer_read.h"
#include "ops/dequant.h"
#include "port/runtime.h"

enum { PRODUCTS_MOST = 7168, PRODUCTS_EXPERTS = 1024, PRODUCTS_MARK = 256 };

/* Of each GEMM: rows in BF16, sums. */
typedef struct products_room {
    uint64_t rows[2], sums[2], end;
} products_room;

static uint64_t products_rows(const layer_job *j, int second)
{
    return second ? j->p.pairs : j->tokens;
}

static products_room products_room_of(const layer_job *j)
{
    products_room r;

    r.end = PRODUCTS_MARK;
    for (int i = 0; i < 2; i++) {
        const layer_gemm *const g = i ? &j->two : &j->one;
        const uint64_t has = (uint64_t)(i ? j->has_two : j->has_one);
        const uint64_t rows = job_makes_rows(j, i) ? products_rows(j, i) : 0;

        r.rows[i] = job_take(&r.end, 2 * has * rows * g->k);
        r.sums[i] = job_take(&r.end, 4 * has * j->p.pairs * g->n);
    }
    return r;
}

/* Are the rows of a GEMM BF16, or made so that they nearly always are? */
static int products_rows_fit(const layer_job *j, int second)
{
    const layer_gemm *const g = second ? &j->two : &j->one;
    const int joined = second && j->has_one;
    const uint32_t type = joined ? j->glu.glu.to : g->a_type;

    if (job_makes_rows(j, second)) {
        return j->rows[second].op != LAYER_AS_IS || type == LAYER_CODES ||
               type == LAYER_BF16;
    }
    return type == LAYER_BF16 && (joined || (uintptr_t)g->a % 16 == 0);
}

static int products_take(const layer_job *j, int second)
{
    const layer_gemm *const g = second ? &j->two : &j->one;
    const uintptr_t bits = (uintptr_t)g->w | (uintptr_t)g->scale;

    return j->rest[second].order.kind == LAYER_ORDER_ANY && !g->exact &&
           j->behind[second] == 0 && g->bias_at != LAYER_BIAS_SUM &&
           (g->rule & ~(uint32_t)(DEQUANT_ZERO | DEQUANT_INF)) == 0 &&
           g->k % 32 == 0 && g->n % 32 == 0 && g->k > 0 && g->n > 0 &&
           g->k <= PRODUCTS_MOST && bits % 16 == 0 &&
           products_rows_fit(j, second);
}

int job_has_products(const layer_job *j, const gpu_plan *plan)
{
    return plan->scratch->has_tensor_cores && j->p.pairs > 0 &&
           j->p.pairs < 1u << 24 && j->experts <= PRODUCTS_EXPERTS &&
           (!j->has_one || products_take(j, 0)) &&
           (!j->has_two || products_take(j, 1));
}

/* One GEMM alone: sums in binary32, nothing behind them. */
static layer_job products_half(const layer_job *j, int second,
                               const products_room *r, uint8_t *base)
{
    layer_job h = *j;
    layer_gemm *const g = second ? &h.two : &h.one;
    layer_args *const rest = &h.rest[second];

    h.has_one = !second;
    h.has_two = second;
    h.has_glu = 0;
    h.has_sum = 0;
    h.is_any = 0;
    h.y = base + r->sums[second];
    h.y_bytes = 4 * h.p.pairs * g->n;
    if (job_makes_rows(j, second)) {
        g->a = base + r->rows[second];
    }
    g->a_type = LAYER_BF16;
    g->y = h.y;
    g->bias_at = LAYER_BIAS_NONE;
    g->bias = NULL;
    g->mid = LAYER_F32;
    g->out = LAYER_F32;
    g->weigh = 0;
    rest->given = NULL;
    rest->early = 1;
    rest->late = 1;
    rest->weight = 1;
    rest->leaves = LAYER_F32;
    return h;
}

/* Room for all: what plain launches share, and then for either GEMM. */
static mxo_status products_scratch(layer_job *j, gpu_scratch *scratch,
                                   const products_room *r, mxo_text why)
{
    layer_job probe = *j;

    probe.kept = r->end;
    MXO_TRY(job_scratch(&probe, scratch, why));
    j->used = probe.used;
#if GPU_HAS_FUSED
    uint64_t most = 0;

    for (int i = 0; i < 2; i++) {
        if (i ? j->has_two : j->has_one) {
            layer_job h = products_half(j, i, r, (uint8_t *)scratch->p);
            h.kept = probe.used;
            const uint64_t bytes = fused_bytes(&h);
            most = most < bytes ? bytes : most;
        }
    }
    return scratch_need(scratch, most, why);
#else
    return MXO_OK;
#endif
}

static mxo_status products_memory(mxo_text why)
{
    return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
}

static int step_narrow_rows(gpu_plan *plan, const layer_job *j, int second,
                            const products_room *r)
{
    uint8_t *const base = (uint8_t *)plan->scratch->p;
    layer_operands_args o = j->rows[second];

    o.x = NULL;
    o.narrow = (uint16_t *)(void *)(base + r->rows[second]);
    o.misfits = (uint32_t *)(void *)base;
    gpu_plan *const step = step_rows(plan, j, &o);

    if (step != NULL && (!second || !j->has_one || !job_makes_rows(j, 0))) {
        step->clear = base;
        step->n_clear = PRODUCTS_MARK;
    }
    return step != NULL;
}

/* Rows, the tensor cores' sums, and what the profile makes of them. */
static mxo_status step_products(gpu_plan *plan, const layer_job *j, int second,
                                const products_room *r, mxo_text why)
{
    uint8_t *const base = (uint8_t *)plan->scratch->p;
    layer_job h = products_half(j, second, r, base);

    if (job_makes_rows(j, second) && !step_narrow_rows(plan, j, second, r)) {
        return products_memory(why);
    }
    h.kept = j->used;
#if GPU_HAS_FUSED
    MXO_TRY(plan_fused(&h, plan, why));
#else
    if (!step_gemm(plan, &h, second, NULL)) {
        return products_memory(why);
    }
#endif
    return step_gemm(plan, j, second, (const float *)h.y)
               ? MXO_OK
               : products_memory(why);
}

static mxo_status products_steps(layer_job *j, gpu_plan *plan,
                                 const products_room *r, mxo_text why)
{
    if (j->has_one) {
        MXO_TRY(step_products(plan, j, 0, r, why));
    }
    if (j->has_glu && !step_glu(plan, j)) {
        return products_memory(why);
    }
    if (j->has_two) {
        MXO_TRY(step_products(plan, j, 1, r, why));
    }
    return j->has_sum && !step_any_sum(plan, j) ? products_memory(why) : MXO_OK;
}

mxo_status plan_products(layer_job *j, gpu_plan *plan, mxo_text why)
{
    const products_room r = products_room_of(j);
    const int may_miss = (j->has_one && job_makes_rows(j, 0)) ||
                         (j->has_two && job_makes_rows(j, 1));
    layer_job again = *j;

    MXO_TRY(products_scratch(j, plan->scratch, &r, why));
    j->kept = r.end;
    MXO_TRY(job_scratch(j, plan->scratch, why));
    MXO_TRY(products_steps(j, plan, &r, why));
    if (!may_miss) {
        return MXO_OK;
    }
    again.kept = r.end;
    again.when = (const uint32_t *)plan->scratch->p;
    return job_steps(&again, plan, why);
}
