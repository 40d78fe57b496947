/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one encoding algorithm against a second one that knows no exponents:
 * all values of a format as integers, and a search for the nearest.
 */
#include <mxoracle/format.h>

#include <check.h>

enum { UNIT = -40, N_SMALL = MXO_FMT_BF16 };

static uint64_t encode(mxo_format format, uint32_t f32, mxo_tie tie, int sat)
{
    const mxo_rounding r = {(uint8_t)tie, (uint8_t)sat, 0, 0};

    return mxo_format_encode(format, mxo_format_decode(MXO_FMT_F32, f32), r);
}

/* Value of a magnitude code, by the field formula, in units of 2^UNIT.  The
   code above the largest finite one is the number that would come next. */
static int64_t value_of(const mxo_format_spec *f, uint64_t code)
{
    const uint64_t field = code >> f->mbits;
    const uint64_t fraction = code & ((1u << f->mbits) - 1);
    const int64_t mant =
        (int64_t)(field == 0 ? fraction : fraction | 1u << f->mbits);
    const int exp = (int)(field == 0 ? 1 : field) - f->bias - f->mbits;

    return mant << (exp - UNIT);
}

/* Nearest magnitude code by search; above the largest means overflow. */
static uint64_t search(const mxo_format_spec *f, int64_t x, mxo_tie tie)
{
    uint64_t below = 0;

    while (below <= f->max && value_of(f, below + 1) <= x) {
        below++;
    }
    const int64_t down = x - value_of(f, below);
    const int64_t up = value_of(f, below + 1) - x;

    if (down == 0 || tie == MXO_TIE_RZ || down < up) {
        return below;
    }
    if (up < down || tie == MXO_TIE_RNA) {
        return below + 1;
    }
    return tie == MXO_TIE_RNZ ? below : below + below % 2;
}

static uint64_t expected(const mxo_format_spec *f, int64_t x, int neg,
                         mxo_tie tie, int sat)
{
    const int width = f->ebits + f->mbits;
    uint64_t code = search(f, x, tie);

    if (code > f->max) {
        code = sat || f->special == MXO_SPECIAL_NONE || tie == MXO_TIE_RZ
                   ? f->max
               : f->special == MXO_SPECIAL_FNUZ ? 0
                                                : f->max + 1;
        if (code == 0) {
            return 1u << width; /* the NaN of FNUZ */
        }
    }
    if (f->special == MXO_SPECIAL_FNUZ && code == 0) {
        return 0;
    }
    return code | (uint64_t)(neg && (x != 0 || code == 0)) << width;
}

static void check_point(mxo_format format, int64_t x, mxo_tie tie)
{
    const mxo_format_spec *f = mxo_format_info(format);

    for (int i = 0; i < 4; i++) {
        const mxo_real real = {(uint64_t)x, UNIT,
                               x == 0 ? MXO_CLASS_ZERO : MXO_CLASS_FINITE,
                               (uint8_t)(i & 1), 0};
        const mxo_rounding r = {(uint8_t)tie, (uint8_t)(i >> 1), 0, 0};
        const uint64_t got = mxo_format_encode(format, real, r);
        const uint64_t want = expected(f, x, i & 1, tie, i >> 1);
        ck_assert_msg(got == want,
                      "%s %s%lld * 2^-40 rule %d sat %d: 0x%02llx not 0x%02llx",
                      f->name, (i & 1) != 0 ? "-" : "", (long long)x, tie,
                      i >> 1, (unsigned long long)got,
                      (unsigned long long)want);
    }
}

/* Every code, every midpoint, one unit beside each, up to twice the largest. */
static void check_format(mxo_format format, mxo_tie tie)
{
    const mxo_format_spec *f = mxo_format_info(format);

    for (uint64_t code = 0; code <= f->max; code++) {
        const int64_t low = value_of(f, code);
        const int64_t high = value_of(f, code + 1);
        const int64_t middle = low + (high - low) / 2;
        for (int64_t d = -1; d <= 1; d++) {
            check_point(format, low + d < 0 ? 0 : low + d, tie);
            check_point(format, middle + d, tie);
            check_point(format, high + d, tie);
        }
    }
    check_point(format, 2 * value_of(f, f->max), tie);
}

START_TEST(every_midpoint_and_neighbour_rounds_as_the_search_says)
{
    for (int format = 0; format < N_SMALL; format++) {
        check_format((mxo_format)format, (mxo_tie)_i);
    }
}
END_TEST

