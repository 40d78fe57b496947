/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact register against sums that are known by hand, and the block paths
 * against adding every product on its own.
 */
#include <dot/dot.h>

#include <check.h>
#include <string.h>

static mxo_real f32(uint32_t code)
{
    return mxo_format_decode(MXO_FMT_F32, code);
}

static mxo_real power(int exp, int neg)
{
    const mxo_real x = {1, exp, MXO_CLASS_FINITE, (uint8_t)neg, 0};

    return x;
}

static uint32_t sum_f32(const uint32_t *codes, int n)
{
    mxo_dot d;

    mxo_dot_reset(&d);
    for (int i = 0; i < n; i++) {
        mxo_dot_add(&d, f32(codes[i]));
    }
    return (uint32_t)mxo_dot_round(&d, MXO_FMT_F32);
}

START_TEST(nothing_added_is_plus_zero)
{
    const uint32_t zeros[] = {0x80000000, 0x80000000};

    ck_assert_uint_eq(sum_f32(NULL, 0), 0);
    ck_assert_uint_eq(sum_f32(zeros, 2), 0);
}
END_TEST

START_TEST(cancellation_over_the_whole_range_is_exact)
{
    mxo_dot d;

    mxo_dot_reset(&d);
    mxo_dot_add(&d, power(500, 0));
    mxo_dot_add(&d, power(-552, 1));
    mxo_dot_add(&d, power(500, 1));
    const mxo_real x = mxo_dot_value(&d);
    ck_assert_int_eq(mxo_real_lg(x), -552);
    ck_assert_uint_eq(x.neg, 1);
    ck_assert_uint_eq(x.sticky, 0);
}
END_TEST

/* 1 + 2^-24 is a tie, to even: 1.  Any bit far below decides it. */
START_TEST(one_bit_far_below_decides_a_tie)
{
    const uint32_t up[] = {0x3f800000, 0x33800000, 0x00000001};
    const uint32_t down[] = {0x3f800000, 0x33800000, 0x80000001};

    ck_assert_uint_eq(sum_f32(up, 2), 0x3f800000);
    ck_assert_uint_eq(sum_f32(up, 3), 0x3f800001);
    ck_assert_uint_eq(sum_f32(down, 3), 0x3f800000);
}
END_TEST

START_TEST(borrows_cross_many_lanes)
{
    mxo_dot d;

    mxo_dot_reset(&d);
    mxo_dot_add(&d, power(100, 0));
    mxo_dot_add(&d, power(-100, 1)); /* 2^100 - 2^-100: 200 ones */
    const mxo_real x = mxo_dot_value(&d);
    ck_assert_uint_eq(x.mant, UINT64_MAX);
    ck_assert_int_eq(x.exp, 36);
    ck_assert_uint_eq(x.sticky, 1);
}
END_TEST

START_TEST(specials_follow_ieee)
{
    const uint32_t inf[] = {0x7f800000, 0x3f800000};
    const uint32_t both[] = {0x7f800000, 0xff800000};
    const uint32_t nan[] = {0x7f800001, 0x3f800000};

    ck_assert_uint_eq(sum_f32(inf, 2), 0x7f800000);
    ck_assert_uint_eq(sum_f32(both + 1, 1), 0xff800000);
    ck_assert_uint_eq(sum_f32(both, 2) & 0x7fffffff, 0x7fc00000);
    ck_assert_uint_eq(sum_f32(nan, 2) & 0x7fffffff, 0x7fc00000);
}
END_TEST

START_TEST(scale_multiplies_before_the_rounding)
{
    mxo_dot d;

    mxo_dot_reset(&d);
    mxo_dot_add(&d, f32(0x3f800000));
    mxo_dot_add(&d, power(-24, 0));
    mxo_dot_scale(&d, f32(0xc0400000)); /* -3 (1 + 2^-24) */
    mxo_dot_add(&d, f32(0x40400000));
    ck_assert_uint_eq((uint32_t)mxo_dot_round(&d, MXO_FMT_F32), 0xb4400000);
}
END_TEST

