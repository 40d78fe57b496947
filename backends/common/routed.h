/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.layer_routed: the router, then the layer on its answer.  Both see a call
 * of their own, with the ids and weights between them.
 */
#ifndef BACKENDS_ROUTED_H
#define BACKENDS_ROUTED_H

#include "call_read.h"

enum { ROUTED_MOST = 64, ROUTED_PARAMS = 13 };

typedef struct routed_calls {
    mxo_tensor between[2]; /* ids and weights; the caller gives them buffers */
    mxo_param route_param[ROUTED_PARAMS];
    mxo_param layer_param[ROUTED_MOST];
    mxo_tensor route_in[2];
    mxo_tensor layer_in[ROUTED_MOST];
    mxo_call route;
    mxo_call layer;
} routed_calls;

/* A parameter of the router: another name of the call's, or a constant.  All
   other parameters of the call are the layer's. */
typedef struct routed_param {
    const char *key;
    const char *from; /* NULL: text */
    const char *text;
} routed_param;

static inline const routed_param *routed_params(void)
{
    static const routed_param rows[ROUTED_PARAMS] = {
        {"dialect", "dialect", NULL},
        {"from", "logits", NULL},
        {"to", NULL, "f32"},
        {"top_k", "top_k", NULL},
        {"renormalize", "renormalize", NULL},
        {"routed_scaling_factor", "routed_scaling_factor", NULL},
        {"n_group", "n_group", NULL},
        {"topk_group", "topk_group", NULL},
        {"n_shared", NULL, "0"},
        {"bias", "correction", NULL},
        {"table", NULL, "0"},
        {"also", NULL, "none"},
        {"bounds", NULL, "0"},
    };

    return rows;
}

static inline int routed_is_routers(const char *key)
{
    const routed_param *const rows = routed_params();
    int found = 0;

    for (int i = 0; i < ROUTED_PARAMS; i++) {
        found |= rows[i].from != NULL && strcmp(rows[i].from, key) == 0;
    }
    return found;
}

static inline mxo_status routed_check(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *const x = call_in(call, "logits");
    const mxo_tensor *const map = call_in(call, "expert_map");
    const mxo_tensor *const w = call_in(call, "w13");
    const double k = call_number(call, "top_k");

    if (call->n_params > ROUTED_MOST || call->n_in + 2 > ROUTED_MOST ||
        x == NULL || x->rank != 2 || w == NULL || w->rank == 0) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "logits are a matrix, weights have experts");
    }
    if (!(k >= 1 && k <= (double)x->shape[1]) ||
        x->shape[0] > INT32_MAX / (uint64_t)k) {
        return call_refuse(call, MXO_E_PARAM, why, "top_k does not fit");
    }
    const int has_map = map != NULL && map->rank == 1;

    return x->shape[1] == (has_map ? map->shape[0] : w->shape[0])
               ? MXO_OK
               : call_refuse(call, MXO_E_SHAPE, why,
                             "logits have no column for each expert");
}

static inline void routed_route(routed_calls *r, const mxo_call *call)
{
    const routed_param *const rows = routed_params();
    const mxo_tensor *const bias = call_in(call, "correction_bias");

    for (int i = 0; i < ROUTED_PARAMS; i++) {
        const char *const from = rows[i].from;
        r->route_param[i].key = rows[i].key;
        r->route_param[i].text =
            from == NULL ? rows[i].text : call_text(call, from);
        r->route_param[i].number = from == NULL ? 0 : call_number(call, from);
    }
    r->route_in[0] = *call_in(call, "logits");
    if (bias != NULL) {
        r->route_in[1] = *bias;
        r->route_in[1].name = "bias";
    }
    r->route = *call;
    r->route.op = "route.topk";
    r->route.params = r->route_param;
    r->route.n_params = ROUTED_PARAMS;
    r->route.in = r->route_in;
    r->route.n_in = bias == NULL ? 1 : 2;
    r->route.out = r->between;
    r->route.n_out = 2;
}

static inline void routed_layer(routed_calls *r, const mxo_call *call)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < call->n_params; i++) {
        if (!routed_is_routers(call->params[i].key)) {
            r->layer_param[n++] = call->params[i];
        }
    }
    memcpy(r->layer_in, call->in, call->n_in * sizeof *call->in);
    memcpy(r->layer_in + call->n_in, r->between, sizeof r->between);
    r->layer = *call;
    r->layer.op = "moe.layer";
    r->layer.params = r->layer_param;
    r->layer.n_params = n;
    r->layer.in = r->layer_in;
    r->layer.n_in = call->n_in + 2;
}

/* Both calls; routed_check() has passed, and r is all zeros but for the
   buffers. */
static inline void routed_make(routed_calls *r, const mxo_call *call)
{
    const mxo_tensor *const x = call_in(call, "logits");
    const uint64_t slots = (uint64_t)call_number(call, "top_k");

    for (int i = 0; i < 2; i++) {
        mxo_tensor *const t = &r->between[i];
        t->name = i == 0 ? "topk_ids" : "topk_weights";
        t->dtype = i == 0 ? MXO_I32 : MXO_F32;
        t->rank = 2;
        t->shape[0] = x->shape[0];
        t->shape[1] = slots;
        t->n_bytes = 4 * x->shape[0] * slots;
    }
    routed_route(r, call);
    routed_layer(r, call);
}

#endif
