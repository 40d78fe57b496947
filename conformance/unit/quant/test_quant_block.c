/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks: maximum, multiplier, code.  Expected codes are written as decimal
 * thresholds of E2M1 (0.25 0.75 1.25 1.75 2.5 3.5 5) or taken from the worked
 * tables of the sources.
 */
#include <mxoracle/quant.h>

#include <check.h>

#define NEG 0x80000000u
#define QNAN 0x7fc00000u
#define INF 0x7f800000u

static const mxo_quant_rule *rule(const char *name)
{
    const mxo_quant_rule *row = mxo_quant_rule_by_name(name);

    ck_assert_msg(row != NULL, "no rule %s", name);
    return row;
}

static void expect_code(const char *name, mxo_format element, int tie, int byte,
                        uint32_t x, int want)
{
    const mxo_quant_block b =
        mxo_quant_block_byte(rule(name), element, tie, 0, (uint8_t)byte);
    const int got = mxo_quant_code(&b, x);

    ck_assert_msg(got == want, "%s byte %d x %08x: got %02x want %02x", name,
                  byte, (unsigned)x, (unsigned)got, (unsigned)want);
}

/* The eight thresholds as binary32, in block units. */
static const uint32_t ties[] = {
    0x3e800000, 0x3f400000, 0x3fa00000, 0x3fe00000, /* .25 .75 1.25 1.75 */
    0x40200000, 0x40600000, 0x40a00000              /* 2.5 3.5 5 */
};

typedef struct tie_row {
    int tie;
    const char *rule; /* a row with this tie as its own */
    int codes[7];     /* at the ties */
} tie_row;

static const tie_row tie_rows[] = {
    {MXO_TIE_RNE, "floor", {0, 2, 2, 4, 4, 6, 6}},
    {MXO_TIE_RNA, "triton35_up", {1, 2, 3, 4, 5, 6, 7}},
    {MXO_TIE_RNZ, "ggml", {0, 1, 2, 3, 4, 5, 6}},
    {MXO_TIE_RZ, NULL, {0, 1, 2, 3, 4, 5, 6}},
};

START_TEST(ties_follow_the_named_rule_or_the_rows_own)
{
    const tie_row *row = &tie_rows[_i];

    for (int i = 0; i < 7; i++) {
        expect_code("floor", MXO_FMT_E2M1, row->tie, 127, ties[i],
                    row->codes[i]);
        expect_code("floor", MXO_FMT_E2M1, row->tie, 127, ties[i] | NEG,
                    row->codes[i] | 8);
        if (row->rule != NULL) {
            expect_code(row->rule, MXO_FMT_E2M1, -1, 127, ties[i],
                        row->codes[i]);
        }
    }
}
END_TEST

START_TEST(next_to_a_tie_the_nearer_code_wins)
{
    for (int i = 0; i < 7; i++) {
        for (int tie = MXO_TIE_RNE; tie <= MXO_TIE_RNZ; tie++) {
            const int rz = tie == MXO_TIE_RZ;

            expect_code("floor", MXO_FMT_E2M1, tie, 127, ties[i] - 1, i);
            expect_code("floor", MXO_FMT_E2M1, tie, 127, ties[i] + 1,
                        rz ? i : i + 1);
        }
    }
}
END_TEST

START_TEST(the_byte_shifts_every_threshold)
{
    for (int byte = 10; byte < 245; byte++) {
        const uint32_t x = ties[4] + ((uint32_t)(byte - 127) << 23);

        expect_code("floor", MXO_FMT_E2M1, -1, byte, x, 4);
        expect_code("floor", MXO_FMT_E2M1, -1, byte, x + 1, 5);
    }
}
END_TEST

/* Byte 0 is 2^-127, so 2^-128 is a half; byte 254 is 2^127. */
START_TEST(the_end_bytes_are_exact_powers_by_ocp)
{
    expect_code("floor", MXO_FMT_E2M1, -1, 0, 0x00400000, 2);
    expect_code("floor", MXO_FMT_E2M1, -1, 0, 0x00200000, 1);
    expect_code("floor", MXO_FMT_E2M1, -1, 254, 0x7f000000, 2);
    expect_code("aiter_hip_even", MXO_FMT_E2M1, -1, 0, 0x00400000, 2);
}
END_TEST

