/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties: a subject that is right until it is asked the second call of
 * one of them must be caught by that property, by name.  The second calls
 * themselves are put together again from their parts, and the table of rules
 * that quantise twice as once is held against every rule.
 */
#include "derive.h"
#include "emu_call.h"
#include "fill.h"
#include "idempotence.h"
#include "judge.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYER "moe.layer:tokens=5,topk=2,experts=4,hidden=64,inter=96,"
#define BIASED LAYER "bias=f32,data=orderfree"

typedef int call_test(const mxo_call *call);

static mxo_backend table;
static call_test *goes_wrong;
static uint32_t n_runs;
static uint64_t former_tokens; /* of the call before */
static uint8_t first_x[64];    /* of the first call, by row */

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

/* The first three runs are of the case itself: a decoy, and twice. */
static mxo_status run_changed(void *ctx, const mxo_call *call, mxo_text why)
{
    const mxo_status status = mxo_emulator()->run(ctx, call, why);

    if (n_runs == 1) {
        memcpy(first_x, row_of(call, "x", 0), sizeof first_x);
    }
    if (n_runs++ > 2 && status == MXO_OK && goes_wrong(call)) {
        /* the lowest bit of the exponent's top byte: never lost in a sum */
        for (uint64_t i = 1; i < call->out[0].n_bytes; i += 2) {
            bytes_of(&call->out[0])[i] ^= 1;
        }
    }
    former_tokens = tokens_of(call);
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
           n_runs <= 5;
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
    return inter_of(call) == 36; /* 36 and, from 32 on, 64 */
}

static void judge_text(const char *text, verdict *v)
{
    char why[256];
    test_case c;
    judge j;

    n_runs = 0;
    table = *mxo_emulator();
    table.name = "changed";
    table.run = run_changed;
    ck_assert_msg(case_parse(&c, text, (mxo_text){why, sizeof why}) == 0, "%s",
                  why);
    ck_assert_int_eq(judge_open(&j, &table, 0, (mxo_text){why, sizeof why}),
                     MXO_OK);
    judge_case(&j, &c, 1, v);
    judge_close(&j);
}

