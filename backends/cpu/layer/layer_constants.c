/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The activation's constants where each expert has its own: vectors over the
 * experts here, looked at whole before anything is computed.
 */
#include "layer.h"

#include <string.h>

/* In the order of layer.constants. */
static const struct {
    const char *word;
    const char *tensor;
    layer_field field;
} own[LAYER_CONSTANTS] = {
    {"alpha", "gemm1_alpha", LAYER_ALPHA},
    {"beta", "gemm1_beta", LAYER_BETA},
    {"limit", "gemm1_clamp_limit", LAYER_LIMIT},
};

static float at(const mxo_tensor *t, size_t e)
{
    float x;

    memcpy(&x, (const uint8_t *)cpu_data(t) + 4 * e, sizeof x);
    return x;
}

cpu_glu cpu_layer_unit(const layer *l, size_t expert)
{
    cpu_glu c = l->unit.base;
    float *const to[LAYER_CONSTANTS] = {&c.alpha, &c.beta, &c.limit};

    for (int i = 0; i < LAYER_CONSTANTS; i++) {
        if (l->constants[i] != NULL) {
            *to[i] = at(l->constants[i], expert);
            c.has_limit |= own[i].field == LAYER_LIMIT;
        }
    }
    return c;
}

/* Does the call leave that constant to a tensor?  Silu has limits alone, and
   what a profile has in its code no tensor changes. */
static int may_be_given(const layer *l, int i)
{
    const char *fact = cpu_layer_fact(l->call, own[i].field);

    return call_is(l->call, "activation", "silu")
               ? own[i].field == LAYER_LIMIT
               : strcmp(fact, "config") == 0 || strcmp(fact, "unknown") == 0;
}

mxo_status cpu_layer_read_constants(layer *l, mxo_text why)
{
    const uint64_t shape[1] = {l->experts};
    const char *word = call_text(l->call, "per_expert");

    for (int i = 0; i < LAYER_CONSTANTS; i++) {
        const mxo_tensor *t = call_in(l->call, own[i].tensor);
        if (strcmp(word, "all") != 0 && strcmp(word, own[i].word) != 0) {
            continue;
        }
        MXO_TRY(cpu_want(t, own[i].tensor, MXO_F32, 1, shape, why));
        if (l->has_glu && !may_be_given(l, i)) {
            return cpu_fail(MXO_E_PARAM, why,
                            "this activation has its %s in its code, not %s",
                            own[i].word, own[i].tensor);
        }
        l->constants[i] = t;
    }
    for (size_t e = 0; l->has_glu && e < l->experts; e++) {
        const cpu_glu c = cpu_layer_unit(l, e);
        MXO_TRY(cpu_glu_check(&l->unit, &c, why));
    }
    return MXO_OK;
}
