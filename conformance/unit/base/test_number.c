/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers on a command line, and texts that only look like one. */
#include "base/number.h"

#include <check.h>
#include <fenv.h>
#include <locale.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { UNTOUCHED = 77 };

START_TEST(digits_within_the_limits_are_natural)
{
    uint64_t n = 0;

    ck_assert(number_natural("0", 0, 9, &n) && n == 0);
    ck_assert(number_natural("007", 1, 7, &n) && n == 7);
    ck_assert(number_natural("18446744073709551615", 0, UINT64_MAX, &n));
    ck_assert(n == UINT64_MAX);
}
END_TEST

START_TEST(whatever_else_is_no_natural_number)
{
    static const char *const texts[] = {
        "",
        " ",
        " 1",
        "1 ",
        "+1",
        "-1",
        "-0",
        "0x1",
        "1x",
        "1.0",
        "1e0",
        "nan",
        "inf",
        "10",
        "one",
        "1\n",
        "1,2",
        "1/2",
        "0",
        "18446744073709551617",
        "36893488147419103233",
        "340282366920938463463374607431768211457"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t n = UNTOUCHED;
        ck_assert_msg(!number_natural(texts[i], 1, 9, &n), "\"%s\"", texts[i]);
        ck_assert_msg(n == UNTOUCHED, "\"%s\"", texts[i]);
    }
}
END_TEST

START_TEST(plain_decimals_within_the_limits_are_real)
{
    double x = 0;

    ck_assert(number_real("0.5", 0, 1, &x) && x == 0.5);
    ck_assert(number_real("1e3", 0, 1e3, &x) && x == 1000);
    ck_assert(number_real("2.", 0, 2, &x) && x == 2);
}
END_TEST

START_TEST(whatever_else_is_no_real_number)
{
    static const char *const texts[] = {
        "",    " 1",   "1 ",  "+1",  "-1",        "-0",
        ".5",  "nan",  "inf", "0x1", "1e999",     "1e",
        "1e+", "1..2", "1s",  "11",  "10.000001", "infinity"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double x = UNTOUCHED;
        ck_assert_msg(!number_real(texts[i], 0, 10, &x), "\"%s\"", texts[i]);
        ck_assert_msg(x == UNTOUCHED, "\"%s\"", texts[i]);
    }
}
END_TEST

START_TEST(lists_have_one_character_between_numbers)
{
    uint64_t n[3];

    ck_assert_int_eq(number_list("5", ",", 9, n, 3), 1);
    ck_assert_int_eq(number_list("5,0,9", ",", 9, n, 3), 3);
    ck_assert(n[0] == 5 && n[1] == 0 && n[2] == 9);
    ck_assert_int_eq(number_list("1/2", "/", 9, n, 2), 2);
}
END_TEST

START_TEST(whatever_else_is_no_list)
{
    static const char *const texts[] = {"",     ",",    "1,",      ",1",
                                        "1,,2", "1, 2", "1,2,3,4", "1;2",
                                        "10",   "1,10", "-1,2",    "1,2x"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t n[3];
        ck_assert_msg(number_list(texts[i], ",", 9, n, 3) == 0, "\"%s\"",
                      texts[i]);
    }
}
END_TEST

START_TEST(triples_are_two_or_three_extents)
{
    uint64_t n[3] = {0};

    ck_assert(number_triple("2,3", 1, n));
    ck_assert(n[0] == 1 && n[1] == 2 && n[2] == 3);
    ck_assert(number_triple("4x5x6", 1, n));
    ck_assert(n[0] == 4 && n[1] == 5 && n[2] == 6);
    ck_assert(number_triple("0,3", 0, n));
    ck_assert(n[0] == 0 && n[1] == 0 && n[2] == 3);
    ck_assert(!number_triple("0,3", 1, n));
    ck_assert(!number_triple("0,3,3", 1, n));
    ck_assert(!number_triple("4", 1, n));
    ck_assert(!number_triple("4,5,6,7", 1, n));
    ck_assert(!number_triple("4,1099511627776", 1, n));
}
END_TEST

START_TEST(no_mode_of_the_caller_changes_a_number)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
                                FE_TOWARDZERO};

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        ck_assert_int_eq(fesetround(modes[i]), 0);
        const double tenth = number_decimal("0.1", NULL);
        const double third = number_decimal("0.3333333333333333333", NULL);
        char word[3][32];

        number_spell(0.1, word[0], sizeof word[0]);
        number_spell(-1.702, word[1], sizeof word[1]);
        number_spell(0x1p-1074, word[2], sizeof word[2]);
        const int kept = fegetround();

        (void)fesetround(FE_TONEAREST);
        ck_assert_int_eq(kept, modes[i]);
        ck_assert(tenth == 0x1.999999999999ap-4);
        ck_assert(third == 0x1.5555555555555p-2);
        ck_assert_str_eq(word[0], "0.1");
        ck_assert_str_eq(word[1], "-1.702");
        ck_assert_str_eq(word[2], "5e-324");
    }
#if defined(__SSE2__)
    const unsigned standard = _mm_getcsr();

    _mm_setcsr(standard | 0x8040); /* subnormal numbers are zero */
    const double least = number_decimal("4.9406564584124654e-324", NULL);

    _mm_setcsr(standard);
    ck_assert(least == 0x1p-1074);
#endif
}
END_TEST

/* Where that locale is not there, it stays C. */
START_TEST(no_comma_of_the_caller_is_in_a_number)
{
    char word[32];
    char *end;

    (void)setlocale(LC_ALL, "de_DE.UTF-8");
    const double half = number_decimal("0.5", &end);

    number_spell(0.25, word, sizeof word);
    (void)setlocale(LC_ALL, "C");
    ck_assert(half == 0.5 && *end == '\0');
    ck_assert_str_eq(word, "0.25");
}
END_TEST

Suite *suite_number(void);
Suite *suite_number(void)
{
    Suite *s = suite_create("number");
    TCase *t = tcase_create("number");

    tcase_add_test(t, digits_within_the_limits_are_natural);
    tcase_add_test(t, whatever_else_is_no_natural_number);
    tcase_add_test(t, plain_decimals_within_the_limits_are_real);
    tcase_add_test(t, whatever_else_is_no_real_number);
    tcase_add_test(t, lists_have_one_character_between_numbers);
    tcase_add_test(t, whatever_else_is_no_list);
    tcase_add_test(t, triples_are_two_or_three_extents);
    tcase_add_test(t, no_mode_of_the_caller_changes_a_number);
    tcase_add_test(t, no_comma_of_the_caller_is_in_a_number);
    suite_add_tcase(s, t);
    return s;
}
