/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The corners of numerics 2.2 and 2.3, dialect by dialect: NaN, infinity,
 * overflow, zero, ties.  Away from them every dialect is the definition.
 */
#include <mxoracle/format.h>

#include <check.h>

#define NAN_POS 0x7fc00000u
#define NAN_NEG 0xffc00000u
#define INF_POS 0x7f800000u
#define INF_NEG 0xff800000u

typedef struct corner {
    mxo_dialect dialect;
    mxo_format to;
    mxo_tie tie;
    int sat;
    uint32_t x;
    uint32_t want;
} corner;

#define ROW(dialect, to, tie, sat, x, want)                              \
    {                                                                    \
        MXO_DIALECT_##dialect, MXO_FMT_##to, MXO_TIE_##tie, sat, x, want \
    }

static const corner corners[] = {
    ROW(MXO, E4M3FN, RNE, 1, NAN_NEG, 0xff),
    ROW(MXO, E5M2, RNE, 1, NAN_NEG, 0xfe),
    ROW(MXO, E4M3FNUZ, RNE, 1, NAN_NEG, 0x80),
    ROW(MXO, E2M1, RNE, 1, NAN_NEG, 7),
    ROW(MXO, E3M2, RNE, 1, NAN_NEG, 0x1f),
    ROW(CUDA, E4M3FN, RNE, 1, NAN_NEG, 0x7f),
    ROW(CUDA, E5M2, RNE, 1, NAN_NEG, 0x7f),
    ROW(CUDA, E4M3FN, RNE, 0, INF_POS, 0x7f),
    ROW(CUDA, E4M3FN, RNE, 0, INF_NEG, 0xff),
    ROW(CUDA, E5M2, RNE, 0, INF_NEG, 0xfc),
    ROW(CUDA, E4M3FN, RNE, 1, INF_NEG, 0xfe),
    ROW(CUDA, E5M2, RNE, 1, INF_POS, 0x7b),
    ROW(CUDA, E2M1, RNE, 1, NAN_NEG, 7),
    ROW(CUDA, E2M3, RNE, 1, NAN_NEG, 0x1f),
    ROW(CUDA, E2M1, RNE, 1, INF_NEG, 0xf),
    ROW(CUDA, E2M1, RZ, 1, 0x40bfffff, 6), /* just below 6 */
    ROW(ML_DTYPES, E4M3FN, RNE, 0, NAN_NEG, 0xff),
    ROW(ML_DTYPES, E5M2, RNE, 0, NAN_POS, 0x7e),
    ROW(ML_DTYPES, E5M2FNUZ, RNE, 0, NAN_NEG, 0x80),
    ROW(ML_DTYPES, E2M1, RNE, 1, NAN_POS, 8),
    ROW(ML_DTYPES, E2M1, RNE, 1, NAN_NEG, 0),
    ROW(ML_DTYPES, E3M2, RNE, 0, NAN_POS, 0x20),
    ROW(ML_DTYPES, E4M3FN, RNE, 0, INF_NEG, 0xff),
    ROW(ML_DTYPES, E5M2, RNE, 0, INF_NEG, 0xfc),
    ROW(ML_DTYPES, E2M1, RNE, 0, INF_NEG, 0xf),
    ROW(HIP, E4M3FN, RNE, 1, NAN_NEG, 0xff),
    ROW(HIP, E5M2, RNE, 1, NAN_POS, 0x7f),
    ROW(HIP, E4M3FN, RNE, 0, 0x43e00000, 0x7e), /* 448 */
    ROW(HIP, E4M3FN, RNE, 0, 0x43e00001, 0x7f), /* above it */
    ROW(HIP, E4M3FN, RNE, 1, 0x43e00001, 0x7e),
    ROW(HIP, E5M2, RNE, 0, 0xc7600001, 0xfc), /* below -57344 */
    ROW(HIP, E4M3FNUZ, RNE, 0, NAN_NEG, 0x80),
    ROW(HIP, E4M3FNUZ, RNE, 1, NAN_NEG, 0xff),
    ROW(HIP, E4M3FNUZ, RNE, 1, NAN_POS, 0x7f),
    ROW(HIP, E4M3FNUZ, RNE, 0, 0x43700001, 0x80), /* above 240 */
    ROW(HIP, E4M3FNUZ, RNE, 1, INF_NEG, 0xff),
    ROW(HIP, E5M2FNUZ, RNE, 0, INF_NEG, 0x80),
    ROW(HIP_HOST, E2M1, RNE, 1, NAN_NEG, 0xf),
    ROW(HIP_HOST, E2M3, RNE, 1, NAN_POS, 0x1f),
    ROW(HIP_HOST, E4M3FN, RNE, 1, NAN_NEG, 0xff),
    ROW(HIP_HOST, E4M3FN, RNE, 1, INF_POS, 0x7f),
    ROW(HIP_HOST, E4M3FN, RNE, 1, 0x43e80001, 0x7f),
    ROW(HIP_HOST, E5M2, RNE, 1, INF_NEG, 0xfb),
    ROW(HIP_HOST, E2M1, RNE, 1, INF_NEG, 0xf),
    ROW(TORCH_BITS, E2M1, RNE, 1, 0x7fc00000, 3),
    ROW(TORCH_BITS, E2M1, RNE, 1, 0xffc00000, 0xb),
    ROW(TORCH_BITS, E2M1, RNE, 1, 0x7f800001, 2),
    ROW(TORCH_BITS, E2M1, RNE, 1, 0xffff0000, 0xc),
    ROW(TORCH_BITS, E2M1, RNE, 1, INF_NEG, 0xf),
    ROW(TORCH_BITS, E2M1, RNE, 1, 0x80000000, 8),
    ROW(AITER_HIP, E2M1, RNE, 1, NAN_NEG, 0),
    ROW(AITER_HIP, E2M1, RNE, 1, 0x80000000, 0),
    ROW(AITER_HIP, E2M1, RNE, 1, 0x80000001, 8),
    ROW(FLYDSL, E2M1, RNE, 1, NAN_NEG, 7),
    ROW(FLYDSL, E2M1, RNE, 1, 0x80000000, 8),
    ROW(DEEPGEMM, E2M1, RNZ, 1, NAN_NEG, 0),
    ROW(DEEPGEMM, E2M1, RNZ, 1, 0xbe800000, 0), /* -0.25 */
    ROW(DEEPGEMM, E2M1, RNZ, 1, 0xbe800001, 9),
    ROW(DEEPGEMM, E2M1, RNZ, 1, 0x3f400000, 1), /* 0.75 */
    ROW(DEEPGEMM, E2M1, RNZ, 1, 0x40600000, 5), /* 3.5 */
    ROW(DEEPGEMM, E2M1, RNZ, 1, INF_NEG, 0xf),
    ROW(GGML, E2M1, RNZ, 1, NAN_POS, 0),
    ROW(GGML, E2M1, RNZ, 1, INF_NEG, 0),
    ROW(GGML, E2M1, RNZ, 1, 0x80000000, 0),
    ROW(GGML, E2M1, RNZ, 1, 0xc1200000, 0xf), /* -10 */
    ROW(TRITON_CUT, E2M1, RNE, 1, 0x3e800003, 0),
    ROW(TRITON_CUT, E2M1, RNE, 1, 0x3e800004, 1),
    ROW(TRITON_CUT, E2M1, RNE, 1, 0xbe800001, 8),
    ROW(TRITON_CUT, E2M1, RNE, 1, 0xbe800004, 9),
    ROW(TRITON_CUT, E2M1, RNE, 1, 0x00000001, 0),
    ROW(TRITON_CUT, E2M1, RNE, 1, NAN_NEG, 0xf),
    ROW(MICROXCALING, E2M1, RNE, 1, 0x3e7fffff, 1), /* 0.24999999 */
    ROW(MICROXCALING, E2M1, RNE, 1, 0x3e7ffffe, 0),
    ROW(MICROXCALING, E2M1, RZ, 1, 0x40ffffff, 6), /* 7.9999995: 4 */
    ROW(MICROXCALING, E2M1, RZ, 1, 0x40fffffe, 7),
    ROW(MICROXCALING, E2M1, RNE, 1, 0x40200000, 4), /* 2.5 */
    ROW(MICROXCALING, E2M1, RNA, 1, 0x40200000, 5),
    ROW(MICROXCALING, E4M3FN, RNE, 1, NAN_NEG, 0xff),
    ROW(MICROXCALING, E2M1, RNE, 1, 0x80000000, 8),
};

