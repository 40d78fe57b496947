/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated units with a quantiser behind them: the scale rules by hand, and the
 * operation's shapes, words and refusals.
 */
#include "unit/emu_call.h"

#include <mxoracle/act.h>

#include <check.h>
#include <string.h>

static mxo_glu_quant unit(mxo_glu_quant_dialect dialect, int pow2)
{
    const mxo_real none = {0, 0, MXO_CLASS_INF, 0, 0};
    const mxo_glu_quant u = {dialect, MXO_FMT_BF16, none, (uint8_t)pow2};

    return u;
}

START_TEST(scales_of_an_empty_group)
{
    const mxo_glu_quant packed = unit(MXO_GLUQ_VLLM_PACKED, 1);
    const mxo_glu_quant col = unit(MXO_GLUQ_VLLM_COLMAJOR, 1);
    const mxo_glu_quant raw = unit(MXO_GLUQ_VLLM_COLMAJOR, 0);
    const mxo_glu_quant mega = unit(MXO_GLUQ_DEEPGEMM_MEGA, 1);

    /* 1e-10 < 2^-33; 1e-10/448 = 2.23e-13 < 2^-42 = 2.27e-13 */
    ck_assert_uint_eq(mxo_glu_quant_scale(&packed, 0), (127u - 33) << 23);
    ck_assert_uint_eq(mxo_glu_quant_scale(&col, 0), (127u - 42) << 23);
    ck_assert_uint_eq(mxo_glu_quant_scale(&raw, 0), 0x2a7b5124u);
    ck_assert_uint_eq(mxo_glu_quant_scale(&mega, 0), 0);
}
END_TEST

START_TEST(scales_beside_a_power_of_two)
{
    const mxo_glu_quant u[] = {unit(MXO_GLUQ_VLLM_PACKED, 1),
                               unit(MXO_GLUQ_VLLM_COLMAJOR, 1),
                               unit(MXO_GLUQ_DEEPGEMM_MEGA, 1)};

    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(mxo_glu_quant_scale(&u[i], 0x43e00000), 0x3f800000);
        ck_assert_uint_eq(mxo_glu_quant_scale(&u[i], 0x43e00001), 0x40000000);
        ck_assert_uint_eq(mxo_glu_quant_scale(&u[i], 0x7f800000), 0x7f800000);
    }
    /* A subnormal amax * RN32(1/448) has byte 1 in the mega kernel. */
    ck_assert_uint_eq(mxo_glu_quant_scale(&u[2], 0x00800000), 1u << 23);
}
END_TEST

START_TEST(codes_saturate_and_keep_nan)
{
    const mxo_glu_quant u = unit(MXO_GLUQ_VLLM_PACKED, 1);
    const mxo_glu_quant mega = unit(MXO_GLUQ_DEEPGEMM_MEGA, 1);

    ck_assert_uint_eq(mxo_glu_quant_code(&u, 0x43e0, 0x3f800000), 0x7e);
    ck_assert_uint_eq(mxo_glu_quant_code(&u, 0xc400, 0x3f800000), 0xfe);
    ck_assert_uint_eq(mxo_glu_quant_code(&u, 0xffc0, 0x3f800000), 0x7f);
    ck_assert_uint_eq(mxo_glu_quant_code(&u, 0x7f80, 0x7f800000), 0x7f);
    ck_assert_uint_eq(mxo_glu_quant_code(&u, 0x3f80, 0x7f800000), 0x00);
    /* byte 0 means a factor of 2^127 */
    ck_assert_uint_eq(
        mxo_glu_quant_code(&mega, UINT64_C(0x3800000000000000), 0), 0x38);
}
END_TEST

START_TEST(amax_skips_nan)
{
    const mxo_glu_quant u = unit(MXO_GLUQ_VLLM_PACKED, 1);

    ck_assert_uint_eq(mxo_glu_quant_amax(&u, 0, 0xffc0), 0);
    ck_assert_uint_eq(mxo_glu_quant_amax(&u, 0, 0xc000), 0x40000000);
    ck_assert_uint_eq(mxo_glu_quant_amax(&u, 0x40400000, 0xc000), 0x40400000);
}
END_TEST

