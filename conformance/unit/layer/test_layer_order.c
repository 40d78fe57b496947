/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders of a layer's sums against the operations that have them alone:
 * gemm.mx, and mma.chain on operands that dequant.mx and tables here make.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* K is off the block; PAD is a whole number of blocks and of steps. */
enum { K = 80, PAD = 96, BLOCKS = 3, COLS = 4, ROWS = 3 };

typedef struct rows {
    uint16_t x[ROWS][K];
    uint32_t wide_x[ROWS][K];
    uint8_t w[COLS][K / 2];
    uint8_t scale[COLS][BLOCKS];
    uint16_t bias[COLS];
    uint32_t y[ROWS][COLS]; /* of the layer */
} rows;

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Exponents spread over 2^-7 .. 2^8: every order loses something else. */
static void fill(rows *t)
{
    uint32_t state = 7;

    memset(t, 0, sizeof *t);
    for (int i = 0; i < ROWS * K; i++) {
        const uint32_t bits = draw(&state);
        const uint32_t code = (bits & 0x807f) | (120 + (bits >> 8) % 16) << 7;
        t->x[i / K][i % K] = (uint16_t)code;
        t->wide_x[i / K][i % K] = code << 16 | (bits & 0x5000);
    }
    for (int i = 0; i < COLS * K / 2; i++) {
        t->w[i / (K / 2)][i % (K / 2)] = (uint8_t)draw(&state);
    }
    for (int i = 0; i < COLS * BLOCKS; i++) {
        t->scale[i / BLOCKS][i % BLOCKS] = (uint8_t)(120 + draw(&state) % 12);
    }
    for (int i = 0; i < COLS; i++) {
        t->bias[i] = (uint16_t)(0x3f80 + 77 * i);
    }
}

/* The first GEMM of one expert, binary32 out, every token there once. */
static void run_layer(rows *t, const char *params, int is_wide)
{
    static const int32_t ids[ROWS] = {0};
    char text[256];
    emu_call c;

    (void)snprintf(text, sizeof text, "stage=gemm,%s%s", params,
                   is_wide ? ",from=f32" : "");
    emu_begin(&c, "moe.gemm1", text);
    emu_in(&c, "topk_ids", MXO_I32, ids, 2, ROWS, 1);
    emu_in(&c, "x", is_wide ? MXO_F32 : MXO_BF16,
           is_wide ? (const void *)t->wide_x : t->x, 2, ROWS, K);
    emu_in(&c, "w13", MXO_U8, t->w, 3, 1, COLS, K / 2);
    emu_in(&c, "w13_scale", MXO_E8M0, t->scale, 3, 1, COLS, BLOCKS);
    if (strstr(params, "bias=bf16") != NULL) {
        emu_in(&c, "w13_bias", MXO_BF16, t->bias, 2, 1, COLS);
    }
    const mxo_status status = emu_run(&c);

    ck_assert_msg(status == MXO_OK, "%s: %s", text, c.why);
    memcpy(t->y, emu_bytes(&c, "y"), sizeof t->y);
    emu_end(&c);
}

static void expect_same(const rows *t, const uint32_t want[ROWS][COLS],
                        const char *what)
{
    for (int i = 0; i < ROWS * COLS; i++) {
        const uint32_t got = t->y[i / COLS][i % COLS];
        ck_assert_msg(got == want[i / COLS][i % COLS],
                      "%s, element %d: got %08x want %08x", what, i,
                      (unsigned)got, (unsigned)want[i / COLS][i % COLS]);
    }
}

static void run_gemm(const rows *t, const char *params,
                     uint32_t want[ROWS][COLS])
{
    emu_call c;

    emu_begin(&c, "gemm.mx", params);
    emu_in(&c, "a", MXO_BF16, t->x, 2, ROWS, K);
    emu_in(&c, "w", MXO_U8, t->w, 2, COLS, K / 2);
    emu_in(&c, "w_scale", MXO_E8M0, t->scale, 2, COLS, BLOCKS);
    if (strstr(params, "bias=sum") != NULL) {
        emu_in(&c, "bias", MXO_BF16, t->bias, 1, COLS);
    }
    const mxo_status status = emu_run(&c);

    ck_assert_msg(status == MXO_OK, "%s: %s", params, c.why);
    memcpy(want, emu_bytes(&c, "y"), sizeof(uint32_t[ROWS][COLS]));
    emu_end(&c);
}

