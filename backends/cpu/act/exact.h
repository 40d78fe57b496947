/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Double-doubles, and what the correctly rounded functions share: a number is
 * computed with a bound on its error, and taken if everything within the
 * bound has the same code.  See exact.c.
 */
#ifndef CPU_EXACT_H
#define CPU_EXACT_H

#include <stdint.h>

typedef struct dd {
    double h;
    double l;
} dd;

/* Constants of a format for rounding. */
typedef struct cpu_wide {
    int mbits;
    int emin;
    uint32_t infinity; /* magnitude code */
    uint32_t sign;
    uint32_t nan;
} cpu_wide;

extern const cpu_wide cpu_wide_f32;

/* Nearest even of h + l, |l| at most half an ulp of h; h is not zero. */
uint32_t cpu_round_pair(dd x, const cpu_wide *f);
/* The code that every number within a relative eps of x has; 0 if they
   differ. */
int cpu_decided(dd x, double eps, const cpu_wide *f, uint32_t *code);
/* e^-z, 0 <= z <= 300: relative errors of 2^-50 and 2^-104. */
double cpu_exp_fast(double z);
dd cpu_exp_precise(double z);

/* Correctly rounded to float. */
float cpu_tanh_one(float x);
float cpu_ln_one(float x);

static inline dd dd_two_sum(double a, double b)
{
    const double s = a + b;
    const double bb = s - a;
    const double lost_a = a - (s - bb);
    const double lost_b = b - bb;
    const dd r = {s, lost_a + lost_b};

    return r;
}

/* For |a| >= |b|. */
static inline dd dd_quick_sum(double a, double b)
{
    const double s = a + b;
    const double back = s - a;
    const dd r = {s, b - back};

    return r;
}

static inline dd dd_split(double a)
{
    const double c = a * 134217729.0; /* 2^27 + 1 */
    const double d = c - a;
    const double h = c - d;
    const dd r = {h, a - h};

    return r;
}

static inline dd dd_two_product(double a, double b)
{
    const double p = a * b;
    const dd x = dd_split(a);
    const dd y = dd_split(b);
    const double e1 = x.h * y.h - p;
    const double e2 = e1 + x.h * y.l;
    const double e3 = e2 + x.l * y.h;
    const dd r = {p, e3 + x.l * y.l};

    return r;
}

static inline dd dd_add(dd a, dd b)
{
    const dd s = dd_two_sum(a.h, b.h);
    const dd t = dd_two_sum(a.l, b.l);
    const dd u = dd_quick_sum(s.h, s.l + t.h);

    return dd_quick_sum(u.h, u.l + t.l);
}

static inline dd dd_mul(dd a, dd b)
{
    const dd p = dd_two_product(a.h, b.h);
    const double cross = a.h * b.l + a.l * b.h;

    return dd_quick_sum(p.h, p.l + cross);
}

static inline dd dd_scale(dd a, double power)
{
    const dd r = {a.h * power, a.l * power};

    return r;
}

static inline dd dd_div(dd a, dd b)
{
    const double q1 = a.h / b.h;
    const dd q1d = {-q1, 0};
    const dd r1 = dd_add(a, dd_mul(b, q1d));
    const double q2 = r1.h / b.h;
    const dd q2d = {-q2, 0};
    const dd r2 = dd_add(r1, dd_mul(b, q2d));
    const double q3 = r2.h / b.h;
    const dd q = dd_quick_sum(q1, q2);
    const dd q3d = {q3, 0};

    return dd_add(q, q3d);
}

#endif
