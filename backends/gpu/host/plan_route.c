/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.topk: the routers, as docs/ops/route.topk.md tells them apart with
 * their sources, and the plan of a call.
 */
#include "host/call.h"
#include "host/plans.h"
#include "ops/route.h"
#include "ops/route_choose.h"
#include "ops/route_weigh.h"
#include "port/runtime.h"

GPU_ENTRY(route_topk, route_args, route_body(a))

enum {
    ROUTE_MOST = 2048, /* experts, and slots of either kind */
    RENORM = ROUTE_ALWAYS,
    GROUPS_1 = ROUTE_BIASED | ROUTE_GROUPED, /* by their best */
    GROUPS_2 = GROUPS_1 | ROUTE_TWO,
    SCALE = ROUTE_FACTORED,
    TYPED = ROUTE_IN_TYPE,
    FUSED = GROUPS_2 | ROUTE_TWO_KERNELS | ROUTE_FACTORED,
    VLLM = ROUTE_CLEAN | ROUTE_BIASED | ROUTE_BY_VALUE | ROUTE_FACTORED,
    TORCH = GROUPS_1 | ROUTE_FACTORED | ROUTE_IN_TYPE | ROUTE_TORCH
};

typedef struct route_row {
    const char *name;
    uint32_t score, norm, flags;
    uint32_t experts, top_k, groups; /* the kernel's limits; 0: not known */
} route_row;

static const route_row route_rows[] = {
    {"softmax_topk", ROUTE_SOFTMAX, ROUTE_OVER_SUM, GROUPS_1 | SCALE, 0, 0, 0},
    {"sigmoid_topk", ROUTE_SIGMOID, ROUTE_OVER_SUM, GROUPS_1 | SCALE, 0, 0, 0},
    {"topk_softmax", ROUTE_LOGIT, ROUTE_OVER_K, RENORM, 0, 0, 0},
    {"trtllm_default", ROUTE_SOFTMAX, ROUTE_AS_IS, 0, 256, 8, 0},
    {"trtllm_renormalize", ROUTE_LOGIT, ROUTE_OVER_K, RENORM, 0, 32, 0},
    {"trtllm_renormalize_naive", ROUTE_LOGIT, ROUTE_OVER_K, RENORM, 0, 32, 0},
    {"trtllm_deepseek_v3", ROUTE_SATURATED, ROUTE_SCALED,
     GROUPS_2 | ROUTE_BIAS_BF16 | SCALE | RENORM, 0, 0, 0},
    {"trtllm_minimax2", ROUTE_SATURATED, ROUTE_SCALED,
     ROUTE_BIASED | SCALE | RENORM, 0, 0, 0},
    {"trtllm_llama4", ROUTE_LOGIT, ROUTE_AS_IS, ROUTE_WEIGH_LOGIT, 128, 1, 0},
    {"trtllm_topk_sigmoid", ROUTE_LOGIT, ROUTE_AS_IS, ROUTE_WEIGH_LOGIT, 0, 0,
     0},
    {"trtllm_topk", ROUTE_LOGIT, ROUTE_AS_IS, 0, 256, 8, 0},
    {"trtllm_sigmoid", ROUTE_SATURATED, ROUTE_AS_IS, 0, 256, 8, 0},
    {"trtllm_sigmoid_renorm", ROUTE_SATURATED, ROUTE_AT_LEAST, 0, 256, 8, 0},
    {"triton35_topk_softmax", ROUTE_LOGIT, ROUTE_OVER_K,
     RENORM | ROUTE_BY_ID | ROUTE_PAYLOADS, 0, 0, 0},
    {"triton35_softmax_topk", ROUTE_SOFTMAX, ROUTE_AS_IS, TYPED | ROUTE_BY_ID,
     0, 0, 0},
    {"triton37_topk_softmax", ROUTE_LOGIT, ROUTE_OVER_K,
     RENORM | ROUTE_PAYLOADS, 0, 0, 0},
    {"triton37_softmax_topk", ROUTE_SOFTMAX, ROUTE_AS_IS, TYPED, 0, 0, 0},
    {"vllm_softmax", ROUTE_WARP, ROUTE_OVER_POSITIVE, VLLM, 0, 0, 0},
    {"vllm_sigmoid", ROUTE_RECIPROCAL, ROUTE_OVER_POSITIVE, VLLM, 0, 0, 0},
    {"vllm_softplus_sqrt", ROUTE_SOFTPLUS, ROUTE_FACTOR, VLLM | ROUTE_UNBIAS, 0,
     0, 0},
    {"vllm_fused_scores", ROUTE_LOGIT, ROUTE_FUSED, FUSED, 0, 32, 32},
    {"vllm_fused_sigmoid", ROUTE_TANH, ROUTE_FUSED, FUSED, 0, 32, 32},
    {"vllm_torch_softmax", ROUTE_SOFTMAX, ROUTE_OVER_SUM, TORCH, 0, 0, 0},
    {"vllm_torch_sigmoid", ROUTE_SIGMOID, ROUTE_OVER_SUM, TORCH, 0, 0, 0},
    {"vllm_cpu", ROUTE_LOGIT, ROUTE_TYPED, 0, 0, 0, 0},
};

