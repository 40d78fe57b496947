/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the bounds by themselves: what sums may lose, against cases
 * that lose almost as much, and quantisers between ends, against every choice
 * of their inputs.
 */
#include "bounds/bound.h"
#include "layer_fixture.h"
#include "unit/emu_call.h"

#include <check.h>
#include <string.h>

/* 96 + 8 and 2880 + 8 times 2^16 units of 2^-40; steps lose more where few
   products are spread over many: 2 steps of 1 + 5 times 2^15, and 10 u. */
START_TEST(losses_by_hand)
{
    ck_assert_uint_eq(bound_loss(96, 96), 104 << 16);
    ck_assert_uint_eq(bound_loss(2880, 2880), 2888 << 16);
    ck_assert_uint_eq(bound_loss(2, 2880), (12 << 15) + (10 << 16));
    ck_assert_uint_eq(bound_loss(0, 32), 8 << 16);
    ck_assert_msg(bound_loss(9, 1 << 20) == 0, "no bound is claimed there");
}
END_TEST

static mxo_real number(uint64_t mant, int exp)
{
    return (mxo_real){mant, exp, MXO_CLASS_FINITE, 0, 0};
}

/* 1.5 stays in its binade whatever is lost; the number below 2 leaves it. */
START_TEST(binades_by_hand)
{
    const uint64_t loss = UINT64_C(100) << 16;

    ck_assert_int_eq(bound_binade(number(3, -1), loss), 0);
    ck_assert_int_eq(bound_binade(number(1, 5), loss), 5);
    ck_assert_int_eq(bound_binade(number(0xffffff, -23), loss), 1);
    ck_assert_int_eq(bound_binade(number(0xffff9c, -23), loss), 1);
    ck_assert_int_eq(bound_binade(number(0xffff90, -23), loss), 0);
    ck_assert_int_eq(bound_binade(number(0x1000000, 0), loss), 24);
}
END_TEST

/* 3 and 5/4 times 3 and 6, the others meet zeros: multiples of 1/4, so that
   nothing is rounded while magnitudes stay below 2^22. */
START_TEST(units_by_hand)
{
    mxo_dot_block a = {.v = {12, 0, 5, 7}, .exp = -2, .bits = 4};
    mxo_dot_block b = {.v = {3, 9, 6, 0}, .exp = 0, .bits = 4};
    const bound_nonzero live = bound_nonzero_of(&a);
    bound_terms t = {0, INT16_MAX};

    ck_assert_uint_eq(live.mask, 0xd);
    ck_assert_int_eq(live.unit, -2);
    bound_count(&t, live, bound_nonzero_of(&b));
    ck_assert_uint_eq(t.n, 2);
    ck_assert_int_eq(t.unit, -2);
    ck_assert(bound_is_exact(&t, number(0x3fffff, 0)));
    ck_assert(!bound_is_exact(&t, number(0x400000, 0)));
    bound_count(&t, (bound_nonzero){1, BOUND_NO_UNIT}, live);
    ck_assert(!bound_is_exact(&t, number(1, 0)));
    /* 2^-130 is not normal: it may be flushed. */
    bound_terms low = {1, -130};
    ck_assert(!bound_is_exact(&low, number(1, -130)));
}
END_TEST

/* One output of moe.gemm1 in binary32 over one row of w13, all of whose
   weights are 1.0 times their scale: the lower end. */
enum { LONG = 2048 };

typedef struct long_row {
    uint16_t x[LONG];
    uint8_t w[2][LONG / 2];
    uint8_t scale[2][LONG / 32];
} long_row;

static uint32_t low_end(const long_row *l, uint64_t k, const char *params)
{
    const int32_t id = 0;
    uint32_t lo;
    emu_call c;

    emu_begin(&c, "moe.gemm1", params);
    emu_in(&c, "x", strstr(params, "f16") != NULL ? MXO_F16 : MXO_BF16, l->x, 2,
           1, (int)k);
    emu_in(&c, "topk_ids", MXO_I32, &id, 2, 1, 1);
    emu_in(&c, "w13", MXO_U8, l->w, 3, 1, 2, (int)k / 2);
    emu_in(&c, "w13_scale", MXO_E8M0, l->scale, 3, 1, 2, (int)k / 32);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(&lo, emu_bytes(&c, "y_lo"), sizeof lo);
    emu_end(&c);
    return lo;
}

#define ENDS "order=any,stage=gemm,gemm1_out=f32,bounds=1"

/* 1 and 2047 times 0.996 * 2^-24: added one by one, each is lost.  The exact
   sum is 1 + 2039 u; 2056 u of a binade end 17 u below 1, and with a bound of
   nine tenths the worst order would be outside. */
