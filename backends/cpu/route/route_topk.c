/* SPDX-License-Identifier: Apache-2.0 */
/* route.topk: a call's checks, and tokens split among threads. */
#include "number.h"
#include "route.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct route_job {
    route_plan p;
    const uint8_t *logits;
    const int32_t *input; /* NULL: experts are chosen */
    const int32_t *table;
    uint64_t tokens;
    int32_t *ids;
    uint8_t *weights;
    int32_t *indices; /* NULL: not wanted */
    int32_t *packed;
    int failed;
} route_job;

static mxo_status refuse(mxo_status status, mxo_text why, const char *sentence)
{
    return cpu_fail(status, why, "route.topk on cpu: %s", sentence);
}

/* Does vLLM's fused router take its kernel for many experts? */
static int is_general(const route_plan *p)
{
    const int size = p->experts / p->groups;
    const int is_single = p->groups == 1 && p->kept == 1 && p->experts <= 512 &&
                          (p->top_k <= 8 || p->top_k == 22);
    const int is_grouped = p->groups > 1 && p->experts <= 256 && size <= 32 &&
                           size * p->kept <= 128 && p->top_k <= 8 &&
                           p->kept <= 4;

    return (p->row->flags & ROUTE_TWO_KERNELS) != 0 && !is_single &&
           !is_grouped;
}

static mxo_status check_groups(const route_plan *p, mxo_text why)
{
    const unsigned f = p->row->flags;
    const int is_grouped = p->groups > 1;

    if (p->groups < 1 || p->kept < 1 || p->kept > p->groups ||
        p->experts % p->groups != 0) {
        return refuse(MXO_E_PARAM, why, "the groups do not fit the experts");
    }
    const int size = p->experts / p->groups;
    const int is_pair = (f & ROUTE_TWO) != 0 || p->bias != NULL;

    if (is_grouped && (f & ROUTE_GROUPED) == 0) {
        return refuse(MXO_E_PARAM, why, "this dialect has no groups");
    }
    if ((is_grouped || p->general) && is_pair && size < 2) {
        return refuse(MXO_E_PARAM, why, "a group has fewer than two experts");
    }
    if (p->top_k > size * p->kept) {
        return refuse(MXO_E_PARAM, why, "too few experts stay for top_k");
    }
    return p->shared > 0 && ((f & ROUTE_BIAS_BF16) == 0 || !is_grouped)
               ? refuse(MXO_E_PARAM, why, "this dialect has no shared experts")
               : MXO_OK;
}

static int is_beyond(int n, int most)
{
    return most != 0 && n > most;
}

/* What the vendors' kernels refuse of what would fit: docs/ops/route.topk.md,
   Limits. */
static mxo_status check_kernel(const route_plan *p, mxo_text why)
{
    const cpu_router *row = p->row;
    const int in_groups = (row->flags & ROUTE_BIAS_BF16) != 0 && p->groups > 1;

    if (is_beyond(p->experts, row->experts) ||
        is_beyond(p->top_k, row->top_k) || is_beyond(p->groups, row->groups)) {
        return refuse(MXO_E_PARAM, why,
                      "the dialect's kernel takes fewer experts, choices or "
                      "groups");
    }
    if (in_groups && (p->groups > 8 || p->kept > 4 ||
                      p->top_k > (p->experts <= 384 ? 8 : 22) ||
                      p->top_k == p->experts / p->groups * p->kept)) {
        return refuse(MXO_E_PARAM, why,
                      "the dialect's kernel takes fewer groups or choices");
    }
    return row->score == ROUTE_SOFTPLUS && !cpu_route_is_warp(p->experts)
               ? refuse(MXO_E_PARAM, why,
                        "the dialect has kernels of one warp alone, and none "
                        "for so many experts")
               : MXO_OK;
}

static mxo_status check_plan(route_plan *p, mxo_text why)
{
    const unsigned f = p->row->flags;

    if (p->top_k < 1 || p->top_k > p->experts) {
        return refuse(MXO_E_PARAM, why, "top_k does not fit the experts");
    }
    if (!isfinite(p->scale) || (p->scale != 1 && (f & ROUTE_FACTORED) == 0)) {
        return refuse(MXO_E_PARAM, why,
                      "the scaling factor is not finite, or none is known");
    }
    if (p->bias != NULL && (f & ROUTE_BIASED) == 0) {
        return refuse(MXO_E_PARAM, why, "this dialect has no bias");
    }
    for (int e = 0; p->bias != NULL && e < p->experts; e++) {
        if (p->bias[e] != p->bias[e]) {
            return refuse(MXO_E_PARAM, why, "the bias holds a NaN");
        }
    }
    p->general = p->groups > 0 && is_general(p);
    if (p->general || ((f & ROUTE_TORCH) != 0 && !p->is_promoted)) {
        p->choice_type = p->from;
    }
    MXO_TRY(check_groups(p, why));
    return check_kernel(p, why);
}

