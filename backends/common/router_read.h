/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a call of route.topk to a plan: the dialect's row, what it and the
 * vendor's kernel refuse, outputs.  Inputs are as described (signature.h);
 * what they hold is for the backend to fetch, and for the checks below.
 */
#ifndef BACKENDS_ROUTER_READ_H
#define BACKENDS_ROUTER_READ_H

#include "call_read.h"
#include "router.h"

typedef struct route_row {
    const char *name;
    uint32_t score, norm, flags;
    uint32_t experts, top_k, groups;
} route_row;

/* A plan without the bias's numbers, and its tensors; NULL: not there. */
typedef struct route_call {
    route_plan plan;
    const route_row *row;
    const mxo_tensor *logits, *bias, *input, *table;
    const mxo_tensor *ids, *weights, *indices, *packed;
} route_call;

/* NULL for another name. */
static inline const route_row *route_row_of(const char *name)
{
    enum {
        IN_TYPE = ROUTE_IN_TYPE,
        BIASED = ROUTE_BIASED,
        BIAS_BF16 = ROUTE_BIAS_BF16,
        TWO_KERNELS = ROUTE_TWO_KERNELS,
        WEIGH_LOGIT = ROUTE_WEIGH_LOGIT,
        UNBIAS = ROUTE_UNBIAS,
        ALWAYS = ROUTE_ALWAYS,
        BY_ID = ROUTE_BY_ID,
        FACTORED = ROUTE_FACTORED,
        PAYLOADS = ROUTE_PAYLOADS,
        BY_BEST = BIASED | ROUTE_GROUPED,
        BY_TWO = BY_BEST | ROUTE_TWO,
        VLLM = ROUTE_CLEAN | BIASED | ROUTE_BY_VALUE | FACTORED,
        AS_TORCH = BY_BEST | FACTORED | IN_TYPE | ROUTE_TORCH
    };
#define MXO_ROUTER(name, score, norm, flags, experts, top_k, groups) \
    {name, ROUTE_##score, ROUTE_##norm, flags, experts, top_k, groups},
    static const route_row rows[] = {
#include "router.def"
    };
#undef MXO_ROUTER

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Has vLLM a kernel of one warp for so many experts? */
static inline int route_is_warp(uint32_t experts)
{
    const int is_power = (experts & (experts - 1)) == 0;

    return (is_power && experts <= 512) ||
           (experts % 64 == 0 && experts >= 192 && experts <= 576);
}

/* Does vLLM's fused router take its kernel for many experts? */
static inline int route_is_general(const route_plan *p)
{
    const uint32_t size = p->experts / p->groups;
    const int is_single = p->groups == 1 && p->kept == 1 && p->experts <= 512 &&
                          (p->top_k <= 8 || p->top_k == 22);
    const int is_grouped = p->groups > 1 && p->experts <= 256 && size <= 32 &&
                           size * p->kept <= 128 && p->top_k <= 8 &&
                           p->kept <= 4;

    return (p->flags & ROUTE_TWO_KERNELS) != 0 && !is_single && !is_grouped;
}

/* A sentence, or NULL: groups that the dialect can do. */
static inline const char *route_groups_refusal(const route_plan *p,
                                               int has_bias)
{
    const int is_grouped = p->groups > 1;

    if (p->groups < 1 || p->kept < 1 || p->kept > p->groups ||
        p->experts % p->groups != 0) {
        return "the groups do not fit the experts";
    }
    const uint32_t size = p->experts / p->groups;
    const int is_pair = (p->flags & ROUTE_TWO) != 0 || has_bias;

    if (is_grouped && (p->flags & ROUTE_GROUPED) == 0) {
        return "this dialect has no groups";
    }
    if ((is_grouped || p->general) && is_pair && size < 2) {
        return "a group has fewer than two experts";
    }
    if (p->top_k > size * p->kept) {
        return "too few experts stay for top_k";
    }
    return p->shared > 0 && ((p->flags & ROUTE_BIAS_BF16) == 0 || !is_grouped)
               ? "this dialect has no shared experts"
               : NULL;
}

static inline int route_is_beyond(uint32_t n, uint32_t most)
{
    return most != 0 && n > most;
}

/* The limit of a vendor's kernel that legal sizes exceed, or NULL:
   docs/ops/route.topk.md, Limits. */
static inline const char *route_kernel_refusal(const route_plan *p,
                                               const route_row *row)
{
    const int in_groups = (p->flags & ROUTE_BIAS_BF16) != 0 && p->groups > 1;

    if (route_is_beyond(p->experts, row->experts) ||
        route_is_beyond(p->top_k, row->top_k) ||
        route_is_beyond(p->groups, row->groups)) {
        return "the dialect's kernel takes fewer experts, choices or groups";
    }
    if (in_groups && (p->groups > 8 || p->kept > 4 ||
                      p->top_k > (p->experts <= 384 ? 8u : 22u) ||
                      p->top_k == p->experts / p->groups * p->kept)) {
        return "the dialect's kernel takes fewer groups or choices";
    }
    return p->score == ROUTE_SOFTPLUS && !p->has_warp
               ? "the dialect has kernels of one warp alone, and none for so "
                 "many experts"
               : NULL;
}

static inline const char *route_refusal(const route_call *r)
{
    const route_plan *const p = &r->plan;
    const int has_bias = r->bias != NULL;

    if (p->top_k < 1 || p->top_k > p->experts) {
        return "top_k does not fit the experts";
    }
    if (p->scale - p->scale != 0 ||
        (p->scale != 1 && (p->flags & ROUTE_FACTORED) == 0)) {
        return "the scaling factor is not finite, or none is known";
    }
    if (has_bias && (p->flags & ROUTE_BIASED) == 0) {
        return "this dialect has no bias";
    }
    if (r->table != NULL && (p->score != ROUTE_SOFTPLUS || has_bias)) {
        return "a table needs vllm_softplus_sqrt without a bias";
    }
    const char *const sentence = route_groups_refusal(p, has_bias);

    return sentence != NULL ? sentence : route_kernel_refusal(p, r->row);
}

static inline uint32_t route_type(const mxo_call *call, const char *key)
{
    const int is_f16 = call_is(call, key, "f16");

    return call_is(call, key, "f32")
               ? (uint32_t)ROUTE_F32
               : (uint32_t)(is_f16 ? ROUTE_F16 : ROUTE_BF16);
}

static inline uint32_t route_dtype(uint32_t type)
{
    static const uint32_t dtypes[] = {MXO_BF16, MXO_F16, MXO_F32};

    return dtypes[type];
}

/* Those of a call that are counts. */
static inline mxo_status route_counts(const mxo_call *call, route_plan *p,
                                      mxo_text why)
{
    static const char *const keys[] = {"top_k", "n_group", "topk_group",
                                       "n_shared"};
    uint32_t *const to[] = {&p->top_k, &p->groups, &p->kept, &p->shared};

    for (int i = 0; i < 4; i++) {
        const double n = call_number(call, keys[i]);
        if (!(n >= 0 && n <= ROUTE_MOST)) {
            return call_refuse(call, MXO_E_PARAM, why,
                               "a count is not 0 .. 2048");
        }
        *to[i] = (uint32_t)n;
    }
    return MXO_OK;
}

/* An output of the type, tokens by slots. */
static inline mxo_status route_output(const mxo_call *call, const char *name,
                                      const route_plan *p, uint32_t dtype,
                                      const mxo_tensor **to, mxo_text why)
{
    const mxo_tensor *const t = call_out(call, name);

    *to = t;
    return t != NULL && t->dtype == dtype && t->rank == 2 &&
                   t->shape[0] == p->tokens &&
                   t->shape[1] == (uint64_t)p->top_k + p->shared
               ? MXO_OK
               : call_refuse(call, MXO_E_SHAPE, why,
                             "an output is missing or not in shape");
}

static inline mxo_status route_outputs(const mxo_call *call, route_call *r,
                                       mxo_text why)
{
    const route_plan *const p = &r->plan;

    if (p->tokens > INT32_MAX / ((uint64_t)p->top_k + p->shared)) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "tokens times top_k is too much");
    }
    MXO_TRY(route_output(call, "topk_ids", p, MXO_I32, &r->ids, why));
    MXO_TRY(route_output(call, "topk_weights", p, route_dtype(p->to),
                         &r->weights, why));
    if (call_is(call, "also", "indices")) {
        return route_output(call, "token_expert_indices", p, MXO_I32,
                            &r->indices, why);
    }
    return call_is(call, "also", "packed")
               ? route_output(call, "packed", p, MXO_I32, &r->packed, why)
               : MXO_OK;
}

