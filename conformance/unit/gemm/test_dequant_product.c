/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All 16 codes times all 256 scale bytes, in every rule and target.  The
 * expected pattern is made from tables of numerics 5.2 and of the vendors'
 * own descriptions, not from products.
 */
#include <mxoracle/dequant.h>

#include <check.h>

/* Twice the E2M1 magnitudes. */
static const uint32_t halves[] = {0, 1, 2, 3, 4, 6, 8, 12};

/* halves[c] * 2^e in binary32 by shifting bits; Inf above, exact below. */
static uint32_t f32_of(uint32_t half_units, int e)
{
    int top = 0;

    while (half_units >> (top + 1) != 0) {
        top++;
    }
    const int exponent = top + e; /* of the leading bit */

    if (exponent > 127) {
        return 0x7f800000;
    }
    return exponent >= -126 ? (uint32_t)(exponent + 127) << 23 |
                                  (half_units << (23 - top) & 0x7fffff)
                            : half_units << (e + 149);
}

static uint32_t ocp_f32(uint32_t code, uint32_t s)
{
    if (s == 255) {
        return 0x7fc00000;
    }
    const uint32_t half_units = halves[code & 7];
    const uint32_t sign = code >> 3 << 31;

    return half_units == 0 ? sign : sign | f32_of(half_units, (int)s - 128);
}

static uint32_t product(mxo_dequant_rule rule, mxo_format to, uint32_t i)
{
    return mxo_dequant_mx(rule, MXO_FMT_E2M1, to, i % 16, (uint8_t)(i / 16));
}

START_TEST(ocp_is_exact_in_f32_and_bf16)
{
    for (uint32_t i = 0; i < 4096; i++) {
        const uint32_t want = ocp_f32(i % 16, i / 16);
        ck_assert_msg(product(MXO_DEQUANT_OCP, MXO_FMT_F32, i) == want,
                      "code %u scale %u", i % 16, i / 16);
        ck_assert_msg(product(MXO_DEQUANT_OCP, MXO_FMT_BF16, i) == want >> 16,
                      "code %u scale %u", i % 16, i / 16);
    }
}
END_TEST

/* Rows of the table in numerics 5.2: last byte that gives zero, bytes that
   round in the subnormals, first exact subnormal, first normal, first Inf. */
typedef struct f16_row {
    uint32_t zero_to;
    uint32_t rounded[2];
    uint32_t subnormal_from;
    uint32_t normal_from;
    uint32_t inf_from;
} f16_row;

static const f16_row f16_rows[] = {
    {103, {0, 0}, 104, 114, 144},     {102, {0, 0}, 103, 113, 143},
    {101, {102, 103}, 104, 113, 143}, {101, {0, 0}, 102, 112, 142},
    {100, {101, 102}, 103, 112, 142}, {100, {0, 0}, 101, 111, 141},
    {99, {100, 101}, 102, 111, 141},
};

static mxo_dequant_status f16_status(uint32_t code, uint32_t s)
{
    if (s == 255) {
        return MXO_DEQUANT_NAN_SCALE;
    }
    if ((code & 7) == 0) {
        return MXO_DEQUANT_ZERO;
    }
    const f16_row *r = &f16_rows[(code & 7) - 1];

    if (s <= r->zero_to) {
        return MXO_DEQUANT_LOST;
    }
    if (s == r->rounded[0] || s == r->rounded[1]) {
        return MXO_DEQUANT_ROUNDED_SUBNORMAL;
    }
    return s < r->normal_from ? MXO_DEQUANT_EXACT_SUBNORMAL
           : s < r->inf_from  ? MXO_DEQUANT_EXACT
                              : MXO_DEQUANT_OVERFLOW;
}

START_TEST(f16_follows_the_table_of_limits)
{
    for (uint32_t i = 0; i < 4096; i++) {
        const uint32_t y = product(MXO_DEQUANT_OCP, MXO_FMT_F16, i);
        const mxo_dequant_status got =
            mxo_dequant_judge(MXO_FMT_F16, i % 16, (uint8_t)(i / 16), y);
        ck_assert_msg(got == f16_status(i % 16, i / 16),
                      "code %u scale %u: 0x%04x has status %d", i % 16, i / 16,
                      y, got);
    }
}
END_TEST

START_TEST(f16_rounds_three_halves_of_the_smallest_to_even)
{
    /* 1.5 * 2^-25 is nearest to 2^-24; 1.5 * 2^-24 a tie, to 2 * 2^-24. */
    ck_assert_uint_eq(
        mxo_dequant_mx(MXO_DEQUANT_OCP, MXO_FMT_E2M1, MXO_FMT_F16, 3, 102), 1);
    ck_assert_uint_eq(
        mxo_dequant_mx(MXO_DEQUANT_OCP, MXO_FMT_E2M1, MXO_FMT_F16, 3, 103), 2);
}
END_TEST

