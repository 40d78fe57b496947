/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of AMD's matrix cores, models from the literature (numerics 8.3):
 * trees of float32 additions, and sums that are cut among themselves and then
 * floored beside the accumulator.  A cut product is an integer of less than
 * 30 bits, a floored sum one of less than 40: doubles hold both.
 */
#include "mma.h"

#include <math.h>

enum { ACC_BITS = 24, SUM_BITS = 31, APART = 25 };

static double flushed(double x, int emin)
{
    return fabs(x) < ldexp(1, emin) ? copysign(0, x) : x;
}

static float plus(float x, float y, int flush)
{
    const float s = x + y;

    return flush ? (float)flushed((double)s, -126) : s;
}

static double operand(const broken *b, const broken_mma *u, double x)
{
    const int flush = u->kind == MMA_TREE_FLUSHED && !IS(MM31);

    return flush ? flushed(x, u->emin) : x;
}

double broken_mma_tree(const broken *b, const broken_mma *u,
                       const broken_row *r, double c)
{
    const int flush = u->kind == MMA_TREE_FLUSHED && !IS(MM32);
    const float acc = (float)(flush ? flushed(c, -126) : c);
    float sum[MMA_LONGEST] = {0};
    int n = r->n;

    for (int i = 0; i < n; i++) {
        const double x = operand(b, u, r->a[i]) * operand(b, u, r->w[i]);
        sum[i] = (float)(flush ? flushed((double)(float)x, -126) : x);
    }
    if (IS(MM29)) { /* one after the other */
        for (int i = 1; i < n; i++) {
            sum[0] = plus(sum[0], sum[i], flush);
        }
        n = 1;
    }
    if (IS(MM30)) {
        sum[0] = plus(acc, sum[0], flush);
    }
    for (; n > 1; n /= 2) {
        for (int i = 0; i < n / 2; i++) {
            sum[i] = plus(sum[2 * i], sum[2 * i + 1], flush);
        }
    }
    return (double)(IS(MM30) ? sum[0] : plus(acc, sum[0], flush));
}

/* Addends cut toward zero below their own largest exponent. */
typedef struct cut_sum {
    double x;
    int e;
} cut_sum;

/* The largest exponent of products that are not zero, or least. */
static int top(const broken_mma *u, const broken_row *r, int least)
{
    int e = least;

    for (int i = 0; i < r->n; i++) {
        const int own = broken_mma_exponent(r->a[i], u->emin) +
                        broken_mma_exponent(r->w[i], u->emin);
        e = r->a[i] * r->w[i] != 0 && own > e ? own : e;
    }
    return e;
}

static cut_sum products(const broken *b, const broken_mma *u,
                        const broken_row *r, double c)
{
    const int f = u->f;
    cut_sum s = {0, top(u, r, MMA_ANY_EXPONENT)};
    const int beside = IS(MM23) && c != 0 ? broken_mma_exponent(c, -126) : s.e;
    const int e = s.e > beside ? s.e : beside;

    for (int i = 0; i < r->n && s.e > MMA_ANY_EXPONENT; i++) {
        s.x += ldexp(trunc(ldexp(r->a[i] * r->w[i], f - e)), e - f);
    }
    return s;
}

static double down(int by_cutting, double x)
{
    return by_cutting ? trunc(x) : floor(x);
}

/* Sum and accumulator floored below the larger exponent, added, rounded. */
static double beside(const broken *b, cut_sum s, double c)
{
    const int own = c != 0 ? broken_mma_exponent(c, -126) : s.e;
    const int e = own > s.e ? own : s.e;
    const int bits = IS(MM37) ? ACC_BITS : SUM_BITS;

    if (e == MMA_ANY_EXPONENT) {
        return c;
    }
    const double sum =
        ldexp(down(IS(MM20), ldexp(s.x, bits - e)), SUM_BITS - bits);
    const double acc =
        ldexp(down(IS(MM21), ldexp(c, ACC_BITS - e)), SUM_BITS - ACC_BITS);
    const double y = ldexp(sum + acc, e - SUM_BITS);
    const float x = (float)y;

    if (IS(MM22) && fabs((double)x) > fabs(y)) {
        return (double)nextafterf(x, 0);
    }
    return y == 0 ? 0 : (double)x;
}

/* Even (0) or odd (1) k of a step. */
static broken_row every_other(const broken_row *r, int first)
{
    broken_row half = {.n = 0};

    for (int i = first; i < r->n; i += 2) {
        half.a[half.n] = r->a[i];
        half.w[half.n++] = r->w[i];
    }
    return half;
}

/* Both halves floored at the larger exponent, then as above. */
static double parity(const broken *b, const broken_mma *u, const broken_row *r,
                     double c)
{
    const broken_row half[2] = {every_other(r, 0), every_other(r, 1)};
    const cut_sum even = products(b, u, &half[0], c);
    const cut_sum odd = products(b, u, &half[1], c);
    cut_sum both = {0, even.e > odd.e ? even.e : odd.e};
    const int unit = both.e - u->f;

    if (both.e > MMA_ANY_EXPONENT) {
        both.x = ldexp(floor(ldexp(even.x, -unit)) + floor(ldexp(odd.x, -unit)),
                       unit);
        if (broken_mma_exponent(c, -126) < both.e - APART && !IS(MM28)) {
            c = 0;
        }
    }
    return beside(b, both, c);
}

double broken_mma_floored(const broken *b, const broken_mma *u,
                          const broken_row *r, double c)
{
    double x[MMA_LONGEST];

    for (int i = 0; i < r->n; i++) {
        x[i] = r->a[i] * r->w[i];
        if (fabs(x[i]) >= 0x1p128 && u->kind == MMA_FLOORED && !IS(MM25)) {
            x[i] = copysign(INFINITY, x[i]);
        }
    }
    const double plain = broken_mma_plain(x, r->n, c);

    if (!isfinite(plain)) {
        return plain;
    }
    return u->kind == MMA_PARITY ? parity(b, u, r, c)
                                 : beside(b, products(b, u, r, c), c);
}
