/* SPDX-License-Identifier: Apache-2.0 */
/* The profiles: complete, sourced, and every word in them is one that an
   operation or the choices know. */
#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>
#include <mxoracle/profile.h>

#include <check.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The values of the oracle's enumeration (selection 2.1), CK of 2026-03, the
   NVFP4 page, and this project's own. */
static const char *const backends[] = {
    "NONE",
    "DEEPGEMM_MXFP4",
    "FLASHINFER_TRTLLM_MXFP4_MXFP8",
    "FLASHINFER_TRTLLM_MXFP4_BF16",
    "FLASHINFER_CUTLASS_MXFP4_MXFP8",
    "FLASHINFER_CUTLASS_MXFP4_BF16",
    "BATCHED_MARLIN",
    "MARLIN",
    "AITER_MXFP4_BF16",
    "AITER_MXFP4_FP8",
    "AITER_MXFP4_MXFP4",
    "TRITON",
    "TRITON_UNFUSED",
    "XPU",
    "CPU",
    "EMULATION",
    "HUMMING",
    "CK",
    "FLASHINFER_TRTLLM_NVFP4",
    "FLASHINFER_CUTLASS_NVFP4",
    "AITER_TRITON_MXFP4_BF16",
    "B12X_MXFP4_BF16",
    "B12X_MXFP4_MXFP8",
    "FLASHINFER_CUTLASS_MXFP4_MXFP8/fused",
    "BATCHED_MARLIN/naive",
    "DEEPGEMM_MXFP4/unfused",
    "AITER_MXFP4_MXFP4/roundup",
    "AITER_MXFP4_MXFP4/flydsl",
    "TRITON/split_k",
    "TRITON/3.5",
    "HUMMING/streamk",
    "AITER_MXFP4_BF16/split2",
    "HUMMING/native",
    "XPU/clamp",
    "EMULATION/triton",
    "B12X_MXFP4_BF16/atomic",
    "B12X_MXFP4_MXFP8/deterministic",
    "FLASHINFER_TRTLLM_NVFP4/modular",
    "FLASHINFER_CUTLASS_NVFP4/fused",
    "exact",
};

enum { N_BACKENDS = sizeof backends / sizeof backends[0] };

START_TEST(every_backend_has_a_profile)
{
    ck_assert_msg(mxo_profile_by_name(backends[_i]) != NULL, "no %s",
                  backends[_i]);
}
END_TEST

START_TEST(there_is_no_other_profile)
{
    ck_assert_int_eq(mxo_profile_count(), N_BACKENDS);
    ck_assert_ptr_null(mxo_profile_by_name("MARLI"));
    ck_assert_ptr_null(mxo_profile_at(-1));
    ck_assert_ptr_null(mxo_profile_at(N_BACKENDS));
}
END_TEST

static int is_word(const char *value, const char *word)
{
    return strcmp(value, word) == 0;
}

static void expect_fact(const mxo_profile *p, int f)
{
    const mxo_profile_question *q = mxo_profile_question_at(f);
    const mxo_profile_fact *fact = &p->fact[f];
    char *end = NULL;

    ck_assert_msg(fact->value != NULL && fact->value[0] != '\0',
                  "%s: %s has no value", p->name, q->key);
    ck_assert_msg(fact->source != NULL && strlen(fact->source) > 5,
                  "%s: %s has no source", p->name, q->key);
    if (is_word(fact->value, "unknown") || q->kind == MXO_PROFILE_NAME) {
        return;
    }
    if (q->kind == MXO_PROFILE_NUMBER) {
        (void)strtoul(fact->value, &end, 10);
        ck_assert_msg(*end == '\0', "%s: %s=%s is no number", p->name, q->key,
                      fact->value);
        return;
    }
    ck_assert_msg(mxo_profile_choice_by_name((mxo_profile_field)f,
                                             fact->value) != MXO_CHOICE_UNKNOWN,
                  "%s: %s=%s is no choice", p->name, q->key, fact->value);
}

START_TEST(every_fact_has_a_value_and_a_source)
{
    for (int f = 0; f < (int)MXO_N_PROFILE_FIELDS; f++) {
        expect_fact(mxo_profile_at(_i), f);
    }
}
END_TEST

/* Whether word is one of "key:a|b|c=" in the parameters of op. */
static int op_knows(const char *op, const char *key, const char *word)
{
    const mxo_op_info *info = mxo_emulator()->op_info;
    char wanted[64];

    while (strcmp(info->name, op) != 0) {
        info++;
        ck_assert_msg(info->name != NULL, "no operation %s", op);
    }
    (void)snprintf(wanted, sizeof wanted, "%s:", key);
    const char *at = NULL;

    for (int i = 0; i < MXO_PARAM_TEXTS && info->params[i] != NULL; i++) {
        at = at == NULL ? strstr(info->params[i], wanted) : at;
    }
    ck_assert_msg(at != NULL, "%s has no parameter %s", op, key);
    for (at += strlen(wanted); *at != '='; at += *at == '|') {
        const size_t len = strcspn(at, "|=");
        if (strlen(word) == len && strncmp(at, word, len) == 0) {
            return 1;
        }
        at += len;
    }
    return 0;
}

