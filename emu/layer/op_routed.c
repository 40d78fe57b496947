/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.layer_routed: route.topk, then moe.layer on its answer.  Both are run as
 * they are; ids and weights lie in the scratch, in front of the layer's.
 */
#include "../call.h"

#include <string.h>

enum { MOST_IN = 20, ROUTE_PARAMS = 12, MOST_OUT = 4 };

/* A parameter of route.topk: another of this operation, or a constant. */
typedef struct route_param {
    const char *key;
    const char *from; /* NULL: the constant */
    mxo_param constant;
} route_param;

static const route_param route_params[ROUTE_PARAMS] = {
    {"dialect", "dialect", {0}},
    {"from", "logits", {0}},
    {"to", NULL, {"to", "f32", 0}},
    {"top_k", "top_k", {0}},
    {"renormalize", "renormalize", {0}},
    {"routed_scaling_factor", "routed_scaling_factor", {0}},
    {"n_group", "n_group", {0}},
    {"topk_group", "topk_group", {0}},
    {"n_shared", NULL, {"n_shared", "0", 0}},
    {"bias", "correction", {0}},
    {"table", NULL, {"table", "0", 0}},
    {"also", NULL, {"also", "none", 0}},
};

/* Both calls, with the tensors between them. */
typedef struct routed {
    mxo_param params[ROUTE_PARAMS];
    mxo_tensor route_in[2];
    mxo_tensor route_out[MOST_OUT]; /* topk_ids, topk_weights */
    mxo_tensor in[MOST_IN];
    mxo_tensor out[MOST_OUT]; /* the layer's, scratch last */
    mxo_call route;
    mxo_call layer;
    uint64_t bytes; /* of scratch in front of the layer's */
} routed;

static mxo_param param_of(const mxo_call *call, const route_param *row)
{
    mxo_param p = row->constant;

    for (uint32_t i = 0; row->from != NULL && i < call->n_params; i++) {
        if (strcmp(call->params[i].key, row->from) == 0) {
            p = call->params[i];
        }
    }
    p.key = row->key;
    return p;
}

static void make_route(routed *r, const mxo_call *call)
{
    const mxo_tensor *bias = mxo_call_in(call, "correction_bias");

    for (int i = 0; i < ROUTE_PARAMS; i++) {
        r->params[i] = param_of(call, &route_params[i]);
    }
    r->route_in[0] = *mxo_call_in(call, "logits");
    if (bias != NULL) {
        r->route_in[1] = *bias;
        r->route_in[1].name = "bias";
    }
    r->route = *call;
    r->route.op = "route.topk";
    r->route.params = r->params;
    r->route.n_params = ROUTE_PARAMS;
    r->route.in = r->route_in;
    r->route.n_in = bias == NULL ? 1 : 2;
    r->route.out = r->route_out;
    r->route.n_out = 2;
}

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* The router's experts are the layer's, or those of its map. */
static mxo_status check_experts(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *logits = mxo_call_in(call, "logits");
    const mxo_tensor *map = mxo_call_in(call, "expert_map");
    const mxo_tensor *w13 = mxo_call_in(call, "w13");
    const uint64_t known = map != NULL ? map->shape[0] : w13->shape[0];

    return logits->rank == 2 && logits->shape[1] == known
               ? MXO_OK
               : mxo_fail(MXO_E_SHAPE, why,
                          "%s: logits have no column for each of %llu experts",
                          call->op, (unsigned long long)known);
}

/* The layer's call: the inputs of this call and the router's outputs. */
static mxo_status make_layer(routed *r, const mxo_call *call, mxo_text why)
{
    uint32_t n = 0;

    if (call->n_in + 2 > MOST_IN) {
        return mxo_fail(MXO_E_SHAPE, why, "%s: too many inputs", call->op);
    }
    for (; n < call->n_in; n++) {
        r->in[n] = call->in[n];
    }
    for (int i = 0; i < 2; i++) {
        r->in[n++] = r->route_out[i];
        r->bytes += rounded(r->route_out[i].n_bytes);
    }
    r->layer = *call;
    r->layer.in = r->in;
    r->layer.n_in = n;
    return check_experts(call, why);
}

static mxo_status make(routed *r, const mxo_call *call, mxo_text why)
{
    uint32_t n = MOST_OUT;

    r->bytes = 0;
    make_route(r, call);

    MXO_TRY(infer_route_topk(&r->route, r->route_out, &n, why));
    return make_layer(r, call, why);
}

mxo_status infer_moe_layer_routed(const mxo_call *call, mxo_tensor *out_tensor,
                                  uint32_t *n_out, mxo_text why)
{
    routed r;

    MXO_TRY(make(&r, call, why));
    MXO_TRY(infer_moe_layer(&r.layer, out_tensor, n_out, why));
    mxo_tensor *scratch = &out_tensor[*n_out - 1];
    const uint64_t bytes = scratch->n_bytes + r.bytes;
    mxo_out(out_tensor, *n_out - 1, scratch->name, MXO_U8, 1, &bytes);
    return MXO_OK;
}

/* Ids, weights and the layer's scratch, one behind the other. */
static void place(routed *r, const mxo_call *call)
{
    const mxo_tensor *scratch = mxo_call_out(call, ".scratch");
    uint64_t at = scratch->offset;

    for (uint32_t i = 0; i < 2; i++) {
        r->route_out[i].buffer = scratch->buffer;
        r->route_out[i].offset = at;
        r->in[call->n_in + i] = r->route_out[i];
        at += rounded(r->route_out[i].n_bytes);
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        r->out[i] = call->out[i];
    }
    r->out[call->n_out - 1].offset = at;
    r->layer.out = r->out;
}

mxo_status run_moe_layer_routed(const mxo_call *call, mxo_text why)
{
    routed r;

    MXO_TRY(make(&r, call, why));
    place(&r, call);
    MXO_TRY(run_route_topk(&r.route, why));
    return run_moe_layer(&r.layer, why);
}