START_TEST(some_rows_multiply_by_zero_at_the_end_bytes)
{
    expect_code("flashinfer", MXO_FMT_E2M1, -1, 0, 0x00400000, 0);
    expect_code("flashinfer", MXO_FMT_E2M1, -1, 0, 0x80400000, 8);
    expect_code("flashinfer", MXO_FMT_E2M1, -1, 254, 0x7f7f0000, 0);
    expect_code("triton36_up", MXO_FMT_E2M1, -1, 0, 0x00400000, 0);
    expect_code("triton36_up", MXO_FMT_E2M1, -1, 254, 0x7f000000, 2);
    expect_code("vllm_cuda", MXO_FMT_E2M1, -1, 254, 0x7f000000, 0);
    expect_code("aiter_hip_ceil", MXO_FMT_E2M1, -1, 0, 0x80400000, 0);
    expect_code("aiter_hip_ceil", MXO_FMT_E2M1, -1, 255, INF, 0);
    expect_code("triton35_up", MXO_FMT_E2M1, -1, 255, INF, 0xf);
    expect_code("triton35_up", MXO_FMT_E2M1, -1, 255, 0xff000000, 8);
}
END_TEST

/* A flushed input: 2^-127 times 2^126 is a half, or nothing. */
START_TEST(flashinfer_flushes_subnormal_elements)
{
    expect_code("flashinfer", MXO_FMT_E4M3FN, -1, 1, 0x00400000, 0x00);
    expect_code("floor", MXO_FMT_E4M3FN, -1, 1, 0x00400000, 0x30);
}
END_TEST

typedef struct nan_row {
    const char *rule;
    mxo_format element;
    int quiet, negative, infinity; /* under byte 127 */
} nan_row;

static const nan_row nan_rows[] = {
    {"floor", MXO_FMT_E2M1, 0x7, 0x7, 0x7},
    {"floor", MXO_FMT_E4M3FN, 0x7f, 0xff, 0x7e},
    {"floor", MXO_FMT_E5M2, 0x7e, 0xfe, 0x7b},
    {"floor", MXO_FMT_E4M3FNUZ, 0x80, 0x80, 0x7f},
    {"flashinfer", MXO_FMT_E4M3FN, 0x7e, 0x7e, 0x7e},
    {"flashinfer", MXO_FMT_E2M1, 0x7, 0x7, 0x7},
    {"triton36_up", MXO_FMT_E2M1, 0x7, 0xf, 0x7},
    {"triton36_up", MXO_FMT_E4M3FN, 0x7f, 0xff, 0x7e},
    {"aiter_torch_even", MXO_FMT_E2M1, 0x3, 0xb, 0x7},
    {"aiter_torch_roundup", MXO_FMT_E4M3FN, 0x7f, 0xff, 0x7f},
    {"aiter_hip_even", MXO_FMT_E2M1, 0x0, 0x0, 0x7},
    {"vllm_torch", MXO_FMT_E4M3FN, 0x7f, 0xff, 0x7f},
    {"vllm_torch_ceil", MXO_FMT_E4M3FN, 0x7f, 0xff, 0x7e},
    {"vllm_group", MXO_FMT_E4M3FN, 0xfe, 0xfe, 0x7e},
    {"deepgemm", MXO_FMT_E2M1, 0x0, 0x0, 0x7},
    {"deepgemm", MXO_FMT_E4M3FN, 0x7f, 0xff, 0x7f},
    {"ggml", MXO_FMT_E2M1, 0x0, 0x0, 0x7},
};

START_TEST(nan_and_infinite_elements_have_documented_codes)
{
    const nan_row *r = &nan_rows[_i];

    expect_code(r->rule, r->element, -1, 127, QNAN, r->quiet);
    expect_code(r->rule, r->element, -1, 127, QNAN | NEG, r->negative);
    expect_code(r->rule, r->element, -1, 127, INF, r->infinity);
}
END_TEST

/* AITER fp4_utils.py: the torch bit code of four NaN patterns. */
START_TEST(torch_bits_show_the_payload)
{
    expect_code("aiter_torch_even", MXO_FMT_E2M1, -1, 127, 0x7fc00000, 0x3);
    expect_code("aiter_torch_even", MXO_FMT_E2M1, -1, 127, 0xffc00000, 0xb);
    expect_code("aiter_torch_even", MXO_FMT_E2M1, -1, 127, 0xffff0000, 0xc);
    expect_code("aiter_torch_even", MXO_FMT_E2M1, -1, 255, 0xbf800000, 0x3);
    /* the division quiets a signalling NaN before its bits are cut */
    expect_code("aiter_torch_even", MXO_FMT_E2M1, -1, 127, 0x7f810000, 0x3);
}
END_TEST

