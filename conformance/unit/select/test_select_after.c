/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consequences of a choice: kernels, byte orders, texts of keys, and rules that
 * are put in the place of vLLM's. Tables here are written out by hand from the
 * seed pages, not from the rows.
 */
#include "select/rules.h"
#include "selftest/mutate.h"

#include <mxoracle/select.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

static mxo_select_config configured(mxo_sel_version version,
                                    mxo_sel_entry entry)
{
    mxo_select_config c;

    mxo_select_defaults(&c);
    c.version = version;
    c.entry = entry;
    return c;
}

START_TEST(kernels_are_made_as_the_page_says)
{
    mxo_select_config c = configured(MXO_SEL_2026_05, MXO_SEL_ENTRY_mxfp4);
    mxo_sel_kernel k;

    mxo_select_kernel(&c, MXO_SEL_BACKEND_FLASHINFER_TRTLLM_MXFP4_MXFP8,
                      MXO_SEL_EXPERTS_TrtLlmMxfp4ExpertsMonolithic, &k);
    ck_assert(k.monolithic && !k.inplace && k.skip_forward_padding);
    ck_assert(!k.batched && !k.needs_layer && !k.precision_configs);
    mxo_select_kernel(&c, MXO_SEL_BACKEND_FLASHINFER_TRTLLM_MXFP4_BF16,
                      MXO_SEL_EXPERTS_TrtLlmMxfp4ExpertsModular, &k);
    ck_assert(!k.monolithic && !k.inplace && !k.skip_forward_padding);
    mxo_select_kernel(&c, MXO_SEL_BACKEND_BATCHED_MARLIN,
                      MXO_SEL_EXPERTS_BatchedMarlinExperts, &k);
    ck_assert(!k.monolithic && k.inplace && k.batched);
    mxo_select_kernel(&c, MXO_SEL_BACKEND_HUMMING,
                      MXO_SEL_EXPERTS_HummingIndexedExperts, &k);
    ck_assert(k.needs_layer && k.inplace);
    mxo_select_kernel(&c, MXO_SEL_BACKEND_AITER_MXFP4_BF16,
                      MXO_SEL_EXPERTS_AiterExperts, &k);
    ck_assert(k.marks_shuffled);
    c.disable_inplace = 1;
    mxo_select_kernel(&c, MXO_SEL_BACKEND_TRITON_UNFUSED,
                      MXO_SEL_EXPERTS_UnfusedOAITritonExperts, &k);
    ck_assert(k.precision_configs && !k.inplace && !k.marks_shuffled);
}
END_TEST

/* Platforms that _swizzle_mxfp4 tells apart. */
static void place(mxo_select_config *c, const char *where)
{
    c->platform = strncmp(where, "gfx", 3) == 0 ? MXO_SEL_PLATFORM_rocm
                  : where[0] == 'c'             ? MXO_SEL_PLATFORM_cpu
                                                : MXO_SEL_PLATFORM_cuda;
    c->gfx = c->platform == MXO_SEL_PLATFORM_rocm ? where : NULL;
    c->major = c->platform == MXO_SEL_PLATFORM_cuda ? where[0] - '0' : -1;
    if (c->major == 1) { /* "10" */
        c->major = 10;
    }
}