typedef struct route_job {
    const route_row *row;
    route_args a;
    float *bias;     /* on the host; owned; NULL: none */
    int is_promoted; /* torch: the bias has another type than the logits */
} route_job;

static mxo_status route_refuse(mxo_status status, mxo_text why,
                               const char *sentence)
{
    return gpu_fail(status, why, "route.topk on %s: %s", GPU_NAME, sentence);
}

/* Has vLLM a kernel of one warp for so many experts? */
static int route_is_warp(uint32_t experts)
{
    const int is_power = (experts & (experts - 1)) == 0;

    return (is_power && experts <= 512) ||
           (experts % 64 == 0 && experts >= 192 && experts <= 576);
}

/* Does vLLM's fused router take its kernel for many experts? */
static int route_is_general(const route_args *a)
{
    const uint32_t size = a->experts / a->groups;
    const int is_single = a->groups == 1 && a->kept == 1 && a->experts <= 512 &&
                          (a->top_k <= 8 || a->top_k == 22);
    const int is_grouped = a->groups > 1 && a->experts <= 256 && size <= 32 &&
                           size * a->kept <= 128 && a->top_k <= 8 &&
                           a->kept <= 4;

    return (a->flags & ROUTE_TWO_KERNELS) != 0 && !is_single && !is_grouped;
}

static mxo_status route_groups(const route_args *a, mxo_text why)
{
    const int is_grouped = a->groups > 1;

    if (a->groups < 1 || a->kept < 1 || a->kept > a->groups ||
        a->experts % a->groups != 0) {
        return route_refuse(MXO_E_PARAM, why,
                            "the groups do not fit the experts");
    }
    const uint32_t size = a->experts / a->groups;
    const int is_pair = (a->flags & ROUTE_TWO) != 0 || a->bias != NULL;

    if (is_grouped && (a->flags & ROUTE_GROUPED) == 0) {
        return route_refuse(MXO_E_PARAM, why, "this dialect has no groups");
    }
    if ((is_grouped || a->general) && is_pair && size < 2) {
        return route_refuse(MXO_E_PARAM, why,
                            "a group has fewer than two experts");
    }
    if (a->top_k > size * a->kept) {
        return route_refuse(MXO_E_PARAM, why, "too few experts stay for top_k");
    }
    return a->shared > 0 && ((a->flags & ROUTE_BIAS_BF16) == 0 || !is_grouped)
               ? route_refuse(MXO_E_PARAM, why,
                              "this dialect has no shared experts")
               : MXO_OK;
}

/* What the vendors' kernels refuse of what would fit. */
static mxo_status route_kernel(const route_job *j, mxo_text why)
{
    const route_args *const a = &j->a;
    const route_row *const row = j->row;
    const int in_groups = (a->flags & ROUTE_BIAS_BF16) != 0 && a->groups > 1;

    if ((row->experts != 0 && a->experts > row->experts) ||
        (row->top_k != 0 && a->top_k > row->top_k) ||
        (row->groups != 0 && a->groups > row->groups)) {
        return route_refuse(MXO_E_PARAM, why,
                            "the dialect's kernel takes fewer experts, choices "
                            "or groups");
    }
    if (in_groups && (a->groups > 8 || a->kept > 4 ||
                      a->top_k > (a->experts <= 384 ? 8u : 22u) ||
                      a->top_k == a->experts / a->groups * a->kept)) {
        return route_refuse(MXO_E_PARAM, why,
                            "the dialect's kernel takes fewer groups or "
                            "choices");
    }
    return a->score == ROUTE_SOFTPLUS && !a->has_warp
               ? route_refuse(MXO_E_PARAM, why,
                              "the dialect has kernels of one warp alone, and "
                              "none for so many experts")
               : MXO_OK;
}

