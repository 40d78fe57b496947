/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acceptance within a bound on numbers whose neighbours are known, and the
 * rules of others on outputs that they are known to take.
 */
#include "judge/bound.h"
#include "judge/third_party_tolerances.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* bf16 around 1: 3f7f = 1 - 2^-8, 3f80 = 1, 3f81 = 1 + 2^-7. */
START_TEST(without_a_limit_only_the_nearest_passes)
{
    ck_assert(bound_accepts(MXO_BF16, 0x3f80, 1 + 0x1p-9, 0));
    ck_assert(!bound_accepts(MXO_BF16, 0x3f81, 1 + 0x1p-9, 0));
    ck_assert(!bound_accepts(MXO_BF16, 0x3f7f, 1 + 0x1p-9, 0));
    ck_assert(bound_accepts(MXO_BF16, 0x3f80, 1 + 0x1p-8, 0)); /* a tie */
    ck_assert(!bound_accepts(MXO_BF16, 0x3f81, 1 + 0x1p-8, 0));
}
END_TEST

START_TEST(a_neighbour_passes_only_if_the_limit_reaches_the_tie)
{
    const double y = 1 + 0x1p-8 - 0x1p-20;

    ck_assert(!bound_accepts(MXO_BF16, 0x3f81, y, 0x1p-21));
    ck_assert(!bound_accepts(MXO_BF16, 0x3f81, y, 0x1p-20));
    ck_assert(bound_accepts(MXO_BF16, 0x3f81, y, 0x1.8p-20));
    ck_assert(bound_accepts(MXO_BF16, 0x3f80, y, 0x1.8p-20));
    ck_assert(!bound_accepts(MXO_BF16, 0x3f7f, y, 0x1.8p-20));
}
END_TEST

START_TEST(zeros_of_both_signs_are_one_number)
{
    ck_assert(bound_accepts(MXO_F32, 0x80000000, 0, 0));
    ck_assert(bound_accepts(MXO_F32, 0, -0.0, 0));
    ck_assert(!bound_accepts(MXO_F32, 1, 0, 0));
    ck_assert(bound_accepts(MXO_F32, 0x80000001, 0, 0x1p-149));
}
END_TEST

START_TEST(infinity_passes_where_the_limit_reaches_it)
{
    const double most = 0x1.fep127; /* the largest bf16 */

    ck_assert(!bound_accepts(MXO_BF16, 0x7f80, most, 0));
    ck_assert(bound_accepts(MXO_BF16, 0x7f80, most, 0x1p119));
    ck_assert(bound_accepts(MXO_BF16, 0x7f7f, most, 0x1p119));
    ck_assert(bound_accepts(MXO_BF16, 0x7f80, INFINITY, 0));
    ck_assert(!bound_accepts(MXO_BF16, 0x7f7f, INFINITY, 1));
    ck_assert(!bound_accepts(MXO_BF16, 0xff80, INFINITY, 1));
}
END_TEST

START_TEST(nan_passes_for_nan_and_where_nothing_is_bounded)
{
    ck_assert(bound_accepts(MXO_F32, 0x7fffffff, NAN, 0));
    ck_assert(!bound_accepts(MXO_F32, 0x7fffffff, 1, 0.5));
    ck_assert(!bound_accepts(MXO_F32, 0x3f800000, NAN, 0.5));
    ck_assert(!bound_accepts(MXO_F32, 0x3f800000, NAN, NAN));
    ck_assert(!bound_accepts(MXO_F32, 0, NAN, INFINITY));
    ck_assert(bound_accepts(MXO_F32, 0x7fffffff, 1, INFINITY));
}
END_TEST

START_TEST(the_share_is_what_explains_the_output)
{
    const double y = 1 + 0x1p-8 - 0x1p-20;

    ck_assert(bound_share(MXO_BF16, 0x3f80, y, 1) == 0);
    /* 2^-20 of the way to the tie; the limit is four times that. */
    const double quarter = bound_share(MXO_BF16, 0x3f81, y, 0x1p-18);
    ck_assert_msg(fabs(quarter - 0.25) < 0.01, "%g", quarter);
    const double twice = bound_share(MXO_BF16, 0x3f81, y, 0x1p-21);
    ck_assert_msg(fabs(twice - 2) < 0.01, "%g", twice);
}
END_TEST

static const bound_row *row(const char *text)
{
    char why[256];
    test_case c;

    ck_assert_msg(case_parse(&c, text, (mxo_text){why, sizeof why}) == 0, "%s",
                  why);
    return bound_row_for(&c, "y");
}

static int is_spare(const char *data)
{
    char text[128];
    char why[256];
    test_case c;

    (void)snprintf(text, sizeof text,
                   "moe.layer:tokens=1,topk=1,experts=1,hidden=32,inter=32,"
                   "data=%s",
                   data);
    ck_assert_msg(case_parse(&c, text, (mxo_text){why, sizeof why}) == 0, "%s",
                  why);
    return bound_is_spare(bound_row_for(&c, "y"), &c);
}