/* A small generator of its own: the test must not share the judge's. */
static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

enum { K = 100 };

typedef struct operands {
    uint8_t w[K / 2];
    uint8_t w_scale[4];
    uint32_t a[K];
} operands;

/* Activations whose exponents spread over so many binades. */
static void fill(operands *o, uint32_t seed, uint32_t spread)
{
    for (int i = 0; i < K / 2; i++) {
        o->w[i] = (uint8_t)next(&seed);
    }
    for (int i = 0; i < 4; i++) {
        o->w_scale[i] = (uint8_t)(next(&seed) % 255);
    }
    for (int i = 0; i < K; i++) {
        const uint32_t sign = next(&seed) << 31;
        const uint32_t field = 127 - spread / 2 + next(&seed) % spread;
        o->a[i] = sign | field << 23 | (next(&seed) & 0x7fffff);
    }
}

static void check_paths_agree(const operands *o, const char *what)
{
    const mxo_dot_matrix a = {MXO_FMT_F32, o->a, NULL, K};
    const mxo_dot_matrix w = {MXO_FMT_E2M1, o->w, o->w_scale, K};
    const mxo_dot_rect one = {0, 0, 1, 1};
    mxo_dot tile;
    mxo_dot tile_abs;
    mxo_dot plain;
    mxo_dot plain_abs;

    mxo_dot_reset(&tile);
    mxo_dot_reset(&tile_abs);
    mxo_dot_reset(&plain);
    mxo_dot_reset(&plain_abs);
    mxo_dot_tile(&tile, &tile_abs, &a, &w, one);
    for (int i = K - 1; i >= 0; i--) {
        mxo_real p = mxo_real_mul(mxo_dot_element(&a, 0, (uint64_t)i),
                                  mxo_dot_element(&w, 0, (uint64_t)i));
        mxo_dot_add(&plain, p);
        p.neg = 0;
        mxo_dot_add(&plain_abs, p);
    }
    ck_assert_msg(mxo_dot_round(&tile, MXO_FMT_F64) ==
                      mxo_dot_round(&plain, MXO_FMT_F64),
                  "%s: the sums differ", what);
    ck_assert_msg(mxo_dot_round(&tile_abs, MXO_FMT_F64) ==
                      mxo_dot_round(&plain_abs, MXO_FMT_F64),
                  "%s: the sums of magnitudes differ", what);
}

START_TEST(blocks_sum_as_single_products_do)
{
    operands o;

    fill(&o, 1, 1);
    check_paths_agree(&o, "one binade");
    fill(&o, 2, 7);
    check_paths_agree(&o, "31 bits, three planes");
    fill(&o, 3, 12);
    check_paths_agree(&o, "loose");
    fill(&o, 6, 40);
    check_paths_agree(&o, "planes in two parts");
    fill(&o, 7, 1);
    for (int i = 0; i < K; i += 3) {
        o.a[i] ^= UINT32_C(0x30000000); /* by 2^-96 */
    }
    check_paths_agree(&o, "planes with a gap");
    fill(&o, 4, 250);
    check_paths_agree(&o, "every binade");
    memset(o.a, 0, sizeof o.a);
    check_paths_agree(&o, "zeros");
    o.a[40] = 0xff800000;
    o.w[20] = 0x02;
    check_paths_agree(&o, "infinity");
}
END_TEST

START_TEST(scale_byte_255_makes_the_sum_a_nan)
{
    operands o;
    const mxo_dot_matrix a = {MXO_FMT_F32, o.a, NULL, K};
    const mxo_dot_matrix w = {MXO_FMT_E2M1, o.w, o.w_scale, K};
    const mxo_dot_rect one = {0, 0, 1, 1};
    mxo_dot d;

    fill(&o, 5, 3);
    o.w_scale[3] = 255; /* of the short block */
    mxo_dot_reset(&d);
    mxo_dot_tile(&d, NULL, &a, &w, one);
    ck_assert_int_eq(mxo_dot_value(&d).cls, MXO_CLASS_NAN);
}
END_TEST

