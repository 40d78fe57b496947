/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers in FP16, activations under a scale that is given, and routing
 * weights before the first GEMM or behind it.
 */
#include "layer_fixture.h"

#include <mxoracle/dequant.h>
#include <mxoracle/format.h>
#include <mxoracle/profile.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

static uint32_t run_layer(const layer *l, const char *params)
{
    emu_call c;

    layer_begin(&c, l, params);
    return layer_first(&c);
}

static void refuses(const layer *l, const char *params, mxo_status status,
                    const char *word)
{
    emu_call c;

    layer_begin(&c, l, params);
    emu_refuses(&c, status, word);
}

/* gate = 1, up = 2.25: silu gives 1.6448818, in FP16 1684 / 1024; times
   RN32(1/3) it is 1122.67 / 2048, and 1123 / 2048 is 3863. */
static void set_silu(layer *l, uint16_t one, uint16_t three_halves)
{
    layer_clear(l);
    l->x[0] = one;
    l->x[1] = three_halves;
    layer_put(l->w13[0][0], 0, 2);
    layer_put(l->w13[0][1], 1, 3);
    layer_put(l->w2[0][0], 0, 2);
}

START_TEST(fp16_throughout)
{
    layer l;

    set_silu(&l, 0x3c00, 0x3e00);
    l.half = MXO_F16;
    l.weights[0] = 0x3eaaaaab;
    expect_layer(&l, "from=f16,activation=silu,limit=none,glu_out=f16,out=f16",
                 0x3863);
    /* in BF16 as silu_layer_by_hand has it */
    expect_layer(&l, "from=f16,activation=silu,limit=none", 0x3f0d);
}
END_TEST

/* 1 + 2^-10 and a bias of 2^-11: a tie in FP16, even below. */
START_TEST(fp16_rounds_where_it_is_declared)
{
    layer l;

    layer_clear(&l);
    l.half = MXO_F16;
    l.x[0] = 0x3c00;
    l.b13[0][0] = 0x1000; /* 2^-11 */
    layer_put(l.w13[0][0], 0, 2);
    expect_first(&l, "stage=gemm,from=f16,bias=f16", 0x3f801000);
    expect_first(&l, "stage=gemm,from=f16,bias=f16,gemm1_out=f16", 0x3c00);
    l.x[0] = 0x3c01;
    expect_first(&l, "stage=gemm,from=f16,bias=f16,gemm1_out=f16", 0x3c02);
}
END_TEST

/* 2^-20 and its half exist in FP16, 1.5 * 2^-24 does not; Marlin's operand
   is in the type of the activations. */
START_TEST(weights_are_fp16_beside_fp16)
{
    layer l;

    layer_clear(&l);
    l.half = MXO_F16;
    l.x[0] = 0x3c00;
    l.s13[0][0][0] = 127 - 24;
    layer_put(l.w13[0][0], 0, 3);
    const uint32_t half =
        mxo_dequant_mx(mxo_dequant_rule_by_name("triton_matmul"), MXO_FMT_E2M1,
                       MXO_FMT_F16, 3, 127 - 24);
    const uint32_t want = (uint32_t)mxo_format_round(
        MXO_FMT_F32, mxo_format_decode(MXO_FMT_F16, half));

    expect_first(&l, "stage=gemm,from=f16", 0x33c00000);
    ck_assert_uint_ne(want, 0x33c00000);
    expect_first(&l, "stage=gemm,from=f16,weight_rule=triton_matmul", want);
    l.half = MXO_BF16;
    l.x[0] = 0x3f80;
    expect_first(&l, "stage=gemm,weight_rule=triton_matmul", 0x33c00000);
}
END_TEST

#define STATIC \
    "stage=gemm,input_scale=given,quant=quant.static,quant_element=e4m3fn,"

/* 50.75 / 7 = 7.25 is a tie of 7 and 7.5 and goes to 7; RN32(1/7) is larger
   than 1/7, and the product is above the tie. */
START_TEST(a_given_scale_divides_and_comes_back)
{
    layer l;

    layer_clear(&l);
    l.x[0] = 0x424b;
    l.given[0] = 0x40e00000;
    layer_put(l.w13[0][0], 0, 2);
    expect_first(&l, STATIC "quant_rule=divide", 0x42440000);     /* 49 */
    expect_first(&l, STATIC "quant_rule=reciprocal", 0x42520000); /* 52.5 */
    /* behind the scale, not before it */
    l.b13[0][0] = 0x3f80;
    expect_first(&l, STATIC "quant_rule=divide,bias=bf16,bias1=acc",
                 0x42480000);
}
END_TEST

