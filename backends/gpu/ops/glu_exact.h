/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gated unit y = G * sigmoid(alpha * G) * (V + beta) of binary32 numbers,
 * rounded once.
 *
 * Tier 2 is binary64 with a relative error below 2^-49: t = alpha * G is exact
 * there, e^-|t| is a reduction by ln 2 (two fma) and a Taylor polynomial, and
 * nothing cancels.  Where that cannot tell which way to round, tier 3 computes
 * in pairs of binary64 numbers, about 2^-98, with G * (V + beta) exact.  Two
 * neighbourhoods have no room even for pairs and are decided by their sign:
 * t > 70, where y is the product less something, and |t| < 2^-60, where it is
 * half the product times 1 + t / 2.
 */
#ifndef GPU_GLU_EXACT_H
#define GPU_GLU_EXACT_H

#include "port/device.h"

enum { GLU_BF16, GLU_F16, GLU_F32 };

#define GLU_LOG2E 0x1.71547652b82fep+0
#define GLU_LN2_HI 0x1.62e42fefa39efp-1   /* ln 2 as three numbers, each the */
#define GLU_LN2_MID 0x1.abc9e3b39803fp-56 /* rounding of what is left */
#define GLU_LN2_LO 0x1.7b57a079a1934p-111

/* A number as hi + lo; |lo| is at most half a unit of hi. */
typedef struct glu_pair {
    double hi;
    double lo;
} glu_pair;

GPU_FN glu_pair glu_two_sum(double a, double b)
{
    glu_pair s;

    s.hi = a + b;
    const double bb = s.hi - a;
    s.lo = (a - (s.hi - bb)) + (b - bb);
    return s;
}

/* The same where |a| >= |b|. */
GPU_FN glu_pair glu_quick_sum(double a, double b)
{
    glu_pair s;

    s.hi = a + b;
    s.lo = b - (s.hi - a);
    return s;
}

GPU_FN glu_pair glu_two_product(double a, double b)
{
    glu_pair p;

    p.hi = a * b;
    p.lo = gpu_fma(a, b, -p.hi);
    return p;
}

GPU_FN glu_pair glu_add(glu_pair a, glu_pair b)
{
    glu_pair s = glu_two_sum(a.hi, b.hi);
    const glu_pair t = glu_two_sum(a.lo, b.lo);

    s = glu_quick_sum(s.hi, s.lo + t.hi);
    return glu_quick_sum(s.hi, s.lo + t.lo);
}

GPU_FN glu_pair glu_times(glu_pair a, glu_pair b)
{
    glu_pair p = glu_two_product(a.hi, b.hi);

    p.lo += a.hi * b.lo + a.lo * b.hi;
    return glu_quick_sum(p.hi, p.lo);
}

GPU_FN glu_pair glu_over(glu_pair a, glu_pair b)
{
    const double q1 = a.hi / b.hi;
    glu_pair q = {-q1, 0};
    glu_pair r = glu_add(a, glu_times(q, b));
    const double q2 = r.hi / b.hi;

    q.hi = -q2;
    r = glu_add(r, glu_times(q, b));
    q = glu_quick_sum(q1, q2);
    return glu_quick_sum(q.hi, q.lo + r.hi / b.hi);
}

GPU_FN double glu_power(int e) /* 2^e, -1022 <= e <= 1023 */
{
    return gpu_double((uint64_t)(1023 + e) << 52);
}

/* 1 / n! from n = 13 down to 2, where an instruction can name them. */
GPU_CONSTANT double glu_series[] = {
    0x1.6124613a86d09p-33, 0x1.1eed8eff8d898p-29, 0x1.ae64567f544e4p-26,
    0x1.27e4fb7789f5cp-22, 0x1.71de3a556c734p-19, 0x1.a01a01a01a01ap-16,
    0x1.a01a01a01a01ap-13, 0x1.6c16c16c16c17p-10, 0x1.1111111111111p-7,
    0x1.5555555555555p-5,  0x1.5555555555555p-3,  0x1p-1,
};

/* log2 e, ln 2 in two parts, and what makes a sum's last bit an integer. */
GPU_CONSTANT double glu_reduction[] = {GLU_LOG2E, GLU_LN2_HI, GLU_LN2_MID,
                                       0x1.8p52};

/* The integer next to x / ln 2, |x| < 700: in the last bits of a large sum. */
typedef struct glu_multiple {
    double k;
    int i;
} glu_multiple;

