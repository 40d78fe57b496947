/* SPDX-License-Identifier: Apache-2.0 */
/* 128-bit helpers: the portable forms against identities and the native. */
#include "act/mul64.h"

#include <check.h>

static const uint64_t corner[] = {
    0,
    1,
    2,
    0xffffffff,
    0x100000000,
    0x100000001,
    1ull << 63,
    ~0ull - 1,
    ~0ull,
    0x123456789abcdef0,
    0x8000000080000000,
    0xfffffffe00000001,
    0xb8aa3b295c17f0bb,
};

enum { N_CORNERS = sizeof corner / sizeof corner[0] };

START_TEST(products_are_distributive)
{
    /* Low word: C's own product.  High word: a cut at 2^32 and added up. */
    const uint64_t a = corner[_i / N_CORNERS];
    const uint64_t b = corner[_i % N_CORNERS];
    const mxo_u128 p = mxo_mul64_portable(a, b);
    const uint64_t low = a * b;
    const mxo_u128 top = mxo_mul64_portable(a >> 32, b);
    const mxo_u128 bottom = mxo_mul64_portable(a & 0xffffffff, b);
    const uint64_t sum = (top.lo << 32) + bottom.lo;
    const uint64_t high =
        (top.hi << 32 | top.lo >> 32) + bottom.hi + (sum < bottom.lo);

    ck_assert_msg(p.lo == low && p.hi == high, "%llx * %llx",
                  (unsigned long long)a, (unsigned long long)b);
}
END_TEST

START_TEST(native_and_portable_forms_give_the_same_bits)
{
    const uint64_t a = corner[_i / N_CORNERS];
    const uint64_t b = corner[_i % N_CORNERS];
    const mxo_u128 p = mxo_mul64_portable(a, b);
    const mxo_u128 q = mxo_mul64(a, b);
    const mxo_u128 n = {b == 0 ? 0 : a % b, a};

    ck_assert_msg(p.lo == q.lo && p.hi == q.hi, "%llx * %llx",
                  (unsigned long long)a, (unsigned long long)b);
    ck_assert_msg(b == 0 || mxo_div128_portable(n, b) == mxo_div128(n, b),
                  "(%llx, %llx) / %llx", (unsigned long long)n.hi,
                  (unsigned long long)n.lo, (unsigned long long)b);
}
END_TEST

START_TEST(quotient_times_divisor_leaves_a_rest_below_the_divisor)
{
    const uint64_t a = corner[_i / N_CORNERS];
    const uint64_t d = corner[_i % N_CORNERS];
    const mxo_u128 n = {d == 0 ? 0 : a % d, ~a};

    if (d != 0) {
        const mxo_u128 p = mxo_mul64_portable(mxo_div128_portable(n, d), d);
        const uint64_t rest = n.lo - p.lo;
        ck_assert_msg(p.hi + (n.lo < p.lo) == n.hi && rest < d, "/ %llx",
                      (unsigned long long)d);
    }
}
END_TEST

START_TEST(shift_moves_one_bit_where_it_belongs)
{
    /* Every bit by every distance that keeps it inside, and one beyond. */
    for (int to = -1; to < 128; to++) {
        const mxo_u128 x = {_i > 63 ? 1ull << (_i - 64) : 0,
                            _i > 63 ? 0 : 1ull << _i};
        const mxo_u128 y = mxo_shift128(x, to - _i);
        const uint64_t hi = to > 63 ? 1ull << (to - 64) : 0;
        const uint64_t lo = to < 0 || to > 63 ? 0 : 1ull << to;
        ck_assert_msg(y.hi == hi && y.lo == lo, "bit %d to %d", _i, to);
    }
}
END_TEST

START_TEST(clz_counts)
{
    ck_assert_int_eq(mxo_clz64(1ull << (63 - _i)), _i);
    ck_assert_int_eq(mxo_clz64(~0ull >> _i), _i);
}
END_TEST

Suite *suite_act_mul64(void);
Suite *suite_act_mul64(void)
{
    Suite *s = suite_create("act_mul64");
    TCase *t = tcase_create("words");
    const int pairs = N_CORNERS * N_CORNERS;

    tcase_add_loop_test(t, products_are_distributive, 0, pairs);
    tcase_add_loop_test(t, native_and_portable_forms_give_the_same_bits, 0,
                        pairs);
    tcase_add_loop_test(
        t, quotient_times_divisor_leaves_a_rest_below_the_divisor, 0, pairs);
    tcase_add_loop_test(t, shift_moves_one_bit_where_it_belongs, 0, 128);
    tcase_add_loop_test(t, clz_counts, 0, 64);
    suite_add_tcase(s, t);
    return s;
}
