/* SPDX-License-Identifier: Apache-2.0 */
/* See small_layer.h. */
#include "small_layer.h"

#include <mxoracle/mma.h>
#include <mxoracle/quant.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MOST = SMALL_H, BLOCK = 32, STEP = 16 };

static const uint32_t e2m1[8] = {0,          0x3f000000, 0x3f800000,
                                 0x3fc00000, 0x40000000, 0x40400000,
                                 0x40800000, 0x40c00000};

static uint32_t draw(small_layer *l)
{
    l->state = l->state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(l->state >> 33);
}

/* +-2^low .. 2^(low + span), every mantissa. */
static uint32_t number(small_layer *l, int low, uint32_t span)
{
    const uint32_t sign = draw(l) % 2 << 31;
    const uint32_t exponent = (uint32_t)(127 + low) + draw(l) % span;

    return sign | exponent << 23 | draw(l) % (1u << 23);
}

static void bytes(small_layer *l, uint8_t *to, size_t n, uint32_t low,
                  uint32_t span)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (uint8_t)(low + draw(l) % span);
    }
}

/* A number through a type, and its code. */
static uint32_t through(mxo_format to, uint32_t x)
{
    const uint64_t code =
        mxo_format_round(to, mxo_format_decode(MXO_FMT_F32, x));

    return (uint32_t)mxo_format_round(MXO_FMT_F32, mxo_format_decode(to, code));
}

static uint16_t code_of(mxo_format to, uint32_t x)
{
    return (uint16_t)mxo_format_round(to, mxo_format_decode(MXO_FMT_F32, x));
}

static uint32_t bf16(uint32_t x)
{
    return through(MXO_FMT_BF16, x);
}

int small_topk(const small_recipe *r)
{
    return r->at_input ? 1 : SMALL_K;
}

static void fill_tensors(small_layer *l, int large_bias)
{
    bytes(l, l->w13[0][0], sizeof l->w13, 0, 256);
    bytes(l, l->s13[0][0], sizeof l->s13, 122, 4);
    bytes(l, l->w2[0][0], sizeof l->w2, 0, 256);
    bytes(l, l->s2[0][0], sizeof l->s2, 122, 4);
    for (int e = 0; e < SMALL_E; e++) {
        for (int i = 0; i < 2 * SMALL_I; i++) {
            l->b13[e][i] = number(l, large_bias ? 5 : -3, 2);
        }
        for (int i = 0; i < SMALL_H; i++) {
            l->b2[e][i] = number(l, large_bias ? 5 : -3, 2);
        }
    }
}

void small_layer_fill(small_layer *l, const small_recipe *r, uint64_t seed,
                      int large_bias)
{
    const int topk = small_topk(r);

    memset(l, 0, sizeof *l);
    l->state = seed;
    for (int i = 0; i < SMALL_T * SMALL_H; i++) {
        l->x[i / SMALL_H][i % SMALL_H] = code_of(r->from, number(l, -3, 4));
    }
    fill_tensors(l, large_bias);
    for (int i = 0; i < SMALL_T * topk; i++) {
        l->ids[i] = (i / topk + i % topk) % SMALL_E;
        l->weights[i] = number(l, -2, 1) & 0x7fffffffu;
    }
    /* quant.static divides by them, quant.nvfp4 multiplies. */
    l->given[0] = 0x3c23d70a + (draw(l) & 0xfffff);
    l->given[1] = 0x3d000000 + (draw(l) & 0xfffff);
    if (r->quant == SMALL_NVFP4) {
        l->given[0] = mxo_f32_div(0x3f800000, l->given[0]);
        l->given[1] = mxo_f32_div(0x3f800000, l->given[1]);
    }
}

/* 2^(byte - 127) for bytes in the middle of the range. */
static uint32_t power(uint8_t byte)
{
    return (uint32_t)byte << 23;
}

/* One row of weights, scaled, as binary32 patterns. */
static void widen(const uint8_t *packed, const uint8_t *scale, int n,
                  uint32_t *w)
{
    for (int i = 0; i < n; i++) {
        const unsigned code = packed[i / 2] >> (4 * (i % 2)) & 0xf;
        w[i] = mxo_f32_mul(e2m1[code & 7], power(scale[i / BLOCK])) | (code & 8)
                                                                          << 28;
    }
}