START_TEST(corners_are_as_each_implementation_has_them)
{
    for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
        const corner *c = &corners[i];
        const mxo_rounding r = {(uint8_t)c->tie, (uint8_t)c->sat, 0, 0};
        const char *refusal =
            mxo_dialect_refuses(c->dialect, c->to, MXO_FMT_F32, r);
        ck_assert_msg(refusal == NULL, "row %zu: %s", i, refusal);
        const uint64_t got =
            mxo_dialect_encode(c->dialect, c->to, MXO_FMT_F32, c->x, r);
        ck_assert_msg(got == c->want,
                      "row %zu: dialect %d format %d input 0x%08x gives "
                      "0x%02llx not 0x%02x",
                      i, c->dialect, c->to, c->x, (unsigned long long)got,
                      c->want);
    }
}
END_TEST

/* First rounding that a dialect allows for a format; 0 if it has none. */
static int first_rounding(mxo_dialect d, mxo_format to, mxo_rounding *r)
{
    for (int i = 0; i < 2 * MXO_TIE_SR; i++) {
        const mxo_rounding try = {(uint8_t)(i / 2), (uint8_t)(i % 2), 0, 0};
        if (mxo_dialect_refuses(d, to, MXO_FMT_F32, try) == NULL) {
            *r = try;
            return 1;
        }
    }
    return 0;
}

