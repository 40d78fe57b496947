/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backend selection: every case that vLLM's own code answered, and what those
 * cases leave open, by examples worked out by hand.
 */
#include "select/cases.h"
#include "select/rules.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void open_cases(selection_cases *s, const char *name)
{
    const char *folder = getenv("MXORACLE_VECTORS");
    char path[1024];
    char why[256] = "";

    (void)snprintf(path, sizeof path, "%s/vllm/%s",
                   folder == NULL ? "vectors" : folder, name);
    ck_assert_msg(selection_cases_open(s, path, (mxo_text){why, sizeof why}) ==
                      0,
                  "%s: %s", path, why);
}

/* By the rules built in, and by a copy of them that the caller hands over. */
START_TEST(every_published_case_is_answered)
{
    static mxo_select_rules copy;
    static const struct {
        const char *name;
        size_t n;
    } files[] = {{"selection.json", 1989},
                 {"selection_2026_07.json", 1001},
                 {"selection_2026_09.json", 1165},
                 {"selection_2026_11.json", 1424}};
    char why[4096] = "";
    const mxo_text text = {why, sizeof why};

    copy = mxo_select_standard;
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        selection_cases s;
        open_cases(&s, files[f].name);
        ck_assert_uint_eq(selection_cases_count(&s), files[f].n);
        for (size_t i = 0; i < files[f].n; i++) {
            json_t *object = selection_case(&s, i);
            const char *id = selection_case_id(object);
            ck_assert_msg(selection_case_run(&s, object, NULL, text) == 0,
                          "%s: %s", id, why);
            ck_assert_msg(selection_case_run(&s, object, &copy, text) == 0,
                          "%s, own rules: %s", id, why);
            json_decref(object);
        }
        selection_cases_close(&s);
    }
}
END_TEST

START_TEST(integers_are_parsed_as_python_does)
{
    static const struct {
        const char *text;
        int want;
    } rows[] = {
        {"0", 0},
        {"1", 1},
        {"2", 1},
        {"00", 0},
        {"-1", 1},
        {"+1", 1},
        {"-0", 0},
        {" 1 ", 1},
        {"1_0", 1},
        {"0_0", 0},
        {"\t1\n", 1},
        {"\x1c"
         "1",
         -1},
        {"", -1},
        {" ", -1},
        {"_1", -1},
        {"1_", -1},
        {"1__0", -1},
        {"+-1", -1},
        {"+ 1", -1},
        {"0x1", -1},
        {"true", -1},
        {"1.0", -1},
        {"1 0", -1},
        {"+", -1},
        {"1e1", -1},
        {"off", -1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int got = sel_int_bool(rows[i].text);
        ck_assert_msg(got == rows[i].want, "\"%s\": got %d", rows[i].text, got);
    }
}
END_TEST

START_TEST(aiter_switches_are_words)
{
    ck_assert(sel_aiter_bool("1") && sel_aiter_bool("tRuE"));
    ck_assert(!sel_aiter_bool("") && !sel_aiter_bool("2"));
    ck_assert(!sel_aiter_bool(" 1") && !sel_aiter_bool("truex"));
    ck_assert(!sel_aiter_bool("tru") && !sel_aiter_bool("yes"));
}
END_TEST

START_TEST(gfx_names_have_capabilities)
{
    static const struct {
        const char *gfx;
        int want;
    } rows[] = {{"gfx90a", 90},   {"gfx908", 90},
                {"gfx942", 94},   {"gfx950", 95},
                {"gfx1030", 103}, {"gfx1100", 110},
                {"gfx1201", 120}, {"gfx942:sramecc+:xnack-", 94},
                {"gfx9", -1},     {"sm_90", -1},
                {"gfx", -1}};
    mxo_select_config c;

    mxo_select_defaults(&c);
    c.platform = MXO_SEL_PLATFORM_rocm;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        c.gfx = rows[i].gfx;
        ck_assert_msg(sel_device_of(&c).cap == rows[i].want, "%s: got %d",
                      rows[i].gfx, sel_device_of(&c).cap);
    }
}
END_TEST

static void expect_value(const char *value, const char *want)
{
    mxo_select_config c;
    mxo_select_result r;
    char text[1024];

    mxo_select_defaults(&c);
    c.version = MXO_SEL_2026_05;
    c.env[MXO_SEL_ENV_VLLM_MXFP4_USE_MARLIN] = value;
    mxo_select(&c, &r);
    ck_assert_int_eq(r.failure.error, MXO_SEL_ERROR_INTEGER);
    (void)mxo_select_failure_text(&c, &r.failure,
                                  (mxo_text){text, sizeof text});
    ck_assert_msg(
        strncmp(text, "invalid literal for int() with base 10: ", 40) == 0 &&
            strcmp(text + 40, want) == 0,
        "%s: got %s, want %s", value, text + 40, want);
}