static inline mxo_status route_inputs(const mxo_call *call, route_call *r,
                                      mxo_text why)
{
    const mxo_tensor *const x = call_in(call, "logits");
    const mxo_tensor *const table = call_in(call, "tid2eid");

    if (x == NULL || x->rank != 2 || x->shape[1] < 1 ||
        x->shape[1] > ROUTE_MOST) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "logits are tokens by 1 .. 2048 experts");
    }
    r->logits = x;
    r->plan.tokens = x->shape[0];
    r->plan.experts = (uint32_t)x->shape[1];
    r->bias = call_is(call, "bias", "none") ? NULL : call_in(call, "bias");
    if (call_is(call, "table", "1")) {
        r->input = call_in(call, "input_ids");
        r->table = table;
        if (table == NULL || table->rank != 2 ||
            table->shape[1] != r->plan.top_k) {
            return call_refuse(call, MXO_E_SHAPE, why,
                               "the table has not top_k experts a row");
        }
    }
    return MXO_OK;
}

static inline mxo_status route_read(const mxo_call *call, route_call *r,
                                    mxo_text why)
{
    route_plan *const p = &r->plan;

    memset(r, 0, sizeof *r);
    r->row = route_row_of(call_text(call, "dialect"));
    if (r->row == NULL || call_number(call, "bounds") != 0) {
        return call_refuse(call, MXO_E_UNSUPPORTED, why,
                           r->row == NULL ? "no such dialect"
                                          : "bounds are not given");
    }
    p->score = r->row->score;
    p->norm = r->row->norm;
    p->flags = r->row->flags;
    p->from = route_type(call, "from");
    p->to = route_type(call, "to");
    p->renormalize = (uint32_t)call_is(call, "renormalize", "1");
    p->scale = call_number(call, "routed_scaling_factor");
    if (call_is(call, "also", "packed") && p->to != ROUTE_BF16) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "packed results hold bf16 weights");
    }
    MXO_TRY(route_counts(call, p, why));
    MXO_TRY(route_inputs(call, r, why));
    p->has_warp = (uint32_t)route_is_warp(p->experts);
    p->general = (uint32_t)(p->groups > 0 && route_is_general(p));
    /* torch: a bias of another type is what choices have. */
    const int is_own = r->bias == NULL || route_type(call, "bias") == p->from;
    const int is_typed = (p->flags & ROUTE_TORCH) != 0 && is_own;

    p->choice_type = p->general || is_typed ? p->from : (uint32_t)ROUTE_F32;
    const char *const sentence = route_refusal(r);

    return sentence != NULL ? call_refuse(call, MXO_E_PARAM, why, sentence)
                            : route_outputs(call, r, why);
}

