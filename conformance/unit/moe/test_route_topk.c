/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.topk: rows small enough to be routed by hand, and every dialect
 * against the formula of its documentation page in binary64.
 */
#include "unit/emu_call.h"

#include <mxoracle/route.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t ids[64];
static float weights[64];

/* One or more rows of f32 logits; results in ids and weights. */
static mxo_status route(const char *params, const float *logits, int tokens,
                        int experts, const float *bias)
{
    emu_call c;

    emu_begin(&c, "route.topk", params);
    emu_in(&c, "logits", MXO_F32, logits, 2, tokens, experts);
    if (bias != NULL) {
        emu_in(&c, "bias", MXO_F32, bias, 1, experts);
    }
    const mxo_status status = emu_run(&c);

    if (status == MXO_OK) {
        memcpy(ids, emu_bytes(&c, "topk_ids"),
               (size_t)emu_out(&c, "topk_ids")->n_bytes);
        memcpy(weights, emu_bytes(&c, "topk_weights"),
               (size_t)emu_out(&c, "topk_weights")->n_bytes);
    }
    emu_end(&c);
    return status;
}

static void refuses(const char *params, int experts, const char *word)
{
    const float row[8] = {0};
    emu_call c;

    emu_begin(&c, "route.topk", params);
    emu_in(&c, "logits", MXO_F32, row, 2, 1, experts);
    emu_refuses(&c, MXO_E_PARAM, word);
}

START_TEST(ties_go_to_the_smaller_expert)
{
    const float row[] = {0.5f, 2, 2, -1};

    ck_assert_int_eq(
        route("from=f32,dialect=topk_softmax,top_k=2", row, 1, 4, NULL),
        MXO_OK);
    ck_assert_int_eq(ids[0], 1);
    ck_assert_int_eq(ids[1], 2);
    ck_assert(weights[0] == 0.5f);
    ck_assert(weights[1] == 0.5f);
}
END_TEST

START_TEST(negative_rows_have_a_maximum)
{
    const float row[] = {-3, -2, -7, -2.5f};

    ck_assert_int_eq(
        route("from=f32,dialect=vllm_sigmoid,top_k=2", row, 1, 4, NULL),
        MXO_OK);
    ck_assert_int_eq(ids[0], 1);
    ck_assert_int_eq(ids[1], 3);
}
END_TEST

START_TEST(bits_rank_nan_above_infinity_above_zeros)
{
    const float row[] = {-0.0f, -NAN, 0.0f, -INFINITY, INFINITY, NAN};
    static const int32_t want[] = {5, 4, 2, 0, 3, 1};
    float logits[6];

    memcpy(logits, row, sizeof row);
    logits[1] = copysignf(NAN, -1);
    logits[5] = copysignf(NAN, 1);
    ck_assert_int_eq(
        route("from=f32,dialect=trtllm_topk,top_k=6", logits, 1, 6, NULL),
        MXO_OK);
    ck_assert_mem_eq(ids, want, sizeof want);
}
END_TEST

START_TEST(vllm_gives_zeros_for_a_row_with_nan)
{
    const float row[] = {1, NAN, 3, 2};

    ck_assert_int_eq(route("from=f32,dialect=vllm_softmax,top_k=2,"
                           "renormalize=1",
                           row, 1, 4, NULL),
                     MXO_OK);
    ck_assert_int_eq(ids[0], 0);
    ck_assert_int_eq(ids[1], 1);
    ck_assert(weights[0] == 0);
    ck_assert(weights[1] == 0);
}
END_TEST

/* Choices below -10000 are chosen again (warp kernel); below -1 the block
   kernel, here for 5 experts, falls back to expert 0. */