START_TEST(packed_y_is_rounded_once_and_colmajor_twice)
{
    /* silu(1) = 0.7310586; times 2.25: once 1.6448818 -> 3fd3, by way of
       187/256: 1.6435547 -> 3fd2 (test_act_glu.c) */
    const mxo_glu_quant packed = unit(MXO_GLUQ_VLLM_PACKED, 1);
    const mxo_glu_quant col = unit(MXO_GLUQ_VLLM_COLMAJOR, 1);

    ck_assert_uint_eq(mxo_glu_quant_y(&packed, 0x3f80, 0x4010, 0), 0x3fd3);
    ck_assert_uint_eq(mxo_glu_quant_y(&col, 0x3f80, 0x4010, 0), 0x3fd2);
}
END_TEST

START_TEST(mega_clamps_the_gate_from_above_only)
{
    mxo_glu_quant u = unit(MXO_GLUQ_DEEPGEMM_MEGA, 1);
    const mxo_glu_quant none = u;

    u.limit = mxo_format_decode(MXO_FMT_BF16, 0x4000); /* 2 */
    ck_assert_uint_eq(mxo_glu_quant_y(&u, 0x4080, 0x3f80, 0x3f800000),
                      mxo_glu_quant_y(&none, 0x4000, 0x3f80, 0x3f800000));
    ck_assert_uint_eq(mxo_glu_quant_y(&u, 0xc080, 0xc080, 0x3f800000),
                      mxo_glu_quant_y(&none, 0xc080, 0xc000, 0x3f800000));
}
END_TEST

START_TEST(mega_as_an_operation_has_y_in_binary64)
{
    /* silu(32) * 14 * weight: 448 less 6e-12, times 1 and 2 */
    const uint16_t gate[4] = {0x4200, 0x4200, 0x4200, 0x4200};
    const uint16_t up[4] = {0x4160, 0x4160, 0x4160, 0x4160};
    const float weight[2] = {1, 2};
    const uint8_t bytes[2] = {127, 128};
    emu_call c;

    emu_begin(&c, "act.glu_quant", "dialect=deepgemm_mega,group=2");
    emu_in(&c, "gate", MXO_BF16, gate, 2, 2, 2);
    emu_in(&c, "up", MXO_BF16, up, 2, 2, 2);
    emu_in(&c, "topk_weight", MXO_F32, weight, 1, 2);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "y")->dtype, MXO_F64);
    ck_assert_mem_eq(emu_bytes(&c, "scale"), bytes, 2);
    ck_assert_uint_eq(emu_bytes(&c, "q")[3], 0x7e);
    emu_end(&c);
}
END_TEST

START_TEST(mega_rounds_inputs_to_bf16_and_weighs)
{
    mxo_glu_quant u = unit(MXO_GLUQ_DEEPGEMM_MEGA, 1);

    u.from = MXO_FMT_F32;
    /* 1.001 -> 1, 2.2501 -> 2.25; silu(1) = 0.731058578630005 */
    const uint64_t y = mxo_glu_quant_y(&u, 0x3f8020c5, 0x40100346, 0x3f800000);

    ck_assert_uint_eq(y,
                      mxo_glu_quant_y(&u, 0x3f800000, 0x40100000, 0x3f800000));
    /* a weight of 2 is one exponent more; a NaN gate counts as the limit */
    ck_assert_uint_eq(mxo_glu_quant_y(&u, 0x3f800000, 0x40100000, 0x40000000),
                      y + (UINT64_C(1) << 52));
    u.limit = mxo_format_decode(MXO_FMT_F32, 0x3f800001); /* 1 in bf16 */
    ck_assert_uint_eq(mxo_glu_quant_y(&u, 0x7fc00000, 0x3f800000, 0x3f800000),
                      mxo_glu_quant_y(&u, 0x3f800000, 0x3f800000, 0x3f800000));
    ck_assert_uint_eq(mxo_glu_quant_y(&u, 0x3f800000, 0x7fc00000, 0x3f800000),
                      mxo_glu_quant_y(&u, 0x3f800000, 0xbf800000, 0x3f800000));
}
END_TEST

/* 5 rows of 3 groups of 2: gate 32 (silu(32) = 32), up 14 * 2^g. */
static uint16_t x[5][12];

static void fill(void)
{
    for (int r = 0; r < 5; r++) {
        for (int c = 0; c < 6; c++) {
            x[r][c] = 0x4200;
            x[r][6 + c] = (uint16_t)(0x4160 + (c / 2 << 7));
        }
    }
}

