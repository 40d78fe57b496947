/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants of the activation that each expert has for itself.  The tensors
 * belong to the experts that are here, as weights do: entry e is that of the
 * expert whose weights are entry e, whatever number the router has for it.
 */
#include "plan.h"

#include <stddef.h>
#include <string.h>

typedef struct constant_row {
    const char *word; /* of per_expert; "all" stands for each */
    const char *tensor;
    mxo_profile_field field;
    size_t at;      /* in the unit */
    int is_swiglus; /* silu has none of its own */
} constant_row;

static const constant_row rows[] = {
    {"alpha", "gemm1_alpha", MXO_FIELD_ALPHA, offsetof(mxo_glu, alpha), 1},
    {"beta", "gemm1_beta", MXO_FIELD_BETA, offsetof(mxo_glu, beta), 1},
    {"limit", "gemm1_clamp_limit", MXO_FIELD_LIMIT, offsetof(mxo_glu, limit),
     0},
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* The tensor of a row, NULL if the call has none. */
static const mxo_tensor *tensor_of(const mxo_call *call,
                                   const constant_row *row)
{
    return mxo_call_is(call, "per_expert", "all") ||
                   mxo_call_is(call, "per_expert", row->word)
               ? mxo_call_in(call, row->tensor)
               : NULL;
}

static mxo_status check_shape(const layer_plan *p, const constant_row *row,
                              const mxo_tensor *t, mxo_text why)
{
    return t->rank == 1 && t->shape[0] == p->experts
               ? MXO_OK
               : mxo_fail(MXO_E_SHAPE, why,
                          "%s: %s has one entry for each of the %llu experts "
                          "here",
                          p->call->op, row->tensor,
                          (unsigned long long)p->experts);
}

/* Check that the profile has a constant for the tensor to replace. */
static mxo_status check_place(const layer_plan *p, const constant_row *row,
                              mxo_text why)
{
    const mxo_profile *profile = p->one.profile;
    const char *fact = profile->fact[row->field].value;
    const int is_swiglu = mxo_call_is(p->call, "activation", "swiglu");

    if (!is_swiglu && row->is_swiglus) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: activation=silu has alpha 1 and beta 0, and no "
                        "%s",
                        p->call->op, row->tensor);
    }
    return !is_swiglu || strcmp(fact, "config") == 0 ||
                   strcmp(fact, "unknown") == 0
               ? MXO_OK
               : mxo_fail(MXO_E_PARAM, why,
                          "%s: profile %s has %s=%s in its code (%s), and no "
                          "%s",
                          p->call->op, profile->name, row->word, fact,
                          profile->fact[row->field].source, row->tensor);
}

mxo_status layer_check_per_expert(const layer_plan *p, mxo_text why)
{
    for (int i = 0; p->has_one && i < N_ROWS; i++) {
        const mxo_tensor *t = tensor_of(p->call, &rows[i]);
        if (t == NULL) {
            continue;
        }
        MXO_TRY(check_shape(p, &rows[i], t, why));
        if (p->has_glu) {
            MXO_TRY(check_place(p, &rows[i], why));
        }
    }
    return MXO_OK;
}

mxo_glu layer_unit_of(const layer_plan *p, uint64_t expert)
{
    mxo_glu unit = p->one.unit;

    for (int i = 0; i < N_ROWS; i++) {
        const mxo_tensor *t = tensor_of(p->call, &rows[i]);
        if (t != NULL) {
            const mxo_real x =
                mxo_format_decode(MXO_FMT_F32, mxo_load(t, expert));
            memcpy((uint8_t *)&unit + rows[i].at, &x, sizeof x);
            unit.has_limit |= rows[i].field == MXO_FIELD_LIMIT;
        }
    }
    return unit;
}

mxo_status layer_check_units(const layer_plan *p, mxo_text why)
{
    for (uint64_t e = 0; p->has_glu && e < p->experts; e++) {
        const mxo_glu unit = layer_unit_of(p, e);
        const char *sentence = mxo_glu_check(&unit);
        if (sentence != NULL) {
            return mxo_fail(MXO_E_PARAM, why, "%s: expert %llu: %s",
                            p->call->op, (unsigned long long)e, sentence);
        }
    }
    return MXO_OK;
}
