/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.group: rectangles, scale forms and zero groups.  Every group holds a
 * power of two of its own times 448 or 6, so scales are exact by hand.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <string.h>

static float x32[64 * 64];
static uint32_t word;

/* Groups of h x w hold 448 * 2^(group number), the first column half that. */
static void fill(int rows, int cols, int h, int w, float top)
{
    const int across = (cols + w - 1) / w;

    for (int i = 0; i < rows * cols; i++) {
        const int g = i / cols / h * across + i % cols / w;

        x32[i] = top * (float)(1u << g) * (i % cols % w == 0 ? 0.5f : 1.0f);
    }
}

static uint32_t word_at(const emu_call *c, const char *name, int i)
{
    memcpy(&word, emu_bytes(c, name) + 4 * i, 4);
    return word;
}

START_TEST(rectangles_have_their_own_scales)
{
    emu_call c;

    fill(5, 7, 2, 3, 448.0f);
    emu_begin(&c, "quant.group", "from=f32,group_rows=2,group_cols=3");
    emu_in(&c, "x", MXO_F32, x32, 2, 5, 7);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[0], 3);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[1], 3);
    for (int g = 0; g < 9; g++) {
        /* a one-column group (the third) holds only halves */
        const uint32_t want = (uint32_t)(127 + g - (g % 3 == 2)) << 23;

        ck_assert_msg(word_at(&c, "scale", g) == want, "group %d: %08x", g,
                      (unsigned)word);
    }
    ck_assert_int_eq(emu_bytes(&c, "q")[0], 0x76); /* 224 */
    ck_assert_int_eq(emu_bytes(&c, "q")[1], 0x7e);
    ck_assert_int_eq(emu_bytes(&c, "q")[6], 0x7e);
    emu_end(&c);
}
END_TEST

START_TEST(size_zero_is_the_whole_axis)
{
    emu_call c;

    fill(3, 4, 3, 4, 240.0f);
    emu_begin(&c, "quant.group",
              "from=f32,rule=aiter_tensor,element=e4m3fnuz,group_rows=0,"
              "group_cols=0");
    emu_in(&c, "x", MXO_F32, x32, 2, 3, 4);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "scale")->rank, 1);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[0], 1);
    ck_assert_uint_eq(word_at(&c, "scale", 0), 0x3f800000);
    ck_assert_int_eq(emu_bytes(&c, "q")[1], 0x7f);
    emu_end(&c);
}
END_TEST

/* Bytes 127, 128 .. of groups 0, 1 ..: little end first in each word. */
START_TEST(packed_words_hold_four_groups)
{
    emu_call c;

    fill(2, 24, 1, 4, 448.0f);
    emu_begin(&c, "quant.group",
              "from=f32,rule=vllm_group,group_cols=4,pow2=1,scale=packed");
    emu_in(&c, "x", MXO_F32, x32, 2, 2, 24);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[1], 2);
    ck_assert_uint_eq(word_at(&c, "scale", 0), 0x8281807f);
    ck_assert_uint_eq(word_at(&c, "scale", 1), 0x00008483);
    ck_assert_uint_eq(word_at(&c, "scale", 2), 0x88878685);
    ck_assert_uint_eq(word_at(&c, "scale", 3), 0x00008a89);
    emu_end(&c);
}
END_TEST

START_TEST(packed_mn_is_word_major_with_tokens_padded_to_four)
{
    emu_call c;

    fill(5, 8, 1, 8, 448.0f);
    emu_begin(&c, "quant.group",
              "from=f32,rule=vllm_group,group_cols=8,pow2=1,scale=packed_mn");
    emu_in(&c, "x", MXO_F32, x32, 2, 5, 8);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[0], 1);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[1], 8);
    for (int t = 0; t < 8; t++) {
        const uint32_t want = t < 5 ? 127 + (uint32_t)t : 0;

        ck_assert_uint_eq(word_at(&c, "scale", t), want);
    }
    emu_end(&c);
}
END_TEST

/* DeepGEMM pads missing FP4 groups with 127 and refuses missing FP8 ones. */
START_TEST(deepgemm_packing_pads_fp4_and_refuses_fp8)
{
    emu_call c;

    fill(1, 20, 1, 4, 6.0f);
    emu_begin(&c, "quant.group",
              "from=f32,element=e2m1,group_cols=4,pow2=1,scale=packed");
    emu_in(&c, "x", MXO_F32, x32, 2, 1, 20);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(word_at(&c, "scale", 0), 0x8281807f);
    ck_assert_uint_eq(word_at(&c, "scale", 1), 0x7f7f7f83);
    ck_assert_int_eq(emu_bytes(&c, "q")[0], 0x75); /* 3 then 6 */
    emu_end(&c);
    emu_begin(&c, "quant.group", "from=f32,group_cols=4,pow2=1,scale=packed");
    emu_in(&c, "x", MXO_F32, x32, 2, 1, 20);
    emu_refuses(&c, MXO_E_SHAPE, "four by four");
}
END_TEST