static const char *const orders[][2] = {
    {"order=exact", "acc=exact"},
    {"order=exact,bias=bf16,bias1=order", "acc=exact,bias=sum,bias_type=bf16"},
    {"order=seq", "acc=seq"},
    {"order=seq,mul=round", "acc=seq,mul=round"},
    {"order=seq,bias=bf16,bias1=order", "acc=seq,bias=sum,bias_type=bf16"},
    {"order=pairwise", "acc=pairwise"},
    {"order=split,splits=2", "acc=split,splits=2"},
    {"order=split,splits=3,mul=round", "acc=split,splits=3,mul=round"},
    {"order=block,scale_at=block", "acc=block"},
    {"order=block,scale_at=block,mul=round", "acc=block,mul=round"},
    {"order=hopper_wgmma", "acc=wgmma"},
    {"order=hopper_wgmma,bias=bf16,bias1=order",
     "acc=wgmma,bias=sum,bias_type=bf16"},
};

START_TEST(orders_are_those_of_the_gemm)
{
    uint32_t want[ROWS][COLS];
    rows t;

    fill(&t);
    run_gemm(&t, orders[_i][1], want);
    run_layer(&t, orders[_i][0], 0);
    expect_same(&t, want, orders[_i][0]);
}
END_TEST

/* Weights in BF16, padded with zeros. */
static void dequantise(const rows *t, uint16_t to[COLS][PAD])
{
    emu_call c;

    emu_begin(&c, "dequant.mx", "to=bf16");
    emu_in(&c, "q", MXO_U8, t->w, 2, COLS, K / 2);
    emu_in(&c, "scale", MXO_E8M0, t->scale, 2, COLS, BLOCKS);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    const uint8_t *y = emu_bytes(&c, "y");

    memset(to, 0, sizeof(uint16_t[COLS][PAD]));
    for (int i = 0; i < COLS; i++) {
        memcpy(to[i], y + 2 * K * i, (size_t)2 * K);
    }
    emu_end(&c);
}

typedef struct unit_case {
    const char *unit;
    const char *rest; /* ",promote=32" */
} unit_case;

static const unit_case units[] = {
    {"hopper_wgmma", ""},
    {"hopper_wgmma", ",promote=32"},
    {"hopper_wgmma", ",promote=64"},
    {"hopper_mma_sync", ""},
    {"hopper_mma_sync", ",promote=16"},
    {"ampere", ""},
    {"ada", ""},
    {"blackwell", ""},
    {"cdna1", ""},
    {"cdna2", ""},
    {"cdna3", ""},
};

START_TEST(units_are_those_of_the_chain)
{
    static const uint32_t zeros[ROWS][COLS];
    const unit_case *u = &units[_i];
    uint16_t w[COLS][PAD];
    uint16_t x[ROWS][PAD] = {{0}};
    uint32_t want[ROWS][COLS];
    char text[96];
    rows t;
    emu_call c;

    fill(&t);
    dequantise(&t, w);
    for (int i = 0; i < ROWS; i++) {
        memcpy(x[i], t.x[i], sizeof t.x[i]);
    }
    (void)snprintf(text, sizeof text, "unit=%s%s", u->unit, u->rest);
    emu_begin(&c, "mma.chain", text);
    emu_in(&c, "a", MXO_BF16, x, 2, ROWS, PAD);
    emu_in(&c, "b", MXO_BF16, w, 2, COLS, PAD);
    emu_in(&c, "c", MXO_F32, zeros, 2, ROWS, COLS);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(want, emu_bytes(&c, "d"), sizeof want);
    emu_end(&c);
    (void)snprintf(text, sizeof text, "order=%s%s", u->unit, u->rest);
    run_layer(&t, text, 0);
    expect_same(&t, (const uint32_t(*)[COLS])want, text);
}
END_TEST

/* Activations in binary32 go in as TF32. */
START_TEST(wide_activations_are_tf32)
{
    static const uint32_t zeros[ROWS][COLS];
    uint16_t narrow[COLS][PAD];
    uint32_t w[COLS][PAD];
    uint32_t x[ROWS][PAD] = {{0}};
    uint32_t want[ROWS][COLS];
    rows t;
    emu_call c;

    fill(&t);
    dequantise(&t, narrow);
    for (int i = 0; i < COLS * PAD; i++) {
        w[i / PAD][i % PAD] = (uint32_t)narrow[i / PAD][i % PAD] << 16;
    }
    for (int i = 0; i < ROWS; i++) {
        memcpy(x[i], t.wide_x[i], sizeof t.wide_x[i]);
    }
    emu_begin(&c, "mma.chain", "type=tf32");
    emu_in(&c, "a", MXO_F32, x, 2, ROWS, PAD);
    emu_in(&c, "b", MXO_F32, w, 2, COLS, PAD);
    emu_in(&c, "c", MXO_F32, zeros, 2, ROWS, COLS);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(want, emu_bytes(&c, "d"), sizeof want);
    emu_end(&c);
    run_layer(&t, "order=hopper_wgmma", 1);
    expect_same(&t, (const uint32_t(*)[COLS])want, "tf32");
}
END_TEST

