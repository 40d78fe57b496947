/* SPDX-License-Identifier: Apache-2.0 */
/* moe.nvfp4_layer and its halves: sizes, tensors, recipe, launches. */
#include "host/call.h"
#include "host/plans.h"
#include "layer/layer_any.h"
#include "layer/layer_nvfp4.h"
#include "layer_plan/layer_job.h"
#include "layer_plan/layer_read.h"
#include "layer_plan/plan_recipe.h"
#include "layer_plan/plan_recipe_glu.h"
#include "layer_plan/plan_recipe_sum.h"
#include "ops/nvfp4.h"
#include "port/runtime.h"

GPU_ENTRY(nvfp4_rows, nvfp4_rows_args, nvfp4_rows_body(a))
GPU_ENTRY(nvfp4_gemm, nvfp4_gemm_args, nvfp4_gemm_body(a))
GPU_ENTRY(nvfp4_glu, layer_glu_args, layer_glu_body(a))
GPU_ENTRY(nvfp4_add, layer_sum_args, layer_any_sum_body(a))

enum { NVFP4_MOST_K = 1 << 18 }; /* sums of 64 bits */

/* The job has what is the same in MXFP4: sizes, pairs, activation, sum. */
typedef struct nvfp4_job {
    layer_job base;
    nvfp4_rows_args rows[2];
    nvfp4_gemm_args gemm[2];
    int is_raw; /* activations get sums without a global scale */
} nvfp4_job;

static mxo_status nvfp4_sizes(nvfp4_job *f, mxo_text why)
{
    layer_job *const j = &f->base;
    const mxo_status status = job_sizes(j, why);

    if (status != MXO_OK) {
        return status;
    }
    if ((j->has_one &&
         (j->hidden % NVFP4_BLOCK != 0 || j->hidden > NVFP4_MOST_K)) ||
        (j->has_two &&
         (j->inter % NVFP4_BLOCK != 0 || j->inter > NVFP4_MOST_K))) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "%s on %s: sizes are multiples of 16, at most 2^18",
                        j->call->op, GPU_NAME);
    }
    f->gemm[0].n = 2 * j->inter;
    f->gemm[0].k = j->hidden;
    f->gemm[0].share = j->p.topk;
    f->gemm[1].n = j->hidden;
    f->gemm[1].k = j->inter;
    f->gemm[1].share = 1;
    return MXO_OK;
}

/* Weights of one GEMM and the global scales before and behind it. */
static mxo_status nvfp4_tensors(nvfp4_job *f, int second, mxo_text why)
{
    static const char *const names[2][4] = {
        {"w13", "w13_scale", "a1_gscale", "g1_alphas"},
        {"w2", "w2_scale", "g1_scale_c", "g2_alphas"}};
    const layer_job *const j = &f->base;
    nvfp4_gemm_args *const g = &f->gemm[second];
    const gpu_want want[4] = {
        {MXO_U8, 3, {j->experts, g->n, g->k / 2}},
        {MXO_E4M3, 3, {j->experts, g->n, g->k / NVFP4_BLOCK}},
        want_vector(MXO_F32, second ? j->experts : 1),
        want_vector(MXO_F32, j->experts)};
    uint8_t *at[4] = {NULL, NULL, NULL, NULL};

    for (int i = 0; i < 4; i++) {
        MXO_TRY(
            need_shaped(j->call, 0, names[second][i], &want[i], &at[i], why));
    }
    g->w = at[0];
    g->scale = at[1];
    f->rows[second].global = at[2];
    g->alpha = !second && f->is_raw ? NULL : at[3];
    return MXO_OK;
}

/* Input to quantise: hidden states, or activations of pairs. */
static mxo_status nvfp4_input(nvfp4_job *f, mxo_text why)
{
    const layer_job *const j = &f->base;
    const uint32_t type = call_is(j->call, "from", "f32")   ? LAYER_F32
                          : call_is(j->call, "from", "f16") ? LAYER_F16
                                                            : LAYER_BF16;
    const uint32_t dtype = job_dtype(type);
    const gpu_want x = {dtype, 2, {j->tokens, j->hidden}};
    const gpu_want act = {dtype, 3, {j->tokens, j->p.topk, j->inter}};
    nvfp4_rows_args *const r = &f->rows[!j->has_one];
    uint8_t *at = NULL;
    const mxo_status status =
        j->has_one ? need_shaped(j->call, 0, "x", &x, &at, why)
                   : need_shaped(j->call, 0, "act", &act, &at, why);

    r->from = at;
    r->type = type;
    return status;
}

