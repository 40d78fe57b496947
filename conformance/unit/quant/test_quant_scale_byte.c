/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scale rules against thresholds.  amax = 2^k * m with the fraction m known as
 * an integer, so every rule is a comparison of integers: for E2M1, for example,
 * RCEIL is k - 2, one more above m = 1.5.  No code under test takes part in an
 * expected value.
 */
#include <mxoracle/quant.h>

#include <check.h>

static int byte_of(const char *rule, mxo_format element, uint32_t amax)
{
    const mxo_quant_rule *row = mxo_quant_rule_by_name(rule);

    ck_assert_msg(row != NULL, "no rule %s", rule);
    return mxo_quant_scale_byte(row, element, amax);
}

static void expect(const char *rule, mxo_format element, uint32_t amax,
                   int want)
{
    const int got = byte_of(rule, element, amax);

    ck_assert_msg(got == want, "%s of %s, amax %08x: got %d want %d", rule,
                  mxo_format_info(element)->name, (unsigned)amax, got, want);
}

/* A format as this suite sees it: max = 2^emax * max_m / 2^23. */
typedef struct element {
    mxo_format format;
    int emax;
    uint32_t max_fraction; /* mantissa bits of the largest value */
    uint32_t even_up;      /* mantissa from which EVEN moves up */
} element;

static const element elements[] = {
    {MXO_FMT_E2M1, 2, 0x400000, 0x600000},   /* 1.5    1.75 */
    {MXO_FMT_E2M3, 2, 0x700000, 0x780000},   /* 1.875  1.9375 */
    {MXO_FMT_E3M2, 4, 0x600000, 0x700000},   /* 1.75   1.875 */
    {MXO_FMT_E4M3FN, 8, 0x600000, 0x780000}, /* 448 = 1.75 * 2^8 */
    {MXO_FMT_E4M3FNUZ, 7, 0x700000, 0x780000},
    {MXO_FMT_E5M2, 15, 0x600000, 0x700000},
};

static int limit(int byte)
{
    return byte < 0 ? 0 : byte > 254 ? 254 : byte;
}

/* Field f of a normal amax with mantissa m; every rule of the tables. */
static void expect_normal(const element *e, uint32_t f, uint32_t m)
{
    const uint32_t amax = f << 23 | m;
    const int low = (int)f - e->emax;
    const int above = m > e->max_fraction;
    const int below = m < e->max_fraction;

    expect("floor", e->format, amax, limit(low));
    expect("ceil", e->format, amax, limit(low + (m != 0)));
    expect("even", e->format, amax, limit(low + (m >= e->even_up)));
    expect("floor_nooffset", e->format, amax, limit((int)f));
    if (low - below < 1) {
        return; /* a subnormal quotient: tested one by one below */
    }
    expect("rceil", e->format, amax, limit(low + above));
    expect("rceil_div", e->format, amax, limit(low + above));
    expect("rceil_exact", e->format, amax, limit(low + above));
    expect("vllm_torch_ceil", e->format, amax, limit(low + above));
    expect("floor_div", e->format, amax, limit(low - below));
    expect("flashinfer", e->format, amax, limit(low + above));
    expect("triton36_up", e->format, amax, limit(low + above));
    expect("triton35_down", e->format, amax, limit(low - below));
    expect("triton36_down", e->format, amax, limit(low));
}

START_TEST(normal_maxima_follow_the_thresholds)
{
    const element *e = &elements[_i];
    const uint32_t edges[] = {0, e->max_fraction, e->even_up, 0x800000};

    for (uint32_t f = 1; f < 255; f++) {
        for (int at = 0; at < 4; at++) {
            for (int step = -1; step <= 1; step++) {
                const uint32_t m = (edges[at] + (uint32_t)step) & 0x7fffff;
                expect_normal(e, f, m);
            }
        }
    }
}
END_TEST

START_TEST(the_fraction_steps_through_one_binade)
{
    const element *e = &elements[_i];

    for (uint32_t m = 0; m < 0x800000; m += 0x3fd) {
        expect_normal(e, 130, m);
    }
}
END_TEST

/* Leading bit of a product of two 24-bit mantissas rounded to 24 bits. */
static int rounded_lg(uint64_t product)
{
    const int high = product >> 47 != 0;
    const uint64_t half = (uint64_t)1 << (22 + high);
    const uint64_t tie = (product & (2 * half - 1)) == half;
    const uint64_t sum = product + half - tie; /* ties never carry here */

    return sum >> 48 ? 48 : sum >> 47 ? 47 : 46;
}

/*
 * floor_mul by the product of mantissas: RN32(1/6) = 3e2aaaab, RN32(1/448) =
 * 3b124925.  For 448 the largest amax below 448 * 2^k already rounds to 2^k.
 */
