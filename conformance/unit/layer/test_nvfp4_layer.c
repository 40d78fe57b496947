/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVFP4 layers: the worked layer of profiles-nvidia 4.5, whose numbers were
 * made apart from this code, a CUTLASS layer by hand, and what must be refused.
 */
#include "case/grid.h"
#include "data/fill.h"
#include "unit/emu_call.h"
#include "unit/part.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <string.h>

enum { N = 16, EXPERTS = 2, ONE_IN = 23 };

typedef struct fp4_layer {
    uint16_t x[N];
    uint8_t w13[EXPERTS][2 * N][N / 2];
    uint8_t s13[EXPERTS][2 * N];
    uint8_t w2[EXPERTS][N][N / 2];
    uint8_t s2[EXPERTS][N];
    int32_t ids[1];
    uint32_t weights[1];
    uint32_t a1, g1[EXPERTS], c[EXPERTS], g2[EXPERTS];
    uint32_t act[N];
} fp4_layer;

/* Code at column k = r of row r, r < N. */
static void diagonal(uint8_t w[][N / 2], unsigned code)
{
    for (int r = 0; r < N; r++) {
        w[r][r / 2] = (uint8_t)(code << (4 * (r % 2)));
    }
}

/* Profiles-nvidia 4.5; expert 0 has NaN everywhere. */
static void worked(fp4_layer *l)
{
    static const uint16_t x[N] = {
        0x40a0, 0xc040, 0x3fa0, 0x3f00, 0xc0f0, 0x4000, 0x0000, 0x3f40,
        0xbf80, 0x4080, 0x40c0, 0xbe80, 0x4060, 0xc010, 0x3f80, 0x3e00};

    memset(l, 0, sizeof *l);
    memcpy(l->x, x, sizeof x);
    memset(l->s13[0], 0x7f, sizeof l->s13[0]);
    memset(l->s2[0], 0x7f, sizeof l->s2[0]);
    diagonal(l->w13[1], 4);
    diagonal(l->w13[1] + N, 3);
    diagonal(l->w2[1], 4);
    memset(l->s13[1], 0x7e, N);
    memset(l->s13[1] + N, 0x7a, N);
    memset(l->s2[1], 0x70, N);
    l->ids[0] = 1;
    l->weights[0] = 0x3f330000;
    l->a1 = 0x43a6aaab;
    for (int e = 0; e < EXPERTS; e++) {
        l->g1[e] = e == 1 ? 0x360cedb9 : 0x3f800000;
        l->c[e] = e == 1 ? 0x38dc3371 : 0x3f800000;
        l->g2[e] = e == 1 ? 0x37b88ca4 : 0x3f800000;
    }
}

static void first_inputs(emu_call *c, const fp4_layer *l)
{
    emu_in(c, "topk_ids", MXO_I32, l->ids, 2, 1, 1);
    emu_in(c, "x", MXO_BF16, l->x, 2, 1, N);
    emu_in(c, "w13", MXO_U8, l->w13, 3, EXPERTS, 2 * N, N / 2);
    emu_in(c, "w13_scale", MXO_E4M3, l->s13, 3, EXPERTS, 2 * N, 1);
    emu_in(c, "a1_gscale", MXO_F32, &l->a1, 1, 1);
    emu_in(c, "g1_alphas", MXO_F32, l->g1, 1, EXPERTS);
}

static void second_inputs(emu_call *c, const fp4_layer *l)
{
    emu_in(c, "topk_weights", MXO_F32, l->weights, 2, 1, 1);
    emu_in(c, "w2", MXO_U8, l->w2, 3, EXPERTS, N, N / 2);
    emu_in(c, "w2_scale", MXO_E4M3, l->s2, 3, EXPERTS, N, 1);
    emu_in(c, "g1_scale_c", MXO_F32, l->c, 1, EXPERTS);
    emu_in(c, "g2_alphas", MXO_F32, l->g2, 1, EXPERTS);
}