START_TEST(conversions_are_those_of_the_loaders)
{
    static const struct {
        const char *version;
        const char *entry;
        const char *backend;
        const char *where;
        const char *want; /* NULL: an error */
    } rows[] = {
        {"oracle-2026-05", "select_mxfp4", "TRITON", "9", "triton_hopper"},
        {"oracle-2026-05", "select_mxfp4", "TRITON", "10", "triton_blackwell"},
        {"oracle-2026-05", "select_mxfp4", "TRITON", "8", "triton_strided"},
        {"oracle-2026-05", "select_mxfp4", "TRITON", "gfx950", "triton_cdna4"},
        {"oracle-2026-05", "select_mxfp4", "TRITON", "gfx942",
         "triton_strided"},
        {"oracle-2026-05", "select_mxfp4", "AITER_MXFP4_FP8", "gfx950",
         "triton_cdna4"},
        {"oracle-2026-05", "select_deepseek_v4", "TRITON", "9",
         "triton_hopper_generic"},
        {"oracle-2026-05", "select_deepseek_v4", "TRITON_UNFUSED", "gfx950",
         "triton_cdna4"},
        {"oracle-2026-05", "select_mxfp4", "FLASHINFER_TRTLLM_MXFP4_BF16", "10",
         "trtllm_gptoss"},
        {"oracle-2026-05", "select_deepseek_v4",
         "FLASHINFER_TRTLLM_MXFP4_MXFP8", "10", "trtllm_general"},
        {"oracle-2026-05", "select_mxfp4", "FLASHINFER_CUTLASS_MXFP4_BF16", "9",
         "cutlass_mxfp4_bf16"},
        {"oracle-2026-03", "select_mxfp4", "FLASHINFER_CUTLASS_MXFP4_BF16", "9",
         "cutlass_mxfp4_bf16_rev0"},
        {"oracle-2026-05", "select_deepseek_v4",
         "FLASHINFER_CUTLASS_MXFP4_BF16", "9", NULL},
        {"oracle-2026-05", "select_mxfp4", "FLASHINFER_CUTLASS_MXFP4_MXFP8",
         "10", "cutlass_mxfp4_mxfp8"},
        {"oracle-2026-05", "select_mxfp4", "CPU", "cpu", "cpu_amx"},
        {"oracle-2026-05", "select_mxfp4", "XPU", "9", "identity"},
        {"oracle-2026-05", "select_mxfp4", "EMULATION", "9", "identity"},
        {"oracle-2026-05", "select_deepseek_v4", "EMULATION", "9", NULL},
        {"oracle-2026-05", "select_mxfp4", "MARLIN", "8", "marlin"},
        {"oracle-2026-05", "select_deepseek_v4", "BATCHED_MARLIN", "8",
         "marlin"},
        {"oracle-2026-05", "select_deepseek_v4", "DEEPGEMM_MXFP4", "10",
         "deepgemm"},
        {"oracle-2026-05", "select_mxfp4", "HUMMING", "9", "humming"},
        {"oracle-2026-05", "select_deepseek_v4", "AITER_MXFP4_BF16", "gfx950",
         "aiter_mxfp4_bf16"},
        {"oracle-2026-05", "select_mxfp4", "AITER_MXFP4_MXFP4", "gfx950",
         "aiter_mxfp4_mxfp4"},
        {"oracle-2026-05", "select_deepseek_v4", "AITER_MXFP4_MXFP4", "gfx950",
         NULL},
        {"oracle-2026-05", "select_mxfp4", "None", "9", NULL},
        {"oracle-2026-11", "select_mxfp4", "TRITON", "9", "triton_hopper_pad4"},
        {"oracle-2026-11", "select_mxfp4", "DEEPGEMM_MXFP4", "10",
         "deepgemm_packed"},
        {"oracle-2026-11", "select_mxfp4", "B12X_MXFP4_BF16", "12", NULL},
        {"oracle-2026-11", "select_deepseek_v4", "B12X_MXFP4_BF16", "12",
         "identity"},
        {"oracle-2026-11", "select_deepseek_v4", "CUTLASS_MXFP4_MXFP4", "12",
         "cutlass_mxfp4_mxfp4"},
        {"oracle-2026-11", "select_mxfp4", "CUTLASS_MXFP4_MXFP4", "12", NULL},
        {"oracle-2026-11", "select_deepseek_v4", "FLASHINFER_MOE_EP_CUTEDSL",
         "10", "dequantised_bf16"},
        {"oracle-2026-11", "select_mxfp4", "FLASHINFER_MOE_EP_CUTEDSL", "10",
         NULL},
        {"oracle-2026-11", "select_deepseek_v4", "AITER_TRITON_MXFP4_BF16",
         "gfx950", "triton_cdna4_gate_up"},
        {"oracle-2026-11", "select_mxfp4", "AITER_TRITON_MXFP4_BF16", "gfx950",
         "triton_cdna4"},
        {"oracle-2026-11", "select_mxfp4", "AITER_TRITON_MXFP4_BF16", "gfx1250",
         "triton_gfx1250"},
        {"oracle-2026-11", "select_mxfp4", "AITER_MXFP4_BF16", "gfx1250",
         "triton_gfx1250"},
        {"oracle-2026-09", "select_mxfp4", "AITER_MXFP4_BF16", "gfx1250",
         "triton_strided"},
        {"oracle-2026-11", "select_mxfp4", "AITER_TRITON_MXFP4_MXFP4",
         "gfx1250", "aiter_triton_mxfp4_gate_up"},
        {"oracle-2026-11", "select_deepseek_v4", "AITER_MXFP4_BF16", "gfx950",
         "aiter_mxfp4_bf16_gate_up"},
        {"oracle-2026-11", "select_deepseek_v4",
         "FLASHINFER_CUTLASS_MXFP4_BF16", "9", "cutlass_mxfp4_bf16_general"},
        {"oracle-2026-07", "select_deepseek_v4",
         "FLASHINFER_CUTLASS_MXFP4_BF16", "9", NULL},
        {"oracle-2026-11", "select_deepseek_v4", "CPU", "cpu", "cpu_amx"},
        {"oracle-2026-09", "select_deepseek_v4", "CPU", "cpu", NULL},
        {"oracle-2026-07", "select_deepseek_v4", "EMULATION", "9", NULL},
        {"oracle-2026-09", "select_deepseek_v4", "EMULATION", "9", "identity"},
        {"oracle-2026-03", "select_mxfp4", "None", "9", "identity"},
        {"oracle-2026-03", "select_mxfp4", "CK", "gfx950", "aiter_mxfp4_bf16"},
        {"oracle-2026-03", "select_mxfp4", "XPU", "9", NULL},
        {"env-2025-08", "select_mxfp4", "TRITON", "9", "triton_hopper"},
        {"env-2025-08", "select_mxfp4", "FLASHINFER_TRTLLM_MXFP4_MXFP8", "10",
         "trtllm_gptoss"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        mxo_select_config c = configured(
            (mxo_sel_version)mxo_select_find(MXO_SEL_WORDS_VERSION,
                                             rows[i].version),
            (mxo_sel_entry)mxo_select_find(MXO_SEL_WORDS_ENTRY, rows[i].entry));
        mxo_sel_failure f;
        place(&c, rows[i].where);
        const char *id =
            mxo_select_conversion(&c,
                                  (mxo_sel_backend)mxo_select_find(
                                      MXO_SEL_WORDS_BACKEND, rows[i].backend),
                                  &f);
        ck_assert_msg((id == NULL) == (rows[i].want == NULL) &&
                          (id == NULL ||
                           strcmp(id + strlen("convert/"), rows[i].want) == 0),
                      "row %zu, %s: got %s", i, rows[i].backend,
                      id == NULL ? "an error" : id);
        ck_assert_msg((id == NULL) == (f.error != MXO_SEL_ERROR_NONE),
                      "row %zu", i);
    }
}
END_TEST

/* Conversions that an activation, a variable or the number of ranks decides. */
START_TEST(conversions_ask_more_than_the_platform)
{
    static const struct {
        mxo_sel_version version;
        mxo_sel_backend backend;
        mxo_sel_activation activation;
        int64_t ranks;
        mxo_sel_env env;
        const char *value; /* NULL: unset */
        const char *want;
    } rows[] = {
#define SITU_ROW(version, env, value, want) \
    {version,                               \
     MXO_SEL_BACKEND_AITER_MXFP4_BF16,      \
     MXO_SEL_ACT_situ,                      \
     1,                                     \
     MXO_SEL_ENV_##env,                     \
     value,                                 \
     want}
#define SITU_09(value, want) \
    SITU_ROW(MXO_SEL_2026_09, VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4, value, want)
#define SITU_11(value, want) \
    SITU_ROW(MXO_SEL_2026_11, VLLM_ROCM_USE_AITER_MOE_SITUV2, value, want)
        SITU_09(NULL, "aiter_mxfp4_bf16_situ"),
        SITU_09("0", "aiter_mxfp4_bf16_situ"),
        SITU_09("1", "aiter_mxfp4_bf16_situ_a8w4"),
        SITU_09("True", "aiter_mxfp4_bf16_situ_a8w4"),
        SITU_09("truest", "aiter_mxfp4_bf16_situ"),
        SITU_11(NULL, "aiter_mxfp4_bf16_situ"),
        SITU_11("1", "aiter_mxfp4_bf16_situ"),
        SITU_11("a16w4", "aiter_mxfp4_bf16_situ"),
        SITU_11("A8W4", "aiter_mxfp4_bf16_situ_a8w4"),
        SITU_11("a8w", "aiter_mxfp4_bf16_situ"),
        /* Two ranks keep the scale order of CDNA4, three do not. */
        {MXO_SEL_2026_11, MXO_SEL_BACKEND_AITER_TRITON_MXFP4_BF16,
         MXO_SEL_ACT_silu, 2, 0, NULL, "triton_cdna4_gate_up"},
        {MXO_SEL_2026_11, MXO_SEL_BACKEND_AITER_TRITON_MXFP4_BF16,
         MXO_SEL_ACT_silu, 3, 0, NULL, "triton_strided_gate_up"},
        {MXO_SEL_2026_11, MXO_SEL_BACKEND_AITER_MXFP4_BF16, MXO_SEL_ACT_silu, 1,
         0, NULL, "aiter_mxfp4_bf16_gate_up"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        mxo_select_config c =
            configured(rows[i].version, MXO_SEL_ENTRY_deepseek_v4);
        mxo_sel_failure f;
        const char *id;
        place(&c, "gfx950");
        c.activation = rows[i].activation;
        c.parallel.tp_size = rows[i].ranks;
        c.env[rows[i].env] = rows[i].value;
        id = mxo_select_conversion(&c, rows[i].backend, &f);
        ck_assert_msg(id != NULL, "row %zu", i);
        ck_assert_str_eq(id + strlen("convert/"), rows[i].want);
    }
}
END_TEST

/* layout.convert has every conversion that select names. */
START_TEST(every_conversion_is_one_of_the_layout_engine)
{
    static const char *const known[] = {
#define MXO_CONVERSION(id, params, needs, bias, w13, w13_scale, w13_bias, w2, \
                       w2_scale, w2_bias, source)                             \
    id,
#include <mxoracle/conversions.def>
#undef MXO_CONVERSION
    };
    const char *id;

    for (int i = 0; (id = mxo_select_conversion_at(i)) != NULL; i++) {
        int found = 0;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
            found |= strcmp(known[k], id + strlen("convert/")) == 0;
        }
        /* No order of bytes: nothing to convert. */
        found |= strcmp(id, "convert/dequantised_bf16") == 0;
        ck_assert_msg(found, "%s", id);
    }
}
END_TEST