START_TEST(floor_mul_is_the_rounded_product)
{
    for (uint32_t m = 0; m < 0x800000;
         m += m < 0x5ffff0 || m > 0x600010 ? 0x1f7 : 1) {
        const uint64_t a = 0x800000 | m;

        expect("floor_mul", MXO_FMT_E2M1, (uint32_t)130 << 23 | m,
               130 - 49 + rounded_lg(a * 0xaaaaab));
        expect("floor_mul", MXO_FMT_E4M3FN, (uint32_t)130 << 23 | m,
               130 - 55 + rounded_lg(a * 0x924925));
    }
    expect("floor_mul", MXO_FMT_E4M3FN, 0x415fffff, 122);
    expect("floor_div", MXO_FMT_E4M3FN, 0x415fffff, 121);
}
END_TEST

/* docs/ops/quant.scale.md, Example. */
START_TEST(the_worked_example_holds)
{
    const uint32_t seven = 0x40e00000;
    const uint32_t six = 0x40c00000;

    expect("floor", MXO_FMT_E2M1, seven, 127);
    expect("ceil", MXO_FMT_E2M1, seven, 128);
    expect("rceil", MXO_FMT_E2M1, seven, 128);
    expect("even", MXO_FMT_E2M1, seven, 128);
    expect("floor_div", MXO_FMT_E2M1, seven, 127);
    expect("floor_nooffset", MXO_FMT_E2M1, seven, 129);
    expect("floor", MXO_FMT_E2M1, six, 127);
    expect("ceil", MXO_FMT_E2M1, six, 128);
    expect("rceil", MXO_FMT_E2M1, six, 127);
    expect("even", MXO_FMT_E2M1, six, 127);
}
END_TEST

START_TEST(a_zero_block_is_byte_zero_but_for_the_floors)
{
    expect("floor", MXO_FMT_E2M1, 0, 0);
    expect("rceil", MXO_FMT_E4M3FN, 0, 0);
    expect("flashinfer", MXO_FMT_E4M3FN, 0, 0);
    expect("triton35_up", MXO_FMT_E2M1, 0, 0);
    expect("aiter_hip_roundup", MXO_FMT_E2M1, 0, 0);
    expect("ggml", MXO_FMT_E2M1, 0, 0);
    expect("quark_triton", MXO_FMT_E2M1, 0, 0);
    expect("vllm_torch", MXO_FMT_E4M3FN, 0, 1);
    expect("vllm_torch_ceil", MXO_FMT_E4M3FN, 0, 0);
    expect("deepgemm", MXO_FMT_E4M3FN, 0, 105);
    expect("deepgemm", MXO_FMT_E2M1, 0, 112);
    expect("vllm_group", MXO_FMT_E4M3FN, 0, 94);
    expect("deepgemm_mega", MXO_FMT_E4M3FN, 0, 0);
}
END_TEST

/*
 * Quotients of 3 * 2^-128 / 6 = 2^-129 and so on: up to 2^-127 PTX's ceiling
 * says 0 and above it 1; vendors that look at mantissa bits say 1 for all.
 */
START_TEST(subnormal_quotients_split_the_round_up_rules)
{
    const uint32_t half = 0x00c00000;  /* 1.5 * 2^-126 = 6 * 2^-128 */
    const uint32_t exact = 0x01400000; /* 1.5 * 2^-125 = 6 * 2^-127 */

    expect("rceil", MXO_FMT_E2M1, half, 0);
    expect("rceil_exact", MXO_FMT_E2M1, half, 0);
    expect("torchao_rceil", MXO_FMT_E2M1, half, 0);
    expect("aiter_torch_roundup", MXO_FMT_E2M1, half, 1);
    expect("aiter_hip_roundup", MXO_FMT_E2M1, half, 1);
    expect("triton35_up", MXO_FMT_E2M1, half, 1);
    expect("flashinfer", MXO_FMT_E2M1, half, 0); /* flushed */
    expect("rceil", MXO_FMT_E2M1, exact, 0);
    expect("rceil_exact", MXO_FMT_E2M1, exact + 1, 1);
    expect("rceil", MXO_FMT_E2M1, exact + 2, 1);
    expect("triton35_down", MXO_FMT_E2M1, exact, 0);
}
END_TEST

START_TEST(subnormal_maxima_give_the_smallest_bytes)
{
    for (int bit = 0; bit < 23; bit++) {
        const uint32_t amax = (uint32_t)1 << bit;

        expect("floor", MXO_FMT_E2M1, amax, 0);
        expect("ceil", MXO_FMT_E2M1, amax, 0);
        expect("even", MXO_FMT_E2M1, amax, 0);
        expect("rceil", MXO_FMT_E2M1, amax, 0);
        expect("flashinfer", MXO_FMT_E2M1, amax, 0);
        expect("vllm_torch", MXO_FMT_E4M3FN, amax, 1);
        expect("vllm_torch_ceil", MXO_FMT_E4M3FN, amax, 0);
        /* amax / 4 in binary32: 1/4 and 1/2 of the last place become 0 */
        expect("aiter_hip_ceil", MXO_FMT_E2M1, amax, bit >= 2);
    }
}
END_TEST

