/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipe of moe.layer: the profiles of <mxoracle/profiles.def>, with a call's
 * own values in their place.
 */
#ifndef GPU_PLAN_RECIPE_H
#define GPU_PLAN_RECIPE_H

#include "host/call.h"
#include "host/plans.h"
#include "layer/layer.h"
#include "layer_plan/layer_job.h"
#include "layer_plan/plan_recipe_parts.h"
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

/* The profile's value of a key, or NULL. */
static inline const char *layer_fact(const mxo_call *call, const char *key)
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
static inline const char *layer_word(const mxo_call *call, const char *key)
{
    const char *const own = call_text(call, key);

    return own[0] == '\0' || strcmp(own, "profile") == 0 ? layer_fact(call, key)
                                                         : own;
}

/* A word that is not done, or none: the profile leaves it open. */
static inline mxo_status layer_refuse(const mxo_call *call, const char *key,
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

static inline mxo_status layer_choose(const mxo_call *call, const char *key,
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

/* Types of rows; "down" and "bf16sat" are two more. */
static const layer_choice layer_types[] = {
    {"f32", LAYER_F32},   {"bf16", LAYER_BF16},   {"f16", LAYER_F16},
    {"down", LAYER_DOWN}, {"bf16sat", LAYER_SAT}, {NULL, 0}};

/* Types that operands are rounded to first. */
static const layer_choice layer_narrows[] = {
    {"f32", 0}, {"bf16", 1}, {"f16", 2}, {NULL, 0}};

typedef struct layer_order_row {
    const char *name;
    uint32_t kind;
    uint8_t exact, by_block; /* by_block: scale_at=block */
    uint8_t has_start;       /* a place for the bias */
} layer_order_row;

static const layer_order_row layer_orders[] = {
    {"any", LAYER_ORDER_ANY, 0, 0, 0},
    {"exact", LAYER_ORDER_ANY, 1, 0, 1},
    {"block32", LAYER_ORDER_BLOCK32, 0, 1, 0},
    {"block", LAYER_ORDER_BLOCK, 0, 1, 1},
    {"seq", LAYER_ORDER_SEQ, 0, 0, 1},
    {"pairwise", LAYER_ORDER_PAIRWISE, 0, 0, 0},
    {"split", LAYER_ORDER_SPLIT, 0, 0, 0},
    {"streamk_bf16", LAYER_ORDER_STREAMK, 0, 0, 0},
    {"avx512", LAYER_ORDER_DPBF16, 0, 0, 1},
    {"amx", LAYER_ORDER_AMX, 0, 0, 1},
    {"cpu", LAYER_ORDER_DPBF16, 0, 0, 1},
};

static inline const layer_order_row *recipe_order_row(const mxo_call *call)
{
    const char *const word = layer_word(call, "order");

    for (size_t i = 0; i < sizeof layer_orders / sizeof layer_orders[0]; i++) {
        if (word != NULL && strcmp(layer_orders[i].name, word) == 0) {
            return &layer_orders[i];
        }
    }
    return NULL;
}

/* The same order for both GEMMs. */
static inline mxo_status recipe_order(layer_job *j, mxo_text why)
{
    static const layer_choice at[] = {{"weight", 0}, {"block", 1}, {NULL, 0}};
    const mxo_call *const call = j->call;
    const layer_order_row *const row = recipe_order_row(call);
    const double splits = call_number(call, "splits");
    uint32_t by_block = 0;
    const mxo_status status =
        layer_choose(call, "scale_at", at, &by_block, why);

    if (status != MXO_OK || row == NULL) {
        return status != MXO_OK ? status : layer_refuse(call, "order", why);
    }
    if (by_block != row->by_block || splits < 1 ||
        (splits > 1 && row->kind != LAYER_ORDER_SPLIT &&
         row->kind != LAYER_ORDER_STREAMK) ||
        call_number(call, "promote") != 0 ||
        (row->kind >= LAYER_ORDER_DPBF16 && !call_is(call, "from", "bf16"))) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s on %s: order=%s has no such scale_at, splits, "
                        "promote or from",
                        call->op, GPU_NAME, row->name);
    }
    for (int i = 0; i < 2; i++) {
        layer_order *const o = &j->rest[i].order;
        /* vLLM's CPU kernels choose once per call. */
        o->kind = strcmp(row->name, "cpu") == 0 && j->p.pairs / j->experts > 4
                      ? (uint32_t)LAYER_ORDER_AMX
                      : row->kind;
        o->fma = (uint32_t)(row->kind == LAYER_ORDER_BLOCK32 ||
                            call_is(call, "mul", "fma"));
        o->splits = (uint64_t)splits;
    }
    j->one.exact = row->exact;
    j->two.exact = row->exact;
    return MXO_OK;
}

