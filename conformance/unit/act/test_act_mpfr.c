/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our exponential against MPFR: a dense sample of the binary32 inputs that
 * check-exhaustive runs in full, the inputs whose series hits a tie, other
 * formats, operands of binary64, and the error bound of tier 1.
 */
#include "act/problem.h"
#include "exhaustive/reference.h"
#include "unit/part.h"

#include <mxoracle/act.h>

#include <check.h>
#include <mpfr.h>

enum { BITS = 700 };

static const mxo_act_fn ours_of[] = {MXO_ACT_EXP, MXO_ACT_SIGMOID,
                                     MXO_ACT_SILU};

static void check_f32(reference_fn fn, uint32_t x)
{
    reference_effort effort;
    const uint32_t want = reference_f32(fn, x, &effort);
    const uint64_t got = mxo_act_eval(
        ours_of[fn], mxo_format_decode(MXO_FMT_F32, x), MXO_FMT_F32, NULL);

    ck_assert_msg(got == want, "%s(%08x): got %08x want %08x",
                  reference_name(fn), (unsigned)x, (unsigned)got,
                  (unsigned)want);
}

/* 64 tests times 8192 inputs (or a part), in steps that visit every part of
 * 2^32. */
START_TEST(sample_of_all_binary32_inputs)
{
    for (uint32_t i = 0; i < 8192; i += unit_part()) {
        for (int fn = 0; fn < N_REFERENCE_FNS; fn++) {
            check_f32((reference_fn)fn, ((uint32_t)_i * 8192 + i) * 8191u);
        }
    }
}
END_TEST

/* k 2^-e around where x/4 or x^2/4 ends just below the last bit. */
START_TEST(inputs_whose_series_hits_a_tie)
{
    for (uint32_t k = 1; k < 256; k++) {
        const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};
        const mxo_real x = {k, -_i, MXO_CLASS_FINITE, 0, 0};
        const uint32_t code =
            (uint32_t)mxo_format_encode(MXO_FMT_F32, x, nearest_even);
        for (int fn = 0; fn < N_REFERENCE_FNS; fn++) {
            check_f32((reference_fn)fn, code);
            check_f32((reference_fn)fn, code | 0x80000000);
        }
    }
}
END_TEST

static void from_real(mpfr_t y, mxo_real x)
{
    mpfr_t low;

    mpfr_init2(low, BITS);
    mpfr_set_ui_2exp(y, (unsigned long)(x.mant >> 32), x.exp + 32, MPFR_RNDN);
    mpfr_set_ui_2exp(low, (unsigned long)(x.mant & 0xffffffff), x.exp,
                     MPFR_RNDN);
    mpfr_add(y, y, low, MPFR_RNDN);
    mpfr_setsign(y, y, x.neg, MPFR_RNDN);
    mpfr_clear(low);
}