static uint32_t sum_in_order(const uint32_t *p, const int *order, int n,
                             int narrow)
{
    uint32_t acc = 0;

    for (int i = 0; i < n; i++) {
        acc = mxo_f32_add(acc, p[order[i]]);
        acc = narrow ? bf16(acc) : acc;
    }
    return acc;
}

static uint32_t pairwise(const uint32_t *p, int n)
{
    return n == 1 ? p[0]
                  : mxo_f32_add(pairwise(p, n / 2),
                                pairwise(p + n / 2, n - n / 2));
}

static uint32_t steps(mxo_format type, const uint32_t *a, const uint32_t *w,
                      int from, int to)
{
    const mxo_mma *unit = mxo_mma_find(
        "hopper_wgmma", type == MXO_FMT_F16 ? MXO_MMA_F16 : MXO_MMA_BF16);
    uint32_t acc = 0;

    for (int i = from; i < to; i += STEP) {
        uint32_t x[STEP];
        uint32_t y[STEP];
        for (int k = 0; k < STEP; k++) {
            x[k] = code_of(type, a[i + k]);
            y[k] = code_of(type, w[i + k]);
        }
        acc = mxo_mma_step(unit, (mxo_mma_operand){x, NULL, 0, 0},
                           (mxo_mma_operand){y, NULL, 0, 0}, acc);
    }
    return acc;
}

static uint32_t fused(const uint32_t *a, const uint32_t *w, int n)
{
    uint32_t acc = 0;

    for (int i = 0; i < n; i++) {
        acc = mxo_f32_fma(a[i], w[i], acc);
    }
    return acc;
}

/* The scale divided out again: exact. */
static uint32_t late_scale(const uint32_t *a, const uint32_t *w,
                           const uint8_t *scale, int n)
{
    uint32_t acc = 0;

    for (int b = 0; b < n / BLOCK; b++) {
        uint32_t part = 0;
        for (int i = b * BLOCK; i < (b + 1) * BLOCK; i++) {
            const uint32_t code = mxo_f32_div(w[i], power(scale[b]));
            part = mxo_f32_add(part, mxo_f32_mul(a[i], code));
        }
        acc = mxo_f32_fma(part, power(scale[b]), acc);
    }
    return acc;
}

static void permute(small_layer *l, small_order order, int n, int *to)
{
    for (int i = 0; i < n; i++) {
        to[i] = order == SMALL_REVERSED ? n - 1 - i : i;
    }
    for (int i = n - 1; order == SMALL_SHUFFLED && i > 0; i--) {
        const int other = (int)(draw(l) % (uint32_t)(i + 1));
        const int was = to[i];
        to[i] = to[other];
        to[other] = was;
    }
}

typedef struct job {
    small_layer *l;
    const small_recipe *r;
    small_order order;
    small_fault fault;
} job;

static uint32_t dot(const job *j, const uint32_t *a, const uint32_t *w,
                    const uint8_t *scale, int n)
{
    const mxo_format type =
        j->r->quant == SMALL_AS_IS ? j->r->from : MXO_FMT_BF16;
    const small_order order = j->order;
    const int narrow = j->fault == SMALL_BF16_SUM;
    small_layer *l = j->l;
    const int half = n / 2 / STEP * STEP;
    uint32_t p[MOST];
    int at[MOST];

    for (int i = 0; i < n; i++) {
        p[i] = mxo_f32_mul(a[i], w[i]);
    }
    permute(l, order, n, at);
    switch (order) {
    case SMALL_FMA:
        return fused(a, w, n);
    case SMALL_PAIRWISE:
        return pairwise(p, n);
    case SMALL_SPLIT:
        return mxo_f32_add(sum_in_order(p, at, half, narrow),
                           sum_in_order(p, at + half, n - half, narrow));
    case SMALL_LATE_SCALE:
        return late_scale(a, w, scale, n);
    case SMALL_STEPS:
        return steps(type, a, w, 0, n);
    case SMALL_STEPS_SPLIT:
        return mxo_f32_add(steps(type, a, w, 0, half),
                           steps(type, a, w, half, n));
    default:
        return sum_in_order(p, at, n, narrow);
    }
}

/* Sum, bias, rounding. */
static uint32_t finish(const job *j, uint32_t y, uint32_t bias, mxo_format to)
{
    const int rounded = j->r->bias_rounded || j->fault == SMALL_BIAS_AFTER;

    return through(to, mxo_f32_add(rounded ? through(to, y) : y, bias));
}

