/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs: a buffer depends on seed, case and name only; every kind of data
   holds what it promises. */
#include "fill.h"
#include "grid.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char sentence[512];
static const mxo_text why = {sentence, sizeof sentence};

static void fill(const char *text, uint64_t seed, tensor_set *in)
{
    test_case c;

    ck_assert_msg(case_parse(&c, text, why) == 0, "%s", sentence);
    ck_assert_msg(fill_inputs(&c, seed, in, why) == 0, "%s", sentence);
}

static int same(const tensor_set *a, const tensor_set *b, const char *name)
{
    const host_tensor *x = tensor_set_find(a, name);
    const host_tensor *y = tensor_set_find(b, name);

    return x->n_bytes == y->n_bytes &&
           memcmp(x->data, y->data, x->n_bytes) == 0;
}

START_TEST(order_of_cases_does_not_change_data)
{
    tensor_set first = {0};
    tensor_set other = {0};
    tensor_set again = {0};

    fill("dequant.mx:rows=5,cols=64", 1, &first);
    fill("quant.mx:rows=2,cols=32", 1, &other);
    fill("dequant.mx:cols=64,rule=ocp,rows=5", 1, &again);
    ck_assert(same(&first, &again, "q"));
    ck_assert(same(&first, &again, "scale"));
    tensor_set_clear(&again);
    fill("dequant.mx:rows=5,cols=64", 2, &again);
    ck_assert(!same(&first, &again, "q"));
    tensor_set_clear(&first);
    tensor_set_clear(&other);
    tensor_set_clear(&again);
}
END_TEST

START_TEST(blanking_keeps_the_rest_as_it_was)
{
    tensor_set whole = {0};
    tensor_set kept = {0};

    fill("quant.mx:rows=2,cols=32,data=ordinary", 1, &whole);
    fill("quant.mx:rows=2,cols=32,data=ordinary,keep=10-12", 1, &kept);
    for (uint64_t i = 0; i < 64; i++) {
        const uint64_t want =
            i >= 10 && i <= 12 ? tensor_load(&whole.t[0], i) : 0;
        ck_assert_msg(tensor_load(&kept.t[0], i) == want, "element %d", (int)i);
    }
    tensor_set_clear(&whole);
    tensor_set_clear(&kept);
}
END_TEST

START_TEST(index_coded_scales_have_unlike_neighbours)
{
    tensor_set in = {0};

    fill("dequant.mx:rows=9,cols=1408,data=indexed", 1, &in);
    const host_tensor *s = tensor_set_find(&in, "scale");
    const uint64_t cols = s->shape[1];

    for (uint64_t i = 0; i < tensor_elems(s); i++) {
        const int64_t here = (int64_t)tensor_load(s, i);
        if (i % cols > 0) {
            ck_assert_msg(llabs(here - (int64_t)tensor_load(s, i - 1)) > 1,
                          "left of %d", (int)i);
        }
        if (i >= cols) {
            ck_assert_msg(llabs(here - (int64_t)tensor_load(s, i - cols)) > 1,
                          "above %d", (int)i);
        }
    }
    tensor_set_clear(&in);
}
END_TEST

START_TEST(gate_and_up_are_disjoint)
{
    tensor_set in = {0};

    fill("act.glu:rows=3,cols=40,data=disjoint", 1, &in);
    for (uint64_t i = 0; i < tensor_elems(&in.t[0]); i++) {
        const double x = dtype_value(MXO_BF16, tensor_load(&in.t[0], i));
        ck_assert_msg(i % 2 == 0 ? x >= 0.5 : x <= -0.125, "element %d",
                      (int)i);
    }
    tensor_set_clear(&in);
}
END_TEST

START_TEST(limits_are_met_from_both_sides)
{
    uint64_t n_below = 0;
    uint64_t n_at = 0;
    uint64_t n_above = 0;
    tensor_set in = {0};

    fill("act.glu:rows=3,cols=40,limit=2.5,data=limits", 1, &in);
    for (uint64_t i = 0; i < tensor_elems(&in.t[0]); i++) {
        const uint64_t code = tensor_load(&in.t[0], i) & 0x7fff;
        n_below += code == 0x401f;
        n_at += code == 0x4020; /* 2.5 */
        n_above += code == 0x4021;
    }
    ck_assert_uint_gt(n_below, 10);
    ck_assert_uint_gt(n_at, 10);
    ck_assert_uint_gt(n_above, 10);
    tensor_set_clear(&in);
}
END_TEST

/* Neither BF16 nor FP16 has them, and squares are other numbers. */
START_TEST(thirds_are_no_short_numbers)
{
    static const uint32_t step[2] = {1u << 16, 1u << 13};
    tensor_set in = {0};

    fill("moe.layer:tokens=9,topk=1,experts=3,hidden=32,inter=32,data=thirds",
         1, &in);
    const host_tensor *t = tensor_set_find(&in, "topk_weights");
    for (uint64_t i = 0; i < 9; i++) {
        const uint32_t x = (uint32_t)tensor_load(t, i);
        ck_assert_msg(x % step[0] != 0 && x % step[1] != 0 && x >> 23 < 127,
                      "[%d] is %08x", (int)i, x);
    }
    tensor_set_clear(&in);
}
END_TEST

