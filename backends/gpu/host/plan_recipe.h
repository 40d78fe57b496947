/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What moe.layer is asked to do: profiles as <mxoracle/profiles.def> says
 * them, with what a call overrides.
 */
#ifndef GPU_PLAN_RECIPE_H
#define GPU_PLAN_RECIPE_H

#include "host/call.h"
#include "host/plans.h"
#include "layer/layer.h"
#include "ops/dequant_rules.h"
#include "ops/glu.h"
#include "port/runtime.h"

enum {
#define MXO_FIELD(id, key, group, kind, meaning) LAYER_FACT_##id,
#include <mxoracle/profile/field.def>
#undef MXO_FIELD
    LAYER_FACTS
};

static const char *const layer_keys[LAYER_FACTS] = {
#define MXO_FIELD(id, key, group, kind, meaning) key,
#include <mxoracle/profile/field.def>
#undef MXO_FIELD
};

/* A profile names its facts in the order it likes, and so each has its key. */
typedef struct layer_said {
    int fact;
    const char *value;
} layer_said;

static const struct {
    const char *name;
    layer_said said[LAYER_FACTS];
} layer_profiles[] = {
#define MXO_PROFILE(name, title) \
    {                            \
        name,                    \
        {
#define MXO_FACT(field, value, source) {LAYER_FACT_##field, value},
#define MXO_PROFILE_END \
    }                   \
    }                   \
    ,
#define MXO_NOTE(name, text, source)
#include <mxoracle/profiles.def>
#undef MXO_PROFILE
#undef MXO_FACT
#undef MXO_PROFILE_END
#undef MXO_NOTE
};

/* What the profile says, or NULL. */
static const char *layer_fact(const mxo_call *call, const char *key)
{
    for (size_t p = 0; p < sizeof layer_profiles / sizeof layer_profiles[0];
         p++) {
        if (!call_is(call, "profile", layer_profiles[p].name)) {
            continue;
        }
        for (int i = 0; i < LAYER_FACTS; i++) {
            const layer_said said = layer_profiles[p].said[i];
            if (said.value != NULL && strcmp(layer_keys[said.fact], key) == 0) {
                return strcmp(said.value, "unknown") == 0 ? NULL : said.value;
            }
        }
    }
    return NULL;
}

/* The same unless the call has a word of its own. */
static const char *layer_word(const mxo_call *call, const char *key)
{
    const char *const own = call_text(call, key);

    return own[0] == '\0' || strcmp(own, "profile") == 0 ? layer_fact(call, key)
                                                         : own;
}

/* A word that is not done, or none: the profile leaves it open. */
static mxo_status layer_refuse(const mxo_call *call, const char *key,
                               mxo_text why)
{
    const char *const word = layer_word(call, key);
    const char *const profile = call_text(call, "profile");

    if (word != NULL) {
        return gpu_fail(MXO_E_UNSUPPORTED, why, "%s on %s: %s=%s is not done",
                        call->op, GPU_NAME, key, word);
    }
    return gpu_fail(MXO_E_UNSUPPORTED, why,
                    "%s on %s: profile=%s leaves %s open", call->op, GPU_NAME,
                    profile, key);
}

/* Words and what they mean here; the last row has no word. */
typedef struct layer_choice {
    const char *word;
    uint32_t value;
} layer_choice;

static mxo_status layer_choose(const mxo_call *call, const char *key,
                               const layer_choice *row, uint32_t *value,
                               mxo_text why)
{
    const char *const word = layer_word(call, key);

    for (; row->word != NULL && word != NULL; row++) {
        if (strcmp(row->word, word) == 0) {
            *value = row->value;
            return MXO_OK;
        }
    }
    return layer_refuse(call, key, why);
}

static const layer_choice layer_types[] = {
    {"f32", LAYER_F32}, {"bf16", LAYER_BF16}, {"down", LAYER_DOWN}, {NULL, 0}};

