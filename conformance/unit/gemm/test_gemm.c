/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.mx: every declared order against the same formula on the host's
 * floats, and sums and bias places whose answers are known by hand.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { K = 96, COLS = 3 };

/* Assigning to a volatile float rounds, wherever the host calculates. */
typedef volatile float f32;

static uint32_t bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static float value(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

typedef struct inputs {
    float a[K];
    float w[COLS][K];
} inputs;

static void fill(inputs *in)
{
    uint32_t s = 7;

    for (int i = 0; i < K * (COLS + 1); i++) {
        s = s * 1664525u + 1013904223u;
        const float x = (float)((int)(s >> 9 & 0x3fffff) - 0x200000) *
                        ldexpf(1, (int)(s >> 30) - 30);
        if (i < K) {
            in->a[i] = x;
        } else {
            in->w[i / K - 1][i % K] = x;
        }
    }
}

static void run(emu_call *c, const inputs *in, const char *params, uint32_t *y)
{
    char text[160];

    (void)snprintf(text, sizeof text, "from=f32,element=f32,w_scale=none,%s",
                   params);
    emu_begin(c, "gemm.mx", text);
    emu_in(c, "a", MXO_F32, in->a, 2, 1, K);
    emu_in(c, "w", MXO_F32, in->w, 2, COLS, K);
    ck_assert_msg(emu_run(c) == MXO_OK, "%s", c->why);
    memcpy(y, emu_bytes(c, "y"), COLS * sizeof *y);
    emu_end(c);
}

static float part(const inputs *in, int c, int first, int end, int fma)
{
    f32 sum = 0;

    for (int k = first; k < end; k++) {
        f32 p = in->a[k] * in->w[c][k];
        sum = fma ? fmaf(in->a[k], in->w[c][k], sum) : sum + p;
    }
    return sum;
}

static float tree(const inputs *in, int c, int first, int n)
{
    f32 sum;

    if (n == 1) {
        sum = in->a[first] * in->w[c][first];
        return sum;
    }
    int left = 1;
    while (left * 2 < n) {
        left *= 2;
    }
    sum = tree(in, c, first, left) + tree(in, c, first + left, n - left);
    return sum;
}

static void check(const char *params, const uint32_t *got, int c, float want)
{
    ck_assert_msg(got[c] == bits(want), "%s, column %d: got %08x want %08x",
                  params, c, got[c], bits(want));
}

START_TEST(declared_orders_are_what_float_loops_do)
{
    inputs in;
    uint32_t y[COLS];
    emu_call call;

    fill(&in);
    for (int c = 0; c < COLS; c++) {
        run(&call, &in, "acc=seq,mul=round", y);
        check("seq", y, c, part(&in, c, 0, K, 0));
        run(&call, &in, "acc=seq,mul=fma", y);
        check("seq fma", y, c, part(&in, c, 0, K, 1));
        run(&call, &in, "acc=pairwise", y);
        check("pairwise", y, c, tree(&in, c, 0, K));
        run(&call, &in, "acc=split,splits=2,mul=round", y);
        check("split 2", y, c,
              (float)(part(&in, c, 0, 64, 0) + part(&in, c, 64, K, 0)));
        run(&call, &in, "acc=block,mul=round", y);
        f32 blocks = part(&in, c, 0, 32, 0);
        blocks = blocks + part(&in, c, 32, 64, 0);
        blocks = blocks + part(&in, c, 64, K, 0);
        check("block", y, c, blocks);
    }
}
END_TEST

/* An order that is declared and the exact sum must part somewhere. */
START_TEST(orders_differ_from_each_other)
{
    inputs in;
    uint32_t y[4][COLS];
    emu_call call;

    fill(&in);
    run(&call, &in, "acc=exact", y[0]);
    run(&call, &in, "acc=seq", y[1]);
    run(&call, &in, "acc=pairwise", y[2]);
    run(&call, &in, "acc=split,splits=3", y[3]);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < i; j++) {
            ck_assert_msg(memcmp(y[i], y[j], sizeof y[0]) != 0, "%d and %d", i,
                          j);
        }
    }
}
END_TEST

