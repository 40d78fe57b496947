/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier 1: its constants, recomputed from other facts in exact integers, and
 * the sum of the factor where it cancels.
 */
#include "act/exp_table.h"
#include "act/limbs.h"
#include "act/ln2.h"
#include "act/problem.h"

#include <check.h>
#include <string.h>

enum { LIMBS = 136 };

/* x = base^64 */
static void power_64(uint32_t *x, mxo_u128 base)
{
    uint32_t square[2 * LIMBS];

    mxo_limbs_set(x, LIMBS, base, 0);
    for (int i = 0; i < 6; i++) {
        mxo_limbs_mul(square, x, LIMBS, x, LIMBS);
        memcpy(x, square, LIMBS * sizeof x[0]);
    }
}

static mxo_u128 twice(uint64_t u, int plus)
{
    /* 2 u + plus, plus = -1 or 1 */
    const uint64_t low = u << 1;
    const mxo_u128 x = {(u >> 63) - (plus < 0 && low == 0),
                        low + (uint64_t)(int64_t)plus};

    return x;
}

START_TEST(table_entries_are_the_nearest_integers)
{
    /* |u - 2^(63 - j/64)| < 1/2  <=>  (2u - 1)^64 < 2^(4096 - j) < (2u+1)^64 */
    uint32_t low[LIMBS];
    uint32_t high[LIMBS];
    uint32_t power[LIMBS] = {0};

    power[(4096 - _i) / 32] = 1u << (4096 - _i) % 32;
    power_64(low, twice(mxo_power_of_two[_i], -1));
    power_64(high, twice(mxo_power_of_two[_i], 1));
    ck_assert_msg(mxo_limbs_cmp(low, power, LIMBS) < 0 &&
                      mxo_limbs_cmp(power, high, LIMBS) < 0,
                  "entry %d: %016llx", _i,
                  (unsigned long long)mxo_power_of_two[_i]);
}
END_TEST

START_TEST(taylor_coefficients_times_factorials_are_one)
{
    /* |c i! - 2^64| <= i!/2 */
    uint64_t factorial = 1;

    for (int i = 2; i <= _i + 2; i++) {
        factorial *= (uint64_t)i;
    }
    const mxo_u128 p = mxo_mul64_portable(mxo_taylor[_i], factorial);
    const uint64_t off = p.hi == 1 ? p.lo : 0 - p.lo;

    ck_assert_msg(p.hi <= 1 && off <= factorial / 2, "coefficient %d", _i);
}
END_TEST

START_TEST(ln2_constants_are_those_of_the_long_table)
{
    /* ln2/64 * 2^128 = ln2 * 2^122 */
    const mxo_u128 top = {(uint64_t)mxo_ln2[0] << 32 | mxo_ln2[1],
                          (uint64_t)mxo_ln2[2] << 32 | mxo_ln2[3]};
    const mxo_u128 want = mxo_shift128(top, -6);

    ck_assert_uint_eq(MXO_LN2_BY_64_HI, want.hi);
    ck_assert_uint_eq(MXO_LN2_BY_64_LO, want.lo);
}
END_TEST

/* x = c * ln2 * 2^128, the limbs of ln 2 rounded up if up. */
static void times_ln2(uint32_t *x, uint64_t c, uint32_t up)
{
    const uint32_t factor[2] = {(uint32_t)c, (uint32_t)(c >> 32)};
    const uint32_t ln2[4] = {mxo_ln2[3] + up, mxo_ln2[2], mxo_ln2[1],
                             mxo_ln2[0]};

    mxo_limbs_mul(x, ln2, 4, factor, 2);
}

START_TEST(inverse_constant_brackets_one)
{
    /* c ln2 <= 2^63 < (c + 1) ln2: bit 191 of the six limbs */
    uint32_t x[6];

    times_ln2(x, MXO_64_BY_LN2, 1);
    ck_assert_uint_eq(x[5] >> 31, 0);
    times_ln2(x, MXO_64_BY_LN2 + 1, 0);
    ck_assert_uint_eq(x[5] >> 31, 1);
}
END_TEST