START_TEST(f32_and_bf16_have_8_subnormals_and_12_overflows)
{
    const mxo_format to = _i == 0 ? MXO_FMT_F32 : MXO_FMT_BF16;
    int n[8] = {0};

    for (uint32_t i = 0; i < 4096; i++) {
        const uint32_t y = product(MXO_DEQUANT_OCP, to, i);
        n[mxo_dequant_judge(to, i % 16, (uint8_t)(i / 16), y)]++;
    }
    ck_assert_int_eq(n[MXO_DEQUANT_EXACT_SUBNORMAL], 8);
    ck_assert_int_eq(n[MXO_DEQUANT_OVERFLOW], 12);
    ck_assert_int_eq(n[MXO_DEQUANT_ROUNDED], 0);
    ck_assert_int_eq(n[MXO_DEQUANT_ROUNDED_SUBNORMAL], 0);
    ck_assert_int_eq(n[MXO_DEQUANT_LOST], 0);
    ck_assert_int_eq(n[MXO_DEQUANT_NAN_SCALE], 16);
    ck_assert_int_eq(n[MXO_DEQUANT_ZERO], 510);
}
END_TEST

/* How a rule treats the two end bytes and overflow, for F32 and BF16. */
typedef struct rule_ends {
    mxo_dequant_rule rule;
    int low_is_zero;
    int high_is_nan; /* else infinite: NaN for zeros only */
    int clamps;
    int to; /* 1 F32, 2 BF16, 3 both */
} rule_ends;

static const rule_ends ends[] = {
    {MXO_DEQUANT_SHIFT, 1, 0, 0, 3},
    {MXO_DEQUANT_TRITON35_TORCH, 1, 0, 0, 3},
    {MXO_DEQUANT_TRITON36_TORCH, 1, 0, 1, 3},
    {MXO_DEQUANT_TRITON35_KERNEL, 1, 1, 0, 3},
    {MXO_DEQUANT_TRITON36_KERNEL, 1, 1, 1, 3},
    {MXO_DEQUANT_TRITON_SUBNORMAL, 0, 1, 1, 3},
    {MXO_DEQUANT_TRITON_MATMUL, 1, 0, 0, 2},
    {MXO_DEQUANT_QUARK_HIP, 0, 0, 0, 2},
    {MXO_DEQUANT_QUARK_TRITON, 1, 1, 0, 2},
    {MXO_DEQUANT_MARLIN, 1, 0, 0, 2},
    {MXO_DEQUANT_VLLM_MXFP8, 0, 0, 0, 2},
    {MXO_DEQUANT_LDEXP, 0, 0, 0, 3},
};

static uint32_t by_ends(const rule_ends *e, uint32_t code, uint32_t s)
{
    const uint32_t sign = code >> 3 << 31;

    if (s == 0 && e->low_is_zero) {
        return sign;
    }
    if (s == 255 && (e->high_is_nan || (code & 7) == 0)) {
        return 0x7fc00000;
    }
    const uint32_t y = s == 255 ? sign | 0x7f800000 : ocp_f32(code, s);
    return e->clamps && (y & 0x7fffffff) == 0x7f800000 ? y - 1 : y;
}

START_TEST(rules_differ_from_ocp_at_the_ends_only)
{
    const rule_ends *e = &ends[_i];

    for (uint32_t i = 0; i < 4096; i++) {
        const uint32_t want = by_ends(e, i % 16, i / 16);
        ck_assert_msg((e->to & 1) == 0 ||
                          product(e->rule, MXO_FMT_F32, i) == want,
                      "rule %d code %u scale %u", e->rule, i % 16, i / 16);
        /* Infinity less one is the largest finite number in both. */
        ck_assert_msg((e->to & 2) == 0 ||
                          product(e->rule, MXO_FMT_BF16, i) == want >> 16,
                      "rule %d code %u scale %u", e->rule, i % 16, i / 16);
    }
}
END_TEST

START_TEST(ggml_reads_byte_255_as_a_power)
{
    for (uint32_t i = 0; i < 4096; i++) {
        const uint32_t code = i % 16;
        const uint32_t h = halves[code & 7];
        const uint32_t want =
            h == 0 ? 0 /* the table holds integers: no -0 */
                   : code >> 3 << 31 | f32_of(h, (int)(i / 16) - 128);
        ck_assert_msg(product(MXO_DEQUANT_GGML, MXO_FMT_F32, i) == want,
                      "code %u scale %u", code, i / 16);
    }
}
END_TEST

