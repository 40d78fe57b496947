/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole layers by hand: every rounding point with numbers that show it, what
 * absent experts do, and that parts add up to the whole.
 */
#include "layer_fixture.h"

#include <mxoracle/dequant.h>
#include <mxoracle/format.h>

#include <check.h>
#include <string.h>

/*
 * gate = 1, up = 1.5 * 1.5 = 2.25; silu(1) * 2.25 = 1.6448818: once rounded
 * 3fd3 = 1.6484375, by way of T(silu) 3fd2 = 1.640625 (test_act_glu.c).
 * Times 1/3: 1.6484375 * RN32(1/3) = 0.549479, in bf16 3f0d.  MARLIN rounds
 * 1/3 to 3eab = 0.333984375: 1.640625 * 0.333984375 = 0.547943, 3f0c.
 */
static void set_silu(layer *l)
{
    layer_clear(l);
    l->x[0] = 0x3f80;
    l->x[1] = 0x3fc0;
    layer_put(l->w13[0][0], 0, 2);
    layer_put(l->w13[0][1], 1, 3);
    layer_put(l->w2[0][0], 0, 2);
    l->weights[0] = 0x3eaaaaab;
}

START_TEST(silu_layer_by_hand)
{
    layer l;

    set_silu(&l);
    expect_layer(&l, "activation=silu,limit=none", 0x3f0d);
    expect_layer(&l, "profile=MARLIN,activation=silu,limit=none", 0x3f0c);
    expect_layer(&l, "activation=silu,limit=none,out=f32", 0x3f0caaab);
}
END_TEST

/* The same with the gate in row 0 and the up part in row I. */
START_TEST(halves_are_not_interleaved)
{
    layer l;

    set_silu(&l);
    memset(l.w13[0][1], 0, sizeof l.w13[0][1]);
    layer_put(l.w13[0][I], 1, 3);
    expect_layer(&l, "activation=silu,limit=none,rows=halves", 0x3f0d);
    expect_layer(&l, "activation=silu,limit=none", 0);
}
END_TEST

/* 1 + 2^-8 is a tie in bf16; so is 1 + 2^-8 + 0 after the first rounding.
   In binary32 the bias makes it 1 + 2^-7, which bf16 holds. */
START_TEST(bias_before_or_behind_the_rounding)
{
    layer l;

    layer_clear(&l);
    l.x[0] = 0x3f80;
    l.x[1] = 0x3b80;
    layer_put(l.w13[0][0], 0, 2);
    layer_put(l.w13[0][0], 1, 2);
    l.b13[0][0] = 0x3b80;
    expect_first(&l, "stage=gemm,bias=bf16,gemm1_out=bf16", 0x3f81);
    expect_first(&l, "profile=MARLIN,stage=gemm,bias=bf16", 0x3f80);
    expect_first(&l, "profile=TRITON,stage=gemm,bias=bf16", 0x3f810000);
    expect_first(&l, "stage=gemm,bias=bf16,bias1=none", 0x3f808000);
    expect_first(&l, "profile=DEEPGEMM_MXFP4,quant=none,stage=gemm,bias=bf16",
                 0x3f80);
}
END_TEST

/* Sums of 1 and 1 or 3 times h = 2^-24: ties of binary32 that a bias decides,
   or that it leaves alone; 2^128, which it brings back.  Rounded once; then
   the sum first.  Derived in fractions (numerics 7.1). */