START_TEST(the_worst_order_is_just_inside)
{
    static long_row l;

    memset(l.w, 0x22, sizeof l.w);
    memset(l.scale, 127, sizeof l.scale);
    for (int i = 0; i < LONG; i++) {
        l.x[i] = i == 0 ? 0x3f80 : 0x337f;
    }
    const uint32_t lo = low_end(&l, LONG, ENDS);
    ck_assert_msg(lo <= 0x3f800000 && lo >= 0x3f7fffef, "%08x", lo);
    /* 31/16 is of the same binade: each addition loses no more. */
    l.x[0] = 0x3ff8;
    const uint32_t top = low_end(&l, LONG, ENDS);
    ck_assert_msg(top <= 0x3ff80000 && top >= 0x3ff7fff7, "%08x", top);
}
END_TEST

/* +Inf is certain beside what cannot overflow: -1 twice, but not -2^127. */
START_TEST(infinities_beside_large_numbers_are_open)
{
    static long_row l = {.x = {0x7f80, 0xff00, 0xff00}};

    memset(l.w, 0x22, sizeof l.w);
    memset(l.scale, 127, sizeof l.scale);
    ck_assert_uint_eq(low_end(&l, 32, ENDS), 0xff800000);
    l.x[1] = l.x[2] = 0xbf80;
    ck_assert_uint_eq(low_end(&l, 32, ENDS), 0x7f800000);
}
END_TEST

/* Weights 2^-20 are subnormal in FP16 and align a step as 2^-14 would: 1 and
   31 times (2^-12 + 2^-22), times 2^-20.  The first step cuts below 2^-39,
   so 15 of them lose 2^-42 each; aligned by 2^-20 it would cut below 2^-45,
   and the bound would allow no more than 10 * 2^-42. */
START_TEST(subnormal_weights_align_by_the_smallest_normal)
{
    const mxo_mma *unit = mxo_mma_find("hopper_wgmma", MXO_MMA_F16);
    static long_row l;
    uint32_t x[32];
    uint32_t w[32];
    uint32_t acc = 0;

    memset(l.w, 0x22, sizeof l.w);
    memset(l.scale, 107, sizeof l.scale);
    for (int i = 0; i < 32; i++) {
        l.x[i] = i == 0 ? 0x3c00 : 0x0c01; /* 1; 2^-12 + 2^-22 */
        x[i] = l.x[i];
        w[i] = 0x0010;
    }
    for (int i = 0; i < 32; i += 16) {
        acc = mxo_mma_step(unit, (mxo_mma_operand){x + i, NULL, 0, 0},
                           (mxo_mma_operand){w + i, NULL, 0, 0}, acc);
    }
    const uint32_t lo = low_end(&l, 32, "from=f16," ENDS);
    ck_assert_msg(mxo_f32_cmp(lo, acc) <= 0, "%08x is above %08x", lo, acc);
}
END_TEST

/* 16 products of 2^-20 and as many of -2^-20, where a step aligns each weight
   as 2^-14: magnitudes of 2^-9, 40 u of which are 1.25 * 2^-28, and what may
   be flushed. */
START_TEST(raised_magnitudes_count_in_full)
{
    static long_row l;

    memset(l.w, 0x22, sizeof l.w);
    memset(l.scale, 107, sizeof l.scale);
    for (int i = 0; i < 32; i++) {
        l.x[i] = i % 2 == 0 ? 0x3c00 : 0xbc00;
    }
    const uint32_t lo = low_end(&l, 32, "from=f16," ENDS);
    ck_assert_msg(lo == 0xb1a00001, "%08x", lo);
}
END_TEST

/* A block of which one number is known up to its ends has no unit: what is
   between them may be a multiple of anything. */
START_TEST(numbers_between_ends_have_no_unit)
{
    uint32_t lo[32] = {0x40400000, 0, 0x3fa00000}; /* 3, 0, 5/4 */
    uint32_t hi[32] = {0x40400000, 0, 0x3fa00000};
    mxo_dot_block block[3][LAYER_TILE];
    bound_nonzero live[LAYER_TILE];
    const layer_gemm g = {.k = 32};
    const layer_tile tile = {.rows = 1};
    bound_gemm b = {.g = &g,
                    .rows = {lo, hi, NULL, 32},
                    .least = BOUND_LEAST,
                    .centre = block[0],
                    .magnitude = block[1],
                    .radius = block[2],
                    .live = live};

    bound_gemm_load(&b, &tile);
    ck_assert_uint_eq(live[0].mask, 5);
    ck_assert_int_eq(live[0].unit, -2);
    hi[0] = 0x40800000;
    bound_gemm_load(&b, &tile);
    ck_assert_uint_eq(live[0].mask, 5);
    ck_assert_int_eq(live[0].unit, BOUND_NO_UNIT);
}
END_TEST

