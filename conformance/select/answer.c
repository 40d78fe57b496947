/* SPDX-License-Identifier: Apache-2.0 */
/* See answer.h. One row per fn says how to ask and how to write it down. */
#include "asking.h"

#include "base/say.h"
#include "caseconfig.h"

#include <mxoracle/select_nvfp4.h>

#include <stdlib.h>
#include <string.h>

int64_t asked_integer(const json_t *object, const char *key, int64_t other)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? json_integer_value(value) : other;
}

json_t *no_answer(mxo_text why, const char *what, const char *wanted)
{
    (void)say(MXO_E_PARAM, why, "%s is not %s", what, wanted);
    return NULL;
}

/* A text of any length: measured, then written. */
static json_t *string_of(size_t n, const char *text)
{
    json_t *s = json_stringn(text, n);

    return s != NULL ? s : json_string("(not UTF-8)");
}

json_t *answer_word(mxo_sel_words kind, int value)
{
    const char *word = mxo_select_word(kind, value);

    return word == NULL ? json_null() : json_string(word);
}

json_t *answer_failure(const mxo_select_config *c, const mxo_sel_failure *f)
{
    const size_t n = mxo_select_failure_text(c, f, (mxo_text){NULL, 0});
    char *text = malloc(n + 1);
    json_t *o;

    if (text == NULL) {
        return NULL;
    }
    (void)mxo_select_failure_text(c, f, (mxo_text){text, n + 1});
    o = json_pack("{s:b, s:s, s:o}", "ok", 0, "error_type",
                  mxo_select_error_type(f->error), "error", string_of(n, text));
    free(text);
    return o;
}

static json_t *reason_of(const mxo_select_config *c,
                         const mxo_sel_candidate *candidate)
{
    const size_t n = mxo_select_reason_text(c, candidate, (mxo_text){NULL, 0});
    char *text;
    json_t *o;

    if (candidate->reason == MXO_SEL_BECAUSE_NONE) {
        return json_null();
    }
    text = malloc(n + 1);
    if (text == NULL) {
        return NULL;
    }
    (void)mxo_select_reason_text(c, candidate, (mxo_text){text, n + 1});
    o = string_of(n, text);
    free(text);
    return o;
}

json_t *answer_trace(const mxo_select_config *c, const mxo_select_result *r)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < r->n_trace; i++) {
        const mxo_sel_candidate *t = &r->trace[i];
        json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:o, s:b, s:o}", "backend",
                      answer_word(MXO_SEL_WORDS_BACKEND, t->backend), "cls",
                      answer_word(MXO_SEL_WORDS_EXPERTS, t->experts),
                      "activation_key", answer_word(MXO_SEL_WORDS_KEY, t->key),
                      "supported", t->reason == MXO_SEL_BECAUSE_NONE, "reason",
                      reason_of(c, t)));
    }
    return list;
}

json_t *answer_result(const mxo_select_config *c, const mxo_select_result *r)
{
    if (r->failure.error != MXO_SEL_ERROR_NONE) {
        return answer_failure(c, &r->failure);
    }
    return json_pack(
        "{s:b, s:o, s:o, s:o, s:{s:I, s:I}}", "ok", 1, "backend",
        answer_word(MXO_SEL_WORDS_BACKEND, (int)r->backend), "experts_cls",
        answer_word(MXO_SEL_WORDS_EXPERTS, (int)r->experts), "activation_key",
        answer_word(MXO_SEL_WORDS_KEY, (int)r->key), "rounded", "hidden",
        (json_int_t)r->hidden, "intermediate", (json_int_t)r->intermediate);
}

static json_t *selection(asking *a, mxo_sel_entry entry)
{
    mxo_select_result r;

    a->c.entry = entry;
    if (mxo_select_check(&a->c, a->why) != MXO_OK) {
        return NULL;
    }
    mxo_select(&a->c, &r);
    *a->trace = answer_trace(&a->c, &r);
    return answer_result(&a->c, &r);
}

static json_t *ask_mxfp4(asking *a)
{
    return selection(a, MXO_SEL_ENTRY_mxfp4);
}

static json_t *ask_deepseek(asking *a)
{
    return selection(a, MXO_SEL_ENTRY_deepseek_v4);
}