START_TEST(reference_rounds_once_behind_the_bias)
{
    static const struct {
        uint16_t x[2];
        unsigned code;
        uint16_t bias;
        uint32_t once, sum_first;
    } rows[] = {
        {{0x3f80, 0x3380}, 2, 0x2180, 0x3f800001, 0x3f800000}, /* 2^-60 */
        {{0x3f80, 0x3380}, 5, 0xa180, 0x3f800001, 0x3f800002},
        {{0x3f80, 0x3380}, 2, 0xbf80, 0x33800000, 0},
        {{0x7f00, 0x7f00}, 2, 0xff00, 0x7f000000, 0x7f800000},
    };
    layer l;

    layer_clear(&l);
    for (int k = 0; k < 2; k++) {
        l.x[k] = rows[_i].x[k];
        l.act[0][k] = rows[_i].x[k];
        layer_put(l.w13[0][0], k, k == 0 ? 2 : rows[_i].code);
        layer_put(l.w2[0][0], k, k == 0 ? 2 : rows[_i].code);
    }
    l.b13[0][0] = rows[_i].bias;
    l.b2[0][0] = rows[_i].bias;
    expect_first(&l, "stage=gemm,bias=bf16", rows[_i].once);
    expect_second(&l, "stage=row,bias=bf16", rows[_i].once);
    expect_first(&l, "stage=gemm,bias=bf16,bias1=acc", rows[_i].sum_first);
    expect_second(&l, "stage=row,bias=bf16,bias2=acc", rows[_i].sum_first);
}
END_TEST

/* Scale byte 0: 2^-127 as OCP reads it, zero for Marlin. */
START_TEST(scale_bytes_mean_what_the_rule_says)
{
    layer l;

    layer_clear(&l);
    l.x[0] = 0x7f00; /* 2^127 */
    l.s13[0][0][0] = 0;
    layer_put(l.w13[0][0], 0, 2);
    expect_first(&l, "stage=gemm", 0x3f800000);
    expect_first(&l, "stage=gemm,weight_rule=marlin", 0);
    l.s13[0][0][0] = 255;
    expect_first(&l, "stage=gemm", 0x7fc00000);
    expect_first(&l, "stage=gemm,weight_rule=triton_matmul", 0x7fc00000);
}
END_TEST

static const char *const rules[] = {"ocp",
                                    "shift",
                                    "triton35_torch",
                                    "triton36_torch",
                                    "triton35_kernel",
                                    "triton36_kernel",
                                    "triton_subnormal",
                                    "triton_matmul",
                                    "quark_hip",
                                    "quark_triton",
                                    "vllm_cpu",
                                    "marlin",
                                    "ldexp"};

/* Assumption of fast/layer_matmul.c about bytes 2 to 252. */
START_TEST(rules_differ_at_the_ends_only)
{
    const mxo_dequant_rule rule = mxo_dequant_rule_by_name(rules[_i]);

    for (unsigned byte = 2; byte <= 252; byte++) {
        for (unsigned code = 0; code < 16; code++) {
            const uint32_t want =
                mxo_dequant_mx(MXO_DEQUANT_OCP, MXO_FMT_E2M1, MXO_FMT_BF16,
                               code, (uint8_t)byte);
            const uint32_t got = mxo_dequant_mx(
                rule, MXO_FMT_E2M1, MXO_FMT_BF16, code, (uint8_t)byte);
            const int both_zero = ((got | want) & 0x7fff) == 0;
            ck_assert_msg(got == want || both_zero,
                          "%s: byte %u code %u: %04x, not %04x", rules[_i],
                          byte, code, got, want);
        }
    }
}
END_TEST

/* Rows of act[j][0] * 1 in slot j. */
static void set_rows(layer *l, int topk, const uint16_t *rows)
{
    layer_clear(l);
    l->topk = topk;
    for (int j = 0; j < topk; j++) {
        l->act[j][0] = rows[j];
    }
    layer_put(l->w2[0][0], 0, 2);
}

#define BY_SUM "routing_at=acc,row_out=bf16,out=f32,sum="

/* 1 + 2^-8 + 2^-8: two ties to 1 in bf16, 1 + 2^-7 in binary32. */
START_TEST(sums_of_three_slots)
{
    static const uint16_t rows[] = {0x3f80, 0x3b80, 0x3b80};
    layer l;

    set_rows(&l, 3, rows);
    expect_second(&l, BY_SUM "moe_sum", 0x3f800000);
    expect_second(&l, BY_SUM "atomic_bf16", 0x3f800000);
    expect_second(&l, BY_SUM "slots", 0x3f810000);
    expect_second(&l, BY_SUM "exact", 0x3f810000);
    expect_second(&l, BY_SUM "cpu", 0x3f810000);
}
END_TEST

