/* SPDX-License-Identifier: Apache-2.0 */
/* Correct rounding by MPFR with growing precision.  See reference.h. */
#include "reference.h"

#include <mpfr.h>
#include <string.h>

enum { FIRST_BITS = 64, SECOND_BITS = 160 };

const char *reference_name(reference_fn fn)
{
    static const char *const name[] = {"exp", "sigmoid", "silu"};

    return fn < N_REFERENCE_FNS ? name[fn] : NULL;
}

static float value_of(uint32_t x)
{
    float f;

    memcpy(&f, &x, sizeof f);
    return f;
}

/* Zeros, infinities and NaN: numerics 6.1. */
static uint32_t at_special(reference_fn fn, uint32_t x)
{
    const int neg = (x >> 31) != 0;
    const uint32_t magnitude = x & 0x7fffffff;

    if (magnitude > 0x7f800000 || (fn == REFERENCE_SILU && x == 0xff800000)) {
        return 0x7fc00000;
    }
    if (fn == REFERENCE_SILU) {
        return x;
    }
    if (magnitude == 0) {
        return fn == REFERENCE_EXP ? 0x3f800000 : 0x3f000000;
    }
    return neg ? 0 : fn == REFERENCE_EXP ? 0x7f800000 : 0x3f800000;
}

/*
 * silu where no exponential is needed, by hand; 1 if *y is the answer.
 *
 * x > 32: silu = x (1 - d), d < e^-32 < 2^-46, less than half a quantum
 *   below x even where x is a power of two.
 * |x| < 2^-30: silu = x/2 + x^2/4 - ...: x/2 with a relative change below
 *   2^-31 upward on the number line.  x/2 is a code, or (last bit of a
 *   subnormal result) the middle of two codes, then the upper one counts.
 */
static int silu_by_hand(uint32_t x, uint32_t *y)
{
    const uint32_t magnitude = x & 0x7fffffff;
    const uint32_t sign = x & 0x80000000;

    if (sign == 0 && magnitude > 0x42000000) {
        *y = x;
        return 1;
    }
    if (magnitude >= 0x30800000) {
        return 0;
    }
    if (magnitude >= 0x01000000) {
        *y = x - 0x00800000;
        return 1;
    }
    /* Below 2^-125 the pattern counts quanta of 2^-149. */
    *y = sign | (magnitude / 2 + (sign == 0 && (magnitude & 1) != 0));
    return 1;
}

/*
 * |x| >= 128: e^-128 < 2^-184, and 128 e^-128 as well, is below half the
 * smallest subnormal, e^128 above the largest number.
 */
static int by_hand(reference_fn fn, uint32_t x, uint32_t *y)
{
    const int neg = (x >> 31) != 0;

    if ((x & 0x7fffffff) >= 0x43000000 && (neg || fn != REFERENCE_SILU)) {
        *y = fn == REFERENCE_EXP ? 0x7f800000 : 0x3f800000;
        if (neg) {
            *y = fn == REFERENCE_SILU ? 0x80000000 : 0;
        }
        return 1;
    }
    return fn == REFERENCE_SILU && silu_by_hand(x, y);
}

static void evaluate(mpfr_t y, reference_fn fn, mpfr_t x, mpfr_prec_t bits)
{
    mpfr_t e;

    /* Each step adds 2^-(bits+15) at most: all of them below 2^-bits. */
    mpfr_init2(e, bits + 16);
    mpfr_set_prec(y, bits + 16);
    if (fn == REFERENCE_EXP) {
        mpfr_exp(y, x, MPFR_RNDN);
    } else {
        mpfr_neg(e, x, MPFR_RNDN);
        mpfr_exp(e, e, MPFR_RNDN);
        mpfr_add_ui(e, e, 1, MPFR_RNDN);
        if (fn == REFERENCE_SILU) {
            mpfr_div(y, x, e, MPFR_RNDN);
        } else {
            mpfr_ui_div(y, 1, e, MPFR_RNDN);
        }
    }
    mpfr_clear(e);
}

static uint32_t rounded(mpfr_t y, int direction, mpfr_prec_t margin)
{
    mpfr_t z;
    uint32_t code;

    mpfr_init2(z, mpfr_get_prec(y) + 64);
    mpfr_div_2si(z, y, (long)margin, MPFR_RNDN);
    if (direction > 0) {
        mpfr_add(z, y, z, MPFR_RNDN);
    } else {
        mpfr_sub(z, y, z, MPFR_RNDN);
    }
    const float f = mpfr_get_flt(z, MPFR_RNDN);

    memcpy(&code, &f, sizeof code);
    mpfr_clear(z);
    return code;
}

/* floor(log2(|y - b| / |y|)), b the middle of the codes low and high. */
static int nearness(mpfr_t y, uint32_t low, uint32_t high)
{
    mpfr_t b;
    int lg;

    mpfr_init2(b, mpfr_get_prec(y));
    mpfr_set_flt(b, value_of(low), MPFR_RNDN);
    mpfr_add_d(b, b, (double)value_of(high), MPFR_RNDN);
    mpfr_div_2ui(b, b, 1, MPFR_RNDN);
    mpfr_sub(b, y, b, MPFR_RNDN);
    mpfr_div(b, b, y, MPFR_RNDN);
    lg = mpfr_zero_p(b) ? -9999 : (int)mpfr_get_exp(b) - 1;
    mpfr_clear(b);
    return lg;
}

uint32_t reference_f32(reference_fn fn, uint32_t x, reference_effort *effort)
{
    mpfr_t wide_x;
    mpfr_t y;
    mpfr_prec_t bits = FIRST_BITS;
    mpfr_prec_t margin = FIRST_BITS - 4;
    uint32_t low;
    uint32_t high;
    uint32_t other[2] = {0, 0};

    effort->bits = 0;
    effort->lg_nearest = 0;
    if ((x & 0x7fffffff) == 0 || (x & 0x7fffffff) >= 0x7f800000) {
        return at_special(fn, x);
    }
    if (by_hand(fn, x, &low)) {
        return low;
    }
    mpfr_init2(wide_x, 24);
    mpfr_init2(y, 64);
    mpfr_set_flt(wide_x, value_of(x), MPFR_RNDN);
    for (;;) {
        evaluate(y, fn, wide_x, bits);
        low = rounded(y, -1, margin);
        high = rounded(y, 1, margin);
        if (low == high) {
            break;
        }
        other[0] = low;
        other[1] = high;
        bits = bits == FIRST_BITS ? SECOND_BITS : 2 * bits;
        margin = bits - 10;
    }
    effort->bits = (uint32_t)bits;
    if (bits > FIRST_BITS) {
        effort->lg_nearest = nearness(y, other[0], other[1]);
    }
    mpfr_clear(wide_x);
    mpfr_clear(y);
    return low;
}