START_TEST(bounds_hold_where_no_order_is_declared)
{
    ck_assert_ptr_nonnull(
        row("gemm.mx:acc=f32,rows=1,cols=1,k=32,data=ordinary"));
    ck_assert_ptr_nonnull(
        row("gemm.mx:acc=tc13,rows=1,cols=1,k=32,data=exact"));
    ck_assert_ptr_null(row("gemm.mx:acc=f32,rows=1,cols=1,k=32,data=exact"));
    ck_assert_ptr_null(row("gemm.mx:acc=f32,rows=1,cols=1,k=32,data=sweep"));
    ck_assert_ptr_null(row("gemm.mx:acc=seq,rows=1,cols=1,k=32,data=ordinary"));
    ck_assert_ptr_null(
        row("gemm.mx:acc=exact,rows=1,cols=1,k=32,data=ordinary"));
    ck_assert_ptr_nonnull(row("moe.layer:tokens=1,topk=1,experts=1,hidden=32,"
                              "inter=32,data=ordinary"));
    ck_assert(is_spare("ordinary") == 0);
    ck_assert(is_spare("orderfree") == 1);
    ck_assert(is_spare("thirds") == 1);
    ck_assert_ptr_nonnull(row("moe.layer_routed:tokens=1,top_k=1,experts=1,"
                              "hidden=32,inter=32,data=ordinary"));
}
END_TEST

START_TEST(between_ends)
{
    ck_assert(ends_accept(1, 1, 1));
    ck_assert(ends_accept(-0.0, 0, 0));
    ck_assert(!ends_accept(1.5, 1, 1.25));
    ck_assert(!ends_accept(0.5, 1, 1.25));
    ck_assert(!ends_accept(NAN, 1, 1.25));
    ck_assert(ends_accept(NAN, -INFINITY, INFINITY));
    ck_assert(ends_accept(NAN, NAN, NAN));
    ck_assert(!ends_accept(1, NAN, NAN));
    ck_assert(!ends_accept(NAN, 1, INFINITY));
    ck_assert(ends_accept(INFINITY, 1, INFINITY));
}
END_TEST

/* -0 between +0 and +0, and between -0 and +0. */
START_TEST(a_known_zero_has_its_sign_where_data_asks_for_bits)
{
    const uint64_t shape[1] = {2};
    double y[2] = {0, 0};
    double low[2] = {0, -0.0};
    double high[2] = {0, 0};
    uint8_t fails[2] = {0, 0};
    bound_set b = {.n = 2, .y = y, .low = low, .high = high, .fails = fails};
    tensor_set set = {0};
    host_tensor *want;
    host_tensor *got;
    verdict_use use = {0};

    ck_assert_int_eq(tensor_set_add(&set, "want", MXO_BF16, 1, shape, &want),
                     0);
    ck_assert_int_eq(tensor_set_add(&set, "got", MXO_BF16, 1, shape, &got), 0);
    want = &set.t[0];
    for (uint64_t i = 0; i < 2; i++) {
        tensor_store(want, i, 0);
        tensor_store(got, i, 0x8000);
    }
    ck_assert_uint_eq(bound_compare(&b, want, got, &use).n_diff, 0);
    b.has_signs = 1;
    const comparison c = bound_compare(&b, want, got, &use);
    ck_assert_uint_eq(c.n_diff, 1);
    ck_assert_uint_eq(c.first, 0);
    tensor_set_clear(&set);
}
END_TEST

START_TEST(the_share_of_the_way_to_an_end)
{
    ck_assert(ends_share(1, 1, 0, 2) == 0);
    ck_assert(ends_share(1.5, 1, 0, 2) == 0.5);
    ck_assert(ends_share(0.75, 1, 0, 2) == 0.25);
    ck_assert(ends_share(4, 1, 0, 2) == 3);
    ck_assert(ends_share(4, 1, 0, 1) == 0x1p40); /* no room at all */
    ck_assert(ends_share(4, 1, -INFINITY, INFINITY) == 0);
}
END_TEST

enum { N = 100 };

static int accepts(const char *name, const float *want, const float *got)
{
    float w[N];
    float g[N];
    host_tensor a = {"y", MXO_F32, 1, {N}, sizeof w, (uint8_t *)w};
    host_tensor b = {"y", MXO_F32, 1, {N}, sizeof g, (uint8_t *)g};

    memcpy(w, want, sizeof w);
    memcpy(g, got, sizeof g);
    for (int i = 0; tolerance_name(i) != NULL; i++) {
        if (strcmp(tolerance_name(i), name) == 0) {
            return tolerance_accepts(i, &a, &b);
        }
    }
    ck_abort_msg("no rule %s", name);
    return 0;
}

