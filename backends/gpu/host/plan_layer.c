/* SPDX-License-Identifier: Apache-2.0 */
/* moe.layer, moe.gemm1, moe.gemm2: sizes, tensors, and the plain launches. */
#include "host/call.h"
#include "host/layer_job.h"
#include "host/plan_recipe.h"
#include "host/plans.h"
#include "layer/layer.h"
#include "layer/layer_act.h"
#include "layer/layer_add.h"
#include "ops/glu.h"
#include "ops/glu_steps.h"
#include "port/runtime.h"

GPU_ENTRY(layer_plain, layer_args, layer_plain_body(a))
GPU_ENTRY(layer_glu, layer_glu_args, layer_glu_body(a))
GPU_ENTRY(layer_add, layer_sum_args, layer_sum_body(a))

/* Tensors of one GEMM; its matrix has n rows per expert and k columns. */
static mxo_status job_weights(const layer_job *j, layer_gemm *g, int second,
                              mxo_text why)
{
    static const char *const names[2][3] = {{"w13", "w13_scale", "w13_bias"},
                                            {"w2", "w2_scale", "w2_bias"}};
    const char *const *const name = names[second];
    const uint64_t blocks = (g->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    const gpu_want codes = {MXO_U8, 3, {j->experts, g->n, g->k / 2}};
    const gpu_want scales = {MXO_E8M0, 3, {j->experts, g->n, blocks}};
    const uint32_t wide = g->bias_type == LAYER_F32;
    const gpu_want biases = {
        wide ? (uint32_t)MXO_F32 : (uint32_t)MXO_BF16, 2, {j->experts, g->n}};
    uint8_t *at = NULL;
    mxo_status status = need_shaped(j->call, 0, name[0], &codes, &at, why);

    g->w = at;
    if (status == MXO_OK) {
        status = need_shaped(j->call, 0, name[1], &scales, &at, why);
        g->scale = at;
    }
    if (status == MXO_OK && g->bias_at != LAYER_BIAS_NONE) {
        status = need_shaped(j->call, 0, name[2], &biases, &at, why);
        g->bias = at;
    }
    return status;
}

static mxo_status job_pairs(layer_job *j, mxo_text why)
{
    const mxo_tensor *const map =
        find_tensor(j->call->in, j->call->n_in, "expert_map");
    const uint64_t pairs = j->p.pairs;
    uint8_t *at = NULL;
    mxo_status status =
        need_tensor(j->call, 0, "topk_ids", 4 * pairs, &at, why);

    j->p.ids = at;
    j->p.map = map == NULL ? NULL : tensor_address(map);
    if (status == MXO_OK && j->has_two) {
        status = need_tensor(j->call, 0, "topk_weights", 4 * pairs, &at, why);
        j->p.weights = at;
    }
    return status;
}

static mxo_status job_sizes(layer_job *j, mxo_text why)
{
    const mxo_call *const call = j->call;
    const mxo_tensor *const ids = find_tensor(call->in, call->n_in, "topk_ids");
    const mxo_tensor *const w =
        find_tensor(call->in, call->n_in, j->has_one ? "w13" : "w2");

    if (ids == NULL || ids->rank != 2 || w == NULL || w->rank != 3 ||
        ids->shape[1] == 0 || ids->shape[1] > UINT32_MAX ||
        w->shape[0] > INT32_MAX) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "%s on %s: topk_ids is a matrix, weights have three "
                        "dimensions",
                        call->op, GPU_NAME);
    }
    j->tokens = ids->shape[0];
    j->p.topk = (uint32_t)ids->shape[1];
    j->p.pairs = j->tokens * j->p.topk;
    j->experts = w->shape[0];
    j->hidden = j->has_one ? 2 * w->shape[2] : w->shape[1];
    j->inter = j->has_one ? w->shape[1] / 2 : 2 * w->shape[2];
    if (j->one.laid != LAYER_LAID_PLAIN &&
        ((double)j->hidden != call_number(call, "hidden_size") ||
         (double)j->inter != call_number(call, "intermediate_size"))) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "%s: weights are not of hidden_size and "
                        "intermediate_size",
                        call->op);
    }
    if (j->one.laid != LAYER_LAID_PLAIN &&
        ((j->has_one && j->hidden % 4 != 0) ||
         (j->has_two && j->inter % 4 != 0))) {
        return gpu_fail(MXO_E_SHAPE, why, "%s: %s has its codes in fours",
                        call->op, call_text(call, "conversion"));
    }
    j->one.n = 2 * j->inter;
    j->one.k = j->hidden;
    j->two.n = j->hidden;
    j->two.k = j->inter;
    return MXO_OK;
}