/* 2 x (1.5 x 2^3, then -6): one block with scale bytes 130 and 127. */
START_TEST(scales_of_both_operands_count)
{
    uint8_t a[32] = {0};
    uint8_t w[32] = {0};
    const uint8_t a_scale[2] = {128, 127};
    const uint8_t w_scale[2] = {130, 126};
    emu_call c;

    a[0] = 0x02;  /* 1.0 at k = 0, times 2 */
    w[0] = 0x03;  /* 1.5, times 8 */
    a[16] = 0x20; /* 1.0 at k = 33 */
    w[16] = 0xf0; /* -6, times 1/2 */
    emu_begin(&c, "gemm.mx", "from=e2m1,a_scale=mx,sums=1");
    emu_in(&c, "a", MXO_U8, a, 2, 1, 32);
    emu_in(&c, "a_scale", MXO_E8M0, a_scale, 2, 1, 2);
    emu_in(&c, "w", MXO_U8, w, 2, 1, 32);
    emu_in(&c, "w_scale", MXO_E8M0, w_scale, 2, 1, 2);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    uint32_t y;
    double sum_abs;
    memcpy(&y, emu_bytes(&c, "y"), sizeof y);
    memcpy(&sum_abs, emu_bytes(&c, "sum_abs"), sizeof sum_abs);
    ck_assert_msg(value(y) == 21 && sum_abs == 27, "%g %g", value(y), sum_abs);
    emu_end(&c);
}
END_TEST

typedef struct bias_case {
    const char *params;
    uint32_t want;
} bias_case;

/*
 * Sum 1 + 2^-7 + 2^-20 (exact in f32), bias 2^-8, to bf16 (spacing 2^-7):
 * inside one rounding 1 + 3 * 2^-8 + 2^-20 goes up to 1 + 2^-6; in bf16 the
 * sum is 1 + 2^-7 first, then 1 + 3 * 2^-8, a tie, goes to even: 1 + 2^-6.
 * Bias 2^-8 - 2^-20 makes the one exactly a tie, the other not: in bf16 it is
 * 2^-8 again.
 */
static const bias_case bias_cases[] = {
    {"bias=none,to=bf16", 0x3f81},   {"bias=sum,to=bf16", 0x3f82},
    {"bias=f32,to=bf16", 0x3f82},    {"bias=to,to=bf16", 0x3f82},
    {"bias=sum,to=f32", 0x3f818008},
};

START_TEST(bias_is_added_where_it_is_declared)
{
    const bias_case *t = &bias_cases[_i];
    const float a[2] = {1 + 0x1p-7f, 0x1p-20f};
    const float w[2] = {1, 1};
    const float bias = 0x1p-8f;
    char text[128];
    uint32_t y = 0;
    emu_call c;

    (void)snprintf(text, sizeof text, "from=f32,element=f32,w_scale=none,%s",
                   t->params);
    emu_begin(&c, "gemm.mx", text);
    emu_in(&c, "a", MXO_F32, a, 2, 1, 2);
    emu_in(&c, "w", MXO_F32, w, 2, 1, 2);
    emu_in(&c, "bias", MXO_F32, &bias, 1, 1);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    if (strstr(t->params, "to=f32") != NULL) {
        memcpy(&y, emu_bytes(&c, "y"), 4);
    } else {
        uint16_t half;
        memcpy(&half, emu_bytes(&c, "y"), 2);
        y = half;
    }
    ck_assert_msg(y == t->want, "%s: got %x want %x", t->params, y, t->want);
    emu_end(&c);
}
END_TEST

/* 2^24 + 1 + ... in f32: the places of the bias differ by what they lose. */
START_TEST(bias_before_and_after_the_rounding_differ)
{
    const float a[2] = {0x1p24f, 1};
    const float w[2] = {1, 1};
    const float bias = 1;
    static const char *const params[2] = {
        "from=f32,element=f32,w_scale=none,bias=sum",
        "from=f32,element=f32,w_scale=none,bias=f32"};
    static const float want[2] = {0x1p24f + 2, 0x1p24f};

    for (int i = 0; i < 2; i++) {
        uint32_t y;
        emu_call c;
        emu_begin(&c, "gemm.mx", params[i]);
        emu_in(&c, "a", MXO_F32, a, 2, 1, 2);
        emu_in(&c, "w", MXO_F32, w, 2, 1, 2);
        emu_in(&c, "bias", MXO_F32, &bias, 1, 1);
        ck_assert_int_eq(emu_run(&c), MXO_OK);
        memcpy(&y, emu_bytes(&c, "y"), 4);
        ck_assert_msg(y == bits(want[i]), "%s: %08x", params[i], y);
        emu_end(&c);
    }
}
END_TEST