START_TEST(every_finite_code_encodes_to_itself)
{
    const mxo_format_spec *s = mxo_format_info((mxo_format)_i);

    for (uint64_t code = 0; code >> (s->ebits + s->mbits + 1) == 0; code++) {
        const mxo_real x = mxo_format_decode((mxo_format)_i, code);
        const mxo_rounding r = {MXO_TIE_RNE, 0, 0, 0};
        ck_assert_msg(x.cls == MXO_CLASS_NAN ||
                          mxo_format_encode((mxo_format)_i, x, r) == code,
                      "%s code 0x%02llx", s->name, (unsigned long long)code);
    }
}
END_TEST

START_TEST(overflow_is_decided_after_rounding)
{
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FN, 0x43e80000, MXO_TIE_RNE, 0), 0x7e);
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FN, 0x43e80001, MXO_TIE_RNE, 0), 0x7f);
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FN, 0x43e80001, MXO_TIE_RNE, 1), 0x7e);
    ck_assert_uint_eq(encode(MXO_FMT_E5M2, 0x476fffff, MXO_TIE_RNE, 0), 0x7b);
    ck_assert_uint_eq(encode(MXO_FMT_E5M2, 0x47700000, MXO_TIE_RNE, 0), 0x7c);
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FNUZ, 0x4377ffff, MXO_TIE_RNE, 0),
                      0x7f);
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FNUZ, 0x43780000, MXO_TIE_RNE, 0),
                      0x80);
}
END_TEST

typedef struct e2m1_tie {
    uint32_t f32;
    uint8_t rne;
    uint8_t rnz;
    uint8_t rna;
} e2m1_tie;

START_TEST(the_ties_of_e2m1)
{
    static const e2m1_tie ties[] = {
        {0x3e800000, 0, 0, 1}, {0x3f400000, 2, 1, 2}, {0x3fa00000, 2, 2, 3},
        {0x3fe00000, 4, 3, 4}, {0x40200000, 4, 4, 5}, {0x40600000, 6, 5, 6},
        {0x40a00000, 6, 6, 7},
    };
    const e2m1_tie *t = &ties[_i];

    ck_assert_uint_eq(encode(MXO_FMT_E2M1, t->f32, MXO_TIE_RNE, 1), t->rne);
    ck_assert_uint_eq(encode(MXO_FMT_E2M1, t->f32, MXO_TIE_RNZ, 1), t->rnz);
    ck_assert_uint_eq(encode(MXO_FMT_E2M1, t->f32, MXO_TIE_RNA, 1), t->rna);
}
END_TEST

START_TEST(a_negative_that_rounds_to_zero_keeps_its_sign)
{
    ck_assert_uint_eq(encode(MXO_FMT_E2M1, 0xbe000000, MXO_TIE_RNE, 1), 8);
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FN, 0x80000001, MXO_TIE_RNE, 1), 0x80);
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FNUZ, 0x80000001, MXO_TIE_RNE, 1), 0);
}
END_TEST

START_TEST(infinity_and_nan)
{
    ck_assert_uint_eq(encode(MXO_FMT_E2M1, 0xff800000, MXO_TIE_RNE, 0), 0xf);
    ck_assert_uint_eq(encode(MXO_FMT_E2M1, 0xffc00000, MXO_TIE_RNE, 0), 0x7);
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FN, 0xff800000, MXO_TIE_RNE, 1), 0xfe);
    ck_assert_uint_eq(encode(MXO_FMT_E4M3FN, 0xff800000, MXO_TIE_RZ, 0), 0xff);
    ck_assert_uint_eq(encode(MXO_FMT_E5M2, 0x7f800000, MXO_TIE_RNE, 0), 0x7c);
    ck_assert_uint_eq(encode(MXO_FMT_E5M2, 0xffc00000, MXO_TIE_RNE, 1), 0xfe);
    ck_assert_uint_eq(encode(MXO_FMT_E5M2FNUZ, 0xffc00000, MXO_TIE_RNE, 1),
                      0x80);
}
END_TEST

/* 1 + 2^-23 of a quantum of E4M3: quantum 1/8 at 1, so r = i/256 + sticky. */
static uint64_t stochastic(uint64_t i, uint64_t tail, uint8_t bits,
                           uint64_t rand)
{
    const mxo_real x = {((uint64_t)8 << 40) + (i << (40 - bits)) + tail, -43,
                        MXO_CLASS_FINITE, 0, 0};
    const mxo_rounding r = {MXO_TIE_SR, 1, bits, (uint32_t)rand};

    return mxo_format_encode(MXO_FMT_E4M3FN, x, r);
}

