/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of matrix instructions against the worked examples of the
 * measurements, and against one another where two must agree.
 */
#include "unit/emu_call.h"

#include <mxoracle/mma.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 64 };

static uint32_t step(const char *unit, mxo_mma_type type, const uint32_t *a,
                     const uint32_t *b, uint32_t c)
{
    const mxo_mma *m = mxo_mma_find(unit, type);
    const mxo_mma_operand x = {a, NULL, 1, 0};
    const mxo_mma_operand y = {b, NULL, 1, 0};

    ck_assert_ptr_nonnull(m);
    return mxo_mma_step(m, x, y, c);
}

/* All a equal, all b equal. */
static uint32_t even(const char *unit, mxo_mma_type type, uint32_t a,
                     uint32_t b, uint32_t c)
{
    uint32_t x[N];
    uint32_t y[N];

    for (int i = 0; i < N; i++) {
        x[i] = a;
        y[i] = b;
    }
    return step(unit, type, x, y, c);
}

/* The first n a are this, the others zero; all b are this. */
static uint32_t first(const char *unit, mxo_mma_type type, int n, uint32_t a,
                      uint32_t b, uint32_t c)
{
    uint32_t x[N] = {0};
    uint32_t y[N] = {0};

    for (int i = 0; i < n; i++) {
        x[i] = a;
        y[i] = b;
    }
    return step(unit, type, x, y, c);
}

#define WGMMA "hopper_wgmma"

START_TEST(zeros_take_no_part_in_the_alignment)
{
    ck_assert_uint_eq(even(WGMMA, MXO_MMA_BF16, 0, 0x7f00, 0x1a717bff),
                      0x1a717bff);
    ck_assert_uint_eq(even(WGMMA, MXO_MMA_F16, 0, 0x7800, 0x01f295e3),
                      0x01f295e3);
}
END_TEST

START_TEST(fp8_steps_clear_the_low_ten_bits)
{
    ck_assert_uint_eq(even(WGMMA, MXO_MMA_E4M3FN, 0, 0x38, 0x01f295e3),
                      0x01f29400);
    ck_assert_uint_eq(even(WGMMA, MXO_MMA_E4M3FN, 0, 0x38, 0x0025c485),
                      0x0025c400);
    ck_assert_uint_eq(
        even("hopper_mma_sync", MXO_MMA_E4M3FN, 0, 0x38, 0x01f295e3),
        0x01f295e3);
}
END_TEST

START_TEST(a_zero_result_is_plus_zero)
{
    /* -2^-126 * 2^-126 vanishes; c = -0. */
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_BF16, 1, 0x8080, 0x0080, 0x80000000),
                      0);
    ck_assert_uint_eq(even(WGMMA, MXO_MMA_BF16, 0x8000, 0x3f80, 0x80000000), 0);
    /* exact cancellation */
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_BF16, 1, 0xbf80, 0x3f80, 0x3f800000),
                      0);
}
END_TEST

/* c = 1 and eight products: numerics 8.1, worked. */
START_TEST(products_below_the_kept_bits_vanish)
{
    /* 2^-13 * 2^-13 = 2^-26 */
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_BF16, 8, 0x3900, 0x3900, 0x3f800000),
                      0x3f800000);
    /* 2^-12 * 2^-13 = 2^-25, eight of them 2^-22 */
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_BF16, 8, 0x3980, 0x3900, 0x3f800000),
                      0x3f800002);
    /* E4M3: 2^-7 * 2^-7 = 2^-14 */
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_E4M3FN, 1, 0x04, 0x04, 0x3f800000),
                      0x3f800000);
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_E4M3FN, 1, 0x84, 0x04, 0x3f800000),
                      0x3f800000);
    /* Blackwell keeps 25 bits: 1 + 2^-14 */
    ck_assert_uint_eq(
        first("blackwell", MXO_MMA_E4M3FN, 1, 0x04, 0x04, 0x3f800000),
        0x3f800200);
}
END_TEST

START_TEST(overflow_is_infinite_and_nan_is_all_ones)
{
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_BF16, 2, 0x7f00, 0x3f80, 0x7f7fffff),
                      0x7f800000);
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_BF16, 1, 0xff80, 0x3f80, 0x7f800000),
                      0x7fffffff);
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_BF16, 1, 0x7f80, 0x0000, 0x3f800000),
                      0x7fffffff);
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_BF16, 1, 0xff80, 0x3f80, 0x3f800000),
                      0xff800000);
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_E4M3FN, 1, 0xff, 0x38, 0x3f800000),
                      0x7fffffff);
}
END_TEST

