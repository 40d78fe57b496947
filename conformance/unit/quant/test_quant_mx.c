/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.mx as an operation: which element lands where, which shapes are
 * refused, what padding holds.  Blocks carry a power of two of their own, so
 * that scale bytes and codes tell where they came from.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <string.h>

/* BF16 pattern of 2^exp. */
static uint16_t power(int exp)
{
    return (uint16_t)((127 + exp) << 7);
}

static uint16_t x16[8192];

/* Every block of 32 holds 2^(its number), the element 5 of it 1.5 times. */
static void fill_blocks(int blocks)
{
    for (int i = 0; i < blocks * 32; i++) {
        const uint16_t p = power(i / 32 % 100 - 50);

        x16[i] = i % 32 == 5 ? (uint16_t)(p | 0x40) : p;
    }
}

START_TEST(even_index_is_the_low_nibble)
{
    emu_call c;

    fill_blocks(4);
    emu_begin(&c, "quant.mx", "");
    emu_in(&c, "x", MXO_BF16, x16, 2, 2, 64);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    const uint8_t *q = emu_bytes(&c, "q");

    /* amax = 1.5 * 2^k: floor gives 2^(k-2): 1 -> 4 (code 6), 1.5 -> 6 */
    for (int b = 0; b < 4; b++) {
        ck_assert_int_eq(emu_bytes(&c, "scale")[b], 127 + b - 50 - 2);
        ck_assert_int_eq(q[16 * b + 1], 0x66);
        ck_assert_int_eq(q[16 * b + 2], 0x76); /* elements 4 and 5 */
    }
    emu_end(&c);
}
END_TEST

/* x[i][j] along axis 0 must equal the transpose along axis 1. */
START_TEST(an_axis_is_the_transpose_of_another)
{
    static uint16_t t16[64 * 6];
    emu_call a;
    emu_call b;

    for (int i = 0; i < 64 * 6; i++) {
        x16[i] = (uint16_t)(0x3f00 + (i * 37 & 0xff));
        t16[i % 6 * 64 + i / 6] = x16[i];
    }
    emu_begin(&a, "quant.mx", "axis=0,element=e4m3fn");
    emu_in(&a, "x", MXO_BF16, x16, 2, 64, 6);
    ck_assert_int_eq(emu_run(&a), MXO_OK);
    emu_begin(&b, "quant.mx", "element=e4m3fn");
    emu_in(&b, "x", MXO_BF16, t16, 2, 6, 64);
    ck_assert_int_eq(emu_run(&b), MXO_OK);
    for (int i = 0; i < 64 * 6; i++) {
        ck_assert_msg(emu_bytes(&a, "q")[i] ==
                          emu_bytes(&b, "q")[i % 6 * 64 + i / 6],
                      "element %d", i);
    }
    for (int i = 0; i < 2 * 6; i++) {
        ck_assert_msg(emu_bytes(&a, "scale")[i] ==
                          emu_bytes(&b, "scale")[i % 6 * 2 + i / 6],
                      "scale %d", i);
    }
    emu_end(&a);
    emu_end(&b);
}
END_TEST

START_TEST(a_middle_axis_packs_pairs_along_itself)
{
    emu_call c;

    for (int i = 0; i < 2 * 32 * 3; i++) {
        x16[i] = i / 3 % 32 % 2 ? power(2) : power(1); /* odd rows 4, even 2 */
    }
    emu_begin(&c, "quant.mx", "axis=-2");
    emu_in(&c, "x", MXO_BF16, x16, 3, 2, 32, 3);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "q")->shape[1], 16);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[1], 1);
    for (int i = 0; i < 2 * 16 * 3; i++) {
        ck_assert_int_eq(emu_bytes(&c, "q")[i], 0x64);
    }
    emu_end(&c);
}
END_TEST