START_TEST(vllm_blanks_with_minus_10000)
{
    const float row[8] = {0};
    const float low[8] = {-20000, -20000, 1,      -30000,
                          -20000, -20000, -20000, -20000};

    ck_assert_int_eq(
        route("from=f32,dialect=vllm_sigmoid,top_k=3,bias=f32", row, 1, 8, low),
        MXO_OK);
    ck_assert_int_eq(ids[0], 2);
    ck_assert_int_eq(ids[1], 2);
    ck_assert_int_eq(ids[2], 2);
    ck_assert_int_eq(
        route("from=f32,dialect=vllm_sigmoid,top_k=3,bias=f32", row, 1, 5, low),
        MXO_OK);
    ck_assert_int_eq(ids[0], 2);
    ck_assert_int_eq(ids[1], 0);
    ck_assert_int_eq(ids[2], 0);
}
END_TEST

/*
 * Logits 1 and 0.5 in bf16: sigmoids 187/256 and 159/256, their sum 346/256,
 * the quotients 69/128 and 235/512; times 2.5 they are 172.5/128 and
 * 146.875/128, which round to 172/128 and 147/128.
 */
START_TEST(torch_rounds_every_step_to_the_type_of_the_logits)
{
    static const uint16_t row[] = {0x3f80, 0x3f00};
    static const float want[] = {1.34375f, 1.1484375f};
    emu_call c;

    emu_begin(&c, "route.topk",
              "dialect=vllm_torch_sigmoid,top_k=2,renormalize=1,"
              "routed_scaling_factor=2.5");
    emu_in(&c, "logits", MXO_BF16, row, 2, 1, 2);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_mem_eq(emu_bytes(&c, "topk_weights"), want, sizeof want);
    emu_end(&c);
}
END_TEST

/* Scores 1/2 each: in bf16 the bias 2^-9 is lost and both tie. */
START_TEST(torch_promotes_the_bias)
{
    static const uint16_t row[] = {0, 0};
    static const uint16_t bf16[] = {0, 0x3b00};
    static const float f32[] = {0, 0.001953125f};

    for (int32_t wide = 0; wide < 2; wide++) {
        emu_call c;

        emu_begin(&c, "route.topk",
                  wide ? "dialect=vllm_torch_sigmoid,top_k=1,bias=f32"
                       : "dialect=vllm_torch_sigmoid,top_k=1,bias=bf16");
        emu_in(&c, "logits", MXO_BF16, row, 2, 1, 2);
        emu_in(&c, "bias", wide ? MXO_F32 : MXO_BF16,
               wide ? (const void *)f32 : bf16, 1, 2);
        ck_assert_int_eq(emu_run(&c), MXO_OK);
        ck_assert_mem_eq(emu_bytes(&c, "topk_ids"), &wide, 4);
        emu_end(&c);
    }
}
END_TEST

/* 1 + 2^-9 is no bf16: with groups it ties with 1, without it wins. */
START_TEST(trtllm_rounds_the_bias_of_groups)
{
    const float row[8] = {0};
    const float bias[8] = {1, 1.001953125f, 0, 0, 0.5f, 0, 0, 0};

    ck_assert_int_eq(route("from=f32,dialect=trtllm_deepseek_v3,top_k=1,"
                           "bias=f32",
                           row, 1, 8, bias),
                     MXO_OK);
    ck_assert_int_eq(ids[0], 1);
    ck_assert_int_eq(route("from=f32,dialect=trtllm_deepseek_v3,top_k=1,"
                           "bias=f32,n_group=2,topk_group=1",
                           row, 1, 8, bias),
                     MXO_OK);
    ck_assert_int_eq(ids[0], 0);
}
END_TEST

/* Group 1 has the best expert, group 0 the best two. */
START_TEST(groups_are_chosen_by_their_two_best)
{
    const float row[] = {2, 2, 0, 0, 3, -9, 0, 0};
    const float none[8] = {0};

    ck_assert_int_eq(route("from=f32,dialect=sigmoid_topk,top_k=2,bias=f32,"
                           "n_group=2,topk_group=1",
                           row, 1, 8, none),
                     MXO_OK);
    ck_assert_int_eq(ids[0], 0);
    ck_assert_int_eq(ids[1], 1);
    ck_assert_int_eq(route("from=f32,dialect=sigmoid_topk,top_k=2,n_group=2,"
                           "topk_group=1",
                           row, 1, 8, NULL),
                     MXO_OK);
    ck_assert_int_eq(ids[0], 4);
}
END_TEST

