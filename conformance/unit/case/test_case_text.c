/* SPDX-License-Identifier: Apache-2.0 */
/* Case text: what was printed parses to the same case; bad text is refused
   with a sentence that helps. */
#include "case/case_text.h"
#include "case/grid.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static char sentence[512];
static const mxo_text why = {sentence, sizeof sentence};

static const char *spell(const char *text, int canonical)
{
    static char printed[CASE_TEXT];
    test_case c;

    ck_assert_msg(case_parse(&c, text, why) == 0, "%s: %s", text, sentence);
    case_print(&c, canonical, printed);
    return printed;
}

static const char *refusal(const char *text)
{
    test_case c;

    sentence[0] = '\0';
    ck_assert_msg(case_parse(&c, text, why) != 0, "accepted: %s", text);
    ck_assert_msg(strchr(sentence, '\n') == NULL, "%s", sentence);
    return sentence;
}

#define REFUSES(text, needle)                                            \
    ck_assert_msg(strstr(refusal(text), needle) != NULL, "%s: %s", text, \
                  sentence)

START_TEST(defaults_are_left_out)
{
    ck_assert_str_eq(spell("quant.mx:tie=rule,cols=64,rule=even,rows=3", 0),
                     "quant.mx:rows=3,cols=64,rule=even");
    ck_assert_str_eq(spell("act.unary:n=1,alpha=1.0", 0), "act.unary:n=1");
    ck_assert_str_eq(spell("act.unary:n=007,alpha=2.50", 0),
                     "act.unary:n=7,alpha=2.5");
    ck_assert_str_eq(spell("math.rcp:n=1", 1),
                     "math.rcp:n=1,mode=rn,data=random");
}
END_TEST

START_TEST(dimensions_that_follow_may_be_left_out)
{
    ck_assert_str_eq(spell("dequant.group:rows=5,cols=384", 1),
                     "dequant.group:rows=5,cols=384,srows=5,scols=3,"
                     "element=e4m3fn,group_rows=1,group_cols=128,to=f32,"
                     "zero=keep,data=random");
    ck_assert_str_eq(spell("dequant.group:rows=5,cols=384,scols=4", 0),
                     "dequant.group:rows=5,cols=384,scols=4");
}
END_TEST

START_TEST(numbers_are_spelled_shortest_and_exact)
{
    ck_assert_str_eq(spell("act.unary:n=1,alpha=0.1", 0),
                     "act.unary:n=1,alpha=0.1");
    ck_assert_str_eq(spell("act.unary:n=1,alpha=1e1", 0),
                     "act.unary:n=1,alpha=10");
    ck_assert_str_eq(spell("act.unary:n=1,alpha=1e300", 0),
                     "act.unary:n=1,alpha=1e+300");
    ck_assert_str_eq(
        spell("act.unary:n=1,alpha=0.1000000000000000055511151231", 0),
        "act.unary:n=1,alpha=0.1");
    ck_assert_str_eq(spell("act.unary:n=1,alpha=0.70710678118654752440", 0),
                     "act.unary:n=1,alpha=0.7071067811865476");
    ck_assert_str_eq(spell("act.unary:n=1,alpha=-inf", 0),
                     "act.unary:n=1,alpha=-inf");
}
END_TEST

START_TEST(what_is_printed_parses_to_the_same_case)
{
    case_list l = {0};

    ck_assert_msg(grid_append(&l, 2, NULL, 0, 1, why) == 0, "%s", sentence);
    ck_assert_uint_gt(l.n, 500);
    for (size_t i = 0; i < l.n; i++) {
        char text[CASE_TEXT];
        test_case c;
        test_case again;
        ck_assert_int_eq(case_parse(&c, l.item[i].text, why), 0);
        for (int canonical = 0; canonical < 2; canonical++) {
            case_print(&c, canonical, text);
            ck_assert_msg(case_parse(&again, text, why) == 0, "%s: %s", text,
                          sentence);
            ck_assert_msg(memcmp(&c, &again, sizeof c) == 0, "%s", text);
        }
    }
    case_list_clear(&l);
}
END_TEST