/* A loader never leaves one of these at zero, or no number. */
static mxo_status nvfp4_globals(const nvfp4_job *f, const char *name,
                                mxo_text why)
{
    const mxo_call *const call = f->base.call;
    const mxo_tensor *const t = call_in(call, name);

    if (call_is_captured(call)) {
        return MXO_OK;
    }
    for (uint64_t i = 0; t != NULL && 4 * i < t->n_bytes; i++) {
        float x = 0;
        MXO_TRY(call_fetch(call, &x, tensor_address(t) + 4 * i, 4, why));
        if (!(x > 0 && x - x == 0)) {
            return gpu_fail(MXO_E_PARAM, why,
                            "%s: %s[%llu] is no positive "
                            "number",
                            call->op, name, (unsigned long long)i);
        }
    }
    return MXO_OK;
}

static mxo_status nvfp4_rule_of(const mxo_call *call, const char *key,
                                nvfp4_rule *rule, mxo_text why)
{
    const char *const word = layer_word(call, key);

    return layer_choose(
        call, word != NULL && strcmp(word, "same") == 0 ? "quant_rule" : key,
        recipe_nvfp4_rules, &rule->math, why);
}

/* With raw sums every expert has constants of its own: those of the call by
   its g1_alphas. */
static mxo_status nvfp4_table(nvfp4_job *f, const mxo_call *act, mxo_text why)
{
    layer_job *const j = &f->base;
    const glu_args *const unit = &j->glu.glu;
    const gpu_want want = want_vector(MXO_F32, j->experts);
    const size_t n = (size_t)j->experts;
    float *const own = (float *)malloc(3 * n * sizeof *own + 1);
    uint8_t *at = NULL;
    mxo_status status = need_shaped(j->call, 0, "g1_alphas", &want, &at, why);

    j->table = (glu_constants *)malloc(n * sizeof *j->table + 1);
    if (status == MXO_OK && (own == NULL || j->table == NULL)) {
        status = gpu_fail(MXO_E_NOMEM, why, "no memory for constants");
    }
    if (status == MXO_OK) {
        status = call_fetch(j->call, own, at, 4 * j->experts, why);
    }
    for (size_t e = 0; e < n && status == MXO_OK; e++) {
        own[n + e] = unit->beta / own[e];
        own[2 * n + e] = unit->limit / own[e];
    }
    if (status == MXO_OK) {
        const int has_limit = !call_is(act, "limit", "none");
        const glu_own vectors = {NULL, own + n, has_limit ? own + 2 * n : NULL,
                                 own};
        status = glu_per_expert(act, unit, &vectors, j->experts, j->table, why);
    }
    free(own);
    return status;
}

static mxo_status nvfp4_activation(nvfp4_job *f, mxo_text why)
{
    layer_job *const j = &f->base;
    glu_args *const a = &j->glu.glu;
    mxo_param params[RECIPE_GLU_PARAMS];
    mxo_call act;
    MXO_TRY(recipe_glu_call(j->call, &act, params, why));

    MXO_TRY(layer_choose(j->call, "glu_out", layer_types, &a->to, why));
    j->glu.saturates = a->to == LAYER_SAT;
    a->to = j->glu.saturates ? (uint32_t)GLU_BF16 : a->to;
    a->from = f->gemm[0].type;
    if (f->is_raw &&
        (a->from != LAYER_F32 || strcmp(params[0].text, "trtllm_gen") != 0)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: global_at=glu needs gemm1_out=f32 and "
                        "glu=trtllm_gen",
                        j->call->op);
    }
    MXO_TRY(glu_numbers(&act, a, why));
    return f->is_raw ? nvfp4_table(f, &act, why) : MXO_OK;
}

static mxo_status nvfp4_first(nvfp4_job *f, mxo_text why)
{
    layer_job *const j = &f->base;
    MXO_TRY(nvfp4_rule_of(j->call, "quant_rule", &f->rows[0].rule, why));

    MXO_TRY(
        layer_choose(j->call, "gemm1_out", layer_types, &f->gemm[0].type, why));
    if (f->is_raw && f->gemm[0].type != LAYER_F32) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: global_at=glu needs gemm1_out=f32", j->call->op);
    }
    f->gemm[0].turn = j->has_glu && call_is(j->call, "rows", "up_first");
    j->halves = !call_is(j->call, "rows", "interleaved");
    return j->has_glu ? nvfp4_activation(f, why) : MXO_OK;
}