START_TEST(the_general_kernel_gives_up_evenly)
{
    float row[64];
    const float none[64] = {0};

    for (int e = 0; e < 64; e++) {
        row[e] = e % 16 < 1 ? 1 : -INFINITY;
    }
    ck_assert_int_eq(route("from=f32,dialect=vllm_fused_sigmoid,top_k=9,"
                           "bias=f32,n_group=4,topk_group=1",
                           row, 1, 64, none),
                     MXO_OK);
    for (int k = 0; k < 9; k++) {
        ck_assert_int_eq(ids[k], k);
        ck_assert(weights[k] == 1.0f / 9);
    }
}
END_TEST

START_TEST(results_of_triton_are_sorted_by_expert)
{
    const float row[] = {1, 9, 3, 9.5f};

    ck_assert_int_eq(route("from=f32,dialect=triton35_topk_softmax,top_k=3",
                           row, 1, 4, NULL),
                     MXO_OK);
    ck_assert_int_eq(ids[0], 1);
    ck_assert_int_eq(ids[1], 2);
    ck_assert_int_eq(ids[2], 3);
    ck_assert(weights[2] > weights[0]);
    ck_assert(weights[0] > weights[1]);
}
END_TEST

START_TEST(shared_experts_come_last_with_weight_one)
{
    const float row[8] = {1, 2, 3, 4, 5, 6, 7, 8};

    ck_assert_int_eq(route("from=f32,dialect=trtllm_deepseek_v3,top_k=2,"
                           "n_group=2,topk_group=1,n_shared=2",
                           row, 1, 8, NULL),
                     MXO_OK);
    ck_assert_int_eq(ids[0], 7);
    ck_assert_int_eq(ids[2], 8);
    ck_assert_int_eq(ids[3], 9);
    ck_assert(weights[3] == 1);
}
END_TEST

START_TEST(packed_results_hold_id_and_weight)
{
    const float row[] = {0, 0, 8, 0};
    int32_t packed[2];
    emu_call c;

    emu_begin(&c, "route.topk",
              "from=f32,to=bf16,dialect=trtllm_topk,top_k=2,also=packed");
    emu_in(&c, "logits", MXO_F32, row, 2, 1, 4);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    memcpy(packed, emu_bytes(&c, "packed"), sizeof packed);
    ck_assert_int_eq(packed[0], 0x24100);
    ck_assert_int_eq(packed[1], 0);
    emu_end(&c);
}
END_TEST

START_TEST(tables_replace_the_choice)
{
    const float rows[] = {5, 0, 0, 0, 0, 0, 0, 5};
    const int32_t tokens[] = {1, 0};
    const int32_t table[] = {3, 1, 2, 2};
    emu_call c;

    emu_begin(&c, "route.topk",
              "from=f32,dialect=vllm_softplus_sqrt,top_k=2,table=1,"
              "renormalize=1,routed_scaling_factor=2");
    emu_in(&c, "logits", MXO_F32, rows, 2, 2, 4);
    emu_in(&c, "input_ids", MXO_I32, tokens, 1, 2);
    emu_in(&c, "tid2eid", MXO_I32, table, 2, 2, 2);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    memcpy(ids, emu_bytes(&c, "topk_ids"), 16);
    memcpy(weights, emu_bytes(&c, "topk_weights"), 16);
    ck_assert_int_eq(ids[0], 2);
    ck_assert_int_eq(ids[1], 2);
    ck_assert_int_eq(ids[2], 3);
    ck_assert_int_eq(ids[3], 1);
    ck_assert(weights[0] == 1);
    ck_assert(weights[1] == 1);
    ck_assert(weights[2] > weights[3]);
    emu_end(&c);
}
END_TEST

START_TEST(no_token_is_no_work)
{
    const float row[4] = {0};

    ck_assert_int_eq(route("from=f32", row, 0, 4, NULL), MXO_OK);
}
END_TEST