static mxo_status route_check(route_job *j, mxo_text why)
{
    route_args *const a = &j->a;

    if (a->top_k < 1 || a->top_k > a->experts) {
        return route_refuse(MXO_E_PARAM, why, "top_k does not fit the experts");
    }
    if (a->scale - a->scale != 0 ||
        (a->scale != 1 && (a->flags & ROUTE_FACTORED) == 0)) {
        return route_refuse(MXO_E_PARAM, why,
                            "the scaling factor is not finite, or none is "
                            "known");
    }
    if (j->bias != NULL && (a->flags & ROUTE_BIASED) == 0) {
        return route_refuse(MXO_E_PARAM, why, "this dialect has no bias");
    }
    for (uint32_t e = 0; j->bias != NULL && e < a->experts; e++) {
        if (j->bias[e] != j->bias[e]) {
            return route_refuse(MXO_E_PARAM, why, "the bias holds a NaN");
        }
    }
    a->general = (uint32_t)(a->groups > 0 && route_is_general(a));
    if (a->general || ((a->flags & ROUTE_TORCH) != 0 && !j->is_promoted)) {
        a->choice_type = a->from;
    }
    MXO_TRY(route_groups(a, why));
    return route_kernel(j, why);
}

static uint32_t route_type(const mxo_call *call, const char *key)
{
    return call_is(call, key, "f32")   ? (uint32_t)GLU_F32
           : call_is(call, key, "f16") ? (uint32_t)GLU_F16
                                       : (uint32_t)GLU_BF16;
}

static mxo_status route_counts(const mxo_call *call, route_args *a,
                               mxo_text why)
{
    static const char *const keys[] = {"top_k", "n_group", "topk_group",
                                       "n_shared"};
    uint32_t *const to[] = {&a->top_k, &a->groups, &a->kept, &a->shared};

    for (int i = 0; i < 4; i++) {
        const double n = call_number(call, keys[i]);
        if (!(n >= 0 && n <= ROUTE_MOST)) {
            return route_refuse(MXO_E_PARAM, why, "a count is not 0 .. 2048");
        }
        *to[i] = (uint32_t)n;
    }
    return MXO_OK;
}

/* The bias as binary32 on the host. */
static mxo_status route_bias(const mxo_call *call, route_job *j, mxo_text why)
{
    const uint32_t n = j->a.experts;
    const uint32_t type = route_type(call, "bias");
    const uint64_t bytes = type == GLU_F32 ? 4 : 2;
    const gpu_want want = want_vector(type == GLU_F32 ? MXO_F32 : MXO_BF16, n);
    uint16_t half[ROUTE_MOST];
    uint8_t *at = NULL;

    if (call_is(call, "bias", "none")) {
        return MXO_OK;
    }
    MXO_TRY(need_shaped(call, 0, "bias", &want, &at, why));
    j->bias = (float *)malloc(n * sizeof *j->bias + 1);
    if (j->bias == NULL) {
        return route_refuse(MXO_E_NOMEM, why, "no memory for the bias");
    }
    j->a.bias = j->bias; /* until it has a place on the device */
    j->is_promoted = type != j->a.from;
    MXO_TRY(gpu_download(type == GLU_F32 ? (void *)j->bias : (void *)half, at,
                         bytes * n, why));
    for (uint32_t e = 0; type != GLU_F32 && e < n; e++) {
        const uint32_t bits = (uint32_t)half[e] << 16;
        memcpy(&j->bias[e], &bits, sizeof bits);
    }
    return MXO_OK;
}

/* Ids of a tensor of int32 are 0 .. below - 1. */
static mxo_status route_below(const uint8_t *at, uint64_t n, uint64_t below,
                              const char *sentence, mxo_text why)
{
    int32_t *const id = (int32_t *)malloc((size_t)(4 * n + 1));
    mxo_status status =
        id == NULL ? route_refuse(MXO_E_NOMEM, why, "no memory for a table")
                   : gpu_download(id, at, 4 * n, why);

    for (uint64_t i = 0; i < n && status == MXO_OK; i++) {
        if (id[i] < 0 || (uint64_t)id[i] >= below) {
            status = route_refuse(MXO_E_PARAM, why, sentence);
        }
    }
    free(id);
    return status;
}

static mxo_status route_table(const mxo_call *call, route_job *j, mxo_text why)
{
    route_args *const a = &j->a;
    const mxo_tensor *const table =
        find_tensor(call->in, call->n_in, "tid2eid");
    uint8_t *at = NULL;
    uint32_t has_table;

    MXO_TRY(call_flag(call, "table", &has_table, why));
    if (!has_table) {
        return MXO_OK;
    }
    if (a->score != ROUTE_SOFTPLUS || j->bias != NULL) {
        return route_refuse(MXO_E_PARAM, why,
                            "a table needs vllm_softplus_sqrt without a bias");
    }
    const uint64_t words =
        table != NULL && table->rank == 2 ? table->shape[0] : 0;
    const gpu_want ids = want_vector(MXO_I32, a->tokens);
    const gpu_want rows = {MXO_I32, 2, {words, a->top_k}};

    MXO_TRY(need_shaped(call, 0, "input_ids", &ids, &at, why));
    a->input = at;
    MXO_TRY(route_below(at, a->tokens, words, "an input id is not in the table",
                        why));
    MXO_TRY(need_shaped(call, 0, "tid2eid", &rows, &at, why));
    a->table = at;
    return route_below(at, words * a->top_k, a->experts,
                       "the table names no expert", why);
}