START_TEST(keys_are_printed_with_their_flavour)
{
    mxo_select_config c = configured(MXO_SEL_2026_05, MXO_SEL_ENTRY_mxfp4);
    char text[128];
    const mxo_text out = {text, sizeof text};

    (void)mxo_select_key_text(&c, MXO_SEL_KEY_NONE, out);
    ck_assert_str_eq(text, "None");
    (void)mxo_select_key_text(&c, MXO_SEL_KEY_kMxfp8Dynamic, out);
    ck_assert_str_eq(text, "QuantKey(f8e4m3fn,scale(u8,dynamic,"
                           "GroupShape(row=1, col=32)),symmetric)");
    c.platform = MXO_SEL_PLATFORM_rocm;
    c.gfx = "gfx942";
    (void)mxo_select_key_text(&c, MXO_SEL_KEY_kFp8StaticTensorSym, out);
    ck_assert_str_eq(
        text, "QuantKey(f8e4m3fnuz,scale(f32,static,per_tensor),symmetric)");
    (void)mxo_select_key_text(&c, MXO_SEL_KEY_kInt8StaticChannelSym, out);
    ck_assert_str_eq(text,
                     "QuantKey(i8,scale(f32,static,per_channel),symmetric)");
}
END_TEST

START_TEST(block_scales_have_the_platform_s_fp8)
{
    mxo_select_config c = configured(MXO_SEL_2026_05, MXO_SEL_ENTRY_mxfp4);
    mxo_sel_quant q;

    mxo_select_quant(&c, MXO_SEL_BACKEND_DEEPGEMM_MXFP4, &q);
    ck_assert_str_eq(q.dtype, "float8_e4m3fn");
    c.platform = MXO_SEL_PLATFORM_rocm;
    c.gfx = "gfx942";
    mxo_select_quant(&c, MXO_SEL_BACKEND_DEEPGEMM_MXFP4, &q);
    ck_assert_str_eq(q.dtype, "float8_e4m3fnuz");
    mxo_select_quant(&c, MXO_SEL_BACKEND_HUMMING, &q);
    ck_assert(q.from_layer);
}
END_TEST

