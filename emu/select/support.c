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
    if (k->integer != 0 && c->env[k->integer] != NULL &&
        (k->parsed.platforms == 0 || sel_where_holds(&k->parsed, d))) {
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

int sel_has_scheme(const sel_device *d, const sel_class *k, unsigned key)
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
    const mxo_sel_parallel *p = &c->parallel;
    const int there = ((a2a & SEL_A2A_TWO_SIDED) != 0 ? SEL_NO_TWO_SIDED : 0) |
                      ((a2a & SEL_A2A_ONE_SIDED) != 0 ? SEL_NO_ONE_SIDED : 0) |
                      ((a2a & SEL_A2A_DEEPEP_HT) != 0 ? SEL_NO_DEEPEP_HT : 0) |
                      (a2a != 0 ? SEL_NO_A2A : 0) |
                      (p->enable_eplb ? SEL_NO_EPLB : 0) |
                      (p->dp_size > 1 ? SEL_NO_DP : 0) |
                      (p->use_ep || p->ep_size > 1 ? SEL_NO_EP : 0) |
                      (p->use_ep ? SEL_NO_USE_EP : SEL_NEEDS_EP) |
                      (sel_is_batched(c) ? SEL_NO_BATCHED : 0);

    return (k->parallel & there) == 0;
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
    if (!batched && wants_grouped != ((k->flags & SEL_GROUPED) != 0)) {
        return MXO_SEL_BECAUSE_HUMMING_TYPE;
    }
    return MXO_SEL_BECAUSE_NONE;
}

static int has_activation(const mxo_select_config *c, const sel_class *k)
{
    const int is_optional = k->optional >> c->activation & 1;

    return (k->activations >> c->activation & 1) != 0 &&
           (!is_optional || (k->optional_library & ~c->libraries) == 0);
}

/* How tokens come and go: ranks and routes. */
static mxo_sel_reason route_reason(const mxo_select_config *c,
                                   const sel_class *k)
{
    const int asks = (k->flags & SEL_MONOLITHIC) != 0 &&
                     sel_has(c, sel_rules(c)->switches.asks_routes);

    if (!runs_parallel(c, k)) {
        return MXO_SEL_BECAUSE_PARALLEL;
    }
    if (asks && c->has_hash_routing && (k->flags & SEL_HASH_ROUTING) == 0) {
        return MXO_SEL_BECAUSE_HASH_ROUTING;
    }
    if (asks && c->require_decomposed_backend) {
        return MXO_SEL_BECAUSE_ADJUSTED_ROUTES;
    }
    if (k->routings != 0 && (k->routings >> c->routing & 1) == 0) {
        return MXO_SEL_BECAUSE_ROUTING;
    }
    return MXO_SEL_BECAUSE_NONE;
}

/* The checks between the device and the format of activations. */
static mxo_sel_reason layer_reason(const mxo_select_config *c,
                                   const sel_device *d, const sel_class *k,
                                   unsigned key)
{
    if (!sel_is_gated(c) && (k->flags & SEL_UNGATED) == 0) {
        return MXO_SEL_BECAUSE_UNGATED;
    }
    if (!has_activation(c, k)) {
        return MXO_SEL_BECAUSE_ACTIVATION;
    }
    if (!sel_has_scheme(d, k, key)) {
        return MXO_SEL_BECAUSE_SCHEME;
    }
    return route_reason(c, k);
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

/* Every check of a class, in order. */
static mxo_sel_reason first_reason(const mxo_select_config *c,
                                   const sel_device *d, const sel_class *k,
                                   unsigned key, mxo_sel_env *malformed)
{
    const int batched = sel_is_batched(c);
    mxo_sel_reason reason = sel_own_before(c, k, key);

    if (reason != MXO_SEL_BECAUSE_NONE) {
        return reason;
    }
    if (!is_on_device(c, d, k, malformed)) {
        return MXO_SEL_BECAUSE_DEVICE;
    }
    reason = layer_reason(c, d, k, key);
    if (reason != MXO_SEL_BECAUSE_NONE) {
        return reason;
    }
    if (((k->flags & SEL_BATCHED) != 0) != batched) {
        return MXO_SEL_BECAUSE_FORMAT;
    }
    reason = last_reason(c, k, malformed);
    return reason != MXO_SEL_BECAUSE_NONE ? reason : sel_own_after(c, k);
}

mxo_sel_env sel_ask(const mxo_select_config *c, const sel_device *d,
                    mxo_sel_candidate *candidate)
{
    const sel_class *k = &sel_rules(c)->classes[c->version][candidate->experts];
    mxo_sel_env malformed = MXO_SEL_ENV_NONE;

    candidate->hint = 0;
    if ((k->flags & SEL_HUMMING) != 0) {
        candidate->reason = (uint8_t)humming_reason(c, sel_is_batched(c), k);
        return MXO_SEL_ENV_NONE;
    }
    candidate->reason =
        (uint8_t)first_reason(c, d, k, candidate->key, &malformed);
    candidate->hint =
        candidate->reason != MXO_SEL_BECAUSE_NONE && lacks_aiter(c, d, k);
    return malformed;
}