START_TEST(vllm_cpu_wraps_the_exponent_field)
{
    const mxo_dequant_rule rule = MXO_DEQUANT_VLLM_CPU;
    const mxo_format to = MXO_FMT_BF16;

    ck_assert_uint_eq(mxo_dequant_mx(rule, MXO_FMT_E2M1, to, 1, 0), 0xff80);
    ck_assert_uint_eq(mxo_dequant_mx(rule, MXO_FMT_E2M1, to, 7, 254), 0x8040);
    ck_assert_uint_eq(mxo_dequant_mx(rule, MXO_FMT_E2M1, to, 8, 77), 0);
    for (uint32_t s = 2; s <= 252; s++) {
        for (uint32_t code = 1; code < 16; code++) {
            ck_assert_msg(code == 8 || product(rule, to, 16 * s + code) ==
                                           ocp_f32(code, s) >> 16,
                          "code %u scale %u", code, s);
        }
    }
}
END_TEST

typedef struct f16_case {
    mxo_dequant_rule rule;
    uint8_t code;
    uint8_t scale;
    uint32_t want;
} f16_case;

START_TEST(rounding_the_scale_to_f16_first_shows)
{
    static const f16_case cases[] = {
        {MXO_DEQUANT_OCP, 1, 143, 0x7800},             /* 32768 */
        {MXO_DEQUANT_TRITON35_TORCH, 1, 143, 0x7800},  /* reference */
        {MXO_DEQUANT_TRITON35_KERNEL, 1, 143, 0x7c00}, /* Inf * 0.5 */
        {MXO_DEQUANT_TRITON36_KERNEL, 1, 143, 0x7bff},
        {MXO_DEQUANT_TRITON35_TORCH, 7, 102, 3},
        {MXO_DEQUANT_TRITON35_KERNEL, 7, 102, 0},
        {MXO_DEQUANT_TRITON36_TORCH, 15, 255, 0xfbff},
        {MXO_DEQUANT_TRITON36_TORCH, 8, 255, 0x7e00},
        {MXO_DEQUANT_QUARK_HIP, 1, 143, 0x7400}, /* scale stays 2^15 */
        {MXO_DEQUANT_QUARK_HIP, 2, 255, 0x7800},
        {MXO_DEQUANT_QUARK_HIP, 7, 102, 0},
        {MXO_DEQUANT_QUARK_HIP, 0, 255, 0},
        {MXO_DEQUANT_QUARK_TRITON, 0, 143, 0x7e00}, /* Inf * 0 */
        {MXO_DEQUANT_QUARK_TRITON, 9, 143, 0xfc00},
        {MXO_DEQUANT_LDEXP, 0, 200, 0x7e00},
    };
    const f16_case *c = &cases[_i];

    ck_assert_uint_eq(
        mxo_dequant_mx(c->rule, MXO_FMT_E2M1, MXO_FMT_F16, c->code, c->scale),
        c->want);
}
END_TEST

START_TEST(other_elements_keep_their_specials)
{
    const mxo_dequant_rule ocp = MXO_DEQUANT_OCP;

    ck_assert_uint_eq(
        mxo_dequant_mx(ocp, MXO_FMT_E4M3FN, MXO_FMT_F32, 0x7f, 127),
        0x7fc00000);
    ck_assert_uint_eq(mxo_dequant_mx(ocp, MXO_FMT_E5M2, MXO_FMT_BF16, 0xfc, 3),
                      0xff80);
    ck_assert_uint_eq(mxo_dequant_mx(ocp, MXO_FMT_INT8, MXO_FMT_F32, 0x80, 128),
                      0xc0800000);
    ck_assert_uint_eq(
        mxo_dequant_mx(ocp, MXO_FMT_E4M3FN, MXO_FMT_BF16, 0x01, 0), 0x0000);
    ck_assert_uint_eq(mxo_dequant_mx(ocp, MXO_FMT_E4M3FN, MXO_FMT_F32, 0x01, 0),
                      0x00002000);
}
END_TEST

/* 1.125 times f32: 1.125 f32 lies within half a unit of binary32 beside a tie
   of bfloat16, on the side of once; through binary32 it lands on the tie. */
typedef struct near_tie {
    uint32_t f32;
    uint32_t once;
    uint32_t twice;
} near_tie;

static const near_tie near_ties[] = {
    {0x3f815555, 0x3f91, 0x3f92},
    {0x3f8238e4, 0x3f93, 0x3f92},
    {0x3f84e38e, 0x3f95, 0x3f96},
    {0x3f878e39, 0x3f99, 0x3f98},
};

START_TEST(group_products_round_to_f32_and_then_again)
{
    const near_tie *n = &near_ties[_i];

    ck_assert_uint_eq(
        mxo_dequant_group(MXO_FMT_E4M3FN, MXO_FMT_BF16, 0x39, n->f32),
        n->twice);
}
END_TEST

