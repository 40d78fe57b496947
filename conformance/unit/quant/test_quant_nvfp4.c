/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVFP4.  The exact rule is checked against a search for the nearest code in
 * integers; the stepwise rules against the source's worked example and their
 * documented corners.
 */
#include "unit/emu_call.h"

#include <mxoracle/quant.h>

#include <check.h>
#include <string.h>

#define QNAN 0x7fc00000u
#define INF 0x7f800000u

static const mxo_nvfp4_rule fast_rn = {.math = MXO_NVFP4_FAST};
static const mxo_nvfp4_rule fast = {.math = MXO_NVFP4_FAST, .rcp_hopper = 1};
static const mxo_nvfp4_rule ieee = {.math = MXO_NVFP4_IEEE};
static const mxo_nvfp4_rule exact = {.math = MXO_NVFP4_EXACT};
static const mxo_nvfp4_rule *const rules[] = {&fast_rn, &fast, &ieee, &exact};

static uint32_t f32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* docs/ops/quant.nvfp4.md: [1, .5, -3, 0] * 4, g = 896: sf 7e, 24 0f .. */
START_TEST(the_worked_example_holds_in_every_mode)
{
    static const int want[4] = {4, 2, 15, 0};
    const float values[4] = {1.0f, 0.5f, -3.0f, 0.0f};
    uint32_t x[16];
    uint8_t q[16];

    for (int i = 0; i < 16; i++) {
        x[i] = f32(values[i % 4]);
    }
    ck_assert_int_eq(mxo_quant_nvfp4(rules[_i], f32(896.0f), q, x, 16), 0x7e);
    for (int i = 0; i < 16; i++) {
        ck_assert_msg(q[i] == want[i % 4], "element %d: %d", i, q[i]);
    }
}
END_TEST

START_TEST(zero_and_subnormal_blocks_are_zero)
{
    const uint32_t x[2] = {0x80000000u, 0x00000001};
    uint8_t q[2];

    ck_assert_int_eq(mxo_quant_nvfp4(rules[_i], f32(1.0f), q, x, 2), 0);
    ck_assert_int_eq(q[0], 8);
    ck_assert_int_eq(q[1], 0);
}
END_TEST

START_TEST(nan_is_dropped_from_the_maximum_and_becomes_six)
{
    const uint32_t some[3] = {QNAN, f32(6.0f), 0xffc00000u};
    const uint32_t all[2] = {QNAN, 0xffc00000u};
    uint8_t q[3];

    ck_assert_int_eq(mxo_quant_nvfp4(rules[_i], f32(1.0f), q, some, 3), 0x38);
    ck_assert_int_eq(q[0], 7);
    ck_assert_int_eq(q[1], 7);
    ck_assert_int_eq(q[2], 7);
    ck_assert_int_eq(mxo_quant_nvfp4(rules[_i], f32(1.0f), q, all, 2), 0x7f);
    ck_assert_int_eq(q[0], 7);
    ck_assert_int_eq(q[1], 7);
}
END_TEST

/* sf rounds to 0 although amax is not 0: Inf, FLT_MAX or 0 multiply. */
START_TEST(a_vanishing_scale_shows_the_mode)
{
    const uint32_t x[3] = {f32(0x1p-20f), f32(-0x1p-20f), 0};
    uint8_t q[3];

    ck_assert_int_eq(mxo_quant_nvfp4(&fast, f32(1.0f), q, x, 3), 0);
    ck_assert_int_eq(q[0], 7);
    ck_assert_int_eq(q[1], 15);
    ck_assert_int_eq(q[2], 7); /* 0 * Inf */
    ck_assert_int_eq(mxo_quant_nvfp4(&ieee, f32(1.0f), q, x, 3), 0);
    ck_assert_int_eq(q[0], 7);
    ck_assert_int_eq(q[2], 0);
    ck_assert_int_eq(mxo_quant_nvfp4(&exact, f32(1.0f), q, x, 3), 0);
    ck_assert_int_eq(q[0], 0);
    ck_assert_int_eq(q[1], 8);
}
END_TEST