/* fast() for |t| -> infinity, so that only the factor counts. */
static mxo_real factor(uint64_t v_code, uint64_t b_code)
{
    mxo_act_problem p = {0};
    mxo_real y;

    p.fn = MXO_F_SIGMOID;
    p.t.lo = 1;
    p.t_exp = MXO_ACT_T_LG;
    p.has_factor = 1;
    p.g = mxo_format_decode(MXO_FMT_F64, 0x3ff0000000000000);
    p.v = mxo_format_decode(MXO_FMT_F64, v_code);
    p.b = mxo_format_decode(MXO_FMT_F64, b_code);
    ck_assert_int_eq(mxo_act_fast(&p, &y), 1);
    return y;
}

/* |v + b| in binary64 and off by less than the bound. */
static void check_factor(uint64_t v, uint64_t b, uint64_t want)
{
    const mxo_real got = factor(v, b);
    const mxo_real w = mxo_format_decode(MXO_FMT_F64, want);
    const uint64_t exact = w.mant << mxo_clz64(w.mant);
    const uint64_t off = got.mant > exact ? got.mant - exact : exact - got.mant;

    /* Beside a power of two the mantissas wrap: compare the encoding. */
    const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};

    ck_assert_msg(off < MXO_ACT_FAST_ERROR ||
                      mxo_format_encode(MXO_FMT_F64, got, nearest_even) == want,
                  "%016llx + %016llx", (unsigned long long)v,
                  (unsigned long long)b);
}

START_TEST(sums_that_cancel_are_exact)
{
    /* 1 + 2^-52 - 1 = 2^-52 */
    check_factor(0x3ff0000000000001, 0xbff0000000000000, 0x3cb0000000000000);
    /* 2 - (2 - 2^-52) */
    check_factor(0x4000000000000000, 0xbfffffffffffffff, 0x3cb0000000000000);
    /* 1 - 2^-53 */
    check_factor(0x3ff0000000000000, 0xbca0000000000000, 0x3fefffffffffffff);
    check_factor(0xbca0000000000000, 0x3ff0000000000000, 0x3fefffffffffffff);
    /* 1 + 1, the largest plus the smallest */
    check_factor(0x3ff0000000000000, 0x3ff0000000000000, 0x4000000000000000);
    check_factor(0x7fefffffffffffff, 0x0000000000000001, 0x7fefffffffffffff);
    check_factor(0x0000000000000001, 0x0000000000000001, 0x0000000000000002);
    check_factor(0x0000000000000000, 0x3ff8000000000000, 0x3ff8000000000000);
    check_factor(0xbff8000000000000, 0x8000000000000000, 0x3ff8000000000000);
}
END_TEST

START_TEST(tanh_is_left_to_tier_2)
{
    mxo_act_problem p = {0};
    mxo_real y;

    p.fn = MXO_F_TANH;
    p.t.lo = 1;
    ck_assert_int_eq(mxo_act_fast(&p, &y), 0);
}
END_TEST

Suite *suite_act_fast(void);
Suite *suite_act_fast(void)
{
    Suite *s = suite_create("act_fast");
    TCase *t = tcase_create("constants");

    tcase_add_loop_test(t, table_entries_are_the_nearest_integers, 0, 64);
    tcase_add_loop_test(t, taylor_coefficients_times_factorials_are_one, 0, 6);
    tcase_add_test(t, ln2_constants_are_those_of_the_long_table);
    tcase_add_test(t, inverse_constant_brackets_one);
    suite_add_tcase(s, t);
    t = tcase_create("factor");
    tcase_add_test(t, sums_that_cancel_are_exact);
    tcase_add_test(t, tanh_is_left_to_tier_2);
    suite_add_tcase(s, t);
    return s;
}
