/* SPDX-License-Identifier: Apache-2.0 */
/* All 256 scale bytes in every reading, and every way to choose one. */
#include <mxoracle/format.h>

#include <check.h>

/* Pattern of 2^(s-127) in binary32, s from 0 to 254. */
static uint32_t power(uint32_t s)
{
    return s == 0 ? 0x00400000 : s << 23;
}

/* Bytes 0 and 255 by numerics 3.1. */
typedef struct ends {
    mxo_e8m0_rule rule;
    mxo_format to;
    uint32_t low;
    uint32_t high;
} ends;

static const ends two_ends[] = {
    {MXO_E8M0_OCP, MXO_FMT_F32, 0x00400000, 0x7fc00000},
    {MXO_E8M0_OCP, MXO_FMT_BF16, 0x0040, 0x7fc0},
    {MXO_E8M0_SHIFT, MXO_FMT_F32, 0, 0x7f800000},
    {MXO_E8M0_SHIFT, MXO_FMT_BF16, 0, 0x7f80},
    {MXO_E8M0_TRITON_KERNEL, MXO_FMT_F32, 0, 0x7fc00000},
    {MXO_E8M0_TRITON_KERNEL, MXO_FMT_BF16, 0, 0x7fc0},
    {MXO_E8M0_MAX_SUBNORMAL, MXO_FMT_F32, 0x00400000, 0x7f800000},
    {MXO_E8M0_TRITON_SUBNORMAL, MXO_FMT_BF16, 0x0040, 0x7fc0},
    {MXO_E8M0_GGML, MXO_FMT_F32, 0x00400000, 0x7f800000},
    {MXO_E8M0_QUARK, MXO_FMT_BF16, 0x0040, 0x7f80},
    {MXO_E8M0_QUARK_TRITON, MXO_FMT_BF16, 0, 0x7fc0},
    {MXO_E8M0_AITER, MXO_FMT_F32, 0x00400000, 0x7f800001},
    {MXO_E8M0_LDEXP, MXO_FMT_F32, 0x00400000, 0x7f800000},
};

START_TEST(bytes_1_to_254_are_powers_and_the_ends_differ)
{
    const ends *e = &two_ends[_i];
    const int cut = e->to == MXO_FMT_BF16 ? 16 : 0;

    ck_assert_uint_eq(mxo_e8m0_decode(e->rule, e->to, 0), e->low);
    ck_assert_uint_eq(mxo_e8m0_decode(e->rule, e->to, 255), e->high);
    for (uint32_t s = 1; s < 255; s++) {
        ck_assert_msg(mxo_e8m0_decode(e->rule, e->to, (uint8_t)s) ==
                          power(s) >> cut,
                      "rule %d byte %u", e->rule, s);
    }
}
END_TEST

START_TEST(ggml_half_is_half_of_256_powers)
{
    ck_assert_uint_eq(mxo_e8m0_decode(MXO_E8M0_GGML_HALF, MXO_FMT_F32, 0),
                      0x00200000);
    for (uint32_t s = 1; s < 256; s++) {
        ck_assert_msg(mxo_e8m0_decode(MXO_E8M0_GGML_HALF, MXO_FMT_F32,
                                      (uint8_t)s) == power(s - 1),
                      "byte %u", s);
    }
}
END_TEST

START_TEST(reciprocal_mirrors_the_bytes)
{
    for (uint32_t s = 0; s < 255; s++) {
        ck_assert_msg(mxo_e8m0_decode(MXO_E8M0_RECIPROCAL, MXO_FMT_F32,
                                      (uint8_t)s) == power(254 - s),
                      "byte %u", s);
    }
    ck_assert_uint_eq(mxo_e8m0_decode(MXO_E8M0_RECIPROCAL, MXO_FMT_F32, 255),
                      0x7fc00000);
}
END_TEST

START_TEST(hip_signed_is_the_exponent_itself)
{
    for (int e = -127; e < 128; e++) {
        ck_assert_msg(mxo_e8m0_decode(MXO_E8M0_HIP_SIGNED, MXO_FMT_F32,
                                      (uint8_t)(e & 0xff)) ==
                          power((uint32_t)(e + 127)),
                      "exponent %d", e);
    }
    ck_assert_uint_eq(mxo_e8m0_decode(MXO_E8M0_HIP_SIGNED, MXO_FMT_F32, 0x80),
                      0x7fc00000);
}
END_TEST