static json_t *backends_answer(const uint8_t *list, int n)
{
    json_t *names = json_array();

    for (int i = 0; i < n; i++) {
        json_array_append_new(names,
                              answer_word(MXO_SEL_WORDS_BACKEND, list[i]));
    }
    return json_pack("{s:b, s:o}", "ok", 1, "backends", names);
}

static json_t *ask_map(asking *a)
{
    uint8_t list[MXO_SEL_LIST_MAX];
    mxo_sel_failure f;
    const int n = mxo_select_map(&a->c, list, &f);

    return n == 0 ? answer_failure(&a->c, &f) : backends_answer(list, n);
}

/* -1 and a sentence if the version has no such backend. */
static int take_backend(const asking *a, const json_t *value)
{
    const char *text = json_string_value(value);
    const int found =
        text != NULL && strcmp(text, "NONE") == 0
            ? MXO_SEL_BACKEND_NONE
            : case_word(MXO_SEL_WORDS_BACKEND, "backend", value, a->why);

    if (found >= 0 && !mxo_select_has_backend(&a->c, (mxo_sel_backend)found)) {
        (void)say(MXO_E_PARAM, a->why, "%s has no backend %s",
                  mxo_select_word(MXO_SEL_WORDS_VERSION, (int)a->c.version),
                  text);
        return -1;
    }
    return found;
}

int the_backend(const asking *a)
{
    return take_backend(a, json_object_get(a->object, "backend"));
}

static json_t *ask_backend_key(asking *a)
{
    const int b = the_backend(a);

    if (b < 0) {
        return NULL;
    }
    return json_pack(
        "{s:b, s:o}", "ok", 1, "activation_key",
        answer_word(MXO_SEL_WORDS_KEY,
                    (int)mxo_select_backend_key(&a->c, (mxo_sel_backend)b)));
}

static json_t *ask_round_up(asking *a)
{
    const int b = the_backend(a);
    int64_t h = a->c.hidden;
    int64_t i = a->c.intermediate;

    if (b < 0) {
        return NULL;
    }
    /* select_deepseek_v4 hands the activation in, select_mxfp4 does not. */
    a->c.entry = MXO_SEL_ENTRY_mxfp4;
    if (json_is_string(json_object_get(a->object, "activation"))) {
        a->c.entry = MXO_SEL_ENTRY_deepseek_v4;
    }
    mxo_select_round_up(&a->c, (mxo_sel_backend)b, &h, &i);
    return json_pack("{s:b, s:I, s:I}", "ok", 1, "hidden", (json_int_t)h,
                     "intermediate", (json_int_t)i);
}

static json_t *ask_filter(asking *a)
{
    const json_t *in = json_object_get(a->object, "backends");
    uint8_t list[64];
    uint8_t out[64];
    size_t n = json_array_size(in);

    if (!json_is_array(in) || n > sizeof list) {
        return no_answer(a->why, "backends", "a list of at most 64");
    }
    for (size_t i = 0; i < n; i++) {
        const int b = take_backend(a, json_array_get(in, i));
        if (b < 0) {
            return NULL;
        }
        list[i] = (uint8_t)b;
    }
    const int kept =
        mxo_select_filter(&a->c, list, (int)n, a->c.model_key, out);

    return backends_answer(out, kept);
}

static json_t *ask_requested(asking *a)
{
    uint8_t list[MXO_SEL_LIST_MAX];
    mxo_sel_failure f;
    const int n = mxo_select_requested(&a->c, a->c.model_key, list, &f);

    return f.error != MXO_SEL_ERROR_NONE ? answer_failure(&a->c, &f)
                                         : backends_answer(list, n);
}

static json_t *ask_classes(asking *a)
{
    const int b = the_backend(a);
    json_t *names = json_array();
    mxo_sel_failure f = {.error = MXO_SEL_ERROR_UNKNOWN_BACKEND,
                         .last = {.backend = (uint8_t)b}};
    mxo_sel_experts x;

    for (int i = 0;
         b >= 0 && (x = mxo_select_class_at(&a->c, (mxo_sel_backend)b, i)) != 0;
         i++) {
        json_array_append_new(names,
                              answer_word(MXO_SEL_WORDS_EXPERTS, (int)x));
    }
    if (b >= 0 && json_array_size(names) > 0) {
        return json_pack("{s:b, s:o}", "ok", 1, "classes", names);
    }
    json_decref(names);
    return b < 0 ? NULL : answer_failure(&a->c, &f);
}

