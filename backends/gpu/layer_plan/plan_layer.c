/* SPDX-License-Identifier: Apache-2.0 */
/* moe.layer, moe.gemm1, moe.gemm2: sizes, tensors, and the plain launches. */
#include "host/call.h"
#include "host/plans.h"
#include "layer/layer.h"
#include "layer/layer_act.h"
#include "layer/layer_add.h"
#include "layer/layer_any.h"
#include "layer/layer_operands.h"
#include "layer_plan/layer_job.h"
#include "layer_plan/layer_read.h"
#include "ops/glu.h"
#include "ops/glu_steps.h"
#include "port/runtime.h"

GPU_ENTRY(layer_plain, layer_args, layer_plain_body(a))
GPU_ENTRY(layer_glu, layer_glu_args, layer_glu_body(a))
GPU_ENTRY(layer_add, layer_sum_args, layer_sum_body(a))
GPU_ENTRY(layer_any_add, layer_sum_args, layer_any_sum_body(a))
GPU_ENTRY(layer_operands, layer_operands_args, layer_operands_body(a))

/* The type of what leaves a GEMM: float where a bias came behind it. */
static uint32_t job_leaves(const layer_gemm *g)
{
    return g->bias_at >= LAYER_BIAS_BEHIND ? (uint32_t)LAYER_F32 : g->out;
}

/* The result, which the last step that there is writes. */
static mxo_status job_output(layer_job *j, mxo_text why)
{
    const uint64_t rows = j->has_sum ? j->tokens : j->p.pairs;
    const uint64_t cols = j->has_two   ? j->hidden
                          : j->has_glu ? j->inter
                                       : 2 * j->inter;
    uint32_t type;

    if (j->has_sum) {
        type = j->sum.out;
    } else if (j->has_two) {
        type = job_leaves(&j->two);
    } else if (j->has_glu) {
        type = j->glu.glu.to;
    } else {
        type = job_leaves(&j->one);
    }
    const uint32_t dtype = job_dtype(type);
    const gpu_want sum = {dtype, 2, {rows, cols}};
    const gpu_want slots = {dtype, 3, {j->tokens, j->p.topk, cols}};
    uint8_t *at = NULL;
    const mxo_status status =
        need_shaped(j->call, 1, "y", j->has_sum ? &sum : &slots, &at, why);

    j->y = at;
    j->y_bytes = rows * cols * layer_bytes(type);
    return status;
}

/* Room for one GEMM's rows as numbers, [rows, k], and their scales. */
typedef struct job_room {
    uint64_t x, scale;
} job_room;

