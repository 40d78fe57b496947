/* SPDX-License-Identifier: Apache-2.0 */
/* Codes to wide floats, and their classes, against the field formulas. */
#include <mxoracle/format.h>

#include <check.h>

static uint64_t convert(mxo_format to, mxo_format from, uint64_t code,
                        mxo_tie tie)
{
    return mxo_format_convert(to, from, code, tie, MXO_NAN_QUIET);
}

/* bfloat16 by the well-known addition on the pattern. */
static uint32_t bf16_by_addition(uint32_t x)
{
    if ((x & 0x7fffffff) > 0x7f800000) {
        return 0x7fc0;
    }
    return (x + 0x7fff + (x >> 16 & 1)) >> 16;
}

START_TEST(bf16_rounds_as_the_addition_does)
{
    for (uint32_t high = 0; high < 0x10000; high++) {
        static const uint32_t low[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
        for (int i = 0; i < 6; i++) {
            const uint32_t x = high << 16 | low[i];
            ck_assert_msg(convert(MXO_FMT_BF16, MXO_FMT_F32, x, MXO_TIE_RNE) ==
                              bf16_by_addition(x),
                          "0x%08x", x);
        }
    }
}
END_TEST

START_TEST(bf16_truncates_and_ties_away_on_request)
{
    for (uint32_t high = 0; high < 0x7f80; high++) {
        const uint32_t x = high << 16 | 0x8000;
        ck_assert_msg(convert(MXO_FMT_BF16, MXO_FMT_F32, x, MXO_TIE_RZ) == high,
                      "0x%08x", x);
        ck_assert_msg(convert(MXO_FMT_BF16, MXO_FMT_F32, x, MXO_TIE_RNA) ==
                          high + 1,
                      "0x%08x", x);
    }
}
END_TEST

START_TEST(f16_limits)
{
    ck_assert_uint_eq(
        convert(MXO_FMT_F16, MXO_FMT_F32, 0x477fefff, MXO_TIE_RNE), 0x7bff);
    ck_assert_uint_eq(
        convert(MXO_FMT_F16, MXO_FMT_F32, 0x477ff000, MXO_TIE_RNE), 0x7c00);
    ck_assert_uint_eq(convert(MXO_FMT_F16, MXO_FMT_F32, 0x7f7fffff, MXO_TIE_RZ),
                      0x7bff);
    ck_assert_uint_eq(
        convert(MXO_FMT_F16, MXO_FMT_F32, 0x33000000, MXO_TIE_RNE), 0);
    ck_assert_uint_eq(
        convert(MXO_FMT_F16, MXO_FMT_F32, 0x33000001, MXO_TIE_RNE), 1);
}
END_TEST

START_TEST(f64_is_rounded_once)
{
    /* 1 + 2^-8 + 2^-40: a tie once it has been through binary32. */
    const uint64_t x = 0x3ff0100000001000;
    const uint64_t via = convert(MXO_FMT_F32, MXO_FMT_F64, x, MXO_TIE_RNE);

    ck_assert_uint_eq(convert(MXO_FMT_BF16, MXO_FMT_F64, x, MXO_TIE_RNE),
                      0x3f81);
    ck_assert_uint_eq(convert(MXO_FMT_BF16, MXO_FMT_F32, via, MXO_TIE_RNE),
                      0x3f80);
}
END_TEST

START_TEST(every_nan_becomes_the_one_pattern)
{
    const mxo_nan ones = MXO_NAN_ONES;
    const mxo_tie rne = MXO_TIE_RNE;

    ck_assert_uint_eq(convert(MXO_FMT_F32, MXO_FMT_E5M2, 0xfd, rne),
                      0x7fc00000);
    ck_assert_uint_eq(convert(MXO_FMT_F16, MXO_FMT_E4M3FN, 0xff, rne), 0x7e00);
    ck_assert_uint_eq(convert(MXO_FMT_BF16, MXO_FMT_F32, 0xff800001, rne),
                      0x7fc0);
    ck_assert_uint_eq(convert(MXO_FMT_F64, MXO_FMT_F32, 0xff800001, rne),
                      0x7ff8000000000000);
    ck_assert_uint_eq(
        mxo_format_convert(MXO_FMT_F16, MXO_FMT_E4M3FN, 0xff, rne, ones),
        0x7fff);
    ck_assert_uint_eq(
        mxo_format_convert(MXO_FMT_BF16, MXO_FMT_F32, 0xffc00000, rne, ones),
        0x7fff);
    ck_assert_uint_eq(
        mxo_format_convert(MXO_FMT_F32, MXO_FMT_E5M2, 0x7e, rne, ones),
        0x7fffffff);
}
END_TEST

/* The field formula in binary32: rebias, or normalise a subnormal. */
static uint32_t f32_by_fields(const mxo_format_spec *f, uint32_t code)
{
    const uint32_t width = (uint32_t)(f->ebits + f->mbits);
    const uint32_t sign = code >> width << 31;
    uint32_t exponent = (code & ((1u << width) - 1)) >> f->mbits;
    uint32_t fraction = code & ((1u << f->mbits) - 1);

    if (exponent == 0 && fraction == 0) {
        return sign;
    }
    exponent += 127 - (uint32_t)f->bias;
    if (((code & ((1u << width) - 1)) >> f->mbits) == 0) {
        exponent++;
        while (fraction >> f->mbits == 0) {
            fraction <<= 1;
            exponent--;
        }
        fraction &= (1u << f->mbits) - 1;
    }
    return sign | exponent << 23 | fraction << (23 - f->mbits);
}

START_TEST(every_small_code_has_the_value_of_its_fields)
{
    const mxo_format_spec *f = mxo_format_info((mxo_format)_i);

    for (uint32_t code = 0; code < 256; code++) {
        const uint32_t own = code & ((2u << (f->ebits + f->mbits)) - 1);
        const mxo_real x = mxo_format_decode((mxo_format)_i, own);
        if (x.cls == MXO_CLASS_NAN || x.cls == MXO_CLASS_INF) {
            continue;
        }
        ck_assert_msg(convert(MXO_FMT_F32, (mxo_format)_i, code, MXO_TIE_RNE) ==
                          f32_by_fields(f, own),
                      "%s code 0x%02x", f->name, code);
    }
}
END_TEST

typedef struct class_count {
    mxo_format format;
    int codes;
    int n[5];
} class_count;

START_TEST(classes_are_counted_right)
{
    static const class_count want[] = {
        {MXO_FMT_E2M1, 16, {2, 2, 12, 0, 0}},
        {MXO_FMT_E2M3, 64, {2, 14, 48, 0, 0}},
        {MXO_FMT_E3M2, 64, {2, 6, 56, 0, 0}},
        {MXO_FMT_E4M3FN, 256, {2, 14, 238, 0, 2}},
        {MXO_FMT_E4M3FNUZ, 256, {1, 14, 240, 0, 1}},
        {MXO_FMT_E5M2, 256, {2, 6, 240, 2, 6}},
        {MXO_FMT_E5M2FNUZ, 256, {1, 6, 248, 0, 1}},
        {MXO_FMT_INT8, 256, {1, 0, 255, 0, 0}},
    };
    const class_count *w = &want[_i];
    int n[5] = {0};

    for (int code = 0; code < w->codes; code++) {
        n[mxo_format_classify(w->format, (uint64_t)code)]++;
    }
    for (int c = 0; c < 5; c++) {
        ck_assert_msg(n[c] == w->n[c], "format %d class %d: %d not %d",
                      w->format, c, n[c], w->n[c]);
    }
}
END_TEST

START_TEST(bits_above_the_width_are_ignored)
{
    ck_assert_uint_eq(mxo_format_classify(MXO_FMT_E2M1, 0xf8), MXO_CODE_ZERO);
    ck_assert_uint_eq(convert(MXO_FMT_F32, MXO_FMT_E2M1, 0x37, MXO_TIE_RNE),
                      0x40c00000);
}
END_TEST

START_TEST(int8_values)
{
    ck_assert_uint_eq(convert(MXO_FMT_F32, MXO_FMT_INT8, 0x80, MXO_TIE_RNE),
                      0xc0000000);
    ck_assert_uint_eq(convert(MXO_FMT_F32, MXO_FMT_INT8, 0x01, MXO_TIE_RNE),
                      0x3c800000);
    ck_assert_uint_eq(convert(MXO_FMT_F32, MXO_FMT_INT8, 0x00, MXO_TIE_RNE), 0);
}
END_TEST

Suite *suite_format_convert_code(void);
Suite *suite_format_convert_code(void)
{
    Suite *s = suite_create("format_convert_code");
    TCase *t = tcase_create("convert");

    tcase_add_test(t, bf16_rounds_as_the_addition_does);
    tcase_add_test(t, bf16_truncates_and_ties_away_on_request);
    tcase_add_test(t, f16_limits);
    tcase_add_test(t, f64_is_rounded_once);
    tcase_add_test(t, every_nan_becomes_the_one_pattern);
    tcase_add_loop_test(t, every_small_code_has_the_value_of_its_fields, 0,
                        MXO_FMT_BF16);
    tcase_add_loop_test(t, classes_are_counted_right, 0, 8);
    tcase_add_test(t, bits_above_the_width_are_ignored);
    tcase_add_test(t, int8_values);
    suite_add_tcase(s, t);
    return s;
}
