/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.unary, math.lg2 and math.rcp: functions of one binary32 number, rounded
 * once.  A result is a pair of binary64 numbers, right to about 2^-95, times a
 * power of two; all of them are irrational, and none nearer than that to
 * halfway between two results, but for the cases that are handled apart, so
 * that the pair, cut to 63 bits with the last one set, rounds like the real
 * number.  C that CUDA C++ and HIP C++ also accept, without fused steps;
 * whoever includes it says what FUNCTIONS_U20 is, the polynomial of vLLM's CPU
 * kernels.
 */
#ifndef BACKENDS_FUNCTIONS_H
#define BACKENDS_FUNCTIONS_H

#include "functions_log.h"
#include "rcp_hopper.h"

typedef enum functions_fn {
    FUNCTIONS_EXP,
    FUNCTIONS_EXP2,
    FUNCTIONS_TANH,
    FUNCTIONS_SIGMOID,
    FUNCTIONS_SILU,
    FUNCTIONS_SILU_ALPHA,
    FUNCTIONS_EXP_U20,
    FUNCTIONS_LG2,
    FUNCTIONS_RCP,
    FUNCTIONS_RCP_HOPPER,
    FUNCTIONS_RCP_HOPPER_FTZ
} functions_fn;

typedef struct functions_job {
    const void *x;
    void *y;
    uint64_t n;
    uint32_t fn, ftz, out_bytes;
    codes_format from, to;
    double alpha;
} functions_job;

/* Magnitudes that overflow every type, and that are zero in every type. */
CODES_FN codes_real functions_huge(uint32_t neg)
{
    return codes_number(3, 20000, neg);
}

CODES_FN codes_real functions_tiny(uint32_t neg)
{
    return codes_number(3, -20000, neg);
}

/* e^t = pair 2^exp, |t| < 2^20: a series around a multiple of ln 2. */
CODES_FN functions_pair functions_exp(functions_pair t, int32_t *exp)
{
    const double turns = t.hi * 0x1.71547652b82fep+0;
    const int32_t k = (int32_t)(turns < 0 ? turns - 0.5 : turns + 0.5);
    const functions_pair one = {1, 0};
    functions_pair r =
        functions_add(t, functions_product(-k, 0x1.62e42fefa39efp-1));
    functions_pair p = one;

    r = functions_add(r, functions_product(-k, 0x1.abc9e3b39803fp-56));
    r = functions_sum(r.hi, r.lo - k * 0x1.7b57a079a1934p-111);
    for (int n = 26; n > 0; n--) {
        p = functions_over(functions_times(r, p), functions_two(n, 0));
        p = functions_add(one, p);
    }
    *exp = k;
    return p;
}

/* 1 / (1 + e^-t) = pair 2^exp; far out 1 less next to nothing, or e^t. */
CODES_FN functions_pair functions_sigmoid(functions_pair t, int32_t *exp)
{
    const functions_pair one = {1, 0};
    const functions_pair minus = {t.hi < 0 ? t.hi : -t.hi,
                                  t.hi < 0 ? t.lo : -t.lo};
    functions_pair e;

    *exp = 0;
    if (t.hi > 250) {
        return functions_two(1, -0x1p-300);
    }
    e = functions_exp(minus, exp);
    if (t.hi < -250) {
        return e;
    }
    e.hi *= functions_power(*exp);
    e.lo *= functions_power(*exp);
    *exp = 0;
    return functions_over(t.hi < 0 ? e : one, functions_add(one, e));
}

/* tanh z, z > 0: near 0 the series, where a quotient would lose bits. */
CODES_FN functions_pair functions_tanh(double z)
{
    const functions_pair one = {1, 0};
    int32_t exp;

    if (z < 0x1p-12) {
        const double z2 = z * z;
        return functions_sum(
            z, -z * z2 * (1.0 / 3 - z2 * (2.0 / 15 - z2 * (17.0 / 315))));
    }
    if (z > 125) {
        return functions_two(1, -0x1p-300);
    }
    functions_pair e = functions_exp(functions_two(-2 * z, 0), &exp);

    e.hi *= functions_power(exp);
    e.lo *= functions_power(exp);
    return functions_over(functions_add(one, functions_two(-e.hi, -e.lo)),
                          functions_add(one, e));
}

