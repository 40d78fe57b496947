/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge on a subject made for the purpose: the emulator with one thing
 * changed.  Each change must be seen, and what is seen must be said.
 */
#include "judge/judge.h"
#include "run/case_run.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* The emulator's functions under a changed run(). */
static mxo_backend table;
static int calls;

static uint8_t *bytes_of(const mxo_tensor *t)
{
    return (uint8_t *)t->buffer + t->offset;
}

static mxo_status run_other_tie(void *ctx, const mxo_call *call, mxo_text why)
{
    mxo_param params[16];
    mxo_call other = *call;

    for (uint32_t i = 0; i < call->n_params; i++) {
        params[i] = call->params[i];
        if (strcmp(params[i].key, "tie") == 0) {
            params[i].text = "rna";
        }
    }
    other.params = params;
    return mxo_emulator()->run(ctx, &other, why);
}

static mxo_status run_swap_nibbles(void *ctx, const mxo_call *call,
                                   mxo_text why)
{
    const mxo_status status = mxo_emulator()->run(ctx, call, why);
    const mxo_tensor *q = &call->out[0];

    for (uint64_t i = 0; status == MXO_OK && i < q->n_bytes; i++) {
        uint8_t *b = &bytes_of(q)[i];
        *b = (uint8_t)(*b >> 4 | *b << 4);
    }
    return status;
}

static mxo_status run_scale_up(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_status status = mxo_emulator()->run(ctx, call, why);

    if (status == MXO_OK) {
        bytes_of(&call->out[1])[2]++;
    }
    return status;
}

/* Each row of scales is the one before it; of q nothing but codes of what they
   were is left. */
static mxo_status run_former_scales(void *ctx, const mxo_call *call,
                                    mxo_text why)
{
    const mxo_status status = mxo_emulator()->run(ctx, call, why);
    const mxo_tensor *scale = &call->out[1];
    const size_t row = (size_t)scale->shape[1];

    if (status == MXO_OK) {
        memmove(bytes_of(scale) + row, bytes_of(scale),
                (size_t)scale->n_bytes - row);
    }
    return status;
}

/* Rows behind the last whole 32 are zero, and nothing else is. */
static mxo_status run_whole_tiles(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_status status = mxo_emulator()->run(ctx, call, why);
    const mxo_tensor *q = &call->out[0];
    const size_t row = (size_t)(q->n_bytes / q->shape[0]);

    if (status == MXO_OK && q->shape[0] > 32) { /* not of another call */
        memset(bytes_of(q) + 32 * row, 0, (size_t)q->n_bytes - 32 * row);
    }
    return status;
}

/* One code is its neighbour's: by chance also the left one's. */
static mxo_status run_one_neighbour(void *ctx, const mxo_call *call,
                                    mxo_text why)
{
    const mxo_status status = mxo_emulator()->run(ctx, call, why);
    uint8_t *q = bytes_of(&call->out[0]);
    size_t i = 1;

    while (q[i] == q[i - 1]) {
        i++;
    }
    q[i] = status == MXO_OK ? q[i - 1] : q[i];
    return status;
}

static mxo_status run_accept(void *ctx, const mxo_call *call, mxo_text why)
{
    (void)ctx;
    (void)call;
    (void)why;
    return MXO_OK;
}

static mxo_status run_past_end(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_status status = mxo_emulator()->run(ctx, call, why);
    const mxo_tensor *q = &call->out[0];

    bytes_of(q)[q->n_bytes + 7] ^= 1;
    return status;
}

static mxo_status run_spoil_input(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_status status = mxo_emulator()->run(ctx, call, why);

    bytes_of(&call->in[0])[5] ^= 1;
    return status;
}

static mxo_status run_refuse_late(void *ctx, const mxo_call *call, mxo_text why)
{
    (void)mxo_emulator()->run(ctx, call, why);
    return MXO_E_UNSUPPORTED;
}

static mxo_status run_changing(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_status status = mxo_emulator()->run(ctx, call, why);

    bytes_of(&call->out[0])[0] ^= (uint8_t)(calls++ % 2);
    return status;
}

static mxo_status run_half(void *ctx, const mxo_call *call, mxo_text why)
{
    uint8_t kept[16];
    const mxo_tensor *q = &call->out[0];

    memcpy(kept, bytes_of(q) + 32, sizeof kept);
    const mxo_status status = mxo_emulator()->run(ctx, call, why);

    memcpy(bytes_of(q) + 32, kept, sizeof kept);
    return status;
}

enum { OUTPUTS = 16 };

