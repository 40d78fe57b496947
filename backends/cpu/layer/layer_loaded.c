/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer whose weights a loader has laid out: this backend has no kernels
 * that read another's tiles, so each tensor goes back through its chain into
 * memory of its own, and the layer is run on what the checkpoint had.
 */
#include "layer.h"
#include "layout/layout_chain.h"

#include <stdlib.h>
#include <string.h>

enum { CODES, SCALES, BIAS, KINDS };

typedef struct undoing {
    cpu_context *ctx;
    const mxo_call *call;
    const char *name; /* of the conversion */
    uint64_t experts;
    uint64_t hidden;
    uint64_t inter;
    layer_loaded *to;
    cpu_chain chain;
} undoing;

/* Number of a tensor among those that a loader takes; -1: not of them. */
static int number_of(const char *name)
{
    static const char *const names[LAYER_LOADED] = {
        "w13", "w13_scale", "w13_bias", "w2", "w2_scale", "w2_bias"};
    int i = LAYER_LOADED - 1;

    while (i >= 0 && strcmp(names[i], name) != 0) {
        i--;
    }
    return i;
}

/* The checkpoint's tensor number i, without bytes. */
static mxo_tensor checkpoint(const undoing *u, int i, const char *name)
{
    static const uint32_t dtypes[KINDS] = {MXO_U8, MXO_E8M0, MXO_BF16};
    const int kind = i % KINDS;
    const int second = i / KINDS;
    const uint64_t k = second ? u->inter : u->hidden;
    const uint64_t width[KINDS] = {k / 2, cpu_blocks_of(k), 1};
    mxo_tensor t = {
        .name = name,
        .dtype = dtypes[kind],
        .rank = kind == BIAS ? 2 : 3,
        .shape = {u->experts, second ? u->hidden : 2 * u->inter, width[kind]}};

    t.n_bytes = cpu_times(cpu_times(t.shape[0], t.shape[1]),
                          width[kind] * cpu_dtype_bytes(t.dtype));
    return t;
}

/* Check the tensor's type and shape against the chain's; a bias is a matrix. */
static mxo_status check_given(const undoing *u, int i, const mxo_tensor *given,
                              mxo_text why)
{
    const cpu_stage *last = &u->chain.stage[u->chain.n - 1];
    const uint64_t n = last->map.physical_bits / last->map.elem_bits;
    const uint64_t bias[2] = {u->experts, u->experts == 0 ? 0 : n / u->experts};

    return i % KINDS == BIAS
               ? cpu_want(given, given->name, last->physical, 2, bias, why)
               : cpu_want(given, given->name, last->physical,
                          (uint32_t)last->map.rank, last->map.shape, why);
}

/* Input number at of the call is tensor number i. */
static mxo_status undo_one(undoing *u, uint32_t at, int i, mxo_text why)
{
    const mxo_tensor *given = &u->call->in[at];
    mxo_tensor *t = &u->to->in[at];
    char text[CPU_CHAIN_TEXT];

    *t = checkpoint(u, i, given->name);
    if (!cpu_conversion_leaves(u->name, i)) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s on cpu: conversion=%s drops %s", u->call->op,
                        u->name, given->name);
    }
    const uint64_t extent[3] = {t->shape[0], t->shape[1], t->shape[2]};

    MXO_TRY(cpu_conversion_chain(u->name, i, text, why));
    MXO_TRY(cpu_chain_of(&u->chain, text, t->dtype, extent, why));
    MXO_TRY(check_given(u, i, given, why));
    t->buffer = u->to->held[i] = malloc((size_t)t->n_bytes + 1);
    return t->buffer == NULL
               ? cpu_fail(MXO_E_NOMEM, why, "no memory for %s", t->name)
               : cpu_chain_run(u->ctx, &u->chain, 0, t->buffer, cpu_data(given),
                               why);
}

/* A size that the call says; 0 if it is none. */
static uint64_t size_of(const mxo_call *call, const char *key)
{
    const double n = call_number(call, key);

    return n >= 0 && n <= INT32_MAX ? (uint64_t)n : 0;
}

static mxo_status check(const undoing *u, mxo_text why)
{
    const int has_bias = !call_is(u->call, "bias", "none");
    const uint64_t w13[3] = {u->experts, 2 * u->inter, u->hidden / 2};

    if (has_bias && !call_is(u->call, "bias", "bf16")) {
        return cpu_fail(MXO_E_PARAM, why,
                        "%s on cpu: the checkpoint's biases are bf16, not %s",
                        u->call->op, call_text(u->call, "bias"));
    }
    return cpu_conversion_takes(u->name, w13, has_bias, why);
}

static mxo_status undo(undoing *u, const layer *l, mxo_text why)
{
    const mxo_tensor *w = call_in(u->call, l->has_one ? "w13" : "w2");

    if (w == NULL || w->rank == 0 || u->call->n_in > LAYER_MOST_IN) {
        return cpu_fail(MXO_E_SHAPE, why, "%s on cpu: weights are missing",
                        u->call->op);
    }
    u->experts = w->shape[0];

    MXO_TRY(check(u, why));
    for (uint32_t at = 0; at < u->call->n_in; at++) {
        const int i = number_of(u->call->in[at].name);
        u->to->in[at] = u->call->in[at];
        if (i >= 0 && (i / KINDS ? l->has_two : l->has_one)) {
            MXO_TRY(undo_one(u, at, i, why));
        }
    }
    u->to->call = *u->call;
    u->to->call.in = u->to->in;
    return MXO_OK;
}

mxo_status cpu_layer_undo(const layer *l, const mxo_call *call,
                          layer_loaded *to, mxo_text why)
{
    undoing *u = malloc(sizeof *u);

    if (u == NULL) {
        return cpu_fail(MXO_E_NOMEM, why, "no memory for a chain");
    }
    u->ctx = l->ctx;
    u->call = call;
    u->name = call_text(call, "conversion");
    u->hidden = size_of(call, "hidden_size");
    u->inter = size_of(call, "intermediate_size");
    u->to = to;
    const mxo_status status = undo(u, l, why);

    free(u);
    return status;
}

void cpu_layer_forget(layer_loaded *l)
{
    for (int i = 0; i < LAYER_LOADED; i++) {
        free(l->held[i]);
    }
}
