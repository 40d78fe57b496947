/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls made from others: shards are put together again from their parts,
 * nibble by nibble, and what the emulator answers to the parts of a layer adds
 * up to what it answers to the whole.
 */
#include "data/derive.h"
#include "data/fill.h"
#include "device/device_under_test.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

#define LAYER "moe.layer:tokens=5,topk=2,experts=4,hidden=64,inter=96,"
#define BIASED LAYER "bias=f32,data=orderfree"
#define ONE_SLOT                                                      \
    "moe.layer:tokens=5,topk=1,experts=4,hidden=64,inter=96,out=f32," \
    "data=orderfree"

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

/* Add the emulator's answer to a call made from a case to sum. */
static void add_answer(const test_case *c, const tensor_set *in,
                       const derivation *d, double *sum)
{
    mxo_param params[OP_MAX_PARAMS];
    char sentence[SUBJECT_TEXT];
    const mxo_text why = {sentence, sizeof sentence};
    tensor_set made = {0};
    tensor_set out = {0};
    run_checks doubts;
    subject s;
    test_case call_case;

    ck_assert_int_eq(subject_open(&s, mxo_emulator(), 0, why), MXO_OK);
    ck_assert_int_eq(derive_call(d, c, in, &call_case, &made, why), 0);
    case_params(&call_case, params);
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, &made};

    ck_assert_int_eq(subject_infer(&s, &call, &out, why), MXO_OK);
    ck_assert_msg(subject_run(&s, &call, &out, &doubts, why) == MXO_OK, "%s",
                  sentence);
    for (uint64_t i = 0; i < tensor_elems(&out.t[0]); i++) {
        sum[i] += dtype_value(out.t[0].dtype, tensor_load(&out.t[0], i));
    }
    tensor_set_clear(&made);
    tensor_set_clear(&out);
    subject_close(&s);
}

/* One slot, one live column and no bias: each number is in one part alone. */
enum { N_SUMS = 5 * 64 };

/* end: where each part ends, the last at the end of the axis. */
static void check_parts(derive_how how, const char *axis, const uint64_t *end,
                        int parts)
{
    char sentence[SUBJECT_TEXT];
    const mxo_text why = {sentence, sizeof sentence};
    const derivation whole = {DERIVE_WHOLE, "", 0, 0, NULL};
    double want[N_SUMS] = {0};
    double got[N_SUMS] = {0};
    tensor_set in = {0};
    test_case c;

    ck_assert_int_eq(case_parse(&c, ONE_SLOT, why), 0);
    ck_assert_int_eq(fill_inputs(&c, 1, &in, why), 0);
    add_answer(&c, &in, &whole, want);
    for (int i = 0; i < parts; i++) {
        const uint64_t first = i == 0 ? 0 : end[i - 1];
        const derivation part = {how, axis, first, end[i] - first, NULL};
        add_answer(&c, &in, &part, got);
    }
    for (int i = 0; i < N_SUMS; i++) {
        ck_assert_msg(got[i] == want[i], "%s, element %d: %a and not %a", axis,
                      i, got[i], want[i]);
    }
    tensor_set_clear(&in);
}

START_TEST(the_emulators_parts_add_up)
{
    static const uint64_t ends[][5] = {
        {2, 4},       {1, 4},       {64, 96},     {36, 96},           {33, 96},
        {32, 64, 96}, {16, 48, 96}, {31, 33, 96}, {6, 19, 38, 65, 96}};
    static const int parts[] = {2, 2, 2, 2, 2, 3, 3, 3, 5};

    for (int i = 0; i < 9; i++) {
        check_parts(i < 2 ? DERIVE_SLICE : DERIVE_SHARD,
                    i < 2 ? "experts" : "inter", ends[i], parts[i]);
    }
}
END_TEST

Suite *suite_derive(void);
Suite *suite_derive(void)
{
    Suite *s = suite_create("derive");
    TCase *t = tcase_create("derive");

    tcase_set_timeout(t, 0); /* a sanitizer takes its time */
    tcase_add_test(t, shards_hold_every_code_of_w2_once);
    tcase_add_test(t, shards_hold_gate_and_up_of_their_columns);
    tcase_add_test(t, the_emulators_parts_add_up);
    suite_add_tcase(s, t);
    return s;
}