START_TEST(a_malformed_variable_stops_the_weights)
{
    mxo_select_config c = configured(MXO_SEL_2025_08, MXO_SEL_ENTRY_mxfp4);
    mxo_sel_weights w;
    mxo_sel_failure f;

    c.hidden = 2880;
    c.intermediate = 1440;
    c.env[MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_MXFP4_BF16] = "yes";
    mxo_select_weights(&c, MXO_SEL_BACKEND_NONE, 4, &w, &f);
    ck_assert_int_eq(f.error, MXO_SEL_ERROR_INTEGER);
    ck_assert_int_eq(w.hidden, 0);
    /* The oracles round for a backend, not by variables. */
    c.version = MXO_SEL_2026_05;
    mxo_select_weights(&c, MXO_SEL_BACKEND_MARLIN, 4, &w, &f);
    ck_assert_int_eq(f.error, MXO_SEL_ERROR_NONE);
    ck_assert(w.w13[0] == 4 && w.w13[1] == 2 * 1536 && w.w13[2] == 3072 / 2);
    ck_assert(w.w2_scale[1] == 3072 && w.w2_scale[2] == 1536 / 32);
}
END_TEST

START_TEST(a_list_that_is_not_there_is_empty)
{
    mxo_select_config c = configured(MXO_SEL_2026_03, MXO_SEL_ENTRY_mxfp4);
    uint8_t out[MXO_SEL_LIST_MAX];

    ck_assert_int_eq(mxo_select_priority(&c, MXO_SEL_LIST_gpt_oss, out), 0);
    ck_assert_int_eq(mxo_select_priority(&c, MXO_SEL_LIST_plain, out), 7);
}
END_TEST