START_TEST(ordinary_numbers_are_encoded_by_the_definition)
{
    for (int to = 0; to < MXO_FMT_BF16; to++) {
        mxo_rounding r;
        if (!first_rounding((mxo_dialect)_i, (mxo_format)to, &r)) {
            continue;
        }
        /* Mantissas 1.0 to 1.9 in every binade from 2^-12 to 1.5. */
        for (uint32_t x = 0x39800000; x < 0x3fc00000; x += 0x0ccccd) {
            const mxo_real real = mxo_format_decode(MXO_FMT_F32, x);
            const uint64_t want = mxo_format_encode((mxo_format)to, real, r);
            ck_assert_msg(mxo_dialect_encode((mxo_dialect)_i, (mxo_format)to,
                                             MXO_FMT_F32, x, r) == want,
                          "dialect %d format %d input 0x%08x", _i, to, x);
        }
    }
}
END_TEST

START_TEST(cuda_keeps_the_sign_of_a_float64_nan)
{
    const mxo_rounding r = {MXO_TIE_RNE, 1, 0, 0};
    const mxo_dialect d = MXO_DIALECT_CUDA;
    const mxo_format from = MXO_FMT_F64;

    ck_assert_uint_eq(
        mxo_dialect_encode(d, MXO_FMT_E4M3FN, from, 0xfff8000000000000, r),
        0xff);
    ck_assert_uint_eq(
        mxo_dialect_encode(d, MXO_FMT_E5M2, from, 0x7ff8000000000000, r), 0x7e);
    ck_assert_uint_eq(
        mxo_dialect_encode(d, MXO_FMT_E5M2, from, 0xfffc000000000000, r), 0xff);
    ck_assert_uint_eq(
        mxo_dialect_encode(d, MXO_FMT_E2M1, from, 0xfff8000000000000, r), 7);
}
END_TEST

START_TEST(torch_bits_widens_the_payload_of_16_bit_nans)
{
    const mxo_rounding r = {MXO_TIE_RNE, 1, 0, 0};
    const mxo_dialect d = MXO_DIALECT_TORCH_BITS;

    ck_assert_uint_eq(
        mxo_dialect_encode(d, MXO_FMT_E2M1, MXO_FMT_BF16, 0xffff, r), 0xc);
    ck_assert_uint_eq(
        mxo_dialect_encode(d, MXO_FMT_E2M1, MXO_FMT_F16, 0x7e00, r), 3);
    ck_assert_uint_eq(
        mxo_dialect_encode(d, MXO_FMT_E3M2, MXO_FMT_F32, 0x7fc00000, r), 0x0e);
}
END_TEST

START_TEST(random_bits_above_n_are_ignored)
{
    const mxo_rounding r = {MXO_TIE_SR, 1, 8, 0xffffff00};

    /* 1.5 is code 3; 1.25 is half way, so R = 0 rounds down, 80 up. */
    ck_assert_uint_eq(mxo_dialect_encode(MXO_DIALECT_MXO, MXO_FMT_E2M1,
                                         MXO_FMT_F32, 0x3fa00000, r),
                      2);
    const mxo_rounding up = {MXO_TIE_SR, 1, 8, 0xffffff80};
    ck_assert_uint_eq(mxo_dialect_encode(MXO_DIALECT_MXO, MXO_FMT_E2M1,
                                         MXO_FMT_F32, 0x3fa00000, up),
                      3);
}
END_TEST

