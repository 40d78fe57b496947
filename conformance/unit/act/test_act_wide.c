/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier 2: ln 2 by another series, tier 2 in the place of tier 1 on a sample,
 * and inputs that need more than its first precision.
 */
#include "act/limbs.h"
#include "act/ln2.h"
#include "act/problem.h"

#include <mxoracle/act.h>

#include <check.h>
#include <string.h>

enum { LIMBS = MXO_LN2_WORDS + 4, POINT = LIMBS - 1 };

/* sum += or -= factor * artanh(1/n) */
static void add_artanh(uint32_t *sum, uint32_t n, uint32_t factor, int minus)
{
    uint32_t power[LIMBS] = {0};
    uint32_t term[LIMBS];
    uint32_t any = 1;

    power[POINT] = factor;
    mxo_limbs_div_small(power, LIMBS, n);
    for (uint32_t k = 1; any != 0; k += 2) {
        memcpy(term, power, sizeof term);
        mxo_limbs_div_small(term, LIMBS, k);
        if (minus) {
            (void)mxo_limbs_sub(sum, term, LIMBS);
        } else {
            (void)mxo_limbs_add(sum, term, LIMBS);
        }
        mxo_limbs_div_small(power, LIMBS, n);
        mxo_limbs_div_small(power, LIMBS, n);
        any = 0;
        for (int i = 0; i < LIMBS; i++) {
            any |= power[i];
        }
    }
}

START_TEST(ln2_is_a_sum_of_three_artanh)
{
    uint32_t sum[LIMBS] = {0};

    add_artanh(sum, 26, 18, 0);
    add_artanh(sum, 8749, 8, 0);
    add_artanh(sum, 4801, 2, 1);
    /* Three spare words hold the rounding of the series. */
    ck_assert_uint_eq(sum[POINT], 0);
    for (int i = 0; i < MXO_LN2_WORDS; i++) {
        ck_assert_msg(sum[POINT - 1 - i] == mxo_ln2[i], "word %d", i);
    }
}
END_TEST

static const mxo_format formats[] = {MXO_FMT_BF16, MXO_FMT_F16, MXO_FMT_F32,
                                     MXO_FMT_F64};

/* Pseudo-random binary32 operands with |t| from 2^-26 to 2^8. */
static mxo_act_problem sample(uint32_t i)
{
    const uint32_t noise = i * 2654435761u;
    const uint32_t exponent = 101 + noise % 34;
    const uint32_t x =
        (noise & 0x80000000) | exponent << 23 | (noise >> 3 & 0x7fffff);
    const mxo_real t = mxo_format_decode(MXO_FMT_F32, x);
    mxo_act_problem p = {0};

    p.fn = (uint8_t)(i % 4 == MXO_F_TANH ? MXO_F_SIGMOID : i % 4);
    p.t.lo = t.mant;
    p.t_exp = t.exp;
    p.t_neg = t.neg;
    p.neg = (uint8_t)(i >> 2 & 1);
    p.has_factor = (uint8_t)(i % 4 == MXO_F_TANH);
    p.g = t;
    p.v = mxo_format_decode(MXO_FMT_F32, 0x40490fdb ^ noise << 9 >> 9);
    p.b = mxo_format_decode(MXO_FMT_F32, 0x3f800000 | (noise & 0x807fff00));
    return p;
}

START_TEST(tier_2_alone_agrees_with_both_tiers)
{
    for (uint32_t i = 0; i < 250; i++) {
        const mxo_act_problem p = sample((uint32_t)_i * 250 + i);
        const mxo_format to = formats[i % 4];
        uint32_t bits;
        const uint64_t both = mxo_act_solve(&p, to, &bits);
        const uint64_t wide = mxo_act_wide(&p, to, &bits);

        ck_assert_msg(both == wide,
                      "function %d, |t| = %llx * 2^%d: %llx, %llx", p.fn,
                      (unsigned long long)p.t.lo, (int)p.t_exp,
                      (unsigned long long)both, (unsigned long long)wide);
        ck_assert_msg(bits == 256, "%u bits", (unsigned)bits);
    }
}
END_TEST

static mxo_real power(int64_t mant, int exp)
{
    const mxo_real x = {(uint64_t)(mant < 0 ? -mant : mant), exp,
                        MXO_CLASS_FINITE, mant < 0, 0};

    return x;
}

/*
 * y = 257 (1 + s) sigmoid(t) with t = m s: 257/2 (1 + s)(1 + t/2 - ...) lies
 * beside the bf16 tie 128.5, at a relative distance of about (1 + m/2) s, or
 * of s^2 below it if m = -2.
 */
static uint32_t beside_tie(int s_lg, int m, uint64_t want)
{
    const mxo_act_gated a = {power(1, 0), power(257, 0), power(m, s_lg),
                             power(257, s_lg)};
    uint32_t bits;
    const uint64_t y = mxo_act_gated_eval(&a, MXO_FMT_BF16, &bits);

    ck_assert_msg(y == want, "s = 2^%d, t = %d s: %llx", s_lg, m,
                  (unsigned long long)y);
    return bits;
}