START_TEST(zero_signs_differ)
{
    const uint32_t tiny = 0x80000001;

    expect_code("floor", MXO_FMT_E2M1, -1, 127, NEG, 8);
    expect_code("floor", MXO_FMT_E2M1, -1, 127, tiny, 8);
    expect_code("aiter_hip_even", MXO_FMT_E2M1, -1, 127, NEG, 0);
    expect_code("aiter_hip_even", MXO_FMT_E2M1, -1, 127, tiny, 8);
    expect_code("aiter_hip_even", MXO_FMT_E2M1, -1, 254, tiny, 0);
    expect_code("deepgemm", MXO_FMT_E2M1, -1, 127, tiny, 0);
    expect_code("ggml", MXO_FMT_E2M1, -1, 127, NEG, 0);
    expect_code("floor", MXO_FMT_E4M3FNUZ, -1, 127, NEG, 0);
}
END_TEST

/* torch casts: 464 is a tie and stays 448, above it comes NaN. */
START_TEST(casts_that_do_not_saturate_give_nan)
{
    expect_code("vllm_torch", MXO_FMT_E4M3FN, -1, 127, 0x43e80000, 0x7e);
    expect_code("vllm_torch", MXO_FMT_E4M3FN, -1, 127, 0x43e80001, 0x7f);
    expect_code("floor", MXO_FMT_E4M3FN, -1, 127, 0x43e80001, 0x7e);
    expect_code("aiter_torch_roundup", MXO_FMT_E4M3FNUZ, -1, 127, 0x43780000,
                0x80); /* 248 */
}
END_TEST

START_TEST(vllm_bounds_fnuz_by_224)
{
    expect_code("vllm_group", MXO_FMT_E4M3FNUZ, -1, 127, 0x43700000, 0x7e);
    expect_code("vllm_group", MXO_FMT_E4M3FNUZ, -1, 127, 0xc3700000, 0xfe);
    expect_code("floor", MXO_FMT_E4M3FNUZ, -1, 127, 0x43700000, 0x7f);
}
END_TEST

static uint32_t amax_of(const char *name, const uint32_t *x, size_t n)
{
    const mxo_quant_rule *row = rule(name);

    return mxo_quant_amax(row, mxo_quant_amax_start(row), x, n);
}

START_TEST(the_maximum_treats_nan_by_policy)
{
    const uint32_t some[] = {0x3f800000, QNAN | NEG, 0xc0400000};
    const uint32_t all[] = {QNAN, QNAN | NEG};

    ck_assert_uint_gt(amax_of("floor", some, 3), INF);
    ck_assert_uint_eq(amax_of("flashinfer", some, 3), 0x40400000);
    ck_assert_uint_eq(amax_of("aiter_hip_even", some, 3), 0x40400000);
    ck_assert_uint_gt(amax_of("flashinfer", all, 2), INF);
    ck_assert_uint_eq(amax_of("aiter_hip_even", all, 2), 0);
    ck_assert_uint_eq(amax_of("floor", some, 0), 0);
}
END_TEST

START_TEST(the_maximum_can_be_taken_in_pieces)
{
    const mxo_quant_rule *row = rule("flashinfer");
    const uint32_t x[] = {QNAN, 0x3f800000, 0xc0400000, QNAN, 0x00000001};
    uint32_t amax = mxo_quant_amax_start(row);

    for (int i = 0; i < 5; i++) {
        amax = mxo_quant_amax(row, amax, &x[i], 1);
    }
    ck_assert_uint_eq(amax, amax_of("flashinfer", x, 5));
    ck_assert_uint_eq(amax, 0x40400000);
}
END_TEST

START_TEST(widening_keeps_values_and_nan_payloads)
{
    ck_assert_uint_eq(mxo_quant_widen(MXO_FMT_BF16, 0x3f80), 0x3f800000);
    ck_assert_uint_eq(mxo_quant_widen(MXO_FMT_BF16, 0xff81), 0xff810000);
    ck_assert_uint_eq(mxo_quant_widen(MXO_FMT_F16, 0x0001), 0x33800000);
    ck_assert_uint_eq(mxo_quant_widen(MXO_FMT_F16, 0xfbff), 0xc77fe000);
    ck_assert_uint_eq(mxo_quant_widen(MXO_FMT_F16, 0xfc01), 0xff802000);
    ck_assert_uint_eq(mxo_quant_widen(MXO_FMT_E4M3FN, 0x7e), 0x43e00000);
}
END_TEST

/* Worked FlashInfer MXFP8 blocks: max 1.0; 3, -1, 0.001; 450. */
START_TEST(flashinfer_mxfp8_examples_hold)
{
    const uint32_t one[] = {0x3f800000};
    const uint32_t three[] = {0x40400000, 0xbf800000, 0x3a83126f};
    const uint32_t big[] = {0x43e10000};
    const mxo_quant_rule *row = rule("flashinfer");
    uint8_t q[3];

    ck_assert_int_eq(mxo_quant_mx(row, MXO_FMT_E4M3FN, -1, q, one, 1), 0x77);
    ck_assert_int_eq(q[0], 0x78);
    ck_assert_int_eq(mxo_quant_mx(row, MXO_FMT_E4M3FN, -1, q, three, 3), 0x78);
    ck_assert_int_eq(q[0], 0x7c);
    ck_assert_int_eq(q[1], 0xf0);
    ck_assert_int_eq(q[2], 0x20);
    ck_assert_int_eq(mxo_quant_mx(row, MXO_FMT_E4M3FN, -1, q, big, 1), 0x80);
    ck_assert_int_eq(q[0], 0x76);
}
END_TEST