/* Where the byte with a 16-bit number's sign lies. */
static int is_little(void)
{
    const uint16_t one = 1;
    uint8_t first;

    memcpy(&first, &one, sizeof first);
    return first;
}

/* The same call, asked for the ends that a kernel's own exponential may reach;
   1: y_hi is in out[1]. */
static int ask_ends(void *ctx, const mxo_call *call, mxo_tensor *out,
                    mxo_text why)
{
    mxo_param params[OP_MAX_PARAMS];
    mxo_call other = *call;
    uint32_t n = OUTPUTS;

    for (uint32_t i = 0; i < call->n_params; i++) {
        params[i] = call->params[i];
        if (strcmp(params[i].key, "bounds") == 0) {
            params[i].text = "open";
        }
    }
    other.params = params;
    if (mxo_emulator()->infer(ctx, &other, out, &n, why) != MXO_OK) {
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        out[i].buffer = calloc(1, (size_t)out[i].n_bytes + 1);
        out[i].offset = 0;
    }
    other.out = out;
    other.n_out = n;
    return mxo_emulator()->run(ctx, &other, why) == MXO_OK;
}

/* A kernel whose exponential is always as much too large as may be. */
static mxo_status run_far_end(void *ctx, const mxo_call *call, mxo_text why)
{
    mxo_tensor out[OUTPUTS] = {{0}};
    const mxo_status status = mxo_emulator()->run(ctx, call, why);

    if (status == MXO_OK && ask_ends(ctx, call, out, why)) {
        memcpy(bytes_of(&call->out[0]), bytes_of(&out[1]),
               (size_t)out[1].n_bytes);
    }
    for (int i = 0; i < OUTPUTS; i++) {
        free(out[i].buffer);
    }
    return status;
}

/* The same, but the first zero has the other sign. */
static mxo_status run_zero_sign(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_status status = run_far_end(ctx, call, why);
    uint8_t *y = bytes_of(&call->out[0]);

    for (uint64_t i = 0; i + 1 < call->out[0].n_bytes; i += 2) {
        if (y[i] == 0 && y[i + 1] == 0) {
            y[i + is_little()] = 0x80;
            break;
        }
    }
    return status;
}

static mxo_status run_beyond(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_status status = run_far_end(ctx, call, why);

    bytes_of(&call->out[0])[0] ^= 2; /* two units of the first result */
    return status;
}

static verdict judged(mxo_status (*run)(void *, const mxo_call *, mxo_text),
                      const char *text)
{
    const char *ops[2] = {NULL, NULL}; /* what is changed, and none beside */
    char why[256];
    test_case c;
    verdict v;
    judge j;

    table = *mxo_emulator();
    table.name = "changed";
    table.run = run == NULL ? table.run : run;
    ck_assert_msg(case_parse(&c, text, (mxo_text){why, sizeof why}) == 0, "%s",
                  why);
    ops[0] = c.schema->info->name;
    table.ops = ops;
    ck_assert_int_eq(judge_open(&j, &table, 0, (mxo_text){why, sizeof why}),
                     MXO_OK);
    case_run(&j, &c, 1, &v);
    judge_close(&j);
    return v;
}

static void expect(mxo_status (*run)(void *, const mxo_call *, mxo_text),
                   const char *text, verdict_status status, const char *reason)
{
    verdict v = judged(run, text);

    ck_assert_msg(v.status == status, "%s: %s", verdict_name(v.status),
                  v.reason);
    ck_assert_msg(strstr(v.reason, reason) != NULL, "%s", v.reason);
    verdict_clear(&v);
}

#define CASE "quant.mx:rows=3,cols=96,data=ties"

START_TEST(the_emulator_passes)
{
    expect(NULL, CASE, VERDICT_PASS, "");
    expect(NULL, "quant.mx:rows=2,cols=48", VERDICT_PASS, "");
}
END_TEST

START_TEST(known_mistakes_are_named)
{
    expect(run_other_tie, CASE, VERDICT_FAIL, "tie=rna");
    expect(run_swap_nibbles, CASE, VERDICT_FAIL, "nibbles are swapped");
    expect(run_scale_up, CASE, VERDICT_FAIL, "one too high");
    expect(run_former_scales, "quant.mx:rows=37,cols=64,data=ordinary",
           VERDICT_FAIL, "every row but the first is the row before");
    expect(run_whole_tiles, "quant.mx:rows=37,cols=64,data=ordinary",
           VERDICT_FAIL,
           "; rows from 32 on (behind the last whole 32) are zero");
    expect(run_one_neighbour, CASE, VERDICT_FAIL, "1 of 144 elements differ");
}
END_TEST