/* 2^-24, 1, 0, 0, 2^-24: slots 0 and 4 share a lane of moe_sum. */
START_TEST(sums_of_five_slots)
{
    static const uint16_t rows[] = {0x3380, 0x3f80, 0, 0, 0x3380};
    layer l;

    set_rows(&l, 5, rows);
    expect_second(&l, BY_SUM "moe_sum", 0x3f800001);
    expect_second(&l, BY_SUM "slots", 0x3f800000);
    expect_second(&l, BY_SUM "exact", 0x3f800001);
}
END_TEST

/* -(1 + 2^-7) + (1 + 2^-7)(1 + 2^-23) = 2^-23 + 2^-30; the product rounded
   first leaves 2^-23. */
START_TEST(fma_and_product_differ)
{
    static const uint16_t rows[] = {0xbf81, 0x3f81};
    layer l;

    set_rows(&l, 2, rows);
    l.weights[1] = 0x3f800001;
    expect_second(&l, "routing_at=sum,row_out=bf16,out=f32,sum=fma",
                  0x34010000);
    expect_second(&l, "routing_at=sum,row_out=bf16,out=f32,sum=product",
                  0x34000000);
    expect_second(&l, "out=f32", 0x34010000);
}
END_TEST

/* 1/3 in binary32 or bf16, before or behind the rounding of 257/256. */
START_TEST(routing_weight_has_a_place_and_a_type)
{
    layer l;

    layer_clear(&l);
    l.weights[0] = 0x3eaaaaab;
    l.act[0][0] = 0x3f80;
    l.act[0][1] = 0x3b80;
    layer_put(l.w2[0][0], 0, 2);
    layer_put(l.w2[0][0], 1, 2);
    /* 257/256/3 = 0.334635 -> 171.33/512: 3eab; 1/3 -> 170.67/512: 3eab.
       257/768 and 1/3 in binary32: 3eab5556 and 3eaaaaab. */
    expect_second(&l, "stage=row,routing_at=acc,row_out=f32", 0x3eab5556);
    expect_second(&l, "stage=row,routing_at=rounded,row_out=bf16", 0x3eab);
    expect_second(&l, "stage=row,routing_at=acc,row_out=f32,routing_type=bf16",
                  0x3eabab00); /* ab0000 + ab00: 0.333984375 * 257/256 */
}
END_TEST

START_TEST(absent_experts)
{
    static const uint16_t rows[] = {0x3f80, 0x4000};
    layer l;

    set_rows(&l, 2, rows);
    l.ids[1] = -1;
    expect_second(&l, "out=f32", 0x3f800000);
    l.weights[1] = 0x7f800000; /* 0 * Inf is NaN: only where it takes part */
    expect_second(&l, "out=f32,routing_at=sum,sum=fma", 0x3f800000);
    expect_second(&l, "out=f32,routing_at=sum,sum=fma,absent=zero", 0x7fc00000);
    l.ids[0] = -1;
    expect_second(&l, "out=f32", 0);
}
END_TEST

START_TEST(a_map_translates_ids)
{
    static const uint16_t rows[] = {0x3f80, 0x4000};
    layer l;

    set_rows(&l, 2, rows);
    layer_put(l.w2[1][0], 0, 4); /* expert 1 doubles */
    l.n_map = 4;
    l.map[0] = -1;
    l.map[1] = 1;
    l.map[2] = 0;
    l.map[3] = -1;
    l.ids[0] = 1;
    l.ids[1] = 2;
    expect_second(&l, "map=1,out=f32", 0x40800000); /* 1 * 2 + 2 * 1 */
    l.ids[0] = 3;
    expect_second(&l, "map=1,out=f32", 0x40000000);
}
END_TEST

/* One expert in both slots is an ordinary sum. */
START_TEST(duplicated_experts_count_twice)
{
    layer l;

    set_silu(&l);
    l.topk = 2;
    l.weights[0] = 0x3f800000;
    l.weights[1] = 0x3f800000;
    expect_layer(&l, "activation=silu,limit=none", 0x4053); /* 2 * 3fd3 */
}
END_TEST

