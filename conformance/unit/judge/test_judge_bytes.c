/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of the judge: a function of secret, buffer, purpose and place, without
 * a pattern, and every bit another where that is promised.
 */
#include "system/judge_bytes.h"

#include <check.h>
#include <string.h>

enum { N = 4096 };

static const judge_secret given = {UINT64_C(0x0123456789abcdef), 77};

static unsigned n_equal(const uint8_t *a, const uint8_t *b)
{
    unsigned n = 0;

    for (unsigned i = 0; i < N; i++) {
        n += a[i] == b[i];
    }
    return n;
}

/* One in 256 by chance. */
static void expect_unlike(const char *what, const uint8_t *a, const uint8_t *b)
{
    ck_assert_msg(n_equal(a, b) < 64, "%s: %u of %u bytes are equal", what,
                  n_equal(a, b), (unsigned)N);
}

START_TEST(a_secret_is_drawn_once_and_is_another_each_time)
{
    judge_secret a = {0, 0};
    judge_secret b = {0, 0};

    ck_assert_int_eq(judge_bytes_draw(&a), 0);
    ck_assert_int_eq(judge_bytes_draw(&b), 0);
    ck_assert(a.before != b.before && a.after != b.after);
    const judge_secret drawn = a;

    ck_assert_int_eq(judge_bytes_draw(&a), 0);
    ck_assert(a.before == drawn.before && a.after == drawn.after);
}
END_TEST

START_TEST(guards_depend_on_all_that_they_are_drawn_from)
{
    const judge_secret other = {given.before + 1, given.after};
    const judge_secret behind = {given.before, given.after + UINT32_MAX};
    uint8_t a[N];
    uint8_t b[N];

    judge_bytes_guard(&given, 5, 0, a, N, 4096);
    judge_bytes_guard(&other, 5, 0, b, N, 4096);
    expect_unlike("another secret", a, b);
    judge_bytes_guard(&behind, 5, 0, b, N, 4096);
    ck_assert_uint_lt(n_equal(a, b), N);
    judge_bytes_guard(&given, 6, 0, b, N, 4096);
    expect_unlike("another buffer", a, b);
    judge_bytes_guard(&given, 5, 0, b, N, 8192);
    expect_unlike("another place", a, b);
    judge_bytes_scrub(&given, 5, b, N, 4096);
    expect_unlike("scrubbed", a, b);
    judge_bytes_fill(5, 0, b, N, 4096);
    expect_unlike("an output", a, b);
}
END_TEST

START_TEST(every_bit_is_another_when_flipped_and_in_a_second_run)
{
    uint8_t a[N];
    uint8_t b[N];

    judge_bytes_guard(&given, 1, 0, a, N, 3);
    judge_bytes_guard(&given, 1, 1, b, N, 3);
    for (unsigned i = 0; i < N; i++) {
        ck_assert_msg((a[i] ^ b[i]) == 0xff, "guard byte %u", i);
    }
    judge_bytes_fill(1, 0, a, N, 3);
    judge_bytes_fill(1, 1, b, N, 3);
    for (unsigned i = 0; i < N; i++) {
        ck_assert_msg((a[i] ^ b[i]) == 0xff, "output byte %u", i);
    }
}
END_TEST

START_TEST(parts_are_the_bytes_of_the_whole)
{
    uint8_t whole[64];
    uint8_t part[64];

    judge_bytes_guard(&given, 9, 0, whole, 64, 0);
    for (unsigned from = 0; from < 24; from++) {
        for (unsigned n = 0; n <= 24; n++) {
            memset(part, 0, sizeof part);
            judge_bytes_guard(&given, 9, 0, part, n, from);
            ck_assert_mem_eq(part, whole + from, n);
            ck_assert_uint_eq(part[n], 0);
        }
    }
}
END_TEST

START_TEST(nothing_repeats_within_a_guard)
{
    uint8_t a[2 * N];

    judge_bytes_guard(&given, 2, 0, a, sizeof a, 0);
    for (unsigned period = 1; period <= N; period++) {
        expect_unlike("a period", a, a + period);
    }
    for (unsigned value = 0; value < 256; value++) {
        unsigned n = 0;
        for (unsigned i = 0; i < sizeof a; i++) {
            n += a[i] == value;
        }
        ck_assert_msg(n < 96, "byte %02x %u times", value, n);
    }
}
END_TEST

START_TEST(samples_hold_both_ends_and_a_page_of_each_part)
{
    const uint64_t n_bytes = (UINT64_C(256) << 20) + 5;
    uint64_t end = 0;
    uint64_t i = 0;
    judge_span part = judge_bytes_sample(n_bytes, 7, 0);

    ck_assert_uint_eq(part.at, 0);
    for (; part.n > 0; part = judge_bytes_sample(n_bytes, 7, ++i)) {
        ck_assert_uint_ge(part.n, 16 << 10);
        ck_assert_uint_lt(part.at, end + (8 << 20));
        end = part.at + part.n;
    }
    ck_assert_uint_eq(end, n_bytes);
    ck_assert_uint_eq(i, 65 + 2);
    ck_assert_uint_ne(judge_bytes_sample(n_bytes, 7, 9).at,
                      judge_bytes_sample(n_bytes, 8, 9).at);
}
END_TEST

Suite *suite_judge_bytes(void);
Suite *suite_judge_bytes(void)
{
    Suite *s = suite_create("judge_bytes");
    TCase *t = tcase_create("bytes");

    tcase_add_test(t, a_secret_is_drawn_once_and_is_another_each_time);
    tcase_add_test(t, guards_depend_on_all_that_they_are_drawn_from);
    tcase_add_test(t, every_bit_is_another_when_flipped_and_in_a_second_run);
    tcase_add_test(t, parts_are_the_bytes_of_the_whole);
    tcase_add_test(t, nothing_repeats_within_a_guard);
    tcase_add_test(t, samples_hold_both_ends_and_a_page_of_each_part);
    suite_add_tcase(s, t);
    return s;
}
