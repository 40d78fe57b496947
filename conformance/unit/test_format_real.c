/* SPDX-License-Identifier: Apache-2.0 */
/* Exact dyadic numbers: the worked examples and consequences of numerics 2.1. */
#include <mxoracle/format.h>

#include <check.h>

static uint64_t encode(mxo_format format, uint32_t f32, mxo_tie tie, int sat)
{
    const mxo_rounding r = {(uint8_t)tie, (uint8_t)sat, 0, 0};

    return mxo_format_encode(format, mxo_format_decode(MXO_FMT_F32, f32), r);
}

START_TEST(e4m3_overflow_is_decided_after_rounding)
{
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FN, 0x43e80000, MXO_TIE_RNE, 0), 0x7e);
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FN, 0x43e80001, MXO_TIE_RNE, 0), 0x7f);
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FN, 0x43e80001, MXO_TIE_RNE, 1), 0x7e);
}
END_TEST

START_TEST(every_finite_code_encodes_to_itself)
{
    for (int f = 0; f < MXO_FMT_BF16; f++) {
        for (unsigned code = 0; code < 256; code++) {
            const mxo_format_spec *s = mxo_format_info((mxo_format)f);
            if (code >> (s->ebits + s->mbits + 1) != 0) {
                continue;
            }
            const mxo_real x = mxo_format_decode((mxo_format)f, code);
            const mxo_rounding r = {MXO_TIE_RNE, 0, 0, 0};
            if (x.cls == MXO_CLASS_NAN) {
                continue;
            }
            ck_assert_msg(mxo_format_encode((mxo_format)f, x, r) == code,
                          "%s code 0x%02x", s->name, code);
        }
    }
}
END_TEST

Suite *suite_format_real(void);
Suite *suite_format_real(void)
{
    Suite *s = suite_create("format_real");
    TCase *t = tcase_create("encode");

    tcase_add_test(t, e4m3_overflow_is_decided_after_rounding);
    tcase_add_test(t, every_finite_code_encodes_to_itself);
    suite_add_tcase(s, t);
    return s;
}