static void mxfp8(uint32_t *x, int n)
{
    const mxo_quant_rule *rule = mxo_quant_rule_by_name("floor");
    uint8_t code[BLOCK];

    for (int i = 0; i < n; i += BLOCK) {
        const uint8_t byte =
            mxo_quant_mx(rule, MXO_FMT_E4M3FN, -1, code, x + i, BLOCK);
        for (int k = 0; k < BLOCK; k++) {
            const mxo_real y = mxo_format_decode(MXO_FMT_E4M3FN, code[k]);
            x[i + k] = (uint32_t)mxo_format_round(
                MXO_FMT_F32, mxo_real_scale(y, byte - 127));
        }
    }
}

static void nvfp4(uint32_t *x, int n, uint32_t global)
{
    const mxo_nvfp4_rule rule = {.math = MXO_NVFP4_FAST, .rcp_hopper = 1};
    uint8_t code[STEP];

    for (int i = 0; i < n; i += STEP) {
        const uint8_t byte = mxo_quant_nvfp4(&rule, global, code, x + i, STEP);
        for (int k = 0; k < STEP; k++) {
            x[i + k] = mxo_f32_mul(mxo_quant_widen(MXO_FMT_E2M1, code[k]),
                                   mxo_quant_widen(MXO_FMT_E4M3FN, byte));
        }
    }
}

static void quantise(const job *j, uint32_t *x, int n, uint32_t given)
{
    const mxo_rounding saturate = {MXO_TIE_RNE, 1, 0, 0};

    if (j->r->quant == SMALL_MXFP8) {
        mxfp8(x, n);
    }
    if (j->r->quant == SMALL_NVFP4) {
        nvfp4(x, n, given);
    }
    for (int i = 0; j->r->quant == SMALL_STATIC && i < n; i++) {
        const uint64_t code = mxo_format_encode(
            MXO_FMT_E4M3FN,
            mxo_format_decode(MXO_FMT_F32, mxo_f32_div(x[i], given)), saturate);
        x[i] = mxo_quant_widen(MXO_FMT_E4M3FN, code);
    }
}

/* Given scales come back behind the sum. */
static uint32_t restore(const job *j, uint32_t y, uint32_t given)
{
    const int is_nvfp4 = j->r->quant == SMALL_NVFP4;

    if (j->fault == SMALL_NOT_RESTORED ||
        (!is_nvfp4 && j->r->quant != SMALL_STATIC)) {
        return y;
    }
    return mxo_f32_mul(y, is_nvfp4 ? mxo_f32_div(0x3f800000, given) : given);
}

/* Of slot i. */
static uint32_t weight_of(const job *j, int i)
{
    const uint32_t w = j->l->weights[i];

    return j->fault == SMALL_EARLY_WEIGHT ? bf16(w) : w;
}

static uint32_t first(const job *j, int t, int e, int col)
{
    const int lost = j->fault == SMALL_DROPPED_BLOCK ? BLOCK : 0;
    small_layer *l = j->l;
    uint8_t scale[SMALL_H / BLOCK];
    uint32_t a[SMALL_H];
    uint32_t w[SMALL_H];

    memcpy(scale, l->s13[e][col], sizeof scale);
    scale[1] = (uint8_t)(scale[1] + (j->fault == SMALL_WRONG_SCALE && e == 1));
    widen(l->w13[e][col], scale, SMALL_H, w);
    for (int i = 0; i < SMALL_H; i++) {
        a[i] = mxo_quant_widen(j->r->from, l->x[t][i]);
        a[i] = j->r->at_input
                   ? through(j->r->from, mxo_f32_mul(a[i], weight_of(j, t)))
                   : a[i];
    }
    quantise(j, a, SMALL_H, l->given[0]);
    const uint32_t y = dot(j, a, w, scale, SMALL_H - lost);

    return finish(j, restore(j, y, l->given[0]), l->b13[e][col], j->r->gemm1);
}

static mxo_glu unit_of(const small_recipe *r)
{
    const mxo_glu unit = {r->glu,
                          MXO_GLU_NAN_DIALECT,
                          r->gemm1,
                          r->act,
                          mxo_format_decode(MXO_FMT_F32, 0x3fd9db23),
                          mxo_format_decode(MXO_FMT_F32, 0x3f800000),
                          mxo_format_decode(MXO_FMT_F32, 0x40e00000),
                          {0},
                          {0},
                          0};

    return unit;
}

