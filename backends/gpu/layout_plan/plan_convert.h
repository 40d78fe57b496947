/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.convert: the chains of the six tensors, one after the other, and the
 * one activation scale that loaders for 8-bit activations keep.
 */
#ifndef GPU_PLAN_CONVERT_H
#define GPU_PLAN_CONVERT_H

#include "host/call.h"
#include "host/plans.h"
#include "layout/layout_values.h"
#include "layout_plan/layout_chain.h"
#include "layout_plan/layout_text.h"
#include "layout_plan/plan_layout.h"
#include "layout_plan/plan_move.h"
#include "port/runtime.h"

/* Check the loader's requirements on the whole layer. */
static mxo_status convert_needs(const conversion_row *row, uint64_t experts,
                                uint64_t hidden, uint64_t inter, int has_bias,
                                mxo_text why)
{
    layout_names names;
    int unreadable = 0;

    if (strcmp(row->bias, "required") == 0 && !has_bias) {
        return gpu_fail(MXO_E_SHAPE, why, "%s needs both biases", row->id);
    }
    names.n = 0;
    (void)names_set(&names, "experts", (int64_t)experts);
    (void)names_set(&names, "hidden", (int64_t)hidden);
    (void)names_set(&names, "inter", (int64_t)inter);
    return layout_needs(&names, row->needs, &unreadable)
               ? MXO_OK
               : gpu_fail(MXO_E_SHAPE, why, "%s needs %s", row->id, row->needs);
}

static mxo_status convert_check(const mxo_call *call, const conversion_row *row,
                                mxo_text why)
{
    const mxo_tensor *const w13 = call_in(call, "w13");
    const mxo_tensor *const w2 = call_in(call, "w2");

    if (w13 == NULL || w2 == NULL || w13->rank != 3 || w2->rank != 3 ||
        w13->shape[0] != w2->shape[0]) {
        return gpu_fail(MXO_E_SHAPE, why, "layout.convert needs w13 and w2");
    }
    return convert_needs(row, w13->shape[0], 2 * w13->shape[2],
                         w13->shape[1] / 2, call_is(call, "bias", "1"), why);
}

/* The chain of tensor i, if the call has one; n is 0 if it has not. */
static mxo_status convert_chain(const mxo_call *call, const conversion_row *row,
                                int i, layout_chain *c, mxo_text why)
{
    const mxo_tensor *const x = call_in(call, chain_tensors[i]);
    const int dropped = strstr(chain_tensors[i], "bias") != NULL &&
                        strcmp(row->bias, "none") == 0;

    c->n = 0;
    if (x == NULL || dropped) {
        return MXO_OK;
    }
    if (x->rank != 2 && x->rank != 3) {
        return gpu_fail(MXO_E_SHAPE, why, "%s has the wrong rank", x->name);
    }
    const uint64_t shape[3] = {x->shape[0], x->shape[1],
                               x->rank == 2 ? 1 : x->shape[2]};
    return chain_of_tensor(c, row, call_text(call, "conversion"), i, x->dtype,
                           shape, why);
}

/* A layer is refused before any of its tensors is written. */
static mxo_status convert_look(const mxo_call *call, int i,
                               const layout_chain *c, const chain_run *run,
                               mxo_text why)
{
    const mxo_tensor *const x = call_in(call, chain_tensors[i]);
    const value_change *const v = &c->step[0].values;

    return v->kind < 0 || !values_lose(v)
               ? MXO_OK
               : plan_values(run->plan, v, tensor_address(x), NULL,
                             x->n_bytes / type_bytes(x->dtype), run->odd, why);
}

static mxo_status convert_tensor(const mxo_call *call, int i,
                                 const layout_chain *c, chain_run run,
                                 mxo_text why)
{
    const layout_step *const last = &c->step[c->n - 1];
    const uint64_t n = map_bytes(&last->map) / last->map.elem_bytes;
    char valid[32];

    run.at = tensor_address(call_in(call, chain_tensors[i]));

    MXO_TRY(need_memory(call, chain_tensors[i], last->values.to,
                        n * type_bytes(last->values.to), &run.end, why));
    MXO_TRY(chain_there(&run, c, why));
    (void)snprintf(valid, sizeof valid, "%s_valid", chain_tensors[i]);
    const mxo_tensor *const defined = call_out(call, valid);
    return defined != NULL && defined->n_bytes == n
               ? plan_valid(run.plan, c, 0, tensor_address(defined), n, why)
               : MXO_OK;
}

