/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of binary64 numbers and the logarithms that they make, for functions.h
 * and engine_blocks.h: right to about 2^-95, and cut so that they round like
 * the real number.  C that CUDA C++ and HIP C++ also accept.
 */
#ifndef BACKENDS_FUNCTIONS_LOG_H
#define BACKENDS_FUNCTIONS_LOG_H

#include "codes.h"

/* hi + lo, times 2^exp where one stands beside it */
typedef struct functions_pair {
    double hi, lo;
} functions_pair;

CODES_FN uint64_t functions_bits(double x)
{
    uint64_t u;

    memcpy(&u, &x, 8);
    return u;
}

CODES_FN double functions_power(int32_t e) /* 2^e of the normal numbers */
{
    const uint64_t u = (uint64_t)(uint32_t)(e + 1023) << 52;
    double x;

    memcpy(&x, &u, 8);
    return x;
}

CODES_FN functions_pair functions_two(double hi, double lo)
{
    const functions_pair p = {hi, lo};

    return p;
}

CODES_FN functions_pair functions_sum(double a, double b)
{
    const double s = a + b;
    const double of_b = s - a;

    return functions_two(s, (a - (s - of_b)) + (b - of_b));
}

/* Dekker's product: halves of 26 bits, each product of which is exact. */
CODES_FN functions_pair functions_product(double a, double b)
{
    const double split = 134217729.0;
    const double p = a * b;
    const double ah = a * split - (a * split - a);
    const double bh = b * split - (b * split - b);
    const double al = a - ah;
    const double bl = b - bh;
    const double first = ah * bh - p;
    const double second = first + ah * bl;
    const double third = second + al * bh;

    return functions_two(p, third + al * bl);
}

CODES_FN functions_pair functions_add(functions_pair a, functions_pair b)
{
    const functions_pair s = functions_sum(a.hi, b.hi);
    const functions_pair t = functions_sum(a.lo, b.lo);
    const functions_pair u = functions_sum(s.hi, s.lo + t.hi);

    return functions_sum(u.hi, u.lo + t.lo);
}

CODES_FN functions_pair functions_times(functions_pair a, functions_pair b)
{
    const functions_pair p = functions_product(a.hi, b.hi);
    const double cross = a.hi * b.lo + a.lo * b.hi;

    return functions_sum(p.hi, p.lo + cross);
}

CODES_FN functions_pair functions_over(functions_pair a, functions_pair b)
{
    const double q1 = a.hi / b.hi;
    functions_pair rest =
        functions_add(a, functions_times(functions_two(-q1, 0), b));
    const double q2 = rest.hi / b.hi;

    rest = functions_add(rest, functions_times(functions_two(-q2, 0), b));
    const functions_pair q = functions_sum(q1, q2);

    return functions_sum(q.hi, q.lo + rest.hi / b.hi);
}

/* A result: its first 63 bits, the last one set for what follows. */
CODES_FN codes_real functions_real(functions_pair p, int32_t exp)
{
    const uint32_t neg = p.hi < 0;
    const double hi = neg != 0 ? -p.hi : p.hi;
    const double lo = neg != 0 ? -p.lo : p.lo;
    const uint64_t bits = functions_bits(hi);
    const int32_t unit = (int32_t)(bits >> 52) - 1023 - 52 - 10;
    const uint64_t one = 1;
    const uint64_t top = ((bits & ((one << 52) - 1)) | one << 52) << 10;
    const double rest = lo * functions_power(-unit);
    int64_t whole = (int64_t)rest;

    whole -= (double)whole > rest;
    return codes_number((top + (uint64_t)whole) | 1, unit + exp, neg);
}

/* ln(c) / 2 where x = c 2^k and c lies between the roots of 1/2 and 2: the
   series of (c - 1) / (c + 1). */
CODES_FN functions_pair functions_half_ln(codes_real x, int32_t *k)
{
    const functions_pair one = {1, 0};
    const int32_t lg = codes_lg(x.sig);
    double c = (double)x.sig * functions_power(-lg);

    *k = lg + x.exp;
    if (c > 0x1.6a09e6p+0) {
        c *= 0.5;
        ++*k;
    }
    const functions_pair s =
        functions_over(functions_two(c - 1, 0), functions_two(c + 1, 0));
    const functions_pair s2 = functions_times(s, s);
    functions_pair sum = {0, 0};

    for (int n = 24; n > 0; n--) {
        sum = functions_add(sum,
                            functions_over(one, functions_two(2 * n + 1, 0)));
        sum = functions_times(sum, s2);
    }
    return functions_times(s, functions_add(one, sum));
}

/* log2 of a number that is no power of two. */
CODES_FN codes_real functions_lg2(codes_real x)
{
    const functions_pair per_ln2 = {0x1.71547652b82fep+0,
                                    0x1.777d0ffda0d24p-56};
    int32_t k;
    const functions_pair half =
        functions_times(functions_half_ln(x, &k), per_ln2);

    return functions_real(
        functions_add(functions_two(k, 0),
                      functions_two(2 * half.hi, 2 * half.lo)),
        0);
}

/* ln of a positive number that is not 1. */
CODES_FN codes_real functions_ln(codes_real x)
{
    const functions_pair ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
    int32_t k;
    const functions_pair half = functions_half_ln(x, &k);

    return functions_real(
        functions_add(functions_times(functions_two(k, 0), ln2),
                      functions_two(2 * half.hi, 2 * half.lo)),
        0);
}

CODES_FN codes_real functions_log(codes_real x)
{
    if (x.cls == CODES_ZERO) {
        return codes_special(CODES_INFINITE, 1);
    }
    if (x.cls == CODES_NAN || x.neg != 0) {
        return codes_special(CODES_NAN, 0);
    }
    if (x.cls == CODES_FINITE && (x.sig & (x.sig - 1)) == 0) {
        const int32_t lg = codes_lg(x.sig) + x.exp;
        return codes_number((uint64_t)(lg < 0 ? -lg : lg), 0, lg < 0);
    }
    return x.cls == CODES_FINITE ? functions_lg2(x) : x;
}

#endif