static float number(const tensor_set *in, const char *name, uint64_t i)
{
    const uint32_t x = (uint32_t)tensor_load(tensor_set_find(in, name), i);
    float y;

    memcpy(&y, &x, sizeof y);
    return y;
}

static int is_bf16_tie(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return (u & 0xffff) == 0x8000;
}

/* With two slots the first gives the tie and the second at most 2^-20 of it,
   down to what a double cannot hold beside it; with one, the product of a
   bias and a weight is beside the tie, and its float on it. */
START_TEST(combinations_lie_next_to_ties)
{
    tensor_set two = {0};
    tensor_set one = {0};

    fill("moe.layer:tokens=10,topk=2,experts=3,hidden=32,inter=32,bias=f32,"
         "data=ties",
         1, &two);
    fill("moe.layer:tokens=2,topk=1,experts=3,hidden=32,inter=32,bias=f32,"
         "data=ties",
         1, &one);
    const float w = number(&one, "topk_weights", 0);
    for (uint64_t i = 0; i < UINT64_C(3) * 32; i++) {
        const double y = (double)number(&one, "w2_bias", i) * (double)w;
        ck_assert_msg(is_bf16_tie(number(&two, "w2_bias", i)), "%d", (int)i);
        ck_assert_msg(is_bf16_tie((float)y) && (double)(float)y != y, "%d: %a",
                      (int)i, y);
    }
    for (uint64_t t = 0; t < 10; t++) {
        ck_assert(number(&two, "topk_weights", 2 * t) == 1);
        ck_assert(number(&two, "topk_weights", 2 * t + 1) <= 0x1p-26f);
    }
    ck_assert(number(&two, "topk_weights", 17) == 0x1p-71f);
    tensor_set_clear(&two);
    tensor_set_clear(&one);
}
END_TEST

START_TEST(ties_lie_halfway_between_codes)
{
    static const double halfway[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5};
    uint64_t n_ties = 0;
    tensor_set in = {0};

    fill("format.encode:n=2048,data=ties", 1, &in);
    for (uint64_t i = 0; i < 2048; i++) {
        const double x = fabs(dtype_value(MXO_F32, tensor_load(&in.t[0], i)));
        for (int k = 0; k < 7; k++) {
            n_ties += x == halfway[k];
        }
    }
    ck_assert_uint_gt(n_ties, 100);
    tensor_set_clear(&in);
}
END_TEST

START_TEST(random_codes_reach_every_byte)
{
    uint8_t seen[256] = {0};
    tensor_set in = {0};

    fill("dequant.mx:rows=64,cols=1408", 1, &in);
    const host_tensor *s = tensor_set_find(&in, "scale");

    for (uint64_t i = 0; i < s->n_bytes; i++) {
        seen[s->data[i]] = 1;
    }
    for (int b = 0; b < 256; b++) {
        ck_assert_msg(seen[b], "byte %02x", b);
    }
    tensor_set_clear(&in);
}
END_TEST

/* A template that an operation has outgrown would stop every run. */
START_TEST(every_grid_expands_and_fills)
{
    case_list l = {0, 0, NULL};

    ck_assert_msg(grid_append(&l, 3, NULL, 0, 7, why) == 0, "%s", sentence);
    for (size_t i = 0; i < l.n; i += 97) {
        tensor_set in = {0};
        fill(l.item[i].text, 7, &in);
        tensor_set_clear(&in);
    }
    case_list_clear(&l);
}
END_TEST

START_TEST(drawn_shapes_follow_the_seed)
{
    const char *text = "quant.mx:rows=$M,cols=$K,rule=*";
    case_list a = {0, 0, NULL};
    case_list b = {0, 0, NULL};
    size_t n_same = 0;

    ck_assert_int_eq(grid_expand(&a, text, 20, 1, why), 0);
    ck_assert_int_eq(grid_expand(&b, text, 20, 1, why), 0);
    for (size_t i = 0; i < a.n; i++) {
        ck_assert_str_eq(a.item[i].text, b.item[i].text);
    }
    case_list_clear(&b);
    ck_assert_int_eq(grid_expand(&b, text, 20, 2, why), 0);
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        n_same += strcmp(a.item[i].text, b.item[i].text) == 0;
    }
    ck_assert_uint_lt(n_same, 5);
    case_list_clear(&a);
    case_list_clear(&b);
}
END_TEST

Suite *suite_fill(void);
Suite *suite_fill(void)
{
    Suite *s = suite_create("fill");
    TCase *t = tcase_create("fill");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, order_of_cases_does_not_change_data);
    tcase_add_test(t, blanking_keeps_the_rest_as_it_was);
    tcase_add_test(t, index_coded_scales_have_unlike_neighbours);
    tcase_add_test(t, gate_and_up_are_disjoint);
    tcase_add_test(t, limits_are_met_from_both_sides);
    tcase_add_test(t, thirds_are_no_short_numbers);
    tcase_add_test(t, combinations_lie_next_to_ties);
    tcase_add_test(t, ties_lie_halfway_between_codes);
    tcase_add_test(t, random_codes_reach_every_byte);
    tcase_add_test(t, every_grid_expands_and_fills);
    tcase_add_test(t, drawn_shapes_follow_the_seed);
    suite_add_tcase(s, t);
    return s;
}