START_TEST(short_tails_are_tritons)
{
    emu_call c;

    fill_blocks(2);
    emu_begin(&c, "quant.mx", "rule=triton36_up");
    emu_in(&c, "x", MXO_BF16, x16, 2, 1, 50);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "q")->shape[1], 25);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[1], 2);
    emu_end(&c);
    emu_begin(&c, "quant.mx", "rule=floor");
    emu_in(&c, "x", MXO_BF16, x16, 2, 1, 50);
    emu_refuses(&c, MXO_E_SHAPE, "multiple of 32");
    emu_begin(&c, "quant.mx", "rule=triton36_up");
    emu_in(&c, "x", MXO_BF16, x16, 2, 1, 33);
    emu_refuses(&c, MXO_E_SHAPE, "pair up");
}
END_TEST

START_TEST(alignment_pads_data_and_scales_with_zero)
{
    emu_call c;

    fill_blocks(10);
    emu_begin(&c, "quant.mx", "element=e4m3fn,rule=flashinfer,align=256");
    emu_in(&c, "x", MXO_BF16, x16, 2, 2, 160);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "q")->shape[1], 256);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[1], 8);
    for (int r = 0; r < 2; r++) {
        ck_assert_int_ne(emu_bytes(&c, "q")[256 * r + 159], 0);
        ck_assert_int_ne(emu_bytes(&c, "scale")[8 * r + 4], 0);
        for (int i = 160; i < 256; i++) {
            ck_assert_int_eq(emu_bytes(&c, "q")[256 * r + i], 0);
        }
        for (int i = 5; i < 8; i++) {
            ck_assert_int_eq(emu_bytes(&c, "scale")[8 * r + i], 0);
        }
    }
    emu_end(&c);
}
END_TEST

START_TEST(tiled_scales_keep_their_bytes_and_pad_with_zero)
{
    emu_call c;
    unsigned sum = 0;

    fill_blocks(2 * 3);
    emu_begin(&c, "quant.mx", "sf_layout=128x4");
    emu_in(&c, "x", MXO_BF16, x16, 2, 2, 96);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "scale")->rank, 1);
    ck_assert_uint_eq(emu_out(&c, "scale")->shape[0], 512);
    for (int i = 0; i < 512; i++) {
        sum += emu_bytes(&c, "scale")[i];
    }
    ck_assert_uint_eq(sum, 6 * 75 + 15);              /* 75, 76 .. 80 */
    ck_assert_int_eq(emu_bytes(&c, "scale")[16], 78); /* (1, 0) */
    emu_end(&c);
}
END_TEST

/* Two matrices of two rows: one tiling of four rows, or one each. */
START_TEST(tilings_run_on_or_begin_with_each_matrix)
{
    static const int at[2][4] = {{0, 16, 32, 48}, {0, 16, 512, 528}};
    const char *const params[2] = {"sf_layout=128x4",
                                   "sf_layout=128x4,sf_batch=each"};
    emu_call c;

    fill_blocks(4);
    emu_begin(&c, "quant.mx", params[_i]);
    emu_in(&c, "x", MXO_BF16, x16, 3, 2, 2, 32);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "scale")->n_bytes, 512u * (unsigned)(1 + _i));
    for (int b = 0; b < 4; b++) {
        ck_assert_int_eq(emu_bytes(&c, "scale")[at[_i][b]], 75 + b);
    }
    emu_end(&c);
}
END_TEST

START_TEST(aiter_tiles_say_which_scales_are_defined)
{
    emu_call c;
    unsigned valid = 0;

    fill_blocks(3);
    emu_begin(&c, "quant.mx", "sf_layout=aiter,rule=aiter_hip_even");
    emu_in(&c, "x", MXO_BF16, x16, 2, 3, 32);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "scale_valid")->shape[0], 256);
    for (int i = 0; i < 256 * 8; i++) {
        valid += emu_bytes(&c, "scale_valid")[i];
    }
    ck_assert_uint_eq(valid, 3);
    ck_assert_int_eq(emu_bytes(&c, "scale_valid")[4], 1); /* row 1 */
    emu_end(&c);
}
END_TEST