static void begin(emu_call *c, const fp4_layer *l, const char *params)
{
    emu_begin(c, "moe.nvfp4_layer", params);
    first_inputs(c, l);
    second_inputs(c, l);
}

static void expect_words(emu_call *c, const uint32_t *want, int n)
{
    const mxo_status status = emu_run(c);
    const uint8_t *y = status == MXO_OK ? emu_bytes(c, "y") : NULL;

    ck_assert_msg(status == MXO_OK, "%s", c->why);
    for (int i = 0; i < n; i++) {
        uint32_t got;
        memcpy(&got, y + 4 * i, sizeof got);
        ck_assert_msg(got == want[i], "y[%d]: got %08x want %08x", i, got,
                      want[i]);
    }
    emu_end(c);
}

static void expect_halves(emu_call *c, const uint16_t *want)
{
    const mxo_status status = emu_run(c);
    const uint8_t *y = status == MXO_OK ? emu_bytes(c, "y") : NULL;

    ck_assert_msg(status == MXO_OK, "%s", c->why);
    for (int i = 0; i < N; i++) {
        uint16_t got;
        memcpy(&got, y + 2 * i, sizeof got);
        ck_assert_msg(got == want[i], "y[%d]: got %04x want %04x", i, got,
                      want[i]);
    }
    emu_end(c);
}

static const uint32_t worked_acc[2 * N] = {
    0x49b60000, 0xc9360000, 0x48b60000, 0x48360000, 0xca088000, 0x49088000,
    0x00000000, 0x48360000, 0xc8b60000, 0x49888000, 0x49b60000, 0x00000000,
    0x49888000, 0xc9360000, 0x48b60000, 0x00000000, 0x49430000, 0xc8c30000,
    0x48430000, 0x47c30000, 0xc9924000, 0x48924000, 0x00000000, 0x47c30000,
    0xc8430000, 0x49124000, 0x49430000, 0x00000000, 0x49124000, 0xc8c30000,
    0x48430000, 0x00000000};
static const uint32_t worked_act[N] = {
    0x4a123f7f, 0x47d31399, 0x47d17fa7, 0x46b620e8, 0x4746cd23, 0x48832bc6,
    0x00000000, 0x46b620e8, 0x473f8b54, 0x499cbd81, 0x4a123f7f, 0x00000000,
    0x499cbd81, 0x47d31399, 0x47d17fa7, 0x00000000};
static const uint16_t worked_row[N] = {
    0x3fad, 0x3de7, 0x3de7, 0x0000, 0x0000, 0x3de7, 0x0000, 0x0000,
    0x0000, 0x3f2d, 0x3fad, 0x0000, 0x3f2d, 0x3de7, 0x3de7, 0x0000};
static const uint16_t worked_out[N] = {
    0x3f72, 0x3da2, 0x3da2, 0x0000, 0x0000, 0x3da2, 0x0000, 0x0000,
    0x0000, 0x3ef2, 0x3f72, 0x0000, 0x3ef2, 0x3da2, 0x3da2, 0x0000};

START_TEST(the_worked_layer_has_its_sums)
{
    fp4_layer l;
    emu_call c;

    worked(&l);
    emu_begin(&c, "moe.nvfp4_gemm1", "stage=gemm");
    first_inputs(&c, &l);
    expect_words(&c, worked_acc, 2 * N);
}
END_TEST

START_TEST(the_worked_layer_has_its_activations)
{
    fp4_layer l;
    emu_call c;

    worked(&l);
    emu_begin(&c, "moe.nvfp4_gemm1", "stage=act");
    first_inputs(&c, &l);
    expect_words(&c, worked_act, N);
}
END_TEST

