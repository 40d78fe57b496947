/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.layer_routed: the textbook routers in front of a layer.  What goes wrong
 * here lies between the two: which experts compete, and what is handed over.
 */
#include "broken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct routed {
    const broken *b;
    const mxo_call *call;
    uint64_t tokens;
    uint64_t global;
    uint64_t top_k;
    int32_t *ids; /* [tokens, top_k], owned, as the next */
    float *weights;
    mxo_param params[BROKEN_MAX_ARGS + 8];
    mxo_tensor in[BROKEN_MAX_ARGS];
    mxo_tensor out[2];
} routed;

static mxo_tensor matrix(const char *name, uint32_t dtype, uint64_t rows,
                         uint64_t cols, void *data)
{
    const mxo_tensor t = {.name = name,
                          .dtype = dtype,
                          .rank = 2,
                          .shape = {rows, cols},
                          .n_bytes = 4 * rows * cols,
                          .offset = 0,
                          .buffer = data};

    return t;
}

/* The call's parameters under the router's names, and what differs. */
static uint32_t router_params(routed *r)
{
    static const struct {
        const char *from;
        const char *to;
    } names[] = {{"logits", "from"}, {"correction", "bias"}};
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->call->n_params && n < BROKEN_MAX_ARGS; i++) {
        mxo_param p = r->call->params[i];
        if (strcmp(p.key, "from") == 0 || strcmp(p.key, "bias") == 0) {
            continue; /* the layer's */
        }
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            p.key = strcmp(p.key, names[k].from) == 0 ? names[k].to : p.key;
        }
        r->params[n++] = p;
    }
    r->params[n++] = (mxo_param){"to", "f32", 0};
    r->params[n++] = (mxo_param){"also", "none", 0};
    return n;
}

static mxo_status route(routed *r, mxo_text why)
{
    const mxo_tensor *bias = call_in(r->call, "correction_bias");
    mxo_call call = {.struct_size = sizeof call, .op = "route.topk"};

    call.n_params = router_params(r);
    call.params = r->params;
    r->in[0] = *call_in(r->call, "logits");
    call.n_in = 1;
    if (bias != NULL) {
        r->in[call.n_in] = *bias;
        r->in[call.n_in++].name = "bias";
    }
    r->out[0] = matrix("topk_ids", MXO_I32, r->tokens, r->top_k, r->ids);
    r->out[1] =
        matrix("topk_weights", MXO_F32, r->tokens, r->top_k, r->weights);
    call.in = r->in;
    call.out = r->out;
    call.n_out = 2;
    return broken_route_topk(r->b, &call, why);
}

static int is_here(const routed *r, int32_t id)
{
    const mxo_tensor *map = call_in(r->call, "expert_map");

    return map == NULL || broken_load_i32(map, (uint64_t)id) >= 0;
}

/* Weights of the experts that are here add up to what all did. */
static void renormalise_here(routed *r, uint64_t t)
{
    float here = 0;
    float all = 0;

    for (uint64_t j = t * r->top_k; j < (t + 1) * r->top_k; j++) {
        here += is_here(r, r->ids[j]) ? r->weights[j] : 0;
        all += r->weights[j];
    }
    for (uint64_t j = t * r->top_k; j < (t + 1) * r->top_k && here > 0; j++) {
        r->weights[j] = r->weights[j] / here * all;
    }
}

/* The router's outputs on their way to the layer, spoiled by mutants. */
static void hand_over(routed *r)
{
    const broken *b = r->b;
    const uint64_t n = r->tokens * r->top_k;
    const float factor = (float)call_number(r->call, "routed_scaling_factor");

    for (uint64_t t = 0; IS(MX01) && t < r->tokens; t++) {
        renormalise_here(r, t);
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t t = i / r->top_k;
        if (IS(MX02)) {
            uint32_t bits;
            memcpy(&bits, &r->weights[i], 4);
            bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
            memcpy(&r->weights[i], &bits, 4);
        }
        if (IS(MX03) && t > 0 && i % r->top_k == 0) {
            r->ids[i] = r->ids[i - r->top_k];
        }
        if (IS(MX04) && r->top_k > 1 && i % r->top_k == r->top_k - 1) {
            r->weights[i] = 0;
        }
        r->weights[i] = IS(MX05) ? r->weights[i] * factor : r->weights[i];
    }
    for (uint64_t i = 0; IS(MX06) && i + 1 < n; i += r->top_k) {
        const float w = r->weights[i];
        r->weights[i] = r->top_k > 1 ? r->weights[i + 1] : w;
        r->weights[i + (r->top_k > 1)] = w;
    }
}

/* The layer's parameters are the call's. */
static uint32_t layer_params(routed *r)
{
    const broken *b = r->b;
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->call->n_params && n < BROKEN_MAX_ARGS; i++) {
        r->params[n] = r->call->params[i];
        n += !(IS(MX07) && strcmp(r->params[n].key, "glu_nan") == 0);
    }
    return n;
}

/* The layer's inputs are the call's, but the router's. */
static mxo_status run_layer(routed *r, mxo_text why)
{
    mxo_call call = *r->call;
    uint32_t n = 0;

    call.op = "moe.layer";
    call.n_params = layer_params(r);
    call.params = r->params;
    for (uint32_t i = 0; i < r->call->n_in && n + 2 < BROKEN_MAX_ARGS; i++) {
        const char *name = r->call->in[i].name;
        if (strcmp(name, "logits") != 0 &&
            strcmp(name, "correction_bias") != 0) {
            r->in[n++] = r->call->in[i];
        }
    }
    r->in[n++] = matrix("topk_ids", MXO_I32, r->tokens, r->top_k, r->ids);
    r->in[n++] =
        matrix("topk_weights", MXO_F32, r->tokens, r->top_k, r->weights);
    call.in = r->in;
    call.n_in = n;
    return broken_moe_layer(r->b, &call, why);
}

mxo_status broken_moe_layer_routed(const broken *b, const mxo_call *call,
                                   mxo_text why)
{
    const mxo_tensor *logits = call_in(call, "logits");
    routed r = {.b = b,
                .call = call,
                .tokens = logits->shape[0],
                .global = logits->shape[1],
                .top_k = (uint64_t)call_number(call, "top_k")};
    const size_t n = (size_t)(r.tokens * r.top_k) + 1;
    mxo_status status = MXO_E_SHAPE;

    if (r.top_k > r.global) {
        return broken_fail(status, why, "more experts than there are");
    }
    r.ids = calloc(n, sizeof *r.ids);
    r.weights = calloc(n, sizeof *r.weights);
    if (r.ids == NULL || r.weights == NULL) {
        status = broken_fail(MXO_E_NOMEM, why, "no memory for a choice");
    } else {
        status = route(&r, why);
    }
    if (status == MXO_OK) {
        hand_over(&r);
        status = run_layer(&r, why);
    }
    free(r.ids);
    free(r.weights);
    return status;
}