GPU_FN glu_multiple glu_reduce(double x)
{
    const double shift = glu_reduction[3];
    const double sum = gpu_fma(x, glu_reduction[0], shift);
    const glu_multiple m = {sum - shift, (int)(uint32_t)gpu_bits64(sum)};

    return m;
}

/* e^r, |r| <= 0.35, to 2^-104: Horner with a division by n at each step. */
GPU_FN glu_pair glu_taylor(glu_pair r)
{
    const glu_pair one = {1, 0};
    glu_pair p = one;

    GPU_LOOP
    for (int n = 26; n > 0; n--) {
        const glu_pair divisor = {(double)n, 0};
        p = glu_add(one, glu_over(glu_times(r, p), divisor));
    }
    return p;
}

/* e^x, |x| < 700, as a pair. */
GPU_SLOW glu_pair glu_exp_pair(double x)
{
    const glu_multiple m = glu_reduce(x);
    const double k = m.k;
    const glu_pair start = {x, 0};
    glu_pair r = glu_add(start, glu_two_product(-k, GLU_LN2_HI));
    const double scale = glu_power(m.i);

    r = glu_add(r, glu_two_product(-k, GLU_LN2_MID));
    r = glu_quick_sum(r.hi, gpu_fma(-k, GLU_LN2_LO, r.lo));
    r = glu_taylor(r);
    r.hi *= scale;
    r.lo *= scale;
    return r;
}

/* x * 2^e where both are normal. */
GPU_FN double glu_scale(double x, int e)
{
    return gpu_double(gpu_bits64(x) + ((uint64_t)(uint32_t)e << 52));
}

/* e^x, |x| < 700, within 2^-51. */
GPU_FN double glu_exp(double x)
{
    const glu_multiple m = glu_reduce(x);
    const double r =
        gpu_fma(-m.k, glu_reduction[2], gpu_fma(-m.k, glu_reduction[1], x));
    double p = glu_series[0];

    GPU_UNROLL
    for (int n = 1; n < 12; n++) {
        p = gpu_fma(p, r, glu_series[n]);
    }
    p = gpu_fma(p, r, 1.0);
    return glu_scale(gpu_fma(p, r, 1.0), m.i);
}

/* Mantissa bits of the targets and the exponent of their smallest normal. */
GPU_FN int glu_mbits(int to)
{
    return to == GLU_BF16 ? 7 : to == GLU_F16 ? 10 : 23;
}

GPU_FN int glu_emin(int to)
{
    return to == GLU_F16 ? -14 : -126;
}

GPU_FN uint32_t glu_sign(int to, int negative)
{
    if (negative) {
        return to == GLU_F32 ? 0x80000000u : 0x8000u;
    }
    return 0;
}

GPU_FN uint32_t glu_infinity(int to)
{
    return to == GLU_BF16 ? 0x7f80u : to == GLU_F16 ? 0x7c00u : 0x7f800000u;
}

GPU_FN uint32_t glu_nan(int to)
{
    return to == GLU_BF16 ? 0x7fc0u : to == GLU_F16 ? 0x7e00u : 0x7fc00000u;
}

/* Bits of a double below the last one of the target; over 62: all, and more */
GPU_FN int glu_drop(int to, double h)
{
    const int lg = (int)(gpu_bits64(h) >> 52 & 2047) - 1023;
    const int unit = (lg < glu_emin(to) ? glu_emin(to) : lg) - glu_mbits(to);
    const int drop = unit - (lg - 52);

    return drop > 62 ? 62 : drop;
}

/*
 * h, a normal number, rounded to nearest even.  rest says on which side of |h|
 * the real magnitude lies: -1 below, 0 on it, 1 above.
 */
GPU_FN uint32_t glu_round(int to, double h, int rest)
{
    const uint64_t bits = gpu_bits64(h);
    const uint64_t m = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
    const int lg = (int)(bits >> 52 & 2047) - 1023;
    const int drop = glu_drop(to, h);
    const uint64_t half = (uint64_t)1 << (drop - 1);
    const uint64_t low = m & (2 * half - 1);
    uint64_t n = m >> drop;
    const int up = low > half ||
                   (low == half && (rest > 0 || (rest == 0 && (n & 1) != 0)));
    const uint32_t above =
        lg < glu_emin(to) ? 0 : (uint32_t)(lg - glu_emin(to));

    n += (uint64_t)up;
    if (above > 300) {
        n = glu_infinity(to);
    } else {
        n += (uint64_t)above << glu_mbits(to);
    }
    const uint32_t code = n > glu_infinity(to) ? glu_infinity(to) : (uint32_t)n;
    return code | glu_sign(to, (int)(bits >> 63));
}