static json_t *ask_validate(asking *a)
{
    const int b = the_backend(a);
    const int x =
        b < 0 ? -1
              : case_word(MXO_SEL_WORDS_EXPERTS, "experts_cls",
                          json_object_get(a->object, "experts_cls"), a->why);
    mxo_sel_failure f;

    if (x < 0) {
        return NULL;
    }
    mxo_select_validate(&a->c, (mxo_sel_backend)b, (mxo_sel_experts)x, &f);
    return f.error != MXO_SEL_ERROR_NONE
               ? answer_failure(&a->c, &f)
               : json_pack("{s:b, s:b}", "ok", 1, "valid", 1);
}

static json_t *ask_resolve(asking *a)
{
    mxo_sel_failure f;
    const mxo_sel_key key = mxo_select_resolve(&a->c, &f);

    return f.error != MXO_SEL_ERROR_NONE
               ? answer_failure(&a->c, &f)
               : json_pack("{s:b, s:o}", "ok", 1, "activation_key",
                           answer_word(MXO_SEL_WORDS_KEY, (int)key));
}

static json_t *ask_priority(asking *a)
{
    const int which = case_word(MXO_SEL_WORDS_LIST, "list",
                                json_object_get(a->object, "list"), a->why);
    uint8_t list[MXO_SEL_LIST_MAX];
    int n;

    if (which < 0) {
        return NULL;
    }
    n = mxo_select_priority(&a->c, (mxo_sel_list)which, list);
    return n > 0 ? backends_answer(list, n)
                 : no_answer(a->why, "list", "one of this version");
}

static json_t *number_or_null(const json_t *x)
{
    return x == NULL ? json_null() : json_deep_copy(x);
}

static json_t *operand(const mxo_sel_quant *q, const char *scale,
                       const char *bias, int is_weight)
{
    json_t *shape = json_null();

    if (!is_weight && q->shape[0] != 0) {
        shape = json_pack("[i, i]", q->shape[0], q->shape[1]);
    }
    return json_pack("{s:s?, s:o, s:s?, s:n, s:n, s:s?}", "dtype",
                     is_weight ? "mxfp4" : q->dtype, "shape", shape, "scale",
                     scale, "alpha_or_gscale", "zp", "bias", bias);
}

static json_t *quant_answer(const asking *a, const mxo_sel_quant *q)
{
    const int bias =
        !q->bare_weights && json_is_true(json_object_get(a->object, "bias"));
    const json_t *limit = json_object_get(a->object, "limit");
    const json_t *alpha = json_object_get(a->object, "alpha");
    const json_t *beta = json_object_get(a->object, "beta");
    json_t *o = json_pack(
        "{s:b, s:o, s:o, s:o, s:o, s:s?}", "ok", 1, "a1",
        operand(q, q->static_scale ? "A1S" : NULL, NULL, 0), "a2",
        operand(q, q->static_scale ? "A2S" : NULL, NULL, 0), "w1",
        operand(q, q->bare_weights ? NULL : "W1S", bias ? "W1B" : NULL, 1),
        "w2",
        operand(q, q->bare_weights ? NULL : "W2S", bias ? "W2B" : NULL, 1),
        "ocp_mx_scheme", q->scheme);

    if (!q->has_gemm1_fields) {
        return o;
    }
    json_object_set_new(o, "gemm1_alpha",
                        number_or_null(q->keeps_alpha_beta ? alpha : NULL));
    json_object_set_new(o, "gemm1_beta",
                        number_or_null(q->keeps_alpha_beta ? beta : NULL));
    json_object_set_new(o, "gemm1_clamp_limit",
                        number_or_null(q->drops_limit ? NULL : limit));
    json_object_set_new(o, "mx_alignment", json_integer(q->mx_alignment));
    json_object_set_new(o, "is_scale_swizzled",
                        json_boolean(q->is_scale_swizzled));
    return o;
}

static json_t *ask_quant(asking *a)
{
    const int b = the_backend(a);
    mxo_sel_quant q;

    if (b < 0) {
        return NULL;
    }
    mxo_select_quant(&a->c, (mxo_sel_backend)b, &q);
    if (q.from_layer) {
        return no_answer(a->why, "HUMMING's quant config",
                         "known: the layer builds it");
    }
    return quant_answer(a, &q);
}

