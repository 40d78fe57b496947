/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of whole layers by brute force: whatever order a kernel adds in, its
 * outputs lie between the ends; whatever is wrong with it, some do not.
 */
#include "layer/bound.h"
#include "layer_fixture.h"
#include "small_layer.h"

#include <check.h>
#include <string.h>

enum { N = SMALL_T * SMALL_H, SEEDS = 2 };

#define COMMON                                                       \
    "bias=f32,weight_rule=ocp,scale_at=weight,order=any,quant=none," \
    "bias_type=f32,routing_type=f32,out=bf16,absent=skip,"

static const small_recipe recipes[] = {
    {COMMON "requant=none,bias1=acc,gemm1_out=f32,glu=exact,glu_out=bf16,"
            "bias2=acc,routing_at=acc,row_out=bf16,sum=slots",
     MXO_GLU_EXACT, 0, 0, 1, 0, 0, 1},
    {COMMON "requant=none,bias1=rounded,gemm1_out=bf16,glu=vllm_swigluoai,"
            "glu_out=bf16,bias2=rounded,routing_at=rounded,row_out=bf16,"
            "sum=slots",
     MXO_GLU_VLLM_SWIGLUOAI, 1, 1, 1, 0, 0, 1},
    {COMMON "requant=none,bias1=acc,gemm1_out=f32,glu=triton,glu_out=f32,"
            "bias2=acc,routing_at=sum,row_out=f32,sum=fma",
     MXO_GLU_TRITON, 0, 0, 0, 0, 1, 0},
    {COMMON "requant=same,quant=quant.mx,quant_element=e4m3fn,"
            "quant_rule=floor,bias1=acc,gemm1_out=f32,glu=trtllm,"
            "glu_out=bf16,bias2=acc,routing_at=sum,row_out=bf16,sum=fma",
     MXO_GLU_TRTLLM, 0, 0, 1, 1, 1, 1},
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

static uint32_t wide(uint16_t x)
{
    return (uint32_t)x << 16;
}

/* Outputs that lie outside; *first is the first of them. */
static int outside(const bounds *b, const uint16_t *y, int *first)
{
    int n = 0;

    for (int i = 0; i < N; i++) {
        const int in = mxo_f32_cmp(wide(y[i]), wide(b->lo[i])) >= 0 &&
                       mxo_f32_cmp(wide(y[i]), wide(b->hi[i])) <= 0;
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
        small_layer_fill(&l, seed, seed % 2 == 0);
        ask(&l, r, &b);
        for (int o = 0; o < SMALL_N_ORDERS; o++) {
            /* Steps multiply BF16 numbers. */
            if (o >= SMALL_STEPS && !r->act_bf16) {
                continue;
            }
            small_layer_run(&l, r, (small_order)o, SMALL_LEGAL, y);
            const int n = outside(&b, y, &at);
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

    small_layer_fill(&l, 7, 0);
    ask(&l, &recipes[_i], &b);
    small_layer_begin(&c, &l, &recipes[_i], "");
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(y, emu_bytes(&c, "y"), sizeof y);
    emu_end(&c);
    ck_assert_msg(outside(&b, y, &at) == 0, "[%d]", at);
}
END_TEST

/* Rounding the bias in, and weights early, is what some recipes declare. */
static int is_legal(const small_recipe *r, small_fault fault)
{
    return fault == SMALL_BIAS_AFTER &&
           (r->bias_rounded ||
            (!r->gemm1_bf16 && !(r->row_bf16 && r->routing_sum)));
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
        small_layer_fill(&l, 3, f == SMALL_BIAS_AFTER);
        ask(&l, r, &b);
        small_layer_run(&l, r, SMALL_SEQUENTIAL, (small_fault)f, y);
        ck_assert_msg(outside(&b, y, &at) > 0, "recipe %d: fault %d passes", _i,
                      f);
    }
}
END_TEST

/* Most outputs are known to the bit: the ends are no excuse for anything. */
START_TEST(ends_are_close)
{
    static small_layer l;
    bounds b;
    int points = 0;

    small_layer_fill(&l, 5, 0);
    ask(&l, &recipes[_i], &b);
    for (int i = 0; i < N; i++) {
        points += b.lo[i] == b.hi[i];
    }
    ck_assert_msg(points > N / 2, "recipe %d: only %d of %d", _i, points, N);
}
END_TEST

/* 100 u / (1 - 100 u) is 6553639.06 units of 2^-40, and 2884 u / (1 - 2884 u)
   189038319.6; tensor-core steps lose less: 6 times 21 * 2^-25 and 10 u. */
START_TEST(losses_by_hand)
{
    ck_assert_msg(bound_loss(96) == 6553640, "%llu",
                  (unsigned long long)bound_loss(96));
    ck_assert_msg(bound_loss(2880) == 189038320, "%llu",
                  (unsigned long long)bound_loss(2880));
    ck_assert_msg(bound_loss(1 << 20) == 0, "no bound is claimed there");
}
END_TEST

/* 1 and 31 times 0.996 * 2^-24: added one by one, each is lost.  The exact
   sum is 1 + 30.9 u; 36 u of (S + |y|) / 2 = 1 end 5.1 u below 1. */
START_TEST(the_worst_order_is_just_inside)
{
    static layer l;
    uint32_t lo;
    emu_call c;

    layer_clear(&l);
    for (int k = 0; k < H; k++) {
        l.x[k] = k == 0 ? 0x3f80 : 0x337f;
        layer_put(l.w13[0][0], k, 2);
    }
    layer_begin_first(&c, &l, "order=any,stage=gemm,gemm1_out=f32,bounds=1");
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(&lo, emu_bytes(&c, "y_lo"), sizeof lo);
    emu_end(&c);
    ck_assert_msg(lo <= 0x3f800000 && lo >= 0x3f7ffffa, "%08x", lo);
}
END_TEST

static mxo_dot_block block_of(const uint32_t *x)
{
    const mxo_dot_matrix m = {MXO_FMT_F32, x, NULL, 32};
    mxo_dot_block b;

    mxo_dot_load(&b, &m, 0, 0);
    return b;
}

START_TEST(operands_are_rounded_up_and_subnormal_ones_raised)
{
    uint32_t x[32] = {0x3f800000, 0xbf800001, 0x2b800000, 0, 0x00400000};
    mxo_dot_block b = block_of(x);
    mxo_dot_block y;

    ck_assert_int_eq(bound_operand(&y, &b, -126), 1);
    ck_assert_int_eq(y.exp, -20);
    ck_assert_int_eq(y.v[0], 1 << 20);
    ck_assert_int_eq(y.v[1], (1 << 20) + 1);
    ck_assert_int_eq(y.v[2], 1); /* 2^-40 */
    ck_assert_int_eq(y.v[3], 0);
    ck_assert_int_eq(y.v[4], 1); /* 2^-127 */
    x[4] = 0;
    b = block_of(x);
    ck_assert_int_eq(bound_operand(&y, &b, -126), 0);
    x[1] = 0x00400000;
    x[0] = x[2] = 0;
    b = block_of(x);
    ck_assert_int_eq(bound_operand(&y, &b, -126), 1);
    ck_assert_int_eq(y.v[1], 1 << 20); /* 2^-126 */
    ck_assert_int_eq(y.exp, -146);
}
END_TEST

/* Scale bytes may only grow with the maximum: what bound_quantise needs. */
START_TEST(scale_bytes_grow_with_the_maximum)
{
    static const char *const rules[] = {
        "floor",      "ceil",          "even",         "rceil",
        "rceil_div",  "rceil_exact",   "floor_div",    "floor_mul",
        "flashinfer", "aiter_dynamic", "triton35_up",  "triton35_down",
        "vllm_torch", "vllm_cuda",     "ggml",         "quark_triton",
        "vllm_group", "deepgemm",      "torchao_rceil"};
    static const mxo_format elements[] = {MXO_FMT_E2M1, MXO_FMT_E4M3FN,
                                          MXO_FMT_E5M2};
    const mxo_quant_rule *rule = mxo_quant_rule_by_name(rules[_i]);

    for (int e = 0; e < 3; e++) {
        uint8_t last = 0;
        for (uint32_t x = 0; x < 0x7f00; x++) {
            const uint8_t byte =
                mxo_quant_scale_byte(rule, elements[e], x << 16);
            ck_assert_msg(byte >= last, "%s: %04x gives %02x after %02x",
                          rules[_i], x, byte, last);
            last = byte;
        }
    }
}
END_TEST

typedef struct quantiser {
    mxo_profile_choice op;
    mxo_format element;
    const char *rule;
    int hip;
} quantiser;

static const quantiser quantisers[] = {
    {MXO_P_QUANT_MX, MXO_FMT_E4M3FN, "floor", 0},
    {MXO_P_QUANT_MX, MXO_FMT_E4M3FN, "flashinfer", 0},
    {MXO_P_QUANT_MX, MXO_FMT_E2M1, "even", 0},
    {MXO_P_QUANT_MX, MXO_FMT_E5M2, "ceil", 0},
    {MXO_P_QUANT_GROUP, MXO_FMT_E4M3FN, "vllm_group", 0},
    {MXO_P_QUANT_QDQ, MXO_FMT_E2M1, "quark_triton", 0},
    {MXO_P_QUANT_QDQ, MXO_FMT_E2M1, "quark_triton", 1},
};

enum { N_QUANTISERS = sizeof quantisers / sizeof quantisers[0], ROW = 64 };

/* BF16 numbers whose group maximum may be on either side of a power of two
   or of the largest code. */
static void spread(uint32_t *lo, uint32_t *hi, uint32_t seed)
{
    uint32_t state = seed;

    for (int i = 0; i < ROW; i++) {
        state = state * 1664525 + 1013904223;
        const uint32_t x = (state & 0x80000000u) |
                           ((120 + (state >> 8) % 8) << 23) |
                           ((state >> 12 & 0x7f) << 16);
        const uint32_t way = (state >> 4) % 3 << 16;
        lo[i] = x;
        hi[i] = x + way;
    }
    hi[5] = lo[5] = seed % 2 != 0 ? 0x44000000 : 0x43e00000; /* 512, 448 */
    lo[5] -= 0x10000;
    hi[5] += 0x10000;
    for (int i = 0; i < ROW; i++) { /* larger magnitudes are less if negative */
        const uint32_t x = lo[i];
        lo[i] = x >> 31 != 0 ? hi[i] : x;
        hi[i] = x >> 31 != 0 ? x : hi[i];
    }
}

/* One choice of every element, quantised for good. */
static void choose(const layer_quant *quant, const uint32_t *lo,
                   const uint32_t *hi, uint32_t picks, uint32_t *y)
{
    uint16_t x[ROW];
    uint8_t q[2 * ROW];
    uint8_t s[ROW / 32];
    const layer_source src = {MXO_FMT_BF16, x, NULL, 1, ROW};

    for (int i = 0; i < ROW; i++) {
        x[i] = (uint16_t)((picks >> i % 29 & 1 ? lo[i] : hi[i]) >> 16);
    }
    memset(q, 0, sizeof q);
    const mxo_dot_matrix m = layer_quantise(quant, &src, q, s);
    for (uint64_t i = 0; i < ROW; i++) {
        y[i] =
            (uint32_t)mxo_format_round(MXO_FMT_F32, mxo_dot_element(&m, 0, i));
    }
}

START_TEST(what_is_quantised_between_ends_stays_there)
{
    const quantiser *k = &quantisers[_i];
    const layer_quant quant = {
        .op = k->op,
        .element = k->element,
        .rule = mxo_quant_rule_by_name(k->rule),
        .quark_hip = k->hip,
        .group = k->op == MXO_P_QUANT_GROUP ? ROW : 32,
    };

    for (uint32_t seed = 1; seed <= 8; seed++) {
        uint32_t lo[ROW];
        uint32_t hi[ROW];
        uint32_t lows[ROW];
        uint32_t highs[ROW];
        uint32_t y[ROW];
        const bound_rows rows = {lows, highs, NULL, ROW};

        spread(lo, hi, seed);
        memcpy(lows, lo, sizeof lows);
        memcpy(highs, hi, sizeof highs);
        bound_quantise(&quant, MXO_FMT_BF16, &rows, 1);
        for (uint32_t picks = 0; picks < 32; picks++) {
            choose(&quant, lo, hi, picks * 0x5a7f3d1bu, y);
            for (int i = 0; i < ROW; i++) {
                ck_assert_msg(mxo_f32_cmp(y[i], lows[i]) >= 0 &&
                                  mxo_f32_cmp(y[i], highs[i]) <= 0,
                              "%s: [%d] of %08x..%08x is %08x, not in "
                              "%08x..%08x",
                              k->rule, i, lo[i], hi[i], y[i], lows[i],
                              highs[i]);
            }
        }
    }
}
END_TEST

START_TEST(declared_orders_have_no_bounds)
{
    static small_layer l;
    small_recipe r = recipes[0];
    emu_call c;

    small_layer_fill(&l, 1, 0);
    r.params = "bias=f32";
    small_layer_begin(&c, &l, &r, ",bounds=1");
    emu_refuses(&c, MXO_E_PARAM, "order=exact");
}
END_TEST

Suite *suite_layer_bound(void);
Suite *suite_layer_bound(void)
{
    Suite *s = suite_create("layer_bound");
    TCase *whole = tcase_create("whole");
    TCase *part = tcase_create("part");

    tcase_set_timeout(whole, 60);
    tcase_add_loop_test(whole, every_order_stays_inside, 0, N_RECIPES);
    tcase_add_loop_test(whole, the_exact_answer_is_inside, 0, N_RECIPES);
    tcase_add_loop_test(whole, every_fault_falls_outside, 0, N_RECIPES);
    tcase_add_loop_test(whole, ends_are_close, 0, N_RECIPES);
    tcase_add_test(part, losses_by_hand);
    tcase_add_test(part, the_worst_order_is_just_inside);
    tcase_add_test(part, operands_are_rounded_up_and_subnormal_ones_raised);
    tcase_add_loop_test(part, scale_bytes_grow_with_the_maximum, 0, 19);
    tcase_add_loop_test(part, what_is_quantised_between_ends_stays_there, 0,
                        N_QUANTISERS);
    tcase_add_test(part, declared_orders_have_no_bounds);
    suite_add_tcase(s, whole);
    suite_add_tcase(s, part);
    return s;
}
