/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of a layer: a profile spelled out answers as by its name, in every
 * bit, and each edit changes what it says and nothing else.
 */
#include "data/fill.h"
#include "diagnose/explain_work.h"
#include "diagnose/layer_fault.h"
#include "run/native.h"
#include "unit/judge/layer_fault_fixture.h"

#include <mxoracle/profile.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

static int answer(const test_case *c, const tensor_set *in, tensor_set *out)
{
    char text[256];

    return native_outputs(c, in, out, (mxo_text){text, sizeof text}) == 0;
}

/* 1: spelled out and equal; 0: the profile does not do such a layer. */
static int is_equal(const char *text)
{
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};
    tensor_set in = {0};
    tensor_set by_name = {0};
    tensor_set by_entry = {0};
    test_case c;
    int equal = 0;

    if (case_parse(&c, text, why) != 0) {
        /* A profile of layers of another operation. */
        ck_assert_msg(strstr(sentence, "is not one of") != NULL, "%s",
                      sentence);
        return 0;
    }
    ck_assert_msg(fill_inputs(&c, 1, &in, why) == 0, "%s", sentence);
    if (answer(&c, &in, &by_name)) {
        ck_assert_msg(layer_spell_out(&c), "%s", text);
        ck_assert_str_eq(case_value(&c, "profile"), "exact");
        ck_assert_msg(answer(&c, &in, &by_entry), "%s", text);
        ck_assert_uint_eq(by_name.t[0].n_bytes, by_entry.t[0].n_bytes);
        ck_assert_msg(memcmp(by_name.t[0].data, by_entry.t[0].data,
                             by_name.t[0].n_bytes) == 0,
                      "%s", text);
        equal = 1;
    }
    tensor_set_clear(&in);
    tensor_set_clear(&by_name);
    tensor_set_clear(&by_entry);
    return equal;
}

START_TEST(a_profile_spelled_out_answers_as_by_its_name)
{
    static const char *const ways[] = {"", ",activation=silu,limit=none",
                                       ",activation=silu,limit=3",
                                       ",alpha=1.25,limit=5"};
    int n_equal = 0;

    for (int i = 0; i < mxo_profile_count(); i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "moe.layer:profile=%s,tokens=3,topk=2,experts=4,"
                       "hidden=128,inter=128,data=ordinary,bias=f32%s",
                       mxo_profile_at(i)->name, ways[_i]);
        n_equal += is_equal(text);
    }
    ck_assert_int_ge(n_equal, 3);
}
END_TEST

/* Two experts, gate rows 1 and 2, up rows 3 and 4 of a single column. */
static void begin(layer_call *call, const char *rows)
{
    char text[160];

    (void)snprintf(text, sizeof text,
                   "moe.layer:tokens=2,topk=2,experts=2,hidden=32,inter=2,"
                   "bias=bf16,data=ordinary,rows=%s",
                   rows);
    layer_call_begin(call, text);
    for (uint64_t i = 0; i < 8; i++) {
        tensor_store(tensor_set_find(&call->in, "w13_bias"), i, 0x3f81 + i);
    }
    for (uint64_t i = 0; i < 4; i++) {
        tensor_store(tensor_set_find(&call->in, "topk_ids"), i, i % 2);
    }
}

static void expect(layer_call *call, const char *name, const uint32_t *want)
{
    const host_tensor *t = tensor_set_find(&call->in, name);

    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        ck_assert_msg(tensor_load(t, i) == want[i], "%s %d: got 0x%x want 0x%x",
                      name, (int)i, (unsigned)tensor_load(t, i), want[i]);
    }
    tensor_set_clear(&call->in);
}

static void expect_bias(const char *rows, const char *says,
                        const uint32_t want[8])
{
    const layer_fault *f = layer_fault_named(says);
    layer_call call;

    begin(&call, rows);
    ck_assert_int_eq(f->edit(&call, f->on, 0), EDIT_DONE);
    expect(&call, "w13_bias", want);
}

