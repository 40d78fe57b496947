/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that must be refused: the outputs they are given, what can be wrong
 * with them, and subjects that refuse them badly.
 */
#include "data/nearest_legal_shape.h"
#include "judge/refusal.h"
#include "run/case_run.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

#define TOPK "route.topk:tokens=3,experts=8,top_k=9"
#define QUANT "quant.mx:rows=2,cols=48"

/* The emulator's functions under a changed run(). */
static mxo_backend table;

static void first_byte(const mxo_call *call)
{
    if (call->n_out > 0 && call->out[0].n_bytes > 0) {
        ((uint8_t *)call->out[0].buffer)[call->out[0].offset] ^= 1;
    }
}

static mxo_status run_accept(void *ctx, const mxo_call *call, mxo_text why)
{
    (void)ctx;
    (void)why;
    first_byte(call);
    return MXO_OK;
}

static mxo_status run_late(void *ctx, const mxo_call *call, mxo_text why)
{
    first_byte(call);
    return mxo_emulator()->run(ctx, call, why);
}

static mxo_status run_silent(void *ctx, const mxo_call *call, mxo_text why)
{
    char text[256];

    (void)why;
    return mxo_emulator()->run(ctx, call, (mxo_text){text, sizeof text});
}

static mxo_status run_no_memory(void *ctx, const mxo_call *call, mxo_text why)
{
    (void)mxo_emulator()->run(ctx, call, why);
    return MXO_E_NOMEM;
}

/* Blames shapes for everything. */
static mxo_status run_shape(void *ctx, const mxo_call *call, mxo_text why)
{
    (void)mxo_emulator()->run(ctx, call, why);
    return MXO_E_SHAPE;
}

/* Refuses only who misses an output. */
static mxo_status run_counts(void *ctx, const mxo_call *call, mxo_text why)
{
    (void)ctx;
    (void)snprintf(why.ptr, why.size, "tensors are missing");
    return call->n_out == 0 ? MXO_E_SHAPE : MXO_OK;
}

static test_case parsed(const char *text)
{
    char why[512];
    test_case c;

    ck_assert_msg(case_parse(&c, text, (mxo_text){why, sizeof why}) == 0, "%s",
                  why);
    return c;
}

static void expect(mxo_status (*run)(void *, const mxo_call *, mxo_text),
                   const char *text, verdict_status status, const char *reason)
{
    char why[256];
    const test_case c = parsed(text);
    verdict v;
    judge j;

    table = *mxo_emulator();
    table.name = "changed";
    table.run = run == NULL ? table.run : run;
    ck_assert_int_eq(judge_open(&j, &table, 0, (mxo_text){why, sizeof why}),
                     MXO_OK);
    case_run(&j, &c, 1, &v);
    judge_close(&j);
    ck_assert_msg(v.status == status, "%s: %s: %s", text,
                  verdict_name(v.status), v.reason);
    ck_assert_msg(strstr(v.reason, reason) != NULL, "%s: %s", text, v.reason);
    ck_assert_msg(status != VERDICT_PASS || strcmp(v.rule, "refusal") == 0,
                  "%s passes by %s", text, v.rule);
    verdict_clear(&v);
}

/* Whether a set has [rows, cols] as its first output. */
static int has_outputs(const nearest_outputs *near, uint64_t rows,
                       uint64_t cols)
{
    int found = 0;

    for (int i = 0; i < near->n; i++) {
        const host_tensor *t = &near->set[i].t[0];
        found |= t->rank == 2 && t->shape[0] == rows && t->shape[1] == cols;
    }
    return found;
}

static void expect_near(const char *text, uint64_t rows, uint64_t cols)
{
    char why[256];
    const test_case c = parsed(text);
    subject oracle;
    nearest_outputs near;

    ck_assert_int_eq(
        subject_open(&oracle, mxo_emulator(), 0, (mxo_text){why, sizeof why}),
        MXO_OK);
    nearest_find(&oracle, &c, &near);
    ck_assert_msg(has_outputs(&near, rows, cols), "%s: %d sets", text, near.n);
    nearest_clear(&near);
    subject_close(&oracle);
}

START_TEST(outputs_grow_with_the_number_that_is_wrong)
{
    expect_near(TOPK, 3, 9); /* of 8 experts */
    expect_near("route.topk:tokens=3,experts=8,top_k=0", 3, 0);
    expect_near(QUANT, 2, 24); /* packed */
    expect_near("quant.mx:rows=2,cols=64,align=-32", 2, 32);
    expect_near("moe.layer:tokens=3,topk=2,experts=4,hidden=64,inter=64,"
                "hblocks=3",
                3, 64);
    expect_near("moe.layer:tokens=3,topk=2,experts=4,hidden=64,inter=64,"
                "splits=0,promote=-1", /* both are wrong */
                3, 64);
}
END_TEST