START_TEST(strings_are_quoted_as_python_does)
{
    char longest[301];
    char want[256];

    expect_value("x", "'x'");
    expect_value("it's", "\"it's\"");
    expect_value("'\"", "'\\'\"'");
    expect_value("a\\b\tc\nd\re", "'a\\\\b\\tc\\nd\\re'");
    expect_value("\x01\x7f", "'\\x01\\x7f'");
    expect_value("\xc3\xa4", "'\xc3\xa4'");
    memset(longest, 'y', 300);
    longest[300] = '\0';
    memset(want, 'y', 200);
    want[0] = '\'';
    want[200] = '\0';
    expect_value(longest, want);
}
END_TEST

/* No word in braces may be left, whatever the failure. */
START_TEST(every_template_can_be_written)
{
    mxo_select_config c;
    char text[4096];

    mxo_select_defaults(&c);
    c.env[MXO_SEL_ENV_VLLM_USE_DEEP_GEMM] = "x";
    for (int e = 0; e < MXO_SEL_N_ERRORS; e++) {
        const mxo_sel_failure f = {
            .error = (mxo_sel_error)e,
            .env = MXO_SEL_ENV_VLLM_USE_DEEP_GEMM,
            .last = {MXO_SEL_BACKEND_MARLIN, 1, 0, 1, 1}};
        const size_t n =
            mxo_select_failure_text(&c, &f, (mxo_text){text, sizeof text});
        ck_assert_msg(n == strlen(text) && strpbrk(text, "{}") == NULL,
                      "error %d: %s", e, text);
        ck_assert_msg((n == 0) == (e == MXO_SEL_ERROR_NONE), "error %d", e);
    }
    for (int k = 1; k < MXO_SEL_N_REASONS; k++) {
        const mxo_sel_candidate t = {MXO_SEL_BACKEND_CPU, 1, 2, (uint8_t)k, 0};
        (void)mxo_select_reason_text(&c, &t, (mxo_text){text, sizeof text});
        ck_assert_msg(text[0] != '\0' && strpbrk(text, "{}") == NULL,
                      "reason %d: %s", k, text);
    }
}
END_TEST

START_TEST(a_short_buffer_holds_the_beginning)
{
    const mxo_sel_failure f = {.error = MXO_SEL_ERROR_LINEAR};
    mxo_select_config c;
    char text[8] = "xxxxxxx";

    mxo_select_defaults(&c);
    ck_assert_uint_eq(
        mxo_select_failure_text(&c, &f, (mxo_text){text, sizeof text}),
        strlen("Mxfp4 linear layer is not implemented"));
    ck_assert_str_eq(text, "Mxfp4 l");
    ck_assert_uint_eq(mxo_select_failure_text(&c, &f, (mxo_text){NULL, 0}), 37);
}
END_TEST

/* The enumeration as Python prints it, by hand. */
START_TEST(a_conversion_that_is_missing_says_so)
{
    mxo_select_config c;
    mxo_sel_failure f;
    char text[2048];

    mxo_select_defaults(&c);
    c.version = MXO_SEL_2026_05;
    c.entry = MXO_SEL_ENTRY_deepseek_v4;
    ck_assert_ptr_null(
        mxo_select_conversion(&c, MXO_SEL_BACKEND_EMULATION, &f));
    (void)mxo_select_failure_text(&c, &f, (mxo_text){text, sizeof text});
    ck_assert_str_eq(text,
                     "Unsupported mxfp4_backend for Mxfp4MoEMethod: "
                     "Mxfp4MoeBackend.EMULATION. Expected TRTLLM, Triton, or "
                     "AITER backend.");
    c.version = MXO_SEL_2026_03;
    c.entry = MXO_SEL_ENTRY_mxfp4;
    ck_assert_ptr_null(mxo_select_conversion(&c, MXO_SEL_BACKEND_XPU, &f));
    (void)mxo_select_failure_text(&c, &f, (mxo_text){text, sizeof text});
    ck_assert_msg(
        strncmp(text,
                "Unsupported mxfp4_backend: Mxfp4MoeBackend.XPU: should be "
                "one of: [<Mxfp4MoeBackend.NONE: 'None'>, "
                "<Mxfp4MoeBackend.FLASHINFER_TRTLLM_MXFP4_MXFP8: "
                "'FLASHINFER_TRTLLM_MXFP4_MXFP8'>, ",
                180) == 0,
        "%s", text);
}
END_TEST

