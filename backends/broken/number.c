/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small floats in double arithmetic: every code of every format, and every
 * quotient that gets encoded, is exact in a double.
 */
#include "broken.h"

#include <math.h>
#include <string.h>

const number_format broken_formats[N_FORMATS] = {
    {"e2m1", 2, 1, 1, KIND_FINITE, 0x7},
    {"e2m3", 2, 3, 1, KIND_FINITE, 0x1f},
    {"e3m2", 3, 2, 3, KIND_FINITE, 0x1f},
    {"e4m3fn", 4, 3, 7, KIND_FN, 0x7e},
    {"e4m3fnuz", 4, 3, 8, KIND_FNUZ, 0x7f},
    {"e5m2", 5, 2, 15, KIND_IEEE, 0x7b},
    {"e5m2fnuz", 5, 2, 16, KIND_FNUZ, 0x7f},
    {"int8", 0, 7, 0, KIND_INT8, 0x7f},
    {"bf16", 8, 7, 127, KIND_IEEE, 0x7f7f},
    {"f16", 5, 10, 15, KIND_IEEE, 0x7bff},
    {"f32", 8, 23, 127, KIND_IEEE, 0x7f7fffff},
};

static const broken faultless;

/* Faults concern the small formats; bf16, f16 and f32 are always right. */
static const broken *with_faults(const broken *b, const number_format *f)
{
    return f - broken_formats < FORMAT_BF16 ? b : &faultless;
}

double broken_power(int e)
{
    const uint64_t bits = (uint64_t)(1023 + e) << 52;
    double x;

    memcpy(&x, &bits, 8);
    return e > -1023 && e < 1024 ? x : ldexp(1, e);
}

const number_format *broken_format(const char *name)
{
    for (int i = 0; i < N_FORMATS; i++) {
        if (strcmp(broken_formats[i].name, name) == 0) {
            return &broken_formats[i];
        }
    }
    return NULL;
}

const number_format *broken_format_of(uint32_t dtype)
{
    switch (dtype) {
    case MXO_E4M3:
        return &broken_formats[FORMAT_E4M3FN];
    case MXO_E4M3FNUZ:
        return &broken_formats[FORMAT_E4M3FNUZ];
    case MXO_E5M2:
        return &broken_formats[FORMAT_E5M2];
    case MXO_E5M2FNUZ:
        return &broken_formats[FORMAT_E5M2FNUZ];
    case MXO_BF16:
        return &broken_formats[FORMAT_BF16];
    case MXO_F16:
        return &broken_formats[FORMAT_F16];
    default:
        return &broken_formats[FORMAT_F32];
    }
}

static unsigned magnitude_mask(const number_format *f)
{
    return (1u << (f->ebits + f->mbits)) - 1;
}

static double magnitude(const number_format *f, unsigned code)
{
    const int x = (int)(code >> f->mbits);
    const unsigned one = 1u << f->mbits;
    const unsigned m = code & (one - 1);

    return x == 0 ? m * broken_power(1 - f->bias - f->mbits)
                  : (m + one) * broken_power(x - f->bias - f->mbits);
}

double broken_largest(const number_format *f)
{
    return f->kind == KIND_INT8 ? 127.0 / 64 : magnitude(f, f->max);
}

/* Value of a code that is not a finite number; 0 for the others. */
static double special(const broken *b, const number_format *f, unsigned code)
{
    const unsigned mag = code & magnitude_mask(f);

    switch (f->kind) {
    case KIND_FN:
        return mag == 0x7f && !IS(C19) ? NAN : 0;
    case KIND_FNUZ:
        return code == 0x80 && !IS(C46) ? NAN : 0;
    case KIND_IEEE:
        if (mag == f->max + 1) {
            return IS(C19b) ? 0 : IS(C17b) ? broken_largest(f) : INFINITY;
        }
        return mag > f->max ? NAN : 0;
    default:
        return 0;
    }
}

