/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logarithm against values computed elsewhere to 40 digits, at powers of
 * two, and against the host's double log2 where that decides.
 */
#include <mxoracle/format.h>

#include <check.h>
#include <math.h>
#include <string.h>

static uint32_t bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

START_TEST(powers_of_two_are_exact)
{
    ck_assert_uint_eq(mxo_lg2_rn(bits(1)), 0);
    ck_assert_uint_eq(mxo_lg2_rn(bits(8)), bits(3));
    ck_assert_uint_eq(mxo_lg2_rn(bits(0.125f)), bits(-3));
    ck_assert_uint_eq(mxo_lg2_rn(1), bits(-149));
    ck_assert_uint_eq(mxo_lg2_rn(0x7f000000), bits(127));
}
END_TEST

START_TEST(specials)
{
    ck_assert_uint_eq(mxo_lg2_rn(0), 0xff800000);
    ck_assert_uint_eq(mxo_lg2_rn(0x80000000), 0xff800000);
    ck_assert_uint_eq(mxo_lg2_rn(0x7f800000), 0x7f800000);
    ck_assert_uint_eq(mxo_lg2_rn(0xff800000), 0x7fc00000);
    ck_assert_uint_eq(mxo_lg2_rn(bits(-1)), 0x7fc00000);
    ck_assert_uint_eq(mxo_lg2_rn(0x7f800001), 0x7fc00000);
}
END_TEST

/* log2(6) = 2.5849625007211561814537389439478165; 1 +- 2^-23 or 2^-24. */
START_TEST(known_digits)
{
    ck_assert_uint_eq(mxo_lg2_rn(bits(6)), 0x40257007);
    ck_assert_uint_eq(mxo_lg2_rn(0x3f800001), bits(0x1.715475p-23f));
    ck_assert_uint_eq(mxo_lg2_rn(0x3f7fffff), bits(-0x1.715477p-24f));
}
END_TEST

/* Where a double a few units off rounds as its neighbours do, it decides. */
START_TEST(agrees_with_a_double_that_decides)
{
    uint32_t s = 1;
    int decided = 0;

    for (int i = 0; i < 20000; i++) {
        s = s * 1664525u + 1013904223u;
        const uint32_t x =
            i % 2 == 0 ? s & 0x7f7fffff : 0x3f000000 + (s >> 8 & 0xffffff);
        float f;
        memcpy(&f, &x, sizeof f);
        const double y = log2((double)f);
        const float low = (float)(y * (1 - 0x1p-50));
        if (x != 0 && low == (float)(y * (1 + 0x1p-50))) {
            decided++;
            ck_assert_msg(mxo_lg2_rn(x) == bits(low), "%08x", x);
        }
    }
    ck_assert_int_gt(decided, 19000);
}
END_TEST

Suite *suite_format_lg2(void);

Suite *suite_format_lg2(void)
{
    Suite *s = suite_create("format_lg2");
    TCase *t = tcase_create("lg2");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, powers_of_two_are_exact);
    tcase_add_test(t, specials);
    tcase_add_test(t, known_digits);
    tcase_add_test(t, agrees_with_a_double_that_decides);
    suite_add_tcase(s, t);
    return s;
}