/* Rules that vLLM does not have: what the interpreter makes of them. */
START_TEST(odd_rules_end_well)
{
    static mxo_select_rules rules;
    mxo_select_config c = configured(MXO_SEL_2026_03, MXO_SEL_ENTRY_mxfp4);
    mxo_select_result r;
    char text[256];
    int64_t h = 5;
    int64_t i = 7;

    rules = mxo_select_standard;
    c.rules = &rules;
    rules.steps[0] = (sel_step){.version = MXO_SEL_2026_03,
                                .entries = 1 << MXO_SEL_ENTRY_mxfp4,
                                .op = SEL_OP_TRY,
                                .backend = MXO_SEL_BACKEND_XPU};
    mxo_select(&c, &r);
    (void)mxo_select_failure_text(&c, &r.failure,
                                  (mxo_text){text, sizeof text});
    ck_assert_str_eq(text, "Unknown MXFP4 MoE backend: XPU");
    memset(rules.steps, 0, sizeof rules.steps);
    mxo_select(&c, &r);
    ck_assert_int_eq(r.failure.error, MXO_SEL_ERROR_NONE);
    ck_assert_int_eq(r.backend, MXO_SEL_BACKEND_NONE);
    memset(rules.rounds, 0, sizeof rules.rounds);
    mxo_select_round_up(&c, MXO_SEL_BACKEND_MARLIN, &h, &i);
    ck_assert(h == 5 && i == 7);
    memset(rules.routers, 0, sizeof rules.routers);
    ck_assert_int_eq(
        mxo_select_routing(&c, MXO_SEL_SCORING_softmax, 1, 1, 0, 0, 0),
        MXO_SEL_ROUTING_Unspecified);
}
END_TEST

/* Tables without a row that ends them, none of whose rows is for the
 * configuration. */