START_TEST(the_worked_layer_has_its_rows)
{
    fp4_layer l;
    emu_call c;

    worked(&l);
    memcpy(l.act, worked_act, sizeof l.act);
    emu_begin(&c, "moe.nvfp4_gemm2", "stage=row");
    emu_in(&c, "act", MXO_F32, l.act, 3, 1, 1, N);
    emu_in(&c, "topk_ids", MXO_I32, l.ids, 2, 1, 1);
    second_inputs(&c, &l);
    expect_halves(&c, worked_row);
}
END_TEST

START_TEST(the_worked_layer_has_its_output)
{
    fp4_layer l;
    emu_call c;

    worked(&l);
    begin(&c, &l, "profile=FLASHINFER_TRTLLM_NVFP4");
    expect_halves(&c, worked_out);
}
END_TEST

/* Up rows first, or in turn with gate rows: the same layer. */
START_TEST(rows_may_come_in_other_orders)
{
    fp4_layer l;
    fp4_layer other;
    emu_call c;

    worked(&l);
    other = l;
    for (int r = 0; r < 2 * N; r++) {
        const int from = _i == 0 ? (r + N) % (2 * N) : r / 2 + r % 2 * N;
        memcpy(other.w13[1][r], l.w13[1][from], N / 2);
        other.s13[1][r] = l.s13[1][from];
    }
    begin(&c, &other, _i == 0 ? "rows=up_first" : "rows=interleaved");
    expect_halves(&c, worked_out);
}
END_TEST

START_TEST(nobody_reads_the_sign_of_a_scale)
{
    fp4_layer l;
    emu_call c;

    worked(&l);
    for (int r = 0; r < N; r++) {
        l.s13[1][2 * r] |= 0x80;
        l.s2[1][r] |= 0x80;
    }
    begin(&c, &l, "");
    expect_halves(&c, worked_out);
}
END_TEST

/*
 * By hand: x = 6, 3 under the scale 1.0; gate = 6 * 1.0, up = 3 * 0.5, halved
 * by g1_alphas: 3 and 0.75.  silu(3) * 0.75 = 2.14329 -> 2.140625 (bf16).  Its
 * block has the scale 0.34375 (2b), and it the code 6: 2.0625, times w2 = 1
 * and g2_alphas = 2: 4.125.
 */
START_TEST(a_cutlass_layer_by_hand)
{
    static const uint16_t want[N] = {0x4084};
    fp4_layer l;
    emu_call c;

    memset(&l, 0, sizeof l);
    memset(l.s13, 0x38, sizeof l.s13);
    memset(l.s2, 0x38, sizeof l.s2);
    l.x[0] = 0x40c0;
    l.x[1] = 0x4040;
    l.w13[1][0][0] = 0x02;
    l.w13[1][N][0] = 0x10;
    l.w2[1][0][0] = 0x02;
    l.ids[0] = 1;
    l.weights[0] = 0x3f800000;
    l.a1 = 0x3f800000;
    l.g1[0] = l.c[0] = l.g2[0] = 0x42c80000;
    l.g1[1] = 0x3f000000;
    l.c[1] = 0x3f800000;
    l.g2[1] = 0x40000000;
    begin(&c, &l, "profile=FLASHINFER_CUTLASS_NVFP4");
    expect_halves(&c, want);
}
END_TEST

