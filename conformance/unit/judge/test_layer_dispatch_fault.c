/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of a layer's rows: who is computed with whose weights, rows behind the
 * last whole tile, pads behind a short group.  Numbers are worked out by hand.
 */
#include "unit/judge/layer_fault_fixture.h"

#include <check.h>

/* Sorted by experts, pairs of token and slot stand so: 0 2 5 8, 1 4 7 9 10,
   3 6 11. */
static const uint32_t chosen[12] = {0, 1, 0, 2, 1, 0, 2, 1, 0, 1, 1, 2};

START_TEST(sorted_rows_get_the_expert_that_is_said)
{
    static const struct {
        const char *says;
        unsigned which;
        uint32_t want[12];
    } rows[] = {
        {"each tile of %s sorted rows had the weights of its first row's "
         "expert",
         8,
         {0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1}},
        {"each tile of %s sorted rows had the weights of its last row's "
         "expert",
         8,
         {1, 1, 1, 2, 1, 1, 2, 1, 1, 1, 2, 2}},
        {"rows behind an expert's last whole tile of %s had the weights of "
         "the next expert",
         4,
         {0, 1, 0, 2, 1, 0, 2, 1, 0, 1, 2, 2}},
        {"experts 2i and 2i + 1 had the weights of 2i",
         0,
         {0, 0, 0, 2, 0, 0, 2, 0, 0, 0, 0, 2}},
        {"experts 2i and 2i + 1 had the weights of 2i + 1",
         0,
         {1, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 2}},
        {"rows of expert %s had the weights of the expert before",
         2,
         {0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1}},
        {"rows of expert %s had the weights of the next expert",
         0,
         {1, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 2}},
        {"each slot but the first had the expert of the slot before",
         0,
         {0, 0, 0, 0, 1, 1, 2, 2, 0, 0, 1, 1}},
        {"each token but the first had the experts of the token before",
         0,
         {0, 1, 0, 1, 0, 2, 1, 0, 2, 1, 0, 1}},
    };
    const layer_fault *f = layer_fault_named(rows[_i].says);
    layer_call call;

    layer_call_begin(&call, "moe.layer:tokens=6,topk=2,experts=3,hidden=32,"
                            "inter=2,data=ordinary");
    for (uint64_t i = 0; i < 12; i++) {
        tensor_store(tensor_set_find(&call.in, "topk_ids"), i, chosen[i]);
    }
    ck_assert_int_eq(f->edit(&call, f->on, rows[_i].which), EDIT_DONE);
    const host_tensor *ids = tensor_set_find(&call.in, "topk_ids");
    for (uint64_t i = 0; i < 12; i++) {
        ck_assert_uint_eq(tensor_load(ids, i), rows[_i].want[i]);
    }
    tensor_set_clear(&call.in);
}
END_TEST

/* 40 rows of two scales for each expert. */
START_TEST(rows_behind_the_last_whole_32_are_what_is_said)
{
    static const struct {
        const char *says;
        uint64_t of_row_31, of_row_32, of_next; /* the second of each */
    } rows[] = {
        {"the rows of w13_scale behind the last whole 32 were of bytes 0", 63,
         0, 0},
        {"the rows of w13_scale behind the last whole 32 were left out", 63,
         127, 127},
        {"the rows of w13_scale behind the last whole 32 were the first rows",
         63, 1, 81},
    };
    const layer_fault *f = layer_fault_named(rows[_i].says);
    layer_call call;

    layer_call_begin(&call, "moe.layer:tokens=2,topk=2,experts=2,hidden=64,"
                            "inter=20,data=ordinary");
    host_tensor *t = tensor_set_find(&call.in, "w13_scale");
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        tensor_store(t, i, i);
    }
    ck_assert_int_eq(f->edit(&call, f->on, 0), EDIT_DONE);
    ck_assert_uint_eq(tensor_load(t, 63), rows[_i].of_row_31);
    ck_assert_uint_eq(tensor_load(t, 65), rows[_i].of_row_32);
    ck_assert_uint_eq(tensor_load(t, 145), rows[_i].of_next);
    tensor_set_clear(&call.in);
}
END_TEST

/* 48 hidden states become 64, and weights for them are zero. */
START_TEST(pads_hold_what_is_said_and_count_for_nothing)
{
    static const struct {
        const char *says;
        unsigned which;
        uint64_t want; /* of state 48 of the first token */
    } rows[] = {
        {"pads behind a short last group of hidden states entered its "
         "maximum, as what is a group before them",
         0, 16},
        {"pads behind a short last group of hidden states entered its "
         "maximum, as the start of the next row",
         0, 48},
        {"stale pads behind a short last group of hidden states entered its "
         "maximum",
         14, 0x3f80},
    };
    const layer_fault *f = layer_fault_named(rows[_i].says);
    layer_call call;

    layer_call_begin(&call, "moe.layer:tokens=2,topk=2,experts=2,hidden=48,"
                            "inter=4,quant=quant.mx,quant_element=e2m1,"
                            "quant_rule=floor,data=ordinary");
    host_tensor *x = tensor_set_find(&call.in, "x");
    for (uint64_t i = 0; i < tensor_elems(x); i++) {
        tensor_store(x, i, i);
    }
    ck_assert_int_eq(f->edit(&call, f->on, rows[_i].which), EDIT_DONE);
    ck_assert_uint_eq(case_dim(&call.c, "hidden"), 64);
    x = tensor_set_find(&call.in, "x");
    ck_assert_uint_eq(x->shape[1], 64);
    ck_assert_uint_eq(tensor_load(x, 47), 47);
    ck_assert_uint_eq(tensor_load(x, 48), rows[_i].want);
    ck_assert_uint_eq(tensor_load(x, 64), 48);
    ck_assert_uint_eq(tensor_load(tensor_set_find(&call.in, "w13"), 24), 0);
    ck_assert_uint_eq(tensor_set_find(&call.in, "w2")->shape[1], 64);
    tensor_set_clear(&call.in);
}
END_TEST

Suite *suite_layer_dispatch_fault(void);
Suite *suite_layer_dispatch_fault(void)
{
    Suite *s = suite_create("layer_dispatch_fault");
    TCase *t = tcase_create("layer_dispatch_fault");

    tcase_add_loop_test(t, sorted_rows_get_the_expert_that_is_said, 0, 9);
    tcase_add_loop_test(t, rows_behind_the_last_whole_32_are_what_is_said, 0,
                        3);
    tcase_add_loop_test(t, pads_hold_what_is_said_and_count_for_nothing, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
