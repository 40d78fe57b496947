/* SPDX-License-Identifier: Apache-2.0 */
/* How large the inputs of a case are, and whether the emulator takes it with
   zeros for data. */
#include "plan.h"

#include "base/tensors.h"
#include "case/case_shape.h"
#include "data/fill.h"

#include <mxoracle/mxoracle.h>

#include <stdlib.h>
#include <string.h>

enum {
    MOST_OUTPUTS = 32,
    MOST_ZEROS = 1 << 23,
    MOST_RUN = 1 << 18, /* bytes of inputs, and of outputs, of calls that run */
    LINE = 64
};

/* Input i as infer() sees it. 0, or -1 if an extent is not whole or the bytes
   are too many to count. */
static int describe(const test_case *c, int i, mxo_tensor *t)
{
    char why[256];

    memset(t, 0, sizeof *t);
    t->name = c->schema->inputs[i].name;
    t->rank = c->schema->inputs[i].rank;
    if (case_input(c, i, &t->dtype, t->shape, (mxo_text){why, sizeof why}) !=
            0 ||
        t->dtype >= MXO_N_DTYPES) {
        return -1;
    }
    t->n_bytes = dtype_bytes(t->dtype);
    for (uint32_t r = 0; r < t->rank; r++) {
        if (t->shape[r] > 0 && t->n_bytes > (UINT64_C(1) << 40) / t->shape[r]) {
            return -1;
        }
        t->n_bytes *= t->shape[r];
    }
    return 0;
}

uint64_t draw_bytes(const test_case *c)
{
    uint64_t n = 0;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        mxo_tensor t;
        if (!case_has_input(c, i)) {
            continue;
        }
        if (describe(c, i, &t) != 0) {
            return UINT64_MAX;
        }
        n += t.n_bytes;
    }
    return n;
}

/* A call of the emulator's. */
typedef struct legal_call {
    mxo_param params[OP_MAX_PARAMS];
    mxo_tensor in[OP_MAX_INPUTS], out[MOST_OUTPUTS];
    mxo_call call;
} legal_call;

/* Does the emulator infer outputs? */
static int is_inferred(const test_case *c, legal_call *l, uint64_t *n_bytes)
{
    mxo_call *const call = &l->call;
    uint32_t n_out = MOST_OUTPUTS;
    char why[512] = "";

    case_params(c, l->params);
    call->struct_size = sizeof *call;
    call->op = c->schema->info->name;
    call->n_params = (uint32_t)c->schema->n_params;
    call->params = l->params;
    call->in = l->in;
    if (mxo_emulator()->infer(NULL, call, l->out, &n_out,
                              (mxo_text){why, sizeof why}) != MXO_OK) {
        return 0;
    }
    call->n_out = n_out;
    *n_bytes = 0;
    for (uint32_t i = 0; i < n_out; i++) {
        *n_bytes += l->out[i].n_bytes;
    }
    return 1;
}

int draw_is_legal(const test_case *c, uint64_t *most)
{
    legal_call l = {.call = {.n_in = 0}};
    uint64_t largest = 0;
    uint64_t n_in = 0;
    uint64_t n_out = 0;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        mxo_tensor *t = &l.in[l.call.n_in];
        if (!case_has_input(c, i)) {
            continue;
        }
        if (describe(c, i, t) != 0) {
            return 0;
        }
        largest = t->n_bytes > largest ? t->n_bytes : largest;
        n_in += t->n_bytes;
        l.call.n_in++;
    }
    /* Some read what says how large their outputs are. */
    void *zeros = largest > MOST_ZEROS ? NULL : calloc((size_t)largest + 1, 1);

    for (uint32_t i = 0; i < l.call.n_in; i++) {
        l.in[i].buffer = zeros;
    }
    const int is_legal = zeros != NULL && is_inferred(c, &l, &n_out);

    free(zeros);
    *most = n_in > n_out ? n_in : n_out;
    return is_legal;
}

/* Does the emulator take what the inputs of an inferred call hold?  Some
   operations look at that in run() alone. */
static int is_run(legal_call *l, uint64_t n_bytes)
{
    uint8_t *const memory = malloc((size_t)n_bytes + MOST_OUTPUTS * LINE);
    char why[512] = "";
    uint64_t used = 0;

    if (memory == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < l->call.n_out; i++) {
        l->out[i].buffer = memory + used;
        used += (l->out[i].n_bytes + LINE - 1) / LINE * LINE;
    }
    l->call.out = l->out;
    const mxo_status status =
        mxo_emulator()->run(NULL, &l->call, (mxo_text){why, sizeof why});

    free(memory);
    return status == MXO_OK;
}

int draw_is_served(const test_case *c, uint64_t seed)
{
    legal_call l = {.call = {.n_in = 0}};
    tensor_set set = {0};
    uint64_t n_out = 0;
    char why[512];
    int is_served =
        draw_bytes(c) <= MOST_RUN &&
        fill_inputs(c, seed, &set, (mxo_text){why, sizeof why}) == 0;

    for (uint32_t i = 0; is_served && i < set.n && i < OP_MAX_INPUTS; i++) {
        const host_tensor *t = &set.t[i];
        mxo_tensor *const in = &l.in[l.call.n_in++];
        *in = (mxo_tensor){.name = t->name,
                           .dtype = t->dtype,
                           .rank = t->rank,
                           .n_bytes = t->n_bytes,
                           .buffer = t->data};
        memcpy(in->shape, t->shape, sizeof t->shape);
    }
    is_served = is_served && is_inferred(c, &l, &n_out) && n_out <= MOST_RUN &&
                is_run(&l, n_out);
    tensor_set_clear(&set);
    return is_served;
}