START_TEST(tf32_ignores_thirteen_bits)
{
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_TF32, 1, 0x3f801fff, 0x3f800fff, 0),
                      0x3f800000);
    ck_assert_uint_eq(first(WGMMA, MXO_MMA_TF32, 1, 0x3f802000, 0x3f800000, 0),
                      0x3f802000);
}
END_TEST

/* Ampere's k16 instruction is two steps: 2^24, -2^24 in the first half and 1
   in the second survive; in one step of 16 the 1 survives, too, but a 1 in the
   same half as 2^25 does not. */
START_TEST(architectures_differ_in_width)
{
    uint32_t a[N] = {0x4c00, 0x3f80}; /* 2^25, 1 */
    const uint32_t b[N] = {0x3f80, 0x3f80};

    /* F = 25 keeps 1 beside 2^25 until the result is cut; F = 24 cuts it.
       With -2^25 in c the difference shows. */
    ck_assert_uint_eq(step(WGMMA, MXO_MMA_BF16, a, b, 0xcc000000), 0x3f800000);
    ck_assert_uint_eq(step("ampere", MXO_MMA_BF16, a, b, 0xcc000000), 0);
    a[0] = 0x4b80; /* 2^24 */
    ck_assert_uint_eq(step("ampere", MXO_MMA_BF16, a, b, 0xcb800000),
                      0x3f800000);
    ck_assert_uint_eq(step("cdna2", MXO_MMA_BF16, a, b, 0xcb800000), 0);
}
END_TEST

/* The floor of CDNA3 shows in the sign: -2^-40 beside c = 1. */
START_TEST(cdna3_floors)
{
    ck_assert_uint_eq(
        first("cdna3", MXO_MMA_BF16, 1, 0x3580, 0x3580, 0x3f800000),
        0x3f800000);
    /* the sum is floored to -2^-31: 1 - 2^-31 rounds to 1; c = -2^-40 beside
       a product 1 is floored to -2^-24, and 1 - 2^-24 is exact. */
    ck_assert_uint_eq(
        first("cdna3", MXO_MMA_BF16, 1, 0x3f80, 0x3f80, 0xab800000),
        0x3f7fffff);
    ck_assert_uint_eq(
        first("cdna3", MXO_MMA_BF16, 1, 0x3f80, 0x3f80, 0x2b800000),
        0x3f800000);
}
END_TEST

START_TEST(cdna2_flushes_subnormal_operands)
{
    /* f16 0200 = 2^-15 is subnormal. */
    ck_assert_uint_eq(first("cdna2", MXO_MMA_F16, 1, 0x0200, 0x3c00, 0), 0);
    ck_assert_uint_eq(first("cdna1", MXO_MMA_F16, 1, 0x0200, 0x3c00, 0),
                      0x38000000);
}
END_TEST

/* 6 * 6 * 16 = 576, times the scales 2 and 1.5. */
START_TEST(fp4_groups_take_two_scales)
{
    const mxo_mma *m = mxo_mma_find("blackwell_fp4", MXO_MMA_E2M1);
    uint32_t six[N] = {0};
    const uint8_t two[4] = {0x40, 0x40, 0x40, 0x40};
    const uint8_t more[4] = {0xbc, 0x3c, 0x3c, 0x3c}; /* the sign is ignored */
    const uint8_t pow2[2] = {128, 127};
    const uint8_t nan[2] = {127, 255};

    for (int i = 0; i < 16; i++) {
        six[i] = 7;
    }
    ck_assert_uint_eq(mxo_mma_step(m, (mxo_mma_operand){six, two, 16, 1},
                                   (mxo_mma_operand){six, more, 16, 1}, 0),
                      0x44d80000);
    ck_assert_uint_eq(mxo_mma_step(m, (mxo_mma_operand){six, pow2, 32, 0},
                                   (mxo_mma_operand){six, pow2, 32, 0}, 0),
                      0x45100000);
    ck_assert_uint_eq(mxo_mma_step(m, (mxo_mma_operand){six, pow2, 32, 0},
                                   (mxo_mma_operand){six, nan, 32, 0}, 0),
                      0x7fffffff);
}
END_TEST

/* FP8 on CDNA3: even k and odd k are summed apart. */
START_TEST(cdna3_fp8_sums_by_parity)
{
    uint32_t a[N] = {0};
    uint32_t b[N] = {0};

    a[0] = a[1] = b[0] = b[1] = 0x40; /* 1.0 in FNUZ */
    ck_assert_uint_eq(step("cdna3", MXO_MMA_E4M3FNUZ, a, b, 0x3f800000),
                      0x40400000);
    a[2] = 0x80;
    ck_assert_uint_eq(step("cdna3", MXO_MMA_E4M3FNUZ, a, b, 0x3f800000),
                      0x7fffffff);
}
END_TEST