START_TEST(full_tables_end)
{
    static mxo_select_rules rules;
    mxo_select_config c = configured(MXO_SEL_2026_03, MXO_SEL_ENTRY_mxfp4);
    mxo_sel_failure failure;
    uint8_t out[MXO_SEL_LIST_MAX];
    int64_t h = 5;
    int64_t i = 7;

    rules = mxo_select_standard;
    c.rules = &rules;
    for (int k = 0; k < SEL_MAX_NAMES; k++) {
        rules.names[k] =
            (sel_name){.version = MXO_SEL_2025_08, .name = "other"};
    }
    for (int k = 0; k < SEL_MAX_LISTS; k++) {
        rules.lists[k] = (sel_list){.version = MXO_SEL_2025_08, .list = 1};
    }
    for (int k = 0; k < SEL_MAX_ROUND; k++) {
        rules.rounds[k] = (sel_round){.version = MXO_SEL_2025_08, .hidden = 64};
    }
    for (int k = 0; k < SEL_MAX_ROUTING; k++) {
        rules.routers[k] = (sel_router){.versions = 1 << MXO_SEL_2025_08};
    }
    for (int k = 0; k < SEL_MAX_CONVERTS; k++) {
        rules.converts[k] = (sel_convert){.version = MXO_SEL_2025_08, .id = 1};
    }
    c.moe_backend = "triton";
    ck_assert_int_eq(mxo_select_map(&c, out, &failure), 0);
    ck_assert_int_eq(failure.error, MXO_SEL_ERROR_NAME);
    ck_assert_ptr_null(mxo_select_name_at(&c, 0));
    ck_assert_int_eq(mxo_select_priority(&c, MXO_SEL_LIST_plain, out), 0);
    mxo_select_round_up(&c, MXO_SEL_BACKEND_MARLIN, &h, &i);
    ck_assert(h == 5 && i == 7);
    ck_assert_int_eq(
        mxo_select_routing(&c, MXO_SEL_SCORING_softmax, 1, 1, 0, 0, 0),
        MXO_SEL_ROUTING_Unspecified);
    ck_assert_ptr_null(
        mxo_select_conversion(&c, MXO_SEL_BACKEND_MARLIN, &failure));
    ck_assert_int_eq(failure.error, MXO_SEL_ERROR_CONVERT_ANY);
}
END_TEST

START_TEST(a_routing_method_without_a_number_is_minus_one)
{
    mxo_select_config c = configured(MXO_SEL_2026_03, MXO_SEL_ENTRY_mxfp4);
    const mxo_sel_candidate t = {MXO_SEL_BACKEND_TRITON, 1, 0,
                                 MXO_SEL_BECAUSE_ROUTING, 0};
    char text[128];

    c.routing = MXO_SEL_ROUTING_DeepseekV4;
    (void)mxo_select_reason_text(&c, &t, (mxo_text){text, sizeof text});
    ck_assert_str_eq(text, "kernel does not support routing method -1");
}
END_TEST

START_TEST(changes_of_rules_are_numbered_and_named)
{
    static mxo_select_rules copy;
    static mxo_select_rules last;
    char what[256];
    const mxo_text text = {what, sizeof what};
    int n = 0;

    ck_assert_uint_eq(select_rules_bytes(), sizeof copy);
    memset(&last, 0, sizeof last);
    while (select_rules_mutate(&copy, n, text) == MXO_OK) {
        ck_assert_msg(strlen(what) > 10, "change %d: %s", n, what);
        ck_assert_msg(memcmp(&copy, &mxo_select_standard, sizeof copy) != 0,
                      "change %d changes nothing: %s", n, what);
        ck_assert_msg(memcmp(&copy, &last, sizeof copy) != 0,
                      "change %d is the one before: %s", n, what);
        last = copy;
        n++;
    }
    ck_assert_int_gt(n, 800);
    ck_assert_int_eq(select_rules_mutate(&copy, -1, text), MXO_E_PARAM);
}
END_TEST

Suite *suite_select_after(void);
Suite *suite_select_after(void)
{
    Suite *s = suite_create("select_after");
    TCase *t = tcase_create("select_after");

    tcase_add_test(t, kernels_are_made_as_the_page_says);
    tcase_add_test(t, conversions_are_those_of_the_loaders);
    tcase_add_test(t, conversions_ask_more_than_the_platform);
    tcase_add_test(t, every_conversion_is_one_of_the_layout_engine);
    tcase_add_test(t, keys_are_printed_with_their_flavour);
    tcase_add_test(t, block_scales_have_the_platform_s_fp8);
    tcase_add_test(t, a_malformed_variable_stops_the_weights);
    tcase_add_test(t, a_list_that_is_not_there_is_empty);
    tcase_add_test(t, odd_rules_end_well);
    tcase_add_test(t, full_tables_end);
    tcase_add_test(t, a_routing_method_without_a_number_is_minus_one);
    tcase_add_test(t, changes_of_rules_are_numbered_and_named);
    suite_add_tcase(s, t);
    return s;
}