static mxo_status nvfp4_second(nvfp4_job *f, mxo_text why)
{
    static const layer_choice places[] = {{"sum", 0}, {"acc", 1}, {NULL, 0}};
    layer_job *const j = &f->base;
    MXO_TRY(nvfp4_rule_of(j->call, "requant_rule", &f->rows[1].rule, why));

    MXO_TRY(layer_choose(j->call, "routing_type", layer_narrows, &j->p.narrow,
                         why));
    MXO_TRY(
        layer_choose(j->call, "routing_at", places, &f->gemm[1].weighs, why));
    MXO_TRY(
        layer_choose(j->call, "row_out", layer_types, &f->gemm[1].type, why));
    return j->has_sum ? recipe_sum(j->call, &j->sum, why) : MXO_OK;
}

static mxo_status nvfp4_recipe(nvfp4_job *f, mxo_text why)
{
    static const layer_choice orders[] = {
        {"any", 0}, {"exact", 0}, {"seq", 1}, {NULL, 0}};
    const layer_job *const j = &f->base;
    const char *const at = layer_word(j->call, "global_at");
    uint32_t is_seq = 0;
    MXO_TRY(layer_choose(j->call, "order", orders, &is_seq, why));

    f->is_raw = at != NULL && strcmp(at, "glu") == 0;
    f->gemm[0].is_seq = is_seq;
    f->gemm[1].is_seq = is_seq;
    if (j->has_one) {
        MXO_TRY(nvfp4_first(f, why));
    }
    return j->has_two ? nvfp4_second(f, why) : MXO_OK;
}

/* The result, which the last step that there is writes. */
static mxo_status nvfp4_output(nvfp4_job *f, mxo_text why)
{
    layer_job *const j = &f->base;
    const uint64_t cols = j->has_two   ? j->hidden
                          : j->has_glu ? j->inter
                                       : 2 * j->inter;
    const uint32_t slot = j->has_two   ? f->gemm[1].type
                          : j->has_glu ? j->glu.glu.to
                                       : f->gemm[0].type;
    const uint32_t dtype = job_dtype(j->has_sum ? j->sum.out : slot);
    const gpu_want sum = {dtype, 2, {j->tokens, cols}};
    const gpu_want slots = {dtype, 3, {j->tokens, j->p.topk, cols}};
    uint8_t *at = NULL;
    const mxo_status status =
        need_shaped(j->call, 1, "y", j->has_sum ? &sum : &slots, &at, why);

    j->y = at;
    return status;
}

static mxo_status nvfp4_read(nvfp4_job *f, const mxo_call *call, mxo_text why)
{
    static const char *const globals[] = {"a1_gscale", "g1_alphas",
                                          "g1_scale_c", "g2_alphas"};
    layer_job *const j = &f->base;
    const int is_layer = strcmp(call->op, "moe.nvfp4_layer") == 0;

    memset(f, 0, sizeof *f);
    j->call = call;
    j->has_one = is_layer || strcmp(call->op, "moe.nvfp4_gemm1") == 0;
    j->has_two = !j->has_one || is_layer;
    j->has_glu = is_layer || (j->has_one && call_is(call, "stage", "act"));
    j->has_sum = is_layer || (j->has_two && call_is(call, "stage", "sum"));
    MXO_TRY(nvfp4_sizes(f, why));

    for (int i = 0; i < 4; i++) {
        MXO_TRY(nvfp4_globals(f, globals[i], why));
    }
    MXO_TRY(nvfp4_recipe(f, why));
    MXO_TRY(nvfp4_input(f, why));
    MXO_TRY(job_pairs(j, why));
    for (int i = 0; i < 2; i++) {
        MXO_TRY((i ? j->has_two : j->has_one) ? nvfp4_tensors(f, i, why)
                                              : MXO_OK);
    }
    if (!call_is_captured(call)) {
        MXO_TRY(check_ids(j, why));
    }
    return nvfp4_output(f, why);
}

