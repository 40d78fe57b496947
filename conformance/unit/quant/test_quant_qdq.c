/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vLLM's MXFP4 emulation: the worked block of docs/ops/quant.qdq.md and the
 * corners it lists for zero, tiny, infinite and NaN blocks in both types.
 */
#include "unit/emu_call.h"

#include <mxoracle/quant.h>

#include <check.h>
#include <string.h>

static uint16_t x[64];

static void run(emu_call *c, const char *params, uint32_t dtype)
{
    emu_begin(c, "quant.qdq", params);
    emu_in(c, "x", dtype, x, 2, 1, 32);
    ck_assert_int_eq(emu_run(c), MXO_OK);
}

static unsigned y_at(const emu_call *c, int i)
{
    uint16_t y;

    memcpy(&y, emu_bytes(c, "y") + 2 * i, 2);
    return y;
}

/* amax 7 -> 8, scale 2; 2.5 / 2 = 1.25 is a tie; 7 / 2 = 3.5 goes to 4. */
START_TEST(the_worked_example_holds)
{
    emu_call c;

    memset(x, 0, sizeof x);
    x[0] = 0x40e0; /* 7 */
    x[1] = 0x4020; /* 2.5 */
    run(&c, "", MXO_BF16);
    ck_assert_int_eq(emu_bytes(&c, "scale")[0], 128);
    ck_assert_uint_eq(y_at(&c, 0), 0x4100); /* 8 */
    ck_assert_uint_eq(y_at(&c, 1), 0x4000); /* 2 */
    ck_assert_int_eq(emu_bytes(&c, "q")[0], 0x26);
    emu_end(&c);
    run(&c, "rule=quark_triton", MXO_BF16);
    ck_assert_int_eq(emu_bytes(&c, "scale")[0], 128);
    ck_assert_uint_eq(y_at(&c, 0), 0x4100);
    ck_assert_uint_eq(y_at(&c, 1), 0x4040); /* 3 */
    emu_end(&c);
}
END_TEST

START_TEST(zero_blocks_are_zero_in_bf16_and_nan_in_fp16)
{
    emu_call c;

    memset(x, 0, sizeof x);
    x[1] = 0x8000;
    run(&c, "", MXO_BF16);
    ck_assert_int_eq(emu_bytes(&c, "scale")[0], 254);
    ck_assert_uint_eq(y_at(&c, 0), 0);
    ck_assert_uint_eq(y_at(&c, 1), 0x8000);
    emu_end(&c);
    run(&c, "from=f16", MXO_F16);
    ck_assert_int_eq(emu_bytes(&c, "scale")[0], 254);
    ck_assert_uint_gt(y_at(&c, 0) & 0x7fff, 0x7c00);
    emu_end(&c);
    run(&c, "rule=quark_triton,from=f16", MXO_F16);
    ck_assert_int_eq(emu_bytes(&c, "scale")[0], 0);
    ck_assert_uint_eq(y_at(&c, 0), 0);
    emu_end(&c);
}
END_TEST

/* Below 0.75 * 2^-126 (bf16) or 0.75 * 2^-14 (fp16) amax rounds to zero. */
START_TEST(the_smallest_maxima_leave_the_type)
{
    ck_assert_int_eq(mxo_quant_quark_hip_byte(MXO_FMT_BF16, 0x00600000), 0);
    ck_assert_int_eq(mxo_quant_quark_hip_byte(MXO_FMT_BF16, 0x005f0000), 254);
    ck_assert_int_eq(mxo_quant_quark_hip_byte(MXO_FMT_F16, 0x38400000), 111);
    ck_assert_int_eq(mxo_quant_quark_hip_byte(MXO_FMT_F16, 0x383fc000), 254);
}
END_TEST

/* 57344 = 1.75 * 2^15 rounds to infinity in fp16, 1.75 * 2^127 in bf16. */
START_TEST(the_largest_maxima_leave_the_type)
{
    ck_assert_int_eq(mxo_quant_quark_hip_byte(MXO_FMT_F16, 0x475fe000), 140);
    ck_assert_int_eq(mxo_quant_quark_hip_byte(MXO_FMT_F16, 0x47600000), 254);
    ck_assert_int_eq(mxo_quant_quark_hip_byte(MXO_FMT_BF16, 0x7f5f0000), 252);
    ck_assert_int_eq(mxo_quant_quark_hip_byte(MXO_FMT_BF16, 0x7f600000), 254);
    ck_assert_int_eq(mxo_quant_quark_hip_byte(MXO_FMT_BF16, 0x7fc00000), 254);
}
END_TEST

START_TEST(nan_becomes_six_times_the_scale)
{
    emu_call c;

    memset(x, 0, sizeof x);
    x[0] = 0x4080; /* 4: scale 1 */
    x[1] = 0xffc0;
    run(&c, "", MXO_BF16);
    ck_assert_int_eq(emu_bytes(&c, "scale")[0], 127);
    ck_assert_uint_eq(y_at(&c, 1), 0x40c0);
    emu_end(&c);
}
END_TEST

START_TEST(dequantising_rounds_once)
{
    /* fp16: 6 * 2^-24 with the scale 2^-24, and the scale flushed below */
    ck_assert_uint_eq(mxo_quant_qdq_value(MXO_FMT_F16, 7, 103, 0), 6);
    ck_assert_uint_eq(mxo_quant_qdq_value(MXO_FMT_F16, 7, 102, 0), 0);
    ck_assert_uint_eq(mxo_quant_qdq_value(MXO_FMT_F16, 1, 143, 0), 0x7c00);
    ck_assert_uint_eq(mxo_quant_qdq_value(MXO_FMT_BF16, 2, 0, 0), 0x0040);
    ck_assert_uint_eq(mxo_quant_qdq_value(MXO_FMT_BF16, 2, 0, 1), 0);
}
END_TEST

START_TEST(a_short_last_axis_is_refused)
{
    emu_call c;

    emu_begin(&c, "quant.qdq", "");
    emu_in(&c, "x", MXO_BF16, x, 2, 2, 16);
    emu_refuses(&c, MXO_E_SHAPE, "multiple of 32");
}
END_TEST

Suite *suite_quant_qdq(void);
Suite *suite_quant_qdq(void)
{
    Suite *s = suite_create("quant_qdq");
    TCase *t = tcase_create("quant.qdq");

    tcase_add_test(t, the_worked_example_holds);
    tcase_add_test(t, zero_blocks_are_zero_in_bf16_and_nan_in_fp16);
    tcase_add_test(t, the_smallest_maxima_leave_the_type);
    tcase_add_test(t, the_largest_maxima_leave_the_type);
    tcase_add_test(t, nan_becomes_six_times_the_scale);
    tcase_add_test(t, dequantising_rounds_once);
    tcase_add_test(t, a_short_last_axis_is_refused);
    suite_add_tcase(s, t);
    return s;
}