/* y rounded to the format by MPFR equals the code. */
static int is_rounded(mpfr_t y, mxo_format to, uint64_t code)
{
    const mxo_format_spec *f = mxo_format_info(to);
    const mpfr_exp_t emin = mpfr_get_emin();
    const mpfr_exp_t emax = mpfr_get_emax();
    const mxo_real got = mxo_format_decode(to, code);
    mpfr_t z;
    mpfr_t w;
    int same;

    mpfr_init2(z, f->mbits + 1);
    mpfr_init2(w, BITS);
    int ternary = mpfr_set(z, y, MPFR_RNDN);
    mpfr_set_emin(1 - f->bias - f->mbits + 1);
    mpfr_set_emax(f->emax + 1);
    ternary = mpfr_check_range(z, ternary, MPFR_RNDN);
    (void)mpfr_subnormalize(z, ternary, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    from_real(w, got);
    if (got.cls == MXO_CLASS_INF) {
        same = mpfr_inf_p(z) != 0;
    } else {
        same = got.cls != MXO_CLASS_NAN && mpfr_equal_p(z, w);
    }
    same = same && (mpfr_signbit(z) != 0) == got.neg;
    mpfr_clear(z);
    mpfr_clear(w);
    return same;
}

/* A pseudo-random number with all bits of the format, exponent in a range. */
static mxo_real number(uint64_t *seed, int bits, int low, int span)
{
    *seed *= UINT64_C(6364136223846793005);
    *seed += UINT64_C(1442695040888963407);
    const uint64_t noise = *seed ^ *seed >> 29;
    const uint64_t top = (uint64_t)1 << (bits - 1);
    const mxo_real x = {top | (noise & (top - 1)),
                        low + (int)(noise >> 55) % span - bits + 1,
                        MXO_CLASS_FINITE, (uint8_t)(noise >> 54 & 1), 0};

    return x;
}

static void evaluate(mpfr_t y, mxo_act_fn fn, mpfr_t x)
{
    switch (fn) {
    case MXO_ACT_EXP:
        mpfr_exp(y, x, MPFR_RNDN);
        return;
    case MXO_ACT_EXP2:
        mpfr_exp2(y, x, MPFR_RNDN);
        return;
    case MXO_ACT_TANH:
        mpfr_tanh(y, x, MPFR_RNDN);
        return;
    default:
        mpfr_neg(y, x, MPFR_RNDN);
        mpfr_exp(y, y, MPFR_RNDN);
        mpfr_add_ui(y, y, 1, MPFR_RNDN);
        mpfr_ui_div(y, 1, y, MPFR_RNDN);
    }
    if (fn == MXO_ACT_SILU) {
        mpfr_mul(y, y, x, MPFR_RNDN);
    }
}

static const mxo_format formats[] = {MXO_FMT_BF16, MXO_FMT_F16, MXO_FMT_F32,
                                     MXO_FMT_F64};

START_TEST(functions_in_every_format)
{
    uint64_t seed = (uint64_t)_i;
    mpfr_t x;
    mpfr_t y;

    mpfr_inits2(BITS, x, y, (mpfr_ptr)NULL);
    for (int i = 0; i < 400; i++) {
        const int fn = i % 5;
        const mxo_format to = formats[_i];
        const mxo_real v = number(&seed, i % 2 ? 24 : 53, -70, 80);
        const uint64_t code = mxo_act_eval((mxo_act_fn)fn, v, to, NULL);

        from_real(x, v);
        evaluate(y, (mxo_act_fn)fn, x);
        ck_assert_msg(is_rounded(y, to, code),
                      "function %d of %s%llx * 2^%d: %llx", fn,
                      v.neg ? "-" : "", (unsigned long long)v.mant, (int)v.exp,
                      (unsigned long long)code);
    }
    mpfr_clears(x, y, (mpfr_ptr)NULL);
}
END_TEST

/* y = G sigmoid(alpha G) (V + beta) */
static void gated(mpfr_t y, const mxo_act_gated *a)
{
    mpfr_t g;
    mpfr_t v;
    mpfr_t t;

    mpfr_inits2(BITS, g, v, t, (mpfr_ptr)NULL);
    from_real(g, a->gate);
    from_real(t, a->alpha);
    mpfr_mul(t, t, g, MPFR_RNDN);
    evaluate(y, MXO_ACT_SIGMOID, t);
    mpfr_mul(y, y, g, MPFR_RNDN);
    from_real(v, a->up);
    from_real(t, a->beta);
    mpfr_add(v, v, t, MPFR_RNDN);
    mpfr_mul(y, y, v, MPFR_RNDN);
    mpfr_clears(g, v, t, (mpfr_ptr)NULL);
}

START_TEST(gated_units_with_operands_of_binary64)
{
    uint64_t seed = 77 + (uint64_t)_i;
    mpfr_t y;

    mpfr_init2(y, BITS);
    for (int i = 0; i < 1000; i++) {
        const mxo_act_gated a = {number(&seed, 53, -60, 70),
                                 number(&seed, i % 3 ? 53 : 8, -60, 70),
                                 number(&seed, 53, -20, 23),
                                 number(&seed, i % 2 ? 53 : 24, -60, 70)};
        const uint64_t code = mxo_act_gated_eval(&a, formats[_i], NULL);

        gated(y, &a);
        ck_assert_msg(is_rounded(y, formats[_i], code), "sample %d: %llx", i,
                      (unsigned long long)code);
    }
    mpfr_clear(y);
}
END_TEST

/* |mant 2^exp - y| in units of 2^exp. */
static double error_of(mxo_real got, mpfr_t y)
{
    mpfr_t w;
    double units;

    mpfr_init2(w, BITS);
    from_real(w, got);
    mpfr_abs(y, y, MPFR_RNDN);
    mpfr_abs(w, w, MPFR_RNDN);
    mpfr_sub(w, w, y, MPFR_RNDN);
    mpfr_div_2si(w, w, got.exp, MPFR_RNDN);
    units = mpfr_get_d(w, MPFR_RNDN);
    mpfr_clear(w);
    return units < 0 ? -units : units;
}

/* docs/design/004-exponential.md proves less than 36 units. */
START_TEST(tier_1_keeps_its_error_bound)
{
    uint64_t seed = 5 + (uint64_t)_i;
    mpfr_t x;
    mpfr_t y;

    mpfr_inits2(BITS, x, y, (mpfr_ptr)NULL);
    for (int i = 0; i < 1000; i++) {
        const mxo_act_gated a = {
            number(&seed, 24, -30, 38), number(&seed, 53, -3, 6),
            number(&seed, 24, 0, 1), number(&seed, 53, -3, 6)};
        mxo_act_problem p = {0};
        mxo_real fast;

        p.fn = (uint8_t)(_i == 3 ? MXO_F_SIGMOID : _i);
        p.fn = p.fn == MXO_F_TANH ? MXO_F_SIGMOID : p.fn;
        p.has_factor = _i == 3;
        p.t.lo = a.gate.mant;
        p.t_exp = a.gate.exp;
        p.t_neg = a.gate.neg;
        if (p.has_factor) {
            p.t = mxo_mul64(a.gate.mant, a.alpha.mant);
            p.t_exp += a.alpha.exp;
            p.t_neg ^= a.alpha.neg;
            p.g = a.gate;
            p.v = a.up;
            p.b = a.beta;
            gated(y, &a);
        } else {
            from_real(x, a.gate);
            evaluate(y,
                     _i == 0   ? MXO_ACT_EXP
                     : _i == 1 ? MXO_ACT_EXP2
                               : MXO_ACT_SIGMOID,
                     x);
        }
        ck_assert_int_eq(mxo_act_fast(&p, &fast), 1);
        fast.neg = 0;
        const double units = error_of(fast, y);
        ck_assert_msg(units < 36, "kind %d, sample %d: %.1f units", _i, i,
                      units);
    }
    mpfr_clears(x, y, (mpfr_ptr)NULL);
}
END_TEST

Suite *suite_act_mpfr(void);
Suite *suite_act_mpfr(void)
{
    Suite *s = suite_create("act_mpfr");
    TCase *t = tcase_create("binary32");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, sample_of_all_binary32_inputs, 0, 64);
    tcase_add_loop_test(t, inputs_whose_series_hits_a_tie, 18, 34);
    suite_add_tcase(s, t);
    t = tcase_create("every format");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, functions_in_every_format, 0, 4);
    tcase_add_loop_test(t, gated_units_with_operands_of_binary64, 0, 4);
    tcase_add_loop_test(t, tier_1_keeps_its_error_bound, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
