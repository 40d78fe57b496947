/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers whose weights lie as mxo_hopper or mxo_hopper_gate_up leaves them:
 * rows of a checkpoint, perhaps mixed, every 16 bits of four codes.  Read back
 * by that description, one code at a time, into a call on the checkpoint's
 * tensors.
 */
#include "layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32, TENSORS = 6, FIRST = 3 };
enum { CODES, SCALES, BIAS };

/* A matrix of one expert as the checkpoint has it, and whose it is. */
typedef struct source {
    const broken *b;
    const mxo_tensor *t;
    uint64_t n, k;
    int kind;
    int is_mixed; /* rows g0,u0,g1,u1,.. of [gate; up] */
} source;

/* Where a row of the checkpoint lies. */
static uint64_t mixed(const source *s, uint64_t row)
{
    const broken *b = s->b;
    const uint64_t half = s->n / 2;

    if (!s->is_mixed || IS(LD04) || (IS(LD05) && s->kind == SCALES)) {
        return row;
    }
    return row < half ? 2 * row : 2 * (row - half) + 1;
}

static unsigned code_at(const source *s, uint64_t e, uint64_t row, uint64_t k)
{
    static const unsigned magnitude[] = {6, 3, 0, 9};
    static const unsigned sign[] = {15, 12, 14, 13};
    const broken *b = s->b;
    const uint64_t first = (e * s->n + mixed(s, row)) * s->k;
    const uint8_t *at = tensor_address(s->t) + (first + k) / 4 * 2;
    const unsigned word =
        IS(LD06) ? at[1] | (unsigned)at[0] << 8 : at[0] | (unsigned)at[1] << 8;
    const unsigned i = k % 4;
    const unsigned other = IS(LD02) && i >= 2 ? 5 - i : i;

    if (IS(LD01)) {
        return tensor_address(s->t)[(first + k) / 2] >> 4 * (k % 2) & 0xf;
    }
    return (word >> magnitude[i] & 7) | (word >> sign[other] & 1) << 3;
}

static uint8_t scale_at(const source *s, uint64_t e, uint64_t row, uint64_t at)
{
    return tensor_address(
        s->t)[(e * s->n + mixed(s, row)) * (s->k / BLOCK) + at];
}

static void read_codes(const source *s, uint64_t experts, uint8_t *to)
{
    for (uint64_t i = 0; i < experts * s->n * s->k; i += 2) {
        const uint64_t row = i / s->k;
        const unsigned low = code_at(s, row / s->n, row % s->n, i % s->k);
        const unsigned high = code_at(s, row / s->n, row % s->n, i % s->k + 1);
        to[i / 2] = (uint8_t)(low | high << 4);
    }
}

static void read_scales(const source *s, uint64_t experts, uint8_t *to)
{
    const uint64_t blocks = s->k / BLOCK;

    for (uint64_t i = 0; i < experts * s->n * blocks; i++) {
        const uint64_t row = i / blocks;
        to[i] = scale_at(s, row / s->n, row % s->n, i % blocks);
    }
}

static void read_bias(const source *s, uint64_t experts, uint8_t *to)
{
    const broken *b = s->b;

    for (uint64_t i = 0; i < experts * s->n; i++) {
        const uint64_t at = IS(LD07) ? i : i / s->n * s->n + mixed(s, i % s->n);
        memcpy(to + 2 * i, tensor_address(s->t) + 2 * at, 2);
    }
}

/* Has the tensor its type and shape, for that many experts? */
static int is_whole(const source *s, uint64_t experts)
{
    static const uint32_t dtypes[] = {MXO_U8, MXO_E8M0, MXO_BF16};
    const uint64_t widths[] = {s->k / 2, s->k / BLOCK, 1};
    const uint64_t want[3] = {experts, s->n, widths[s->kind]};
    const uint32_t rank = s->kind == BIAS ? 2 : 3;

    return s->t->dtype == dtypes[s->kind] && s->t->rank == rank &&
           memcmp(s->t->shape, want, rank * sizeof want[0]) == 0;
}

static uint64_t experts_of(const mxo_call *call)
{
    const mxo_tensor *w = call_in(call, "w13");

    w = w == NULL ? call_in(call, "w2") : w;
    return w->rank == 0 ? 0 : w->shape[0];
}

