/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.layer_routed: the router, then the layer on its answer.  Both see a call
 * of their own, with the ids and weights between them.
 */
#include "cpu.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

/* Parameters of the router: another name of this operation's, or a constant.
   All other parameters, and those of both, are the layer's. */
static const struct {
    const char *key;
    const char *from;
    const char *text; /* of a constant */
} router[] = {
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
enum { N_ROUTER = sizeof router / sizeof router[0] };

static int is_routers(const char *key)
{
    for (int i = 0; i < N_ROUTER; i++) {
        if (router[i].from != NULL && strcmp(router[i].from, key) == 0) {
            return 1;
        }
    }
    return 0;
}

typedef struct routed {
    mxo_tensor between[2]; /* ids and weights */
    mxo_param route_param[N_ROUTER];
    mxo_param layer_param[MOST];
    mxo_tensor route_in[2];
    mxo_tensor layer_in[MOST];
    mxo_call route;
    mxo_call layer;
} routed;

static mxo_tensor matrix(const char *name, uint32_t dtype, uint64_t tokens,
                         uint64_t slots)
{
    return (mxo_tensor){.name = name,
                        .dtype = dtype,
                        .rank = 2,
                        .shape = {tokens, slots},
                        .n_bytes = 4 * tokens * slots};
}

static void make_route(routed *r, const mxo_call *call)
{
    const mxo_tensor *bias = cpu_in(call, "correction_bias");

    for (int i = 0; i < N_ROUTER; i++) {
        const char *from = router[i].from;
        r->route_param[i] = (mxo_param){
            router[i].key, from == NULL ? router[i].text : cpu_text(call, from),
            from == NULL ? 0 : cpu_number(call, from)};
    }
    r->route_in[0] = *cpu_in(call, "logits");
    if (bias != NULL) {
        r->route_in[1] = *bias;
        r->route_in[1].name = "bias";
    }
    r->route = *call;
    r->route.op = "route.topk";
    r->route.params = r->route_param;
    r->route.n_params = N_ROUTER;
    r->route.in = r->route_in;
    r->route.n_in = bias == NULL ? 1 : 2;
    r->route.out = r->between;
    r->route.n_out = 2;
}

static void make_layer(routed *r, const mxo_call *call)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < call->n_params; i++) {
        if (!is_routers(call->params[i].key)) {
            r->layer_param[n++] = call->params[i];
        }
    }
    r->layer = *call;
    r->layer.op = "moe.layer";
    r->layer.params = r->layer_param;
    r->layer.n_params = n;
    memcpy(r->layer_in, call->in, call->n_in * sizeof *call->in);
    memcpy(r->layer_in + call->n_in, r->between, sizeof r->between);
    r->layer.in = r->layer_in;
    r->layer.n_in = call->n_in + 2;
}

static mxo_status check(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = cpu_in(call, "logits");
    const mxo_tensor *map = cpu_in(call, "expert_map");
    const mxo_tensor *w = cpu_in(call, "w13");
    const double k = cpu_number(call, "top_k");

    if (call->n_params > MOST || call->n_in + 2 > MOST || x == NULL ||
        x->rank != 2 || w == NULL || w->rank == 0) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "moe.layer_routed on cpu: logits are a matrix, "
                        "weights have experts");
    }
    if (!(k >= 1 && k <= (double)x->shape[1]) ||
        x->shape[0] > INT32_MAX / (uint64_t)k) {
        return cpu_fail(MXO_E_PARAM, why,
                        "moe.layer_routed on cpu: top_k does not fit");
    }
    return x->shape[1] ==
                   (map != NULL && map->rank == 1 ? map->shape[0] : w->shape[0])
               ? MXO_OK
               : cpu_fail(MXO_E_SHAPE, why,
                          "moe.layer_routed on cpu: logits have no column for "
                          "each expert");
}

static mxo_status run(cpu_context *ctx, const mxo_call *call, routed *r,
                      mxo_text why)
{
    const mxo_tensor *x = cpu_in(call, "logits");
    const uint64_t slots = (uint64_t)cpu_number(call, "top_k");
    mxo_status status;

    r->between[0] = matrix("topk_ids", MXO_I32, x->shape[0], slots);
    r->between[1] = matrix("topk_weights", MXO_F32, x->shape[0], slots);
    for (int i = 0; i < 2; i++) {
        r->between[i].buffer = malloc((size_t)r->between[i].n_bytes + 1);
    }
    if (r->between[0].buffer == NULL || r->between[1].buffer == NULL) {
        status = cpu_fail(MXO_E_NOMEM, why, "no memory for ids and weights");
    } else {
        make_route(r, call);
        make_layer(r, call);
        status = cpu_route_topk(ctx, &r->route, why);
    }
    if (status == MXO_OK) {
        status = cpu_moe_layer(ctx, &r->layer, why);
    }
    free(r->between[0].buffer);
    free(r->between[1].buffer);
    return status;
}

mxo_status cpu_moe_layer_routed(cpu_context *ctx, const mxo_call *call,
                                mxo_text why)
{
    routed *r = NULL;
    mxo_status status = check(call, why);

    if (status != MXO_OK) {
        return status;
    }
    r = calloc(1, sizeof *r);
    status = r == NULL ? cpu_fail(MXO_E_NOMEM, why, "no memory for the calls")
                       : run(ctx, call, r, why);
    free(r);
    return status;
}
