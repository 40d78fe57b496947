/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that a subject declares, and the cases asked in place of those
 * outside.
 */
#include "run/limits.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

static subject oracle;

static void open_oracle(void)
{
    char why[128];

    ck_assert_int_eq(
        subject_open(&oracle, mxo_emulator(), 0, (mxo_text){why, sizeof why}),
        MXO_OK);
}

static void close_oracle(void)
{
    subject_close(&oracle);
}

/* Under these limits, which may have ' for a double quote, the case is asked
   as this; NULL: not at all. */
static void expect_of(const char *limits, int is_drawn, const char *text,
                      const char *asked)
{
    char json[512];
    char why[512];
    char got[CASE_TEXT];
    test_case c;

    (void)snprintf(json, sizeof json, "%s", limits);
    for (char *p = json; *p != '\0'; p++) {
        *p = (char)(*p == '\'' ? '"' : *p);
    }
    json_t *declared = json_loads(json, 0, NULL);
    ck_assert_ptr_nonnull(declared);
    ck_assert_msg(limits_check(declared, (mxo_text){why, sizeof why}) == 0,
                  "%s: %s", limits, why);
    ck_assert_int_eq(case_parse(&c, text, (mxo_text){why, sizeof why}), 0);
    const limits_place place = limits_find(declared, &oracle, is_drawn, &c);
    case_print(&c, 0, got);
    ck_assert_msg((place == LIMITS_OUTSIDE) == (asked == NULL),
                  "%s under %s: place %d", text, limits, (int)place);
    ck_assert_str_eq(got, asked == NULL ? text : asked);
    json_decref(declared);
}

/* Of a case that stands in a grid. */
static void expect(const char *limits, const char *text, const char *asked)
{
    expect_of(limits, 0, text, asked);
}

static void expect_refused(const char *limits, const char *word)
{
    char json[512];
    char why[512] = "";

    (void)snprintf(json, sizeof json, "%s", limits);
    for (char *p = json; *p != '\0'; p++) {
        *p = (char)(*p == '\'' ? '"' : *p);
    }
    json_t *declared = json_loads(json, 0, NULL);
    ck_assert_int_ne(limits_check(declared, (mxo_text){why, sizeof why}), 0);
    ck_assert_msg(strstr(why, word) != NULL, "%s: %s", limits, why);
    json_decref(declared);
}

START_TEST(a_default_that_is_not_taken_becomes_a_value_that_is)
{
    const char *silu = "{'act.glu':{'params':{'dialect':['vllm_silu'],"
                       "'limit':['none'],'layout':['halves']}}}";
    const char *range = "{'act.glu':{'params':{'alpha':{'min':1,'max':1.5}}}}";

    expect(silu, "act.glu:rows=2,cols=48",
           "act.glu:rows=2,cols=48,dialect=vllm_silu,layout=halves,limit=none");
    /* Another dialect, or a limit that somebody chose, is another's case. */
    expect(silu, "act.glu:rows=2,cols=48,dialect=triton", NULL);
    expect(silu, "act.glu:rows=2,cols=48,limit=2.5", NULL);
    /* But not where it was drawn. */
    expect_of(
        silu, 1, "act.glu:rows=2,cols=48,dialect=triton,limit=2.5",
        "act.glu:rows=2,cols=48,dialect=vllm_silu,layout=halves,limit=none");
    expect(range, "act.glu:rows=2,cols=48", "act.glu:rows=2,cols=48,alpha=1.5");
    expect("{'act.glu':{'params':{'alpha':{'min':2}}}}",
           "act.glu:rows=2,cols=48", "act.glu:rows=2,cols=48,alpha=2");
}
END_TEST

START_TEST(sizes_follow_with_the_parameters)
{
    expect("{'quant.group':{'params':{'rule':['vllm_group']},"
           "'dims':{'cols':{'multiple':128}}}}",
           "quant.group:rows=5,cols=96",
           "quant.group:rows=5,cols=128,rule=vllm_group");
}
END_TEST

START_TEST(a_value_without_an_answer_is_not_tried)
{
    /* trtllm_llama4 chooses one expert, the case four. */
    const char *both = "{'route.topk':{'params':{'dialect':"
                       "['trtllm_llama4','topk_softmax']}}}";

    for (int n = 1; n < 9; n++) {
        char text[64];
        char asked[96];
        (void)snprintf(text, sizeof text, "route.topk:tokens=%d,experts=8", n);
        (void)snprintf(asked, sizeof asked, "%s,dialect=topk_softmax", text);
        expect(both, text, asked);
    }
    expect("{'route.topk':{'params':{'dialect':['trtllm_llama4']}}}",
           "route.topk:tokens=3,experts=8", NULL);
}
END_TEST

/* Every value that a list has is some case's. */
START_TEST(all_values_of_a_list_come)
{
    json_t *declared = json_pack("{s{s{s[sss]}}}", "quant.mx", "params", "rule",
                                 "even", "ceil", "flashinfer");
    int seen[3] = {0};

    for (int rows = 1; rows < 20; rows++) {
        char text[64];
        char why[256];
        test_case c;
        (void)snprintf(text, sizeof text, "quant.mx:rows=%d,cols=64", rows);
        ck_assert_int_eq(case_parse(&c, text, (mxo_text){why, sizeof why}), 0);
        ck_assert_int_eq(limits_find(declared, &oracle, 0, &c), LIMITS_NEAR);
        seen[0] |= strcmp(case_value(&c, "rule"), "even") == 0;
        seen[1] |= strcmp(case_value(&c, "rule"), "ceil") == 0;
        seen[2] |= strcmp(case_value(&c, "rule"), "flashinfer") == 0;
    }
    ck_assert_int_eq(seen[0] + seen[1] + seen[2], 3);
    json_decref(declared);
}
END_TEST

START_TEST(words_of_all_operations_hold_for_each)
{
    const char *const repeated =
        "moe.layer:tokens=3,hidden=64,topk=2,experts=4,inter=32,ids=repeated";
    const char *const flawed = "quant.mx:rows=3,cols=64,flaw=short.x";

    expect("{'*':{'ids':'distinct'}}", repeated, NULL);
    expect("{'moe.layer':{'ids':'distinct'}}", repeated, NULL);
    expect("{'*':{}}", repeated, repeated);
    expect("{'*':{'calls':'legal'}}", flawed, NULL);
    expect("{'quant.mx':{'calls':'legal'}}", flawed, NULL);
    expect("{'quant.mx':{}}", flawed, flawed);
}
END_TEST

START_TEST(words_that_mean_nothing_are_refused)
{
    expect_refused("{'moe.layer':{'ids':'sorted'}}", "ids can be distinct");
    expect_refused("{'moe.layer':{'calls':'all'}}", "calls can be legal");
    expect_refused("{'*':{'calls':1}}", "calls can be legal");
    expect_refused("{'*':{'call':'legal'}}", "nobody knows the key");
}
END_TEST

Suite *suite_limits(void);

Suite *suite_limits(void)
{
    Suite *s = suite_create("limits");
    TCase *t = tcase_create("limits");

    tcase_add_checked_fixture(t, open_oracle, close_oracle);
    tcase_add_test(t, a_default_that_is_not_taken_becomes_a_value_that_is);
    tcase_add_test(t, sizes_follow_with_the_parameters);
    tcase_add_test(t, a_value_without_an_answer_is_not_tried);
    tcase_add_test(t, all_values_of_a_list_come);
    tcase_add_test(t, words_of_all_operations_hold_for_each);
    tcase_add_test(t, words_that_mean_nothing_are_refused);
    suite_add_tcase(s, t);
    return s;
}
