/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of whole layers by brute force: whatever order a kernel adds in, its
 * outputs lie between the ends; whatever is wrong with it, some do not.
 */
#include "small_layer.h"

#include <check.h>
#include <mxoracle/quant.h>
#include <string.h>

enum { N = SMALL_T * SMALL_H, SEEDS = 2 };

#define COMMON                                                          \
    "bias=f32,weight_rule=ocp,scale_at=weight,order=any,bias_type=f32," \
    "routing_type=f32,absent=skip,"
#define PLAIN COMMON "quant=none,requant=none,out=bf16,"
#define FLOAT "bias1=acc,gemm1_out=f32,bias2=acc,"

static const small_recipe recipes[] = {
    {.params = PLAIN FLOAT "glu=exact,glu_out=bf16,routing_at=acc,"
                           "row_out=bf16,sum=slots",
     .glu = MXO_GLU_EXACT,
     .from = MXO_FMT_BF16,
     .gemm1 = MXO_FMT_F32,
     .act = MXO_FMT_BF16,
     .row = MXO_FMT_BF16,
     .out = MXO_FMT_BF16},
    {.params = PLAIN "bias1=rounded,gemm1_out=bf16,glu=vllm_swigluoai,"
                     "glu_out=bf16,bias2=rounded,routing_at=rounded,"
                     "row_out=bf16,sum=slots",
     .glu = MXO_GLU_VLLM_SWIGLUOAI,
     .from = MXO_FMT_BF16,
     .gemm1 = MXO_FMT_BF16,
     .act = MXO_FMT_BF16,
     .row = MXO_FMT_BF16,
     .out = MXO_FMT_BF16,
     .bias_rounded = 1},
    {.params = PLAIN FLOAT "glu=triton,glu_out=f32,routing_at=sum,"
                           "row_out=f32,sum=fma",
     .glu = MXO_GLU_TRITON,
     .from = MXO_FMT_BF16,
     .gemm1 = MXO_FMT_F32,
     .act = MXO_FMT_F32,
     .row = MXO_FMT_F32,
     .out = MXO_FMT_BF16,
     .routing_sum = 1},
    {.params = COMMON FLOAT
     "requant=same,quant=quant.mx,quant_element=e4m3fn,quant_rule=floor,"
     "glu=trtllm,glu_out=bf16,routing_at=sum,row_out=bf16,sum=fma,out=bf16",
     .glu = MXO_GLU_TRTLLM,
     .from = MXO_FMT_BF16,
     .gemm1 = MXO_FMT_F32,
     .act = MXO_FMT_BF16,
     .row = MXO_FMT_BF16,
     .out = MXO_FMT_BF16,
     .quant = SMALL_MXFP8,
     .routing_sum = 1},
    {.params = COMMON "from=f16,quant=none,requant=none,bias1=rounded,"
                      "gemm1_out=f16,glu=vllm_swigluoai,glu_out=f16,"
                      "bias2=rounded,routing_at=rounded,row_out=f16,"
                      "sum=slots,out=f16",
     .glu = MXO_GLU_VLLM_SWIGLUOAI,
     .from = MXO_FMT_F16,
     .gemm1 = MXO_FMT_F16,
     .act = MXO_FMT_F16,
     .row = MXO_FMT_F16,
     .out = MXO_FMT_F16,
     .bias_rounded = 1},
    {.params = COMMON FLOAT "from=f16,quant=none,requant=none,glu=exact,"
                            "glu_out=f16,routing_at=sum,row_out=f16,sum=fma,"
                            "out=f16",
     .glu = MXO_GLU_EXACT,
     .from = MXO_FMT_F16,
     .gemm1 = MXO_FMT_F32,
     .act = MXO_FMT_F16,
     .row = MXO_FMT_F16,
     .out = MXO_FMT_F16,
     .routing_sum = 1},
    {.params = COMMON FLOAT "input_scale=given,requant=same,"
                            "quant=quant.static,quant_element=e4m3fn,"
                            "quant_rule=divide,glu=trtllm,glu_out=bf16,"
                            "routing_at=sum,row_out=bf16,sum=fma,out=bf16",
     .glu = MXO_GLU_TRTLLM,
     .from = MXO_FMT_BF16,
     .gemm1 = MXO_FMT_F32,
     .act = MXO_FMT_BF16,
     .row = MXO_FMT_BF16,
     .out = MXO_FMT_BF16,
     .quant = SMALL_STATIC,
     .routing_sum = 1},
    {.params = COMMON FLOAT "input_scale=given,requant=same,"
                            "quant=quant.nvfp4,quant_element=e2m1,"
                            "quant_rule=fast,glu=trtllm,glu_out=bf16,"
                            "routing_at=acc,row_out=bf16,sum=slots,out=bf16",
     .glu = MXO_GLU_TRTLLM,
     .from = MXO_FMT_BF16,
     .gemm1 = MXO_FMT_F32,
     .act = MXO_FMT_BF16,
     .row = MXO_FMT_BF16,
     .out = MXO_FMT_BF16,
     .quant = SMALL_NVFP4},
    {.params = COMMON "quant=none,requant=none,bias1=rounded,gemm1_out=bf16,"
                      "glu=vllm_swigluoai,glu_out=bf16,bias2=rounded,"
                      "routing_at=input,row_out=bf16,sum=slots,out=bf16",
     .glu = MXO_GLU_VLLM_SWIGLUOAI,
     .from = MXO_FMT_BF16,
     .gemm1 = MXO_FMT_BF16,
     .act = MXO_FMT_BF16,
     .row = MXO_FMT_BF16,
     .out = MXO_FMT_BF16,
     .bias_rounded = 1,
     .at_input = 1},
};

