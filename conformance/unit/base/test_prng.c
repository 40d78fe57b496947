/* SPDX-License-Identifier: Apache-2.0 */
/* The generators against the values their authors publish. */
#include "base/prng.h"

#include <check.h>

START_TEST(splitmix64_gives_the_published_sequence)
{
    static const uint64_t want[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821)};
    uint64_t state = 1234567;

    for (int i = 0; i < 5; i++) {
        const uint64_t got = splitmix64(&state);
        ck_assert_msg(got == want[i], "draw %d: %llu", i,
                      (unsigned long long)got);
    }
}
END_TEST

START_TEST(xoshiro256ss_gives_the_published_sequence)
{
    static const uint64_t want[] = {UINT64_C(11520),
                                    0,
                                    UINT64_C(1509978240),
                                    UINT64_C(1215971899390074240),
                                    UINT64_C(1216172134540287360),
                                    UINT64_C(607988272756665600)};
    prng p = {{1, 2, 3, 4}};

    for (int i = 0; i < 6; i++) {
        const uint64_t got = prng_next(&p);
        ck_assert_msg(got == want[i], "draw %d: %llu", i,
                      (unsigned long long)got);
    }
}
END_TEST

START_TEST(seeding_is_four_steps_of_splitmix64)
{
    uint64_t state = 42;
    prng p;

    prng_seed(&p, 42);
    for (int i = 0; i < 4; i++) {
        ck_assert_msg(p.s[i] == splitmix64(&state), "word %d", i);
    }
}
END_TEST

/* The high half of the product, by 128-bit arithmetic where there is any. */
START_TEST(below_is_the_high_half_of_the_product)
{
#ifdef __SIZEOF_INT128__
    static const uint64_t limits[] = {
        1, 2, 3, 40, 997, UINT64_C(1) << 33, UINT64_MAX};
    prng a = {{5, 6, 7, 8}};
    prng b = a;

    for (int i = 0; i < 700; i++) {
        const uint64_t n = limits[i % 7];
        const unsigned __int128 product = (unsigned __int128)prng_next(&a) * n;
        const uint64_t got = prng_below(&b, n);
        ck_assert_msg(got == (uint64_t)(product >> 64), "n %llu draw %d",
                      (unsigned long long)n, i);
    }
#endif
}
END_TEST

/* Computed by a Python script from the words of prng.h. */
START_TEST(seed_of_hashes_seed_case_and_tensor)
{
    ck_assert_uint_eq(seed_of(1, "quant.mx:rows=3", "x"),
                      UINT64_C(10458959656068437131));
    ck_assert_uint_ne(seed_of(1, "quant.mx:rows=3", "x"),
                      seed_of(2, "quant.mx:rows=3", "x"));
    ck_assert_uint_ne(seed_of(1, "quant.mx:rows=3", "x"),
                      seed_of(1, "quant.mx:rows=3x", ""));
}
END_TEST

START_TEST(bytes_are_the_low_ones_of_the_next_numbers)
{
    uint8_t bytes[1000];
    prng a;
    prng b;

    prng_seed(&a, 11);
    b = a;
    prng_bytes(&a, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        ck_assert_uint_eq(bytes[i], (uint8_t)prng_next(&b));
    }
    ck_assert_mem_eq(&a, &b, sizeof a);
}
END_TEST

static void steps_and_skips_are_the_same(uint64_t n)
{
    prng a;
    prng b;

    prng_seed(&a, n + 1);
    b = a;
    for (uint64_t i = 0; i < n; i++) {
        (void)prng_next(&a);
    }
    prng_skip(&b, n);
    ck_assert_mem_eq(&a, &b, sizeof a);
}

START_TEST(a_skip_is_as_many_steps)
{
    for (uint64_t n = 0; n < 300; n++) {
        steps_and_skips_are_the_same(n);
    }
    steps_and_skips_are_the_same(1000003);
}
END_TEST

Suite *suite_prng(void);
Suite *suite_prng(void)
{
    Suite *s = suite_create("prng");
    TCase *t = tcase_create("prng");

    tcase_add_test(t, splitmix64_gives_the_published_sequence);
    tcase_add_test(t, xoshiro256ss_gives_the_published_sequence);
    tcase_add_test(t, seeding_is_four_steps_of_splitmix64);
    tcase_add_test(t, below_is_the_high_half_of_the_product);
    tcase_add_test(t, bytes_are_the_low_ones_of_the_next_numbers);
    tcase_add_test(t, a_skip_is_as_many_steps);
    tcase_add_test(t, seed_of_hashes_seed_case_and_tensor);
    suite_add_tcase(s, t);
    return s;
}