/* What enters the first GEMM, or the second on its own. */
static mxo_status job_input(layer_job *j, mxo_text why)
{
    const int packed = call_is(j->call, "from", "e2m1");
    layer_gemm *const g = j->has_one ? &j->one : &j->two;
    const uint64_t rows = j->has_one ? j->tokens : j->p.pairs;
    const uint64_t blocks = (g->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    uint8_t *at = NULL;

    g->a_type = packed                            ? LAYER_CODES
                : call_is(j->call, "from", "f32") ? LAYER_F32
                                                  : LAYER_BF16;
    const uint64_t bytes =
        packed ? rows * (g->k / 2) : rows * g->k * layer_bytes(g->a_type);
    mxo_status status =
        need_tensor(j->call, 0, j->has_one ? "x" : "act", bytes, &at, why);

    g->a = at;
    if (status == MXO_OK && packed) {
        status = need_tensor(j->call, 0, "x_scale", rows * blocks, &at, why);
        g->a_scale = at;
    }
    return status;
}

static mxo_status job_recipes(layer_job *j, mxo_text why)
{
    mxo_status status = MXO_OK;

    if (j->has_one) {
        status = recipe_gemm1(j->call, &j->one, why);
    }
    if (status == MXO_OK && j->has_glu) {
        status = recipe_glu(j->call, &j->glu.glu, j->one.mid, why);
    }
    if (status == MXO_OK && j->has_two) {
        status = recipe_gemm2(j->call, &j->two, &j->p, why);
    }
    if (status == MXO_OK && j->has_sum) {
        status = recipe_sum(j->call, &j->sum, why);
    }
    return status;
}

/* An id's expert, or an id or an entry of the map that is too large. */
static mxo_status check_id(const layer_job *j, const int32_t *map,
                           uint64_t known, int32_t id, mxo_text why)
{
    const char *const absent = layer_word(j->call, "absent");
    int64_t expert = id;

    if (id >= 0 && (uint64_t)id >= known) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: topk_ids has %d, and there are %llu experts",
                        j->call->op, (int)id, (unsigned long long)known);
    }
    if (id >= 0 && map != NULL) {
        expert = map[id];
    }
    if (expert >= (int64_t)j->experts) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: expert_map[%d] is not below %llu", j->call->op,
                        (int)id, (unsigned long long)j->experts);
    }
    return expert < 0 && j->has_sum && absent == NULL
               ? layer_refuse(j->call, "absent", why)
               : MXO_OK;
}

/* Before anything is written: ids are few, and the host looks at them. */
static mxo_status check_ids(const layer_job *j, mxo_text why)
{
    const mxo_tensor *const map =
        find_tensor(j->call->in, j->call->n_in, "expert_map");
    const uint64_t known = map == NULL ? j->experts : map->n_bytes / 4;
    const uint64_t n_map = map == NULL ? 0 : known;
    int32_t *const ids =
        (int32_t *)malloc((size_t)(j->p.pairs + n_map + 1) * sizeof *ids);
    int32_t *const entries = ids + j->p.pairs;
    mxo_status status;

    if (ids == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for topk_ids");
    }
    status = gpu_download(ids, j->p.ids, 4 * j->p.pairs, why);
    if (status == MXO_OK && map != NULL) {
        status = gpu_download(entries, j->p.map, 4 * n_map, why);
    }
    for (uint64_t i = 0; i < j->p.pairs && status == MXO_OK; i++) {
        status = check_id(j, map == NULL ? NULL : entries, known, ids[i], why);
    }
    free(ids);
    return status;
}

