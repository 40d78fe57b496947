/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary32 arithmetic in integers against the host's: sums and products of
 * two floats in double are rounded innocuously (53 >= 2 * 24 + 2 bits).  Where
 * double is not double (x87) the comparison is left out and the fixed cases
 * remain.
 */
#include <mxoracle/format.h>

#include <check.h>
#include <float.h>
#include <string.h>

/* Patterns at which arithmetic goes wrong: ends, subnormals, odd mantissas. */
static const uint32_t patterns[] = {
    0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x80800001,
    0x3f7fffff, 0x3f800000, 0xbf800001, 0x3fffffff, 0x40000000, 0xc0490fdb,
    0x33800000, 0xb3800001, 0x34000000, 0x4b7fffff, 0xcb800001, 0x7e800000,
    0xfeffffff, 0x7f7fffff, 0xff7fffff, 0x1f800000, 0x9f800001, 0x5f7fffff,
    0x0d3f1234, 0x8d3f4321, 0x71234567, 0xf1654321, 0x3eaaaaab, 0xbdcccccd,
};

enum { N_PATTERNS = sizeof patterns / sizeof patterns[0] };

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
static float value(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(double wide)
{
    const float x = (float)wide;
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fc00000 : bits;
}

START_TEST(sums_products_and_quotients_equal_the_hosts)
{
    for (int k = 0; k < N_PATTERNS * N_PATTERNS; k++) {
        const uint32_t a = patterns[k / N_PATTERNS];
        const uint32_t b = patterns[k % N_PATTERNS];
        const double x = value(a);
        const double y = value(b);
        const float quotient = value(a) / value(b);

        ck_assert_msg(mxo_f32_add(a, b) == bits_of(x + y), "%08x + %08x", a, b);
        ck_assert_msg(mxo_f32_sub(a, b) == bits_of(x - y), "%08x - %08x", a, b);
        ck_assert_msg(mxo_f32_mul(a, b) == bits_of(x * y), "%08x * %08x", a, b);
        ck_assert_msg(mxo_f32_div(a, b) == bits_of(quotient), "%08x / %08x", a,
                      b);
        ck_assert_msg(mxo_f32_fma(a, 0x3f800000, b) == bits_of(x + y),
                      "%08x * 1 + %08x", a, b);
        const int order = (x > y) - (x < y);
        ck_assert_msg(mxo_f32_cmp(a, b) == order, "%08x ? %08x", a, b);
    }
}
END_TEST
#endif

typedef struct fma_case {
    uint32_t a;
    uint32_t b;
    uint32_t c;
    uint32_t want;
} fma_case;

START_TEST(fma_rounds_once)
{
    static const fma_case cases[] = {
        /* (1 + 2^-23)^2 - (1 + 2^-22) = 2^-46 */
        {0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
        /* (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, a tie; a speck decides */
        {0x3f800800, 0x3f800800, 0x00000000, 0x3f801000},
        {0x3f800800, 0x3f800800, 0x0d800000, 0x3f801001},
        {0x3f800800, 0x3f800800, 0x8d800000, 0x3f801000},
        /* largest^2 - infinity, 0 * infinity + 1, exact cancellation */
        {0x7f7fffff, 0x7f7fffff, 0xff800000, 0xff800000},
        {0x00000000, 0x7f800000, 0x3f800000, 0x7fc00000},
        {0x40000000, 0x3f800000, 0xc0000000, 0x00000000},
        /* -0 only if both are */
        {0x80000000, 0x3f800000, 0x80000000, 0x80000000},
        {0x80000000, 0x3f800000, 0x00000000, 0x00000000},
    };
    const fma_case *f = &cases[_i];

    ck_assert_uint_eq(mxo_f32_fma(f->a, f->b, f->c), f->want);
}
END_TEST

START_TEST(infinities_and_nans)
{
    const uint32_t inf = 0x7f800000;
    const uint32_t nan = 0x7fc00000;

    ck_assert_uint_eq(mxo_f32_add(inf, inf | 1u << 31), nan);
    ck_assert_uint_eq(mxo_f32_add(inf, 0xff7fffff), inf);
    ck_assert_uint_eq(mxo_f32_sub(inf, inf), nan);
    ck_assert_uint_eq(mxo_f32_mul(inf, 0x80000000), nan);
    ck_assert_uint_eq(mxo_f32_div(inf, inf), nan);
    ck_assert_uint_eq(mxo_f32_div(0, 0x80000000), nan);
    ck_assert_uint_eq(mxo_f32_div(0xbf800000, 0), 0xff800000);
    ck_assert_uint_eq(mxo_f32_div(0xbf800000, inf), 0x80000000);
    ck_assert_uint_eq(mxo_f32_add(0xffc12345, 0x3f800000), nan);
    ck_assert_int_eq(mxo_f32_cmp(nan, nan), 2);
    ck_assert_int_eq(mxo_f32_cmp(0x80000000, 0), 0);
    ck_assert_int_eq(mxo_f32_cmp(0xff800000, 0xff7fffff), -1);
}
END_TEST

START_TEST(subnormals_are_kept_unless_flushed)
{
    ck_assert_uint_eq(mxo_f32_mul(0x00800000, 0x3f000000), 0x00400000);
    ck_assert_uint_eq(mxo_f32_mul(0x00000001, 0x3f000000), 0x00000000);
    ck_assert_uint_eq(mxo_f32_mul(0x00000003, 0x3f000000), 0x00000002);
    ck_assert_uint_eq(mxo_f32_ftz(0x807fffff), 0x80000000);
    ck_assert_uint_eq(mxo_f32_ftz(0x80800000), 0x80800000);
    ck_assert_uint_eq(mxo_f32_ftz(0x7fc00001), 0x7fc00001);
}
END_TEST

START_TEST(doubles_round_to_nearest_even)
{
    ck_assert_uint_eq(mxo_f32_from_f64(1.702), 0x3fd9db23);
    ck_assert_uint_eq(mxo_f32_from_f64(-0.0), 0x80000000);
    ck_assert_uint_eq(mxo_f32_from_f64(16777217.0), 0x4b800000);
    ck_assert_uint_eq(mxo_f32_from_f64(16777219.0), 0x4b800002);
    ck_assert_uint_eq(mxo_f32_from_f64(1e300), 0x7f800000);
}
END_TEST

Suite *suite_format_f32(void);
Suite *suite_format_f32(void)
{
    Suite *s = suite_create("format_f32");
    TCase *t = tcase_create("f32");

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
    tcase_add_test(t, sums_products_and_quotients_equal_the_hosts);
#endif
    tcase_add_loop_test(t, fma_rounds_once, 0, 9);
    tcase_add_test(t, infinities_and_nans);
    tcase_add_test(t, subnormals_are_kept_unless_flushed);
    tcase_add_test(t, doubles_round_to_nearest_even);
    suite_add_tcase(s, t);
    return s;
}