START_TEST(precision_doubles_until_the_tie_is_left)
{
    ck_assert_uint_eq(beside_tie(-100, 1, 0x4301), 256);
    ck_assert_uint_eq(beside_tie(-100, -3, 0x4300), 256);
    ck_assert_uint_eq(beside_tie(-340, 1, 0x4301), 256);
    ck_assert_uint_eq(beside_tie(-340, -3, 0x4300), 512);
    ck_assert_uint_eq(beside_tie(-300, -2, 0x4300), 1024);
    ck_assert_uint_eq(beside_tie(-1000, -2, 0x4300), 2048);
}
END_TEST

START_TEST(the_smallest_argument_decides_a_tie_of_binary64)
{
    /* 3 * 3002399751580331 = 2^53 + 1; half of it lies between two codes */
    mxo_act_gated a = {power(3, 0), power(INT64_C(3002399751580331), 0),
                       power(1, -1074), power(0, 0)};
    uint32_t bits;

    a.beta.cls = MXO_CLASS_ZERO;
    ck_assert_uint_eq(mxo_act_gated_eval(&a, MXO_FMT_F64, &bits),
                      UINT64_C(0x4330000000000001));
    ck_assert_uint_eq(bits, 256);
    a.alpha.neg = 1;
    ck_assert_uint_eq(mxo_act_gated_eval(&a, MXO_FMT_F64, &bits),
                      UINT64_C(0x4330000000000000));
    ck_assert_uint_eq(bits, 256);
}
END_TEST

START_TEST(a_sum_wider_than_the_first_precision_is_not_cut_wrongly)
{
    /* V = +-257, beta = 2^-1074, alpha = 0: the tie 257/2 and a hair */
    mxo_act_gated a = {power(1, 0), power(257, 0), power(0, 0),
                       power(1, -1074)};
    uint32_t bits;

    a.alpha.cls = MXO_CLASS_ZERO;
    ck_assert_uint_eq(mxo_act_gated_eval(&a, MXO_FMT_BF16, &bits), 0x4301);
    a.beta.neg = 1;
    ck_assert_uint_eq(mxo_act_gated_eval(&a, MXO_FMT_BF16, &bits), 0x4300);
    a.up.neg = 1;
    ck_assert_uint_eq(mxo_act_gated_eval(&a, MXO_FMT_BF16, &bits), 0xc301);
    ck_assert_uint_eq(bits, 256);
}
END_TEST

START_TEST(tanh_needs_more_bits_beside_a_tie)
{
    /* tanh(257 q) = 257 q - ..., a bf16 tie less 2^-400 of itself: down */
    uint32_t bits;

    ck_assert_uint_eq(
        mxo_act_eval(MXO_ACT_TANH, power(257, -100), MXO_FMT_BF16, &bits),
        0x1180);
    ck_assert_uint_eq(bits, 256);
    /* 2^-1066: the result itself is beyond the first precisions */
    ck_assert_uint_eq(
        mxo_act_eval(MXO_ACT_TANH, power(-1, -1066), MXO_FMT_F64, &bits),
        UINT64_C(0x8000000000000100));
    ck_assert_uint_eq(bits, 1024);
}
END_TEST

START_TEST(tier_2_alone_knows_the_ends)
{
    mxo_act_problem p = {0};
    uint32_t bits;

    p.t.lo = 1;
    p.t_exp = MXO_ACT_T_LG;
    p.fn = MXO_F_EXP;
    ck_assert_uint_eq(mxo_act_wide(&p, MXO_FMT_F32, &bits), 0x7f800000);
    p.t_neg = 1;
    ck_assert_uint_eq(mxo_act_wide(&p, MXO_FMT_F32, &bits), 0);
    p.fn = MXO_F_SIGMOID;
    ck_assert_uint_eq(mxo_act_wide(&p, MXO_FMT_F32, &bits), 0);
    p.t_neg = 0;
    ck_assert_uint_eq(mxo_act_wide(&p, MXO_FMT_F32, &bits), 0x3f800000);
    p.fn = MXO_F_TANH;
    p.neg = 1;
    ck_assert_uint_eq(mxo_act_wide(&p, MXO_FMT_F32, &bits), 0xbf800000);
}
END_TEST

Suite *suite_act_wide(void);
Suite *suite_act_wide(void)
{
    Suite *s = suite_create("act_wide");
    TCase *t = tcase_create("ln2");

    tcase_add_test(t, ln2_is_a_sum_of_three_artanh);
    suite_add_tcase(s, t);
    t = tcase_create("tier 2");
    tcase_add_loop_test(t, tier_2_alone_agrees_with_both_tiers, 0, 40);
    tcase_add_test(t, precision_doubles_until_the_tie_is_left);
    tcase_add_test(t, tanh_needs_more_bits_beside_a_tie);
    tcase_add_test(t, tier_2_alone_knows_the_ends);
    tcase_add_test(t, the_smallest_argument_decides_a_tie_of_binary64);
    tcase_add_test(t, a_sum_wider_than_the_first_precision_is_not_cut_wrongly);
    suite_add_tcase(s, t);
    return s;
}