/* Python: min(max(next_power_of_2(int(n * 1.3)), 8), 64), by its values. */
START_TEST(tiles_are_those_of_double_arithmetic)
{
    mxo_sel_failure f;

    for (int64_t n = 0; n < 4096; n++) {
        const int64_t scaled = (int64_t)((double)n * 1.3);
        int want = 1;
        while (want < scaled) {
            want *= 2;
        }
        want = want < 8 ? 8 : want > 64 ? 64 : want;
        ck_assert_msg(mxo_select_tile_tokens(n * 3, 4, 12, &f) == want,
                      "%d tokens per expert", (int)n);
    }
    ck_assert_int_eq(mxo_select_tile_tokens(1, 1, 0, &f), 0);
    ck_assert_int_eq(f.error, MXO_SEL_ERROR_DIVISION);
}
END_TEST

START_TEST(transports_enlarge_hidden)
{
    static const struct {
        const char *name;
        int64_t hidden, want;
    } rows[] = {{"deepep_high_throughput", 2880, 3072},
                {"deepep_high_throughput", 3072, 3072},
                {"deepep_low_latency", 2880, 3072},
                {"deepep_low_latency", 1, 2048},
                {"nixl_ep", 5121, 6144},
                {"nixl_ep", 8192, 8192},
                {"pplx", 2881, 2881}};
    mxo_select_config c;
    mxo_sel_failure f;

    mxo_select_defaults(&c);
    c.parallel.dp_size = 2;
    c.parallel.use_ep = 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        c.parallel.all2all_backend = rows[i].name;
        c.hidden = rows[i].hidden;
        ck_assert_msg(mxo_select_comm_hidden(&c, &f) == rows[i].want, "%s %d",
                      rows[i].name, (int)rows[i].hidden);
    }
    c.parallel.all2all_backend = "nixl_ep";
    c.hidden = 8193;
    ck_assert_int_eq(mxo_select_comm_hidden(&c, &f), 8193);
    ck_assert_int_eq(f.error, MXO_SEL_ERROR_HIDDEN);
    c.version = MXO_SEL_2026_03;
    ck_assert_int_eq(mxo_select_comm_hidden(&c, &f), 8193);
    ck_assert_int_eq(f.error, MXO_SEL_ERROR_NONE);
}
END_TEST

START_TEST(warps_follow_the_chunk_size)
{
    static const struct {
        const char *text;
        int want;
    } rows[] = {{NULL, 4}, {"512", 4}, {"513", 8}, {"99999999999999", 8},
                {"-1", 4}, {"x", 0}};
    mxo_select_config c;
    mxo_sel_failure f;

    mxo_select_defaults(&c);
    c.version = MXO_SEL_2025_08;
    ck_assert_int_eq(mxo_select_num_warps(&c, &f), 8);
    c.parallel.use_ep = 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        c.env[MXO_SEL_ENV_VLLM_MOE_DP_CHUNK_SIZE] = rows[i].text;
        ck_assert_msg(mxo_select_num_warps(&c, &f) == rows[i].want, "%s",
                      rows[i].text == NULL ? "unset" : rows[i].text);
    }
    ck_assert_int_eq(f.error, MXO_SEL_ERROR_INTEGER);
}
END_TEST

static mxo_sel_backend old_choice(const char *mxfp8, const char *bf16,
                                  int use_ep, int eplb, mxo_sel_error want)
{
    mxo_select_config c;
    mxo_select_result r;

    mxo_select_defaults(&c);
    c.version = MXO_SEL_2025_08;
    c.env[MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8] = mxfp8;
    c.env[MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_MXFP4_BF16] = bf16;
    c.parallel.use_ep = use_ep;
    c.parallel.enable_eplb = eplb;
    mxo_select(&c, &r);
    ck_assert_int_eq(r.failure.error, want);
    return r.backend;
}

/* Seed page of quantization/mxfp4.py, apply(). */
START_TEST(before_the_oracle_two_variables_decide)
{
    const mxo_sel_error none = MXO_SEL_ERROR_NONE;

    ck_assert_int_eq(old_choice(NULL, NULL, 0, 0, none),
                     MXO_SEL_BACKEND_TRITON);
    ck_assert_int_eq(old_choice(NULL, NULL, 1, 0, none),
                     MXO_SEL_BACKEND_TRITON);
    ck_assert_int_eq(old_choice("1", "0", 0, 0, none),
                     MXO_SEL_BACKEND_FLASHINFER_TRTLLM_MXFP4_MXFP8);
    ck_assert_int_eq(old_choice("1", "1", 0, 0, none),
                     MXO_SEL_BACKEND_FLASHINFER_TRTLLM_MXFP4_BF16);
    ck_assert_int_eq(old_choice("0", "1", 0, 0, none),
                     MXO_SEL_BACKEND_FLASHINFER_TRTLLM_MXFP4_BF16);
    (void)old_choice("1", NULL, 1, 0, MXO_SEL_ERROR_EP);
    (void)old_choice(NULL, "1", 1, 0, MXO_SEL_ERROR_EP);
    (void)old_choice(NULL, NULL, 0, 1, MXO_SEL_ERROR_EPLB);
    (void)old_choice("x", NULL, 0, 1, MXO_SEL_ERROR_INTEGER);
}
END_TEST