static mxo_status recipe_weights(const mxo_call *call, layer_gemm *g,
                                 mxo_text why)
{
    static const layer_choice at[] = {{"weight", 0}, {NULL, 0}};
    static const layer_choice orders[] = {{"any", 0}, {"exact", 1}, {NULL, 0}};
    const char *const rule = layer_word(call, "weight_rule");
    uint32_t scale_at = 0;
    int known = 0;

    for (size_t i = 0; i < sizeof dequant_rules / sizeof dequant_rules[0];
         i++) {
        if (rule != NULL && strcmp(dequant_rules[i].name, rule) == 0 &&
            (dequant_rules[i].formats & TO_BF16) != 0) {
            g->rule = dequant_rules[i].flags;
            known = 1;
        }
    }
    if (!known) {
        return layer_refuse(call, "weight_rule", why);
    }
    mxo_status status = layer_choose(call, "scale_at", at, &scale_at, why);
    if (status == MXO_OK) {
        status = layer_choose(call, "order", orders, &g->exact, why);
    }
    return status == MXO_OK && (call_number(call, "splits") != 1 ||
                                call_number(call, "promote") != 0)
               ? gpu_fail(MXO_E_PARAM, why,
                          "%s: this order has no splits and no promote",
                          call->op)
               : status;
}

/* Of the sums here the exact one alone has a place for it. */
static mxo_status recipe_bias(const mxo_call *call, const char *key,
                              layer_gemm *g, mxo_text why)
{
    static const layer_choice places[] = {{"none", LAYER_BIAS_NONE},
                                          {"acc", LAYER_BIAS_ACC},
                                          {"rounded", LAYER_BIAS_ROUNDED},
                                          {"order", LAYER_BIAS_SUM},
                                          {NULL, 0}};
    static const layer_choice types[] = {{"f32", 0}, {"bf16", 1}, {NULL, 0}};

    g->bias_at = LAYER_BIAS_NONE;
    if (call_is(call, "bias", "none")) {
        return MXO_OK;
    }
    g->bias_type = call_is(call, "bias", "f32") ? LAYER_F32 : LAYER_BF16;
    const mxo_status status = layer_choose(call, key, places, &g->bias_at, why);

    if (status == MXO_OK && g->bias_at == LAYER_BIAS_SUM && !g->exact) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s on %s: %s=order needs an order that has a place "
                        "for it",
                        call->op, GPU_NAME, key);
    }
    return status == MXO_OK && g->bias_at != LAYER_BIAS_NONE
               ? layer_choose(call, "bias_type", types, &g->bias_narrow, why)
               : status;
}

/* Activations stay as they are. */
static mxo_status recipe_quant(const mxo_call *call, const char *key,
                               mxo_text why)
{
    const char *const word = layer_word(call, key);

    if (word != NULL && strcmp(word, "same") == 0) {
        return recipe_quant(call, "quant", why);
    }
    return word != NULL && strcmp(word, "none") == 0
               ? MXO_OK
               : layer_refuse(call, key, why);
}

static mxo_status recipe_gemm1(const mxo_call *call, layer_gemm *g,
                               mxo_text why)
{
    mxo_status status = recipe_weights(call, g, why);

    if (status == MXO_OK) {
        status = recipe_quant(call, "quant", why);
    }
    if (status == MXO_OK) {
        status = recipe_bias(call, "bias1", g, why);
    }
    if (status == MXO_OK) {
        status = layer_choose(call, "gemm1_out", layer_types, &g->mid, why);
    }
    g->out = g->mid;
    return status;
}

static mxo_status recipe_gemm2(const mxo_call *call, layer_gemm *g,
                               layer_pairs *p, mxo_text why)
{
    static const layer_choice places[] = {
        {"acc", 1}, {"rounded", 2}, {"sum", 0}, {NULL, 0}};
    static const layer_choice types[] = {{"f32", 0}, {"bf16", 1}, {NULL, 0}};
    mxo_status status = recipe_weights(call, g, why);

    if (status == MXO_OK) {
        status = recipe_quant(call, "requant", why);
    }
    if (status == MXO_OK) {
        status = recipe_bias(call, "bias2", g, why);
    }
    if (status == MXO_OK) {
        status = layer_choose(call, "routing_at", places, &g->weigh, why);
    }
    if (status == MXO_OK) {
        status = layer_choose(call, "routing_type", types, &p->narrow, why);
    }
    if (status == MXO_OK) {
        status = layer_choose(call, "row_out", layer_types, &g->out, why);
    }
    g->mid = g->weigh == 1 ? (uint32_t)LAYER_F32 : g->out;
    return status;
}