static mxo_status route_outputs(const mxo_call *call, route_args *a,
                                mxo_text why)
{
    static const uint32_t types[] = {MXO_BF16, MXO_F16, MXO_F32};
    const uint64_t slots = (uint64_t)a->top_k + a->shared;
    const gpu_want ids = {MXO_I32, 2, {a->tokens, slots}};
    const gpu_want weights = {types[a->to], 2, {a->tokens, slots}};
    uint8_t *at = NULL;

    if (a->tokens > INT32_MAX / slots) {
        return route_refuse(MXO_E_SHAPE, why, "tokens times top_k is too much");
    }
    MXO_TRY(need_shaped(call, 1, "topk_ids", &ids, &at, why));
    a->ids = at;
    MXO_TRY(need_shaped(call, 1, "topk_weights", &weights, &at, why));
    a->weights = at;
    if (call_is(call, "also", "indices")) {
        MXO_TRY(need_shaped(call, 1, "token_expert_indices", &ids, &at, why));
        a->indices = at;
    }
    if (call_is(call, "also", "packed")) {
        MXO_TRY(need_shaped(call, 1, "packed", &ids, &at, why));
        a->packed = at;
    }
    return MXO_OK;
}

static mxo_status route_dialect(const mxo_call *call, route_job *j,
                                mxo_text why)
{
    const size_t n = sizeof route_rows / sizeof route_rows[0];
    size_t i = 0;

    while (i < n && !call_is(call, "dialect", route_rows[i].name)) {
        i++;
    }
    if (i == n) {
        return route_refuse(MXO_E_UNSUPPORTED, why, "no such dialect");
    }
    if (call_number(call, "bounds") != 0) {
        return route_refuse(MXO_E_UNSUPPORTED, why, "bounds are not given");
    }
    j->row = &route_rows[i];
    j->a.score = j->row->score;
    j->a.norm = j->row->norm;
    j->a.flags = j->row->flags;
    return MXO_OK;
}

static mxo_status route_read(const mxo_call *call, route_job *j, mxo_text why)
{
    const mxo_tensor *const x = find_tensor(call->in, call->n_in, "logits");
    route_args *const a = &j->a;

    MXO_TRY(route_dialect(call, j, why));
    MXO_TRY(route_counts(call, a, why));
    if (x == NULL || x->rank != 2 || x->shape[1] < 1 ||
        x->shape[1] > ROUTE_MOST) {
        return route_refuse(MXO_E_SHAPE, why,
                            "logits are tokens by 1 .. 2048 experts");
    }
    a->from = route_type(call, "from");
    a->to = route_type(call, "to");
    if (call_is(call, "also", "packed") && a->to != GLU_BF16) {
        return route_refuse(MXO_E_PARAM, why,
                            "packed results hold bf16 weights");
    }
    a->choice_type = GLU_F32;
    MXO_TRY(call_flag(call, "renormalize", &a->renormalize, why));
    a->scale = call_number(call, "routed_scaling_factor");
    a->experts = (uint32_t)x->shape[1];
    a->tokens = x->shape[0];
    a->logits = tensor_address(x);
    a->has_warp = (uint32_t)route_is_warp(a->experts);
    MXO_TRY(route_bias(call, j, why));
    MXO_TRY(route_check(j, why));
    MXO_TRY(route_table(call, j, why));
    return route_outputs(call, a, why);
}

/* A room for each token, and the bias behind them. */
static mxo_status route_place(route_job *j, gpu_scratch *scratch, mxo_text why)
{
    route_args *const a = &j->a;
    const uint64_t words =
        (3 * (uint64_t)a->experts + a->groups + a->top_k) * a->tokens;

    MXO_TRY(scratch_need(scratch, 4 * (words + a->experts), why));
    a->room = (uint32_t *)scratch->p;
    if (j->bias == NULL) {
        return MXO_OK;
    }
    a->bias = (const float *)scratch->p + words;
    return gpu_upload((uint8_t *)scratch->p + 4 * words, j->bias,
                      4 * (uint64_t)a->experts, why);
}

mxo_status plan_route(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(route_topk, 0);
    route_job j;

    memset(&j, 0, sizeof j);
    mxo_status status = route_read(call, &j, why);

    if (status == MXO_OK) {
        status = route_place(&j, plan->scratch, why);
    }
    free(j.bias);
    *PLAN_ARGS(plan, route_args) = j.a;
    (void)plan_step(plan, &kernel, j.a.tokens);
    return status;
}