enum { N_RECIPES = sizeof recipes / sizeof recipes[0] };

typedef struct bounds {
    uint16_t lo[N];
    uint16_t hi[N];
} bounds;

static void ask(const small_layer *l, const small_recipe *r, bounds *b)
{
    emu_call c;

    small_layer_begin(&c, l, r, ",bounds=1");
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(b->lo, emu_bytes(&c, "y_lo"), sizeof b->lo);
    memcpy(b->hi, emu_bytes(&c, "y_hi"), sizeof b->hi);
    emu_end(&c);
}

/* Outputs that lie outside; *first is the first of them. */
static int outside(const small_recipe *r, const bounds *b, const uint16_t *y,
                   int *first)
{
    int n = 0;

    for (int i = 0; i < N; i++) {
        const uint32_t x = mxo_quant_widen(r->out, y[i]);
        const int in = mxo_f32_cmp(x, mxo_quant_widen(r->out, b->lo[i])) >= 0 &&
                       mxo_f32_cmp(x, mxo_quant_widen(r->out, b->hi[i])) <= 0;
        *first = !in && n == 0 ? i : *first;
        n += !in;
    }
    return n;
}

START_TEST(every_order_stays_inside)
{
    const small_recipe *r = &recipes[_i];
    static small_layer l;
    uint16_t y[N];
    bounds b;
    int at = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        small_layer_fill(&l, r, seed, seed % 2 == 0);
        ask(&l, r, &b);
        for (int o = 0; o < SMALL_N_ORDERS; o++) {
            /* Steps multiply numbers of 16 bits. */
            if (o >= SMALL_STEPS && r->act == MXO_FMT_F32) {
                continue;
            }
            small_layer_run(&l, r, (small_order)o, SMALL_LEGAL, y);
            const int n = outside(r, &b, y, &at);
            ck_assert_msg(n == 0,
                          "recipe %d, seed %d, order %d: %d outside, [%d] is "
                          "%04x, not %04x..%04x",
                          _i, (int)seed, o, n, at, y[at], b.lo[at], b.hi[at]);
        }
    }
}
END_TEST

START_TEST(the_exact_answer_is_inside)
{
    static small_layer l;
    emu_call c;
    uint16_t y[N];
    bounds b;
    int at = 0;

    small_layer_fill(&l, &recipes[_i], 7, 0);
    ask(&l, &recipes[_i], &b);
    small_layer_begin(&c, &l, &recipes[_i], "");
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(y, emu_bytes(&c, "y"), sizeof y);
    emu_end(&c);
    ck_assert_msg(outside(&recipes[_i], &b, y, &at) == 0, "[%d]", at);
}
END_TEST

/* Marlin's weights are FP16 numbers beside FP16 activations: below 2^-25 they
   are zero, and so is the output without a bias. */
START_TEST(weights_beside_fp16_are_fp16_in_both_halves)
{
    static small_layer l;
    small_recipe r = recipes[5];
    bounds b;

    r.params = COMMON FLOAT
        "from=f16,weight_rule=marlin,quant=none,requant=none,glu=exact,"
        "glu_out=f16,routing_at=sum,row_out=f16,sum=fma,out=f16";
    small_layer_fill(&l, &r, 11, 1);
    memset(l.s2, 98, sizeof l.s2);
    memset(l.b2, 0, sizeof l.b2);
    ask(&l, &r, &b);
    for (int i = 0; i < N; i++) {
        ck_assert_msg((b.lo[i] & 0x7fff) == 0 && (b.hi[i] & 0x7fff) == 0,
                      "[%d] is %04x..%04x", i, b.lo[i], b.hi[i]);
    }
}
END_TEST

