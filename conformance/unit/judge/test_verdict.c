/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts survive the way from worker to parent, and tallies add up. */
#include "report/report.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static verdict sample(verdict_status status)
{
    verdict v;

    memset(&v, 0, sizeof v);
    v.status = status;
    v.n_diff = 3;
    v.n_total = UINT64_C(1) << 40;
    v.ms = 1.5;
    strcpy(v.reason, "a \"reason\"\n with \\ and \t");
    strcpy(v.tensor, "y");
    strcpy(v.index, "[16,0]");
    strcpy(v.want, "5c");
    strcpy(v.got, "91");
    strcpy(v.kind, "y differs");
    strcpy(v.rule, "exact_nan");
    strcpy(v.kernel, "k<8>");
    v.detail = strdup("one\ntwo");
    return v;
}

START_TEST(json_gives_back_every_field)
{
    for (int s = 0; s < N_VERDICTS; s++) {
        verdict v = sample((verdict_status)s);
        verdict back;
        json_t *o = verdict_to_json(&v);

        ck_assert_int_eq(verdict_from_json(&back, o), 0);
        ck_assert_int_eq(back.status, s);
        ck_assert_uint_eq(back.n_diff, v.n_diff);
        ck_assert_uint_eq(back.n_total, v.n_total);
        ck_assert(back.ms == v.ms);
        ck_assert_str_eq(back.reason, v.reason);
        ck_assert_str_eq(back.tensor, v.tensor);
        ck_assert_str_eq(back.index, v.index);
        ck_assert_str_eq(back.want, v.want);
        ck_assert_str_eq(back.got, v.got);
        ck_assert_str_eq(back.kind, v.kind);
        ck_assert_str_eq(back.rule, v.rule);
        ck_assert_str_eq(back.kernel, v.kernel);
        ck_assert_str_eq(back.detail, v.detail);
        json_decref(o);
        verdict_clear(&v);
        verdict_clear(&back);
    }
}
END_TEST

START_TEST(bytes_that_are_no_text_do_not_lose_the_verdict)
{
    verdict v = sample(VERDICT_FAIL);
    verdict back;

    strcpy(v.reason, "bad \xff\xfe bytes");
    json_t *o = verdict_to_json(&v);

    ck_assert_int_eq(verdict_from_json(&back, o), 0);
    ck_assert_str_eq(back.reason, "bad ?? bytes");
    json_decref(o);
    verdict_clear(&v);
    verdict_clear(&back);
}
END_TEST

START_TEST(foreign_json_is_refused)
{
    static const char *const texts[] = {"{}", "[]", "{\"status\": 1}",
                                        "{\"status\": \"splendid\"}"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *o = json_loads(texts[i], 0, NULL);
        verdict v;
        ck_assert_msg(verdict_from_json(&v, o) == -1, "%s", texts[i]);
        json_decref(o);
    }
}
END_TEST

START_TEST(red_statuses_are_the_five)
{
    for (int s = 0; s < N_VERDICTS; s++) {
        const int want = s == VERDICT_FAIL || s == VERDICT_CRASH ||
                         s == VERDICT_TIMEOUT || s == VERDICT_VACUOUS ||
                         s == VERDICT_ERROR;
        ck_assert_msg(verdict_is_red((verdict_status)s) == want, "%s",
                      verdict_name((verdict_status)s));
    }
}
END_TEST

static void count(tally *t, const backend_info *b, const char *text,
                  verdict_status status, const char *rule, uint64_t n)
{
    verdict v;
    report_result r;

    memset(&v, 0, sizeof v);
    memset(&r, 0, sizeof r);
    v.status = status;
    strcpy(v.rule, rule);
    strcpy(v.reason, "why");
    r.backend = b;
    r.case_text = text;
    r.n_cases = n;
    r.v = &v;
    tally_add(t, &r);
}

START_TEST(tallies_add_up_by_operation_rule_and_reason)
{
    static const backend_info cpu = {.name = "cpu"};
    static const backend_info hip = {.name = "hip"};
    tally t;

    memset(&t, 0, sizeof t);
    count(&t, &cpu, "a.b:n=1", VERDICT_PASS, "bits", 1);
    count(&t, &cpu, "a.b:n=2", VERDICT_FAIL, "bits", 1);
    count(&t, &cpu, "a.b:n=3", VERDICT_PASS, "exact_nan", 1);
    count(&t, &cpu, "a.c:n=3", VERDICT_UNSUPPORTED, "", 1);
    count(&t, &cpu, "a.d:n=3", VERDICT_UNSUPPORTED, "", 1);
    count(&t, &hip, "*", VERDICT_SKIP, "", 7);
    ck_assert_uint_eq(tally_total(&t), 12);
    ck_assert_uint_eq(tally_red(&t), 1);
    ck_assert_uint_eq(tally_left_out(&t), 9);
    ck_assert_uint_eq(t.n_rows, 4);
    ck_assert_str_eq(t.row[0].rule[1], "exact_nan");
    ck_assert_uint_eq(t.row[0].n_by_rule[0], 2);
    ck_assert_uint_eq(t.row[0].n_unknown_kernel, 3);
    tally_clear(&t);
}
END_TEST

Suite *suite_verdict(void);
Suite *suite_verdict(void)
{
    Suite *s = suite_create("verdict");
    TCase *t = tcase_create("verdict");

    tcase_add_test(t, json_gives_back_every_field);
    tcase_add_test(t, bytes_that_are_no_text_do_not_lose_the_verdict);
    tcase_add_test(t, foreign_json_is_refused);
    tcase_add_test(t, red_statuses_are_the_five);
    tcase_add_test(t, tallies_add_up_by_operation_rule_and_reason);
    suite_add_tcase(s, t);
    return s;
}