START_TEST(rows_go_where_they_are_said_to)
{
    static const uint32_t pairs[8] = {0x3f82, 0x3f81, 0x3f84, 0x3f83,
                                      0x3f86, 0x3f85, 0x3f88, 0x3f87};
    static const uint32_t halves[8] = {0x3f83, 0x3f84, 0x3f81, 0x3f82,
                                       0x3f87, 0x3f88, 0x3f85, 0x3f86};
    static const uint32_t between[8] = {0x3f81, 0x3f83, 0x3f82, 0x3f84,
                                        0x3f85, 0x3f87, 0x3f86, 0x3f88};
    static const uint32_t next[8] = {0x3f85, 0x3f86, 0x3f87, 0x3f88,
                                     0x3f81, 0x3f82, 0x3f83, 0x3f84};
    static const uint32_t twice[8] = {0x4001, 0x4002, 0x4003, 0x4004,
                                      0x4005, 0x4006, 0x4007, 0x4008};

    expect_bias("interleaved", "gate and up were exchanged in w13_bias", pairs);
    expect_bias("halves", "gate and up were exchanged in w13_bias", halves);
    expect_bias("interleaved",
                "w13_bias had gate and up interleaved where they are in "
                "halves, or the reverse",
                between);
    expect_bias("halves", "w13_bias were the next expert's", next);
    expect_bias("halves", "w13_bias counted twice", twice);
}
END_TEST

static void expect_ids(const char *says, unsigned which, const uint32_t want[4])
{
    const layer_fault *f = layer_fault_named(says);
    layer_call call;

    begin(&call, "halves");
    ck_assert_int_eq(f->edit(&call, f->on, which), EDIT_DONE);
    expect(&call, "topk_ids", want);
}

START_TEST(who_does_not_contribute_has_no_id)
{
    static const uint32_t one[4] = {UINT32_MAX, 1, UINT32_MAX, 1};
    static const uint32_t zero[4] = {0, UINT32_MAX, 0, UINT32_MAX};
    static const uint32_t same[4] = {0, 0, 0, 0};
    static const uint32_t other[4] = {1, 0, 1, 0};
    const layer_fault *f = layer_fault_named("expert %s did not contribute");
    layer_call call;

    expect_ids("expert %s did not contribute", 0, one);
    expect_ids("expert %s did not contribute", 1, zero);
    expect_ids("expert %s alone contributed", 0, zero);
    expect_ids("slot %s did not contribute", 1, zero);
    expect_ids("every slot had the first slot's expert", 0, same);
    expect_ids("each slot had the next slot's expert", 0, other);
    expect_ids("each slot had the expert of the slot before", 0, other);
    begin(&call, "halves");
    ck_assert_int_eq(f->edit(&call, f->on, 2), EDIT_END);
    tensor_set_clear(&call.in);
}
END_TEST

/* A layer of two experts, two slots, two blocks of K in w13 and ten columns. */
static void begin_counted(layer_call *call, const char *name)
{
    layer_call_begin(call, "moe.layer:tokens=2,topk=2,experts=2,hidden=64,"
                           "inter=10,bias=bf16,data=ordinary");
    host_tensor *t = tensor_set_find(&call->in, name);
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        tensor_store(t, i, i);
    }
}

typedef struct moved {
    const char *says;
    const char *name;
    uint64_t at;   /* this element of a tensor that counts */
    uint64_t want; /* is this after the edit */
} moved;

/* w2_bias 64 an expert, w13_scale 2 a row and 40 an expert, w13 32 bytes a
   row: numbers from the sizes, not from the edits. */
static const moved moves[] = {
    {"the two halves of w2_bias took turns", "w2_bias", 1, 32},
    {"the two halves of w2_bias took turns", "w2_bias", 66, 65},
    {"the two halves of w2_bias took turns", "w2_bias", 127, 127},
    {"w2_bias had its even elements before its odd ones", "w2_bias", 1, 2},
    {"w2_bias had its even elements before its odd ones", "w2_bias", 96, 65},
    {"all block scales were those of the experts in reverse order", "w13_scale",
     3, 43},
    {"all block scales were those of the experts in reverse order", "w13_scale",
     79, 39},
    {"the last block of K had the next expert's w13_scale", "w13_scale", 2, 2},
    {"the last block of K had the next expert's w13_scale", "w13_scale", 3, 43},
    {"the last block of K had the next expert's w13_scale", "w13_scale", 43, 3},
    {"every token had the first token's experts", "topk_ids", 3, 1},
    {"the high nibbles of w13 were left out", "w13", 0xa7, 0x07},
    {"the low nibbles of w13 were left out", "w13", 0xa7, 0xa0},
};

