/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.topk with bounds=1: weights computed once more in double lie between
 * the ends, the ends are close, and a choice is accepted exactly where scores
 * within their bounds lead to it.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { EXPERTS = 40, CHOSEN = 4 };

typedef struct answer {
    int32_t ids[CHOSEN];
    float lo[CHOSEN];
    float hi[CHOSEN];
} answer;

static void fill(float *x, int seed)
{
    uint32_t state = 12345u + 77777u * (uint32_t)seed;

    for (int e = 0; e < EXPERTS; e++) {
        state = state * 1664525u + 1013904223u;
        x[e] = (float)(int32_t)state / 5e8f;
    }
}

static void declared(const char *params, const float *x, int32_t *ids)
{
    emu_call c;

    emu_begin(&c, "route.topk", params);
    emu_in(&c, "logits", MXO_F32, x, 2, 1, EXPERTS);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s: %s", params, c.why);
    memcpy(ids, emu_bytes(&c, "topk_ids"), CHOSEN * sizeof *ids);
    emu_end(&c);
}

static answer ask(const char *params, const float *x, const int32_t *picked)
{
    char text[200];
    emu_call c;
    answer a;

    (void)snprintf(text, sizeof text, "bounds=1,%s", params);
    emu_begin(&c, "route.topk", text);
    emu_in(&c, "logits", MXO_F32, x, 2, 1, EXPERTS);
    emu_in(&c, "picked", MXO_I32, picked, 2, 1, CHOSEN);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s: %s", text, c.why);
    memcpy(a.ids, emu_bytes(&c, "topk_ids"), sizeof a.ids);
    memcpy(a.lo, emu_bytes(&c, "weights_lo"), sizeof a.lo);
    memcpy(a.hi, emu_bytes(&c, "weights_hi"), sizeof a.hi);
    emu_end(&c);
    return a;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Weight of slot k, by the textbook, in double. */
static double textbook(const char *kind, const float *x, const int32_t *ids,
                       int k)
{
    double sum = 0;

    if (strcmp(kind, "sigmoid") == 0) {
        for (int i = 0; i < CHOSEN; i++) {
            sum += sigmoid((double)x[ids[i]]);
        }
        return sigmoid((double)x[ids[k]]) / sum;
    }
    const int all = strcmp(kind, "all") == 0;

    for (int i = 0; i < (all ? EXPERTS : CHOSEN); i++) {
        sum += exp((double)x[all ? i : ids[i]]);
    }
    return exp((double)x[ids[k]]) / sum;
}

static const struct {
    const char *params;
    const char *kind;
} routers[] = {
    {"dialect=softmax_topk,from=f32", "all"},
    {"dialect=softmax_topk,from=f32,renormalize=1", "chosen"},
    {"dialect=topk_softmax,from=f32", "chosen"},
    {"dialect=sigmoid_topk,from=f32,renormalize=1", "sigmoid"},
    {"dialect=trtllm_default,from=f32", "all"},
    {"dialect=trtllm_renormalize,from=f32", "chosen"},
    {"dialect=trtllm_sigmoid_renorm,from=f32,renormalize=1", "sigmoid"},
    {"dialect=vllm_softmax,from=f32", "all"},
    {"dialect=vllm_sigmoid,from=f32,renormalize=1", "sigmoid"},
    {"dialect=vllm_fused_sigmoid,from=f32,renormalize=1", "sigmoid"},
    {"dialect=vllm_torch_softmax,from=f32", "all"},
    {"dialect=vllm_torch_sigmoid,from=f32,renormalize=1", "sigmoid"},
    {"dialect=vllm_cpu,from=f32,renormalize=1", "chosen"},
    {"dialect=vllm_cpu,from=f32", "all"},
    {"dialect=triton35_topk_softmax,from=f32", "chosen"},
    {"dialect=triton37_softmax_topk,from=f32", "all"},
};

enum { N_ROUTERS = sizeof routers / sizeof routers[0] };

START_TEST(the_real_weights_lie_between_the_ends)
{
    float x[EXPERTS];
    int32_t ids[CHOSEN];

    fill(x, _i);
    for (int r = 0; r < N_ROUTERS; r++) {
        declared(routers[r].params, x, ids);
        const answer a = ask(routers[r].params, x, ids);

        for (int k = 0; k < CHOSEN; k++) {
            const double y = textbook(routers[r].kind, x, ids, k);
            ck_assert_int_eq(a.ids[k], ids[k]);
            ck_assert_msg((double)a.lo[k] <= y && y <= (double)a.hi[k],
                          "%s: %.9g is not in %.9g .. %.9g", routers[r].params,
                          y, (double)a.lo[k], (double)a.hi[k]);
            ck_assert_msg((double)a.hi[k] <= (double)a.lo[k] * (1 + 1e-3),
                          "%s: %.9g .. %.9g is wide", routers[r].params,
                          (double)a.lo[k], (double)a.hi[k]);
        }
    }
}
END_TEST

static int accepts(const char *params, const float *x, const int32_t *picked)
{
    const answer a = ask(params, x, picked);

    return memcmp(a.ids, picked, sizeof a.ids) == 0;
}

/* 0 for all but three: expert 7 far above, and two that are nearly alike. */
static void few(float *x, float a, float b)
{
    memset(x, 0, EXPERTS * sizeof *x);
    x[7] = 9;
    x[11] = a;
    x[30] = b;
}

START_TEST(equal_logits_are_chosen_by_the_index)
{
    const int32_t right[CHOSEN] = {7, 11, 30, 0};
    const int32_t turned[CHOSEN] = {7, 30, 11, 0};
    const int32_t rest[CHOSEN] = {7, 11, 30, 1};
    float x[EXPERTS];

    few(x, 3, 3);
    ck_assert(accepts("dialect=softmax_topk,from=f32", x, right));
    ck_assert(!accepts("dialect=softmax_topk,from=f32", x, turned));
    ck_assert(!accepts("dialect=softmax_topk,from=f32", x, rest));
}
END_TEST

START_TEST(near_scores_may_change_places_and_far_ones_may_not)
{
    const int32_t turned[CHOSEN] = {7, 30, 11, 0};
    float x[EXPERTS];

    few(x, nextafterf(3, 4), 3);
    ck_assert(accepts("dialect=softmax_topk,from=f32", x, turned));
    ck_assert(!accepts("dialect=topk_softmax,from=f32", x, turned));
    few(x, 3.001f, 3);
    ck_assert(!accepts("dialect=softmax_topk,from=f32", x, turned));
}
END_TEST

START_TEST(a_choice_is_of_distinct_experts_that_exist)
{
    const int32_t twice[CHOSEN] = {7, 11, 11, 0};
    const int32_t beyond[CHOSEN] = {7, 11, 30, EXPERTS};
    const int32_t negative[CHOSEN] = {7, 11, 30, -1};
    float x[EXPERTS];

    few(x, 3, 2);
    ck_assert(!accepts("dialect=softmax_topk,from=f32", x, twice));
    ck_assert(!accepts("dialect=softmax_topk,from=f32", x, beyond));
    ck_assert(!accepts("dialect=softmax_topk,from=f32", x, negative));
}
END_TEST

START_TEST(the_order_is_what_the_dialect_promises)
{
    const int32_t ids[CHOSEN] = {0, 7, 11, 30};
    const int32_t scores[CHOSEN] = {7, 11, 30, 0};
    const int32_t any[CHOSEN] = {30, 0, 7, 11};
    float x[EXPERTS];

    few(x, 3, 2);
    ck_assert(accepts("dialect=triton35_topk_softmax,from=f32", x, ids));
    ck_assert(!accepts("dialect=triton35_topk_softmax,from=f32", x, scores));
    ck_assert(accepts("dialect=triton37_topk_softmax,from=f32", x, scores));
    ck_assert(!accepts("dialect=triton37_topk_softmax,from=f32", x, ids));
    ck_assert(accepts("dialect=vllm_torch_softmax,from=f32", x, any));
    ck_assert(accepts("dialect=vllm_cpu,from=f32", x, any));
    ck_assert(!accepts("dialect=vllm_softmax,from=f32", x, any));
}
END_TEST

START_TEST(groups_that_cannot_stay_are_not_used)
{
    const char *params = "dialect=softmax_topk,from=f32,n_group=4,topk_group=2";
    const int32_t right[CHOSEN] = {7, 11, 0, 1};
    const int32_t wrong[CHOSEN] = {7, 11, 30, 0};
    float x[EXPERTS];

    few(x, 3, 2); /* groups of ten: 7 and 11 stay, 30 does not */
    ck_assert(accepts(params, x, right));
    ck_assert(!accepts(params, x, wrong));
    few(x, 3, nextafterf(3, 2)); /* the group of 30 may be the better one */
    ck_assert(accepts(params, x, (const int32_t[CHOSEN]){7, 30, 0, 1}));
}
END_TEST

START_TEST(nan_rank_by_payload_where_bits_are_compared)
{
    const uint32_t low = 0x7fc00000u;
    const uint32_t high = 0x7fc00001u;
    float x[EXPERTS];
    int32_t ids[CHOSEN];

    few(x, 3, 2);
    memcpy(&x[20], &low, sizeof low);
    memcpy(&x[21], &high, sizeof high);
    declared("dialect=triton37_topk_softmax,from=f32", x, ids);
    ck_assert_int_eq(ids[0], 21);
    ck_assert_int_eq(ids[1], 20);
    declared("dialect=topk_softmax,from=f32", x, ids);
    ck_assert_int_eq(ids[0], 20);
    ck_assert_int_eq(ids[1], 21);
}
END_TEST

/* A weight that no sum joins to a NaN has the room of its own steps: RN(1 /
   RN(1 + RN(e^-x))) of x = 40a10a94 is 3f7e5755, the nearest to the sigmoid
   3f7e5754.  Minus infinity adds nothing to a softmax of the chosen. */
START_TEST(a_number_beside_a_nan_or_an_infinity_has_its_room)
{
    const uint32_t bits[2] = {0x40a10a94u, 0x3f7e5755u};
    const int32_t first[CHOSEN] = {2, 7, 3, 4};
    float x[EXPERTS];
    float step;
    int32_t ids[CHOSEN];

    few(x, -1, -2);
    memcpy(&x[7], &bits[0], sizeof x[7]);
    memcpy(&step, &bits[1], sizeof step);
    x[2] = NAN;
    x[3] = 2;
    x[4] = 1;
    const answer a = ask("dialect=sigmoid_topk,from=f32", x, first);
    ck_assert_mem_eq(a.ids, first, sizeof first);
    ck_assert(isnan(a.lo[0]) && isnan(a.hi[0]));
    ck_assert(a.lo[1] < step && step <= a.hi[1] && a.hi[1] < 0.99353F);

    for (int e = 0; e < EXPERTS; e++) {
        x[e] = e < 2 ? 1 + (float)e / 3 : -INFINITY;
    }
    declared("dialect=topk_softmax,from=f32", x, ids);
    const answer b = ask("dialect=topk_softmax,from=f32", x, ids);
    ck_assert(b.lo[0] < b.hi[0] && b.hi[0] < b.lo[0] * 1.00001F);
    ck_assert(b.lo[0] <= 0.5825702F && 0.5825702F <= b.hi[0]);
    ck_assert(b.lo[2] == 0 && b.hi[2] == 0);
    /* A sum with a NaN leaves no number. */
    x[5] = NAN;
    declared("dialect=topk_softmax,from=f32", x, ids);
    const answer c = ask("dialect=topk_softmax,from=f32", x, ids);
    ck_assert(isnan(c.lo[1]) && isnan(c.hi[1]));
}
END_TEST

Suite *suite_route_bounds(void);
Suite *suite_route_bounds(void)
{
    Suite *s = suite_create("route_bounds");
    TCase *tc = tcase_create("bounds");

    tcase_add_loop_test(tc, the_real_weights_lie_between_the_ends, 0, 12);
    tcase_add_test(tc, equal_logits_are_chosen_by_the_index);
    tcase_add_test(tc, near_scores_may_change_places_and_far_ones_may_not);
    tcase_add_test(tc, a_choice_is_of_distinct_experts_that_exist);
    tcase_add_test(tc, the_order_is_what_the_dialect_promises);
    tcase_add_test(tc, groups_that_cannot_stay_are_not_used);
    tcase_add_test(tc, nan_rank_by_payload_where_bits_are_compared);
    tcase_add_test(tc, a_number_beside_a_nan_or_an_infinity_has_its_room);
    suite_add_tcase(s, tc);
    return s;
}