static uint64_t wide_code(mxo_format f, uint32_t x)
{
    return f == MXO_FMT_F32 ? x : code_of(f, x);
}

static void activations(const job *j, int t, int e, uint32_t *act)
{
    const mxo_glu unit = unit_of(j->r);

    for (int c = 0; c < SMALL_I; c++) {
        const uint64_t y =
            mxo_act_glu(&unit, wide_code(j->r->gemm1, first(j, t, e, 2 * c)),
                        wide_code(j->r->gemm1, first(j, t, e, 2 * c + 1)));
        act[c] = j->r->act == MXO_FMT_F32 ? (uint32_t)y
                                          : mxo_quant_widen(j->r->act, y);
    }
    quantise(j, act, SMALL_I, j->l->given[1]);
}

static uint32_t second(const job *j, const uint32_t *act, int e, int col)
{
    const int lost = j->fault == SMALL_DROPPED_BLOCK_2 ? BLOCK : 0;
    const int late = j->r->routing_sum || j->r->bias_rounded || j->r->at_input;
    uint32_t w[SMALL_I];

    widen(j->l->w2[e][col], j->l->s2[e][col], SMALL_I, w);
    const uint32_t y = dot(j, act, w, j->l->s2[e][col], SMALL_I - lost);

    return finish(j, restore(j, y, j->l->given[1]), j->l->b2[e][col],
                  late ? j->r->row : MXO_FMT_F32);
}

static void token(const job *j, int t, uint16_t *y)
{
    const int topk = small_topk(j->r);
    uint32_t act[SMALL_K][SMALL_I];

    for (int s = 0; s < topk; s++) {
        activations(j, t, j->l->ids[t * topk + s], act[s]);
    }
    for (int c = 0; c < SMALL_H; c++) {
        uint32_t acc = 0;
        for (int s = 0; s < topk; s++) {
            const uint32_t weight = weight_of(j, t * topk + s);
            const uint32_t z = second(j, act[s], j->l->ids[t * topk + s], c);
            if (j->r->routing_sum) {
                acc = mxo_f32_fma(z, weight, acc);
            } else {
                acc = mxo_f32_add(
                    acc, through(j->r->row,
                                 j->r->at_input ? z : mxo_f32_mul(z, weight)));
            }
        }
        y[c] = code_of(j->r->out, acc);
    }
}

void small_layer_run(small_layer *l, const small_recipe *r, small_order order,
                     small_fault fault, uint16_t *y)
{
    const job j = {l, r, order, fault};

    for (int t = 0; t < SMALL_T; t++) {
        token(&j, t, y + t * SMALL_H);
    }
}

void small_layer_begin(emu_call *c, const small_layer *l, const small_recipe *r,
                       const char *extra)
{
    const int topk = small_topk(r);
    char params[1024];

    (void)snprintf(params, sizeof params, "%s%s", r->params, extra);
    emu_begin(c, "moe.layer", params);
    emu_in(c, "x", r->from == MXO_FMT_F16 ? MXO_F16 : MXO_BF16, l->x, 2,
           SMALL_T, SMALL_H);
    emu_in(c, "topk_ids", MXO_I32, l->ids, 2, SMALL_T, topk);
    emu_in(c, "w13", MXO_U8, l->w13, 3, SMALL_E, 2 * SMALL_I, SMALL_H / 2);
    emu_in(c, "w13_scale", MXO_E8M0, l->s13, 3, SMALL_E, 2 * SMALL_I,
           SMALL_H / 32);
    emu_in(c, "w13_bias", MXO_F32, l->b13, 2, SMALL_E, 2 * SMALL_I);
    emu_in(c, "topk_weights", MXO_F32, l->weights, 2, SMALL_T, topk);
    emu_in(c, "w2", MXO_U8, l->w2, 3, SMALL_E, SMALL_H, SMALL_I / 2);
    emu_in(c, "w2_scale", MXO_E8M0, l->s2, 3, SMALL_E, SMALL_H, SMALL_I / 32);
    emu_in(c, "w2_bias", MXO_F32, l->b2, 2, SMALL_E, SMALL_H);
    if (r->quant == SMALL_STATIC || r->quant == SMALL_NVFP4) {
        emu_in(c, "w13_input_scale", MXO_F32, &l->given[0], 1, 1);
        emu_in(c, "w2_input_scale", MXO_F32, &l->given[1], 1, 1);
    }
}