/* Between infinities there is everything, NaN too. */
static int is_between(uint32_t x, uint32_t lo, uint32_t hi)
{
    return (lo == 0xff800000 && hi == 0x7f800000) ||
           (mxo_f32_cmp(x, lo) >= 0 && mxo_f32_cmp(x, hi) <= 0 &&
            mxo_f32_cmp(x, lo) != 2);
}

/* Four rows of one number each, which the slots add up. */
enum { SLOTS = 4 };

typedef struct adding {
    const char *params;
    uint32_t half; /* dtype of the rows */
    mxo_format step;
    uint16_t row[SLOTS];
} adding;

#define ATOMIC                                                             \
    "stage=sum,order=any,bias_type=f32,bias2=acc,routing_at=acc,bounds=1," \
    "sum=atomic_bf16,out=f32,"

static const adding additions[] = {
    /* 1, 2^-8 three times: one by one they are lost, together they are not */
    {ATOMIC "bias=bf16,row_out=bf16",
     MXO_BF16,
     MXO_FMT_BF16,
     {0x3f80, 0x3b80, 0x3b80, 0x3b80}},
    {ATOMIC "bias=bf16,row_out=bf16",
     MXO_BF16,
     MXO_FMT_BF16,
     {0x3f80, 0xbf7f, 0x3c01, 0xbb83}},
    /* 1, 2^-11 three times */
    {ATOMIC "bias=f16,from=f16,row_out=f16",
     MXO_F16,
     MXO_FMT_F16,
     {0x3c00, 0x1000, 0x1000, 0x1000}},
    {ATOMIC "bias=f16,from=f16,row_out=f16",
     MXO_F16,
     MXO_FMT_F16,
     {0x3c00, 0xbbff, 0x1401, 0x9003}},
    /* 60000 twice overflow unless -60000 comes between them */
    {ATOMIC "bias=f16,from=f16,row_out=f16",
     MXO_F16,
     MXO_FMT_F16,
     {0x7b53, 0x7b53, 0xfb53, 0x3c00}},
};

static void ask(const adding *k, uint32_t end[2])
{
    static layer l;
    emu_call c;

    layer_clear(&l);
    l.half = k->half;
    l.topk = SLOTS;
    layer_put(l.w2[0][0], 0, 2);
    for (int i = 0; i < SLOTS; i++) {
        l.act[i][0] = k->row[i];
        l.weights[i] = 0x3f800000;
        l.ids[i] = 0;
    }
    layer_begin_second(&c, &l, k->params);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(&end[0], emu_bytes(&c, "y_lo"), sizeof end[0]);
    memcpy(&end[1], emu_bytes(&c, "y_hi"), sizeof end[1]);
    emu_end(&c);
}

START_TEST(atomic_additions_in_any_order_stay_inside)
{
    const adding *k = &additions[_i];
    uint32_t end[2];

    ask(k, end);
    for (int order = 0; order < 256; order++) {
        uint32_t acc = 0;
        int seen = 0;
        for (int i = 0; i < SLOTS; i++) {
            const int slot = order >> 2 * i & 3;
            seen |= 1 << slot;
            acc = mxo_f32_add(acc, mxo_quant_widen(k->step, k->row[slot]));
            acc = mxo_quant_widen(k->step, layer_code(k->step, acc));
        }
        ck_assert_msg(seen != 15 || is_between(acc, end[0], end[1]),
                      "order %02x gives %08x, not in %08x..%08x", order, acc,
                      end[0], end[1]);
    }
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
        "floor",      "ceil",          "even",          "rceil",
        "rceil_div",  "rceil_exact",   "floor_div",     "floor_mul",
        "flashinfer", "aiter_dynamic", "triton35_up",   "triton35_down",
        "vllm_torch", "vllm_cuda",     "ggml",          "quark_triton",
        "vllm_group", "deepgemm",      "torchao_rceil", "vllm_torch_ceil"};
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
    int way; /* HIP's QDQ, reciprocal STATIC, math of NVFP4 */
    mxo_format from;
    uint32_t given;
} quantiser;