START_TEST(bad_routers_are_refused)
{
    refuses("from=f32,top_k=9", 8, "top_k");
    refuses("from=f32,top_k=0", 8, "top_k");
    refuses("from=f32,dialect=topk_softmax,n_group=2", 8, "groups");
    refuses("from=f32,dialect=sigmoid_topk,n_group=3", 8, "divide");
    refuses("from=f32,dialect=sigmoid_topk,n_group=4,topk_group=5", 8,
            "topk_group");
    refuses("from=f32,dialect=sigmoid_topk,n_group=4", 8, "groups that stay");
    refuses("from=f32,dialect=trtllm_llama4,top_k=2", 8, "one expert");
    refuses("from=f32,dialect=trtllm_topk,routed_scaling_factor=2", 8,
            "scaling factor");
    refuses("from=f32,dialect=sigmoid_topk,routed_scaling_factor=nan", 8,
            "finite");
    refuses("from=f32,also=packed", 8, "bf16");
    refuses("from=f32,n_shared=1", 8, "shared");
}
END_TEST

START_TEST(a_bias_with_nan_is_refused)
{
    const float row[4] = {0};
    const float bias[4] = {0, NAN, 0, 0};
    emu_call c;

    emu_begin(&c, "route.topk", "from=f32,top_k=1,bias=f32");
    emu_in(&c, "logits", MXO_F32, row, 2, 1, 4);
    emu_in(&c, "bias", MXO_F32, bias, 1, 4);
    emu_refuses(&c, MXO_E_PARAM, "NaN");
}
END_TEST

/* tokens * top_k must fit 31 bits; the shape alone is looked at. */
START_TEST(too_many_pairs_are_refused)
{
    static const float none[1];
    emu_call c;

    emu_begin(&c, "route.topk", "from=f32,top_k=4");
    emu_in(&c, "logits", MXO_F32, none, 2, 1 << 30, 4);
    emu_refuses(&c, MXO_E_SHAPE, "31 bits");
}
END_TEST

/* The page's formulas in binary64: key and weight of one expert. */
static double score64(const char *dialect, const float *x, int n, int e)
{
    double sum = 0;

    if (strstr(dialect, "softmax_topk") || strstr(dialect, "vllm_softmax") ||
        strstr(dialect, "torch_softmax") || strstr(dialect, "default")) {
        for (int i = 0; i < n; i++) {
            sum += exp((double)x[i]);
        }
        return exp((double)x[e]) / sum;
    }
    if (strstr(dialect, "softplus")) {
        return sqrt(log1p(exp((double)x[e])));
    }
    if (strcmp(dialect, "trtllm_topk_sigmoid") != 0 &&
        (strstr(dialect, "sigmoid") || strstr(dialect, "deepseek") ||
         strstr(dialect, "minimax"))) {
        return 1 / (1 + exp(-(double)x[e]));
    }
    return (double)x[e];
}

/* Weights of the k scores s, whose sum is sum: renormalize=1, factor c. */
static double weight64(const char *dialect, const double *s, int k, int i,
                       double c)
{
    double sum = 0;
    double soft = 0;

    for (int j = 0; j < k; j++) {
        sum += s[j];
        soft += exp(s[j] - s[i]);
    }
    if (strstr(dialect, "topk_softmax") || strstr(dialect, "renormalize") ||
        strstr(dialect, "cpu")) {
        return 1 / soft;
    }
    if (strcmp(dialect, "trtllm_topk_sigmoid") == 0) {
        return 1 / (1 + exp(-s[i]));
    }
    if (strstr(dialect, "default") || strcmp(dialect, "trtllm_topk") == 0 ||
        strcmp(dialect, "trtllm_sigmoid") == 0 || strstr(dialect, "triton")) {
        return s[i];
    }
    return c * s[i] / sum;
}