static json_t *ask_routing(asking *a)
{
    const json_t *args = json_object_get(a->object, "args");
    const char *name = json_string_value(json_object_get(args, "scoring_func"));
    const json_t *factor = json_object_get(args, "routed_scaling_factor");
    int scoring;
    mxo_sel_routing routing;

    if (name == NULL) {
        return no_answer(a->why, "args.scoring_func", "a string");
    }
    scoring = mxo_select_find(MXO_SEL_WORDS_SCORING, name);
    routing = mxo_select_routing(
        &a->c, scoring < 0 ? MXO_SEL_SCORING_other : (mxo_sel_scoring)scoring,
        asked_integer(args, "top_k", 0),
        json_is_true(json_object_get(args, "renormalize")),
        asked_integer(args, "num_expert_group", 0),
        json_is_true(json_object_get(args, "has_e_score_bias")),
        json_is_number(factor) &&
            (json_number_value(factor) < 1 || json_number_value(factor) > 1));
    return json_pack("{s:b, s:o, s:i}", "ok", 1, "name",
                     answer_word(MXO_SEL_WORDS_ROUTING, (int)routing), "value",
                     mxo_select_routing_value(&a->c, routing));
}

static json_t *available(asking *a, mxo_sel_nvfp4 kernel)
{
    mxo_sel_failure f;
    const int is_there = mxo_select_nvfp4_available(&a->c, kernel, &f);

    return f.error != MXO_SEL_ERROR_NONE
               ? answer_failure(&a->c, &f)
               : json_pack("{s:b, s:b}", "ok", 1, "available", is_there);
}

static json_t *ask_nvfp4_cutlass(asking *a)
{
    return available(a, MXO_SEL_NVFP4_CUTLASS);
}

static json_t *ask_nvfp4_cutedsl(asking *a)
{
    return available(a, MXO_SEL_NVFP4_CUTEDSL);
}

static json_t *ask_nvfp4(asking *a)
{
    const int allowed =
        json_is_true(json_object_get(a->object, "allow_flashinfer"));
    mxo_sel_failure f;
    const mxo_sel_experts x = mxo_select_nvfp4(&a->c, allowed, &f);

    return f.error != MXO_SEL_ERROR_NONE
               ? answer_failure(&a->c, &f)
               : json_pack("{s:b, s:o}", "ok", 1, "experts_cls",
                           answer_word(MXO_SEL_WORDS_EXPERTS, (int)x));
}

json_t *case_answer(const mxo_select_config *config, const json_t *object,
                    json_t **trace, mxo_text why)
{
    static const struct {
        const char *fn;
        ask *ask;
    } rows[] = {
        {"select_mxfp4", ask_mxfp4},
        {"select_deepseek_v4", ask_deepseek},
        {"map_backend", ask_map},
        {"backend_activation_key", ask_backend_key},
        {"round_up", ask_round_up},
        {"quant_config", ask_quant},
        {"requested_backends", ask_requested},
        {"classes", ask_classes},
        {"validate_kernel_config", ask_validate},
        {"filter_by_activation", ask_filter},
        {"resolve_activation_key", ask_resolve},
        {"priority_list", ask_priority},
        {"routing_method_type", ask_routing},
        {"tile_tokens_dim", ask_tile},
        {"create_weights", ask_weights},
        {"can_support", ask_can_support},
        {"get_quant_method", ask_quant_method},
        {"quantization_config", ask_method},
        {"select_nvfp4_gemm_impl", ask_nvfp4},
        {"select_gemm_impl", ask_gemm_impl},
        {"input_scales", ask_input_scales},
        {"build_flashinfer_fp4_cutlass_moe_prepare_finalize", ask_prepare},
        {"is_flashinfer_fp4_cutlass_moe_available", ask_nvfp4_cutlass},
        {"is_flashinfer_fp4_cutedsl_moe_available", ask_nvfp4_cutedsl}};
    const char *fn = json_string_value(json_object_get(object, "fn"));
    asking a = {*config, object, trace, why};

    *trace = NULL;
    if (mxo_select_check(config, why) != MXO_OK) {
        return NULL;
    }
    for (size_t i = 0; fn != NULL && i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].fn, fn) == 0) {
            return rows[i].ask(&a);
        }
    }
    return no_answer(why, "fn", "a function of selection");
}