/* Sixteen products 1: by promotion the register counts in binary32. */
START_TEST(promotion_adds_in_binary32)
{
    uint8_t a[128];
    uint8_t b[128];
    const uint32_t c =
        0x46000000; /* 2^13: one FP8 step loses what is below 1 */
    uint32_t d;
    emu_call call;

    memset(a, 0x30, sizeof a); /* 0.5 */
    memset(b, 0x28, sizeof b); /* 0.25: 32 of them 4, minus nothing */
    a[0] = 0x00;               /* 127 * 0.125 = 15.875 */
    for (int promote = 0; promote <= 128; promote += 64) {
        char text[96];
        (void)snprintf(text, sizeof text, "type=e4m3fn,promote=%d", promote);
        emu_begin(&call, "mma.chain", text);
        emu_in(&call, "a", MXO_E4M3, a, 2, 1, 128);
        emu_in(&call, "b", MXO_E4M3, b, 2, 1, 128);
        emu_in(&call, "c", MXO_F32, &c, 2, 1, 1);
        ck_assert_msg(emu_run(&call) == MXO_OK, "%s", call.why);
        memcpy(&d, emu_bytes(&call, "d"), sizeof d);
        /* 8192 with a unit of 1: every 0.125 is cut. */
        ck_assert_msg(d == (promote == 0 ? 0x46000000 : 0x46003f80),
                      "promote=%d: %08x", promote, d);
        emu_end(&call);
    }
}
END_TEST

/* The same step in exact integers: products and c in units of 2^-48, cut at
   2^(E - 24), and the binary16 number nearest to their sum by search. */
static double half_by_search(const double *p, const int *e, int n, double c,
                             int c_exp)
{
    int top = c == 0 ? -133 : c_exp;
    double sum = 0;
    double best = 0;
    unsigned best_code = 0;

    for (int i = 0; i < n; i++) {
        top = p[i] != 0 && e[i] > top ? e[i] : top;
    }
    for (int i = 0; i <= n; i++) {
        sum += ldexp(trunc(ldexp(i < n ? p[i] : c, 24 - top)), top - 24);
    }
    for (unsigned code = 0; code < 0x7c00; code++) {
        const double x = code < 0x400 ? ldexp((double)code, -24)
                                      : ldexp((double)(0x400 | (code & 0x3ff)),
                                              (int)(code >> 10) - 25);
        const double far = fabs(x - fabs(sum));
        const double was = fabs(best - fabs(sum));
        if (far < was || (far == was && code % 2 == 0 && best_code % 2 == 1)) {
            best = x;
            best_code = code;
        }
    }
    return copysign(best, sum);
}

static uint32_t half_code(double x)
{
    const float f = (float)x;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return (uint32_t)mxo_format_convert(MXO_FMT_F16, MXO_FMT_F32, bits,
                                        MXO_TIE_RNE, MXO_NAN_QUIET);
}

/* Turing: eight products, 24 bits. */
START_TEST(binary16_accumulators_round_once_to_nearest)
{
    const mxo_mma *m = mxo_mma_find_half("turing", MXO_MMA_F16);
    uint32_t seed = 1;

    ck_assert_ptr_nonnull(m);
    for (int round = 0; round < 400; round++) {
        uint32_t a[8];
        uint32_t b[8];
        double p[8];
        int e[8];
        const int k = round % 40 - 26;
        const double c =
            ldexp((double)(round * 37 % 1024 - 512), k < -15 ? -24 : k - 8);
        uint32_t c_bits;

        for (int i = 0; i < 8; i++) {
            double x[2];
            for (int j = 0; j < 2; j++) {
                seed = seed * 1664525u + 1013904223u;
                x[j] = ldexp((double)(int)(1024 + (seed >> 12 & 1023)),
                             -10 - (int)(seed >> 28));
                x[j] = seed >> 27 & 1 ? -x[j] : x[j];
            }
            a[i] = half_code(x[0]);
            b[i] = half_code(x[1]);
            p[i] = x[0] * x[1];
            e[i] = (ilogb(x[0]) < -14 ? -14 : ilogb(x[0])) +
                   (ilogb(x[1]) < -14 ? -14 : ilogb(x[1]));
            if (ilogb(x[0]) < -14 || ilogb(x[1]) < -14) { /* not exact then */
                a[i] = 0;
                p[i] = 0;
            }
        }
        const float single = (float)c;
        memcpy(&c_bits, &single, sizeof c_bits);
        const uint32_t got =
            mxo_mma_step(m, (mxo_mma_operand){a, NULL, 1, 0},
                         (mxo_mma_operand){b, NULL, 1, 0}, c_bits);
        const int c_exp = c == 0 || ilogb(c) < -14 ? -14 : ilogb(c);
        const double want = half_by_search(p, e, 8, c, c_exp);
        const float wanted = (float)want;
        uint32_t want_bits;

        memcpy(&want_bits, &wanted, sizeof want_bits);
        ck_assert_msg(got == want_bits, "%d: %08x, not %08x", round, got,
                      want_bits);
    }
}
END_TEST

