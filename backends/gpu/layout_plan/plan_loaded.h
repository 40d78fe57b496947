/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer whose weights a loader has laid out in an order that its kernels do
 * not read: each tensor goes back through its chain, launches before the
 * layer's, and the layer is planned on what the checkpoint had.
 */
#ifndef GPU_PLAN_LOADED_H
#define GPU_PLAN_LOADED_H

#include "host/call.h"
#include "host/plans.h"
#include "layout_plan/layout_chain.h"
#include "layout_plan/plan_convert.h"
#include "layout_plan/plan_layout.h"
#include "port/runtime.h"

enum { LOADED_MOST = 64 }; /* parameters, and inputs */

typedef struct loaded_tensor {
    const mxo_tensor *given; /* NULL: not of this call */
    mxo_tensor *back;        /* of the layer's call */
    uint64_t shape[3];
    layout_chain chain;
} loaded_tensor;

typedef struct loaded_call {
    const conversion_row *row;
    uint64_t experts, hidden, inter;
    mxo_param param[LOADED_MOST];
    mxo_tensor in[LOADED_MOST];
    mxo_call layer; /* as of a checkpoint */
    loaded_tensor tensor[CHAIN_TENSORS];
} loaded_call;

static mxo_status loaded_sizes(loaded_call *l, const mxo_call *call,
                               mxo_text why)
{
    const mxo_tensor *const w13 = call_in(call, "w13");
    const mxo_tensor *const w = w13 != NULL ? w13 : call_in(call, "w2");
    const double hidden = call_number(call, "hidden_size");
    const double inter = call_number(call, "intermediate_size");

    if (call->n_params > LOADED_MOST || call->n_in > LOADED_MOST || w == NULL ||
        w->rank == 0 || !(hidden >= 1 && inter >= 1) ||
        (double)w->shape[0] * hidden * inter > 0x1p48) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "%s: hidden_size and intermediate_size do not fit",
                        call->op);
    }
    l->experts = w->shape[0];
    l->hidden = (uint64_t)hidden;
    l->inter = (uint64_t)inter;
    return MXO_OK;
}

/* The conversion, and what it says of the layer. */
static mxo_status loaded_row(loaded_call *l, const mxo_call *call, mxo_text why)
{
    const char *const name = call_text(call, "conversion");
    const int has_bias = !call_is(call, "bias", "none");

    l->row = conversion_find(name, strcspn(name, "/"));
    if (l->row == NULL) {
        return gpu_fail(MXO_E_PARAM, why, "no conversion is called %s", name);
    }
    if (has_bias && !call_is(call, "bias", "bf16")) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: what a conversion takes has bias=bf16, not %s",
                        call->op, call_text(call, "bias"));
    }
    MXO_TRY(loaded_sizes(l, call, why));
    return convert_needs(l->row, l->experts, l->hidden, l->inter, has_bias,
                         why);
}

/* The checkpoint's tensor number i, without an address. */
static void loaded_shape(const loaded_call *l, int i, mxo_tensor *t)
{
    static const uint32_t types[3] = {MXO_U8, MXO_E8M0, MXO_BF16};
    const int second = i >= 3;
    const uint64_t k = second ? l->inter : l->hidden;
    const uint64_t width[3] = {k / 2, (k + 31) / 32, 1};

    t->dtype = types[i % 3];
    t->rank = i % 3 == 2 ? 2 : 3;
    memset(t->shape, 0, sizeof t->shape);
    memset(t->stride, 0, sizeof t->stride);
    t->shape[0] = l->experts;
    t->shape[1] = second ? l->hidden : 2 * l->inter;
    t->shape[2] = t->rank == 3 ? width[i % 3] : 0;
    t->n_bytes =
        t->shape[0] * t->shape[1] * width[i % 3] * type_bytes(t->dtype);
    t->offset = 0;
}

/* Whether x is what the chain leaves; a bias is a matrix. */
static int loaded_fits(const loaded_call *l, int i, const layout_chain *c,
                       const mxo_tensor *x)
{
    const layout_map *const m = &c->last;
    const uint64_t n = map_bytes(m) / m->elem_bytes;
    const uint64_t bias[2] = {l->experts, l->experts == 0 ? 0 : n / l->experts};
    const uint64_t *const shape = i % 3 == 2 ? bias : m->shape;
    const uint32_t rank = i % 3 == 2 ? 2 : m->rank;

    return x->dtype == c->step[c->n - 1].values.to && x->rank == rank &&
           memcmp(x->shape, shape, rank * sizeof *shape) == 0;
}