/* 2^(s-127) in binary16: zero up to 102 (a tie, to even), Inf from 143. */
static uint32_t f16_power(uint32_t s)
{
    if (s <= 112) {
        return s <= 102 ? 0 : 1u << (s - 103);
    }
    return s <= 142 ? (s - 112) << 10 : 0x7c00;
}

static void check_f16(mxo_e8m0_rule rule, uint32_t s, uint32_t want)
{
    ck_assert_msg(mxo_e8m0_decode(rule, MXO_FMT_F16, (uint8_t)s) == want,
                  "rule %d byte %u", rule, s);
}

START_TEST(f16_keeps_the_powers_it_has)
{
    for (uint32_t s = 0; s < 255; s++) {
        check_f16(MXO_E8M0_OCP, s, f16_power(s));
        check_f16(MXO_E8M0_SHIFT, s, f16_power(s));
        check_f16(MXO_E8M0_QUARK_TRITON, s, f16_power(s));
        check_f16(MXO_E8M0_QUARK, s, s <= 142 ? f16_power(s) : 0x7800);
    }
    check_f16(MXO_E8M0_OCP, 255, 0x7e00);
    check_f16(MXO_E8M0_SHIFT, 255, 0x7c00);
    check_f16(MXO_E8M0_QUARK, 255, 0x7800);
}
END_TEST

START_TEST(rules_name_the_formats_they_have)
{
    ck_assert(mxo_e8m0_rule_has(MXO_E8M0_OCP, MXO_FMT_F16));
    ck_assert(!mxo_e8m0_rule_has(MXO_E8M0_GGML, MXO_FMT_BF16));
    ck_assert(!mxo_e8m0_rule_has(MXO_E8M0_QUARK, MXO_FMT_F32));
    ck_assert(!mxo_e8m0_rule_has(MXO_E8M0_OCP, MXO_FMT_E4M3FN));
    ck_assert_int_eq(mxo_e8m0_rule_by_name("quark"), MXO_E8M0_QUARK);
    ck_assert_int_eq(mxo_e8m0_rule_by_name("quar"), MXO_N_E8M0_RULES);
}
END_TEST

/* Second derivation: positive patterns are ordered like the numbers. */
static uint32_t floor_byte(uint32_t a)
{
    uint32_t s = 254;

    while (s > 0 && power(s) > a) {
        s--;
    }
    return s;
}

static uint32_t ceil_byte(uint32_t a)
{
    uint32_t s = 0;

    while (s < 255 && power(s) < a) {
        s++;
    }
    return s;
}

static const uint32_t mantissas[] = {0,        1,        0x3fffff,
                                     0x400000, 0x400001, 0x7fffff};

static void check_encode(mxo_e8m0_round rule, uint32_t a, int sat,
                         uint32_t want)
{
    ck_assert_msg(mxo_e8m0_encode(rule, a, sat) == want,
                  "rule %d input 0x%08x: %u not %u", rule, a,
                  mxo_e8m0_encode(rule, a, sat), want);
}

START_TEST(directed_rounding_brackets_the_number)
{
    for (uint32_t i = 0; i < 255 * 6; i++) {
        const uint32_t a = i / 6 << 23 | mantissas[i % 6];
        const uint32_t up = ceil_byte(a);
        const uint32_t sat = up == 255 ? 254 : up;
        check_encode(MXO_E8M0_RZ, a, 1, floor_byte(a));
        check_encode(MXO_E8M0_RZ, a | 1u << 31, 0, floor_byte(a));
        check_encode(MXO_E8M0_RP, a, 0, up);
        check_encode(MXO_E8M0_RP, a, 1, sat);
        check_encode(MXO_E8M0_CUTLASS, a, 0, sat);
        check_encode(MXO_E8M0_DEEPGEMM, a, 1, sat < 1 ? 1 : sat);
    }
}
END_TEST

