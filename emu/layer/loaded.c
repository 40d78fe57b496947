/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights as a loader has laid them out: each tensor goes back through the
 * chain that its conversion sent it through, and the layer is computed from
 * the checkpoint's tensors as ever.  One expert at a time goes back, into the
 * scratch, when it is its turn; but a value that has no way back is refused
 * wherever it is, before.  Sizes are not to be read off padded tiles, so
 * hidden_size and intermediate_size say them.
 */
#include "plan.h"

#include <string.h>

enum { CODES, SCALES, BIAS, KINDS };

/* Shape of the checkpoint's tensor number i for a layer of these sizes. */
static void checkpoint_of(const layer_loaded *l, int i, uint64_t extent[3])
{
    const int second = i / KINDS;
    const uint64_t k = second ? l->inter : l->hidden;

    extent[0] = l->experts;
    extent[1] = second ? l->hidden : 2 * l->inter;
    extent[2] = i % KINDS == CODES    ? k / 2
                : i % KINDS == SCALES ? layer_blocks(k)
                                      : 1;
}

static mxo_status bind(layer_loaded *l, int i, mxo_text why)
{
    static const uint32_t dtypes[KINDS] = {MXO_U8, MXO_E8M0, MXO_BF16};
    layer_back *b = &l->tensor[i];

    checkpoint_of(l, i, b->extent);
    return chain_bind_tensor(&b->chain, l->row,
                             mxo_call_text(&l->call, "conversion"), i,
                             dtypes[i % KINDS], b->extent, why);
}

/* The tensor that the call has must be what the chain gives. */
static mxo_status expect(const layer_loaded *l, const layout_chain *c, int i,
                         const mxo_tensor *t, mxo_text why)
{
    mxo_tensor want;

    chain_describe(c, i % KINDS == BIAS, &want, 0, t->name);
    return t->dtype == want.dtype && t->rank == want.rank &&
                   memcmp(t->shape, want.shape,
                          want.rank * sizeof want.shape[0]) == 0
               ? MXO_OK
               : mxo_fail(MXO_E_SHAPE, why,
                          "%s: %s has not the type or the shape that "
                          "conversion=%s gives it with hidden_size=%llu and "
                          "intermediate_size=%llu",
                          l->call.op, t->name,
                          mxo_call_text(&l->call, "conversion"),
                          (unsigned long long)l->hidden,
                          (unsigned long long)l->inter);
}

/* Describe the checkpoint's tensor that stands for the call's number at, and
   reserve room for one expert of it. */
static mxo_status place(layer_loaded *l, int i, uint32_t at, mxo_text why)
{
    layer_back *b = &l->tensor[i];

    b->from = &l->given->in[at];
    b->to = &l->in[at];
    if (!conversion_leaves(l->row, i)) {
        return mxo_fail(MXO_E_UNSUPPORTED, why,
                        "%s: conversion %s drops %s, so that it cannot be "
                        "brought back",
                        l->call.op, l->row->id, b->from->name);
    }
    MXO_TRY(bind(l, i, why));
    MXO_TRY(expect(l, &b->chain, i, b->from, why));
    const uint64_t one[3] = {1, b->extent[1], b->extent[2]};
    const uint32_t rank = i % KINDS == BIAS ? 2 : 3;
    const uint32_t dtype = b->chain.step[0].dtype;
    mxo_tensor expert;
    mxo_out(&expert, 0, b->from->name, dtype, rank, one);
    mxo_out(b->to, 0, b->from->name, dtype, rank, b->extent);
    b->at = l->bytes;
    l->bytes += (expert.n_bytes + 15) / 16 * 16;
    return MXO_OK;
}

static uint32_t index_of(const layer_loaded *l, const char *name)
{
    uint32_t at = 0;

    while (at < l->call.n_in && strcmp(l->in[at].name, name) != 0) {
        at++;
    }
    return at;
}

static mxo_status check(layer_loaded *l, mxo_text why)
{
    const mxo_call *call = &l->call;
    const int has_bias = !mxo_call_is(call, "bias", "none");

    MXO_TRY(conversion_row(mxo_call_text(call, "conversion"), &l->row, why));
    if (has_bias && !mxo_call_is(call, "bias", "bf16")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: conversion=%s takes the checkpoint's biases in "
                        "bf16, not bias=%s",
                        call->op, l->row->id, mxo_call_text(call, "bias"));
    }
    return conversion_check(l->row, l->experts, l->hidden, l->inter, has_bias,
                            why);
}

mxo_status layer_read_loaded(layer_loaded *l, const mxo_call *call, int has_one,
                             int has_two, mxo_text why)
{
    const mxo_tensor *w = mxo_call_in(call, has_one ? "w13" : "w2");

    memset(l, 0, sizeof *l);
    l->given = call;
    l->call = *call;
    if (mxo_call_is(call, "conversion", "none")) {
        return MXO_OK;
    }
    if (call->n_in > LAYER_INPUTS) {
        return mxo_fail(MXO_E_SHAPE, why, "%s: too many inputs", call->op);
    }
    memcpy(l->in, call->in, call->n_in * sizeof l->in[0]);
    l->call.in = l->in;
    l->hidden = (uint64_t)mxo_call_int(call, "hidden_size");
    l->inter = (uint64_t)mxo_call_int(call, "intermediate_size");
    l->experts = w->rank == 0 ? 0 : w->shape[0];

    MXO_TRY(check(l, why));
    for (int i = has_one ? 0 : KINDS; i < (has_two ? 2 * KINDS : KINDS); i++) {
        const uint32_t at = index_of(l, mxo_conversion_tensor((uint32_t)i));
        if (at < call->n_in) {
            MXO_TRY(place(l, i, at, why));
        }
    }
    return MXO_OK;
}

mxo_status layer_check_loaded(const layer_loaded *l, mxo_text why)
{
    for (int i = 0; i < LAYER_TENSORS; i++) {
        const layer_back *b = &l->tensor[i];
        if (b->from != NULL) {
            MXO_TRY(chain_check_back(&b->chain, b->from, b->extent, why));
        }
    }
    return MXO_OK;
}

void layer_place_loaded(layer_loaded *l, uint64_t offset)
{
    const mxo_tensor *scratch = mxo_call_out(l->given, ".scratch");

    for (int i = 0; i < LAYER_TENSORS; i++) {
        const layer_back *b = &l->tensor[i];
        if (b->from != NULL) {
            b->to->buffer = scratch->buffer;
            b->to->offset = scratch->offset + offset + b->at;
        }
    }
}

void layer_bring_back(const layer_loaded *l, int second, uint64_t expert)
{
    const layout_experts one = {expert, 1};

    for (int i = second ? KINDS : 0; i < (second ? 2 * KINDS : KINDS); i++) {
        const layer_back *b = &l->tensor[i];
        if (b->from != NULL) {
            chain_take_back(&b->chain, b->from, b->to, b->extent, one);
        }
    }
}