/* The parameters that are counts. */
static mxo_status read_counts(const mxo_call *call, route_plan *p, mxo_text why)
{
    static const char *const keys[] = {"top_k", "n_group", "topk_group",
                                       "n_shared"};
    int *const to[] = {&p->top_k, &p->groups, &p->kept, &p->shared};

    for (int i = 0; i < 4; i++) {
        const double n = cpu_number(call, keys[i]);
        if (!(n >= 0 && n <= ROUTE_MOST)) {
            return refuse(MXO_E_PARAM, why, "a count is not 0 .. 2048");
        }
        *to[i] = (int)n;
    }
    return MXO_OK;
}

static mxo_status read_bias(const mxo_call *call, route_plan *p, float *bias,
                            mxo_text why)
{
    const uint64_t shape[1] = {(uint64_t)p->experts};
    const mxo_tensor *t = cpu_in(call, "bias");
    const uint32_t dtype = cpu_float_dtype(cpu_text(call, "bias"));

    if (cpu_is(call, "bias", "none")) {
        return MXO_OK;
    }
    MXO_TRY(cpu_want(t, "bias", dtype, 1, shape, why));
    cpu_widen(dtype, cpu_data(t), (uint32_t)p->experts, bias);
    p->bias = bias;
    p->is_promoted = dtype != p->from;
    return MXO_OK;
}

static mxo_status read_table(const mxo_call *call, route_job *j, mxo_text why)
{
    const mxo_tensor *ids = cpu_in(call, "input_ids");
    const mxo_tensor *table = cpu_in(call, "tid2eid");

    if (cpu_number(call, "table") == 0) {
        return MXO_OK;
    }
    if (j->p.row->score != ROUTE_SOFTPLUS || j->p.bias != NULL) {
        return refuse(MXO_E_PARAM, why,
                      "a table needs vllm_softplus_sqrt without a bias");
    }
    const uint64_t shape[2] = {
        table != NULL && table->rank == 2 ? table->shape[0] : 0,
        (uint64_t)j->p.top_k};

    MXO_TRY(cpu_want(ids, "input_ids", MXO_I32, 1, &j->tokens, why));
    MXO_TRY(cpu_want(table, "tid2eid", MXO_I32, 2, shape, why));
    j->input = cpu_data(ids);
    j->table = cpu_data(table);
    for (uint64_t t = 0; t < j->tokens; t++) {
        if (j->input[t] < 0 || (uint64_t)j->input[t] >= shape[0]) {
            return refuse(MXO_E_PARAM, why, "an input id is not in the table");
        }
    }
    for (uint64_t i = 0; i < shape[0] * shape[1]; i++) {
        if (j->table[i] < 0 || j->table[i] >= j->p.experts) {
            return refuse(MXO_E_PARAM, why, "the table names no expert");
        }
    }
    return MXO_OK;
}

static mxo_status read_outputs(const mxo_call *call, route_job *j, mxo_text why)
{
    const uint64_t slots = (uint64_t)(j->p.top_k + j->p.shared);
    const uint64_t shape[2] = {j->tokens, slots};
    const mxo_tensor *ids = cpu_out(call, "topk_ids");
    const mxo_tensor *weights = cpu_out(call, "topk_weights");
    const int has_indices = cpu_is(call, "also", "indices");
    const char *more = has_indices ? "token_expert_indices" : "packed";

    if (j->tokens > INT32_MAX / slots) {
        return refuse(MXO_E_SHAPE, why, "tokens times top_k is too much");
    }
    MXO_TRY(cpu_want(ids, "topk_ids", MXO_I32, 2, shape, why));
    MXO_TRY(cpu_want(weights, "topk_weights", j->p.to, 2, shape, why));
    if (!cpu_is(call, "also", "none")) {
        MXO_TRY(cpu_want(cpu_out(call, more), more, MXO_I32, 2, shape, why));
        *(has_indices ? &j->indices : &j->packed) =
            cpu_data(cpu_out(call, more));
    }
    j->ids = cpu_data(ids);
    j->weights = cpu_data(weights);
    return MXO_OK;
}

