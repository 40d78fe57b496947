/* SPDX-License-Identifier: Apache-2.0 */
/* Text of strangers, made fit for a terminal and for reports in UTF-8. */
#include "base/say.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *text, *line, *lines;
} row;

static const row rows[] = {
    {"", "", ""},
    {"plain ~", "plain ~", "plain ~"},
    {"a\nb\tc\rd", "a?b?c?d", "a\nb\tc?d"},
    {"\033[2J\177", "?[2J?", "?[2J?"},
    /* Letters of two, three and four bytes. */
    {"\303\251\342\202\254\360\237\230\200",
     "\303\251\342\202\254\360\237\230\200",
     "\303\251\342\202\254\360\237\230\200"},
    /* U+0080, U+009B and U+009F, not U+00A0. */
    {"\302\200\302\233\302\237\302\240", "???\302\240", "???\302\240"},
    /* U+2028, U+202E, U+202C, U+2066 and U+2069, not their neighbours. */
    {"\342\200\250\342\200\256\342\200\254\342\201\246\342\201\251", "?????",
     "?????"},
    {"\342\200\247\342\200\257\342\201\245\342\201\252",
     "\342\200\247\342\200\257\342\201\245\342\201\252",
     "\342\200\247\342\200\257\342\201\245\342\201\252"},
    /* U+200E, U+200F and U+061C, not U+200D and U+061B. */
    {"\342\200\216\342\200\217\330\234", "???", "???"},
    {"\342\200\215\330\233", "\342\200\215\330\233", "\342\200\215\330\233"},
    /* No UTF-8: alone, cut off, too long, a surrogate, beyond the last. */
    {"\200x\377", "?x?", "?x?"},
    {"a\303", "a?", "a?"},
    {"a\342\202", "a??", "a??"},
    {"\300\257\340\200\257", "?????", "?????"},
    {"\355\240\200\355\237\277", "???\355\237\277", "???\355\237\277"},
    {"\364\217\277\277\364\220\200\200", "\364\217\277\277????",
     "\364\217\277\277????"},
};

START_TEST(strangers_text_becomes_printable)
{
    char line[64];
    char lines[64];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)snprintf(line, sizeof line, "%s", rows[i].text);
        (void)snprintf(lines, sizeof lines, "%s", rows[i].text);
        say_printable(line);
        say_printable_lines(lines);
        ck_assert_msg(strcmp(line, rows[i].line) == 0, "row %zu", i);
        ck_assert_msg(strcmp(lines, rows[i].lines) == 0, "row %zu, lines", i);
    }
}
END_TEST

START_TEST(a_sentence_is_cut_between_characters)
{
    char why[8];

    (void)say(MXO_OK, (mxo_text){why, sizeof why}, "abcdef%s", "\303\251");
    ck_assert_msg(strcmp(why, "abcdef?") == 0, "%s", why);
}
END_TEST

START_TEST(texts_are_cut_between_characters)
{
    char to[5];

    say_copy(to, sizeof to, "ab\u00e9");
    ck_assert_str_eq(to, "ab\u00e9");
    say_copy(to, sizeof to, "abc\u00e9");
    ck_assert_str_eq(to, "abc");
    say_copy(to, sizeof to, "a\U0001f600");
    ck_assert_str_eq(to, "a");
    say_copy(to, sizeof to, "abcde");
    ck_assert_str_eq(to, "abcd");
    say_copy(to, 1, "\u00e9");
    ck_assert_str_eq(to, "");
}
END_TEST

Suite *suite_say(void);
Suite *suite_say(void)
{
    Suite *s = suite_create("say");
    TCase *t = tcase_create("say");

    tcase_add_test(t, strangers_text_becomes_printable);
    tcase_add_test(t, a_sentence_is_cut_between_characters);
    tcase_add_test(t, texts_are_cut_between_characters);
    suite_add_tcase(s, t);
    return s;
}
