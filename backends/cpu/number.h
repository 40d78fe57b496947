/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bit patterns of the three wide formats, in portable C.  Static inline,
 * because every lane compiles its own copy with its own flags.
 */
#ifndef CPU_NUMBER_H
#define CPU_NUMBER_H

#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "-ffast-math, -Ofast or a part of them: no bit would be sure"
#endif

static inline uint32_t cpu_bits32(float x)
{
    uint32_t u;

    memcpy(&u, &x, 4);
    return u;
}

static inline float cpu_float(uint32_t u)
{
    float x;

    memcpy(&x, &u, 4);
    return x;
}

static inline uint64_t cpu_bits64(double x)
{
    uint64_t u;

    memcpy(&u, &x, 8);
    return u;
}

static inline double cpu_double(uint64_t u)
{
    double x;

    memcpy(&x, &u, 8);
    return x;
}

/* 2^e for -1022 <= e <= 1023. */
static inline double cpu_pow2(int e)
{
    return cpu_double((uint64_t)(e + 1023) << 52);
}

/* Nearest even; the carry out of the mantissa makes infinity. */
static inline uint16_t cpu_bf16_of(float x)
{
    const uint32_t u = cpu_bits32(x);

    if ((u & 0x7fffffffu) > 0x7f800000u) {
        return 0x7fc0;
    }
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/*
 * Nearest even.  Adding 2^(e+13) to a number of exponent e leaves its eleven
 * leading bits, rounded by the adder; below 2^-14 the quantum stays 2^-24.
 */
static inline uint16_t cpu_f16_of(float x)
{
    const uint32_t u = cpu_bits32(x);
    const uint32_t sign = u >> 16 & 0x8000u;
    const uint32_t a = u & 0x7fffffffu;

    if (a > 0x7f800000u) {
        return 0x7e00;
    }
    if (a >= 0x477ff000u) { /* 65520 */
        return (uint16_t)(sign | 0x7c00u);
    }
    uint32_t e = a & 0x7f800000u;
    e = e < 0x38800000u ? 0x38800000u : e;
    const uint32_t anchor = e + (13u << 23);
    const float sum = cpu_float(a) + cpu_float(anchor);
    const uint32_t n = cpu_bits32(sum) - anchor;

    return (uint16_t)(sign | ((((e >> 23) - 113u) << 10) + n));
}

static inline float cpu_from_bf16(uint16_t code)
{
    return cpu_float((uint32_t)code << 16);
}

static inline float cpu_from_f16(uint16_t code)
{
    const uint32_t sign = (uint32_t)(code & 0x8000u) << 16;
    const uint32_t m = code & 0x7fffu;
    uint32_t a;

    if (m >= 0x7c00u) {
        a = 0x7f800000u | (m & 0x3ffu) << 13;
    } else if (m >= 0x400u) {
        a = (m << 13) + (112u << 23);
    } else {
        a = cpu_bits32((float)m * 0x1p-24f);
    }
    return cpu_float(sign | a);
}

/* A double, exact or rounded to odd, as a float rounded to odd: rounding that
   to a narrower type is the only rounding. */
static inline float cpu_float_odd(double s)
{
    const float f = (float)s;
    const double back = (double)f;
    uint32_t u = cpu_bits32(f);

    if (back != s && back - back == 0 && (u & 1) == 0) {
        const int is_inside = (back < 0 ? -back : back) < (s < 0 ? -s : s);
        u += is_inside ? 1u : UINT32_MAX;
    }
    return cpu_float(u);
}

/* p + c rounded once: the sum is rounded to odd, so that rounding to float
   once more gives what rounding the real number would. */
static inline float cpu_add32(double p, float c)
{
    const double s = p + (double)c;
    const double back = s - p;
    const double lost = (p - (s - back)) + ((double)c - back);
    uint64_t u = cpu_bits64(s);

    if (s - s == 0 && lost != 0 && (u & 1) == 0) {
        u += (lost > 0) == (s > 0) ? 1 : UINT64_MAX;
    }
    return (float)cpu_double(u);
}

/* a * b + c rounded once, without the instruction: the product is exact in
   double. */
static inline float cpu_fma32(float a, float b, float c)
{
    return cpu_add32((double)a * (double)b, c);
}

/* A number without the subnormals; zeros keep their signs. */
static inline float cpu_flush32(float x)
{
    const uint32_t u = cpu_bits32(x);

    return (u & 0x7f800000u) == 0 ? cpu_float(u & 0x80000000u) : x;
}

#endif