/* 36 * 448 * 448 beside 36 * 2^-18: more than 24 bits apart. */
START_TEST(an_order_that_shows_is_not_answered_unless_declared)
{
    static const char *const params[] = {"stage=gemm,order=exact",
                                         "stage=gemm,order=seq", "stage=gemm"};
    uint8_t scale[1][2][2] = {{{0x7e, 0x01}, {0x38, 0x38}}};
    uint8_t w[1][2][N] = {{{0}}};
    const int32_t ids[1] = {0};
    const uint32_t one = 0x3f800000;
    uint16_t x[2 * N] = {0x4528}; /* 2688 = 6 * 448 */
    emu_call c;

    x[N] = 0x3c40; /* 6 * 2^-9 */
    w[0][0][0] = w[0][0][N / 2] = 0x07;
    for (int i = 0; i < 3; i++) {
        emu_begin(&c, "moe.nvfp4_gemm1", params[i]);
        emu_in(&c, "topk_ids", MXO_I32, ids, 2, 1, 1);
        emu_in(&c, "x", MXO_BF16, x, 2, 1, 2 * N);
        emu_in(&c, "w13", MXO_U8, w, 3, 1, 2, N);
        emu_in(&c, "w13_scale", MXO_E4M3, scale, 3, 1, 2, 2);
        emu_in(&c, "a1_gscale", MXO_F32, &one, 1, 1);
        emu_in(&c, "g1_alphas", MXO_F32, &one, 1, 1);
        if (i == 2) {
            emu_refuses(&c, MXO_E_UNSUPPORTED, "order=any");
        } else { /* 36 * 448^2 = 7225344 */
            const uint32_t want[1] = {0x4adc8000};
            expect_words(&c, want, 1);
        }
    }
}
END_TEST

START_TEST(what_is_no_layer_is_refused)
{
    fp4_layer l;
    emu_call c;

    worked(&l);
    l.g1[0] = 0;
    begin(&c, &l, "");
    emu_refuses(&c, MXO_E_PARAM, "g1_alphas[0]");
    worked(&l);
    l.g2[1] = 0x7fc00000;
    begin(&c, &l, "");
    emu_refuses(&c, MXO_E_PARAM, "g2_alphas[1]");
    worked(&l);
    l.a1 = 0xbf800000;
    begin(&c, &l, "");
    emu_refuses(&c, MXO_E_PARAM, "a1_gscale[0]");
    worked(&l);
    l.ids[0] = EXPERTS;
    begin(&c, &l, "");
    emu_refuses(&c, MXO_E_PARAM, "topk_ids[0]");
    worked(&l);
    begin(&c, &l, "glu=exact");
    emu_refuses(&c, MXO_E_PARAM, "global_at=glu");
    begin(&c, &l, "gemm1_out=bf16");
    emu_refuses(&c, MXO_E_PARAM, "global_at=glu");
    begin(&c, &l, "profile=MARLIN");
    emu_refuses(&c, MXO_E_PARAM, "MARLIN");
}
END_TEST

START_TEST(scales_of_32_do_not_fit)
{
    uint8_t scale[EXPERTS][2 * N] = {{0}};
    uint8_t w[EXPERTS][2 * N][N] = {{{0}}};
    uint16_t x[2 * N] = {0};
    fp4_layer l;
    emu_call c;

    worked(&l);
    emu_begin(&c, "moe.nvfp4_gemm1", "");
    emu_in(&c, "topk_ids", MXO_I32, l.ids, 2, 1, 1);
    emu_in(&c, "x", MXO_BF16, x, 2, 1, 2 * N);
    emu_in(&c, "w13", MXO_U8, w, 3, EXPERTS, 2 * N, N);
    emu_in(&c, "w13_scale", MXO_E4M3, scale, 3, EXPERTS, 2 * N, 1);
    emu_in(&c, "a1_gscale", MXO_F32, &l.a1, 1, 1);
    emu_in(&c, "g1_alphas", MXO_F32, l.g1, 1, EXPERTS);
    emu_refuses(&c, MXO_E_SHAPE, "w13_scale");
}
END_TEST

static int is_open(const test_case *c)
{
    const char *order = case_value(c, "order");

    return strcmp(order, "profile") == 0 || strcmp(order, "any") == 0;
}

/* Ids, maps and scales of the others are there to be refused. */
static int leads_somewhere(const test_case *c)
{
    return strcmp(c->data, "stray") != 0 && strcmp(c->data, "lost") != 0 &&
           strcmp(c->data, "unfit") != 0;
}