static mxo_status recipe_sum(const mxo_call *call, layer_sum_args *s,
                             mxo_text why)
{
    static const layer_choice sums[] = {
        {"fma", LAYER_SUM_FMA},     {"product", LAYER_SUM_PRODUCT},
        {"slots", LAYER_SUM_SLOTS}, {"moe_sum", LAYER_SUM_MOE},
        {"cpu", LAYER_SUM_CPU},     {"atomic_bf16", LAYER_SUM_ATOMIC},
        {"exact", LAYER_SUM_EXACT}, {NULL, 0}};
    const char *const at = layer_word(call, "routing_at");
    mxo_status status = layer_choose(call, "sum", sums, &s->sum, why);

    if (status == MXO_OK) {
        status = layer_choose(call, "out", layer_types, &s->out, why);
    }
    s->weigh = at != NULL && strcmp(at, "sum") == 0;
    const int weighs = s->sum == LAYER_SUM_FMA || s->sum == LAYER_SUM_PRODUCT;

    if (status == MXO_OK && s->sum != LAYER_SUM_EXACT &&
        weighs != (int)s->weigh) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s on %s: sum=%s and routing_at=%s contradict each "
                        "other",
                        call->op, GPU_NAME, layer_word(call, "sum"), at);
    }
    return status;
}

/* A constant of the activation: the profile's, or what the call says. */
static mxo_param recipe_constant(const mxo_call *call, const char *key)
{
    const char *const fact = layer_fact(call, key);
    const int given = fact == NULL || strcmp(fact, "config") == 0;
    const mxo_param p = {key, given ? call_text(call, key) : fact,
                         given ? call_number(call, key) : atof(fact)};

    return p;
}

/* The activation's rule and numbers, read as act.glu reads its own. */
static mxo_status recipe_glu(const mxo_call *call, glu_args *a, uint32_t mid,
                             mxo_text why)
{
    static const layer_choice types[] = {
        {"f32", GLU_F32}, {"bf16", GLU_BF16}, {NULL, 0}};
    const int is_swiglu = call_is(call, "activation", "swiglu");
    const char *const key = is_swiglu                        ? "swiglu"
                            : call_is(call, "limit", "none") ? "silu"
                                                             : "silu_limit";
    const char *const own = call_text(call, "glu");
    const char *const dialect =
        strcmp(own, "profile") == 0 ? layer_fact(call, key) : own;
    mxo_param params[5] = {
        {"dialect", dialect, 0},
        {"nan", "dialect", 0},
        {"alpha", "1", 1},
        {"beta", "0", 0},
        {"limit", call_text(call, "limit"), call_number(call, "limit")}};
    mxo_call act = *call;

    if (dialect == NULL || strcmp(dialect, "none") == 0) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s on %s: the profile has no activation=%s", call->op,
                        GPU_NAME, call_text(call, "activation"));
    }
    if (!call_is(call, "per_expert", "none")) {
        return layer_refuse(call, "per_expert", why);
    }
    if (is_swiglu && layer_fact(call, "alpha") == NULL) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s on %s: profile=%s has no constants here", call->op,
                        GPU_NAME, call_text(call, "profile"));
    }
    for (int i = 2; i < 5 && is_swiglu; i++) {
        params[i] = recipe_constant(call, params[i].key);
    }
    act.params = params;
    act.n_params = 5;
    a->from = mid == LAYER_F32 ? GLU_F32 : GLU_BF16;
    const mxo_status status = layer_choose(call, "glu_out", types, &a->to, why);
    return status == MXO_OK ? glu_numbers(&act, a, why) : status;
}

#endif