START_TEST(words_hold_four_groups_and_padding_is_zero)
{
    emu_call c;
    uint32_t words[8];
    const uint32_t want = 127u | 128u << 8 | 129u << 16;

    fill();
    emu_begin(&c, "act.glu_quant", "group=2,scale=packed_mn");
    emu_in(&c, "x", MXO_BF16, x, 2, 5, 12);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[0], 1);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[1], 8);
    memcpy(words, emu_bytes(&c, "scale"), sizeof words);
    for (int r = 0; r < 8; r++) {
        ck_assert_msg(words[r] == (r < 5 ? want : 0), "row %d: %08x", r,
                      (unsigned)words[r]);
    }
    ck_assert_uint_eq(emu_bytes(&c, "q")[0], 0x7e);
    ck_assert_uint_eq(emu_out(&c, "y")->dtype, MXO_BF16);
    emu_end(&c);
}
END_TEST

START_TEST(scale_forms_agree)
{
    emu_call c;
    uint32_t word;

    fill();
    emu_begin(&c, "act.glu_quant", "group=2,scale=packed");
    emu_in(&c, "x", MXO_BF16, x, 2, 5, 12);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[0], 5);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[1], 1);
    emu_end(&c);
    emu_begin(&c, "act.glu_quant", "group=2,scale=f32");
    emu_in(&c, "x", MXO_BF16, x, 2, 5, 12);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    memcpy(&word, emu_bytes(&c, "scale") + 4, 4);
    ck_assert_uint_eq(word, 0x40000000);
    emu_end(&c);
    emu_begin(&c, "act.glu_quant", "group=2");
    emu_in(&c, "x", MXO_BF16, x, 2, 5, 12);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_bytes(&c, "scale")[2], 129);
    emu_end(&c);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    emu_call c;
    const float weight[2] = {1, 1};

    emu_begin(&c, "act.glu_quant", "group=4");
    emu_in(&c, "x", MXO_BF16, x, 2, 5, 12);
    emu_refuses(&c, MXO_E_SHAPE, "groups");
    emu_begin(&c, "act.glu_quant", "group=0");
    emu_in(&c, "x", MXO_BF16, x, 2, 5, 12);
    emu_refuses(&c, MXO_E_SHAPE, "groups");
    emu_begin(&c, "act.glu_quant", "group=2,pow2=0,scale=f32");
    emu_in(&c, "x", MXO_BF16, x, 2, 5, 12);
    emu_refuses(&c, MXO_E_PARAM, "pow2");
    emu_begin(&c, "act.glu_quant",
              "dialect=vllm_colmajor,group=2,pow2=0,scale=e8m0");
    emu_in(&c, "x", MXO_BF16, x, 2, 5, 12);
    emu_refuses(&c, MXO_E_PARAM, "pow2");
    emu_begin(&c, "act.glu_quant", "group=2,limit=-1");
    emu_in(&c, "x", MXO_BF16, x, 2, 5, 12);
    emu_refuses(&c, MXO_E_PARAM, "negative");
    emu_begin(&c, "act.glu_quant", "dialect=deepgemm_mega,group=12");
    emu_in(&c, "gate", MXO_BF16, x, 2, 5, 12);
    emu_in(&c, "up", MXO_BF16, x, 2, 5, 12);
    emu_in(&c, "topk_weight", MXO_F32, weight, 1, 2);
    emu_refuses(&c, MXO_E_SHAPE, "topk_weight");
}
END_TEST

Suite *suite_act_glu_quant(void);
Suite *suite_act_glu_quant(void)
{
    Suite *s = suite_create("act_glu_quant");
    TCase *t = tcase_create("rules");

    tcase_add_test(t, scales_of_an_empty_group);
    tcase_add_test(t, scales_beside_a_power_of_two);
    tcase_add_test(t, codes_saturate_and_keep_nan);
    tcase_add_test(t, amax_skips_nan);
    tcase_add_test(t, packed_y_is_rounded_once_and_colmajor_twice);
    tcase_add_test(t, mega_rounds_inputs_to_bf16_and_weighs);
    tcase_add_test(t, mega_clamps_the_gate_from_above_only);
    suite_add_tcase(s, t);
    t = tcase_create("operation");
    tcase_add_test(t, words_hold_four_groups_and_padding_is_zero);
    tcase_add_test(t, scale_forms_agree);
    tcase_add_test(t, mega_as_an_operation_has_y_in_binary64);
    tcase_add_test(t, what_does_not_fit_is_refused);
    suite_add_tcase(s, t);
    return s;
}
