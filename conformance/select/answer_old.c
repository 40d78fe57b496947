/* SPDX-License-Identifier: Apache-2.0 */
/* Answers on what stands beside the choice: env-2025-08's tiles, weights,
   refusals and methods; the seed pages' refusals and arguments. */
#include "asking.h"
#include "base/say.h"

#include <mxoracle/select_nvfp4.h>

#include <string.h>

/* A size of this name, or -1 and a sentence. */
static int64_t size_of(const asking *a, const char *key)
{
    const int64_t x = asked_integer(a->object, key, -1);

    if (x < 0 || x > 1 << 30) {
        (void)say(MXO_E_PARAM, a->why, "%s is not within 0 and 2^30", key);
        return -1;
    }
    return x;
}

json_t *ask_tile(asking *a)
{
    const int64_t tokens = size_of(a, "num_tokens");
    const int64_t top_k = size_of(a, "top_k");
    const int64_t experts = size_of(a, "num_experts");
    mxo_sel_failure f;

    if (tokens < 0 || top_k < 0 || experts < 0) {
        return NULL;
    }
    const int tile = mxo_select_tile_tokens(tokens, top_k, experts, &f);

    return f.error != MXO_SEL_ERROR_NONE
               ? answer_failure(&a->c, &f)
               : json_pack("{s:b, s:i}", "ok", 1, "tile_tokens_dim", tile);
}

static json_t *shape3(const int64_t *s)
{
    return json_pack("[I, I, I]", (json_int_t)s[0], (json_int_t)s[1],
                     (json_int_t)s[2]);
}

static json_t *shape2(const int64_t *s)
{
    return json_pack("[I, I]", (json_int_t)s[0], (json_int_t)s[1]);
}

json_t *ask_weights(asking *a)
{
    const int64_t experts = size_of(a, "num_experts");
    const json_t *named = json_object_get(a->object, "backend");
    const int b = named == NULL ? MXO_SEL_BACKEND_NONE : the_backend(a);
    mxo_sel_weights w;
    mxo_sel_failure f;

    if (experts < 0 || b < 0) {
        return NULL;
    }
    mxo_select_weights(&a->c, (mxo_sel_backend)b, experts, &w, &f);
    if (f.error != MXO_SEL_ERROR_NONE) {
        return answer_failure(&a->c, &f);
    }
    return json_pack("{s:b, s:I, s:I, s:{s:o, s:o, s:o, s:o, s:o, s:o}}", "ok",
                     1, "hidden", (json_int_t)w.hidden, "intermediate",
                     (json_int_t)w.intermediate, "shapes", "w13_weight",
                     shape3(w.w13), "w13_weight_scale", shape3(w.w13_scale),
                     "w13_bias", shape2(w.w13_bias), "w2_weight", shape3(w.w2),
                     "w2_weight_scale", shape3(w.w2_scale), "w2_bias",
                     shape2(w.w2_bias));
}

/* As Python's bool() of a JSON value. */
static int truth(const json_t *x)
{
    return json_is_true(x) || json_integer_value(x) != 0 ||
           json_real_value(x) < 0 || json_real_value(x) > 0 ||
           json_string_length(x) > 0 || json_array_size(x) > 0 ||
           json_object_size(x) > 0;
}

