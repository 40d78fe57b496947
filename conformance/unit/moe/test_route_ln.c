/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ln and sqrt of binary32 against the C library's binary64 ones: an answer is
 * taken as known if the library's two neighbours round to the same binary32.
 */
#include <mxoracle/route.h>

#include <check.h>
#include <math.h>
#include <string.h>

static uint32_t bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static float number(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

/* 1 and the binary32 of y, if y's error of four units cannot change it. */
static int known(double y, uint32_t *want)
{
    const double slack = fabs(y) * 0x1p-50;
    const float low = (float)(y - slack);
    const float high = (float)(y + slack);

    *want = bits(low);
    return low == high;
}

static void check_ln(uint32_t x)
{
    uint32_t want;

    if (known(log((double)number(x)), &want)) {
        ck_assert_msg(mxo_f32_ln(x) == want, "ln %08x is %08x, not %08x",
                      (unsigned)x, (unsigned)mxo_f32_ln(x), (unsigned)want);
    }
}

START_TEST(logarithms_are_correctly_rounded)
{
    for (uint32_t x = 1; x < 0x7f800000; x += 39119) {
        check_ln(x);
    }
    for (uint32_t i = 1; i < 4000; i++) {
        check_ln(0x3f800000 + i);
        check_ln(0x3f800000 - i);
    }
}
END_TEST

/* 1 + 6 * 2^-23: the exact logarithm lies 72 * 2^-69 above a midpoint, which
   binary64 does not show: 6 * 2^-23 - 36 * 2^-47 + 72 * 2^-69. */
START_TEST(a_logarithm_beside_a_midpoint)
{
    const float below = (float)(6 * 0x1p-23 - 40 * 0x1p-47);
    const float above = (float)(6 * 0x1p-23 - 32 * 0x1p-47);

    ck_assert_uint_eq(bits(above) - bits(below), 1);
    ck_assert_uint_eq(mxo_f32_ln(0x3f800006), bits(above));
}
END_TEST

START_TEST(special_logarithms)
{
    ck_assert_uint_eq(mxo_f32_ln(0x3f800000), 0);
    ck_assert_uint_eq(mxo_f32_ln(0), 0xff800000);
    ck_assert_uint_eq(mxo_f32_ln(0x80000000), 0xff800000);
    ck_assert_uint_eq(mxo_f32_ln(0x7f800000), 0x7f800000);
    ck_assert_uint_eq(mxo_f32_ln(0xbf800000), 0x7fc00000);
    ck_assert_uint_eq(mxo_f32_ln(0x7f800001), 0x7fc00000);
}
END_TEST

/* A binary64 square root rounded to binary32 is correct: 53 >= 2 * 24 + 2. */
START_TEST(square_roots_are_correctly_rounded)
{
    for (uint32_t x = 1; x < 0x7f800000; x += 9973) {
        const uint32_t want = bits((float)sqrt((double)number(x)));

        ck_assert_msg(mxo_f32_sqrt(x) == want, "sqrt %08x is %08x, not %08x",
                      (unsigned)x, (unsigned)mxo_f32_sqrt(x), (unsigned)want);
    }
}
END_TEST

START_TEST(special_square_roots)
{
    ck_assert_uint_eq(mxo_f32_sqrt(0x80000000), 0x80000000);
    ck_assert_uint_eq(mxo_f32_sqrt(0x40800000), 0x40000000);
    ck_assert_uint_eq(mxo_f32_sqrt(0x7f800000), 0x7f800000);
    ck_assert_uint_eq(mxo_f32_sqrt(0xff800000), 0x7fc00000);
    ck_assert_uint_eq(mxo_f32_sqrt(0xbf800000), 0x7fc00000);
}
END_TEST

Suite *suite_route_ln(void);

Suite *suite_route_ln(void)
{
    Suite *s = suite_create("route_ln");
    TCase *ln = tcase_create("mxo_f32_ln");
    TCase *root = tcase_create("mxo_f32_sqrt");

    tcase_add_test(ln, logarithms_are_correctly_rounded);
    tcase_add_test(ln, a_logarithm_beside_a_midpoint);
    tcase_add_test(ln, special_logarithms);
    tcase_add_test(root, square_roots_are_correctly_rounded);
    tcase_add_test(root, special_square_roots);
    suite_add_tcase(s, ln);
    suite_add_tcase(s, root);
    return s;
}