START_TEST(amx_and_avx512_by_load)
{
    layer l;

    /* 1 + 2^-24 + 2^-24 at k = 0, 2, 4 of the even chain: both halves lost;
       AVX512 the same; at k = 0, 1, 3 the odd chain of AMX adds first. */
    layer_clear(&l);
    l.x[0] = 0x3f80;
    l.x[1] = 0x3380;
    l.x[3] = 0x3380;
    layer_put(l.w13[0][0], 0, 2);
    layer_put(l.w13[0][0], 1, 2);
    layer_put(l.w13[0][0], 3, 2);
    expect_first(&l, "stage=gemm,order=amx", 0x3f800001);
    expect_first(&l, "stage=gemm,order=avx512", 0x3f800000);
    expect_first(&l, "stage=gemm,order=cpu", 0x3f800000);
}
END_TEST

/* Sixteen times the slots per expert: now cpu is amx. */
START_TEST(cpu_takes_amx_under_load)
{
    static const int32_t ids[10] = {0};
    uint16_t x[10][H];
    layer l;
    emu_call c;

    layer_clear(&l);
    memset(x, 0, sizeof x);
    x[0][0] = 0x3f80;
    x[0][1] = 0x3380;
    x[0][3] = 0x3380;
    layer_put(l.w13[0][0], 0, 2);
    layer_put(l.w13[0][0], 1, 2);
    layer_put(l.w13[0][0], 3, 2);
    emu_begin(&c, "moe.gemm1", "stage=gemm,order=cpu");
    emu_in(&c, "topk_ids", MXO_I32, ids, 2, 10, 1);
    emu_in(&c, "x", MXO_BF16, x, 2, 10, H);
    emu_in(&c, "w13", MXO_U8, l.w13, 3, E, 2 * I, H / 2);
    emu_in(&c, "w13_scale", MXO_E8M0, l.s13, 3, E, 2 * I, H / 32);
    ck_assert_uint_eq(layer_first(&c), 0x3f800001);
}
END_TEST

/* One block of 32: 1.5 * 2^-1 is accumulated unscaled, then scaled. */
START_TEST(scale_after_the_block)
{
    layer l;

    layer_clear(&l);
    l.x[0] = 0x3fc0;
    l.s13[0][0][0] = ONE - 1;
    layer_put(l.w13[0][0], 0, 3);
    expect_first(&l, "stage=gemm,order=block32,scale_at=block", 0x3f900000);
    l.s13[0][0][0] = 0; /* 2.25 * 2^-127; as a shifted byte 0 */
    expect_first(&l, "stage=gemm,order=block32,scale_at=block", 0x00900000);
    expect_first(
        &l, "stage=gemm,order=block32,scale_at=block,weight_rule=shift", 0);
}
END_TEST

Suite *suite_layer(void);
Suite *suite_layer(void)
{
    Suite *s = suite_create("layer");
    TCase *by_hand = tcase_create("by_hand");

    tcase_add_test(by_hand, silu_layer_by_hand);
    tcase_add_test(by_hand, halves_are_not_interleaved);
    tcase_add_test(by_hand, bias_before_or_behind_the_rounding);
    tcase_add_loop_test(by_hand, reference_rounds_once_behind_the_bias, 0, 4);
    tcase_add_test(by_hand, scale_bytes_mean_what_the_rule_says);
    tcase_add_loop_test(by_hand, rules_differ_at_the_ends_only, 0,
                        sizeof rules / sizeof rules[0]);
    tcase_add_test(by_hand, sums_of_three_slots);
    tcase_add_test(by_hand, sums_of_five_slots);
    tcase_add_test(by_hand, fma_and_product_differ);
    tcase_add_test(by_hand, routing_weight_has_a_place_and_a_type);
    tcase_add_test(by_hand, absent_experts);
    tcase_add_test(by_hand, a_map_translates_ids);
    tcase_add_test(by_hand, duplicated_experts_count_twice);
    tcase_add_test(by_hand, amx_and_avx512_by_load);
    tcase_add_test(by_hand, cpu_takes_amx_under_load);
    tcase_add_test(by_hand, scale_after_the_block);
    suite_add_tcase(s, by_hand);
    return s;
}
