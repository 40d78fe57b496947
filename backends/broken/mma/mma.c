/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of matrix instructions that cut their addends at one exponent, in
 * doubles: a cut addend is an integer of less than 50 bits, and so is their
 * sum.  Chains of steps of any kind.
 */
#include "mma.h"

#include <math.h>
#include <string.h>

/* One term of a sum, and the exponent it is aligned by. */
typedef struct addend {
    double x;
    int e;
    int is_none; /* a zero, which takes no part */
} addend;

enum { GROUP = 16, LOWEST = -133, F32_EMIN = -126, F16_EMIN = -14 };

int broken_mma_exponent(double x, int emin)
{
    const int e = x == 0 ? F32_EMIN : ilogb(x);

    return e > emin || x == 0 ? e : emin;
}

static int larger(int a, int c)
{
    return a > c ? a : c;
}

static double cut(double x)
{
    return trunc(x);
}

/* To binary16 by its codes, to nearest even. */
static double half_of(const broken *b, double y)
{
    static const broken faultless;
    const number_format *f = &broken_formats[FORMAT_F16];
    const double x = broken_decode(&faultless, f, broken_round(f, (dd){y, 0}));

    if (IS(MH23) && fabs(x) > fabs(y)) { /* toward zero, as binary32 is */
        return broken_decode(&faultless, f, broken_round(f, (dd){y, 0}) - 1U);
    }
    return copysign(fabs(x), y);
}

/* A sum becomes a number of so many bits. */
static double narrowed(const broken *b, const broken_mma *u, double y)
{
    if (y == 0) {
        return 0;
    }
    if (u->m == MMA_HALF) {
        return half_of(b, y);
    }
    const int quantum = larger(ilogb(y), -126) - u->m;
    const double t = ldexp(y, -quantum);
    const double x = ldexp(IS(MH06) ? rint(t) : cut(t), quantum);

    if (fabs(x) >= 0x1p128) {
        return copysign(IS(MH16) ? 0x1.fffffep127 : INFINITY, x);
    }
    return x == 0 ? 0 : x;
}

