/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Correctly rounded functions: special values (numerics 6.1) and the hardest
 * inputs of numerics 6.2, whose answers follow from the first terms of
 * sigmoid(x) = 1/2 + x/4 - x^3/48 + ...
 */
#include <mxoracle/act.h>

#include <check.h>
#include <math.h>

typedef struct claim {
    mxo_act_fn fn;
    uint32_t x;
    uint32_t y;
} claim;

static const claim special[] = {
    {MXO_ACT_EXP, 0x00000000, 0x3f800000},
    {MXO_ACT_EXP, 0x80000000, 0x3f800000},
    {MXO_ACT_EXP, 0x7f800000, 0x7f800000},
    {MXO_ACT_EXP, 0xff800000, 0x00000000},
    {MXO_ACT_EXP, 0xffc00001, 0x7fc00000},
    {MXO_ACT_EXP2, 0x42fe0000, 0x7f000000}, /* 127 */
    {MXO_ACT_EXP2, 0x43000000, 0x7f800000}, /* 128: overflow */
    {MXO_ACT_EXP2, 0xc3150000, 0x00000001}, /* -149 */
    {MXO_ACT_EXP2, 0xc3160000, 0x00000000}, /* -150: a tie, to even */
    {MXO_ACT_EXP2, 0xc315ffff, 0x00000001}, /* just above it */
    {MXO_ACT_EXP2, 0x7f7fffff, 0x7f800000},
    {MXO_ACT_EXP2, 0xff7fffff, 0x00000000},
    {MXO_ACT_EXP2, 0xff800000, 0x00000000},
    {MXO_ACT_TANH, 0x80000000, 0x80000000},
    {MXO_ACT_TANH, 0xff800000, 0xbf800000},
    {MXO_ACT_TANH, 0xff7fffff, 0xbf800000},
    {MXO_ACT_TANH, 0x80000001, 0x80000001},
    {MXO_ACT_SIGMOID, 0x00000000, 0x3f000000},
    {MXO_ACT_SIGMOID, 0x7f800000, 0x3f800000},
    {MXO_ACT_SIGMOID, 0xff800000, 0x00000000},
    {MXO_ACT_SIGMOID, 0x7f7fffff, 0x3f800000},
    {MXO_ACT_SIGMOID, 0xff7fffff, 0x00000000},
    {MXO_ACT_SIGMOID, 0x7f800001, 0x7fc00000},
    {MXO_ACT_SILU, 0x00000000, 0x00000000},
    {MXO_ACT_SILU, 0x80000000, 0x80000000},
    {MXO_ACT_SILU, 0x7f800000, 0x7f800000},
    {MXO_ACT_SILU, 0xff800000, 0x7fc00000}, /* -Inf * 0 */
    {MXO_ACT_SILU, 0xffffffff, 0x7fc00000},
    {MXO_ACT_SILU, 0x7f7fffff, 0x7f7fffff},
    {MXO_ACT_SILU, 0xff7fffff, 0x80000000},
};

static const claim hard[] = {
    /* 1/2 - 2^-26 + 2^-72/48: above the tie between 3effffff and 3f000000 */
    {MXO_ACT_SIGMOID, 0xb3800000, 0x3f000000},
    /* 1/2 + 2^-25 - 2^-69/48: below the tie between 3f000000 and 3f000001 */
    {MXO_ACT_SIGMOID, 0x34000000, 0x3f000000},
    /* 1.5 * 2^-21: 1/2 + 3 * 2^-24 is the third code after 1/2 */
    {MXO_ACT_SIGMOID, 0x35400000, 0x3f000003},
    /* silu = x/2 (1 + x/2 - x^3/24): 1 - 2^-25 + 2^-72/24 */
    {MXO_ACT_SILU, 0xb3800000, 0xb3000000},
    {MXO_ACT_SILU, 0x34000000, 0x33800000},
    /* n/2 of the smallest quanta, plus x^2/4 upward on the number line */
    {MXO_ACT_SILU, 0x00000001, 0x00000001},
    {MXO_ACT_SILU, 0x80000001, 0x80000000},
    {MXO_ACT_SILU, 0x00000003, 0x00000002},
    {MXO_ACT_SILU, 0x80000003, 0x80000001},
    {MXO_ACT_SILU, 0x00000005, 0x00000003},
    {MXO_ACT_SILU, 0x80000005, 0x80000002},
    {MXO_ACT_SILU, 0x00000002, 0x00000001},
    {MXO_ACT_SILU, 0x80000002, 0x80000001},
};

static void check_claim(const claim *c)
{
    const mxo_real x = mxo_format_decode(MXO_FMT_F32, c->x);
    const uint64_t y = mxo_act_eval(c->fn, x, MXO_FMT_F32, NULL);

    ck_assert_msg(y == c->y, "function %d of %08x: got %08llx want %08x", c->fn,
                  c->x, (unsigned long long)y, c->y);
}

START_TEST(special_value)
{
    check_claim(&special[_i]);
}
END_TEST

START_TEST(hard_value)
{
    check_claim(&hard[_i]);
}
END_TEST