START_TEST(sizes_and_parameters_must_be_looked_at)
{
    expect(NULL, TOPK, VERDICT_PASS, "");
    expect(NULL, QUANT, VERDICT_PASS, "");
    expect(run_accept, TOPK, VERDICT_FAIL, "it accepts what must be refused");
    expect(run_counts, TOPK, VERDICT_FAIL, "it accepts what must be refused");
    expect(run_counts, QUANT, VERDICT_FAIL, "it accepts what must be refused");
    expect(run_late, TOPK, VERDICT_FAIL, "refused, yet wrote byte 0");
    expect(run_silent, TOPK, VERDICT_FAIL, "without a word");
    expect(run_no_memory, TOPK, VERDICT_FAIL, "it refuses with NOMEM");
    expect(run_shape, TOPK, VERDICT_PASS, ""); /* whose fault it is, is open */
}
END_TEST

static const char *const flawed[] = {
    "bytes.x",   "dtype.q",    "flat.x",    "long.scale", "missing.x",
    "missing.q", "odd.cols",   "short.q",   "off.cols",   "turned.q",
    "unknown",   "unset.rule", "value.tie", "vast.x"};

START_TEST(every_flaw_must_be_seen)
{
    char text[128];

    (void)snprintf(text, sizeof text, "quant.mx:rows=3,cols=64,flaw=%s",
                   flawed[_i]);
    expect(NULL, text, VERDICT_PASS, "");
    expect(run_accept, text, VERDICT_FAIL, "it accepts what must be refused");
    expect(run_silent, text, VERDICT_FAIL, "without a word");
    expect(run_late, text, VERDICT_FAIL, "refused, yet wrote byte 0");
    expect(run_no_memory, text, VERDICT_FAIL, "it refuses with NOMEM");
}
END_TEST

START_TEST(a_flaw_says_whose_fault_it_is)
{
    expect(run_shape, "quant.mx:rows=3,cols=64,flaw=short.x", VERDICT_PASS, "");
    expect(run_shape, "quant.mx:rows=3,cols=64,flaw=unknown", VERDICT_FAIL,
           "it refuses with SHAPE");
    expect(run_shape, "quant.mx:rows=3,cols=64,flaw=odd.cols", VERDICT_PASS,
           "");
}
END_TEST

static void expect_no_case(const char *text, const char *reason)
{
    char why[512] = "";
    test_case c;

    ck_assert_int_ne(case_parse(&c, text, (mxo_text){why, sizeof why}), 0);
    ck_assert_msg(strstr(why, reason) != NULL, "%s", why);
}

START_TEST(a_flaw_needs_something_it_can_be_done_to)
{
    expect_no_case("quant.mx:rows=3,cols=64,flaw=shrot.x", "flaw=shrot.x");
    expect_no_case("quant.mx:rows=3,cols=64,flaw=short.w13", "no such tensor");
    expect_no_case("quant.mx:rows=3,cols=64,flaw=odd.x", "no such dimension");
    expect_no_case("quant.mx:rows=3,cols=64,flaw=unset.x", "no such parameter");
    expect_no_case("quant.mx:rows=3,cols=64,flaw=unknown.x", "no such call");
    expect_no_case("quant.mx:rows=3,cols=64,flaw=unknown,flaw=unknown",
                   "given twice");
    expect(NULL, "quant.scale:n=9,flaw=turned.amax", VERDICT_ERROR,
           "cannot be done to this call");
}
END_TEST

START_TEST(a_case_keeps_its_flaw)
{
    char text[CASE_TEXT];
    const test_case c =
        parsed("quant.mx:flaw=short.x,rows=3,cols=64,data=ties");

    case_print(&c, 0, text);
    ck_assert_str_eq(text, "quant.mx:rows=3,cols=64,data=ties,flaw=short.x");
}
END_TEST

Suite *suite_refusal(void);

Suite *suite_refusal(void)
{
    Suite *s = suite_create("refusal");
    TCase *t = tcase_create("refusal");

    tcase_add_test(t, outputs_grow_with_the_number_that_is_wrong);
    tcase_add_test(t, sizes_and_parameters_must_be_looked_at);
    tcase_add_loop_test(t, every_flaw_must_be_seen, 0,
                        (int)(sizeof flawed / sizeof flawed[0]));
    tcase_add_test(t, a_flaw_says_whose_fault_it_is);
    tcase_add_test(t, a_flaw_needs_something_it_can_be_done_to);
    tcase_add_test(t, a_case_keeps_its_flaw);
    suite_add_tcase(s, t);
    return s;
}