/* What is wrong in such calls only is seen by this property. */
static void expect(call_test *wrong, const char *property)
{
    verdict v;

    goes_wrong = wrong;
    judge_text(BIASED, &v);
    ck_assert_msg(v.status == VERDICT_FAIL, "%s: %s", property,
                  verdict_name(v.status));
    ck_assert_str_eq(v.kind, "metamorphic");
    ck_assert_msg(strncmp(v.reason, property, strlen(property)) == 0,
                  "not \"%s\": %s", property, v.reason);
    verdict_clear(&v);
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

START_TEST(every_property_of_a_layer_is_asked)
{
    expect(is_experts_reversed, "experts in reverse order: row 0 of y");
    expect(is_tokens_reversed, "tokens in reverse order: row 0 of y");
    expect(is_alone, "the last token alone: row 0 of y");
    expect(is_after_one, "all tokens, right after one alone: ");
    expect(is_paired, "every token twice: row 0 of y");
    expect(is_grown, "rows of NaN behind the tokens: row 0 of y");
    expect(is_second_half, "experts in two halves: row ");
    expect(is_rest, "the first expert alone and the rest: row ");
    expect(is_last_expert, "every expert alone: row ");
    expect(is_block_shard, "two shards of the intermediate: row ");
    expect(is_inner_shard, "two shards that share a block: row ");
}
END_TEST

/* Two shards of 96 columns: 36 on their own, and from column 32 on. */
typedef struct shards {
    test_case c;
    tensor_set in;
    tensor_set part[2];
} shards;

static const uint64_t first_column[2] = {0, 36};
static const uint64_t start_column[2] = {0, 32};

static void make_shards(shards *s, const char *text)
{
    char sentence[256];
    const mxo_text why = {sentence, sizeof sentence};
    test_case made;

    memset(s, 0, sizeof *s);
    ck_assert_int_eq(case_parse(&s->c, text, why), 0);
    ck_assert_int_eq(fill_inputs(&s->c, 1, &s->in, why), 0);
    for (int p = 0; p < 2; p++) {
        const derivation d = {DERIVE_SHARD, "inter", first_column[p],
                              p == 0 ? 36 : 60, NULL};
        ck_assert_msg(derive_call(&d, &s->c, &s->in, &made, &s->part[p], why) ==
                          0,
                      "%s", sentence);
        ck_assert_uint_eq(case_dim(&made, "inter"), p == 0 ? 36 : 64);
    }
}

static void clear_shards(shards *s)
{
    tensor_set_clear(&s->in);
    tensor_set_clear(&s->part[0]);
    tensor_set_clear(&s->part[1]);
}

/* Element of a tensor [experts, rows, cols]. */
static uint64_t at(const tensor_set *set, const char *name, uint64_t e,
                   uint64_t row, uint64_t col)
{
    const host_tensor *t = tensor_set_find(set, name);

    return tensor_load(t, (e * t->shape[1] + row) * t->shape[2] + col);
}

/* Code of column col, low nibble first. */
static uint64_t code_at(const tensor_set *set, uint64_t e, uint64_t row,
                        uint64_t col)
{
    return at(set, "w2", e, row, col / 2) >> 4 * (col % 2) & 15;
}

START_TEST(shards_hold_every_code_of_w2_once)
{
    shards s;

    make_shards(&s, BIASED);
    for (uint64_t i = 0; i < UINT64_C(4) * 64 * 96; i++) {
        const uint64_t e = i / (64 * 96);
        const uint64_t row = i / 96 % 64;
        const uint64_t col = i % 96;
        const int owner = col >= 36;
        const uint64_t want = code_at(&s.in, e, row, col);
        const uint64_t local = col - start_column[owner];
        ck_assert_msg(code_at(&s.part[owner], e, row, local) == want,
                      "shard %d, expert %u, row %u, column %u", owner,
                      (unsigned)e, (unsigned)row, (unsigned)col);
        ck_assert_uint_eq(at(&s.part[owner], "w2_scale", e, row, local / 32),
                          at(&s.in, "w2_scale", e, row, col / 32));
        if (col >= 32 && col < 36) {
            ck_assert_uint_eq(code_at(&s.part[1], e, row, col - 32), 0);
        }
    }
    ck_assert_mem_eq(tensor_set_find(&s.part[0], "w2_bias")->data,
                     tensor_set_find(&s.in, "w2_bias")->data, 4 * 4 * 64);
    for (uint64_t i = 0; i < UINT64_C(4) * 64; i++) {
        ck_assert_uint_eq(
            tensor_load(tensor_set_find(&s.part[1], "w2_bias"), i), 0);
    }
    clear_shards(&s);
}
END_TEST

/* Gate (0) and up (1) row of a column, where rows alternate or are halves. */
static uint64_t gated_row(int joint, uint64_t inter, uint64_t col, uint64_t up)
{
    return joint ? 2 * col + up : up * inter + col;
}

static void check_gated(const char *text, int joint)
{
    shards s;

    make_shards(&s, text);
    for (uint64_t i = 0; i < UINT64_C(4) * 96 * 2 * 32; i++) {
        const uint64_t e = i / (96 * 2 * 32);
        const uint64_t col = i / (2 * 32) % 96;
        const uint64_t up = i / 32 % 2;
        const int owner = col >= 36;
        const uint64_t inter = owner ? 64 : 36;
        const uint64_t from = gated_row(joint, 96, col, up);
        const uint64_t to =
            gated_row(joint, inter, col - start_column[owner], up);
        ck_assert_uint_eq(at(&s.part[owner], "w13", e, to, i % 32),
                          at(&s.in, "w13", e, from, i % 32));
        ck_assert_uint_eq(at(&s.part[owner], "w13_scale", e, to, i % 2),
                          at(&s.in, "w13_scale", e, from, i % 2));
        ck_assert_uint_eq(
            tensor_load(tensor_set_find(&s.part[owner], "w13_bias"),
                        e * 2 * inter + to),
            tensor_load(tensor_set_find(&s.in, "w13_bias"), e * 192 + from));
    }
    clear_shards(&s);
}

START_TEST(shards_hold_gate_and_up_of_their_columns)
{
    check_gated(LAYER "bias=f32,data=random", 1);
    check_gated(LAYER "bias=f32,rows=halves,data=random", 0);
}
END_TEST

/* 64 blocks whose maxima step through a binade, with what rounds to zero,
   what ties, both signs, and three times the smallest code of each format. */
enum { ROWS = 64, COLS = 32 };

static void fill_blocks(uint32_t *x)
{
    static const float three[] = {0x3p-10F, 0x3p-11F, 0x3p-17F, 0x3p-18F};

    for (int i = 0; i < ROWS * COLS; i++) {
        const float top = 1 + (float)(i / COLS) / ROWS;
        const int k = i % COLS;
        float y = k % 3 == 0 ? top / (float)(1 << k % 11) : top * (float)k / 40;

        y = k == 0    ? top
            : k == 31 ? top * 0x1p-20F
            : k > 26  ? top * three[k - 27]
                      : y;
        y = k % 2 == 0 ? y : -y;
        memcpy(&x[i], &y, sizeof y);
    }
}

static void quantise(emu_call *c, const char *element, const char *rule,
                     const uint32_t *x)
{
    char params[128];

    (void)snprintf(params, sizeof params, "element=%s,rule=%s,from=f32",
                   element, rule);
    emu_begin(c, "quant.mx", params);
    emu_in(c, "x", MXO_F32, x, 2, ROWS, COLS);
    ck_assert_msg(emu_run(c) == MXO_OK, "%s", c->why);
}

static void dequantise(const emu_call *quantised, const char *element,
                       uint32_t *y)
{
    const mxo_tensor *q = emu_out(quantised, "q");
    emu_call c;
    char params[64];

    (void)snprintf(params, sizeof params, "element=%s,to=f32", element);
    emu_begin(&c, "dequant.mx", params);
    emu_in(&c, "q", q->dtype, emu_bytes(quantised, "q"), 2, ROWS,
           (int)q->shape[1]);
    emu_in(&c, "scale", MXO_E8M0, emu_bytes(quantised, "scale"), 2, ROWS, 1);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(y, emu_bytes(&c, "y"), 4 * ROWS * COLS);
    emu_end(&c);
}

/* Bits, but the sign of a zero; a NaN, which no rule had to make of these, is
   not the same as anything. */
static int same_numbers(const uint32_t *x, const uint32_t *y)
{
    for (int i = 0; i < ROWS * COLS; i++) {
        if ((x[i] & 0x7fffffff) > 0x7f800000 ||
            (x[i] != y[i] && ((x[i] | y[i]) & 0x7fffffff) != 0)) {
            return 0;
        }
    }
    return 1;
}

static idempotence observed(const char *element, const char *rule)
{
    uint32_t x[ROWS * COLS];
    uint32_t y[2][ROWS * COLS];
    emu_call c[2];

    fill_blocks(x);
    quantise(&c[0], element, rule, x);
    dequantise(&c[0], element, y[0]);
    quantise(&c[1], element, rule, y[0]);
    dequantise(&c[1], element, y[1]);
    const size_t n = (size_t)emu_out(&c[0], "q")->n_bytes;
    const int bytes =
        memcmp(emu_bytes(&c[0], "q"), emu_bytes(&c[1], "q"), n) == 0 &&
        memcmp(emu_bytes(&c[0], "scale"), emu_bytes(&c[1], "scale"), ROWS) == 0;

    emu_end(&c[0]);
    emu_end(&c[1]);
    return !same_numbers(y[0], y[1]) ? IDEMPOTENCE_NOT
           : bytes                   ? IDEMPOTENCE_BYTES
                                     : IDEMPOTENCE_VALUES;
}

/* Every choice of a parameter of quant.mx, cut at its bars. */
static const char *next_choice(word_span *rest, char word[OP_WORD])
{
    return rest->len > 0 && span_copy(span_cut(rest, '|'), word) ? word : NULL;
}

START_TEST(the_table_says_which_rules_quantise_twice_as_once)
{
    const op_schema *schema = op_by_name("quant.mx");
    word_span rules = schema->params[op_param_index(schema, "rule")].choices;
    char rule[OP_WORD];
    int n = 0;

    while (next_choice(&rules, rule) != NULL) {
        word_span elements =
            schema->params[op_param_index(schema, "element")].choices;
        char element[OP_WORD];
        while (next_choice(&elements, element) != NULL) {
            const idempotence want = idempotence_of("quant.mx", rule, element);
            const idempotence got = observed(element, rule);
            ck_assert_msg(got == want, "%s, %s: %d, not %d", rule, element, got,
                          want);
            n++;
        }
    }
    ck_assert_int_ge(n, 28 * 8);
}
END_TEST

Suite *suite_metamorph(void);
Suite *suite_metamorph(void)
{
    Suite *s = suite_create("metamorph");
    TCase *t = tcase_create("metamorph");

    tcase_set_timeout(t, 0); /* a sanitizer takes its time */
    tcase_add_test(t, the_emulator_has_every_property);
    tcase_add_test(t, every_property_of_a_layer_is_asked);
    tcase_add_test(t, shards_hold_every_code_of_w2_once);
    tcase_add_test(t, shards_hold_gate_and_up_of_their_columns);
    tcase_add_test(t, the_table_says_which_rules_quantise_twice_as_once);
    suite_add_tcase(s, t);
    return s;
}