/* Tensor number i, which is input number at of the call. */
static mxo_status loaded_tensor_of(loaded_call *l, const mxo_call *call, int i,
                                   uint32_t at, mxo_text why)
{
    loaded_tensor *const t = &l->tensor[i];
    const mxo_tensor *const x = &call->in[at];
    layout_chain *const c = &t->chain;

    if (i % 3 == 2 && strcmp(l->row->bias, "none") == 0) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s on %s: conversion=%s drops %s", call->op, GPU_NAME,
                        l->row->id, x->name);
    }
    t->given = x;
    t->back = &l->in[at];
    loaded_shape(l, i, t->back);
    for (int axis = 0; axis < 3; axis++) {
        t->shape[axis] =
            (uint32_t)axis < t->back->rank ? t->back->shape[axis] : 1;
    }
    MXO_TRY(chain_of_tensor(c, l->row, call_text(call, "conversion"), i,
                            t->back->dtype, t->shape, why));
    return loaded_fits(l, i, c, x)
               ? chain_turn(c, why)
               : gpu_fail(MXO_E_SHAPE, why, "%s: %s is not as %s leaves it",
                          call->op, x->name, l->row->id);
}

/* The layer's call: the checkpoint's tensors, and no conversion. */
static mxo_status loaded_make(loaded_call *l, const mxo_call *call,
                              mxo_text why)
{
    MXO_TRY(loaded_row(l, call, why));
    l->layer = *call;
    l->layer.params = l->param;
    l->layer.in = l->in;
    for (uint32_t i = 0; i < call->n_params; i++) {
        l->param[i] = call->params[i];
        if (strcmp(l->param[i].key, "conversion") == 0) {
            l->param[i].text = "none";
        }
    }
    for (uint32_t at = 0; at < call->n_in; at++) {
        l->in[at] = call->in[at];
        for (int i = 0; i < CHAIN_TENSORS; i++) {
            if (strcmp(chain_tensors[i], call->in[at].name) == 0) {
                MXO_TRY(loaded_tensor_of(l, call, i, at, why));
            }
        }
    }
    return MXO_OK;
}

/* The launches that bring the tensors back, into memory that the layer's plan
   does not take. */
static mxo_status loaded_undo(loaded_call *l, gpu_plan *plan, mxo_text why)
{
    gpu_room *const held = &plan->scratch->loaded[0];
    uint64_t end = 0;
    uint64_t room = 0;
    chain_run run;

    for (int i = 0; i < CHAIN_TENSORS; i++) {
        const loaded_tensor *const t = &l->tensor[i];
        if (t->given != NULL) {
            t->back->offset = end;
            end += (t->back->n_bytes + 255) / 256 * 256;
            room = chain_room(&t->chain) > room ? chain_room(&t->chain) : room;
        }
    }
    MXO_TRY(room_need(plan->scratch, &held->p, &held->n, end, why));
    scratch_swap(plan->scratch, &plan->scratch->loaded[1]);
    const mxo_status status = chain_begin(&run, plan, room, why);
    scratch_swap(plan->scratch, &plan->scratch->loaded[1]);
    MXO_TRY(status);
    for (int i = 0; i < CHAIN_TENSORS; i++) {
        const loaded_tensor *const t = &l->tensor[i];
        if (t->given != NULL) {
            t->back->buffer = held->p;
            run.at = tensor_address(t->given);
            run.end = tensor_address(t->back);
            MXO_TRY(chain_back(&run, &t->chain, t->shape, why));
        }
    }
    return MXO_OK;
}

static mxo_status loaded_plan(loaded_call *l, const mxo_call *call,
                              gpu_plan *plan, mxo_text why)
{
    MXO_TRY(loaded_make(l, call, why));
    MXO_TRY(loaded_undo(l, plan, why));
    return plan_layer_behind(&l->layer, plan, why);
}

mxo_status plan_loaded(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    loaded_call *const l = (loaded_call *)calloc(1, sizeof *l);
    const mxo_status status =
        l == NULL ? gpu_fail(MXO_E_NOMEM, why, "no memory for the call")
                  : loaded_plan(l, call, plan, why);

    free(l);
    return status;
}

#endif