/* Tensor number i of the call in the checkpoint's order. */
static mxo_status bring_back(const broken *b, const mxo_call *call, int i,
                             mxo_tensor *t, mxo_text why)
{
    const int is_second = i >= FIRST;
    const uint64_t hidden = (uint64_t)call_number(call, "hidden_size");
    const uint64_t inter = (uint64_t)call_number(call, "intermediate_size");
    const int mixes = call_is(call, "conversion", "mxo_hopper_gate_up");
    const mxo_tensor loaded = *t;
    const source s = {b,
                      &loaded,
                      is_second ? hidden : 2 * inter,
                      is_second ? inter : hidden,
                      i % FIRST,
                      mixes && (!is_second || IS(LD03))};
    const uint64_t width = s.kind == CODES    ? s.k / 2
                           : s.kind == SCALES ? s.k / BLOCK
                                              : 1;

    if (!is_whole(&s, experts_of(call))) {
        return broken_fail(MXO_E_SHAPE, why, "a tensor is not of these sizes");
    }
    t->rank = s.kind == BIAS ? 2 : 3;
    t->shape[1] = s.n;
    t->shape[2] = width;
    t->n_bytes = t->shape[0] * s.n * width * (s.kind == BIAS ? 2 : 1);
    t->offset = 0;
    t->buffer = malloc((size_t)t->n_bytes + 1);
    if (t->buffer == NULL) {
        *t = loaded;
        return broken_fail(MXO_E_NOMEM, why, "no memory for weights");
    }
    if (s.kind == CODES) {
        read_codes(&s, t->shape[0], t->buffer);
    } else if (s.kind == SCALES) {
        read_scales(&s, t->shape[0], t->buffer);
    } else {
        read_bias(&s, t->shape[0], t->buffer);
    }
    return MXO_OK;
}

/* Number of a tensor among those that a loader has; -1. */
static int number_of(const mxo_tensor *t)
{
    static const char *const names[TENSORS] = {"w13", "w13_scale", "w13_bias",
                                               "w2",  "w2_scale",  "w2_bias"};
    int i = TENSORS - 1;

    while (i >= 0 && strcmp(names[i], t->name) != 0) {
        i--;
    }
    return i;
}

/* Are the bytes there that are going to be read? */
static int fits(const mxo_call *call)
{
    const double hidden = call_number(call, "hidden_size");
    const double inter = call_number(call, "intermediate_size");

    return (call_in(call, "w13") == NULL || fmod(hidden, BLOCK) == 0) &&
           (call_in(call, "w2") == NULL || fmod(inter, BLOCK) == 0);
}

typedef mxo_status runner(const broken *b, const mxo_call *call, mxo_text why);

static int is_known(const mxo_call *call)
{
    return (call_is(call, "conversion", "mxo_hopper") ||
            call_is(call, "conversion", "mxo_hopper_gate_up")) &&
           fits(call) && call->n_in <= BROKEN_MAX_ARGS &&
           call->n_params <= BROKEN_MAX_ARGS + 8;
}

static mxo_status run_plain(const broken *b, const mxo_call *call, runner *run,
                            mxo_text why)
{
    mxo_tensor in[BROKEN_MAX_ARGS];
    mxo_param params[BROKEN_MAX_ARGS + 8];
    mxo_call plain = *call;
    mxo_status status = MXO_OK;

    memcpy(in, call->in, call->n_in * sizeof in[0]);
    memcpy(params, call->params, call->n_params * sizeof params[0]);
    plain.in = in;
    plain.params = params;
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (strcmp(params[i].key, "conversion") == 0) {
            params[i].text = "none";
        }
    }
    for (uint32_t i = 0; i < call->n_in && status == MXO_OK; i++) {
        if (number_of(&in[i]) >= 0) {
            status = bring_back(b, call, number_of(&in[i]), &in[i], why);
        }
    }
    status = status == MXO_OK ? run(b, &plain, why) : status;
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (in[i].buffer != call->in[i].buffer) {
            free(in[i].buffer);
        }
    }
    return status;
}

static mxo_status run_any(const broken *b, const mxo_call *call, runner *run,
                          mxo_text why)
{
    if (call_is(call, "conversion", "none")) {
        return run(b, call, why);
    }
    return is_known(call)
               ? run_plain(b, call, run, why)
               : broken_fail(MXO_E_UNSUPPORTED, why, "another loader");
}

mxo_status broken_moe_layer(const broken *b, const mxo_call *call, mxo_text why)
{
    return run_any(b, call, broken_plain_layer, why);
}

mxo_status broken_moe_gemm1(const broken *b, const mxo_call *call, mxo_text why)
{
    return run_any(b, call, broken_plain_gemm1, why);
}

mxo_status broken_moe_gemm2(const broken *b, const mxo_call *call, mxo_text why)
{
    return run_any(b, call, broken_plain_gemm2, why);
}