json_t *ask_can_support(asking *a)
{
    static const struct {
        const char *key;
        const char *only; /* the one string that is no obstacle */
        uint32_t bit;
    } rows[] = {
        {"use_grouped_topk", NULL, MXO_SEL_USE_GROUPED_TOPK},
        {"topk_group", NULL, MXO_SEL_TOPK_GROUP},
        {"num_expert_group", NULL, MXO_SEL_NUM_EXPERT_GROUP},
        {"expert_map", NULL, MXO_SEL_EXPERT_MAP},
        {"custom_routing_function", NULL, MXO_SEL_CUSTOM_ROUTING},
        {"e_score_correction_bias", NULL, MXO_SEL_CORRECTION_BIAS},
        {"apply_router_weight_on_input", NULL, MXO_SEL_WEIGHT_ON_INPUT},
        {"scoring_func", "softmax", MXO_SEL_SCORING_NOT_SOFTMAX},
        {"activation", "silu", MXO_SEL_ACTIVATION_NOT_SILU},
        {"expert_load_view", NULL, MXO_SEL_LOAD_VIEW},
        {"logical_to_physical_map", NULL, MXO_SEL_LOGICAL_TO_PHYSICAL},
        {"logical_replica_count", NULL, MXO_SEL_REPLICA_COUNT},
    };
    const char *key;
    json_t *value;
    uint32_t bits = 0;

    json_object_foreach(json_object_get(a->object, "args"), key, value)
    {
        size_t i = 0;
        while (i < sizeof rows / sizeof rows[0] &&
               strcmp(rows[i].key, key) != 0) {
            i++;
        }
        if (i == sizeof rows / sizeof rows[0]) {
            return no_answer(a->why, key, "an argument of can_support");
        }
        const char *text = json_string_value(value);
        const int blocks =
            rows[i].only == NULL
                ? truth(value)
                : text == NULL || strcmp(text, rows[i].only) != 0;
        bits |= blocks ? rows[i].bit : 0;
    }
    return json_pack("{s:b, s:b}", "ok", 1, "supported",
                     mxo_select_can_support(bits));
}

static int is_listed(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *item = json_string_value(json_array_get(list, i));
        if (item != NULL && strcmp(item, text) == 0) {
            return 1;
        }
    }
    return 0;
}

json_t *ask_quant_method(asking *a)
{
    static const char *const layers[] = {"linear", "moe", "attention", "other"};
    const char *layer = json_string_value(json_object_get(a->object, "layer"));
    const char *prefix =
        json_string_value(json_object_get(a->object, "prefix"));
    const char *method;
    mxo_sel_failure f;
    int i = 0;

    while (layer != NULL && i < 4 && strcmp(layers[i], layer) != 0) {
        i++;
    }
    if (layer == NULL || i == 4) {
        return no_answer(a->why, "layer", "linear, moe, attention or other");
    }
    method = mxo_select_quant_method(
        (mxo_sel_layer)i,
        is_listed(json_object_get(a->object, "ignored_layers"),
                  prefix == NULL ? "" : prefix),
        &f);
    return f.error != MXO_SEL_ERROR_NONE
               ? answer_failure(&a->c, &f)
               : json_pack("{s:b, s:s?}", "ok", 1, "method", method);
}

json_t *ask_method(asking *a)
{
    const mxo_sel_method m = mxo_select_method();

    (void)a;
    return json_pack("{s:b, s:s, s:i, s:s, s:s}", "ok", 1, "name", m.name,
                     "min_capability", m.min_capability, "act_dtypes",
                     m.act_dtypes, "config_files", m.config_files);
}

json_t *ask_gemm_impl(asking *a)
{
    mxo_sel_failure f;

    mxo_select_gemm_impl(&f);
    return answer_failure(&a->c, &f);
}

json_t *ask_input_scales(asking *a)
{
    const int b = the_backend(a);
    mxo_sel_failure f;

    if (b < 0) {
        return NULL;
    }
    mxo_select_input_scales(
        (mxo_sel_backend)b,
        json_is_true(json_object_get(a->object, "w13_input_scale")),
        json_is_true(json_object_get(a->object, "w2_input_scale")), &f);
    return f.error != MXO_SEL_ERROR_NONE ? answer_failure(&a->c, &f)
                                         : json_pack("{s:b}", "ok", 1);
}

json_t *ask_prepare(asking *a)
{
    const mxo_sel_prepare p = mxo_select_nvfp4_prepare(&a->c);

    return json_pack("{s:b, s:b, s:b, s:b}", "ok", 1, "use_dp", p.use_dp,
                     "use_nvfp4", p.use_nvfp4, "enable_alltoallv",
                     p.enable_alltoallv);
}