/* The same numbers through mma.chain. */
START_TEST(wgmma_is_a_chain_of_steps)
{
    uint16_t a[64];
    uint16_t w[64];
    uint32_t chain;
    const uint32_t zero = 0;
    emu_call c;

    for (int i = 0; i < 64; i++) {
        a[i] = (uint16_t)(0x3f00 + i * 37 % 256 + i % 3 * 0x8000);
        w[i] = (uint16_t)(0x3c00 + i * 91 % 1024);
    }
    emu_begin(&c, "mma.chain", "");
    emu_in(&c, "a", MXO_BF16, a, 2, 1, 64);
    emu_in(&c, "b", MXO_BF16, w, 2, 1, 64);
    emu_in(&c, "c", MXO_F32, &zero, 2, 1, 1);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    memcpy(&chain, emu_bytes(&c, "d"), sizeof chain);
    emu_end(&c);
    emu_begin(&c, "gemm.mx", "element=bf16,w_scale=none,acc=wgmma");
    emu_in(&c, "a", MXO_BF16, a, 2, 1, 64);
    emu_in(&c, "w", MXO_BF16, w, 2, 1, 64);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_mem_eq(emu_bytes(&c, "y"), &chain, sizeof chain);
    emu_end(&c);
}
END_TEST

static void refused(const char *params, uint64_t a_cols, uint64_t w_cols,
                    uint64_t scales, mxo_status status, const char *word)
{
    static const uint8_t zeros[4096];
    emu_call c;

    emu_begin(&c, "gemm.mx", params);
    emu_in(&c, "a", MXO_BF16, zeros, 2, 2, (int)a_cols);
    emu_in(&c, "w", MXO_U8, zeros, 2, 3, (int)w_cols);
    emu_in(&c, "w_scale", MXO_E8M0, zeros, 2, 3, (int)scales);
    emu_in(&c, "bias", MXO_F32, zeros, 1, 4);
    emu_refuses(&c, status, word);
}

START_TEST(what_does_not_fit_is_refused)
{
    refused("", 64, 16, 2, MXO_E_SHAPE, "length");
    refused("", 64, 32, 3, MXO_E_SHAPE, "w_scale");
    refused("bias=sum", 64, 32, 2, MXO_E_SHAPE, "bias");
    refused("acc=pairwise,bias=sum", 64, 32, 2, MXO_E_PARAM, "bias=sum");
    refused("splits=2", 64, 32, 2, MXO_E_PARAM, "splits");
    refused("acc=split,splits=0", 64, 32, 2, MXO_E_PARAM, "splits");
    refused("acc=seq,to=f64", 64, 32, 2, MXO_E_PARAM, "f64");
}
END_TEST

START_TEST(no_k_and_no_rows_are_sums_of_nothing)
{
    static const uint8_t none[1];
    emu_call c;

    emu_begin(&c, "gemm.mx", "");
    emu_in(&c, "a", MXO_BF16, none, 2, 1, 0);
    emu_in(&c, "w", MXO_U8, none, 2, 1, 0);
    emu_in(&c, "w_scale", MXO_E8M0, none, 2, 1, 0);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_mem_eq(emu_bytes(&c, "y"), "\0\0\0\0", 4);
    emu_end(&c);
}
END_TEST

Suite *suite_gemm(void);

Suite *suite_gemm(void)
{
    Suite *s = suite_create("gemm");
    TCase *t = tcase_create("gemm.mx");

    tcase_add_test(t, declared_orders_are_what_float_loops_do);
    tcase_add_test(t, orders_differ_from_each_other);
    tcase_add_test(t, scales_of_both_operands_count);
    tcase_add_loop_test(t, bias_is_added_where_it_is_declared, 0,
                        (int)(sizeof bias_cases / sizeof bias_cases[0]));
    tcase_add_test(t, bias_before_and_after_the_rounding_differ);
    tcase_add_test(t, wgmma_is_a_chain_of_steps);
    tcase_add_test(t, what_does_not_fit_is_refused);
    tcase_add_test(t, no_k_and_no_rows_are_sums_of_nothing);
    suite_add_tcase(s, t);
    return s;
}
