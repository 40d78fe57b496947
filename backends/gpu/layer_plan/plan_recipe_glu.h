/* SPDX-License-Identifier: Apache-2.0 */
/* The activation of moe.layer: its dialect, constants and those of experts. */
#ifndef GPU_PLAN_RECIPE_GLU_H
#define GPU_PLAN_RECIPE_GLU_H

#include "layer_plan/layer_job.h"
#include "layer_plan/plan_recipe.h"

/* A constant of the activation: the profile's, or what the call says. */
static inline mxo_param recipe_constant(const mxo_call *call, const char *key)
{
    const char *const fact = layer_fact(call, key);
    const int given = fact == NULL || strcmp(fact, "config") == 0;
    const mxo_param p = {key, given ? call_text(call, key) : fact,
                         given ? call_number(call, key) : atof(fact)};

    return p;
}

enum { RECIPE_GLU_PARAMS = 5 };

/* The activation of a call, as a call of act.glu has it; params has room. */
static inline mxo_status recipe_glu_call(const mxo_call *call, mxo_call *act,
                                         mxo_param *params, mxo_text why)
{
    const char *const own = call_text(call, "glu");
    const int by_profile = strcmp(own, "profile") == 0;
    const char *key = !call_is(call, "activation", "silu") ? "swiglu"
                      : call_is(call, "limit", "none")     ? "silu"
                                                           : "silu_limit";
    const char *dialect = by_profile ? layer_fact(call, key) : own;

    if (by_profile && dialect != NULL && strcmp(dialect, "swiglu") == 0) {
        key = "swiglu"; /* the kernel runs it all the same */
        dialect = layer_fact(call, key);
    }
    const int is_swiglu = strcmp(key, "swiglu") == 0;

    if (dialect == NULL || strcmp(dialect, "none") == 0 ||
        (is_swiglu && by_profile && layer_fact(call, "alpha") == NULL)) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s on %s: profile=%s has no activation=%s, or not "
                        "its constants",
                        call->op, GPU_NAME, call_text(call, "profile"),
                        call_text(call, "activation"));
    }
    const char *const nan = call_text(call, "glu_nan");
    const mxo_param fixed[RECIPE_GLU_PARAMS] = {
        {"dialect", dialect, 0},
        {"nan", nan[0] == '\0' ? "dialect" : nan, 0},
        {"alpha", "1", 1},
        {"beta", "0", 0},
        {"limit", call_text(call, "limit"), call_number(call, "limit")}};

    for (int i = 0; i < RECIPE_GLU_PARAMS; i++) {
        params[i] = i >= 2 && is_swiglu ? recipe_constant(call, fixed[i].key)
                                        : fixed[i];
    }
    *act = *call;
    act->params = params;
    act->n_params = RECIPE_GLU_PARAMS;
    return MXO_OK;
}

/* Does the call leave that constant to a tensor?  Silu has limits alone, and
   what a profile has in its code no tensor changes. */
static inline int recipe_may_be_given(const mxo_call *call, const char *key)
{
    const char *const fact = layer_fact(call, key);

    return call_is(call, "activation", "silu")
               ? strcmp(key, "limit") == 0
               : fact == NULL || strcmp(fact, "config") == 0;
}

/* One vector over the experts here, on the host; NULL if the call has none. */
static inline mxo_status recipe_own(const layer_job *j, const char *key,
                                    const char *name, float **to, mxo_text why)
{
    const mxo_call *const call = j->call;
    const gpu_want want = want_vector(MXO_F32, j->experts);
    uint8_t *at = NULL;

    *to = NULL;
    if (!call_is(call, "per_expert", "all") &&
        !call_is(call, "per_expert", key)) {
        return MXO_OK;
    }
    const mxo_status status = need_shaped(call, 0, name, &want, &at, why);

    if (status != MXO_OK) {
        return status;
    }
    if (j->has_glu && !recipe_may_be_given(call, key)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: this activation has its %s in its code, not %s",
                        call->op, key, name);
    }
    *to = (float *)malloc((size_t)(4 * j->experts + 1));
    return *to == NULL ? gpu_fail(MXO_E_NOMEM, why, "no memory for %s", name)
                       : call_fetch(call, *to, at, 4 * j->experts, why);
}

/* Constants of each expert, in memory that the job owns. */
static inline mxo_status recipe_table(layer_job *j, const mxo_call *act,
                                      mxo_text why)
{
    float *alpha = NULL;
    float *beta = NULL;
    float *limit = NULL;
    mxo_status status = recipe_own(j, "alpha", "gemm1_alpha", &alpha, why);

    if (status == MXO_OK) {
        status = recipe_own(j, "beta", "gemm1_beta", &beta, why);
    }
    if (status == MXO_OK) {
        status = recipe_own(j, "limit", "gemm1_clamp_limit", &limit, why);
    }
    if (status == MXO_OK && j->has_glu) {
        const glu_own own = {alpha, beta, limit, NULL};
        j->table = (glu_constants *)malloc(
            (size_t)(j->experts * sizeof *j->table + 1));
        status = j->table == NULL
                     ? gpu_fail(MXO_E_NOMEM, why, "no memory for constants")
                     : glu_per_expert(act, &j->glu.glu, &own, j->experts,
                                      j->table, why);
    }
    free(alpha);
    free(beta);
    free(limit);
    return status;
}

/* The activation's rule and numbers, read as act.glu reads its own. */
static inline mxo_status recipe_glu(layer_job *j, mxo_text why)
{
    glu_args *const a = &j->glu.glu;
    mxo_param params[RECIPE_GLU_PARAMS];
    mxo_call act;

    MXO_TRY(recipe_glu_call(j->call, &act, params, why));
    MXO_TRY(layer_choose(j->call, "glu_out", layer_types, &a->to, why));
    j->glu.saturates = a->to == LAYER_SAT;
    a->to = j->glu.saturates ? (uint32_t)GLU_BF16 : a->to;
    a->from = j->one.bias_at >= LAYER_BIAS_BEHIND ? (uint32_t)LAYER_F32
              : j->one.mid == LAYER_DOWN          ? (uint32_t)LAYER_BF16
                                                  : j->one.mid;
    MXO_TRY(glu_numbers(&act, a, why));
    return !call_is(j->call, "per_expert", "none") ? recipe_table(j, &act, why)
                                                   : MXO_OK;
}

#endif