/* NAME_input_scale's largest, if the call wants it. */
static mxo_status convert_scale(const mxo_call *call, gpu_plan *plan,
                                const char *in, const char *out, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(layout_largest, 0);
    const mxo_tensor *const x = call_in(call, in);
    uint8_t *y = NULL;

    if (!call_is(call, "input_scale", "1")) {
        return MXO_OK;
    }
    if (x == NULL) {
        return gpu_fail(MXO_E_SHAPE, why, "layout.convert needs %s", in);
    }
    const mxo_status status = need_tensor(call, 1, out, 4, &y, why);
    gpu_plan *const next = status == MXO_OK ? plan_append(plan) : NULL;
    if (next == NULL) {
        return status != MXO_OK
                   ? status
                   : gpu_fail(MXO_E_NOMEM, why, "no memory for the plan");
    }
    next->kernel = &kernel;
    next->blocks = 1;
    values_args *const a = PLAN_ARGS(next, values_args);
    a->src = tensor_address(x);
    a->dst = y;
    a->n = x->n_bytes / 4;
    return MXO_OK;
}

/* Big tensors first: small ones fill the multiprocessors that run dry, and
   blocks of the weights end at several times, so that some do. */
typedef struct convert_place {
    int tensor; /* of chain_tensors */
    int lane;
    uint32_t waves;
} convert_place;

static const convert_place convert_order[CHAIN_TENSORS] = {
    {0, 1, 4}, {3, 2, 4}, {1, 3, 1}, {4, 3, 1}, {2, 0, 1}, {5, 0, 1}};

/* The launches behind last, which are one tensor's, get their place. */
static void convert_beside(gpu_plan *last, const convert_place *place)
{
    for (gpu_plan *p = last->next; p != NULL; p = p->next) {
        p->lane = place->lane;
        p->waves *= place->waves;
    }
}

/* Tensors that go through scratch share it: they stay in lane 0. */
static mxo_status convert_tensors(const mxo_call *call, gpu_plan *plan,
                                  const conversion_row *row,
                                  const chain_run *run, mxo_text why)
{
    layout_chain chain;

    for (int i = 0; i < CHAIN_TENSORS; i++) {
        const int tensor = convert_order[i].tensor;

        while (plan->next != NULL) {
            plan = plan->next;
        }
        MXO_TRY(convert_chain(call, row, tensor, &chain, why));
        if (chain.n > 0) {
            MXO_TRY(convert_tensor(call, tensor, &chain, *run, why));
        }
        if (chain.n > 0 && chain_room(&chain) == 0) {
            convert_beside(plan, &convert_order[i]);
        }
    }
    return MXO_OK;
}

mxo_status plan_convert(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    const char *const name = call_text(call, "conversion");
    const conversion_row *const row = conversion_find(name, strcspn(name, "/"));
    layout_chain chain;
    chain_run run;
    uint64_t room = 0;

    if (row == NULL) {
        return gpu_fail(MXO_E_PARAM, why, "no conversion is called %s", name);
    }
    MXO_TRY(convert_check(call, row, why));
    for (int i = 0; i < CHAIN_TENSORS; i++) {
        MXO_TRY(convert_chain(call, row, i, &chain, why));
        if (chain.n > 0 && chain_room(&chain) > room) {
            room = chain_room(&chain);
        }
    }
    MXO_TRY(chain_begin(&run, plan, room, why));
    for (int i = 0; i < CHAIN_TENSORS; i++) {
        MXO_TRY(convert_chain(call, row, i, &chain, why));
        if (chain.n > 0) {
            MXO_TRY(convert_look(call, i, &chain, &run, why));
        }
    }
    MXO_TRY(convert_tensors(call, plan, row, &run, why));
    MXO_TRY(convert_scale(call, plan, "w13_input_scale", "w13_lhs_scale", why));
    return convert_scale(call, plan, "w2_input_scale", "w2_lhs_scale", why);
}

#endif