static job_room job_rows_room(const layer_job *j, int second, uint64_t *end)
{
    const layer_gemm *const g = second ? &j->two : &j->one;
    const uint64_t rows = second ? j->p.pairs : j->tokens;
    const uint64_t blocks = (g->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    const int makes =
        (second ? j->has_two : j->has_one) && job_makes_rows(j, second);
    job_room room;

    room.x = job_take(end, makes ? 8 * rows * g->k : 0);
    room.scale = job_take(end, makes ? 8 * rows * blocks : 0);
    return room;
}

/* The rows of a GEMM become numbers there. */
static void job_rows(layer_job *j, int second, uint8_t *base, job_room room)
{
    layer_gemm *const g = second ? &j->two : &j->one;
    layer_operands_args *const o = &j->rows[second];
    layer_order *const order = &j->rest[second].order;

    if (!(second ? j->has_two : j->has_one) || !job_makes_rows(j, second)) {
        return;
    }
    o->from = g->a;
    o->type = g->a_type;
    o->from_scale = g->a_scale;
    o->rows = second ? j->p.pairs : j->tokens;
    o->k = g->k;
    o->x = (double *)(void *)(base + room.x);
    o->scale = order->kind == LAYER_ORDER_BLOCK
                   ? (double *)(void *)(base + room.scale)
                   : NULL;
    o->weigh = !second && j->by_input;
    order->scale = o->scale;
    g->a = o->x;
    g->a_type = LAYER_F64;
}

/* Epilogue of a GEMM's sums beside their rounding. */
static void job_rest(layer_job *j, int second)
{
    const layer_gemm *const g = second ? &j->two : &j->one;
    layer_args *const a = &j->rest[second];
    const int late = second && j->behind[1] > 2 && g->weigh == 2;
    const float power = j->behind[second] > 2 ? 0x1p119f : 1.0f;

    a->early = late ? 1.0f : power;
    a->late = j->behind[second] == 2 ? 4.0f : 1.0f;
    a->weight = late ? power : 1.0f;
    a->leaves =
        second && j->has_sum && j->is_any ? (uint32_t)LAYER_F32 : job_leaves(g);
}

static mxo_status job_table(layer_job *j, uint8_t *at, mxo_text why)
{
    if (j->table == NULL) {
        return MXO_OK;
    }
    j->glu.glu.table = (const glu_constants *)(const void *)at;
    return call_send(j->call, at, j->table, j->experts * sizeof *j->table, why);
}

/* Intermediates of the steps, in the context's scratch. */
mxo_status job_scratch(layer_job *j, gpu_scratch *scratch, mxo_text why)
{
    uint64_t end = j->kept;
    job_rest(j, 0);
    job_rest(j, 1);
    const uint64_t h =
        job_take(&end, j->has_glu ? j->p.pairs * j->one.n *
                                        layer_bytes(j->rest[0].leaves)
                                  : 0);
    const uint64_t act =
        job_take(&end, j->has_glu && j->has_two
                           ? j->p.pairs * j->inter * layer_bytes(j->glu.glu.to)
                           : 0);
    const uint64_t rows =
        job_take(&end, j->has_sum ? j->p.pairs * j->hidden *
                                        layer_bytes(j->rest[1].leaves)
                                  : 0);
    const uint64_t table =
        job_take(&end, j->table == NULL ? 0 : j->experts * sizeof *j->table);
    const job_room one = job_rows_room(j, 0, &end);
    const job_room two = job_rows_room(j, 1, &end);

    j->used = end;
    MXO_TRY(scratch_need(scratch, end, why));
    uint8_t *const base = (uint8_t *)scratch->p;

    j->one.y = j->has_glu ? base + h : j->y;
    j->glu.glu.gate = j->one.y;
    j->glu.glu.up = j->one.y;
    j->glu.glu.y = j->has_two ? base + act : j->y;
    j->glu.weigh = (uint32_t)j->by_glu;
    if (j->has_one) {
        j->two.a = j->glu.glu.y;
        j->two.a_type = j->glu.glu.to;
    }
    j->two.y = j->has_sum ? base + rows : j->y;
    j->sum.rows = j->two.y;
    j->sum.row_type = j->rest[1].leaves;
    j->sum.step = j->two.out;
    j->sum.y = j->y;
    job_rows(j, 0, base, one);
    job_rows(j, 1, base, two);
    return job_table(j, base + table, why);
}

gpu_plan *step_rows(gpu_plan *plan, const layer_job *j,
                    const layer_operands_args *rows)
{
    static const gpu_kernel make = KERNEL(layer_operands, 0);
    const uint64_t groups = (rows->k + rows->group - 1) / rows->group;
    gpu_plan *const step = plan_step(plan, &make, rows->rows * groups);

    if (step != NULL) {
        layer_operands_args *const a = PLAN_ARGS(step, layer_operands_args);
        *a = *rows;
        a->p = j->p;
        a->when = j->when;
    }
    return step;
}

/* sums: NULL, or known, so that only what follows them is done. */
int step_gemm(gpu_plan *plan, const layer_job *j, int second, const float *sums)
{
    static const gpu_kernel plain = KERNEL(layer_plain, 0);
    const layer_gemm *const g = second ? &j->two : &j->one;

    if (sums == NULL && g->a_type == LAYER_F64 &&
        step_rows(plan, j, &j->rows[second]) == NULL) {
        return 0;
    }
    gpu_plan *const step = plan_step(plan, &plain, j->p.pairs * g->n);
    if (step != NULL) {
        layer_args *const a = PLAN_ARGS(step, layer_args);
        *a = j->rest[second];
        a->p = j->p;
        a->g = *g;
        a->sums = sums;
        a->when = j->when;
    }
    return step != NULL;
}

int step_glu(gpu_plan *plan, layer_job *j)
{
    static const gpu_kernel glu = KERNEL(layer_glu, 0);
    glu_args *const u = &j->glu.glu;
    gpu_plan *const step = plan_step(plan, &glu, j->p.pairs * j->inter);

    u->cols = j->inter;
    u->outputs = j->p.pairs * j->inter;
    u->interleaved = !j->halves;
    if (step != NULL) {
        layer_glu_args *const a = PLAN_ARGS(step, layer_glu_args);
        *a = j->glu;
        a->p = j->p;
        a->when = j->when;
    }
    return step != NULL;
}

/* All fields of the sum but addresses. */
void sum_fill(layer_job *j)
{
    const char *const absent = layer_word(j->call, "absent");

    j->sum.cols = j->hidden;
    j->sum.outputs = j->tokens * j->hidden;
    j->sum.columns = divisor_of((uint32_t)j->hidden);
    j->sum.keeps = absent != NULL && strcmp(absent, "zero") == 0;
}

gpu_plan *step_sum(gpu_plan *plan, layer_job *j, const gpu_kernel *add)
{
    gpu_plan *const step = plan_step(plan, add, j->tokens * j->hidden);

    sum_fill(j);
    if (step != NULL) {
        layer_sum_args *const a = PLAN_ARGS(step, layer_sum_args);
        *a = j->sum;
        a->p = j->p;
        a->when = j->when;
    }
    return step;
}

int step_any_sum(gpu_plan *plan, layer_job *j)
{
    static const gpu_kernel add = KERNEL(layer_add, 0);
    static const gpu_kernel any = KERNEL(layer_any_add, 0);

    return step_sum(plan, j, j->is_any ? &any : &add) != NULL;
}

mxo_status job_steps(layer_job *j, gpu_plan *plan, mxo_text why)
{
    MXO_TRY(job_scratch(j, plan->scratch, why));
    int done = 1;

    if (j->has_one) {
        done = done && step_gemm(plan, j, 0, NULL);
    }
    if (j->has_glu) {
        done = done && step_glu(plan, j);
    }
    if (j->has_two) {
        done = done && step_gemm(plan, j, 1, NULL);
    }
    if (j->has_sum) {
        done = done && step_any_sum(plan, j);
    }
    return done ? MXO_OK
                : gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
}

/* fused.cuh multiplies an expert's pairs side by side: from how many on is it
   faster than small_batch.h? */
enum { FUSED_LEAST_SHARE = 6 };

static mxo_status job_plan(layer_job *j, gpu_plan *plan, mxo_text why)
{
    int is_crowded = 0;

#if GPU_HAS_FUSED
    const int is_fused = !j->is_any && job_is_fused(j, plan);

    is_crowded = is_fused && j->p.pairs / j->experts >= FUSED_LEAST_SHARE;
#endif
#if GPU_HAS_SMALL_BATCH
    if (!j->is_any && !is_crowded && job_is_small_batch(j, plan)) {
        return plan_small_batch(j, plan, why);
    }
#endif
#if GPU_HAS_FUSED
    if (is_fused) {
        return plan_fused(j, plan, why);
    }
#endif
    (void)is_crowded;
    if (job_has_products(j, plan)) {
        return plan_products(j, plan, why);
    }
    return job_steps(j, plan, why);
}

mxo_status plan_layer(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    layer_job j;

    if (!layer_reads(call)) {
        return plan_loaded(call, plan, why);
    }
    mxo_status status = job_read(&j, call, why);

    plan->cold = 1;
    if (status == MXO_OK) {
        status = job_output(&j, why);
    }
    j.one.share = j.p.topk;
    j.two.share = 1;
    j.one.pitch = j.one.k;
    j.two.pitch = j.two.k;
    if (status == MXO_OK) {
        status = job_plan(&j, plan, why);
    }
    free(j.table);
    return status;
}

mxo_status plan_layer_behind(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    gpu_plan *const layer = plan_append(plan);

    if (layer == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
    }
    MXO_TRY(plan_layer(call, layer, why));
    layer->overlaps = 0;
    plan->cold = 1;
    return MXO_OK;
}