static mxo_status read_call(const mxo_call *call, route_job *j, float *bias,
                            mxo_text why)
{
    const mxo_tensor *x = cpu_in(call, "logits");
    route_plan *p = &j->p;

    MXO_TRY(read_counts(call, p, why));
    p->row = cpu_router_of(cpu_text(call, "dialect"));
    p->from = cpu_float_dtype(cpu_text(call, "from"));
    p->to = cpu_float_dtype(cpu_text(call, "to"));
    p->renormalize = cpu_number(call, "renormalize") != 0;
    p->scale = cpu_number(call, "routed_scaling_factor");
    p->choice_type = MXO_F32;
    if (p->row == NULL) {
        return refuse(MXO_E_UNSUPPORTED, why, "no such dialect");
    }
    if (x == NULL || x->rank != 2 || x->shape[1] < 1 ||
        x->shape[1] > ROUTE_MOST) {
        return refuse(MXO_E_SHAPE, why,
                      "logits are tokens by 1 .. 2048 experts");
    }
    if (cpu_is(call, "also", "packed") && p->to != MXO_BF16) {
        return refuse(MXO_E_PARAM, why, "packed results hold bf16 weights");
    }
    p->experts = (int)x->shape[1];
    j->tokens = x->shape[0];
    MXO_TRY(cpu_want(x, "logits", p->from, 2, x->shape, why));
    j->logits = cpu_data(x);
    MXO_TRY(read_bias(call, p, bias, why));
    return check_plan(p, why);
}

/* A binary16 NaN with its payload, which instructions may not keep. */
static float nan_of(uint16_t half)
{
    return cpu_float((uint32_t)(half & 0x8000u) << 16 | 0x7f800000u |
                     (uint32_t)(half & 0x3ffu) << 13);
}

/* Numbers of a token; a NaN keeps its sign, which ranks, and its payload only
   where that ranks too. */
static void load(const route_job *j, uint64_t token, route_token *t)
{
    const size_t n = (size_t)j->p.experts;
    const size_t row = n * cpu_dtype_bytes(j->p.from);

    cpu_widen(j->p.from, j->logits + token * row, (uint32_t)n, t->x);
    for (size_t e = 0; e < n; e++) {
        const uint32_t sign = cpu_bits32(t->x[e]) & 0x80000000u;
        uint16_t half;

        memcpy(&half, j->logits + token * row + 2 * e, sizeof half);
        if (t->x[e] == t->x[e]) {
            continue;
        }
        if ((j->p.row->flags & ROUTE_PAYLOADS) == 0) {
            t->x[e] = cpu_float(sign | 0x7fc00000u);
        } else if (j->p.from == MXO_F16) {
            t->x[e] = nan_of(half);
        }
    }
}

static void store(const route_job *j, uint64_t token, const route_token *t)
{
    const uint64_t slots = (uint64_t)(j->p.top_k + j->p.shared);

    for (uint64_t k = 0; k < slots; k++) {
        const uint64_t at = token * slots + k;
        const int is_chosen = k < (uint64_t)j->p.top_k;
        const float w = cpu_route_through(MXO_F32, is_chosen ? t->w[k] : 1.0f);
        const uint16_t half =
            j->p.to == MXO_F16 ? cpu_f16_of(w) : cpu_bf16_of(w);

        j->ids[at] =
            is_chosen ? t->id[k] : j->p.experts + (int32_t)k - j->p.top_k;
        if (j->p.to == MXO_F32) {
            memcpy(j->weights + 4 * at, &w, sizeof w);
        } else {
            memcpy(j->weights + 2 * at, &half, sizeof half);
        }
        if (j->indices != NULL) {
            j->indices[at] = (int32_t)(k * j->tokens + token);
        }
        if (j->packed != NULL) {
            j->packed[at] = (int32_t)((uint32_t)j->ids[at] << 16 | half);
        }
    }
}

static void route_span(void *arg, uint64_t begin, uint64_t end)
{
    route_job *j = arg;
    route_token *t = malloc(sizeof *t);

    if (t == NULL) {
        cpu_set_flag(&j->failed);
        return;
    }
    t->p = &j->p;
    for (uint64_t token = begin; token < end; token++) {
        load(j, token, t);
        cpu_route_score(t);
        cpu_route_choose(t);
        for (int k = 0; j->table != NULL && k < j->p.top_k; k++) {
            t->id[k] = j->table[(int64_t)j->input[token] * j->p.top_k + k];
        }
        cpu_route_weigh(t);
        store(j, token, t);
    }
    free(t);
}

mxo_status cpu_route_topk(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    float bias[ROUTE_MOST];
    route_job j = {.ids = NULL};

    MXO_TRY(cpu_known(call,
                      "dialect from to top_k renormalize routed_scaling_factor "
                      "n_group topk_group n_shared bias table also bounds",
                      why));
    MXO_TRY(cpu_no_bounds(call, why));

    MXO_TRY(read_call(call, &j, bias, why));
    MXO_TRY(read_table(call, &j, why));
    MXO_TRY(read_outputs(call, &j, why));
    cpu_split(ctx, j.tokens, 1, route_span, &j);
    cpu_name_kernel(ctx, "route_topk", cpu_threads(ctx, j.tokens, 1));
    return j.failed ? cpu_fail(MXO_E_NOMEM, why, "no memory for a token")
                    : MXO_OK;
}