START_TEST(elements_go_where_they_are_said_to)
{
    const moved *m = &moves[_i];
    const layer_fault *f = layer_fault_named(m->says);
    layer_call call;

    begin_counted(&call, m->name);
    ck_assert_int_eq(f->edit(&call, f->on, 0), EDIT_DONE);
    ck_assert_uint_eq(tensor_load(tensor_set_find(&call.in, m->name), m->at),
                      m->want);
    tensor_set_clear(&call.in);
}
END_TEST

START_TEST(one_scale_stands_for_as_many_as_it_is_said)
{
    static const struct {
        const char *says;
        uint64_t of_7, of_19, of_27; /* 20 in a row */
    } rows[] = {
        {"one scale of w13_scale stood for two", 6, 18, 26},
        {"one scale of w13_scale stood for four", 4, 16, 24},
        {"one scale of w13_scale stood for sixteen", 0, 16, 20},
    };
    layer_call call;

    layer_call_begin(&call, "moe.layer:tokens=1,topk=1,experts=1,hidden=640,"
                            "inter=2,data=ordinary");
    host_tensor *t = tensor_set_find(&call.in, "w13_scale");
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        tensor_store(t, i, i);
    }
    const layer_fault *f = layer_fault_named(rows[_i].says);

    ck_assert_int_eq(f->edit(&call, f->on, 0), EDIT_DONE);
    ck_assert_uint_eq(tensor_load(t, 7), rows[_i].of_7);
    ck_assert_uint_eq(tensor_load(t, 19), rows[_i].of_19);
    ck_assert_uint_eq(tensor_load(t, 27), rows[_i].of_27);
    tensor_set_clear(&call.in);
}
END_TEST

START_TEST(weights_are_divided_by_their_tokens_sum)
{
    /* 3 and 1; 0.25 and 0.25 */
    static const uint32_t was[4] = {0x40400000, 0x3f800000, 0x3e800000,
                                    0x3e800000};
    static const uint32_t want[4] = {0x3f400000, 0x3e800000, 0x3f000000,
                                     0x3f000000};
    const layer_fault *f = layer_fault_named(
        "routing weights were divided by their sum once more");
    layer_call call;

    begin(&call, "halves");
    for (uint64_t i = 0; i < 4; i++) {
        tensor_store(tensor_set_find(&call.in, "topk_weights"), i, was[i]);
    }
    ck_assert_int_eq(f->edit(&call, f->on, 0), EDIT_DONE);
    expect(&call, "topk_weights", want);
}
END_TEST

START_TEST(what_is_not_there_is_not_edited)
{
    char why[256];
    layer_call call = {.in = {0}};
    const layer_fault *f = layer_faults;

    ck_assert_int_eq(case_parse(&call.c, "act.glu:rows=1,cols=32",
                                (mxo_text){why, sizeof why}),
                     0);
    for (; f->edit != NULL; f++) {
        if (strchr(f->on, '=') == NULL) {
            ck_assert_msg(f->edit(&call, f->on, 0) == EDIT_END, "%s", f->says);
        }
    }
    ck_assert_ptr_ne(f, layer_faults);
}
END_TEST

/* The codes of t through a layout, forward or back, in place. */
static void pass_through(const char *layout, const char *dir,
                         const host_tensor *t)
{
    char text[256];
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};
    tensor_set in = {0};
    tensor_set out = {0};
    test_case c;

    (void)snprintf(text, sizeof text,
                   "layout.apply:experts=%d,rows=%d,cols=%d,layout=%s,dir=%s",
                   (int)t->shape[0], (int)t->shape[1], (int)t->shape[2], layout,
                   dir);
    ck_assert_msg(case_parse(&c, text, why) == 0, "%s", sentence);
    ck_assert_msg(fill_inputs(&c, 1, &in, why) == 0, "%s", sentence);
    memcpy(in.t[0].data, t->data, t->n_bytes);
    ck_assert_msg(answer(&c, &in, &out), "%s", text);
    ck_assert_uint_eq(out.t[0].n_bytes, t->n_bytes);
    memcpy(t->data, out.t[0].data, t->n_bytes);
    tensor_set_clear(&in);
    tensor_set_clear(&out);
}

/* The layouts of layouts.def, held against the vendor's vectors, say the same:
   rows to the kernel's order, back through the interleave, rows back. */
static void read_raw(const tensor_set *in, const char *rows, int revision)
{
    const char *order = strcmp(rows, "halves") == 0
                            ? "vllm.reorder_w1w3_to_w3w1"
                            : "vllm.cutlass_deinterleave_swap";
    const host_tensor *w13 = tensor_set_find(in, "w13");
    char name[64];

    (void)snprintf(name, sizeof name, "cutlass.sm90_weight_fp4_rev%d",
                   revision);
    pass_through(name, "inverse", tensor_set_find(in, "w2"));
    pass_through(order, "forward", w13);
    pass_through(name, "inverse", w13);
    pass_through(order, "inverse", w13);
}