typedef struct corner {
    const char *rule;
    int nan, inf, carry; /* carry: amax = 1.75 * 2^127, E2M1 */
} corner;

static const corner corners[] = {
    {"floor", 255, 255, 252},          {"even", 255, 255, 253},
    {"rceil", 255, 255, 253},          {"torchao_rceil", 255, 255, 253},
    {"flashinfer", 255, 254, 253},     {"triton35_up", 0, 255, 253},
    {"triton35_down", 255, 255, 252},  {"triton36_up", 0, 255, 253},
    {"triton36_down", 255, 255, 252},  {"aiter_torch_even", 255, 255, 255},
    {"aiter_hip_even", 255, 254, 254}, {"aiter_hip_even_helper", 255, 253, 253},
    {"aiter_dynamic", 254, 254, 254},  {"vllm_torch", 0, 254, 254},
    {"vllm_torch_ceil", 0, 254, 253},  {"vllm_cuda", 255, 255, 252},
    {"quark_triton", 254, 254, 254},   {"deepgemm", 254, 254, 253},
    {"vllm_group", 255, 255, 253},
};

START_TEST(nan_infinity_and_carry_bytes_are_the_documented_ones)
{
    const corner *c = &corners[_i];

    expect(c->rule, MXO_FMT_E2M1, 0x7fc00000, c->nan);
    expect(c->rule, MXO_FMT_E2M1, 0x7f800000, c->inf);
    expect(c->rule, MXO_FMT_E2M1, 0x7f600000, c->carry);
}
END_TEST

/* MXINT8: max 127/64 = 1.984375, six fraction bits, emax 0. */
START_TEST(int8_counts_as_six_fraction_bits)
{
    const uint32_t max = 0x3ffe0000;
    const mxo_quant_rule *rceil = mxo_quant_rule_by_name("rceil");
    const mxo_quant_rule *even = mxo_quant_rule_by_name("even");
    const mxo_quant_rule *ceil = mxo_quant_rule_by_name("ceil");

    ck_assert_int_eq(mxo_quant_scale_byte(rceil, MXO_FMT_INT8, max), 127);
    ck_assert_int_eq(mxo_quant_scale_byte(rceil, MXO_FMT_INT8, max + 2), 128);
    ck_assert_int_eq(mxo_quant_scale_byte(even, MXO_FMT_INT8, 0x3ffeffff), 127);
    ck_assert_int_eq(mxo_quant_scale_byte(even, MXO_FMT_INT8, 0x3fff0000), 128);
    ck_assert_int_eq(mxo_quant_scale_byte(ceil, MXO_FMT_INT8, 0x7f000001), 254);
    ck_assert_int_eq(mxo_quant_scale_byte(even, MXO_FMT_INT8, 0x7f7fffff), 254);
}
END_TEST

/* vLLM takes 224 for E4M3FNUZ, AITER 240. */
START_TEST(vllm_uses_224_for_fnuz)
{
    expect("vllm_group", MXO_FMT_E4M3FNUZ, 0x43600000, 127); /* 224 */
    expect("vllm_group", MXO_FMT_E4M3FNUZ, 0x43600001, 128);
    expect("aiter_torch_roundup", MXO_FMT_E4M3FNUZ, 0x43700000, 127);
    expect("aiter_torch_roundup", MXO_FMT_E4M3FNUZ, 0x43700001, 128);
}
END_TEST

Suite *suite_quant_scale_byte(void);
Suite *suite_quant_scale_byte(void)
{
    const int n_elements = (int)(sizeof elements / sizeof elements[0]);
    const int n_corners = (int)(sizeof corners / sizeof corners[0]);
    Suite *s = suite_create("quant_scale_byte");
    TCase *t = tcase_create("mxo_quant_scale_byte");

    tcase_add_loop_test(t, normal_maxima_follow_the_thresholds, 0, n_elements);
    tcase_add_loop_test(t, the_fraction_steps_through_one_binade, 0,
                        n_elements);
    tcase_add_test(t, floor_mul_is_the_rounded_product);
    tcase_add_test(t, the_worked_example_holds);
    tcase_add_test(t, a_zero_block_is_byte_zero_but_for_the_floors);
    tcase_add_test(t, subnormal_quotients_split_the_round_up_rules);
    tcase_add_test(t, subnormal_maxima_give_the_smallest_bytes);
    tcase_add_loop_test(t, nan_infinity_and_carry_bytes_are_the_documented_ones,
                        0, n_corners);
    tcase_add_test(t, int8_counts_as_six_fraction_bits);
    tcase_add_test(t, vllm_uses_224_for_fnuz);
    suite_add_tcase(s, t);
    return s;
}