/* How weights lie.  Both conversions leave shapes and scales as they are. */
static mxo_status job_laid(layer_job *j, mxo_text why)
{
    const mxo_call *const call = j->call;
    const int mixes = call_is(call, "conversion", "mxo_hopper_gate_up");
    const int hopper = mixes || call_is(call, "conversion", "mxo_hopper");

    if (!hopper && !call_is(call, "conversion", "none")) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s on %s: conversion is none, mxo_hopper or "
                        "mxo_hopper_gate_up here",
                        call->op, GPU_NAME);
    }
    if (hopper && !call_is(call, "bias", "none") &&
        !call_is(call, "bias", "bf16")) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s on %s: what a conversion takes has bias=bf16",
                        call->op, GPU_NAME);
    }
    if (mixes && j->has_one &&
        (!j->has_glu || !call_is(call, "rows", "halves"))) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s on %s: mxo_hopper_gate_up is for rows=halves, and "
                        "no GEMM alone has its rows back",
                        call->op, GPU_NAME);
    }
    j->one.laid = hopper ? LAYER_LAID_HOPPER : LAYER_LAID_PLAIN;
    j->two.laid = j->one.laid;
    j->halves = call_is(call, "rows", "halves") && !mixes;
    return MXO_OK;
}

static mxo_status job_read(layer_job *j, const mxo_call *call, mxo_text why)
{
    const int is_layer = strcmp(call->op, "moe.layer") == 0;

    memset(j, 0, sizeof *j);
    j->call = call;
    j->has_one = is_layer || strcmp(call->op, "moe.gemm1") == 0;
    j->has_two = !j->has_one || is_layer;
    j->has_glu = is_layer || (j->has_one && call_is(call, "stage", "act"));
    j->has_sum = is_layer || (j->has_two && call_is(call, "stage", "sum"));
    if (!call_is(call, "bounds", "0")) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s on %s: bounds are not given", call->op, GPU_NAME);
    }
    if (call_is(call, "from", "f16") || call_is(call, "bias", "f16")) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s on %s: from and bias are not f16 here", call->op,
                        GPU_NAME);
    }
    mxo_status status = job_laid(j, why);

    if (status == MXO_OK) {
        status = job_sizes(j, why);
    }
    if (status == MXO_OK) {
        status = job_recipes(j, why);
    }
    if (status == MXO_OK) {
        status = job_pairs(j, why);
    }
    if (status == MXO_OK && j->has_one) {
        status = job_weights(j, &j->one, 0, why);
    }
    if (status == MXO_OK && j->has_two) {
        status = job_weights(j, &j->two, 1, why);
    }
    if (status == MXO_OK) {
        status = job_input(j, why);
    }
    return status == MXO_OK ? check_ids(j, why) : status;
}

/* The result, which the last step that there is writes. */
static mxo_status job_output(layer_job *j, mxo_text why)
{
    const uint64_t rows = j->has_sum ? j->tokens : j->p.pairs;
    const uint64_t cols = j->has_two   ? j->hidden
                          : j->has_glu ? j->inter
                                       : 2 * j->inter;
    const uint32_t type = j->has_sum   ? j->sum.out
                          : j->has_two ? j->two.out
                          : j->has_glu ? j->glu.glu.to
                                       : j->one.out;
    const uint32_t dtype = type == LAYER_F32 ? MXO_F32 : MXO_BF16;
    const gpu_want sum = {dtype, 2, {rows, cols}};
    const gpu_want slots = {dtype, 3, {j->tokens, j->p.topk, cols}};
    uint8_t *at = NULL;
    const mxo_status status =
        need_shaped(j->call, 1, "y", j->has_sum ? &sum : &slots, &at, why);

    j->y = at;
    return status;
}