START_TEST(raw_weights_are_read_as_the_layouts_say)
{
    const char *rows = _i % 2 == 0 ? "interleaved" : "halves";
    const int revision = _i / 2 + 1;
    const layer_fault *f = layer_faults;
    layer_call call = {.in = {0}};
    tensor_set want = {0};
    char text[256];
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};

    (void)snprintf(text, sizeof text,
                   "moe.layer:profile=FLASHINFER_CUTLASS_MXFP4_BF16,tokens=1,"
                   "topk=1,experts=2,hidden=64,inter=64,data=ordinary,rows=%s",
                   rows);
    ck_assert_msg(case_parse(&call.c, text, why) == 0, "%s", sentence);
    ck_assert_msg(fill_inputs(&call.c, 1, &call.in, why) == 0, "%s", sentence);
    ck_assert_msg(fill_inputs(&call.c, 1, &want, why) == 0, "%s", sentence);
    read_raw(&want, rows, revision);
    while (strstr(f->says, revision == 1 ? "0.6.10" : "0.6.16") == NULL) {
        f++;
    }
    ck_assert_int_eq(f->edit(&call, f->on, 0), EDIT_DONE);
    for (uint32_t i = 0; i < want.n; i++) {
        ck_assert_msg(
            memcmp(call.in.t[i].data, want.t[i].data, want.t[i].n_bytes) == 0,
            "%s, revision %d, %s", rows, revision, want.t[i].name);
    }
    tensor_set_clear(&call.in);
    tensor_set_clear(&want);
}
END_TEST

/* 3 tokens of 2 slots: 6 pairs. w13 has 2 x 32 columns of K = 32, w2 has 32
   of 32; bytes are x 192, ids and weights 24 each, w13 4096, w2 2048, their
   scales 256 and 128. */
START_TEST(work_is_counted_in_pairs_columns_and_bytes)
{
    const uint64_t bytes = 192 + 24 + 24 + 4096 + 2048 + 256 + 128;
    const uint64_t answer = bytes + 6 * (64 + 32) * (32 + COLUMN_WORK);
    explain_work work = {bytes + 2 * answer, 0, 0};
    layer_call call;

    layer_call_begin(&call, "moe.layer:tokens=3,topk=2,experts=4,hidden=32,"
                            "inter=32,bias=none,data=ordinary");
    ck_assert_uint_eq(explain_work_of(&call.c, &call.in, COLUMN_WORK), answer);
    ck_assert(explain_work_ask(&work, &call.c, &call.in, COLUMN_WORK));
    ck_assert(explain_work_edit(&work, &call.in));
    ck_assert(!explain_work_ask(&work, &call.c, &call.in, BOUND_WORK));
    /* What would still have room is left out, too. */
    ck_assert(!explain_work_ask(&work, &call.c, &call.in, COLUMN_WORK));
    ck_assert(!explain_work_edit(&work, &call.in));
    ck_assert_uint_eq(work.n_asked, 1);
    ck_assert_uint_eq(work.left, answer);
    tensor_set_clear(&call.in);
}
END_TEST

Suite *suite_layer_fault(void);
Suite *suite_layer_fault(void)
{
    Suite *s = suite_create("layer_fault");
    TCase *t = tcase_create("layer_fault");

    tcase_add_loop_test(t, a_profile_spelled_out_answers_as_by_its_name, 0, 4);
    tcase_add_test(t, rows_go_where_they_are_said_to);
    tcase_add_test(t, who_does_not_contribute_has_no_id);
    tcase_add_loop_test(t, elements_go_where_they_are_said_to, 0,
                        sizeof moves / sizeof moves[0]);
    tcase_add_loop_test(t, one_scale_stands_for_as_many_as_it_is_said, 0, 3);
    tcase_add_test(t, weights_are_divided_by_their_tokens_sum);
    tcase_add_test(t, what_is_not_there_is_not_edited);
    tcase_add_loop_test(t, raw_weights_are_read_as_the_layouts_say, 0, 4);
    tcase_add_test(t, work_is_counted_in_pairs_columns_and_bytes);
    suite_add_tcase(s, t);
    return s;
}
