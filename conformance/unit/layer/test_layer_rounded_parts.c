/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of K that are rounded each by itself: the numbers of profiles-other
 * 13.5 and 13.8, one product to a part.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 32, PARTS = 3, COLS = 2 };

typedef struct example {
    const char *params;
    uint32_t part[PARTS]; /* binary32; zeros behind the last one */
    int parts;
    uint16_t bias; /* bfloat16 */
    uint32_t want;
} example;

#define STREAM                                                             \
    "order=streamk_bf16,gemm1_out=bf16,bias=bf16,bias1=rounded,bias_type=" \
    "bf16,"
#define HALVES "order=any,gemm1_out=split2_bf16,bias=bf16,bias_type=bf16,"

static const example examples[] = {
    {STREAM "splits=3", {0x3f800000, 0x3f800000, 0x43800000}, 3, 0, 0x4380},
    {STREAM "splits=1", {0x3f800000, 0x3f800000, 0x43800000}, 3, 0, 0x4381},
    {STREAM "splits=3", {0x43800000, 0x3f800000, 0x3f800000}, 3, 0, 0x4381},
    {STREAM "splits=3", {0xc3800000, 0x3f800000, 0x43800000}, 3, 0x3e80, 0},
    {STREAM "splits=1",
     {0xc3800000, 0x3f800000, 0x43800000},
     3,
     0x3e80,
     0x3fa0},
    {STREAM "splits=2", {0x3f800000, 0x43800000}, 2, 0x3f80, 0x4380},
    /* more parts than blocks */
    {STREAM "splits=9", {0x3f800000, 0x3f800000, 0x43800000}, 3, 0, 0x4380},
    /* blocks 0 and 1 are one part: 2 and 256 */
    {STREAM "splits=2", {0x3f800000, 0x3f800000, 0x43800000}, 3, 0, 0x4381},
    /* operands small by 2^-2 */
    {STREAM "splits=3,weight_rule=humming",
     {0xc3800000, 0x3f800000, 0x43800000},
     3,
     0x3e80,
     0},
    {HALVES "bias1=rounded", {0x3f808000, 0x3b800000}, 2, 0, 0x3f80},
    {HALVES "bias1=rounded", {0xbf804000, 0x3f800000}, 2, 0, 0},
    {HALVES "bias1=rounded", {0x43800000, 0x3f800000}, 2, 0, 0x4380},
    /* binary32 leaves: 1 and 2^-8 are not rounded, nor is 2^-133 flushed */
    {HALVES "bias1=unrounded", {0x3f808000, 0x3b800000}, 2, 0x3b80, 0x3f808000},
    {HALVES "bias1=unrounded", {0, 0}, 2, 0x0001, 0x00010000},
    {HALVES "bias1=behind", {0, 0}, 2, 0x0001, 0},
};

/* The first number of a row of weights that are 1 where a block begins. */
static void begin(emu_call *c, const example *e, const char *params)
{
    static const int32_t ids[1] = {0};
    static uint32_t x[PARTS * BLOCK];
    static uint8_t w[COLS][PARTS * BLOCK / 2];
    static uint8_t scale[COLS][PARTS];
    static uint16_t bias[COLS];
    const int k = e->parts * BLOCK;
    uint8_t *row = &w[0][0];

    memset(x, 0, sizeof x);
    memset(w, 0, sizeof w);
    memset(scale, 127, sizeof scale);
    for (int i = 0; i < e->parts; i++) {
        x[i * BLOCK] = e->part[i];
        row[i * BLOCK / 2] = 2; /* the code of 1 */
    }
    bias[0] = e->bias;
    emu_begin(c, "moe.gemm1", params);
    emu_in(c, "topk_ids", MXO_I32, ids, 2, 1, 1);
    emu_in(c, "x", MXO_F32, x, 2, 1, k);
    emu_in(c, "w13", MXO_U8, w, 3, 1, COLS, k / 2);
    emu_in(c, "w13_scale", MXO_E8M0, scale, 3, 1, COLS, e->parts);
    emu_in(c, "w13_bias", MXO_BF16, bias, 2, 1, COLS);
}

static void expect(const emu_call *c, const example *e, const char *name)
{
    const int is_wide = strstr(e->params, "bias1=rounded") == NULL;
    uint32_t y = 0;

    memcpy(&y, emu_bytes(c, name), is_wide ? 4 : 2);
    ck_assert_msg(y == e->want, "%s: %s: got %08x want %08x", e->params, name,
                  (unsigned)y, (unsigned)e->want);
}

/* No order can round one product: the bounds are points. */
START_TEST(parts_are_rounded_each)
{
    static const char *const names[2][2] = {{"y", "y"}, {"y_lo", "y_hi"}};
    const example *e = &examples[_i];
    char text[192];
    emu_call c;

    for (int bounds = 0; bounds < 2; bounds++) {
        (void)snprintf(text, sizeof text, "stage=gemm,from=f32,bounds=%d,%s",
                       bounds, e->params);
        begin(&c, e, text);
        const mxo_status status = emu_run(&c);

        ck_assert_msg(status == MXO_OK, "%s: %s", text, c.why);
        expect(&c, e, names[bounds][0]);
        expect(&c, e, names[bounds][1]);
        emu_end(&c);
    }
}
END_TEST

static const char *const refusals[][2] = {
    {"order=streamk_bf16,gemm1_out=f32,bias1=rounded", "streamk_bf16"},
    {"order=streamk_bf16,gemm1_out=f16,bias1=rounded", "streamk_bf16"},
    {"order=streamk_bf16,gemm1_out=bf16,bias1=behind", "streamk_bf16"},
    {"order=streamk_bf16,gemm1_out=bf16,bias1=unrounded", "streamk_bf16"},
    {"order=streamk_bf16,gemm1_out=bf16,bias1=order", "bias1=order"},
    {"order=streamk_bf16,gemm1_out=bf16,splits=0", "at least one"},
    {"order=streamk_bf16,gemm1_out=bf16,scale_at=block", "scale_at=block"},
    {"order=any,gemm1_out=split2_bf16,bias1=acc", "split2_bf16"},
    {"order=any,gemm1_out=split2_bf16,bias1=acc_ftz", "split2_bf16"},
    {"order=seq,gemm1_out=split2_bf16,bias1=rounded", "order=any"},
    {"order=exact,gemm1_out=split2_bf16,bias1=rounded", "order=any"},
};

START_TEST(what_parts_cannot_have_is_refused)
{
    char text[192];
    emu_call c;

    (void)snprintf(text, sizeof text, "stage=gemm,from=f32,bias=bf16,%s",
                   refusals[_i][0]);
    begin(&c, &examples[0], text);
    emu_refuses(&c, MXO_E_PARAM, refusals[_i][1]);
}
END_TEST

Suite *suite_layer_rounded_parts(void);
Suite *suite_layer_rounded_parts(void)
{
    Suite *s = suite_create("layer_rounded_parts");
    TCase *parts = tcase_create("parts");

    tcase_add_loop_test(parts, parts_are_rounded_each, 0,
                        sizeof examples / sizeof examples[0]);
    tcase_add_loop_test(parts, what_parts_cannot_have_is_refused, 0,
                        sizeof refusals / sizeof refusals[0]);
    suite_add_tcase(s, parts);
    return s;
}