/* What lies between the steps goes to the context's memory. */
static mxo_status job_scratch(layer_job *j, gpu_scratch *scratch, mxo_text why)
{
    uint64_t end = 0;
    const uint64_t h = job_take(
        &end, j->has_glu ? j->p.pairs * j->one.n * layer_bytes(j->one.out) : 0);
    const uint64_t act =
        job_take(&end, j->has_glu && j->has_two
                           ? j->p.pairs * j->inter * layer_bytes(j->glu.glu.to)
                           : 0);
    const uint64_t rows = job_take(
        &end,
        j->has_sum ? j->p.pairs * j->hidden * layer_bytes(j->two.out) : 0);
    const mxo_status status = scratch_need(scratch, end, why);
    uint8_t *const base = (uint8_t *)scratch->p;

    if (status != MXO_OK) {
        return status;
    }
    j->one.y = j->has_glu ? base + h : j->y;
    j->glu.glu.gate = j->one.y;
    j->glu.glu.y = j->has_two ? base + act : j->y;
    if (j->has_one) {
        j->two.a = j->glu.glu.y;
        j->two.a_type = j->glu.glu.to;
    }
    j->two.y = j->has_sum ? base + rows : j->y;
    j->sum.rows = j->two.y;
    j->sum.row_type = j->two.out;
    j->sum.y = j->y;
    return MXO_OK;
}

/* The first launch of a plan, or one behind it. */
static gpu_plan *plan_step(gpu_plan *plan, const gpu_kernel *kernel,
                           uint64_t outputs)
{
    gpu_plan *const step = plan->kernel == NULL ? plan : plan_append(plan);

    if (step != NULL) {
        step->kernel = kernel;
        step->blocks = (outputs + GPU_BLOCK - 1) / GPU_BLOCK;
        step->waves = 4;
    }
    return step;
}

static int step_gemm(gpu_plan *plan, const layer_job *j, const layer_gemm *g)
{
    static const gpu_kernel plain = KERNEL(layer_plain, 0);
    gpu_plan *const step = plan_step(plan, &plain, j->p.pairs * g->n);

    if (step != NULL) {
        layer_args *const a = PLAN_ARGS(step, layer_args);
        a->p = j->p;
        a->g = *g;
    }
    return step != NULL;
}

static int step_glu(gpu_plan *plan, layer_job *j)
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
    }
    return step != NULL;
}

/* What of the sum does not depend on where things lie. */
void sum_fill(layer_job *j)
{
    const char *const absent = layer_word(j->call, "absent");

    j->sum.cols = j->hidden;
    j->sum.outputs = j->tokens * j->hidden;
    j->sum.columns = divisor_of((uint32_t)j->hidden);
    j->sum.keeps = absent != NULL && strcmp(absent, "zero") == 0;
}

int step_sum(gpu_plan *plan, layer_job *j, const gpu_kernel *add)
{
    gpu_plan *const step = plan_step(plan, add, j->tokens * j->hidden);

    sum_fill(j);
    if (step != NULL) {
        layer_sum_args *const a = PLAN_ARGS(step, layer_sum_args);
        *a = j->sum;
        a->p = j->p;
        step->overlaps = plan->overlaps;
    }
    return step != NULL;
}

mxo_status plan_layer(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel add = KERNEL(layer_add, 0);
    layer_job j;
    int done = 1;
    mxo_status status = job_read(&j, call, why);

    plan->cold = 1;
    if (status == MXO_OK) {
        status = job_output(&j, why);
    }
    j.one.share = j.p.topk;
    j.two.share = 1;
    j.one.pitch = j.one.k;
    j.two.pitch = j.two.k;
#if GPU_HAS_SMALL_BATCH
    if (status == MXO_OK && job_is_small_batch(&j, plan)) {
        return plan_small_batch(&j, plan, why);
    }
#endif
#if GPU_HAS_FUSED
    if (status == MXO_OK && job_is_fused(&j, plan)) {
        return plan_fused(&j, plan, why);
    }
#endif
    if (status == MXO_OK) {
        status = job_scratch(&j, plan->scratch, why);
    }
    if (status != MXO_OK) {
        return status;
    }
    if (j.has_one) {
        done = done && step_gemm(plan, &j, &j.one);
    }
    if (j.has_glu) {
        done = done && step_glu(plan, &j);
    }
    if (j.has_two) {
        done = done && step_gemm(plan, &j, &j.two);
    }
    if (j.has_sum) {
        done = done && step_sum(plan, &j, &add);
    }
    return done ? MXO_OK
                : gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
}