START_TEST(binary16_accumulators_overflow_and_align_as_binary16)
{
    const mxo_mma *m = mxo_mma_find_half("ampere", MXO_MMA_F16);
    uint32_t big[8] = {0x7bff}; /* 65504 */
    uint32_t one[8] = {0x3c00}; /* 1 */
    /* 2^-12 2^-13 and 2^-20 2^-20 */
    uint32_t x[8] = {0x0c00, 0x0010};
    uint32_t y[8] = {0x0800, 0x0010};
    const mxo_mma_operand by_one = {one, NULL, 1, 0};

    /* 65504 + 8 is 65504, + 16 is a tie to the infinity beyond. */
    ck_assert_uint_eq(
        mxo_mma_step(m, (mxo_mma_operand){big, NULL, 1, 0}, by_one, 0x41000000),
        0x477fe000);
    ck_assert_uint_eq(
        mxo_mma_step(m, (mxo_mma_operand){big, NULL, 1, 0}, by_one, 0x41800000),
        0x7f800000);
    /* c = 2^-23 aligns at 2^-14, so that 2^-40 vanishes below 2^-38 and the
       tie 2^-23 + 2^-25 stays one, which goes to the even 2^-23; aligned at
       its own 2^-23 it would not. */
    ck_assert_uint_eq(mxo_mma_step(m, (mxo_mma_operand){x, NULL, 1, 0},
                                   (mxo_mma_operand){y, NULL, 1, 0},
                                   0x34000000),
                      0x34000000);
    ck_assert_ptr_null(mxo_mma_find_half("ampere", MXO_MMA_BF16));
    ck_assert_ptr_null(mxo_mma_find_half("cdna3", MXO_MMA_F16));
    ck_assert_uint_eq(mxo_mma_find("ampere", MXO_MMA_F16)->mantissa, 23);
}
END_TEST

static void refused(const char *op, const char *params, int k,
                    mxo_status status, const char *word)
{
    static const uint8_t zeros[1024];
    emu_call c;

    emu_begin(&c, op, params);
    emu_in(&c, "a", MXO_BF16, zeros, 2, 2, k);
    emu_in(&c, "b", MXO_BF16, zeros, 2, 2, 16);
    emu_in(&c, "c", MXO_F32, zeros, 1, 3);
    emu_refuses(&c, status, word);
}

START_TEST(what_no_unit_does_is_refused)
{
    refused("mma.step", "unit=volta", 16, MXO_E_PARAM, "volta");
    refused("mma.step", "unit=hopper_wgmma", 24, MXO_E_SHAPE, "multiple");
    refused("mma.step", "unit=hopper_wgmma", 32, MXO_E_SHAPE, "length");
    refused("mma.step", "unit=hopper_wgmma", 16, MXO_E_SHAPE, "rows");
    refused("mma.chain", "unit=hopper_wgmma", 16, MXO_E_SHAPE, "columns");
}
END_TEST

Suite *suite_mma(void);

Suite *suite_mma(void)
{
    Suite *s = suite_create("mma");
    TCase *t = tcase_create("step");

    tcase_add_test(t, zeros_take_no_part_in_the_alignment);
    tcase_add_test(t, fp8_steps_clear_the_low_ten_bits);
    tcase_add_test(t, a_zero_result_is_plus_zero);
    tcase_add_test(t, products_below_the_kept_bits_vanish);
    tcase_add_test(t, overflow_is_infinite_and_nan_is_all_ones);
    tcase_add_test(t, tf32_ignores_thirteen_bits);
    tcase_add_test(t, architectures_differ_in_width);
    tcase_add_test(t, cdna3_floors);
    tcase_add_test(t, cdna2_flushes_subnormal_operands);
    tcase_add_test(t, fp4_groups_take_two_scales);
    tcase_add_test(t, cdna3_fp8_sums_by_parity);
    tcase_add_test(t, promotion_adds_in_binary32);
    tcase_add_test(t, binary16_accumulators_round_once_to_nearest);
    tcase_add_test(t, binary16_accumulators_overflow_and_align_as_binary16);
    tcase_add_test(t, what_no_unit_does_is_refused);
    suite_add_tcase(s, t);
    return s;
}