/* Would h * (1 +- 2^-49) round alike?  2^-49 is at most 16 units of h. */
GPU_FN int glu_decided(int to, double h)
{
    const uint64_t m =
        (gpu_bits64(h) & 0xfffffffffffffull) | 0x10000000000000ull;
    const int drop = glu_drop(to, h);
    const uint64_t half = (uint64_t)1 << (drop - 1);
    const uint64_t low = m & (2 * half - 1);

    return low + 16 < half || low > half + 16;
}

/* G * (V + beta) exactly: first is rounded, then what is left, twice. */
typedef struct glu_product {
    double first;
    double second;
    double third;
} glu_product;

GPU_FN glu_product glu_factor(double g, double v, double beta)
{
    const glu_pair sum = glu_two_sum(v, beta);
    const glu_pair p = glu_two_product(g, sum.hi);
    const glu_pair tail = glu_two_sum(p.lo, g * sum.lo);
    const glu_pair head = glu_two_sum(p.hi, tail.hi);
    const glu_pair rest = glu_two_sum(head.lo, tail.lo);
    const glu_product out = {head.hi, rest.hi, rest.lo};

    return out;
}

GPU_FN int glu_direction(double h, double rest)
{
    return rest == 0 ? 0 : (rest > 0) == (h > 0) ? 1 : -1;
}

/* Tier 3; every number is finite, G and V + beta are not zero, t >= -300. */
GPU_FN uint32_t glu_tier3(int to, double t, glu_product f)
{
    const glu_pair one = {1, 0};
    glu_pair product = {f.first, f.second + f.third};

    if (t > 70) { /* the product less a little; nothing, if t is infinite */
        const double rest = f.second != 0 ? f.second : f.third;
        const int side = glu_direction(f.first, rest);
        return glu_round(to, f.first, side == 0 && t - t == 0 ? -1 : side);
    }
    if (t < 0x1p-60 && t > -0x1p-60) {
        const double second = f.second + f.first * (t / 2);
        return glu_round(
            to, f.first / 2,
            glu_direction(f.first, second != 0 ? second : f.third));
    }
    /* e^-|t| is at most 1, so that nothing overflows. */
    const glu_pair e = glu_exp_pair(t < 0 ? t : -t);

    product =
        glu_over(t < 0 ? glu_times(product, e) : product, glu_add(one, e));
    return glu_round(to, product.hi, glu_direction(product.hi, product.lo));
}

/* Zeros and infinities: only classes and signs count. */
GPU_FN uint32_t glu_classes(int to, double g, double sum, double t)
{
    const double sigmoid = t == -GPU_INFINITY ? 0.0 : t != t ? t : 1.0;
    const double y = g * sigmoid * sum;
    const int negative = (int)(gpu_bits64(y) >> 63);

    if (y != y) {
        return glu_nan(to);
    }
    return (y == 0 ? 0 : glu_infinity(to)) | glu_sign(to, negative);
}

/* 1 / d within 2^-52, from an approximation within 2^-18. */
GPU_FN double glu_reciprocal(double d)
{
    const double r = gpu_rcp64(d);
    const double e = gpu_fma(-d, r, 1.0);

    return gpu_fma(gpu_fma(e, e, e), r, r); /* error e^3 */
}

/*
 * Tier 2's number; g and v are clamped.  Errors in units of 2^-53: e^-t 3, the
 * sum with 1, its reciprocal 2, V + beta, two products: 9 in all, below the 16
 * that 2^-49 is.  A zero among the factors makes a zero of the right sign.
 * *usable becomes 0 for what is not finite and where a sigmoid gets extreme.
 */
GPU_FN double glu_value(float g, float v, double alpha, double beta,
                        int *usable)
{
    const double sum = (double)v + beta;
    const double t = alpha * (double)g;

    /* By the magnitudes' high words, so that NaN is large too. */
    *usable =
        gpu_high(t) < gpu_high(300.0) && gpu_high(sum) < gpu_high(0x1p200);
    return (double)g * sum * glu_reciprocal(1.0 + glu_exp(-t));
}

/* Tier 2: 1 if *code is the answer. */
GPU_FN int glu_tier2(int to, float g, float v, double alpha, double beta,
                     uint32_t *code)
{
    int usable;
    const double y = glu_value(g, v, alpha, beta, &usable);

    *code = glu_round(to, y, 0);
    return usable && glu_decided(to, y);
}