/* The rule by which a GEMM reads its weights, from being what its quantiser
   gets: operands of 16 bits are FP16 beside FP16. */
static inline mxo_status recipe_weights(layer_job *j, int second, uint32_t from,
                                        mxo_text why)
{
    const mxo_call *const call = j->call;
    const char *const word = layer_word(call, "weight_rule");
    const char *const rule = word == NULL ? "" : word;
    const uint32_t op = j->rows[second].op;
    const int f16 =
        from == LAYER_F16 &&
        (op == LAYER_AS_IS || op == LAYER_BY_QDQ || op == LAYER_BY_QUARK_HIP);
    layer_gemm *const g = second ? &j->two : &j->one;
    const size_t n = sizeof dequant_rules / sizeof dequant_rules[0];
    size_t i = 0;
    const uint32_t b12x = strcmp(rule, "b12x") == 0      ? LAYER_BEHIND_119
                          : strcmp(rule, "b12x_mx") == 0 ? LAYER_CAPPED
                                                         : 0;
    const uint32_t own =
        strcmp(rule, "humming") == 0 ? (uint32_t)LAYER_BEHIND_2 : b12x;

    j->behind[second] = own == LAYER_BEHIND_2     ? 2
                        : own == LAYER_BEHIND_119 ? 119
                                                  : 0;
    if (own != 0) {
        g->rule = own | (f16 ? (uint32_t)LAYER_TO_F16 : 0);
    } else {
        while (i < n && strcmp(dequant_rules[i].name, rule) != 0) {
            i++;
        }
        if (i == n || (dequant_rules[i].formats & TO_BF16) == 0 ||
            (f16 && (dequant_rules[i].flags & DEQUANT_WRAP) != 0)) {
            return layer_refuse(call, "weight_rule", why);
        }
        /* What concerns FP16 alone keeps no kernel away. */
        g->rule = dequant_rules[i].flags &
                  ~(f16 ? 0 : (uint32_t)(DEQUANT_NARROW | DEQUANT_CAP));
        if (f16 && (dequant_rules[i].formats & TO_F16) == 0) {
            g->rule |= DEQUANT_NARROW;
        }
        if (f16 && strcmp(rule, "ocp") != 0) {
            g->rule |= LAYER_TO_F16;
        }
    }
    if (f16 && j->rest[second].order.kind != LAYER_ORDER_ANY) {
        g->rule |= LAYER_TO_F16;
    }
    const uint32_t kind = j->rest[second].order.kind;
    const int is_block =
        kind == LAYER_ORDER_BLOCK || kind == LAYER_ORDER_BLOCK32;
    return is_block && (own != 0 ? j->behind[second] != 0
                                 : (dequant_rules[i].formats & TO_F32) == 0)
               ? layer_refuse(call, "scale_at", why)
               : MXO_OK;
}

/* Is a scale given for the whole tensor? */
static inline int recipe_is_given(uint32_t op)
{
    return op == LAYER_BY_GIVEN || op == LAYER_BY_INVERSE ||
           op == LAYER_BY_NVFP4;
}

/* Of the sums here some have a place for it. */
static inline mxo_status recipe_bias(layer_job *j, int second, mxo_text why)
{
    static const layer_choice places[] = {
        {"none", LAYER_BIAS_NONE},           {"acc", LAYER_BIAS_ACC},
        {"rounded", LAYER_BIAS_ROUNDED},     {"order", LAYER_BIAS_SUM},
        {"acc_ftz", LAYER_BIAS_FLUSHED},     {"behind", LAYER_BIAS_BEHIND},
        {"unrounded", LAYER_BIAS_UNROUNDED}, {NULL, 0}};
    const mxo_call *const call = j->call;
    const char *const key = second ? "bias2" : "bias1";
    const uint32_t op = j->rows[second].op;
    layer_gemm *const g = second ? &j->two : &j->one;

    g->bias_at = LAYER_BIAS_NONE;
    if (call_is(call, "bias", "none")) {
        return MXO_OK;
    }
    g->bias_type = call_is(call, "bias", "f32")   ? LAYER_F32
                   : call_is(call, "bias", "f16") ? LAYER_F16
                                                  : LAYER_BF16;
    MXO_TRY(layer_choose(call, key, places, &g->bias_at, why));

    if (g->bias_at == LAYER_BIAS_SUM &&
        (recipe_is_given(op) || !recipe_order_row(call)->has_start)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s on %s: %s=order needs an order that has a place "
                        "for it",
                        call->op, GPU_NAME, key);
    }
    return g->bias_at != LAYER_BIAS_NONE
               ? layer_choose(call, "bias_type", layer_narrows, &g->bias_narrow,
                              why)
               : MXO_OK;
}