/* fmin(NaN, FLT_MAX) is FLT_MAX, so that signs survive in that mode only. */
START_TEST(a_nan_global_scale_shows_the_mode)
{
    const uint32_t x[1] = {f32(-1.0f)};
    uint8_t q[1];

    ck_assert_int_eq(mxo_quant_nvfp4(&ieee, QNAN, q, x, 1), 0x7f);
    ck_assert_int_eq(q[0], 15);
    ck_assert_int_eq(mxo_quant_nvfp4(&fast, QNAN, q, x, 1), 0x7f);
    ck_assert_int_eq(q[0], 7);
    ck_assert_int_eq(mxo_quant_nvfp4(&exact, QNAN, q, x, 1), 0x7f);
    ck_assert_int_eq(q[0], 7);
}
END_TEST

START_TEST(an_infinite_element_saturates_the_scale)
{
    const uint32_t x[3] = {INF, f32(448.0f), INF | 0x80000000u};
    uint8_t q[3];

    ck_assert_int_eq(mxo_quant_nvfp4(rules[_i], f32(1.0f), q, x, 3), 0x7e);
    ck_assert_int_eq(q[0], 7);
    ck_assert_int_eq(q[1], 2);
    ck_assert_int_eq(q[2], 15);
}
END_TEST

/* An E4M3 magnitude code in units of 2^-9. */
static int64_t e4m3_units(int code)
{
    return code < 8 ? code : (int64_t)(8 + code % 8) << (code / 8 - 1);
}

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

/* Nearest value of n ascending ones to x, ties to the even index. */
static int nearest(int64_t x, int64_t unit, const int64_t *values, int n)
{
    int best = 0;

    for (int i = 1; i < n; i++) {
        const int64_t now = distance(x, unit * values[i]);
        const int64_t so_far = distance(x, unit * values[best]);

        if (now < so_far || (now == so_far && i % 2 == 0)) {
            best = i;
        }
    }
    return best;
}

static void expect_exact(int g, const int *xs, int n)
{
    static const int64_t halves[8] = {0, 1, 2, 3, 4, 6, 8, 12};
    int64_t scales[127];
    uint32_t x[16];
    uint8_t q[16];
    int amax = 0;

    for (int i = 0; i < 127; i++) {
        scales[i] = e4m3_units(i);
    }
    for (int i = 0; i < n; i++) {
        x[i] = f32((float)xs[i] * 0x1p-9f);
        amax = xs[i] > amax ? xs[i] : amax;
    }
    /* g * amax / 6 and a scale, both in 2^-9: compare g * amax with 6 * s. */
    const int sf = nearest((int64_t)g * amax, 6, scales, 127);
    const int got = mxo_quant_nvfp4(&exact, f32((float)g), q, x, (size_t)n);

    ck_assert_msg(got == sf, "g %d amax %d: got %02x want %02x", g, amax,
                  (unsigned)got, (unsigned)sf);
    for (int i = 0; i < n && sf > 0; i++) {
        const int want = nearest(2 * (int64_t)g * xs[i], scales[sf], halves, 8);

        ck_assert_msg(q[i] == want, "g %d amax %d x %d: got %d want %d", g,
                      amax, xs[i], q[i], want);
    }
}

START_TEST(exact_blocks_are_the_nearest_codes)
{
    for (int g = 1; g < 900; g += 7) {
        int xs[16];

        for (int i = 0; i < 16; i++) {
            xs[i] = (g * 31 + i * i * 77) % 4099;
        }
        expect_exact(g, xs, 16);
    }
}
END_TEST

/* 6 * 2^k times a scale of 2^k: ties by hand, all seven in one block. */
START_TEST(exact_ties_go_to_the_even_code)
{
    const int xs[8] = {24, 1, 3, 5, 7, 10, 14, 20}; /* quarters, amax 6 */

    expect_exact(
        1, (const int[]){24 * 128, 128, 384, 640, 896, 1280, 1792, 2560}, 8);
    expect_exact(3, xs, 8);
}
END_TEST

