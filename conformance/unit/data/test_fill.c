/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs: a buffer depends on seed, case and name only; every kind of data
   holds what it promises. */
#include "case/grid.h"
#include "data/fill.h"
#include "data/fills.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
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

/* Bits 6 and 7 of all bytes of q. */
static unsigned high_bits(const char *text)
{
    tensor_set in = {0};
    unsigned found = 0;

    fill(text, 1, &in);
    const host_tensor *q = tensor_set_find(&in, "q");
    for (uint64_t i = 0; i < tensor_elems(q); i++) {
        found |= (unsigned)tensor_load(q, i) & 0xc0;
    }
    tensor_set_clear(&in);
    return found;
}

START_TEST(a_code_of_six_bits_has_none_above)
{
    ck_assert_uint_eq(high_bits("dequant.mx:element=e2m3,rows=9,cols=96"), 0);
    ck_assert_uint_eq(high_bits("dequant.mx:element=e3m2,rows=9,cols=96"), 0);
    ck_assert_uint_eq(
        high_bits("dequant.mx:element=e3m2,rows=9,cols=96,data=highbits"),
        0xc0);
    ck_assert_uint_eq(high_bits("dequant.mx:element=e2m1,rows=9,cols=96"),
                      0xc0);
    ck_assert_uint_eq(high_bits("dequant.mx:element=int8,rows=9,cols=96"),
                      0xc0);
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

START_TEST(every_37th_nudge_is_infinite)
{
    static const char *const types[] = {"f32", "bf16"};
    char text[160];
    tensor_set in = {0};
    int signs = 0;

    (void)snprintf(text, sizeof text,
                   "moe.gemm1:stage=gemm,tokens=1,topk=1,experts=2,hidden=48,"
                   "inter=64,bias=%s,data=nudged",
                   types[_i]);
    fill(text, 1, &in);
    const host_tensor *t = tensor_set_find(&in, "w13_bias");

    ck_assert_uint_eq(tensor_elems(t), 256);
    for (uint64_t i = 0; i < 256; i++) {
        const double x = dtype_value(t->dtype, tensor_load(t, i));
        ck_assert_msg((fabs(x) > 0x1p127) == (i % 37 == 36) && !isnan(x) &&
                          (isinf(x) != 0) == (i % 37 == 36),
                      "%d: %g", (int)i, x);
        signs |= i % 37 == 36 ? 1 << (x > 0) : 0;
    }
    ck_assert_int_eq(signs, 3);
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
/* How often each of these is met. */
typedef struct census {
    uint64_t code[16];
    uint64_t byte[256];
    uint64_t nan, plus_inf, minus_inf, subnormal, minus_zero, empty;
} census;

/* BF16 rows with one number that is not zero, or none. */
static void count_rows(census *n, const tensor_set *in, const char *name)
{
    const host_tensor *t = tensor_set_find(in, name);
    const uint64_t cols = t->shape[t->rank - 1];

    for (uint64_t i = 0; i < tensor_elems(t); i += cols) {
        uint64_t live = 0;
        for (uint64_t k = i; k < i + cols; k++) {
            const uint64_t x = tensor_load(t, k);
            live += (x & 0x7fff) != 0;
            n->nan += (x & 0x7fff) > 0x7f80;
            n->plus_inf += x == 0x7f80;
            n->minus_inf += x == 0xff80;
            n->subnormal += (x & 0x7fff) != 0 && (x & 0x7f80) == 0;
            n->minus_zero += x == 0x8000;
        }
        n->empty += live == 0;
        ck_assert_msg(live <= 1, "%s: %d numbers from [%d] on", name, (int)live,
                      (int)i);
    }
}

static void count_weights(census *n, const tensor_set *in, const char *codes,
                          const char *scales)
{
    const host_tensor *w = tensor_set_find(in, codes);
    const host_tensor *s = tensor_set_find(in, scales);

    for (uint64_t i = 0; i < tensor_elems(w); i++) {
        n->code[tensor_load(w, i) & 15]++;
        n->code[tensor_load(w, i) >> 4]++;
    }
    for (uint64_t i = 0; i < tensor_elems(s); i++) {
        n->byte[tensor_load(s, i)]++;
    }
}

static void expect_all(const census *n, const char *text)
{
    static const int bytes[] = {0, 1, 2, 127, 252, 253, 254, 255};

    for (int i = 0; i < 16; i++) {
        ck_assert_msg(n->code[i] > 0, "%s: no code %x", text, (unsigned)i);
    }
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        ck_assert_msg(n->byte[bytes[i]] > 0, "%s: no byte %d", text, bytes[i]);
    }
    ck_assert_uint_gt(n->nan, 0);
    ck_assert_uint_gt(n->plus_inf, 0);
    ck_assert_uint_gt(n->minus_inf, 0);
    ck_assert_uint_gt(n->subnormal, 0);
    ck_assert_uint_gt(n->minus_zero, 0);
    ck_assert_uint_gt(n->empty, 0);
}

START_TEST(lone_halves_have_one_live_product_and_every_number)
{
    static const char *const ops[2][4] = {
        {"moe.gemm1:tokens=24,topk=2,experts=7,hidden=160,inter=24,data=lone",
         "x", "w13", "w13_scale"},
        {"moe.gemm2:tokens=24,topk=2,experts=7,hidden=48,inter=160,data=lone",
         "act", "w2", "w2_scale"}};

    for (uint64_t seed = 1; seed <= 4; seed++) {
        tensor_set in = {0};
        census n = {.nan = 0};

        fill(ops[_i][0], seed, &in);
        count_rows(&n, &in, ops[_i][1]);
        count_weights(&n, &in, ops[_i][2], ops[_i][3]);
        expect_all(&n, ops[_i][0]);
        tensor_set_clear(&in);
    }
}
END_TEST

/* Whatever the activation is, a row of w2 takes one of it. */
START_TEST(lone_layers_have_one_live_code_in_a_row_of_w2)
{
    tensor_set in = {0};
    census n = {.nan = 0};

    fill("moe.layer:tokens=64,topk=1,experts=7,hidden=160,inter=64,data=lone",
         1, &in);
    count_rows(&n, &in, "x");
    count_weights(&n, &in, "w13", "w13_scale");
    expect_all(&n, "moe.layer");
    const host_tensor *t = tensor_set_find(&in, "w2");
    for (uint64_t i = 0; i < tensor_elems(t); i += t->shape[2]) {
        int live = 0;
        for (uint64_t k = i; k < i + t->shape[2]; k++) {
            live += (tensor_load(t, k) & 0x07) != 0;
            live += (tensor_load(t, k) & 0x70) != 0;
        }
        ck_assert_int_eq(live, 1);
    }
    tensor_set_clear(&in);
}
END_TEST

START_TEST(every_grid_expands_and_fills)
{
    case_list l = {0};

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
    case_list a = {0};
    case_list b = {0};
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

/* Threads draw parts of such a tensor. */
START_TEST(long_weights_are_the_bytes_of_one_stream)
{
    const size_t n = (size_t)70 << 20 | 5;
    host_tensor t = {.dtype = MXO_U8, .rank = 1, .shape = {n}, .n_bytes = n};
    uint8_t *expected = malloc(n);
    test_case c;
    prng a;
    prng b;

    t.data = malloc(n);
    ck_assert(t.data != NULL && expected != NULL);
    ck_assert_int_eq(case_parse(&c, "dequant.mx:rows=5,cols=64", why), 0);
    prng_seed(&a, 3);
    b = a;
    fill_random(&c, &t, &a);
    prng_bytes(&b, expected, n);
    ck_assert_int_eq(memcmp(t.data, expected, n), 0);
    ck_assert_mem_eq(&a, &b, sizeof a);
    free(expected);
    free(t.data);
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
    tcase_add_test(t, a_code_of_six_bits_has_none_above);
    tcase_add_test(t, index_coded_scales_have_unlike_neighbours);
    tcase_add_test(t, gate_and_up_are_disjoint);
    tcase_add_test(t, limits_are_met_from_both_sides);
    tcase_add_test(t, thirds_are_no_short_numbers);
    tcase_add_test(t, combinations_lie_next_to_ties);
    tcase_add_test(t, ties_lie_halfway_between_codes);
    tcase_add_loop_test(t, every_37th_nudge_is_infinite, 0, 2);
    tcase_add_test(t, random_codes_reach_every_byte);
    tcase_add_loop_test(t, lone_halves_have_one_live_product_and_every_number,
                        0, 2);
    tcase_add_test(t, lone_layers_have_one_live_code_in_a_row_of_w2);
    tcase_add_test(t, every_grid_expands_and_fills);
    tcase_add_test(t, long_weights_are_the_bytes_of_one_stream);
    tcase_add_test(t, drawn_shapes_follow_the_seed);
    suite_add_tcase(s, t);
    return s;
}