/* The faults of a finite magnitude. */
static double value_fault(const broken *b, const number_format *f, unsigned mag,
                          double x)
{
    if (f == &broken_formats[FORMAT_E2M1] && IS(C10)) {
        return 2 * x;
    }
    if (f == &broken_formats[FORMAT_E2M1] && IS(C45) && mag == 7) {
        return 8;
    }
    if (f->kind == KIND_FNUZ && IS(C44)) {
        return 2 * x;
    }
    if (mag >> f->mbits == 0 && mag > 0) {
        return IS(C42) ? 0 : IS(C43) ? x + magnitude(f, 1u << f->mbits) : x;
    }
    return x;
}

double broken_decode(const broken *b, const number_format *f, uint32_t code)
{
    b = with_faults(b, f);
    if (f->kind == KIND_INT8) {
        return (int8_t)code / (IS(C47) ? 128.0 : 64.0);
    }
    if (IS(C21) && f->kind == KIND_FN) {
        f = &broken_formats[FORMAT_E4M3FNUZ];
    }
    code &= 2 * magnitude_mask(f) + 1;
    const unsigned mag = code & magnitude_mask(f);
    double x = special(b, f, code);

    if (x == 0) {
        x = value_fault(b, f, mag, magnitude(f, mag));
    }
    if (mag == 0 && IS(C11)) {
        return 0;
    }
    return code == mag ? x : -x;
}

/* The NaN of a format; formats without one take the largest. */
static uint32_t nan_code(const broken *b, const number_format *f, unsigned sign)
{
    switch (f->kind) {
    case KIND_FN:
        return sign | 0x7f;
    case KIND_FNUZ:
        return 0x80;
    case KIND_IEEE:
        return sign | (f->max + 1) | 1u << (f->mbits - 1);
    default:
        return IS(C39) ? 0 : f->max;
    }
}

static uint32_t overflow(const broken *b, const number_format *f, rounding r,
                         unsigned sign)
{
    if (f->kind == KIND_FINITE) {
        return sign | (IS(C41) && f == &broken_formats[FORMAT_E3M2] ? f->max - 1
                                                                    : f->max);
    }
    if (IS(C16) ? 1 : IS(C16b) ? 0 : r.sat) {
        return sign | f->max;
    }
    if (f->kind == KIND_IEEE && !IS(C40)) {
        return sign | (f->max + 1);
    }
    return nan_code(b, f, sign);
}

/* Does n + frac (frac in [0, 1), lo breaks a tie) go up? */
static int goes_up(const broken *b, rounding r, double n, double frac,
                   double lo)
{
    const int odd = (uint64_t)n % 2 != 0;
    /* Exact, where frac + random would be rounded to 1. */
    const double wanted = 1 - r.rand * broken_power(-r.bits);
    const int above = frac > 0.5 || (frac == 0.5 && lo > 0);
    const int tie = frac == 0.5 && lo == 0;

    switch (r.tie) {
    case TIE_ZERO:
        return IS(C37) && above;
    case TIE_AWAY:
        return above || (tie && !(IS(C35) && !odd));
    case TIE_TOWARD:
        return above || (tie && IS(C36) && odd);
    case TIE_RANDOM:
        return IS(C38) ? frac > wanted : frac >= wanted;
    default:
        return above || (tie && (IS(C32) ? !odd : odd));
    }
}

/* The faults of nearest-even, as another rule. */
static rounding tie_fault(const broken *b, rounding r, int negative, int top)
{
    if (r.tie != TIE_EVEN) {
        return r;
    }
    if (IS(C12) || (IS(C30) && top) || (IS(C79) && negative) ||
        (IS(C31) && !negative)) {
        r.tie = TIE_AWAY;
    }
    if (IS(C13) || (IS(C13b) && negative)) {
        r.tie = TIE_ZERO;
    }
    if (IS(C31) && negative) {
        r.tie = TIE_TOWARD;
    }
    return r;
}

static double frac_fault(const broken *b, double frac, int subnormal)
{
    if (IS(C15)) {
        return floor(frac * 4) / 4;
    }
    if (IS(C15b) && subnormal) {
        return floor(frac * 0x1p21) / 0x1p21;
    }
    return frac;
}