typedef struct zero_row {
    const char *params;
    uint32_t scale;
} zero_row;

static const zero_row zeros[] = {
    {"from=f32,rule=deepgemm", 0x346facad}, /* 1e-4 / 448 */
    {"from=f32,rule=deepgemm,pow2=1", (uint32_t)105 << 23},
    {"from=f32,rule=vllm_group,pow2=1", (uint32_t)94 << 23},
    {"from=f32,rule=deepgemm_mega,pow2=1", 0x00400000}, /* byte 0 */
    {"from=f32,rule=aiter_token", 0x3f800000},
    {"from=f32,rule=aiter_tensor", 0},
};

START_TEST(zero_groups_have_documented_scales)
{
    emu_call c;

    memset(x32, 0, sizeof x32);
    emu_begin(&c, "quant.group", zeros[_i].params);
    emu_in(&c, "x", MXO_F32, x32, 2, 1, 4);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_msg(word_at(&c, "scale", 0) == zeros[_i].scale, "%s: %08x",
                  zeros[_i].params, (unsigned)word);
    /* 0 / 0 without a floor: the tensor rule makes NaN of zeros */
    ck_assert_int_eq(emu_bytes(&c, "q")[0], _i == 5 ? 0x7f : 0);
    emu_end(&c);
}
END_TEST

START_TEST(groups_of_a_row_keep_the_leading_axes)
{
    emu_call c;

    fill(4, 8, 1, 4, 448.0f);
    emu_begin(&c, "quant.group", "from=f32,group_cols=4");
    emu_in(&c, "x", MXO_F32, x32, 3, 2, 2, 8);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "q")->rank, 3);
    ck_assert_uint_eq(emu_out(&c, "scale")->rank, 3);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[1], 2);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[2], 2);
    for (int g = 0; g < 8; g++) {
        ck_assert_uint_eq(word_at(&c, "scale", g), (uint32_t)(127 + g) << 23);
    }
    emu_end(&c);
}
END_TEST

START_TEST(wrong_parameters_are_refused)
{
    emu_call c;

    emu_begin(&c, "quant.group", "from=f32,scale=e8m0");
    emu_in(&c, "x", MXO_F32, x32, 2, 1, 4);
    emu_refuses(&c, MXO_E_PARAM, "needs pow2=1");
    emu_begin(&c, "quant.group", "from=f32,group_rows=-1");
    emu_in(&c, "x", MXO_F32, x32, 2, 1, 4);
    emu_refuses(&c, MXO_E_PARAM, "whole axis");
    emu_begin(&c, "quant.group", "from=f32,element=e2m1");
    emu_in(&c, "x", MXO_F32, x32, 2, 1, 5);
    emu_refuses(&c, MXO_E_SHAPE, "pair up");
    emu_begin(&c, "quant.group", "from=f32,group_rows=2");
    emu_in(&c, "x", MXO_F32, x32, 3, 1, 2, 4);
    emu_refuses(&c, MXO_E_SHAPE, "rank 3");
    emu_begin(&c, "quant.group", "from=f32,group_rows=2");
    emu_in(&c, "x", MXO_F32, x32, 0);
    emu_refuses(&c, MXO_E_SHAPE, "rank 0");
}
END_TEST

Suite *suite_quant_group(void);
Suite *suite_quant_group(void)
{
    const int n_zeros = (int)(sizeof zeros / sizeof zeros[0]);
    Suite *s = suite_create("quant_group");
    TCase *group = tcase_create("quant.group");

    tcase_add_test(group, rectangles_have_their_own_scales);
    tcase_add_test(group, size_zero_is_the_whole_axis);
    tcase_add_test(group, packed_words_hold_four_groups);
    tcase_add_test(group, packed_mn_is_word_major_with_tokens_padded_to_four);
    tcase_add_test(group, deepgemm_packing_pads_fp4_and_refuses_fp8);
    tcase_add_loop_test(group, zero_groups_have_documented_scales, 0, n_zeros);
    tcase_add_test(group, groups_of_a_row_keep_the_leading_axes);
    tcase_add_test(group, wrong_parameters_are_refused);
    suite_add_tcase(s, group);
    return s;
}