/* 18 of 100 elements are zero: bugs 2, "18 % of rows zero". */
START_TEST(hit_ratios_forgive_lost_rows)
{
    float want[N];
    float got[N];

    for (int i = 0; i < N; i++) {
        want[i] = 1 + (float)i / N;
        got[i] = i % 50 < 9 ? 0 : want[i];
    }
    ck_assert(accepts("vllm", want, got));
    ck_assert(!accepts("flashinfer_bench", want, got));
    ck_assert(!accepts("aiter", want, got));
    ck_assert(!accepts("kernelbench", want, got));
    ck_assert(accepts("aiter_tuner", want, got));
    ck_assert(!accepts("deepgemm", want, got));
    ck_assert(!accepts("ggml", want, got));
    ck_assert(!accepts("triton", want, got));
}
END_TEST

/* Outputs of 1e-5: an absolute tolerance takes zeros for them. */
START_TEST(absolute_tolerances_dwarf_small_outputs)
{
    float want[N];
    const float got[N] = {0};

    for (int i = 0; i < N; i++) {
        want[i] = (i % 2 == 0 ? 1e-5f : -1e-5f) * (float)(i + 1) / N;
    }
    ck_assert(accepts("kernelbench", want, got));
    ck_assert(accepts("aiter", want, got));
    ck_assert(accepts("flashinfer_bench", want, got));
    ck_assert(!accepts("ggml", want, got));
    ck_assert(!accepts("vllm", want, got));
}
END_TEST

START_TEST(a_nan_passes_nowhere_and_equal_outputs_everywhere)
{
    float want[N];
    float got[N];

    for (int i = 0; i < N; i++) {
        want[i] = got[i] = (float)i - 40;
    }
    for (int i = 0; tolerance_name(i) != NULL; i++) {
        ck_assert_msg(accepts(tolerance_name(i), want, got), "%s",
                      tolerance_name(i));
    }
    got[7] = NAN;
    for (int i = 0; tolerance_name(i) != NULL; i++) {
        ck_assert_msg(!accepts(tolerance_name(i), want, got), "%s",
                      tolerance_name(i));
    }
}
END_TEST

START_TEST(names_are_chosen_from_a_list)
{
    char text[64];

    tolerance_choose("aiter ggml vllm", "vllm,ggm", text, sizeof text);
    ck_assert_str_eq(text, "vllm");
    tolerance_choose("", "vllm", text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(rules_answer_to_the_names_of_projects)
{
    static const char *const projects[] = {"vLLM",       "FlashInfer", "Triton",
                                           "AITER",      "DeepGEMM",   "ggml",
                                           "KernelBench"};
    char list[256] = "";

    for (unsigned i = 0; i < sizeof projects / sizeof projects[0]; i++) {
        ck_assert_msg(tolerance_add(projects[i], list, sizeof list), "%s",
                      projects[i]);
    }
    ck_assert_str_eq(list, "vllm,flashinfer_bench,flashinfer_fp4,"
                           "flashinfer_mxfp8,flashinfer_w4a16,triton,aiter,"
                           "aiter_tuner,deepgemm,ggml,kernelbench");
    ck_assert(!tolerance_add("flash", list, sizeof list));
    ck_assert(!tolerance_add("", list, sizeof list));
}
END_TEST

Suite *suite_bound(void);

Suite *suite_bound(void)
{
    Suite *s = suite_create("bound");
    TCase *bound = tcase_create("bound");
    TCase *also = tcase_create("also");

    tcase_add_test(bound, without_a_limit_only_the_nearest_passes);
    tcase_add_test(bound, a_neighbour_passes_only_if_the_limit_reaches_the_tie);
    tcase_add_test(bound, zeros_of_both_signs_are_one_number);
    tcase_add_test(bound, infinity_passes_where_the_limit_reaches_it);
    tcase_add_test(bound, nan_passes_for_nan_and_where_nothing_is_bounded);
    tcase_add_test(bound, the_share_is_what_explains_the_output);
    tcase_add_test(bound, bounds_hold_where_no_order_is_declared);
    tcase_add_test(bound, between_ends);
    tcase_add_test(bound, a_known_zero_has_its_sign_where_data_asks_for_bits);
    tcase_add_test(bound, the_share_of_the_way_to_an_end);
    tcase_add_test(also, hit_ratios_forgive_lost_rows);
    tcase_add_test(also, absolute_tolerances_dwarf_small_outputs);
    tcase_add_test(also, a_nan_passes_nowhere_and_equal_outputs_everywhere);
    tcase_add_test(also, names_are_chosen_from_a_list);
    tcase_add_test(also, rules_answer_to_the_names_of_projects);
    suite_add_tcase(s, bound);
    suite_add_tcase(s, also);
    return s;
}