START_TEST(nvfp4_rounds_the_product_of_three_once)
{
    const near_tie *n = &near_ties[_i];

    ck_assert_uint_eq(mxo_dequant_nvfp4(MXO_FMT_BF16, 2, 0x39, n->f32),
                      n->once);
}
END_TEST

START_TEST(group_values)
{
    ck_assert_uint_eq(
        mxo_dequant_group(MXO_FMT_E2M1, MXO_FMT_F32, 7, 0x3faaaaab),
        0x41000000); /* 6 * 1.33333337 = 8.0000002, a tie to even */
    ck_assert_uint_eq(
        mxo_dequant_group(MXO_FMT_E2M1, MXO_FMT_F32, 0, 0xff800000),
        0x7fc00000);
    ck_assert_uint_eq(
        mxo_dequant_group(MXO_FMT_E4M3FN, MXO_FMT_F16, 0x7e, 0x45000000),
        0x7c00); /* 448 * 2048 */
    ck_assert_uint_eq(
        mxo_dequant_group(MXO_FMT_E4M3FNUZ, MXO_FMT_F32, 0x80, 0x3f800000),
        0x7fc00000);
}
END_TEST

START_TEST(nvfp4_values)
{
    /* 6 * 448 * 1, with and without the scale's sign bit */
    ck_assert_uint_eq(mxo_dequant_nvfp4(MXO_FMT_F32, 7, 0x7e, 0x3f800000),
                      0x45280000);
    ck_assert_uint_eq(mxo_dequant_nvfp4(MXO_FMT_F32, 7, 0xfe, 0x3f800000),
                      0x45280000);
    ck_assert_uint_eq(mxo_dequant_nvfp4(MXO_FMT_BF16, 7, 0x7f, 0x3f800000),
                      0x7fc0);
    ck_assert_uint_eq(mxo_dequant_nvfp4(MXO_FMT_F32, 0, 0x38, 0x7f800000),
                      0x7fc00000);
    ck_assert_uint_eq(mxo_dequant_nvfp4(MXO_FMT_F32, 9, 0x38, 0x7f7fffff),
                      0xfeffffff);
}
END_TEST

START_TEST(rules_name_what_they_turn_into_what)
{
    ck_assert(mxo_dequant_rule_has(MXO_DEQUANT_OCP, MXO_FMT_E5M2, MXO_FMT_F16));
    ck_assert(
        !mxo_dequant_rule_has(MXO_DEQUANT_MARLIN, MXO_FMT_E2M1, MXO_FMT_F16));
    ck_assert(!mxo_dequant_rule_has(MXO_DEQUANT_VLLM_CPU, MXO_FMT_E4M3FN,
                                    MXO_FMT_BF16));
    ck_assert(
        !mxo_dequant_rule_has(MXO_DEQUANT_OCP, MXO_FMT_E2M1, MXO_FMT_E4M3FN));
    ck_assert_int_eq(mxo_dequant_rule_by_name("marlin"), MXO_DEQUANT_MARLIN);
    ck_assert_int_eq(mxo_dequant_rule_by_name(""), MXO_N_DEQUANT_RULES);
}
END_TEST

Suite *suite_dequant_product(void);
Suite *suite_dequant_product(void)
{
    Suite *s = suite_create("dequant_product");
    TCase *t = tcase_create("product");

    tcase_add_test(t, ocp_is_exact_in_f32_and_bf16);
    tcase_add_test(t, f16_follows_the_table_of_limits);
    tcase_add_test(t, f16_rounds_three_halves_of_the_smallest_to_even);
    tcase_add_loop_test(t, f32_and_bf16_have_8_subnormals_and_12_overflows, 0,
                        2);
    tcase_add_loop_test(t, rules_differ_from_ocp_at_the_ends_only, 0,
                        sizeof ends / sizeof ends[0]);
    tcase_add_test(t, ggml_reads_byte_255_as_a_power);
    tcase_add_test(t, vllm_cpu_wraps_the_exponent_field);
    tcase_add_loop_test(t, rounding_the_scale_to_f16_first_shows, 0, 15);
    tcase_add_test(t, other_elements_keep_their_specials);
    tcase_add_loop_test(t, group_products_round_to_f32_and_then_again, 0, 4);
    tcase_add_loop_test(t, nvfp4_rounds_the_product_of_three_once, 0, 4);
    tcase_add_test(t, group_values);
    tcase_add_test(t, nvfp4_values);
    tcase_add_test(t, rules_name_what_they_turn_into_what);
    suite_add_tcase(s, t);
    return s;
}