double broken_mma_plain(const double *x, int n, double c)
{
    double sum = c;

    for (int i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum;
}

/* Both scales of number i; MM02: only one of them. */
static double scales(const broken *b, const broken_row *r, int i)
{
    return r->a_scale[i] * (IS(MM02) ? 1 : r->w_scale[i]);
}

static int scale_exponent(const broken *b, const broken_row *r, int i)
{
    const int emin = IS(MM10) ? MMA_ANY_EXPONENT : r->scale_emin;

    return IS(MM01) ? 0
                    : broken_mma_exponent(r->a_scale[i], emin) +
                          broken_mma_exponent(r->w_scale[i], emin);
}

static addend product(const broken *b, const broken_mma *u, const broken_row *r,
                      int i)
{
    const double p = r->a[i] * r->w[i];
    const int e = IS(MH13) ? ilogb(p)
                           : broken_mma_exponent(r->a[i], u->emin) +
                                 broken_mma_exponent(r->w[i], u->emin);

    return (addend){p * scales(b, r, i), e + scale_exponent(b, r, i),
                    p * scales(b, r, i) == 0 && !IS(MH11)};
}

/* The exact sum of a group under its scales, aligned by these alone. */
static addend group(const broken *b, const broken_row *r, int first)
{
    double sum = 0;

    for (int i = first; i < first + GROUP; i++) {
        sum += r->a[i] * r->w[i];
    }
    const double x = sum * scales(b, r, first);

    return (addend){x, scale_exponent(b, r, first), x == 0};
}

static int addends(const broken *b, const broken_mma *u, const broken_row *r,
                   addend *t)
{
    int n = 0;

    if (u->kind == MMA_GROUPS) {
        for (int i = 0; i < r->n; i += GROUP) {
            t[n++] = group(b, r, i);
        }
        return n;
    }
    while (n < r->n) {
        t[n] = product(b, u, r, n);
        n++;
    }
    return n;
}

/* All addends cut at one place, added, cut again. */
static double fused(const broken *b, const broken_mma *u, const addend *t,
                    int n, double c)
{
    const int f = u->f;
    int e = IS(MH12) ? F32_EMIN : LOWEST;

    for (int i = 0; i < n; i++) {
        e = t[i].is_none ? e : larger(e, t[i].e);
    }
    if (c != 0 || IS(MH11)) {
        e = larger(
            e, broken_mma_exponent(c, u->m == MMA_HALF ? F16_EMIN : F32_EMIN));
    }
    double total = cut(ldexp(c, f - e));

    for (int i = 0; i < n; i++) {
        const double x = ldexp(t[i].x, f - e);
        total += IS(MH07) ? rint(x) : cut(x);
    }
    return narrowed(b, u, ldexp(total, e - f));
}

static double step(const broken *b, const broken_mma *u, const broken_row *r,
                   double c)
{
    double x[MMA_LONGEST];
    addend t[MMA_LONGEST];

    for (int i = 0; i < r->n; i++) {
        x[i] = r->a[i] * r->w[i] * scales(b, r, i);
    }
    const double plain = broken_mma_plain(x, r->n, c);

    if (!isfinite(plain)) {
        return plain;
    }
    const int n = addends(b, u, r, t);
    const double y = fused(b, u, t, n, IS(MH10) ? 0 : c);

    if (IS(MH15) && y == 0) {
        return copysign(0, plain);
    }
    return IS(MH10) ? (double)((float)c + (float)y) : y;
}

/* Hopper's mma.sync takes FP8 apart into two steps of f16. */
static double two_steps(const broken *b, const broken_mma *u,
                        const broken_row *r, double c)
{
    broken_row half[2] = {{.scale_emin = MMA_ANY_EXPONENT},
                          {.scale_emin = MMA_ANY_EXPONENT}};

    for (int i = 0; i < r->n; i++) {
        broken_row *to = &half[i % 4 / 2];
        to->a_scale[to->n] = 1;
        to->w_scale[to->n] = 1;
        to->a[to->n] = r->a[i];
        to->w[to->n++] = r->w[i];
    }
    const double p = step(b, u, &half[0], 0);
    const float q = (float)step(b, u, &half[1], p);

    return (double)((float)c + q);
}

static double any_step(const broken *b, const broken_mma *u,
                       const broken_row *r, double c)
{
    switch (u->kind) {
    case MMA_HALVES:
        return IS(MH18)
                   ? step(b, broken_mma_find("hopper_wgmma", u->type), r, c)
                   : two_steps(b, u, r, c);
    case MMA_TREE:
    case MMA_TREE_FLUSHED:
        return broken_mma_tree(b, u, r, c);
    case MMA_FLOORED:
    case MMA_PARITY:
        return broken_mma_floored(b, u, r, c);
    default:
        return step(b, u, r, c);
    }
}

static double operand(const broken *b, const broken_mma *u, double x)
{
    return IS(MH19) && fabs(x) < ldexp(1, u->emin) ? 0 : x;
}

/* The scale of number k of a step that starts at first. */
static double scale_at(const broken *b, const double *scale, uint64_t first,
                       uint64_t k, int per)
{
    const uint64_t groups = (uint64_t)per;

    if (scale == NULL) {
        return 1;
    }
    return scale[IS(MM06)   ? k / (2 * groups) * (2 * groups)
                 : IS(MM08) ? first
                            : k];
}

/* Numbers first .. first+n-1, behind the end zeros. */
static broken_row row_at(const broken *b, const broken_mma *u,
                         const broken_line *l, uint64_t first, int n)
{
    broken_row r = {.n = n, .scale_emin = l->scale_emin};

    for (int i = 0; i < n; i++) {
        const uint64_t k = first + (uint64_t)i;
        const int is_there = k < l->k;
        r.a[i] = is_there ? operand(b, u, l->a[k]) : 0;
        r.w[i] = is_there ? operand(b, u, l->w[k]) : 0;
        r.a_scale[i] = is_there ? scale_at(b, l->a_scale, first, k, GROUP) : 1;
        r.w_scale[i] = is_there ? scale_at(b, l->w_scale, first, k, GROUP) : 1;
    }
    return r;
}

/* A partial sum joins the total. */
static double promoted(const broken *b, double total, double acc)
{
    const double sum = total + acc;
    const float x = (float)sum;

    if (IS(MH03) && fabs((double)x) > fabs(sum)) {
        return (double)nextafterf(x, 0);
    }
    return (double)x;
}

static uint64_t promotion(const broken *b, const broken_mma *u, uint64_t p)
{
    if (IS(MH02)) {
        return 0;
    }
    if (IS(MH22) && p == 0) {
        return 4 * (uint64_t)u->step;
    }
    return IS(MH01) && p > 0 ? p + (uint64_t)u->step : p;
}

float broken_mma_sum(const broken *b, const broken_mma *row,
                     const broken_line *l, float c, uint64_t promote)
{
    const broken_mma own = broken_mma_of(b, row);
    const broken_mma *u = &own;
    const uint64_t n = (uint64_t)u->step;
    const uint64_t p = promotion(b, u, promote);
    const uint64_t steps = IS(MH14) ? l->k / n : (l->k + n - 1) / n;
    double acc = p > 0 ? 0 : (double)c;
    double total = (double)c;

    for (uint64_t i = 0; i < steps; i++) {
        const uint64_t first = (IS(MH08) ? steps - 1 - i : i) * n;
        const broken_row r = row_at(b, u, l, first, (int)n);
        acc = any_step(b, u, &r, acc);
        if (p > 0 && (i + 1) * n % p == 0) {
            total = promoted(b, total, acc);
            acc = 0;
        }
    }
    if (p > 0 && steps * n % p != 0 && !IS(MH21)) {
        total = promoted(b, total, acc);
    }
    return (float)(p > 0 ? total : acc);
}