START_TEST(the_layer_offers_every_profile)
{
    const mxo_profile *p = mxo_profile_at(_i);

    ck_assert_msg(op_knows(mxo_profile_layer(p), "profile", p->name), "%s",
                  p->name);
}
END_TEST

static int is_of_first_half(mxo_profile_field field)
{
    return field == MXO_FIELD_BIAS1 || field == MXO_FIELD_GEMM1_OUT ||
           field == MXO_FIELD_GLU_OUT;
}

/* Every choice can be declared, but for quantisers that do not run here and
   the order of rows, which is the caller's. */
START_TEST(the_layer_offers_every_choice)
{
    const mxo_profile_choice c = (mxo_profile_choice)_i;
    const mxo_profile_field field = mxo_profile_choice_field(c);
    const char *key = mxo_profile_question_at((int)field)->key;
    const char *name = mxo_profile_choice_name(c);

    if (c != MXO_P_QUANT_STATIC && c != MXO_P_QUANT_NVFP4 &&
        field != MXO_FIELD_ROWS && field != MXO_FIELD_SCALE_ENDS &&
        field != MXO_FIELD_GLOBAL_AT) {
        ck_assert_msg(op_knows("moe.layer", key, name), "%s=%s", key, name);
        ck_assert_msg(
            op_knows(is_of_first_half(field) ? "moe.gemm1" : "moe.gemm2", key,
                     name),
            "%s=%s", key, name);
    }
}
END_TEST

static void expect_rule(const mxo_profile *p, mxo_profile_field f,
                        const char *op, const char *key)
{
    const char *value = p->fact[f].value;

    ck_assert_msg(is_word(value, "unknown") || is_word(value, "none") ||
                      is_word(value, "same") || is_word(value, "swiglu") ||
                      is_word(value, "nvfp4") || op_knows(op, key, value),
                  "%s: %s=%s is not in %s of %s", p->name,
                  mxo_profile_question_at((int)f)->key, value, key, op);
}

START_TEST(every_dialect_is_one_of_an_operation)
{
    const mxo_profile *p = mxo_profile_at(_i);
    const char *quant = p->fact[MXO_FIELD_QUANT].value;

    expect_rule(p, MXO_FIELD_WEIGHT_RULE, "dequant.mx", "rule");
    expect_rule(p, MXO_FIELD_SWIGLU, "act.glu", "dialect");
    expect_rule(p, MXO_FIELD_SILU, "act.glu", "dialect");
    expect_rule(p, MXO_FIELD_SILU_LIMIT, "act.glu", "dialect");
    if (is_word(quant, "quant.mx") || is_word(quant, "quant.group")) {
        expect_rule(p, MXO_FIELD_QUANT_ELEMENT, quant, "element");
        expect_rule(p, MXO_FIELD_QUANT_RULE, quant, "rule");
        expect_rule(p, MXO_FIELD_REQUANT_RULE, quant, "rule");
    } else if (is_word(quant, "quant.static")) {
        expect_rule(p, MXO_FIELD_QUANT_ELEMENT, quant, "element");
        expect_rule(p, MXO_FIELD_QUANT_RULE, quant, "apply");
    } else if (is_word(quant, "quant.qdq")) {
        expect_rule(p, MXO_FIELD_QUANT_RULE, quant, "rule");
    } else if (is_word(quant, "quant.nvfp4")) {
        expect_rule(p, MXO_FIELD_QUANT_RULE, quant, "math");
        expect_rule(p, MXO_FIELD_REQUANT_RULE, quant, "math");
    } else {
        ck_assert_msg(is_word(quant, "none") || is_word(quant, "unknown"),
                      "%s: quant=%s", p->name, quant);
    }
}
END_TEST

static void expect_constant(const mxo_profile *p, mxo_profile_field f)
{
    const char *value = p->fact[f].value;
    char *end = NULL;

    if (is_word(value, "config") || is_word(value, "unknown") ||
        is_word(value, "none")) {
        return;
    }
    (void)strtod(value, &end);
    ck_assert_msg(*end == '\0' && end != value, "%s: constant %s", p->name,
                  value);
}

START_TEST(every_constant_is_a_number)
{
    expect_constant(mxo_profile_at(_i), MXO_FIELD_ALPHA);
    expect_constant(mxo_profile_at(_i), MXO_FIELD_BETA);
    expect_constant(mxo_profile_at(_i), MXO_FIELD_LIMIT);
}
END_TEST