/* A block with an infinity, FlashInfer and AITER (docs/ops/quant.mx.md). */
START_TEST(one_infinity_in_a_block)
{
    const uint32_t x[] = {INF, INF | NEG, 0x3f800000, QNAN};
    uint8_t q[4];

    ck_assert_int_eq(
        mxo_quant_mx(rule("flashinfer"), MXO_FMT_E4M3FN, -1, q, x, 4), 0xfe);
    ck_assert_int_eq(q[0], 0x7e);
    ck_assert_int_eq(q[1], 0x7e);
    ck_assert_int_eq(q[2], 0x00);
    ck_assert_int_eq(q[3], 0x7e);
    ck_assert_int_eq(
        mxo_quant_mx(rule("aiter_torch_even"), MXO_FMT_E2M1, -1, q, x, 4), 255);
    ck_assert_int_eq(q[0], 3);
    ck_assert_int_eq(q[1], 3);
    ck_assert_int_eq(q[2], 3);
}
END_TEST

START_TEST(float_scales_divide_or_multiply_by_the_reciprocal)
{
    uint32_t s;
    mxo_quant_block b = mxo_quant_block_float(rule("vllm_group"),
                                              MXO_FMT_E4M3FN, 0x40400000, &s);

    ck_assert_uint_eq(s, 0x3bdb6db7); /* RN32(3 / 448) */
    ck_assert_int_eq(b.step, MXO_STEP_DIVIDE);
    b = mxo_quant_block_float(rule("deepgemm"), MXO_FMT_E4M3FN, 0x40400000, &s);
    ck_assert_uint_eq(b.factor, 0x43155555); /* RN32(1 / s) = 149.3333 */
    (void)mxo_quant_block_float(rule("deepgemm"), MXO_FMT_E4M3FN, 0, &s);
    ck_assert_uint_eq(s, 0x346facad); /* 1e-4 / 448 */
    (void)mxo_quant_block_float(rule("aiter_token"), MXO_FMT_E4M3FN, 0, &s);
    ck_assert_uint_eq(s, 0x3f800000);
    (void)mxo_quant_block_float(rule("aiter_tensor"), MXO_FMT_E4M3FN, 0, &s);
    ck_assert_uint_eq(s, 0);
}
END_TEST

Suite *suite_quant_block(void);
Suite *suite_quant_block(void)
{
    const int n_ties = (int)(sizeof tie_rows / sizeof tie_rows[0]);
    const int n_nans = (int)(sizeof nan_rows / sizeof nan_rows[0]);
    Suite *s = suite_create("quant_block");
    TCase *code = tcase_create("mxo_quant_code");
    TCase *block = tcase_create("mxo_quant_block");

    tcase_add_loop_test(code, ties_follow_the_named_rule_or_the_rows_own, 0,
                        n_ties);
    tcase_add_test(code, next_to_a_tie_the_nearer_code_wins);
    tcase_add_test(code, the_byte_shifts_every_threshold);
    tcase_add_test(code, the_end_bytes_are_exact_powers_by_ocp);
    tcase_add_test(code, some_rows_multiply_by_zero_at_the_end_bytes);
    tcase_add_test(code, flashinfer_flushes_subnormal_elements);
    tcase_add_loop_test(code, nan_and_infinite_elements_have_documented_codes,
                        0, n_nans);
    tcase_add_test(code, torch_bits_show_the_payload);
    tcase_add_test(code, zero_signs_differ);
    tcase_add_test(code, casts_that_do_not_saturate_give_nan);
    tcase_add_test(code, vllm_bounds_fnuz_by_224);
    tcase_add_test(block, the_maximum_treats_nan_by_policy);
    tcase_add_test(block, the_maximum_can_be_taken_in_pieces);
    tcase_add_test(block, widening_keeps_values_and_nan_payloads);
    tcase_add_test(block, flashinfer_mxfp8_examples_hold);
    tcase_add_test(block, one_infinity_in_a_block);
    tcase_add_test(block, float_scales_divide_or_multiply_by_the_reciprocal);
    suite_add_tcase(s, code);
    suite_add_tcase(s, block);
    return s;
}