/* The rule before the first GEMM, or before the second. */
static inline const char *recipe_quant_rule(const mxo_call *call, int second)
{
    const char *const own = layer_word(call, "requant_rule");

    return second && own != NULL && strcmp(own, "same") != 0 &&
                   strcmp(own, "none") != 0
               ? own
               : layer_word(call, "quant_rule");
}

static inline mxo_status recipe_given(const layer_job *j, int second,
                                      layer_operands_args *o, mxo_text why)
{
    const char *const rule = recipe_quant_rule(j->call, second);
    const char *const element = layer_word(j->call, "quant_element");

    if (!call_is(j->call, "input_scale", "given")) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: quant.static needs input_scale=given",
                        j->call->op);
    }
    if (rule == NULL ||
        (strcmp(rule, "divide") != 0 && strcmp(rule, "reciprocal") != 0)) {
        return layer_refuse(j->call, "quant_rule", why);
    }
    o->op = strcmp(rule, "divide") == 0 ? LAYER_BY_GIVEN : LAYER_BY_INVERSE;
    if (element != NULL && strcmp(element, "e2m1") == 0) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: quant.static has no quant_element=e2m1",
                        j->call->op);
    }
    return element != NULL && quant_make(&o->q, element, "floor", "") == 0
               ? MXO_OK
               : layer_refuse(j->call, "quant_element", why);
}

static const layer_choice recipe_nvfp4_rules[] = {
    {"fast", NVFP4_FAST}, {"ieee", NVFP4_IEEE},         {"exact", NVFP4_EXACT},
    {"vllm", NVFP4_VLLM}, {"trtllm_gen", NVFP4_TRTLLM}, {NULL, 0}};

static inline mxo_status recipe_nvfp4(const layer_job *j, int second,
                                      layer_operands_args *o, mxo_text why)
{
    static const layer_choice elements[] = {{"e2m1", 0}, {NULL, 0}};
    const mxo_call *const call = j->call;
    const int is_first =
        recipe_quant_rule(call, second) == recipe_quant_rule(call, 0);
    uint32_t element = 0;

    if (!call_is(call, "input_scale", "given")) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: quant.nvfp4 needs input_scale=given", call->op);
    }
    o->group = NVFP4_BLOCK;
    MXO_TRY(layer_choose(call, "quant_element", elements, &element, why));
    return layer_choose(call, is_first ? "quant_rule" : "requant_rule",
                        recipe_nvfp4_rules, &o->rule.math, why);
}

/* Neither the call nor the profile names one; NULL is left open. */
static inline int recipe_is_none(const char *word)
{
    return word != NULL && strcmp(word, "none") == 0;
}