/* f^t for f = e or 2; |x| is beyond every type from 2^13 on. */
CODES_FN codes_real functions_grow(uint32_t fn, double x)
{
    int32_t exp;
    int32_t whole = 0;
    functions_pair t = {x, 0};

    if (x > 8192 || x < -8192) {
        return x > 0 ? functions_huge(0) : functions_tiny(0);
    }
    if (fn == FUNCTIONS_EXP2) {
        whole = (int32_t)(x < 0 ? x - 0.5 : x + 0.5);
        if (x == whole) {
            return codes_number(1, whole, 0);
        }
        t = functions_times(
            functions_two(x - whole, 0),
            functions_two(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56));
    }
    const functions_pair p = functions_exp(t, &exp);

    return functions_real(p, exp + whole);
}

/*
 * factor * sigmoid(t), |t| < 2^-26: factor (1/2 + t/4), without loss, and the
 * direction of what follows, since the sum may be halfway between two numbers
 * and -t^3/48 is less than a pair can hold.
 */
CODES_FN codes_real functions_near_half(double factor, functions_pair t)
{
    const functions_pair half = functions_sum(0.5, t.hi / 4);
    const functions_pair low = functions_sum(half.lo, t.lo / 4);
    const functions_pair a = functions_product(half.hi, factor);
    const functions_pair b = functions_product(low.hi, factor);
    const functions_pair mid = functions_sum(a.lo, b.hi);
    const double rest = mid.lo + (b.lo + low.lo * factor);
    const double follows = rest != 0 ? rest : -t.hi * factor;
    functions_pair p = functions_sum(a.hi, mid.hi);

    if ((follows < 0) != (p.hi < 0)) { /* the next number towards 0 */
        const double size = p.lo < 0 ? -p.lo : p.lo;
        const double step = p.lo == 0 ? 0x1p-200 * (p.hi < 0 ? -p.hi : p.hi)
                                      : size * 0x1.0000000000001p-53;

        p.lo += p.hi < 0 ? step : -step;
    }
    return functions_real(p, 0);
}

/* x sigmoid(alpha x), or the sigmoid alone; x is not 0. */
CODES_FN codes_real functions_gate(const functions_job *a, double x, double t)
{
    const int alone = a->fn == FUNCTIONS_SIGMOID;
    const uint32_t neg = !alone && x < 0;
    int32_t exp;

    if (t < -8192) {
        return functions_tiny(neg);
    }
    const functions_pair exact =
        t > 8192 ? functions_two(8192, 0) : functions_product(a->alpha, x);

    if (t > -0x1p-26 && t < 0x1p-26) {
        return functions_near_half(alone ? 1 : x, exact);
    }
    functions_pair p = functions_sigmoid(exact, &exp);

    p = alone ? p : functions_times(p, functions_two(x, 0));
    return functions_real(p, exp);
}

CODES_FN codes_real functions_special(const functions_job *a, codes_real x,
                                      double number, double t)
{
    if (x.cls == CODES_NAN || t != t) {
        return codes_special(CODES_NAN, 0);
    }
    switch (a->fn) {
    case FUNCTIONS_EXP:
    case FUNCTIONS_EXP2:
        return x.cls == CODES_ZERO ? codes_number(1, 0, 0)
               : x.neg != 0        ? codes_number(0, 0, 0)
                                   : x;
    case FUNCTIONS_TANH:
    case FUNCTIONS_SIGMOID:
        if (x.cls == CODES_ZERO) {
            return a->fn == FUNCTIONS_TANH ? x : codes_number(1, -1, 0);
        }
        return a->fn == FUNCTIONS_SIGMOID && x.neg != 0
                   ? codes_number(0, 0, 0)
                   : codes_number(1, 0, x.neg);
    default:
        break;
    }
    if (x.cls == CODES_ZERO) {
        return x;
    }
    if (t == 0) { /* alpha is 0 */
        return x.cls == CODES_FINITE ? codes_number(x.sig, x.exp - 1, x.neg)
                                     : codes_special(CODES_NAN, 0);
    }
    return t > 0                   ? x
           : x.cls == CODES_FINITE ? codes_number(0, 0, x.neg)
                                   : codes_special(CODES_NAN, number < 0);
}