START_TEST(nearest_goes_up_at_one_and_a_half)
{
    for (uint32_t i = 0; i < 255 * 6; i++) {
        const uint32_t a = i / 6 << 23 | mantissas[i % 6];
        /* The middle above power(s) is power(s) with its top bit set; but
           all of 2^-127..2^-126 goes up. */
        const uint32_t s = floor_byte(a);
        const uint32_t middle = s == 0 ? 0x00400001 : s << 23 | 0x400000;
        const uint32_t want = s + (a >= middle);
        check_encode(MXO_E8M0_TORCH, a, 1, want);
        check_encode(MXO_E8M0_ML_DTYPES, a, 1, a == 0 ? 255 : want);
    }
}
END_TEST

typedef struct odd_input {
    mxo_e8m0_round rule;
    uint32_t x;
    uint8_t sat;
    uint8_t want;
} odd_input;

START_TEST(infinity_nan_zero_and_sign)
{
    static const odd_input odd[] = {
        {MXO_E8M0_RP, 0x7f800000, 1, 254},
        {MXO_E8M0_RP, 0x7f800000, 0, 255},
        {MXO_E8M0_RZ, 0xff800000, 1, 254},
        {MXO_E8M0_RZ, 0xff800000, 0, 255},
        {MXO_E8M0_RZ, 0x7fc00000, 1, 255},
        {MXO_E8M0_RP, 0x80000000, 1, 0},
        {MXO_E8M0_CUTLASS, 0x7f800000, 1, 255},
        {MXO_E8M0_TORCH, 0x7f800000, 1, 255},
        {MXO_E8M0_TORCH, 0xbf800000, 1, 127},
        {MXO_E8M0_TORCH, 0x00000000, 1, 0},
        {MXO_E8M0_ML_DTYPES, 0xbf800000, 1, 255},
        {MXO_E8M0_ML_DTYPES, 0x80000000, 1, 255},
        {MXO_E8M0_DEEPGEMM, 0x00000000, 1, 1},
        {MXO_E8M0_DEEPGEMM, 0x7fc00000, 1, 254},
        {MXO_E8M0_DEEPGEMM, 0x7f800000, 1, 254},
        {MXO_E8M0_TO_EVEN, 0x7f800000, 1, 254},
        {MXO_E8M0_TO_EVEN, 0xff800000, 1, 0},
        {MXO_E8M0_TO_EVEN, 0xffc00000, 1, 0},
        {MXO_E8M0_TO_EVEN, 0x7fc00000, 1, 255},
        {MXO_E8M0_TO_EVEN, 0xbf800000, 1, 0},
        {MXO_E8M0_TO_EVEN, 0x3fc00000, 1, 128},
        {MXO_E8M0_TO_EVEN, 0x40400000, 1, 128},
        {MXO_E8M0_TO_EVEN, 0x40400001, 1, 129},
        {MXO_E8M0_TO_EVEN, 0x7f7fffff, 1, 254},
        {MXO_E8M0_TO_EVEN, 0x00600000, 1, 0},
        {MXO_E8M0_TO_EVEN, 0x00600001, 1, 1},
    };
    const odd_input *o = &odd[_i];

    ck_assert_uint_eq(mxo_e8m0_encode(o->rule, o->x, o->sat), o->want);
}
END_TEST

Suite *suite_format_e8m0(void);
Suite *suite_format_e8m0(void)
{
    Suite *s = suite_create("format_e8m0");
    TCase *d = tcase_create("decode");
    TCase *e = tcase_create("encode");

    tcase_add_loop_test(d, bytes_1_to_254_are_powers_and_the_ends_differ, 0,
                        sizeof two_ends / sizeof two_ends[0]);
    tcase_add_test(d, ggml_half_is_half_of_256_powers);
    tcase_add_test(d, reciprocal_mirrors_the_bytes);
    tcase_add_test(d, hip_signed_is_the_exponent_itself);
    tcase_add_test(d, f16_keeps_the_powers_it_has);
    tcase_add_test(d, rules_name_the_formats_they_have);
    tcase_add_test(e, directed_rounding_brackets_the_number);
    tcase_add_test(e, nearest_goes_up_at_one_and_a_half);
    tcase_add_loop_test(e, infinity_nan_zero_and_sign, 0, 26);
    suite_add_tcase(s, d);
    suite_add_tcase(s, e);
    return s;
}