/* Operands as binary64 numbers, the result in the format. */
static uint64_t gated(double g, double v, double alpha, double beta,
                      mxo_format to)
{
    const double number[4] = {g, v, alpha, beta};
    mxo_real x[4];

    for (int i = 0; i < 4; i++) {
        union {
            double value;
            uint64_t bits;
        } u = {number[i]};
        x[i] = mxo_format_decode(MXO_FMT_F64, u.bits);
    }
    const mxo_act_gated a = {x[0], x[1], x[2], x[3]};

    return mxo_act_gated_eval(&a, to, NULL);
}

START_TEST(zeros_of_the_gated_unit_have_the_sign_of_the_product)
{
    ck_assert_uint_eq(gated(0.0, 1, 1, 1, MXO_FMT_BF16), 0x0000);
    ck_assert_uint_eq(gated(-0.0, 1, 1, 1, MXO_FMT_BF16), 0x8000);
    ck_assert_uint_eq(gated(-0.0, -3, 1, 1, MXO_FMT_BF16), 0x0000);
    /* V + beta = 0 counts as +0 */
    ck_assert_uint_eq(gated(2, -1, 1, 1, MXO_FMT_BF16), 0x0000);
    ck_assert_uint_eq(gated(-2, -1, 1, 1, MXO_FMT_BF16), 0x8000);
    ck_assert_uint_eq(gated(2, -0.0, 1, -0.0, MXO_FMT_BF16), 0x0000);
    ck_assert_uint_eq(gated(0.0, INFINITY, 1, 1, MXO_FMT_BF16), 0x7fc0);
}
END_TEST

START_TEST(infinities_of_the_gated_unit)
{
    ck_assert_uint_eq(gated(-INFINITY, 1, 1, 1, MXO_FMT_F32), 0x7fc00000);
    ck_assert_uint_eq(gated(-INFINITY, 1, -1, 1, MXO_FMT_F32), 0xff800000);
    ck_assert_uint_eq(gated(INFINITY, -3, 1, 1, MXO_FMT_F32), 0xff800000);
    ck_assert_uint_eq(gated(INFINITY, -1, 1, 1, MXO_FMT_F32), 0x7fc00000);
    ck_assert_uint_eq(gated(INFINITY, 1, 0, 1, MXO_FMT_F32), 0x7fc00000);
    ck_assert_uint_eq(gated(2, INFINITY, 1, -INFINITY, MXO_FMT_F32),
                      0x7fc00000);
    ck_assert_uint_eq(gated(-2, INFINITY, 1, 1, MXO_FMT_F32), 0xff800000);
    ck_assert_uint_eq(gated(2, 1, INFINITY, 1, MXO_FMT_F32), 0x40800000);
}
END_TEST

START_TEST(alpha_zero_is_an_exact_half)
{
    ck_assert_uint_eq(gated(3, 1, 0, 1, MXO_FMT_F32), 0x40400000);
    /* (1 + 2^-8)/2 lies between the codes 3f00 and 3f01 */
    ck_assert_uint_eq(gated(1, 1.00390625, 0, 0, MXO_FMT_BF16), 0x3f00);
    ck_assert_uint_eq(gated(1, 1.01171875, 0, 0, MXO_FMT_BF16), 0x3f02);
    /* ... and the smallest part of beta moves it off the tie. */
    ck_assert_uint_eq(gated(1, 1.00390625, 0, 0x1p-1074, MXO_FMT_BF16), 0x3f01);
    ck_assert_uint_eq(gated(1, 1.01171875, 0, -0x1p-1074, MXO_FMT_BF16),
                      0x3f01);
}
END_TEST

START_TEST(ties_of_the_factor_are_decided_by_the_sigmoid)
{
    /* sigmoid(t) -> 1 from below: 257 is a bf16 tie, a hair less goes down */
    ck_assert_uint_eq(gated(257, 1, 1000, 0, MXO_FMT_BF16), 0x4380);
    ck_assert_uint_eq(gated(259, 1, 1000, 0, MXO_FMT_BF16), 0x4381);
    /* sigmoid(t) -> 1/2 from above, from below: 257/2 */
    ck_assert_uint_eq(gated(257, 1, 0x1p-300, 0, MXO_FMT_BF16), 0x4301);
    ck_assert_uint_eq(gated(257, 1, -0x1p-300, 0, MXO_FMT_BF16), 0x4300);
    ck_assert_uint_eq(gated(259, 1, 0x1p-1074, 0, MXO_FMT_BF16), 0x4302);
    ck_assert_uint_eq(gated(259, 1, -0x1p-1074, 0, MXO_FMT_BF16), 0x4301);
}
END_TEST

Suite *suite_act_eval(void);
Suite *suite_act_eval(void)
{
    Suite *s = suite_create("act_eval");
    TCase *t = tcase_create("one variable");

    tcase_add_loop_test(t, special_value, 0,
                        (int)(sizeof special / sizeof special[0]));
    tcase_add_loop_test(t, hard_value, 0, (int)(sizeof hard / sizeof hard[0]));
    suite_add_tcase(s, t);
    t = tcase_create("gated");
    tcase_add_test(t, zeros_of_the_gated_unit_have_the_sign_of_the_product);
    tcase_add_test(t, infinities_of_the_gated_unit);
    tcase_add_test(t, alpha_zero_is_an_exact_half);
    tcase_add_test(t, ties_of_the_factor_are_decided_by_the_sigmoid);
    suite_add_tcase(s, t);
    return s;
}