START_TEST(every_note_names_a_profile_and_a_source)
{
    int n = 0;

    for (; mxo_profile_note_at(n) != NULL; n++) {
        const mxo_profile_note *note = mxo_profile_note_at(n);
        ck_assert_msg(mxo_profile_by_name(note->profile) != NULL, "note on %s",
                      note->profile);
        ck_assert_msg(strlen(note->text) > 10 && strlen(note->source) > 5,
                      "note %d on %s", n, note->profile);
    }
    ck_assert_int_gt(n, 20);
}
END_TEST

START_TEST(choices_and_keys_round_trip)
{
    for (int i = 1; i < (int)MXO_N_PROFILE_CHOICES; i++) {
        const mxo_profile_choice c = (mxo_profile_choice)i;
        ck_assert_msg(mxo_profile_choice_by_name(mxo_profile_choice_field(c),
                                                 mxo_profile_choice_name(c)) ==
                          c,
                      "choice %s", mxo_profile_choice_name(c));
        ck_assert_uint_gt(strlen(mxo_profile_choice_meaning(c)), 5);
    }
    for (int f = 0; f < (int)MXO_N_PROFILE_FIELDS; f++) {
        ck_assert_int_eq(
            mxo_profile_field_by_key(mxo_profile_question_at(f)->key), f);
    }
    ck_assert_ptr_null(mxo_profile_question_at(MXO_N_PROFILE_FIELDS));
    ck_assert_int_eq(mxo_profile_field_by_key("order1"), MXO_N_PROFILE_FIELDS);
    ck_assert_int_eq(mxo_profile_choice_by_name(MXO_FIELD_SUM, "down"),
                     MXO_CHOICE_UNKNOWN);
}
END_TEST

/* Global scales, where an NVFP4 layer has them. */
START_TEST(the_nvfp4_layer_offers_its_choices)
{
    for (int i = 0; i < (int)MXO_N_PROFILE_CHOICES; i++) {
        const mxo_profile_choice c = (mxo_profile_choice)i;
        if (c != MXO_P_GLOBAL_AT_NONE &&
            mxo_profile_choice_field(c) == MXO_FIELD_GLOBAL_AT) {
            ck_assert(op_knows("moe.nvfp4_layer", "global_at",
                               mxo_profile_choice_name(c)));
        }
    }
}
END_TEST

/* All but the one that runs nothing. */
START_TEST(what_is_declared_runs)
{
    for (int i = 0; i < mxo_profile_count(); i++) {
        const mxo_profile *p = mxo_profile_at(i);
        const int is_open = is_word(p->name, "NONE");
        ck_assert_msg(mxo_profile_is_known(p) == !is_open, "%s", p->name);
    }
}
END_TEST

/* "triton_*": which one depends on the platform; the others are exact. */
static int is_conversion(const char *pattern)
{
    int n = 0;

    for (uint32_t i = 0; mxo_conversion_at(i) != NULL; i++) {
        n += fnmatch(pattern, mxo_conversion_at(i)->id, 0) == 0;
    }
    return n > 0 || strcmp(pattern, "none") == 0 ||
           strcmp(pattern, "unknown") == 0;
}

START_TEST(conversions_are_rows_of_the_layout_engine)
{
    const mxo_profile *p = mxo_profile_by_name(backends[_i]);

    ck_assert_msg(is_conversion(p->fact[MXO_FIELD_CONVERSION].value), "%s: %s",
                  p->name, p->fact[MXO_FIELD_CONVERSION].value);
    ck_assert_msg(is_conversion(p->fact[MXO_FIELD_CONVERSION_GENERAL].value),
                  "%s: %s", p->name,
                  p->fact[MXO_FIELD_CONVERSION_GENERAL].value);
}
END_TEST

Suite *suite_profile(void);
Suite *suite_profile(void)
{
    Suite *s = suite_create("profile");
    TCase *t = tcase_create("tables");

    tcase_add_loop_test(t, every_backend_has_a_profile, 0, N_BACKENDS);
    tcase_add_loop_test(t, conversions_are_rows_of_the_layout_engine, 0,
                        N_BACKENDS);
    tcase_add_test(t, there_is_no_other_profile);
    tcase_add_loop_test(t, every_fact_has_a_value_and_a_source, 0, N_BACKENDS);
    tcase_add_loop_test(t, every_dialect_is_one_of_an_operation, 0, N_BACKENDS);
    tcase_add_loop_test(t, the_layer_offers_every_profile, 0, N_BACKENDS);
    tcase_add_loop_test(t, the_layer_offers_every_choice, 1,
                        MXO_N_PROFILE_CHOICES);
    tcase_add_loop_test(t, every_constant_is_a_number, 0, N_BACKENDS);
    tcase_add_test(t, every_note_names_a_profile_and_a_source);
    tcase_add_test(t, choices_and_keys_round_trip);
    tcase_add_test(t, what_is_declared_runs);
    tcase_add_test(t, the_nvfp4_layer_offers_its_choices);
    suite_add_tcase(s, t);
    return s;
}
