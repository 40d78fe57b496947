/* SPDX-License-Identifier: Apache-2.0 */
/* Near names and patterns, by examples with known distances. */
#include "base/cli.h"

#include <check.h>
#include <string.h>

START_TEST(distance_counts_edits)
{
    static const struct {
        const char *a;
        const char *b;
        size_t want;
    } rows[] = {
        {"", "", 0},       {"", "abc", 3},       {"abc", "", 3},
        {"abc", "abc", 0}, {"abc", "abd", 1},    {"abc", "abcd", 1},
        {"abc", "ac", 1},  {"rows", "rwos", 1},  {"kitten", "sitting", 3},
        {"ca", "abc", 3},  {"flor", "floor", 1}, {"intention", "execution", 5},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const size_t got = cli_distance(rows[i].a, rows[i].b);
        ck_assert_msg(got == rows[i].want, "%s %s: %zu", rows[i].a, rows[i].b,
                      got);
        ck_assert_msg(cli_distance(rows[i].b, rows[i].a) == rows[i].want,
                      "%s %s the other way", rows[i].b, rows[i].a);
    }
}
END_TEST

START_TEST(long_names_have_no_distance_worth_a_hint)
{
    char text[300];
    cli_nearest near = {NULL, 0};
    char hint[64];

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    cli_offer(&near, text, "rows");
    ck_assert_str_eq(cli_suggestion(&near, hint, sizeof hint), "");
}
END_TEST

START_TEST(the_nearest_name_is_suggested_or_none)
{
    cli_nearest near = {NULL, 0};
    char hint[64];

    cli_offer(&near, "collums", "rows");
    ck_assert_str_eq(cli_suggestion(&near, hint, sizeof hint), "");
    cli_offer(&near, "collums", "cols");
    cli_offer(&near, "collums", "columns");
    cli_offer(&near, "collums", "column");
    ck_assert_str_eq(cli_suggestion(&near, hint, sizeof hint),
                     "; did you mean columns?");
}
END_TEST

START_TEST(patterns_match_whole_names)
{
    ck_assert(cli_matches("quant.*", "quant.mx"));
    ck_assert(cli_matches("*", "quant.mx"));
    ck_assert(cli_matches("?uant.mx", "quant.mx"));
    ck_assert(cli_matches("q*.m?", "quant.mx"));
    ck_assert(cli_matches("quant.mx*", "quant.mx"));
    ck_assert(cli_matches("quant[.]mx", "quant.mx"));
    ck_assert(cli_matches("quant\\.mx", "quant.mx"));
    ck_assert(!cli_matches("*.m", "quant.mx"));
    ck_assert(!cli_matches("quant.mx?", "quant.mx"));
    ck_assert(!cli_matches("quant.mx", "quant.m"));
    ck_assert(!cli_matches("quant", "quant.mx"));
    ck_assert(!cli_matches("uant.mx", "quant.mx"));
}
END_TEST

Suite *suite_cli(void);
Suite *suite_cli(void)
{
    Suite *s = suite_create("cli");
    TCase *t = tcase_create("cli");

    tcase_add_test(t, distance_counts_edits);
    tcase_add_test(t, long_names_have_no_distance_worth_a_hint);
    tcase_add_test(t, the_nearest_name_is_suggested_or_none);
    tcase_add_test(t, patterns_match_whole_names);
    suite_add_tcase(s, t);
    return s;
}