/* How the rows of one GEMM are quantised; from: their type. */
static inline mxo_status recipe_quant(layer_job *j, int second, uint32_t from,
                                      mxo_text why)
{
    static const layer_choice ops[] = {{"none", LAYER_AS_IS},
                                       {"quant.mx", LAYER_BY_MX},
                                       {"quant.group", 64},
                                       {"quant.qdq", LAYER_BY_QDQ},
                                       {"quant.static", LAYER_BY_GIVEN},
                                       {"quant.nvfp4", LAYER_BY_NVFP4},
                                       {NULL, 0}};
    static const layer_choice groups[] = {
        {"32", 32}, {"64", 64}, {"128", 128}, {NULL, 0}};
    const mxo_call *const call = j->call;
    layer_operands_args *const o = &j->rows[second];
    const char *rule = recipe_quant_rule(call, second);
    const char *element = layer_word(call, "quant_element");
    mxo_status status = layer_choose(call, "quant", ops, &o->op, why);

    o->group = LAYER_BLOCK;
    if (status != MXO_OK || o->op == LAYER_AS_IS) {
        return status;
    }
    if (from == LAYER_CODES || (o->op == LAYER_BY_QDQ && from == LAYER_F32)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: from=e2m1 is quantised already, and quant.qdq "
                        "takes 16 bits",
                        call->op);
    }
    if (o->op == LAYER_BY_GIVEN) {
        return recipe_given(j, second, o, why);
    }
    if (o->op == LAYER_BY_NVFP4) {
        return recipe_nvfp4(j, second, o, why);
    }
    if (recipe_is_none(rule) || recipe_is_none(element)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: quant=%s needs quant_element and quant_rule",
                        call->op, layer_word(call, "quant"));
    }
    if (o->op == 64) {
        o->op = LAYER_BY_MX;
        status = layer_choose(call, "quant_group", groups, &o->group, why);
    }
    if (rule != NULL && strcmp(rule, "quark_hip") == 0) {
        rule = o->op == LAYER_BY_QDQ ? "floor" : "quark_triton";
        o->op = o->op == LAYER_BY_QDQ ? LAYER_BY_QUARK_HIP : LAYER_BY_MX;
    }
    if (status != MXO_OK || rule == NULL || element == NULL) {
        return status != MXO_OK ? status
                                : layer_refuse(call, "quant_rule", why);
    }
    if (o->op != LAYER_BY_MX) {
        element = "e2m1";
    }
    if (quant_make(&o->q, "e2m1", rule, "") != 0) { /* a scale's, or none */
        return gpu_fail(MXO_E_PARAM, why, "%s: %s is no rule of such blocks",
                        call->op, rule);
    }
    return quant_make(&o->q, element, rule, "") == 0
               ? MXO_OK
               : layer_refuse(call, "quant_element", why);
}

static inline mxo_status recipe_gemm1(layer_job *j, mxo_text why)
{
    const char *const out = layer_word(j->call, "gemm1_out");
    const int is_split = out != NULL && strcmp(out, "split2_bf16") == 0;

    if (is_split) {
        MXO_TRY(recipe_halves(j, why));
    }
    MXO_TRY(recipe_quant(j, 0, j->one.a_type, why));
    MXO_TRY(recipe_weights(j, 0, j->one.a_type, why));
    MXO_TRY(recipe_bias(j, 0, why));
    if (!is_split) {
        MXO_TRY(
            layer_choose(j->call, "gemm1_out", layer_types, &j->one.mid, why));
    }
    j->one.out = j->one.mid;
    return recipe_parts(j, 0, why);
}

/* A routing weight before the second GEMM belongs to the only slot. */
static inline mxo_status recipe_routing(layer_job *j, mxo_text why)
{
    enum { AT_GEMM1 = 3, AT_GLU, AT_INPUT };
    static const layer_choice places[] = {
        {"acc", 1},      {"rounded", 2},      {"sum", 0}, {"gemm1", AT_GEMM1},
        {"glu", AT_GLU}, {"input", AT_INPUT}, {NULL, 0}};
    uint32_t at = 0;
    MXO_TRY(layer_choose(j->call, "routing_at", places, &at, why));

    MXO_TRY(layer_choose(j->call, "routing_type", layer_narrows, &j->p.narrow,
                         why));
    if (j->has_one && at >= AT_GEMM1 &&
        (j->p.topk != 1 || (at == AT_INPUT && j->one.a_type == LAYER_CODES))) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: this routing_at needs a top-k of 1 and numbers",
                        j->call->op);
    }
    j->two.weigh = at < AT_GEMM1 ? at : 0;
    j->one.weigh = j->has_one && at == AT_GEMM1 ? 2 : 0;
    j->by_glu = j->has_one && at == AT_GLU;
    j->by_input = j->has_one && at == AT_INPUT;
    return MXO_OK;
}

static inline mxo_status recipe_gemm2(layer_job *j, mxo_text why)
{
    static const layer_choice requants[] = {
        {"none", 0}, {"same", 1}, {NULL, 0}};
    const uint32_t from = j->has_one ? j->glu.glu.to : j->two.a_type;
    uint32_t same = 0;

    MXO_TRY(layer_choose(j->call, "requant", requants, &same, why));
    j->rows[1].group = LAYER_BLOCK;
    if (same) {
        MXO_TRY(recipe_quant(j, 1, from, why));
    }
    MXO_TRY(recipe_weights(j, 1, from, why));
    MXO_TRY(recipe_bias(j, 1, why));
    MXO_TRY(recipe_routing(j, why));
    MXO_TRY(layer_choose(j->call, "row_out", layer_types, &j->two.out, why));
    j->two.mid = j->two.weigh == 1 ? (uint32_t)LAYER_F32 : j->two.out;
    return recipe_parts(j, 1, why);
}

#endif