/* The 16 products of a code with itself, by the table of squares. */
START_TEST(e2m1_codes_are_doubled_integers)
{
    static const uint64_t quarters[8] = {0, 1, 4, 9, 16, 36, 64, 144};
    uint8_t code[16];
    const mxo_dot_matrix m = {MXO_FMT_E2M1, code, NULL, 32};

    for (unsigned c = 0; c < 16; c++) {
        mxo_dot_block x;
        mxo_dot d;
        memset(code, 0, sizeof code);
        code[15] = (uint8_t)(c << 4);
        mxo_dot_load(&x, &m, 0, 0);
        mxo_dot_reset(&d);
        mxo_dot_mac(&d, &x, &x);
        const mxo_real got = mxo_dot_value(&d);
        const uint64_t value =
            got.cls == MXO_CLASS_ZERO ? 0 : got.mant >> (-2 - got.exp);
        ck_assert_msg(value == quarters[c & 7], "code %u", c);
    }
}
END_TEST

/* Each code in each place of a block, times 1: half the doubled integer. */
START_TEST(e2m1_codes_keep_place_and_sign)
{
    static const uint32_t value[8] = {0,          0x3f000000, 0x3f800000,
                                      0x3fc00000, 0x40000000, 0x40400000,
                                      0x40800000, 0x40c00000};

    for (unsigned c = 0; c < 16 * 32; c++) {
        const unsigned place = c / 16;
        const unsigned code = c % 16;
        uint8_t codes[16] = {0};
        uint32_t ones[32] = {0};
        const mxo_dot_matrix w = {MXO_FMT_E2M1, codes, NULL, 32};
        const mxo_dot_matrix a = {MXO_FMT_F32, ones, NULL, 32};
        const uint32_t sign =
            (code & 8) != 0 && (code & 7) != 0 ? 0x80000000 : 0;
        mxo_dot d;

        codes[place / 2] = (uint8_t)(code << 4 * (place % 2));
        ones[place] = 0x3f800000;
        mxo_dot_reset(&d);
        mxo_dot_tile(&d, NULL, &a, &w, (mxo_dot_rect){0, 0, 1, 1});
        ck_assert_msg(mxo_dot_round(&d, MXO_FMT_F32) ==
                          (value[code & 7] | sign),
                      "code %u in place %u", code, place);
    }
}
END_TEST

/* Blocks of zeros meet all others. */
START_TEST(zeros_beside_infinities_are_nan)
{
    const uint8_t codes[16] = {0};
    uint32_t a[32] = {[7] = 0x7f800000};
    const mxo_dot_matrix w = {MXO_FMT_E2M1, codes, NULL, 32};
    const mxo_dot_matrix x = {MXO_FMT_F32, a, NULL, 32};
    mxo_dot d;

    mxo_dot_reset(&d);
    mxo_dot_tile(&d, NULL, &x, &w, (mxo_dot_rect){0, 0, 1, 1});
    ck_assert_int_eq(mxo_dot_value(&d).cls, MXO_CLASS_NAN);
}
END_TEST

Suite *suite_dot(void);

Suite *suite_dot(void)
{
    Suite *s = suite_create("dot");
    TCase *sum = tcase_create("sum");
    TCase *block = tcase_create("block");

    tcase_add_test(sum, nothing_added_is_plus_zero);
    tcase_add_test(sum, cancellation_over_the_whole_range_is_exact);
    tcase_add_test(sum, one_bit_far_below_decides_a_tie);
    tcase_add_test(sum, borrows_cross_many_lanes);
    tcase_add_test(sum, specials_follow_ieee);
    tcase_add_test(sum, scale_multiplies_before_the_rounding);
    tcase_add_test(block, blocks_sum_as_single_products_do);
    tcase_add_test(block, scale_byte_255_makes_the_sum_a_nan);
    tcase_add_test(block, e2m1_codes_are_doubled_integers);
    tcase_add_test(block, e2m1_codes_keep_place_and_sign);
    tcase_add_test(block, zeros_beside_infinities_are_nan);
    suite_add_tcase(s, sum);
    suite_add_tcase(s, block);
    return s;
}
