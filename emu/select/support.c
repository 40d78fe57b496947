/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a class of experts support a configuration?  The checks of vLLM's
 * is_supported_config in its order; the first that fails is the reason.
 */
#include "rules.h"

#include <stddef.h>

static int is_on_device(const mxo_select_config *c, const sel_device *d,
                        const sel_class *k, mxo_sel_env *malformed)
{
    /* Before the platform is looked at, so that it can raise anywhere. */
    if (k->integer != 0 && c->env[k->integer] != NULL) {
        const int on = sel_int_bool(c->env[k->integer]);
        if (on <= 0) {
            *malformed = on < 0 ? (mxo_sel_env)k->integer : MXO_SEL_ENV_NONE;
            return 0;
        }
    }
    if ((k->library & ~c->libraries) != 0) {
        return 0;
    }
    for (int e = 1; e < MXO_SEL_N_ENV; e++) {
        if ((k->aiter >> e & 1) != 0 && !sel_aiter_on(c, (mxo_sel_env)e)) {
            return 0;
        }
    }
    for (int i = 0; i < SEL_WHERES; i++) {
        if (k->device[i].platforms != 0 && sel_where_holds(&k->device[i], d)) {
            return 1;
        }
    }
    return 0;
}

static int has_scheme(const sel_device *d, const sel_class *k, unsigned key)
{
    for (int i = 0; i < SEL_WHERES; i++) {
        if ((k->scheme[i].keys >> key & 1) != 0 &&
            sel_where_holds(&k->scheme[i], d)) {
            return 1;
        }
    }
    return 0;
}

static int runs_parallel(const mxo_select_config *c, const sel_class *k)
{
    const int a2a = sel_all_to_all(c);

    return !(((k->parallel & SEL_NO_FLASHINFER_A2A) != 0 &&
              (a2a & SEL_A2A_FLASHINFER) != 0) ||
             ((k->parallel & SEL_NO_A2A) != 0 && a2a != 0) ||
             ((k->parallel & SEL_NO_EPLB) != 0 && c->parallel.enable_eplb) ||
             ((k->parallel & SEL_NO_DP) != 0 && c->parallel.dp_size > 1));
}

static mxo_sel_reason humming_reason(const mxo_select_config *c, int batched,
                                     const sel_class *k)
{
    const char *kind = c->env[MXO_SEL_ENV_VLLM_HUMMING_MOE_GEMM_TYPE];
    const int is_batched = (k->flags & SEL_BATCHED) != 0;
    const int wants_grouped =
        kind != NULL && (sel_equals_lower(kind, "grouped") ||
                         sel_equals_lower(kind, "grouped_contiguous"));

    if (is_batched != batched) {
        return MXO_SEL_BECAUSE_HUMMING_FORMAT;
    }
    if (!batched && wants_grouped != ((k->flags & SEL_HUMMING_GROUPED) != 0)) {
        return MXO_SEL_BECAUSE_HUMMING_TYPE;
    }
    return MXO_SEL_BECAUSE_NONE;
}

/* The checks between the device and the format of activations. */
static mxo_sel_reason layer_reason(const mxo_select_config *c,
                                   const sel_device *d, const sel_class *k,
                                   unsigned key)
{
    if (!c->is_act_and_mul && (k->flags & SEL_UNGATED) == 0) {
        return MXO_SEL_BECAUSE_UNGATED;
    }
    if ((k->activations >> c->activation & 1) == 0) {
        return MXO_SEL_BECAUSE_ACTIVATION;
    }
    if (!has_scheme(d, k, key)) {
        return MXO_SEL_BECAUSE_SCHEME;
    }
    if (!runs_parallel(c, k)) {
        return MXO_SEL_BECAUSE_PARALLEL;
    }
    if (k->routings != 0 && (k->routings >> c->routing & 1) == 0) {
        return MXO_SEL_BECAUSE_ROUTING;
    }
    return MXO_SEL_BECAUSE_NONE;
}

static mxo_sel_reason last_reason(const mxo_select_config *c,
                                  const sel_class *k, mxo_sel_env *malformed)
{
    const char *invariant = c->env[MXO_SEL_ENV_VLLM_BATCH_INVARIANT];

    if ((k->flags & SEL_ASKS_INVARIANT) != 0 && invariant != NULL) {
        /* Parsed even for a class that would not mind. */
        const int on = sel_int_bool(invariant);
        if (on < 0) {
            *malformed = MXO_SEL_ENV_VLLM_BATCH_INVARIANT;
        }
        if (on != 0 && (k->flags & SEL_INVARIANT) == 0) {
            return MXO_SEL_BECAUSE_INVARIANT;
        }
    }
    if ((k->flags & SEL_ASKS_LORA) != 0 && c->is_lora_enabled &&
        (k->flags & SEL_LORA) == 0) {
        return MXO_SEL_BECAUSE_LORA;
    }
    return MXO_SEL_BECAUSE_NONE;
}

static int lacks_aiter(const mxo_select_config *c, const sel_device *d,
                       const sel_class *k)
{
    mxo_sel_env malformed = MXO_SEL_ENV_NONE;

    return (k->flags & SEL_HINT) != 0 && !is_on_device(c, d, k, &malformed);
}

mxo_sel_env sel_ask(const mxo_select_config *c, const sel_device *d,
                    int batched, mxo_sel_candidate *candidate)
{
    const sel_class *k = &sel_rules(c)->classes[c->version][candidate->experts];
    mxo_sel_env malformed = MXO_SEL_ENV_NONE;
    mxo_sel_reason reason;

    candidate->hint = 0;
    if ((k->flags & SEL_HUMMING) != 0) {
        candidate->reason = (uint8_t)humming_reason(c, batched, k);
        return MXO_SEL_ENV_NONE;
    }
    if (!is_on_device(c, d, k, &malformed)) {
        reason = MXO_SEL_BECAUSE_DEVICE;
    } else {
        reason = layer_reason(c, d, k, candidate->key);
        if (reason == MXO_SEL_BECAUSE_NONE &&
            ((k->flags & SEL_BATCHED) != 0) != batched) {
            reason = MXO_SEL_BECAUSE_FORMAT;
        }
        if (reason == MXO_SEL_BECAUSE_NONE) {
            reason = last_reason(c, k, &malformed);
        }
    }
    candidate->reason = (uint8_t)reason;
    candidate->hint = reason != MXO_SEL_BECAUSE_NONE && lacks_aiter(c, d, k);
    return malformed;
}