/* Twice each, seeds in turn, through several growths. */
START_TEST(a_list_has_each_case_of_a_seed_once)
{
    enum { N = 1000 };
    case_list l = {0};

    for (uint64_t i = 0; i < 4 * N; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "act.unary:n=%u",
                       (unsigned)(i / 2 % N));
        case_list_add(&l, text, i % 2);
    }
    ck_assert_uint_eq(l.n, 2 * N);
    for (uint64_t i = 0; i < l.n; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "act.unary:n=%u", (unsigned)(i / 2));
        ck_assert_str_eq(l.item[i].text, text);
        ck_assert_uint_eq(l.item[i].seed, i % 2);
    }
    case_list_clear(&l);
}
END_TEST

START_TEST(bad_text_is_refused_with_a_hint)
{
    REFUSES("quant.mxx:rows=1,cols=32", "did you mean quant.mx?");
    REFUSES("quant.mx:rows=1,cls=32", "did you mean cols?");
    REFUSES("quant.mx:rows=1,cols=32,rule=flor", "did you mean floor?");
    REFUSES("quant.mx:rows=1", "needs cols=N");
    REFUSES("quant.mx:rows=1,cols=32,rows=2", "given twice");
    REFUSES("quant.mx:rows=1,cols=32,data=random,data=ties", "given twice");
    REFUSES("quant.mx:rows=-1,cols=32", "not a size");
    REFUSES("quant.mx:rows=0x10,cols=32", "not a size");
    REFUSES("quant.mx:rows=99999999999999,cols=32", "not a size");
    REFUSES("quant.mx:rows=1,cols=32,axis=0.5", "not an integer");
    REFUSES("quant.mx:rows=1,cols=32,axis=1e99", "not an integer");
    REFUSES("quant.mx:rows=1,cols=32,axis=", "not key=value");
    REFUSES("quant.mx:rows", "not key=value");
    REFUSES("quant.mx:rows=1,,cols=32", "not key=value");
    REFUSES("quant.mx:rows=1,cols=32,data=limits", "it has random");
    REFUSES("quant.mx:rows=1,cols=32,stretch=1", "stretch=1 is not 0 .. 0");
    REFUSES("moe.layer:tokens=1,topk=1,experts=1,hidden=32,inter=96,"
            "data=orderfree,stretch=3",
            "stretch=3 is not 0 .. 2");
    REFUSES("moe.layer:tokens=1,topk=1,experts=1,hidden=32,inter=96,"
            "data=orderfree,stretch=1,stretch=2",
            "stretch is given twice");
    REFUSES("quant.mx:rows=1,cols=32,keep=5-3", "not FIRST-LAST");
    REFUSES("act.unary:n=1,alpha=none", "not a number");
    REFUSES("act.unary:n=1,alpha=0x1p3", "not a number");
    REFUSES("act.glu:rows=1,cols=1,experts=3", "means nothing");
    REFUSES("moe.sort:tokens=3,top_k=2,num_experts=2147483647",
            "more than the oracle computes");
    REFUSES("", "not an operation");
}
END_TEST

START_TEST(overlong_text_is_refused)
{
    char text[2 * CASE_TEXT];

    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    REFUSES(text, "longer than");
    text[CASE_TEXT - 100] = '\0';
    REFUSES(text, "not an operation");
    memcpy(text, "quant.mx:", 9);
    REFUSES(text, "not key=value");
}
END_TEST

START_TEST(inexact_extents_are_refused)
{
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;
    test_case c;

    ck_assert_int_eq(case_parse(&c, "dequant.mx:rows=1,cols=48", why), -1);
    ck_assert_str_eq(sentence, "cols=48 is not a multiple of 32");
    sentence[0] = '\0';
    ck_assert_int_eq(case_input(&c, 0, &dtype, shape, why), 0);
    ck_assert_uint_eq(shape[1], 24);
    ck_assert_int_eq(case_input(&c, 1, &dtype, shape, why), -1);
    ck_assert_str_eq(sentence, "cols=48 is not a multiple of 32");
}
END_TEST

Suite *suite_case_text(void);
Suite *suite_case_text(void)
{
    Suite *s = suite_create("case_text");
    TCase *t = tcase_create("casetext");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, defaults_are_left_out);
    tcase_add_test(t, dimensions_that_follow_may_be_left_out);
    tcase_add_test(t, numbers_are_spelled_shortest_and_exact);
    tcase_add_test(t, what_is_printed_parses_to_the_same_case);
    tcase_add_test(t, a_list_has_each_case_of_a_seed_once);
    tcase_add_test(t, bad_text_is_refused_with_a_hint);
    tcase_add_test(t, overlong_text_is_refused);
    tcase_add_test(t, inexact_extents_are_refused);
    suite_add_tcase(s, t);
    return s;
}