/* E4M3 codes of the E2M1 numbers: 0, 1/2, 1, 3/2, 2, 3, 4, 6. */
static const uint8_t as_e4m3[16] = {0x00, 0x30, 0x38, 0x3c, 0x40, 0x44,
                                    0x48, 0x4c, 0x80, 0xb0, 0xb8, 0xbc,
                                    0xc0, 0xc4, 0xc8, 0xcc};

typedef struct fp8_rows {
    uint8_t x[ROWS][PAD]; /* E4M3 */
    uint8_t x_scale[ROWS][BLOCKS];
    uint8_t w[COLS][PAD]; /* E4M3 */
} fp8_rows;

static void quantise(const rows *t, fp8_rows *q)
{
    uint16_t x[ROWS][PAD] = {{0}};
    emu_call c;

    memset(q, 0, sizeof *q);
    for (int i = 0; i < ROWS; i++) {
        memcpy(x[i], t->x[i], sizeof t->x[i]);
    }
    emu_begin(&c, "quant.mx", "element=e4m3fn,rule=floor");
    emu_in(&c, "x", MXO_BF16, x, 2, ROWS, PAD);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(q->x, emu_bytes(&c, "q"), sizeof q->x);
    memcpy(q->x_scale, emu_bytes(&c, "scale"), sizeof q->x_scale);
    emu_end(&c);
    for (int i = 0; i < COLS * K; i++) {
        const uint8_t byte = t->w[i / K][i % K / 2];
        q->w[i / K][i % K] = as_e4m3[i % 2 == 0 ? byte & 15 : byte >> 4];
    }
}

static float f32_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* One block as a chain of its own; the scales multiply it afterwards. */
static void add_block(const fp8_rows *q, const rows *t, const char *unit, int b,
                      float sum[ROWS][COLS])
{
    static const uint32_t zeros[ROWS][COLS];
    uint8_t x[ROWS][32];
    uint8_t w[COLS][32];
    uint32_t part[ROWS][COLS];
    char text[64];
    emu_call c;

    for (int i = 0; i < ROWS; i++) {
        memcpy(x[i], q->x[i] + 32 * b, 32);
    }
    for (int i = 0; i < COLS; i++) {
        memcpy(w[i], q->w[i] + 32 * b, 32);
    }
    (void)snprintf(text, sizeof text, "unit=%s,type=e4m3fn", unit);
    emu_begin(&c, "mma.chain", text);
    emu_in(&c, "a", MXO_E4M3, x, 2, ROWS, 32);
    emu_in(&c, "b", MXO_E4M3, w, 2, COLS, 32);
    emu_in(&c, "c", MXO_F32, zeros, 2, ROWS, COLS);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(part, emu_bytes(&c, "d"), sizeof part);
    emu_end(&c);
    for (int i = 0; i < ROWS * COLS; i++) {
        const int r = i / COLS;
        const int n = i % COLS;
        const int exp = q->x_scale[r][b] + t->scale[n][b] - 254;
        sum[r][n] = fmaf(f32_of(part[r][n]), ldexpf(1, exp), sum[r][n]);
    }
}

static const char *const fp8_units[] = {"hopper_wgmma", "hopper_mma_sync",
                                        "ada", "blackwell"};

START_TEST(fp8_is_promoted_block_by_block)
{
    float sum[ROWS][COLS] = {{0}};
    uint32_t want[ROWS][COLS];
    char text[128];
    fp8_rows q;
    rows t;

    fill(&t);
    quantise(&t, &q);
    for (int b = 0; b < BLOCKS; b++) {
        add_block(&q, &t, fp8_units[_i], b, sum);
    }
    memcpy(want, sum, sizeof want);
    (void)snprintf(text, sizeof text,
                   "order=%s,scale_at=block,quant=quant.mx,"
                   "quant_element=e4m3fn,quant_rule=floor",
                   fp8_units[_i]);
    run_layer(&t, text, 0);
    expect_same(&t, (const uint32_t(*)[COLS])want, text);
}
END_TEST