START_TEST(stochastic_rounding_has_exact_thresholds)
{
    /* Up iff r + R/2^N >= 1: with r = i/2^N that is R >= 2^N - i, and a tail
       below 2^-N changes nothing. */
    for (uint64_t i = 0; i < 256; i++) {
        for (uint64_t tail = 0; tail < 2; tail++) {
            for (uint64_t rand = 0; rand < 256; rand++) {
                const uint64_t want = 0x38 + (rand >= 256 - i);
                ck_assert_msg(stochastic(i, tail, 8, rand) == want,
                              "r %llu/256 tail %llu R %llu",
                              (unsigned long long)i, (unsigned long long)tail,
                              (unsigned long long)rand);
            }
        }
    }
}
END_TEST

START_TEST(stochastic_rounding_takes_1_to_32_bits)
{
    const uint64_t full = (uint64_t)1 << _i;

    ck_assert_uint_eq(stochastic(1, 0, (uint8_t)_i, full - 1), 0x39);
    ck_assert_uint_eq(stochastic(1, 0, (uint8_t)_i, full - 2), 0x38);
    ck_assert_uint_eq(stochastic(0, 0, (uint8_t)_i, full - 1), 0x38);
    ck_assert_uint_eq(stochastic(full - 1, 1, (uint8_t)_i, 1), 0x39);
    ck_assert_uint_eq(stochastic(full - 1, 1, (uint8_t)_i, 0), 0x38);
}
END_TEST

START_TEST(int8_is_a_clamped_multiple_of_a_64th)
{
    ck_assert_uint_eq(encode(MXO_FMT_INT8, 0x3f800000, MXO_TIE_RNE, 1), 64);
    ck_assert_uint_eq(encode(MXO_FMT_INT8, 0xbf800000, MXO_TIE_RNE, 1), 0xc0);
    ck_assert_uint_eq(encode(MXO_FMT_INT8, 0x40000000, MXO_TIE_RNE, 1), 127);
    ck_assert_uint_eq(encode(MXO_FMT_INT8, 0x3fffffff, MXO_TIE_RNE, 1), 127);
    ck_assert_uint_eq(encode(MXO_FMT_INT8, 0xbfffffff, MXO_TIE_RNE, 1), 0x81);
    ck_assert_uint_eq(encode(MXO_FMT_INT8, 0xff800000, MXO_TIE_RNE, 1), 0x81);
    ck_assert_uint_eq(encode(MXO_FMT_INT8, 0x3c000000, MXO_TIE_RNE, 1), 0);
    ck_assert_uint_eq(encode(MXO_FMT_INT8, 0x3c000000, MXO_TIE_RNA, 1), 1);
    ck_assert_uint_eq(encode(MXO_FMT_INT8, 0x7fc00000, MXO_TIE_RNE, 1), 0);
}
END_TEST

START_TEST(names_are_found_and_others_are_not)
{
    ck_assert_int_eq(mxo_format_by_name("e5m2fnuz"), MXO_FMT_E5M2FNUZ);
    ck_assert_int_eq(mxo_format_by_name("int8"), MXO_FMT_INT8);
    ck_assert_int_eq(mxo_format_by_name("e5m"), MXO_N_FORMATS);
    ck_assert_int_eq(mxo_tie_by_name("sr"), MXO_TIE_SR);
    ck_assert_int_eq(mxo_tie_by_name("up"), MXO_N_TIES);
    ck_assert_ptr_null(mxo_format_info(MXO_FMT_INT8));
}
END_TEST

Suite *suite_format_real(void);
Suite *suite_format_real(void)
{
    Suite *s = suite_create("format_real");
    TCase *t = tcase_create("encode");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t,
                        every_midpoint_and_neighbour_rounds_as_the_search_says,
                        0, MXO_TIE_SR);
    tcase_add_loop_test(t, every_finite_code_encodes_to_itself, 0, MXO_FMT_F32);
    tcase_add_test(t, overflow_is_decided_after_rounding);
    tcase_add_loop_test(t, the_ties_of_e2m1, 0, 7);
    tcase_add_test(t, a_negative_that_rounds_to_zero_keeps_its_sign);
    tcase_add_test(t, infinity_and_nan);
    tcase_add_test(t, stochastic_rounding_has_exact_thresholds);
    tcase_add_loop_test(t, stochastic_rounding_takes_1_to_32_bits, 2, 33);
    tcase_add_test(t, int8_is_a_clamped_multiple_of_a_64th);
    tcase_add_test(t, names_are_found_and_others_are_not);
    suite_add_tcase(s, t);
    return s;
}
