/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of the kernels behind the dialects, transcribed from both sources
 * once more: the largest legal size, and the next one. And tensors whose
 * sizes do not agree.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 2048 };

static void begin(emu_call *c, const char *params, int experts)
{
    static const float row[MOST];
    char text[200];

    (void)snprintf(text, sizeof text, "from=f32,dialect=%s", params);
    emu_begin(c, "route.topk", text);
    emu_in(c, "logits", MXO_F32, row, 2, 1, experts);
}

static void goes(const char *params, int experts)
{
    emu_call c;

    begin(&c, params, experts);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s, %d: %s", params, experts, c.why);
    emu_end(&c);
}

static void stops(const char *params, int experts, const char *source)
{
    emu_call c;

    begin(&c, params, experts);
    emu_refuses(&c, MXO_E_PARAM, source);
}

#define FLASHINFER "layouts-flashinfer 6.3"
START_TEST(small_kernels_have_256_experts_and_8_choices)
{
    static const char *const names[] = {"default", "topk", "sigmoid",
                                        "sigmoid_renorm"};
    char few[64];
    char many[64];

    for (int i = 0; i < 4; i++) {
        (void)snprintf(few, sizeof few, "trtllm_%s,top_k=8", names[i]);
        (void)snprintf(many, sizeof many, "trtllm_%s,top_k=9", names[i]);
        goes(few, 256);
        stops(few, 257, FLASHINFER);
        stops(many, 256, FLASHINFER);
    }
}
END_TEST

START_TEST(renormalizing_kernels_choose_32)
{
    goes("trtllm_renormalize,top_k=32", MOST);
    stops("trtllm_renormalize,top_k=33", MOST, FLASHINFER);
    goes("trtllm_renormalize_naive,top_k=32", 64);
    stops("trtllm_renormalize_naive,top_k=33", 64, FLASHINFER);
}
END_TEST

START_TEST(llama4_chooses_one_of_128)
{
    goes("trtllm_llama4,top_k=1", 128);
    stops("trtllm_llama4,top_k=1", 129, FLASHINFER);
    stops("trtllm_llama4,top_k=2", 128, FLASHINFER);
}
END_TEST

#define GROUPED "trtllm_deepseek_v3,n_group=4,topk_group=2,"
START_TEST(deepseek_has_limits_in_groups_alone)
{
    goes("trtllm_deepseek_v3,n_group=8,topk_group=4,top_k=2", 64);
    stops("trtllm_deepseek_v3,n_group=9,topk_group=4,top_k=2", 72, "8 groups");
    stops("trtllm_deepseek_v3,n_group=8,topk_group=5,top_k=2", 64, "4 groups");
    goes(GROUPED "top_k=8", 384);
    stops(GROUPED "top_k=9", 384, "8 at most");
    goes(GROUPED "top_k=9", 388);
    goes(GROUPED "top_k=22", 388);
    stops(GROUPED "top_k=23", 388, "22 at most");
    goes(GROUPED "top_k=3", 8);
    stops(GROUPED "top_k=4", 8, "fewer than there are");
    goes("trtllm_deepseek_v3,top_k=23", 256);
    goes("trtllm_deepseek_v3,top_k=8", 8);
}
END_TEST

START_TEST(softplus_has_kernels_of_one_warp)
{
    static const int list[] = {1,   2,   4,   8,   16,  32,  64, 128,
                               192, 256, 320, 384, 448, 512, 576};

    for (int n = 1; n <= 1024; n++) {
        int is_listed = 0;
        for (unsigned i = 0; i < sizeof list / sizeof list[0]; i++) {
            is_listed |= list[i] == n;
        }
        if (is_listed) {
            goes("vllm_softplus_sqrt,top_k=1", n);
        } else {
            stops("vllm_softplus_sqrt,top_k=1", n, "activation-vllm 8.2");
        }
    }
}
END_TEST

START_TEST(fused_routers_have_32_groups_and_choices)
{
    goes("vllm_fused_sigmoid,top_k=32", 64);
    stops("vllm_fused_sigmoid,top_k=33", 64, "activation-vllm 8.4");
    goes("vllm_fused_scores,n_group=32,topk_group=3,top_k=3", 64);
    stops("vllm_fused_scores,n_group=33,topk_group=3,top_k=3", 66,
          "activation-vllm 8.4");
}
END_TEST

/* One token of four experts: its bias, or its id and a table for it. */
static void disagrees(const char *params, int n, int top_k, const char *word)
{
    static const float row[5];
    static const int32_t id[5];
    emu_call c;

    begin(&c, params, 4);
    if (strstr(params, "bias") != NULL) {
        emu_in(&c, "bias", MXO_F32, row, 1, n);
    } else {
        emu_in(&c, "input_ids", MXO_I32, id, 1, n);
        emu_in(&c, "tid2eid", MXO_I32, id, 2, 1, top_k);
    }
    emu_refuses(&c, MXO_E_SHAPE, word);
}

#define TABLE "vllm_softplus_sqrt,top_k=2,table=1"
START_TEST(sizes_that_disagree_are_refused)
{
    disagrees("softmax_topk,top_k=2,bias=f32", 5, 0, "number per expert");
    disagrees(TABLE, 2, 2, "id per token");
    disagrees(TABLE, 1, 3, "top_k experts");
}
END_TEST

Suite *suite_route_limits(void);
Suite *suite_route_limits(void)
{
    Suite *s = suite_create("route_limits");
    TCase *t = tcase_create("route_limits");

    tcase_add_test(t, small_kernels_have_256_experts_and_8_choices);
    tcase_add_test(t, renormalizing_kernels_choose_32);
    tcase_add_test(t, llama4_chooses_one_of_128);
    tcase_add_test(t, deepseek_has_limits_in_groups_alone);
    tcase_add_test(t, softplus_has_kernels_of_one_warp);
    tcase_add_test(t, fused_routers_have_32_groups_and_choices);
    tcase_add_test(t, sizes_that_disagree_are_refused);
    suite_add_tcase(s, t);
    return s;
}