/* A unit that multiplies scales itself; K is 64 here: whole steps. */
START_TEST(block_scaled_units_get_codes_and_bytes)
{
    static const uint32_t zero[1][1];
    static const int32_t ids[1] = {0};
    uint16_t x[64];
    uint8_t x_q[64];
    uint8_t w_q[64];
    uint8_t w[2][32] = {{0}};
    uint8_t scale[2][2] = {{0}};
    uint8_t x_scale[2];
    uint32_t want;
    rows t;
    emu_call c;

    fill(&t);
    memcpy(x, t.x[0], sizeof x);
    memcpy(w[0], t.w[0], sizeof w[0]);
    memcpy(scale[0], t.scale[0], sizeof scale[0]);
    emu_begin(&c, "quant.mx", "element=e4m3fn,rule=floor");
    emu_in(&c, "x", MXO_BF16, x, 2, 1, 64);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(x_q, emu_bytes(&c, "q"), sizeof x_q);
    memcpy(x_scale, emu_bytes(&c, "scale"), sizeof x_scale);
    emu_end(&c);
    for (int i = 0; i < 64; i++) {
        w_q[i] = as_e4m3[t.w[0][i / 2] >> (4 * (i % 2)) & 15];
    }
    emu_begin(&c, "mma.chain", "unit=blackwell_mx,type=e4m3fn,scale=e8m0");
    emu_in(&c, "a", MXO_E4M3, x_q, 2, 1, 64);
    emu_in(&c, "a_scale", MXO_E8M0, x_scale, 2, 1, 2);
    emu_in(&c, "b", MXO_E4M3, w_q, 2, 1, 64);
    emu_in(&c, "b_scale", MXO_E8M0, t.scale[0], 2, 1, 2);
    emu_in(&c, "c", MXO_F32, zero, 2, 1, 1);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(&want, emu_bytes(&c, "d"), sizeof want);
    emu_end(&c);
    emu_begin(&c, "moe.gemm1",
              "stage=gemm,order=blackwell_mx,quant=quant.mx,"
              "quant_element=e4m3fn,quant_rule=floor");
    emu_in(&c, "topk_ids", MXO_I32, ids, 2, 1, 1);
    emu_in(&c, "x", MXO_BF16, x, 2, 1, 64);
    emu_in(&c, "w13", MXO_U8, w, 3, 1, 2, 32);
    emu_in(&c, "w13_scale", MXO_E8M0, scale, 3, 1, 2, 2);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    ck_assert_mem_eq(emu_bytes(&c, "y"), &want, sizeof want);
    emu_end(&c);
}
END_TEST

typedef struct refusal {
    const char *params;
    mxo_status status;
    const char *word;
} refusal;

static const refusal refusals[] = {
    {"order=volta", MXO_E_PARAM, "no operands"},
    {"order=blackwell_mx", MXO_E_PARAM, "no operands"},
    {"order=blackwell_mx,scale_at=block", MXO_E_PARAM, "scale_at=block"},
    {"order=hopper_wgmma,promote=24", MXO_E_PARAM, "step 16"},
    {"order=hopper_wgmma,promote=-16", MXO_E_PARAM, "promote=-16"},
    {"order=seq,promote=16", MXO_E_PARAM, "matrix unit"},
    {"order=seq,splits=2", MXO_E_PARAM, "order=split"},
    {"order=split,splits=0", MXO_E_PARAM, "at least one"},
    {"order=block", MXO_E_PARAM, "scale_at=weight"},
    {"order=seq,scale_at=block", MXO_E_PARAM, "scale_at=block"},
    {"order=blackwell_fp4,quant=quant.mx,quant_element=e2m1,quant_rule=floor",
     MXO_E_SHAPE, "64 to divide"},
};

START_TEST(what_has_no_meaning_is_refused)
{
    static const int32_t ids[ROWS] = {0};
    const refusal *f = &refusals[_i];
    char text[160];
    rows t;
    emu_call c;

    fill(&t);
    (void)snprintf(text, sizeof text, "stage=gemm,%s", f->params);
    emu_begin(&c, "moe.gemm1", text);
    emu_in(&c, "topk_ids", MXO_I32, ids, 2, ROWS, 1);
    emu_in(&c, "x", MXO_BF16, t.x, 2, ROWS, K);
    emu_in(&c, "w13", MXO_U8, t.w, 3, 1, COLS, K / 2);
    emu_in(&c, "w13_scale", MXO_E8M0, t.scale, 3, 1, COLS, BLOCKS);
    emu_refuses(&c, f->status, f->word);
}
END_TEST

Suite *suite_layer_order(void);
Suite *suite_layer_order(void)
{
    Suite *s = suite_create("layer_order");
    TCase *sums = tcase_create("sums");

    tcase_add_loop_test(sums, orders_are_those_of_the_gemm, 0,
                        sizeof orders / sizeof orders[0]);
    tcase_add_loop_test(sums, units_are_those_of_the_chain, 0,
                        sizeof units / sizeof units[0]);
    tcase_add_test(sums, wide_activations_are_tf32);
    tcase_add_loop_test(sums, fp8_is_promoted_block_by_block, 0,
                        sizeof fp8_units / sizeof fp8_units[0]);
    tcase_add_test(sums, block_scaled_units_get_codes_and_bytes);
    tcase_add_loop_test(sums, what_has_no_meaning_is_refused, 0,
                        sizeof refusals / sizeof refusals[0]);
    suite_add_tcase(s, sums);
    return s;
}