START_TEST(what_holds_of_one_element_is_no_name)
{
    verdict v = judged(run_one_neighbour, CASE);

    ck_assert_msg(strstr(v.reason, "neighbour") == NULL, "%s", v.reason);
    verdict_clear(&v);
}
END_TEST

START_TEST(memory_is_watched)
{
    expect(run_past_end, CASE, VERDICT_FAIL, "byte 8 past its end");
    expect(run_spoil_input, CASE, VERDICT_FAIL, "input x: byte 5");
    expect(run_half, CASE, VERDICT_FAIL, "16 bytes were never written");
    expect(run_changing, CASE, VERDICT_FAIL, "between two runs");
}
END_TEST

START_TEST(refusals_are_judged)
{
    expect(run_refuse_late, CASE, VERDICT_FAIL, "refused, yet wrote");
    expect(run_accept, "quant.mx:rows=2,cols=48", VERDICT_FAIL,
           "must be refused");
    expect(run_accept, CASE, VERDICT_FAIL, "never written");
}
END_TEST

START_TEST(the_first_difference_is_placed_and_decoded)
{
    verdict v = judged(run_scale_up, CASE);

    ck_assert_str_eq(v.tensor, "scale");
    ck_assert_str_eq(v.index, "[0,2]");
    ck_assert_uint_eq(v.n_diff, 1);
    ck_assert_ptr_nonnull(v.detail);
    ck_assert_msg(strstr(v.detail, "guards intact, fully written, "
                                   "deterministic") != NULL,
                  "%s", v.detail);
    verdict_clear(&v);
}
END_TEST

START_TEST(ties_are_called_ties)
{
    verdict v = judged(run_other_tie, CASE);

    ck_assert_msg(strstr(v.detail, "in block units, a tie: the even code "
                                   "wins") != NULL,
                  "%s", v.detail);
    verdict_clear(&v);
}
END_TEST

START_TEST(work_that_leaves_no_trace_is_vacuous)
{
    expect(NULL, "format.classify:n=64,keep=0-0,format=e4m3fn", VERDICT_VACUOUS,
           "every element of class is 00");
    expect(NULL, "format.e8m0_decode:n=64,keep=0-0", VERDICT_VACUOUS,
           "every element of y is 00400000");
}
END_TEST

#define UNITS "moe.gemm1:tokens=2,topk=2,experts=3,hidden=32,inter=64,"

/* On data that no order rounds an exponential may still differ, unless it is
   declared: then bits are compared, and the far end is the only one. */
START_TEST(another_exponential_passes_where_none_is_declared)
{
    verdict v = judged(run_far_end, UNITS "profile=TRITON,data=orderfree");

    ck_assert_msg(v.status == VERDICT_PASS, "%s", v.reason);
    ck_assert_str_eq(v.rule, "bound");
    verdict_clear(&v);
    v = judged(NULL, UNITS "profile=TRITON,data=orderfree");
    ck_assert_msg(v.status == VERDICT_PASS, "%s", v.reason);
    ck_assert_str_eq(v.rule, "exact_nan");
    verdict_clear(&v);
    expect(run_beyond, UNITS "profile=TRITON,data=orderfree", VERDICT_FAIL,
           "1 of 256 elements");
    expect(run_zero_sign,
           UNITS "profile=TRITON,glu=aiter,beta=0,limit=0,data=orderfree",
           VERDICT_FAIL, "1 of 256 elements");
    v = judged(run_beyond, UNITS "profile=TRITON,glu=exact,data=orderfree");
    ck_assert_str_eq(v.rule, "exact_nan");
    verdict_clear(&v);
    expect(run_beyond, UNITS "profile=TRITON,glu=exact,data=orderfree",
           VERDICT_FAIL, "1 of 256 elements");
}
END_TEST

Suite *suite_judge(void);
Suite *suite_judge(void)
{
    Suite *s = suite_create("judge");
    TCase *t = tcase_create("judge");

    tcase_set_timeout(t, 60);

    tcase_add_test(t, the_emulator_passes);
    tcase_add_test(t, known_mistakes_are_named);
    tcase_add_test(t, what_holds_of_one_element_is_no_name);
    tcase_add_test(t, memory_is_watched);
    tcase_add_test(t, refusals_are_judged);
    tcase_add_test(t, the_first_difference_is_placed_and_decoded);
    tcase_add_test(t, ties_are_called_ties);
    tcase_add_test(t, work_that_leaves_no_trace_is_vacuous);
    tcase_add_test(t, another_exponential_passes_where_none_is_declared);
    suite_add_tcase(s, t);
    return s;
}