/* Under 2: s = 2 * 6 / 6, codes 6 and 1.5 (1.297 is above 1.25), that is 12
   and 3 before the sum is divided by 2. */
START_TEST(nvfp4_blocks_under_a_given_scale)
{
    layer l;

    layer_clear(&l);
    l.x[0] = 0x40c0;
    l.x[1] = 0x3fa6;
    l.given[0] = 0x40000000;
    layer_put(l.w13[0][0], 0, 2);
    layer_put(l.w13[0][0], 1, 2);
    expect_first(&l,
                 "stage=gemm,input_scale=given,quant=quant.nvfp4,"
                 "quant_element=e2m1,quant_rule=exact",
                 0x40f00000);
}
END_TEST

/* The second GEMM has a scale of its own. */
START_TEST(both_gemms_have_their_scales)
{
    emu_call c;
    layer l;

    layer_clear(&l);
    l.act[0][0] = 0x424b;
    l.given[0] = 0x3f800000;
    l.given[1] = 0x40e00000;
    layer_put(l.w2[0][0], 0, 2);
    layer_begin_second(&c, &l,
                       "input_scale=given,requant=same,quant=quant.static,"
                       "quant_element=e4m3fn,quant_rule=divide");
    ck_assert_uint_eq(layer_first(&c), 0x4244);
}
END_TEST

#define SILU "activation=silu,limit=none,"

/* x * w is rounded to the type of x: (1 + 2^-7)^2 is 1 + 2^-6 in BF16. */
START_TEST(routing_weight_on_the_input)
{
    layer a;
    layer b;

    set_silu(&a, 0x3f81, 0x3fc0);
    set_silu(&b, 0x3f82, 0x3fc2); /* 1.5 (1 + 2^-7) is a tie: 3fc2, even */
    a.weights[0] = 0x3f810000;
    expect_layer(&a, SILU "routing_at=input", run_layer(&b, SILU));
    b.x[0] = 0x3f81;
    ck_assert_uint_ne(run_layer(&a, SILU "routing_at=input"),
                      run_layer(&b, SILU));
}
END_TEST

/* Times 1.5 behind the bias is the same as everything times 1.5 before. */
START_TEST(routing_weight_behind_the_first_bias)
{
    layer a;
    layer b;

    set_silu(&a, 0x3f80, 0x3fc0);
    set_silu(&b, 0x3fc0, 0x4010);
    a.b13[0][0] = 0x4000;
    b.b13[0][0] = 0x4040;
    a.weights[0] = 0x3fc00000;
    expect_layer(&a, SILU "bias=bf16,routing_at=gemm1",
                 run_layer(&b, SILU "bias=bf16"));
    expect_layer(&a, "profile=MARLIN," SILU "bias=bf16,routing_at=gemm1",
                 run_layer(&b, "profile=MARLIN," SILU "bias=bf16"));
    ck_assert_uint_ne(run_layer(&a, SILU "bias=bf16"),
                      run_layer(&b, SILU "bias=bf16"));
}
END_TEST

START_TEST(what_contradicts_itself_is_refused)
{
    layer l;
    emu_call c;

    layer_clear(&l);
    refuses(&l, "quant=quant.static,quant_element=e4m3fn,quant_rule=divide",
            MXO_E_PARAM, "input_scale=given");
    refuses(&l,
            "input_scale=given,quant=quant.static,quant_element=e2m1,"
            "quant_rule=divide",
            MXO_E_PARAM, "quant_element=e2m1");
    refuses(&l,
            "input_scale=given,quant=quant.nvfp4,quant_element=e2m1,"
            "quant_rule=divide",
            MXO_E_PARAM, "quant_rule=divide");
    refuses(&l,
            "input_scale=given,quant=quant.static,quant_element=e4m3fn,"
            "quant_rule=divide,order=seq,bias=bf16,bias1=order",
            MXO_E_PARAM, "bias1=order");
    l.half = MXO_F16;
    refuses(&l, "from=f16,order=amx", MXO_E_PARAM, "take bf16");
    l.half = MXO_BF16;
    layer_begin(&c, &l, "input_scale=given");
    c.in[c.call.n_in - 1].shape[0] = 2;
    c.in[c.call.n_in - 1].n_bytes = 8;
    emu_refuses(&c, MXO_E_SHAPE, "w2_input_scale");
    l.topk = 2;
    refuses(&l, "routing_at=input", MXO_E_PARAM, "top-k of 1, not 2");
    refuses(&l, "routing_at=gemm1", MXO_E_PARAM, "top-k of 1, not 2");
}
END_TEST