static void check_dialect(const char *dialect, double c)
{
    enum { N = 32, K = 3 };
    char params[160];
    float x[N];
    double s[K];

    for (int e = 0; e < N; e++) {
        x[e] = (float)((e * 7 % N) * 0.21 - 2.3); /* distinct */
    }
    (void)snprintf(params, sizeof params,
                   "from=f32,dialect=%s,top_k=%d,renormalize=1,"
                   "routed_scaling_factor=%g",
                   dialect, K, c);
    ck_assert_msg(route(params, x, 1, N, NULL) == MXO_OK, "%s", dialect);
    for (int k = 0; k < K; k++) {
        s[k] = score64(dialect, x, N, ids[k]);
        for (int e = 0; e < N; e++) {
            int chosen = 0;
            for (int j = 0; j < K; j++) {
                chosen |= ids[j] == e;
            }
            ck_assert_msg(chosen || x[e] < x[ids[k]],
                          "%s: expert %d was left out", dialect, e);
        }
    }
    for (int k = 0; k < K; k++) {
        const double want = weight64(dialect, s, K, k, c);
        ck_assert_msg(fabs((double)weights[k] - want) <= 4e-7 * want,
                      "%s: weight %d is %.9g, not %.9g", dialect, k,
                      (double)weights[k], want);
    }
}

START_TEST(dialects_follow_their_formula)
{
    static const char *const scaled[] = {
        "softmax_topk",       "sigmoid_topk",       "trtllm_deepseek_v3",
        "trtllm_minimax2",    "vllm_softmax",       "vllm_sigmoid",
        "vllm_softplus_sqrt", "vllm_fused_sigmoid", "vllm_torch_softmax",
        "vllm_torch_sigmoid"};
    /* clang-format off */
    static const char *const plain[] = {
        "topk_softmax",          "trtllm_default",        "trtllm_renormalize",
        "trtllm_topk",           "trtllm_sigmoid",        "trtllm_topk_sigmoid",
        "triton35_topk_softmax", "triton35_softmax_topk", "vllm_cpu",
        "triton37_topk_softmax", "triton37_softmax_topk",
        "trtllm_sigmoid_renorm", "trtllm_renormalize_naive"};
    /* clang-format on */

    for (unsigned i = 0; i < sizeof scaled / sizeof scaled[0]; i++) {
        check_dialect(scaled[i], 2.5);
    }
    for (unsigned i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        check_dialect(plain[i], 1);
    }
}
END_TEST

Suite *suite_route_topk(void);

Suite *suite_route_topk(void)
{
    Suite *s = suite_create("route_topk");
    TCase *choice = tcase_create("choice");
    TCase *extras = tcase_create("extras");
    TCase *refusals = tcase_create("refusals");

    tcase_add_test(choice, ties_go_to_the_smaller_expert);
    tcase_add_test(choice, negative_rows_have_a_maximum);
    tcase_add_test(choice, bits_rank_nan_above_infinity_above_zeros);
    tcase_add_test(choice, vllm_gives_zeros_for_a_row_with_nan);
    tcase_add_test(choice, vllm_blanks_with_minus_10000);
    tcase_add_test(choice, torch_rounds_every_step_to_the_type_of_the_logits);
    tcase_add_test(choice, torch_promotes_the_bias);
    tcase_add_test(choice, trtllm_rounds_the_bias_of_groups);
    tcase_add_test(choice, groups_are_chosen_by_their_two_best);
    tcase_add_test(choice, the_general_kernel_gives_up_evenly);
    tcase_add_test(choice, dialects_follow_their_formula);
    tcase_add_test(extras, results_of_triton_are_sorted_by_expert);
    tcase_add_test(extras, shared_experts_come_last_with_weight_one);
    tcase_add_test(extras, packed_results_hold_id_and_weight);
    tcase_add_test(extras, tables_replace_the_choice);
    tcase_add_test(extras, no_token_is_no_work);
    tcase_add_test(refusals, bad_routers_are_refused);
    tcase_add_test(refusals, a_bias_with_nan_is_refused);
    tcase_add_test(refusals, too_many_pairs_are_refused);
    suite_add_tcase(s, choice);
    suite_add_tcase(s, extras);
    suite_add_tcase(s, refusals);
    return s;
}
