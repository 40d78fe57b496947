/* SPDX-License-Identifier: Apache-2.0 */
/* route.topk: a call's plan, with what its tensors hold looked through. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/route.h"
#include "port/runtime.h"

#include "../../common/router_read.h"

GPU_ENTRY(route_widen, route_widen_args, route_widen_body(a))
GPU_ENTRY(route_topk, route_args, route_body(a))

/* A bias holds no NaN, and these are few. */
static mxo_status route_bias(const mxo_call *call, const route_call *r,
                             mxo_text why)
{
    uint8_t raw[4 * ROUTE_MOST];
    float bias[ROUTE_MOST];

    if (r->bias == NULL || call_is_captured(call)) {
        return MXO_OK;
    }
    MXO_TRY(
        call_fetch(call, raw, tensor_address(r->bias), r->bias->n_bytes, why));
    return route_take_bias(call, raw, r->plan.experts, bias, why);
}

/* Ids of a tensor are 0 .. below - 1. */
static mxo_status route_ids(const mxo_call *call, const mxo_tensor *t,
                            uint64_t below, const char *sentence, mxo_text why)
{
    int32_t *const id = (int32_t *)malloc((size_t)t->n_bytes + 1);
    mxo_status status =
        id == NULL
            ? call_refuse(call, MXO_E_NOMEM, why, "no memory for a table")
            : call_fetch(call, id, tensor_address(t), t->n_bytes, why);

    if (status == MXO_OK) {
        status = route_below(call, id, t->n_bytes / 4, below, sentence, why);
    }
    free(id);
    return status;
}

static mxo_status route_table(const mxo_call *call, const route_call *r,
                              mxo_text why)
{
    if (r->table == NULL || call_is_captured(call)) {
        return MXO_OK;
    }
    MXO_TRY(route_ids(call, r->input, r->table->shape[0],
                      "an input id is not in the table", why));
    return route_ids(call, r->table, r->plan.experts,
                     "the table names no expert", why);
}

static uint8_t *route_address(const mxo_tensor *t)
{
    return t == NULL ? NULL : tensor_address(t);
}

static mxo_status route_fill(const mxo_call *call, route_args *a, route_call *r,
                             mxo_text why)
{
    MXO_TRY(route_read(call, r, why));
    MXO_TRY(route_table(call, r, why));
    MXO_TRY(route_bias(call, r, why));
    a->plan = r->plan;
    a->logits = route_address(r->logits);
    a->input = route_address(r->input);
    a->table = route_address(r->table);
    a->ids = route_address(r->ids);
    a->weights = route_address(r->weights);
    a->indices = route_address(r->indices);
    a->packed = route_address(r->packed);
    return MXO_OK;
}

/* A room for each token, and a bias of BF16 behind them, after its launch. */
static mxo_status route_place(const route_call *r, route_args *a,
                              gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel widen = KERNEL(route_widen, 0);
    const route_plan *const p = &a->plan;
    const uint64_t words = ROUTE_ROOM(p) * p->tokens;

    MXO_TRY(scratch_need(plan->scratch, 4 * (words + p->experts), why));
    a->room = (uint32_t *)plan->scratch->p;
    if (r->bias != NULL && r->bias->dtype == MXO_BF16) {
        const route_widen_args w = {tensor_address(r->bias), a->room + words,
                                    p->experts};
        *PLAN_ARGS(plan, route_widen_args) = w;
        a->plan.bias = (const float *)w.to;
        (void)plan_step(plan, &widen, w.n);
    } else {
        a->plan.bias = (const float *)(const void *)route_address(r->bias);
    }
    return MXO_OK;
}

mxo_status plan_route(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(route_topk, 0);
    route_args a;
    route_call r;

    memset(&a, 0, sizeof a);
    MXO_TRY(route_fill(call, &a, &r, why));
    MXO_TRY(route_place(&r, &a, plan, why));
    gpu_plan *const step = plan_step(plan, &kernel, a.plan.tokens);

    if (step == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
    }
    *PLAN_ARGS(step, route_args) = a;
    return MXO_OK;
}