/* Intermediates of the steps; each GEMM reads its rows as integers. */
static mxo_status nvfp4_place(nvfp4_job *f, gpu_scratch *scratch, mxo_text why)
{
    layer_job *const j = &f->base;
    const uint64_t pairs = j->p.pairs;
    uint64_t end = 0;
    uint64_t code[2], scale[2];

    for (int i = 0; i < 2; i++) {
        const uint64_t rows = i ? pairs : j->tokens;
        const uint64_t n =
            (i ? j->has_two : j->has_one) ? rows * f->gemm[i].k : 0;
        f->rows[i].rows = rows;
        f->rows[i].k = f->gemm[i].k;
        code[i] = job_take(&end, n);
        scale[i] = job_take(&end, n / NVFP4_BLOCK * 4);
    }
    const uint64_t h = job_take(&end, j->has_glu ? 8 * pairs * j->inter : 0);
    const uint64_t act = job_take(&end, j->has_glu ? 4 * pairs * j->inter : 0);
    const uint64_t rows =
        job_take(&end, j->has_sum ? 4 * pairs * j->hidden : 0);
    const uint64_t table =
        job_take(&end, j->table == NULL ? 0 : j->experts * sizeof *j->table);
    mxo_status status = scratch_need(scratch, end, why);
    uint8_t *const base = (uint8_t *)scratch->p;

    if (status != MXO_OK) {
        return status;
    }
    for (int i = 0; i < 2; i++) {
        f->rows[i].code = (int8_t *)(base + code[i]);
        f->rows[i].scale = (int32_t *)(void *)(base + scale[i]);
        f->gemm[i].a = f->rows[i].code;
        f->gemm[i].a_scale = f->rows[i].scale;
        f->rows[i].p = j->p;
        f->gemm[i].p = j->p;
    }
    f->gemm[0].y = j->has_glu ? base + h : j->y;
    f->gemm[1].y = j->has_sum ? base + rows : j->y;
    j->glu.glu.gate = f->gemm[0].y;
    j->glu.glu.up = f->gemm[0].y;
    j->glu.glu.y = j->has_two ? base + act : j->y;
    if (j->has_one && j->has_two) {
        f->rows[1].from = j->glu.glu.y;
        f->rows[1].type = j->glu.glu.to;
    }
    f->rows[1].by_expert = 1;
    j->sum.rows = f->gemm[1].y;
    for (int i = 0; i < 2; i++) {
        f->gemm[i].leaves = f->gemm[i].type;
    }
    if (j->has_sum && f->gemm[1].type == LAYER_F16) {
        f->gemm[1].leaves = LAYER_F32; /* layer_fetch() knows no binary16 */
    }
    j->sum.row_type = f->gemm[1].leaves;
    j->sum.step = f->gemm[1].type;
    j->sum.y = j->y;
    if (j->table != NULL) {
        j->glu.glu.table = (const glu_constants *)(const void *)(base + table);
        status = call_send(j->call, base + table, j->table,
                           j->experts * sizeof *j->table, why);
    }
    return status;
}

/* Quantised rows, then their products. */
static int nvfp4_step_gemm(gpu_plan *plan, const nvfp4_job *f, int second)
{
    static const gpu_kernel make = KERNEL(nvfp4_rows, 0);
    static const gpu_kernel gemm = KERNEL(nvfp4_gemm, 0);
    const nvfp4_rows_args *const r = &f->rows[second];
    const nvfp4_gemm_args *const g = &f->gemm[second];
    gpu_plan *const first =
        plan_step(plan, &make, r->rows * (r->k / NVFP4_BLOCK));
    gpu_plan *const then = plan_step(plan, &gemm, g->p.pairs * g->n);

    if (first == NULL || then == NULL) {
        return 0;
    }
    *PLAN_ARGS(first, nvfp4_rows_args) = *r;
    *PLAN_ARGS(then, nvfp4_gemm_args) = *g;
    return 1;
}

static int nvfp4_step_glu(gpu_plan *plan, nvfp4_job *f)
{
    static const gpu_kernel glu = KERNEL(nvfp4_glu, 0);
    layer_job *const j = &f->base;
    gpu_plan *const step = plan_step(plan, &glu, j->p.pairs * j->inter);

    j->glu.glu.cols = j->inter;
    j->glu.glu.outputs = j->p.pairs * j->inter;
    j->glu.glu.interleaved = !j->halves;
    j->glu.p = j->p;
    if (step != NULL) {
        *PLAN_ARGS(step, layer_glu_args) = j->glu;
    }
    return step != NULL;
}

mxo_status plan_nvfp4_layer(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel add = KERNEL(nvfp4_add, 0);
    nvfp4_job f;
    layer_job *const j = &f.base;
    mxo_status status = nvfp4_read(&f, call, why);
    int done = 1;

    plan->cold = 1;
    if (status == MXO_OK) {
        status = nvfp4_place(&f, plan->scratch, why);
    }
    if (status == MXO_OK) {
        done = (!j->has_one || nvfp4_step_gemm(plan, &f, 0)) &&
               (!j->has_glu || nvfp4_step_glu(plan, &f)) &&
               (!j->has_two || nvfp4_step_gemm(plan, &f, 1)) &&
               (!j->has_sum || step_sum(plan, j, &add) != NULL);
    }
    free(j->table);
    return done ? status
                : gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
}