START_TEST(e4m3_input_goes_through_fp16)
{
    const mxo_nvfp4_rule rule = {.math = MXO_NVFP4_FAST, .from_e4m3 = 1};
    const uint32_t x[2] = {f32(1.0f), f32(-0.5f)};
    uint8_t q[2];

    /* h = 6x, s = amax(h)/6 = 1, o = 1: codes 6 and -3 */
    ck_assert_int_eq(mxo_quant_nvfp4(&rule, f32(1.0f), q, x, 2), 0x38);
    ck_assert_int_eq(q[0], 7);
    ck_assert_int_eq(q[1], 13);
}
END_TEST

static const uint16_t ones[4 * 64] = {0x3f80, 0x3f80, 0x3f80, 0x3f80};

START_TEST(a_global_scale_may_be_one_per_row)
{
    const float g[2] = {1.0f, 6.0f};
    uint16_t x[2 * 16];
    emu_call c;

    for (int i = 0; i < 32; i++) {
        x[i] = 0x3f80;
    }
    emu_begin(&c, "quant.nvfp4", "rcp=rn");
    emu_in(&c, "x", MXO_BF16, x, 2, 2, 16);
    emu_in(&c, "global_scale", MXO_F32, g, 1, 2);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_int_eq(emu_bytes(&c, "scale")[0], 0x23); /* 0.171875 */
    ck_assert_int_eq(emu_bytes(&c, "scale")[1], 0x38); /* 1 */
    ck_assert_int_eq(emu_bytes(&c, "q")[15], 0x77);
    emu_end(&c);
}
END_TEST

START_TEST(wrong_calls_are_refused)
{
    const float g[3] = {1.0f, 1.0f, 1.0f};
    emu_call c;

    emu_begin(&c, "quant.nvfp4", "");
    emu_in(&c, "x", MXO_BF16, ones, 2, 2, 32);
    emu_in(&c, "global_scale", MXO_F32, g, 1, 3);
    emu_refuses(&c, MXO_E_SHAPE, "one per row");
    emu_begin(&c, "quant.nvfp4", "global=0");
    emu_in(&c, "x", MXO_BF16, ones, 2, 2, 24);
    emu_refuses(&c, MXO_E_SHAPE, "multiple of 16");
    emu_begin(&c, "quant.nvfp4", "global=0,math=exact,scale=e8m0");
    emu_in(&c, "x", MXO_BF16, ones, 2, 2, 32);
    emu_refuses(&c, MXO_E_PARAM, "rceil_exact");
    emu_begin(&c, "quant.nvfp4", "global=0,math=ieee,from=e4m3");
    emu_in(&c, "x", MXO_E4M3, ones, 2, 2, 32);
    emu_refuses(&c, MXO_E_PARAM, "math=ieee");
}
END_TEST

Suite *suite_quant_nvfp4(void);
Suite *suite_quant_nvfp4(void)
{
    Suite *s = suite_create("quant_nvfp4");
    TCase *block = tcase_create("mxo_quant_nvfp4");
    TCase *op = tcase_create("quant.nvfp4");

    tcase_add_loop_test(block, the_worked_example_holds_in_every_mode, 0, 4);
    tcase_add_loop_test(block, zero_and_subnormal_blocks_are_zero, 0, 4);
    tcase_add_loop_test(block, nan_is_dropped_from_the_maximum_and_becomes_six,
                        0, 4);
    tcase_add_loop_test(block, an_infinite_element_saturates_the_scale, 0, 4);
    tcase_add_test(block, a_vanishing_scale_shows_the_mode);
    tcase_add_test(block, a_nan_global_scale_shows_the_mode);
    tcase_add_test(block, exact_blocks_are_the_nearest_codes);
    tcase_add_test(block, exact_ties_go_to_the_even_code);
    tcase_add_test(block, e4m3_input_goes_through_fp16);
    tcase_add_test(op, a_global_scale_may_be_one_per_row);
    tcase_add_test(op, wrong_calls_are_refused);
    suite_add_tcase(s, block);
    suite_add_tcase(s, op);
    return s;
}
