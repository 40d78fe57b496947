/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties: a subject that is right until it is asked the second call of
 * one of them must be caught by that property, by name, whether the first
 * answer has the oracle's bits or lies within the room of an open exponential.
 */
#include "judge/judge.h"
#include "run/case_run.h"
#include "unit/emu_call.h"
#include "unit/part.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYER "moe.layer:tokens=5,topk=2,experts=4,hidden=64,inter=96,"
#define BIASED LAYER "bias=f32,data=orderfree"
/* Numbers of binary32, in which the room of an open exponential shows. */
#define WIDE "profile=MARLIN,glu_out=f32,row_out=f32,sum=slots,out=f32,"
#define OPEN LAYER WIDE "bias=f32,data=orderfree"
#define OPEN_QUANTISED                                         \
    LAYER WIDE "quant=quant.mx,quant_element=e2m1,quant_rule=" \
               "rceil,bias=f32,data=orderfree"

typedef int call_test(const mxo_call *call);

static mxo_backend table;
static int is_open;           /* an exponential of its own: the upper ends */
static call_test *goes_lower; /* where it comes out at the lower ends */
static call_test *goes_wrong;
static uint32_t n_runs;
static int had_other;          /* the fifth run had fewer tokens */
static uint64_t former_tokens; /* of the call before */
static int had_shards;         /* a variant has had fewer columns */
static uint8_t first_x[64];    /* of the first call, by row */
static uint8_t first_w2[4 * 64 * 48];

static const mxo_tensor *input(const mxo_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (strcmp(call->in[i].name, name) == 0) {
            return &call->in[i];
        }
    }
    return NULL;
}

static uint8_t *bytes_of(const mxo_tensor *t)
{
    return (uint8_t *)t->buffer + t->offset;
}

static const uint8_t *row_of(const mxo_call *call, const char *name,
                             uint64_t row)
{
    const mxo_tensor *t = input(call, name);

    return bytes_of(t) + row * (t->n_bytes / t->shape[0]);
}

static uint64_t tokens_of(const mxo_call *call)
{
    return input(call, "x")->shape[0];
}

static uint64_t inter_of(const mxo_call *call)
{
    return 2 * input(call, "w2")->shape[2];
}

/* One end of what every exponential that the layer's may be can give. */
static mxo_status run_end(void *ctx, const mxo_call *call, int is_low,
                          mxo_text why)
{
    const mxo_tensor *y = &call->out[0];
    void *unheard = malloc((size_t)y->n_bytes + 1);
    mxo_param params[EMU_MAX_PARAMS];
    mxo_tensor out[2] = {*y, *y};
    mxo_call asked = *call;

    ck_assert_ptr_nonnull(unheard);
    ck_assert_uint_le(call->n_params, EMU_MAX_PARAMS);
    for (uint32_t i = 0; i < call->n_params; i++) {
        params[i] = call->params[i];
        if (strcmp(params[i].key, "bounds") == 0) {
            params[i].text = "open";
        }
    }
    out[0].name = "y_lo";
    out[1].name = "y_hi";
    out[is_low].buffer = unheard;
    out[is_low].offset = 0;
    asked.params = params;
    asked.out = out;
    asked.n_out = 2;
    const mxo_status status = mxo_emulator()->run(ctx, &asked, why);

    free(unheard);
    return status;
}

/* The case itself is run twice, on noise and on noise in part, both before the
   first or behind it, and once more behind a call of other sizes, if it is
   chosen for that. */
static uint32_t n_own(void)
{
    return had_other ? 6 : 4;
}

static mxo_status run_changed(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_tensor *y = &call->out[0];
    const uint64_t size = y->dtype == MXO_F32 ? 4 : 2;

    had_other |= n_runs == 4 && tokens_of(call) == 2;
    const int is_second = n_runs++ >= n_own();
    const mxo_status status =
        is_open ? run_end(ctx, call, is_second && goes_lower(call), why)
                : mxo_emulator()->run(ctx, call, why);

    if (n_runs == 4) { /* the second run, wherever those on noise are */
        memcpy(first_x, row_of(call, "x", 0), sizeof first_x);
        ck_assert_uint_eq(input(call, "w2")->n_bytes, sizeof first_w2);
        memcpy(first_w2, row_of(call, "w2", 0), sizeof first_w2);
    }
    if (is_second && status == MXO_OK && goes_wrong(call)) {
        /* the lowest bit of the exponent's top byte: never lost in a sum */
        for (uint64_t i = size - 1; i < y->n_bytes; i += size) {
            bytes_of(y)[i] ^= 1;
        }
    }
    former_tokens = tokens_of(call);
    had_shards |= n_runs > n_own() && inter_of(call) < 96;
    return status;
}