/* One sentence: runs, or says which entry is missing. */
START_TEST(a_profile_runs_or_names_what_it_lacks)
{
    const mxo_profile *p = mxo_profile_at(_i);
    const char *quant = p->fact[MXO_FIELD_QUANT].value;
    const int is_given =
        strcmp(quant, "quant.static") == 0 || strcmp(quant, "quant.nvfp4") == 0;
    char params[128];
    emu_call c;
    layer l;

    if (strcmp(mxo_profile_layer(p), "moe.layer") != 0) {
        return; /* test_nvfp4_layer.c */
    }
    layer_clear(&l);
    (void)snprintf(params, sizeof params, "profile=%s%s", p->name,
                   is_given ? ",input_scale=given" : "");
    layer_begin(&c, &l, params);
    const mxo_status status = emu_run(&c);

    ck_assert_msg(status == MXO_OK || status == MXO_E_UNSUPPORTED, "%s: %s",
                  p->name, c.why);
    ck_assert_msg(status == MXO_OK || strstr(c.why, "does not say") != NULL ||
                      strstr(c.why, "has no activation") != NULL,
                  "%s: %s", p->name, c.why);
    ck_assert_msg(mxo_profile_is_known(p) <= (status == MXO_OK) ||
                      strstr(c.why, "has no activation") != NULL,
                  "%s: %s", p->name, c.why);
    emu_end(&c);
}
END_TEST

/* With the unknown entries declared, what the sources say is executed. */
START_TEST(declared_profiles_take_their_quantisers)
{
    static const char declared[] =
        "weight_rule=ocp,scale_at=weight,order=exact,requant=same,"
        "bias1=acc,bias2=acc,gemm1_out=f32,glu=exact,glu_out=bf16,"
        "routing_at=sum,routing_type=f32,row_out=f32,sum=exact,out=bf16,"
        "absent=skip,limit=none,activation=silu,input_scale=given,";
    char params[512];
    layer l;

    set_silu(&l, 0x424b, 0x3fc0);
    l.given[0] = 0x40e00000;
    (void)snprintf(params, sizeof params,
                   "%sprofile=AITER_MXFP4_FP8,quant_rule=divide", declared);
    const uint32_t fp8 = run_layer(&l, params);

    (void)snprintf(params, sizeof params,
                   "%squant=quant.static,quant_element=e4m3fn,"
                   "quant_rule=divide",
                   declared);
    expect_layer(&l, params, fp8);
    (void)snprintf(params, sizeof params,
                   "%sprofile=FLASHINFER_TRTLLM_NVFP4,quant_rule=fast,"
                   "requant_rule=same",
                   declared);
    const uint32_t fp4 = run_layer(&l, params);

    (void)snprintf(params, sizeof params,
                   "%squant=quant.nvfp4,quant_element=e2m1,quant_rule=fast",
                   declared);
    expect_layer(&l, params, fp4);
    ck_assert_uint_ne(fp4, fp8);
}
END_TEST

Suite *suite_layer_types(void);
Suite *suite_layer_types(void)
{
    Suite *s = suite_create("layer_types");
    TCase *by_hand = tcase_create("by_hand");
    TCase *profiles = tcase_create("profiles");

    tcase_add_test(by_hand, fp16_throughout);
    tcase_add_test(by_hand, fp16_rounds_where_it_is_declared);
    tcase_add_test(by_hand, weights_are_fp16_beside_fp16);
    tcase_add_test(by_hand, a_given_scale_divides_and_comes_back);
    tcase_add_test(by_hand, nvfp4_blocks_under_a_given_scale);
    tcase_add_test(by_hand, both_gemms_have_their_scales);
    tcase_add_test(by_hand, routing_weight_on_the_input);
    tcase_add_test(by_hand, routing_weight_behind_the_first_bias);
    tcase_add_test(by_hand, what_contradicts_itself_is_refused);
    tcase_add_loop_test(profiles, a_profile_runs_or_names_what_it_lacks, 0,
                        mxo_profile_count());
    tcase_add_test(profiles, declared_profiles_take_their_quantisers);
    suite_add_tcase(s, by_hand);
    suite_add_tcase(s, profiles);
    return s;
}