static uint32_t encode_int8(const broken *b, rounding r, double x)
{
    const double t = fmin(fabs(x) * 64, 1000);
    const double n = floor(t);
    const int code = (int)n + goes_up(b, r, n, t - n, 0);

    if (isnan(x)) {
        return 0;
    }
    if (code > 127) {
        return x > 0 ? 127 : IS(C48) ? 128 : 129;
    }
    return (uint8_t)(x < 0 ? -code : code);
}

/* Magnitude code of a finite |x|, max + 1 for everything above max. */
static uint32_t encode_magnitude(const broken *b, const number_format *f,
                                 rounding r, double a, double lo)
{
    const double one = 1 << f->mbits;
    int e;

    (void)frexp(a, &e);
    e = a == 0 || e - 1 < 1 - f->bias ? 1 - f->bias : e - 1;
    if (e > (int)(f->max >> f->mbits) - f->bias) {
        return f->max + 1;
    }
    const double t = a * broken_power(f->mbits - e);
    double n = floor(t);
    const double frac = frac_fault(b, t - n, n < one);

    if (goes_up(b, r, n, frac, lo) && !(IS(C50) && n == 2 * one - 1)) {
        n += 1;
    }
    const uint32_t mag =
        (uint32_t)(e + f->bias - 1) * (1u << f->mbits) + (uint32_t)n;
    return mag > f->max ? f->max + 1 : mag;
}

static uint32_t encode_finite(const broken *b, const number_format *f,
                              rounding r, dd x, uint32_t sign)
{
    const double a = fabs(x.hi);
    const int top = a >= broken_power((int)(f->max >> f->mbits) - f->bias);

    r = tie_fault(b, r, sign != 0, top);
    uint32_t mag = encode_magnitude(b, f, r, a, sign != 0 ? -x.lo : x.lo);

    if (mag > f->max && r.tie == TIE_ZERO) {
        return sign | f->max;
    }
    if (IS(C52) && f->kind == KIND_FN && mag > f->max && a < 480) {
        return sign | 0x7f;
    }
    if (mag > f->max || (IS(C51) && a > broken_largest(f))) {
        return overflow(b, f, r, sign);
    }
    if ((IS(C33) && mag < 1u << f->mbits) || (IS(C34) && a < magnitude(f, 1))) {
        mag = 0;
    }
    if (mag == 0 &&
        ((f->kind == KIND_FNUZ && !IS(C53)) || IS(C11) || (IS(C54) && a > 0))) {
        return 0;
    }
    return sign | mag;
}

uint32_t broken_encode(const broken *b, const number_format *f, rounding r,
                       dd x)
{
    b = with_faults(b, f);
    if ((IS(C49) || IS(C80)) && !isnan(x.hi)) {
        const number_format *half =
            &broken_formats[IS(C49) ? FORMAT_BF16 : FORMAT_F16];
        x = broken_dd(broken_decode(b, half, broken_round(half, x)));
    }
    if (f->kind == KIND_INT8) {
        return encode_int8(b, r, x.hi);
    }
    const uint32_t sign = signbit(x.hi) != 0 ? 1u << (f->ebits + f->mbits) : 0;

    if (isnan(x.hi)) {
        return nan_code(b, f, sign);
    }
    if (isinf(x.hi)) {
        r.sat |= IS(C17);
        return overflow(b, f, r, sign);
    }
    return encode_finite(b, f, r, x, sign);
}

uint32_t broken_round(const number_format *f, dd x)
{
    const rounding nearest = {TIE_EVEN, 0, 0, 0};

    return broken_encode(&faultless, f, nearest, x);
}

double broken_e8m0(const broken *b, unsigned code)
{
    if (IS(C04)) {
        return code;
    }
    if (IS(C72)) {
        return broken_power((int8_t)code - 127);
    }
    if (IS(C03) ? code == 127 + 7 : code == 255) {
        return IS(C02) ? INFINITY : NAN;
    }
    if (code == 0 && (IS(C01) || IS(C55))) {
        return IS(C01) ? 0.0 : 0x1p-126;
    }
    if (code == 254 && IS(C56)) {
        return INFINITY;
    }
    return broken_power((int)code - (IS(C57) ? 128 : 127));
}

double broken_to_bf16(double x)
{
    const number_format *f = broken_format("bf16");

    return broken_decode(&faultless, f, broken_round(f, broken_dd(x)));
}