static void fill_call(mxo_call *call, mxo_param *params, mxo_tensor *in,
                      const test_case *c, const tensor_set *data)
{
    case_params(c, params);
    for (uint32_t i = 0; i < data->n; i++) {
        const host_tensor *t = &data->t[i];
        in[i] = (mxo_tensor){.name = t->name,
                             .dtype = t->dtype,
                             .rank = t->rank,
                             .n_bytes = t->n_bytes,
                             .buffer = t->data};
        memcpy(in[i].shape, t->shape, sizeof t->shape);
    }
    *call = (mxo_call){.struct_size = sizeof *call,
                       .n_params = (uint32_t)c->schema->n_params,
                       .n_in = data->n,
                       .n_out = 1,
                       .op = c->schema->info->name,
                       .params = params,
                       .in = in};
}

/* Cases whose order is left open are answered: their data are exact. Those that
   are refused as they are, whatever their data, are none. */
static int answered(const test_case *c, uint64_t seed, const char *text)
{
    static uint8_t y[1 << 20];
    static mxo_param params[OP_MAX_PARAMS];
    static mxo_tensor in[OP_MAX_INPUTS];
    mxo_tensor out[16];
    uint32_t n_out = 16;
    tensor_set data = {0};
    mxo_call call;
    char said[256] = "";
    const mxo_text why = {said, sizeof said};

    ck_assert_msg(fill_inputs(c, seed, &data, why) == 0, "%s: %s", text, said);
    fill_call(&call, params, in, c, &data);
    const int is_taken =
        mxo_emulator()->infer(NULL, &call, out, &n_out, why) == MXO_OK;

    if (is_taken) {
        ck_assert_uint_le(out[0].n_bytes, sizeof y);
        out[0].buffer = y;
        call.out = out;
        ck_assert_msg(mxo_emulator()->run(NULL, &call, why) == MXO_OK, "%s: %s",
                      text, said);
    }
    tensor_set_clear(&data);
    return is_taken;
}

START_TEST(data_of_open_orders_are_exact_in_any)
{
    static char pattern[] = "moe.nvfp4_[lg]*";
    char *const patterns[] = {pattern};
    case_list cases = {0};
    char said[256] = "";
    test_case c;
    int n = 0;

    ck_assert_msg(grid_append(&cases, 2, patterns, 1, 7 + (uint64_t)_i,
                              (mxo_text){said, sizeof said}) == 0,
                  "%s", said);
    for (size_t i = 0; i < cases.n; i += unit_step(ONE_IN)) {
        ck_assert_int_eq(
            case_parse(&c, cases.item[i].text, (mxo_text){said, sizeof said}),
            0);
        n += is_open(&c) && leads_somewhere(&c) &&
             answered(&c, cases.item[i].seed, cases.item[i].text);
    }
    ck_assert_int_gt(n, 10 / (int)unit_part());
    case_list_clear(&cases);
}
END_TEST

Suite *suite_nvfp4_layer(void);
Suite *suite_nvfp4_layer(void)
{
    Suite *s = suite_create("nvfp4_layer");
    TCase *t = tcase_create("values");
    TCase *r = tcase_create("refusals");
    TCase *d = tcase_create("data");

    tcase_add_test(t, the_worked_layer_has_its_sums);
    tcase_add_test(t, the_worked_layer_has_its_activations);
    tcase_add_test(t, the_worked_layer_has_its_rows);
    tcase_add_test(t, the_worked_layer_has_its_output);
    tcase_add_loop_test(t, rows_may_come_in_other_orders, 0, 2);
    tcase_add_test(t, nobody_reads_the_sign_of_a_scale);
    tcase_add_test(t, a_cutlass_layer_by_hand);
    tcase_add_test(r, an_order_that_shows_is_not_answered_unless_declared);
    tcase_add_test(r, what_is_no_layer_is_refused);
    tcase_add_test(r, scales_of_32_do_not_fit);
    tcase_add_loop_test(d, data_of_open_orders_are_exact_in_any, 0, 2);
    tcase_set_timeout(d, 600);
    suite_add_tcase(s, t);
    suite_add_tcase(s, r);
    suite_add_tcase(s, d);
    return s;
}
