/* SPDX-License-Identifier: Apache-2.0 */
/* route.topk: a call's plan, with what its tensors hold looked through. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/route.h"
#include "port/runtime.h"

#include "../../common/router_read.h"

GPU_ENTRY(route_topk, route_args, route_body(a))

/* The bias as binary32 on the host, which the caller frees. */
static mxo_status route_bias(const mxo_call *call, const route_call *r,
                             float **bias, mxo_text why)
{
    if (r->bias == NULL) {
        return MXO_OK;
    }
    const uint32_t n = r->plan.experts;
    uint8_t raw[4 * ROUTE_MOST];

    *bias = (float *)malloc(n * sizeof **bias);
    if (*bias == NULL) {
        return call_refuse(call, MXO_E_NOMEM, why, "no memory for the bias");
    }
    MXO_TRY(gpu_download(raw, tensor_address(r->bias), r->bias->n_bytes, why));
    return route_take_bias(call, raw, n, *bias, why);
}

/* Ids of a tensor are 0 .. below - 1. */
static mxo_status route_ids(const mxo_call *call, const mxo_tensor *t,
                            uint64_t below, const char *sentence, mxo_text why)
{
    int32_t *const id = (int32_t *)malloc((size_t)t->n_bytes + 1);
    mxo_status status =
        id == NULL
            ? call_refuse(call, MXO_E_NOMEM, why, "no memory for a table")
            : gpu_download(id, tensor_address(t), t->n_bytes, why);

    if (status == MXO_OK) {
        status = route_below(call, id, t->n_bytes / 4, below, sentence, why);
    }
    free(id);
    return status;
}

static mxo_status route_table(const mxo_call *call, const route_call *r,
                              mxo_text why)
{
    if (r->table == NULL) {
        return MXO_OK;
    }
    MXO_TRY(route_ids(call, r->input, r->table->shape[0],
                      "an input id is not in the table", why));
    return route_ids(call, r->table, r->plan.experts,
                     "the table names no expert", why);
}

/* A room for each token, and the bias behind them. */
static mxo_status route_place(route_args *a, const float *bias,
                              gpu_scratch *scratch, mxo_text why)
{
    const route_plan *const p = &a->plan;
    const uint64_t words = ROUTE_ROOM(p) * p->tokens;

    MXO_TRY(scratch_need(scratch, 4 * (words + p->experts), why));
    a->room = (uint32_t *)scratch->p;
    if (bias == NULL) {
        return MXO_OK;
    }
    a->plan.bias = (const float *)(a->room + words);
    return gpu_upload(a->room + words, bias, 4 * (uint64_t)p->experts, why);
}

static uint8_t *route_address(const mxo_tensor *t)
{
    return t == NULL ? NULL : tensor_address(t);
}

static mxo_status route_fill(const mxo_call *call, gpu_plan *plan, float **bias,
                             mxo_text why)
{
    route_args *const a = PLAN_ARGS(plan, route_args);
    route_call r;

    MXO_TRY(route_read(call, &r, why));
    MXO_TRY(route_table(call, &r, why));
    MXO_TRY(route_bias(call, &r, bias, why));
    a->plan = r.plan;
    a->logits = route_address(r.logits);
    a->input = route_address(r.input);
    a->table = route_address(r.table);
    a->ids = route_address(r.ids);
    a->weights = route_address(r.weights);
    a->indices = route_address(r.indices);
    a->packed = route_address(r.packed);
    return route_place(a, *bias, plan->scratch, why);
}

mxo_status plan_route(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(route_topk, 0);
    float *bias = NULL;
    const mxo_status status = route_fill(call, plan, &bias, why);

    free(bias);
    (void)plan_step(plan, &kernel, PLAN_ARGS(plan, route_args)->plan.tokens);
    return status;
}