START_TEST(wrong_parameters_are_refused)
{
    emu_call c;

    emu_begin(&c, "quant.mx", "axis=2");
    emu_in(&c, "x", MXO_BF16, x16, 2, 1, 32);
    emu_refuses(&c, MXO_E_PARAM, "no axis 2");
    emu_begin(&c, "quant.mx", "align=48");
    emu_in(&c, "x", MXO_BF16, x16, 2, 1, 32);
    emu_refuses(&c, MXO_E_PARAM, "align=48");
    emu_begin(&c, "quant.mx", "axis=0,sf_layout=8x4");
    emu_in(&c, "x", MXO_BF16, x16, 2, 32, 2);
    emu_refuses(&c, MXO_E_PARAM, "last axis");
    emu_begin(&c, "quant.mx", "element=e4m3fn,q_layout=aiter_16x16");
    emu_in(&c, "x", MXO_BF16, x16, 2, 16, 64);
    emu_refuses(&c, MXO_E_PARAM, "is for e2m1");
    emu_begin(&c, "quant.mx", "q_layout=aiter_16x16");
    emu_in(&c, "x", MXO_BF16, x16, 2, 15, 64);
    emu_refuses(&c, MXO_E_SHAPE, "multiples of 16");
    emu_begin(&c, "quant.mx", "");
    emu_in(&c, "x", MXO_BF16, x16, 0);
    emu_refuses(&c, MXO_E_PARAM, "rank 0");
}
END_TEST

START_TEST(six_bit_codes_and_int8_take_a_byte_each)
{
    emu_call c;

    fill_blocks(1);
    emu_begin(&c, "quant.mx", "element=e3m2");
    emu_in(&c, "x", MXO_BF16, x16, 1, 32);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_int_eq(emu_bytes(&c, "scale")[0], 127 - 50 - 4);
    ck_assert_int_eq(emu_bytes(&c, "q")[0], 0x1c); /* 16 = 2^4 */
    ck_assert_int_eq(emu_bytes(&c, "q")[5], 0x1e); /* 24 */
    emu_end(&c);
    emu_begin(&c, "quant.mx", "element=int8");
    emu_in(&c, "x", MXO_BF16, x16, 1, 32);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_int_eq(emu_bytes(&c, "scale")[0], 127 - 50);
    ck_assert_int_eq(emu_bytes(&c, "q")[0], 64);
    ck_assert_int_eq(emu_bytes(&c, "q")[5], 96);
    emu_end(&c);
}
END_TEST

START_TEST(an_empty_tensor_is_fine)
{
    emu_call c;

    emu_begin(&c, "quant.mx", "");
    emu_in(&c, "x", MXO_BF16, x16, 2, 0, 64);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "q")->n_bytes, 0);
    emu_end(&c);
}
END_TEST

Suite *suite_quant_mx(void);
Suite *suite_quant_mx(void)
{
    Suite *s = suite_create("quant_mx");
    TCase *t = tcase_create("quant.mx");

    tcase_add_test(t, even_index_is_the_low_nibble);
    tcase_add_test(t, an_axis_is_the_transpose_of_another);
    tcase_add_test(t, a_middle_axis_packs_pairs_along_itself);
    tcase_add_test(t, short_tails_are_tritons);
    tcase_add_test(t, alignment_pads_data_and_scales_with_zero);
    tcase_add_test(t, tiled_scales_keep_their_bytes_and_pad_with_zero);
    tcase_add_loop_test(t, tilings_run_on_or_begin_with_each_matrix, 0, 2);
    tcase_add_test(t, aiter_tiles_say_which_scales_are_defined);
    tcase_add_test(t, wrong_parameters_are_refused);
    tcase_add_test(t, six_bit_codes_and_int8_take_a_byte_each);
    tcase_add_test(t, an_empty_tensor_is_fine);
    suite_add_tcase(s, t);
    return s;
}
