/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.static: one division, or one multiplication by a rounded reciprocal.
 * 10.9375 / 7 = 1.5625 is a tie of E4M3 and goes to 1.5; RN32(1/7) lies above
 * 1/7, the product lies above the tie and goes to 1.625.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <math.h>

static int first_code(const char *params, float x, float scale)
{
    emu_call c;

    emu_begin(&c, "quant.static", params);
    emu_in(&c, "x", MXO_F32, &x, 1, 1);
    emu_in(&c, "scale", MXO_F32, &scale, 1, 1);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    const int code = emu_bytes(&c, "q")[0];

    emu_end(&c);
    return code;
}

START_TEST(the_reciprocal_differs_from_the_division)
{
    ck_assert_int_eq(first_code("from=f32", 10.9375f, 7.0f), 0x3c);
    ck_assert_int_eq(first_code("from=f32,apply=reciprocal", 10.9375f, 7.0f),
                     0x3d);
}
END_TEST

START_TEST(overflow_saturates_with_its_sign)
{
    ck_assert_int_eq(first_code("from=f32", -2000.0f, 3.0f), 0xfe);
    ck_assert_int_eq(first_code("from=f32", INFINITY, 3.0f), 0x7e);
    ck_assert_int_eq(first_code("from=f32,element=e5m2", INFINITY, 1.0f), 0x7b);
    ck_assert_int_eq(first_code("from=f32,element=e4m3fnuz", -241.0f, 1.0f),
                     0xff);
}
END_TEST

START_TEST(a_nan_is_kept_or_becomes_the_maximum)
{
    ck_assert_int_eq(first_code("from=f32", NAN, 1.0f) & 0x7f, 0x7f);
    ck_assert_int_eq(first_code("from=f32,nan=max", NAN, 1.0f), 0x7e);
    ck_assert_int_eq(first_code("from=f32", 0.0f, 0.0f) & 0x7f, 0x7f);
}
END_TEST

START_TEST(two_scales_are_refused)
{
    const float x[2] = {1.0f, 2.0f};
    emu_call c;

    emu_begin(&c, "quant.static", "from=f32");
    emu_in(&c, "x", MXO_F32, x, 1, 2);
    emu_in(&c, "scale", MXO_F32, x, 1, 2);
    emu_refuses(&c, MXO_E_SHAPE, "one number");
}
END_TEST

Suite *suite_quant_static(void);
Suite *suite_quant_static(void)
{
    Suite *s = suite_create("quant_static");
    TCase *t = tcase_create("quant.static");

    tcase_add_test(t, the_reciprocal_differs_from_the_division);
    tcase_add_test(t, overflow_saturates_with_its_sign);
    tcase_add_test(t, a_nan_is_kept_or_becomes_the_maximum);
    tcase_add_test(t, two_scales_are_refused);
    suite_add_tcase(s, t);
    return s;
}