START_TEST(impossible_configurations_are_refused)
{
    mxo_select_config good;
    char why[256];
    const mxo_text text = {why, sizeof why};

    mxo_select_defaults(&good);
    ck_assert_int_eq(mxo_select_check(&good, text), MXO_OK);
#define REFUSED(field, value)                                        \
    do {                                                             \
        mxo_select_config bad = good;                                \
        bad.field = value;                                           \
        why[0] = '\0';                                               \
        ck_assert_msg(mxo_select_check(&bad, text) == MXO_E_PARAM && \
                          why[0] != '\0',                            \
                      #field " = " #value);                          \
    } while (0)
    REFUSED(hidden, -1);
    REFUSED(hidden, MXO_SEL_SIZE_MAX + 1);
    REFUSED(intermediate, INT64_MIN);
    REFUSED(num_experts, -1);
    REFUSED(num_local_experts, MXO_SEL_SIZE_MAX + 1);
    REFUSED(intermediate_unpadded, -1);
    REFUSED(major, 100);
    REFUSED(minor, 10);
    REFUSED(minor, -1);
    REFUSED(version, MXO_SEL_N_VERSIONS);
    REFUSED(platform, (mxo_sel_platform)-1);
    REFUSED(activation, MXO_SEL_N_ACTIVATIONS);
    REFUSED(parallel.tp_size, 0);
    REFUSED(parallel.dp_size, INT64_MAX);
    REFUSED(parallel.ep_rank, -1);
    REFUSED(parallel.all2all_backend, NULL);
    REFUSED(moe_backend, NULL);
    good.platform = MXO_SEL_PLATFORM_rocm;
    REFUSED(gfx, "gfx9");
    good.version = MXO_SEL_2026_03;
    REFUSED(routing, MXO_SEL_ROUTING_DeepseekV4);
    REFUSED(entry, MXO_SEL_ENTRY_deepseek_v4);
#undef REFUSED
}
END_TEST

START_TEST(words_and_numbers_are_inverse)
{
    for (int kind = 0; kind <= MXO_SEL_WORDS_SOURCE; kind++) {
        int n = 0;
        for (int i = 0; i < 32; i++) {
            const char *word = mxo_select_word((mxo_sel_words)kind, i);
            n += word != NULL;
            ck_assert_msg(word == NULL ||
                              mxo_select_find((mxo_sel_words)kind, word) == i,
                          "kind %d, %d", kind, i);
        }
        ck_assert_msg(n > 1, "kind %d", kind);
        ck_assert_int_eq(mxo_select_find((mxo_sel_words)kind, "frob"), -1);
        ck_assert_int_eq(mxo_select_find((mxo_sel_words)kind, ""), -1);
    }
    ck_assert_ptr_null(mxo_select_word(MXO_SEL_WORDS_KEY, -1));
}
END_TEST

START_TEST(conversions_have_words_and_lines)
{
    const char *id;
    int n = 0;

    while ((id = mxo_select_conversion_at(n)) != NULL) {
        ck_assert_msg(strncmp(id, "convert/", 8) == 0, "%s", id);
        ck_assert_msg(strlen(mxo_select_conversion_text(id)) > 10, "%s", id);
        n++;
    }
    ck_assert_int_gt(n, 15);
    ck_assert_ptr_null(mxo_select_conversion_at(-1));
    ck_assert_ptr_null(mxo_select_conversion_text("convert/frob"));
}
END_TEST

Suite *suite_select(void);
Suite *suite_select(void)
{
    Suite *s = suite_create("select");
    TCase *t = tcase_create("select");

    tcase_add_test(t, every_published_case_is_answered);
    tcase_add_test(t, integers_are_parsed_as_python_does);
    tcase_add_test(t, aiter_switches_are_words);
    tcase_add_test(t, gfx_names_have_capabilities);
    tcase_add_test(t, strings_are_quoted_as_python_does);
    tcase_add_test(t, every_template_can_be_written);
    tcase_add_test(t, a_short_buffer_holds_the_beginning);
    tcase_add_test(t, a_conversion_that_is_missing_says_so);
    tcase_add_test(t, tiles_are_those_of_double_arithmetic);
    tcase_add_test(t, transports_enlarge_hidden);
    tcase_add_test(t, warps_follow_the_chunk_size);
    tcase_add_test(t, before_the_oracle_two_variables_decide);
    tcase_add_test(t, impossible_configurations_are_refused);
    tcase_add_test(t, words_and_numbers_are_inverse);
    tcase_add_test(t, conversions_have_words_and_lines);
    suite_add_tcase(s, t);
    return s;
}