static int is_never(const mxo_call *call)
{
    (void)call;
    return 0;
}

static int is_experts_reversed(const mxo_call *call)
{
    return tokens_of(call) == 5 && input(call, "expert_map") == NULL &&
           n_runs <= n_own() + 2;
}

static int is_tokens_reversed(const mxo_call *call)
{
    return tokens_of(call) == 5 &&
           memcmp(row_of(call, "x", 4), first_x, sizeof first_x) == 0;
}

static int is_alone(const mxo_call *call)
{
    return tokens_of(call) == 1;
}

static int is_after_one(const mxo_call *call)
{
    return tokens_of(call) == 5 && former_tokens == 1;
}

static int is_paired(const mxo_call *call)
{
    return tokens_of(call) == 5 &&
           memcmp(row_of(call, "x", 1), row_of(call, "x", 0), 128) == 0;
}

static int is_grown(const mxo_call *call)
{
    return tokens_of(call) == 11 && row_of(call, "x", 10)[1] == 0xff;
}

static int is_slice(const mxo_call *call, uint64_t experts, int first)
{
    const mxo_tensor *map = input(call, "expert_map");
    int32_t id = -1;

    if (map != NULL) {
        memcpy(&id, bytes_of(map) + 4 * (size_t)first, sizeof id);
    }
    return id == 0 && input(call, "w2")->shape[0] == experts;
}

static int is_second_half(const mxo_call *call)
{
    return is_slice(call, 2, 2);
}

static int is_rest(const mxo_call *call)
{
    return is_slice(call, 3, 1);
}

static int is_last_expert(const mxo_call *call)
{
    return is_slice(call, 1, 3);
}

static int is_block_shard(const mxo_call *call)
{
    return inter_of(call) == 64; /* 96 = 64 + 32 */
}

static int is_inner_shard(const mxo_call *call)
{
    return inter_of(call) == 34; /* 33 and, from 32 on, 64 */
}

/* Of the three blocks the one in the middle: neither part of two. */
static int is_middle_block(const mxo_call *call)
{
    const uint8_t *w2 = row_of(call, "w2", 0);
    int is_same = inter_of(call) == 32;

    for (size_t row = 0; is_same && row < (size_t)4 * 64; row++) {
        is_same = memcmp(w2 + 16 * row, first_w2 + 48 * row + 16, 16) == 0;
    }
    return is_same;
}

static int is_middle_shard(const mxo_call *call)
{
    return inter_of(call) == 48; /* 16, 32 behind them, and, from 32 on, 64 */
}

static int is_second_of_five(const mxo_call *call)
{
    return inter_of(call) == 20; /* columns 6 to 18 behind those of the first */
}

/* The first call, whole, right after one alone: both runs of it. */
static int is_again(const mxo_call *call)
{
    return tokens_of(call) == 5 && n_runs > n_own() + 2 &&
           input(call, "expert_map") == NULL && inter_of(call) == 96 &&
           !is_paired(call) &&
           memcmp(row_of(call, "x", 0), first_x, sizeof first_x) == 0;
}

/* The tokens once more, which are integers that quantising does not change,
   behind all other calls. */
static int is_quantised(const mxo_call *call)
{
    return is_again(call) && had_shards;
}

static void judge_text(const char *text, verdict *v)
{
    static const char *const ops[] = {"moe.layer", NULL}; /* and none beside */
    char why[256];
    test_case c;
    judge j;

    n_runs = 0;
    had_other = had_shards = 0;
    table = *mxo_emulator();
    table.name = "changed";
    table.run = run_changed;
    table.ops = ops;
    ck_assert_msg(case_parse(&c, text, (mxo_text){why, sizeof why}) == 0, "%s",
                  why);
    ck_assert_int_eq(judge_open(&j, &table, 0, (mxo_text){why, sizeof why}),
                     MXO_OK);
    case_run(&j, &c, 1, v);
    judge_close(&j);
}

static void expect_red(const char *text, const char *property)
{
    verdict v;

    judge_text(text, &v);
    ck_assert_msg(v.status == VERDICT_FAIL, "%s: %s", property,
                  verdict_name(v.status));
    ck_assert_str_eq(v.kind, "metamorphic");
    ck_assert_msg(strncmp(v.reason, property, strlen(property)) == 0,
                  "not \"%s\": %s", property, v.reason);
    verdict_clear(&v);
}

/* This property finds faults of such calls alone. */
static void expect(call_test *wrong, const char *property)
{
    goes_wrong = wrong;
    expect_red(BIASED, property);
}