CODES_FN codes_real functions_value(const functions_job *a, codes_real x)
{
    const double size = (double)x.sig * functions_power(x.exp);
    const double number = x.cls == CODES_INFINITE ? __builtin_huge_val() : size;
    const double signed_x = x.neg != 0 ? -number : number;
    const double t = a->alpha * signed_x;
    const int is_gate =
        a->fn >= FUNCTIONS_SIGMOID && a->fn <= FUNCTIONS_SILU_ALPHA;

    if (x.cls != CODES_FINITE || (is_gate && (t == 0 || t - t != 0))) {
        return functions_special(a, x, signed_x, is_gate ? t : 0);
    }
    if (a->fn == FUNCTIONS_TANH) {
        codes_real y = functions_real(functions_tanh(size), 0);
        y.neg = x.neg;
        return y;
    }
    return is_gate ? functions_gate(a, signed_x, t)
                   : functions_grow(a->fn, signed_x);
}

/* 1 / x as Hopper has it: 24 bits, which subnormal results lose again. */
CODES_FN codes_real functions_inverse(codes_real x)
{
    const int32_t lg = codes_lg(x.sig);
    const uint32_t mantissa = (uint32_t)(x.sig << (23 - lg)) & 0x7fffffu;

    return codes_number(rcp_hopper_units(mantissa), -24 - lg - x.exp, x.neg);
}

CODES_FN uint32_t functions_rcp(const functions_job *a, uint32_t bits,
                                codes_real x)
{
    const uint32_t sign = bits & 0x80000000u;
    float number;

    if (x.cls == CODES_NAN) {
        return a->fn == FUNCTIONS_RCP ? 0x7fc00000u : 0x7fffffffu;
    }
    if (x.cls != CODES_FINITE) {
        return sign | (x.cls == CODES_ZERO ? 0x7f800000u : 0);
    }
    if (a->fn != FUNCTIONS_RCP) {
        return (uint32_t)codes_write(&a->to, functions_inverse(x), CODES_RNE, 0,
                                     0, 0);
    }
    memcpy(&number, &bits, 4);
    number = 1.0f / number;
    memcpy(&bits, &number, 4);
    return bits;
}

CODES_FN uint64_t functions_flushed(const functions_job *a, uint64_t y)
{
    return a->ftz != 0 && a->to.mbits == 23 && (y & 0x7f800000u) == 0
               ? y & 0x80000000u
               : y;
}

CODES_FN void functions_put(const functions_job *a, uint64_t i)
{
    const uint32_t read = (uint32_t)codes_load(a->x, 4, i);
    const uint32_t bits =
        a->ftz != 0 && (read & 0x7f800000u) == 0 ? read & 0x80000000u : read;
    codes_real x = codes_read(&a->from, bits);
    uint64_t y;

    if (a->fn >= FUNCTIONS_RCP) {
        y = functions_rcp(a, bits, x);
    } else {
        if (a->fn == FUNCTIONS_EXP_U20) {
            x = codes_read(&a->from, FUNCTIONS_U20(bits));
        } else {
            x = a->fn == FUNCTIONS_LG2 ? functions_log(x)
                                       : functions_value(a, x);
        }
        y = x.cls == CODES_NAN ? codes_nan(&a->to, 0)
                               : codes_write(&a->to, x, CODES_RNE, 0, 0, 0);
    }
    codes_store(a->y, a->out_bytes, i, functions_flushed(a, y));
}

#endif