/* 2^f, |f| <= 0.5, within 2^-39: a polynomial fitted to the interval. */
GPU_FN double glu_ex2(double f)
{
    double p = 0x1.63d136366db24p-20;

    p = gpu_fma(p, f, 0x1.00dc4a532fb8ep-16);
    p = gpu_fma(p, f, 0x1.4308ac85aa947p-13);
    p = gpu_fma(p, f, 0x1.5d8745a728441p-10);
    p = gpu_fma(p, f, 0x1.3b2ab7181b755p-7);
    p = gpu_fma(p, f, 0x1.c6b08dd6fd234p-5);
    p = gpu_fma(p, f, 0x1.ebfbdff823cedp-3);
    p = gpu_fma(p, f, 0x1.62e42fef84cf0p-1);
    return gpu_fma(p, f, 1.0);
}

/*
 * First tier for binary32, g and v clamped, c = -alpha * log2 e: binary64 with
 * few operations, within 2^-38 (2^w 2^-39, |w| < 1000 adds 2^-42).  An answer
 * is what 2^-36 more or less would not round otherwise; *waits if it is not.
 */
GPU_FN uint32_t glu_tier1(float g, float v, double c, double beta, int *waits)
{
    const double w = (double)g * c;
    const double near = w + 0x1.8p52; /* its low bits: w to an integer */
    const double power = glu_ex2(w - (near - 0x1.8p52));
    const double d =
        1.0 + gpu_double(gpu_bits64(power) + (gpu_bits64(near) << 52));
    const double y = (double)g * ((double)v + beta) * glu_reciprocal(d);
    const uint32_t low = (uint32_t)gpu_bits64(y) & 0x1fffffffu;

    /* Not near a tie; 2^-125 to 2^127; |w| < 1000 (a NaN is none of these). */
    *waits = low - (0x10000000u - 0x20000u) <= 0x40000u ||
             gpu_high(y) - 0x38200000u >= 0x47e00000u - 0x38200000u ||
             gpu_high(w) >= gpu_high(1000.0);
    return gpu_bits((float)y);
}

GPU_FN uint32_t glu_exact_slow(int to, float g, float v, float alpha,
                               float beta)
{
    const double t = (double)alpha * (double)g;
    const double sum = (double)v + (double)beta;
    uint32_t code;

    if (glu_tier2(to, g, v, alpha, beta, &code)) {
        return code;
    }
    /* x - x is 0 for numbers and NaN for all else; t = +Inf is welcome. */
    if (g == 0 || sum == 0 || g - g != 0 || sum - sum != 0 || t != t ||
        t == -GPU_INFINITY) {
        return glu_classes(to, (double)g, sum, t);
    }
    if (t < -300) { /* below 2^-176 even times 2^257 */
        return glu_sign(to, (g < 0) != (sum < 0));
    }
    return glu_tier3(to, t, glu_factor((double)g, (double)v, (double)beta));
}

/*
 * The same in few steps where |x| < 80: binary64 within 2^-38, as in tier 1.
 * *waits if 2^-36 more or less would round otherwise, or x is not such a
 * number.
 */
GPU_FN float glu_exp32_near(float x, int *waits)
{
    const double w = (double)x * 0x1.71547652b82fep+0;
    const double near = w + 0x1.8p52; /* its low bits: w to an integer */
    const double power = glu_ex2(w - (near - 0x1.8p52));
    const uint64_t bits = gpu_bits64(power) + (gpu_bits64(near) << 52);
    const uint32_t low = (uint32_t)bits & 0x1fffffffu;

    *waits |=
        low - (0x10000000u - 0x20000u) <= 0x40000u || !(gpu_fabsf(x) < 80.0f);
    return (float)gpu_double(bits);
}

/* e^x of a binary32 number, rounded to binary32. */
GPU_SLOW float glu_exp32(float x)
{
    if (x != x) {
        return x;
    }
    if (x > 89.0f) {
        return (float)GPU_INFINITY;
    }
    if (x < -105.0f) {
        return 0.0f;
    }
    const double y = glu_exp((double)x);

    if (glu_decided(GLU_F32, y)) {
        return gpu_float(glu_round(GLU_F32, y, 0));
    }
    const glu_pair p = glu_exp_pair((double)x);

    return gpu_float(glu_round(GLU_F32, p.hi, glu_direction(p.hi, p.lo)));
}

#endif