#define BF16 MXO_FMT_BF16
#define F16 MXO_FMT_F16
static const quantiser quantisers[] = {
    {MXO_P_QUANT_MX, MXO_FMT_E4M3FN, "floor", 0, BF16, 0},
    {MXO_P_QUANT_MX, MXO_FMT_E4M3FN, "flashinfer", 0, F16, 0},
    {MXO_P_QUANT_MX, MXO_FMT_E2M1, "even", 0, BF16, 0},
    {MXO_P_QUANT_MX, MXO_FMT_E5M2, "ceil", 0, BF16, 0},
    {MXO_P_QUANT_GROUP, MXO_FMT_E4M3FN, "vllm_group", 0, BF16, 0},
    {MXO_P_QUANT_QDQ, MXO_FMT_E2M1, "quark_triton", 0, BF16, 0},
    {MXO_P_QUANT_QDQ, MXO_FMT_E2M1, "quark_triton", 1, BF16, 0},
    {MXO_P_QUANT_QDQ, MXO_FMT_E2M1, "quark_triton", 0, F16, 0},
    {MXO_P_QUANT_QDQ, MXO_FMT_E2M1, "quark_triton", 1, F16, 0},
    {MXO_P_QUANT_STATIC, MXO_FMT_E4M3FN, "", 0, BF16, 0x3f9d70a4}, /* 1.23 */
    {MXO_P_QUANT_STATIC, MXO_FMT_E5M2, "", 1, F16, 0x3a83126f},    /* 0.001 */
    {MXO_P_QUANT_STATIC, MXO_FMT_E4M3FN, "", 0, BF16, 0xbf9d70a4},
    {MXO_P_QUANT_STATIC, MXO_FMT_E4M3FN, "", 0, BF16, 0},
    {MXO_P_QUANT_NVFP4, MXO_FMT_E2M1, "", MXO_NVFP4_FAST, BF16, 0x41200000},
    {MXO_P_QUANT_NVFP4, MXO_FMT_E2M1, "", MXO_NVFP4_IEEE, F16, 0x3f9d70a4},
    {MXO_P_QUANT_NVFP4, MXO_FMT_E2M1, "", MXO_NVFP4_EXACT, BF16, 0x3dcccccd},
    {MXO_P_QUANT_NVFP4, MXO_FMT_E2M1, "", MXO_NVFP4_FAST, BF16, 0xbdcccccd},
};

enum { N_QUANTISERS = sizeof quantisers / sizeof quantisers[0], ROW = 64 };

/* Numbers of 8 bits whose group maximum may be on either side of a power of two
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
static void choose(const layer_quant *quant, mxo_format from,
                   const uint32_t *lo, const uint32_t *hi, uint32_t picks,
                   uint32_t *y)
{
    uint16_t x[ROW];
    uint8_t q[2 * ROW];
    uint8_t s[ROW / 32];
    const layer_source src = {from, x, NULL, 1, ROW};

    for (int i = 0; i < ROW; i++) {
        x[i] = (uint16_t)layer_code(from, picks >> i % 29 & 1 ? lo[i] : hi[i]);
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
        .quark_hip = k->way,
        .group = k->op == MXO_P_QUANT_GROUP ? ROW : 32,
        .nvfp4 = {.math = (uint8_t)k->way, .rcp_hopper = 1},
        .reciprocal = k->way,
        .scale = k->given,
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
        bound_quantise(&quant, k->from, &rows, 1);
        for (uint32_t picks = 0; picks < 32; picks++) {
            choose(&quant, k->from, lo, hi, picks * 0x5a7f3d1bu, y);
            for (int i = 0; i < ROW; i++) {
                ck_assert_msg(is_between(y[i], lows[i], highs[i]),
                              "%s: [%d] of %08x..%08x is %08x, not in "
                              "%08x..%08x",
                              k->rule, i, lo[i], hi[i], y[i], lows[i],
                              highs[i]);
            }
        }
    }
}
END_TEST

Suite *suite_layer_bound_part(void);
Suite *suite_layer_bound_part(void)
{
    Suite *s = suite_create("layer_bound_part");
    TCase *sum = tcase_create("sum");
    TCase *quant = tcase_create("quantise");

    tcase_add_test(sum, losses_by_hand);
    tcase_add_test(sum, binades_by_hand);
    tcase_add_test(sum, units_by_hand);
    tcase_add_test(sum, raised_magnitudes_count_in_full);
    tcase_add_test(sum, numbers_between_ends_have_no_unit);
    tcase_add_test(sum, the_worst_order_is_just_inside);
    tcase_add_test(sum, infinities_beside_large_numbers_are_open);
    tcase_add_test(sum, subnormal_weights_align_by_the_smallest_normal);
    tcase_add_loop_test(sum, atomic_additions_in_any_order_stay_inside, 0, 5);
    tcase_add_test(sum, operands_are_rounded_up_and_subnormal_ones_raised);
    tcase_add_loop_test(quant, scale_bytes_grow_with_the_maximum, 0, 20);
    tcase_add_loop_test(quant, what_is_quantised_between_ends_stays_there, 0,
                        N_QUANTISERS);
    suite_add_tcase(s, sum);
    suite_add_tcase(s, quant);
    return s;
}
