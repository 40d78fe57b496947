/* SPDX-License-Identifier: Apache-2.0 */
/* Limb arithmetic against 64-bit and 128-bit numbers, and against itself. */
#include "act/limbs.h"

#include <check.h>
#include <string.h>

/* Patterns with long carries. */
static const uint32_t a4[4] = {0xffffffff, 0xffffffff, 0x00000000, 0x80000001};
static const uint32_t b4[4] = {0x00000001, 0x00000000, 0xffffffff, 0x7ffffffe};

START_TEST(cmp_looks_at_the_top_first)
{
    const uint32_t x[3] = {9, 1, 2};
    const uint32_t y[3] = {3, 2, 2};

    ck_assert_int_eq(mxo_limbs_cmp(x, y, 3), -1);
    ck_assert_int_eq(mxo_limbs_cmp(y, x, 3), 1);
    ck_assert_int_eq(mxo_limbs_cmp(x, y, 1), 1);
    ck_assert_int_eq(mxo_limbs_cmp(x, x, 3), 0);
}
END_TEST

START_TEST(carries_run_through)
{
    const uint32_t want[4] = {0, 0, 0, 0};
    uint32_t x[4];

    memcpy(x, a4, sizeof x);
    ck_assert_uint_eq(mxo_limbs_add(x, b4, 4), 1);
    ck_assert_mem_eq(x, want, sizeof want);
    ck_assert_uint_eq(mxo_limbs_sub(x, b4, 4), 1);
    ck_assert_mem_eq(x, a4, sizeof x);
}
END_TEST

START_TEST(product_is_a_sum_of_shifted_multiples)
{
    uint32_t product[8];
    uint32_t sum[8] = {0};

    mxo_limbs_mul(product, a4, 4, b4, 4);
    for (int i = 0; i < 4; i++) {
        uint32_t part[8] = {0};
        memcpy(part + i, a4, sizeof a4);
        part[i + 4] = mxo_limbs_mul_small(part + i, 4, b4[i]);
        ck_assert_uint_eq(mxo_limbs_add(sum, part, 8), 0);
    }
    ck_assert_mem_eq(product, sum, sizeof sum);
}
END_TEST

START_TEST(unequal_lengths_multiply)
{
    const uint32_t max[2] = {0xffffffff, 0xffffffff};
    const uint32_t want[3] = {0x00000001, 0xffffffff, 0xfffffffe};
    uint32_t product[3];

    mxo_limbs_mul(product, max, 2, max, 1);
    ck_assert_mem_eq(product, want, sizeof want);
}
END_TEST

START_TEST(small_division_undoes_small_multiplication)
{
    uint32_t x[5] = {0};

    memcpy(x, a4, sizeof a4);
    x[4] = mxo_limbs_mul_small(x, 4, 1000003);
    ck_assert_uint_ne(x[4], 0);
    x[0]++; /* the rest is dropped */
    mxo_limbs_div_small(x, 5, 1000003);
    ck_assert_mem_eq(x, a4, sizeof a4);
    ck_assert_uint_eq(x[4], 0);
}
END_TEST

START_TEST(shift_right_is_division_by_a_power)
{
    uint32_t x[4];
    uint32_t y[4];

    memcpy(x, a4, sizeof x);
    memcpy(y, a4, sizeof y);
    mxo_limbs_shift_right(x, 4, _i);
    for (int i = 0; i < _i; i++) {
        mxo_limbs_div_small(y, 4, 2);
    }
    ck_assert_msg(memcmp(x, y, sizeof x) == 0, "by %d bits", _i);
}
END_TEST

START_TEST(set_places_a_bit)
{
    /* bit 100 of a 128-bit number, moved to every place of four limbs */
    const mxo_u128 value = {(uint64_t)1 << 36, 0};
    uint32_t x[4];

    mxo_limbs_set(x, 4, value, _i - 100);
    for (int bit = 0; bit < 128; bit++) {
        ck_assert_msg((x[bit / 32] >> bit % 32 & 1) == (bit == _i),
                      "bit %d of the number that should have %d", bit, _i);
    }
}
END_TEST

START_TEST(set_drops_what_lies_outside)
{
    const mxo_u128 value = {~0ull, ~0ull};
    uint32_t x[4];

    mxo_limbs_set(x, 4, value, -120);
    ck_assert_uint_eq(x[0], 0xff);
    ck_assert_uint_eq(x[1] | x[2] | x[3], 0);
    mxo_limbs_set(x, 4, value, 100);
    ck_assert_uint_eq(x[3], 0xfffffff0);
    ck_assert_uint_eq(x[0] | x[1] | x[2], 0);
    mxo_limbs_set(x, 4, value, -5000);
    ck_assert_uint_eq(x[0] | x[1] | x[2] | x[3], 0);
    mxo_limbs_set(x, 4, value, 5000);
    ck_assert_uint_eq(x[0] | x[1] | x[2] | x[3], 0);
}
END_TEST

START_TEST(is_multiple_sees_the_lowest_bit)
{
    const mxo_u128 value = {0x10, (uint64_t)1 << 40};

    ck_assert_int_eq(mxo_limbs_is_multiple(value, -3), 1);
    ck_assert_int_eq(mxo_limbs_is_multiple(value, 40), 1);
    ck_assert_int_eq(mxo_limbs_is_multiple(value, 41), 0);
    ck_assert_int_eq(mxo_limbs_is_multiple(value, 200), 0);
}
END_TEST

Suite *suite_act_limbs(void);
Suite *suite_act_limbs(void)
{
    Suite *s = suite_create("act_limbs");
    TCase *t = tcase_create("limbs");

    tcase_add_test(t, cmp_looks_at_the_top_first);
    tcase_add_test(t, carries_run_through);
    tcase_add_test(t, product_is_a_sum_of_shifted_multiples);
    tcase_add_test(t, unequal_lengths_multiply);
    tcase_add_test(t, small_division_undoes_small_multiplication);
    tcase_add_loop_test(t, shift_right_is_division_by_a_power, 0, 130);
    tcase_add_loop_test(t, set_places_a_bit, 0, 128);
    tcase_add_test(t, set_drops_what_lies_outside);
    tcase_add_test(t, is_multiple_sees_the_lowest_bit);
    suite_add_tcase(s, t);
    return s;
}
