/* SPDX-License-Identifier: Apache-2.0 */
/* From a call of act.unary, math.lg2, math.rcp to the job of functions.h. */
#ifndef BACKENDS_FUNCTIONS_CALL_H
#define BACKENDS_FUNCTIONS_CALL_H

#include "codes_call.h"
#include "functions.h"

/* Read the function, and whether it flushes subnormal numbers. */
static inline mxo_status functions_which(const mxo_call *call, functions_job *a,
                                         mxo_text why)
{
    static const char *const unary[] = {
        "exp", "exp2", "tanh", "sigmoid", "silu", "silu_alpha", "exp_u20"};
    static const char *const modes[] = {"rn", "hopper", "hopper_ftz"};

    a->alpha = 1;
    if (strcmp(call->op, "math.rcp") == 0) {
        const uint32_t mode = codes_choice(call, "mode", modes, 3);

        a->fn = FUNCTIONS_RCP + mode;
        a->ftz = a->fn == FUNCTIONS_RCP_HOPPER_FTZ;
        return mode < 3 ? MXO_OK
                        : call_refuse(call, MXO_E_PARAM, why, "no such mode");
    }
    MXO_TRY(codes_flag(call, "ftz", &a->ftz, why));
    if (strcmp(call->op, "math.lg2") == 0) {
        a->fn = FUNCTIONS_LG2;
        return MXO_OK;
    }
    a->fn = codes_choice(call, "fn", unary, 7);
    if (a->fn == FUNCTIONS_SILU_ALPHA) {
        const double alpha = call_number(call, "alpha");
        a->alpha = a->out_bytes == 8 ? alpha : (double)(float)alpha;
    }
    return a->fn < 7 && a->alpha == a->alpha
               ? MXO_OK
               : call_refuse(call, MXO_E_PARAM, why,
                             "no such function, or alpha is no number");
}

static inline mxo_status functions_make(const mxo_call *call, functions_job *a,
                                        mxo_text why)
{
    const int is_unary = strcmp(call->op, "act.unary") == 0;
    const mxo_tensor *const x = call->n_in > 0 ? &call->in[0] : NULL;
    const mxo_tensor *const y = call->n_out > 0 ? &call->out[0] : NULL;
    uint32_t in_bytes;

    memset(a, 0, sizeof *a);
    const uint32_t in = codes_type(call, "f32", &in_bytes, &a->from);
    const uint32_t out =
        codes_type(call, is_unary ? "to" : "f32", &a->out_bytes, &a->to);

    MXO_TRY(functions_which(call, a, why));
    if (x == NULL || y == NULL || x->dtype != in || y->dtype != out ||
        x->rank != y->rank ||
        memcmp(x->shape, y->shape, x->rank * sizeof x->shape[0]) != 0) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "x and y are f32 and to, of one shape");
    }
    a->x = tensor_address(x);
    a->y = tensor_address(y);
    a->n = x->n_bytes / 4;
    return MXO_OK;
}

#endif