START_TEST(hip_draws_from_the_top_of_its_seed)
{
    /* E4M3 keeps 20 random bits, seed >> 12; 1 + 1/16 is half way. */
    mxo_rounding r = {MXO_TIE_SR, 1, 0, 0x80000000};

    ck_assert_uint_eq(mxo_dialect_encode(MXO_DIALECT_HIP, MXO_FMT_E4M3FN,
                                         MXO_FMT_F32, 0x3f880000, r),
                      0x39);
    r.rand = 0x7fffffff;
    ck_assert_uint_eq(mxo_dialect_encode(MXO_DIALECT_HIP, MXO_FMT_E4M3FN,
                                         MXO_FMT_F32, 0x3f880000, r),
                      0x38);
}
END_TEST

typedef struct refusal {
    mxo_dialect dialect;
    mxo_format to;
    mxo_format from;
    mxo_rounding r;
} refusal;

START_TEST(what_a_dialect_lacks_is_refused)
{
    static const refusal refusals[] = {
        {MXO_DIALECT_CUDA, MXO_FMT_E4M3FNUZ, MXO_FMT_F32, {0, 1, 0, 0}},
        {MXO_DIALECT_HIP, MXO_FMT_E2M1, MXO_FMT_F32, {0, 1, 0, 0}},
        {MXO_DIALECT_GGML, MXO_FMT_E2M3, MXO_FMT_F32, {3, 1, 0, 0}},
        {MXO_DIALECT_GGML, MXO_FMT_E2M1, MXO_FMT_F32, {0, 1, 0, 0}},
        {MXO_DIALECT_DEEPGEMM, MXO_FMT_E2M1, MXO_FMT_F32, {2, 1, 0, 0}},
        {MXO_DIALECT_ML_DTYPES, MXO_FMT_E5M2, MXO_FMT_F32, {0, 1, 0, 0}},
        {MXO_DIALECT_TORCH_BITS, MXO_FMT_E4M3FN, MXO_FMT_F32, {0, 1, 0, 0}},
        {MXO_DIALECT_FLYDSL, MXO_FMT_E2M1, MXO_FMT_F64, {0, 1, 0, 0}},
        {MXO_DIALECT_CUDA, MXO_FMT_INT8, MXO_FMT_F32, {0, 1, 0, 0}},
        {MXO_DIALECT_MXO, MXO_FMT_BF16, MXO_FMT_F32, {0, 1, 0, 0}},
        {MXO_DIALECT_MXO, MXO_FMT_E2M1, MXO_FMT_F32, {4, 1, 0, 0}},
        {MXO_DIALECT_MXO, MXO_FMT_E2M1, MXO_FMT_F32, {4, 1, 33, 0}},
        {MXO_DIALECT_CUDA, MXO_FMT_E4M3FN, MXO_FMT_F32, {4, 1, 8, 0}},
    };
    const refusal *q = &refusals[_i];

    ck_assert_ptr_nonnull(
        mxo_dialect_refuses(q->dialect, q->to, q->from, q->r));
}
END_TEST

START_TEST(dialects_are_found_by_name)
{
    ck_assert_int_eq(mxo_dialect_by_name("triton_cut"), MXO_DIALECT_TRITON_CUT);
    ck_assert_int_eq(mxo_dialect_by_name("nobody"), MXO_N_DIALECTS);
}
END_TEST

Suite *suite_format_dialect(void);
Suite *suite_format_dialect(void)
{
    Suite *s = suite_create("format_dialect");
    TCase *t = tcase_create("encode");

    tcase_add_test(t, corners_are_as_each_implementation_has_them);
    tcase_add_loop_test(t, ordinary_numbers_are_encoded_by_the_definition, 0,
                        MXO_N_DIALECTS);
    tcase_add_test(t, cuda_keeps_the_sign_of_a_float64_nan);
    tcase_add_test(t, torch_bits_widens_the_payload_of_16_bit_nans);
    tcase_add_test(t, random_bits_above_n_are_ignored);
    tcase_add_test(t, hip_draws_from_the_top_of_its_seed);
    tcase_add_loop_test(t, what_a_dialect_lacks_is_refused, 0, 13);
    tcase_add_test(t, dialects_are_found_by_name);
    suite_add_tcase(s, t);
    return s;
}