/* n numbers of a bias to binary32; none is a NaN. */
static inline mxo_status route_take_bias(const mxo_call *call, const void *from,
                                         uint32_t n, float *bias, mxo_text why)
{
    const int is_f32 = call_is(call, "bias", "f32");

    for (uint32_t e = 0; e < n; e++) {
        uint32_t bits = 0;
        uint16_t half = 0;

        if (is_f32) {
            memcpy(&bits, (const uint8_t *)from + 4 * (size_t)e, sizeof bits);
        } else {
            memcpy(&half, (const uint8_t *)from + 2 * (size_t)e, sizeof half);
            bits = (uint32_t)half << 16;
        }
        memcpy(&bias[e], &bits, sizeof bits);
        if (bias[e] != bias[e]) {
            return call_refuse(call, MXO_E_PARAM, why, "the bias holds a NaN");
        }
    }
    return MXO_OK;
}

/* All of the n ids are 0 .. below - 1. */
static inline mxo_status route_below(const mxo_call *call, const int32_t *id,
                                     uint64_t n, uint64_t below,
                                     const char *sentence, mxo_text why)
{
    for (uint64_t i = 0; i < n; i++) {
        if (id[i] < 0 || (uint64_t)id[i] >= below) {
            return call_refuse(call, MXO_E_PARAM, why, sentence);
        }
    }
    return MXO_OK;
}

#endif