/* The same with an exponential that is not the oracle's. */
static void expect_open(call_test *wrong, const char *property)
{
    is_open = 1;
    goes_lower = is_never;
    goes_wrong = wrong;
    expect_red(OPEN, property);
    is_open = 0;
}

/* A first answer within the room passes by it. */
static void expect_green(const char *text, call_test *lower)
{
    verdict v;

    is_open = 1;
    goes_lower = lower;
    goes_wrong = is_never;
    judge_text(text, &v);
    ck_assert_msg(v.status == VERDICT_PASS, "%s: %s", text, v.reason);
    ck_assert_str_eq(v.rule, "bound");
    ck_assert_msg(n_runs > 30, "%s: %u runs", text, n_runs);
    verdict_clear(&v);
    is_open = 0;
}

START_TEST(the_emulator_has_every_property)
{
    static const char *const texts[] = {
        BIASED,
        LAYER "profile=MARLIN,data=orderfree",
        LAYER "rows=halves,activation=silu,limit=none,data=orderfree",
        LAYER "quant=quant.mx,quant_element=e4m3fn,quant_rule=rceil,"
              "requant=same,data=orderfree",
    };
    verdict v;

    goes_wrong = is_never;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        judge_text(texts[i], &v);
        ck_assert_msg(v.status == VERDICT_PASS, "%s: %s", texts[i], v.reason);
        ck_assert_msg(n_runs > 30, "%s: %u runs", texts[i], n_runs);
        verdict_clear(&v);
    }
}
END_TEST

/* How a call goes wrong, and what the verdict begins with. */
static const struct {
    call_test *wrong;
    const char *property;
} faults[] = {
    {is_experts_reversed, "experts in reverse order: row 0 of y"},
    {is_tokens_reversed, "tokens in reverse order: row 0 of y"},
    {is_alone, "the last token alone: row 0 of y"},
    {is_after_one, "all tokens, right after one alone: "},
    {is_paired, "every token twice: row 0 of y"},
    {is_grown, "rows of NaN behind the tokens: row 0 of y"},
    {is_second_half, "experts in two halves, part 2 of 2: row "},
    {is_rest, "the first expert alone and the rest, part 2 of 2: row "},
    {is_last_expert, "every expert alone, part 4 of 4: row "},
    {is_block_shard, "two shards of the intermediate, part 1 of 2: row "},
    {is_inner_shard, "two shards that share a block, part 1 of 2: row "},
    {is_middle_block, "three shards of the intermediate, part 2 of 3: row "},
    {is_middle_shard, "three shards that share blocks, part 2 of 3: row "},
    {is_second_of_five, "five shards that share blocks, part 2 of 5: row "},
};

enum { N_FAULTS = sizeof faults / sizeof faults[0] };

START_TEST(every_property_of_a_layer_is_asked)
{
    expect(faults[_i].wrong, faults[_i].property);
}
END_TEST

/* Of one fault in two; of each with WHOLE=1 (ci/nightly). */
START_TEST(an_open_exponential_is_asked_as_well)
{
    if ((uint32_t)_i % unit_step(2) == 0) {
        expect_open(faults[_i].wrong, faults[_i].property);
    }
}
END_TEST

START_TEST(an_open_exponential_has_its_room_in_each_call)
{
    call_test *const lower[] = {is_never, is_tokens_reversed, is_alone,
                                is_grown, is_second_half,     is_inner_shard};

    for (uint32_t i = 0; i < sizeof lower / sizeof lower[0]; i++) {
        if (unit_asks(i)) {
            expect_green(OPEN, lower[i]);
        }
    }
    expect_green(OPEN_QUANTISED, is_never);
}
END_TEST

START_TEST(the_same_call_has_the_same_bits_within_any_room)
{
    is_open = 1;
    goes_wrong = is_never;
    goes_lower = is_again;
    expect_red(OPEN, "all tokens, right after one alone: row ");
    goes_lower = is_quantised;
    expect_red(OPEN_QUANTISED, "quantised numbers quantised again: row ");
    is_open = 0;
}
END_TEST

Suite *suite_metamorph(void);
Suite *suite_metamorph(void)
{
    Suite *s = suite_create("metamorph");
    TCase *t = tcase_create("metamorph");

    tcase_set_timeout(t, 0); /* a sanitizer takes its time */
    tcase_add_test(t, the_emulator_has_every_property);
    tcase_add_loop_test(t, every_property_of_a_layer_is_asked, 0, N_FAULTS);
    tcase_add_loop_test(t, an_open_exponential_is_asked_as_well, 0, N_FAULTS);
    tcase_add_test(t, an_open_exponential_has_its_room_in_each_call);
    tcase_add_test(t, the_same_call_has_the_same_bits_within_any_room);
    suite_add_tcase(s, t);
    return s;
}