/* Rounding the bias in is what some recipes declare, and without given scales
   there is nothing to restore. */
static int is_legal(const small_recipe *r, small_fault fault)
{
    const int keeps =
        r->gemm1 == MXO_FMT_F32 && !(r->row != MXO_FMT_F32 && r->routing_sum);

    return (fault == SMALL_BIAS_AFTER && (r->bias_rounded || keeps)) ||
           (fault == SMALL_NOT_RESTORED && r->quant != SMALL_STATIC &&
            r->quant != SMALL_NVFP4);
}

START_TEST(every_fault_falls_outside)
{
    const small_recipe *r = &recipes[_i];
    static small_layer l;
    uint16_t y[N];
    bounds b;
    int at = 0;

    for (int f = SMALL_LEGAL + 1; f < SMALL_N_FAULTS; f++) {
        if (is_legal(r, (small_fault)f)) {
            continue;
        }
        small_layer_fill(&l, r, 3, f == SMALL_BIAS_AFTER);
        ask(&l, r, &b);
        small_layer_run(&l, r, SMALL_SEQUENTIAL, (small_fault)f, y);
        ck_assert_msg(outside(r, &b, y, &at) > 0, "recipe %d: fault %d passes",
                      _i, f);
    }
}
END_TEST

/* Most outputs are known to the bit: the ends are no excuse for anything. */
START_TEST(ends_are_close)
{
    static small_layer l;
    bounds b;
    int points = 0;

    small_layer_fill(&l, &recipes[_i], 5, 0);
    ask(&l, &recipes[_i], &b);
    for (int i = 0; i < N; i++) {
        points += b.lo[i] == b.hi[i];
    }
    /* FP16 outputs are eight times as fine. */
    const int enough = recipes[_i].out == MXO_FMT_F16 ? N / 3 : N / 2;
    ck_assert_msg(points > enough, "recipe %d: only %d of %d", _i, points, N);
}
END_TEST

/* A NaN scale in row 5 of w2: no activation that it meets, known or not, makes
   a number of it. */
START_TEST(a_weight_that_is_nan_is_certain)
{
    static small_layer l;
    bounds b;

    small_layer_fill(&l, &recipes[_i], 3, 0);
    for (int e = 0; e < SMALL_E; e++) {
        l.s2[e][5][1] = 0xff;
    }
    ask(&l, &recipes[_i], &b);
    for (int i = 0; i < N; i++) {
        const uint32_t lo = mxo_quant_widen(recipes[_i].out, b.lo[i]);
        const uint32_t hi = mxo_quant_widen(recipes[_i].out, b.hi[i]);
        const int nan =
            (lo & 0x7fffffff) > 0x7f800000 && (hi & 0x7fffffff) > 0x7f800000;
        ck_assert_msg(nan == (i % SMALL_H == 5),
                      "recipe %d, [%d] is %08x..%08x", _i, i, lo, hi);
    }
}
END_TEST

START_TEST(what_is_declared_has_no_bounds)
{
    static small_layer l;
    small_recipe r = recipes[0];
    emu_call c;

    small_layer_fill(&l, &r, 1, 0);
    r.params = "bias=f32";
    small_layer_begin(&c, &l, &r, ",bounds=1");
    emu_refuses(&c, MXO_E_PARAM, "order=exact");
    small_layer_begin(&c, &l, &recipes[0], ",bounds=open");
    emu_refuses(&c, MXO_E_PARAM, "not for glu=exact");
    small_layer_begin(&c, &l, &recipes[2], ",bounds=open");
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    emu_end(&c);
}
END_TEST

Suite *suite_layer_bound(void);
Suite *suite_layer_bound(void)
{
    Suite *s = suite_create("layer_bound");
    TCase *whole = tcase_create("whole");

    tcase_set_timeout(whole, 60);
    tcase_add_loop_test(whole, every_order_stays_inside, 0, N_RECIPES);
    tcase_add_loop_test(whole, the_exact_answer_is_inside, 0, N_RECIPES);
    tcase_add_loop_test(whole, every_fault_falls_outside, 0, N_RECIPES);
    tcase_add_loop_test(whole, ends_are_close, 0, N_RECIPES);
    tcase_add_test(whole, weights_beside_fp16_are_fp16_in_both_halves);
    tcase_add_test(whole, what_is_declared_has_no_bounds);
    tcase_add_loop_test(whole, a_weight_that_is_nan_is_certain, 0, N_RECIPES);
    suite_add_tcase(s, whole);
    return s;
}
