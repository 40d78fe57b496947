/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of matrix instructions that cut their addends at one exponent, in
 * doubles: a cut addend is an integer of less than 40 bits, and so is their
 * sum.  mma.step, mma.chain, and the orders of layers that name a unit.
 */
#include "mma.h"

#include <math.h>
#include <string.h>

static const broken_mma units[] = {
    {"hopper_wgmma", "bf16", 16, 25, 23, -126},
    {"hopper_wgmma", "f16", 16, 25, 23, -14},
    {"hopper_wgmma", "tf32", 8, 25, 23, -126},
    {"hopper_wgmma", "e4m3fn", 32, 13, 13, -6},
    {"hopper_wgmma", "e5m2", 32, 13, 13, -14},
    {"hopper_mma_sync", "bf16", 16, 25, 23, -126},
    {"hopper_mma_sync", "f16", 16, 25, 23, -14},
    {"hopper_mma_sync", "tf32", 8, 25, 23, -126},
    {"hopper_mma_sync", "e4m3fn", 32, 25, 23, -14}, /* in f16 */
    {"hopper_mma_sync", "e5m2", 32, 25, 23, -14},
    {"volta", "f16", 4, 23, 23, -14},
    {"turing", "f16", 8, 24, 23, -14},
    {"ampere", "bf16", 8, 24, 23, -126},
    {"ampere", "f16", 8, 24, 23, -14},
    {"ampere", "tf32", 4, 24, 23, -126},
    {"ada", "bf16", 8, 24, 23, -126},
    {"ada", "f16", 8, 24, 23, -14},
    {"ada", "tf32", 4, 24, 23, -126},
    {"ada", "e4m3fn", 16, 13, 13, -6},
    {"ada", "e5m2", 16, 13, 13, -14},
    {"blackwell", "bf16", 16, 25, 23, -126},
    {"blackwell", "f16", 16, 25, 23, -14},
    {"blackwell", "e4m3fn", 32, 25, 23, -6},
    {"blackwell", "e5m2", 32, 25, 23, -14},
};

const broken_mma *broken_mma_find(const char *unit, const char *type)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].unit, unit) == 0 &&
            strcmp(units[i].type, type) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* Exponent of an operand; MH11: zeros have one, too. */
static int nominal(double x, int emin)
{
    const int e = x == 0 ? -126 : ilogb(x);

    return e > emin || x == 0 ? e : emin;
}

static int product_exponent(const broken *b, const broken_mma *u, double x,
                            double y)
{
    return IS(MH13) ? ilogb(x * y) : nominal(x, u->emin) + nominal(y, u->emin);
}

static int larger(int a, int c)
{
    return a > c ? a : c;
}

/* The exponent that all addends are cut at. */
static int common_exponent(const broken *b, const broken_mma *u,
                           const broken_row *r, double c)
{
    int e = IS(MH12) ? -126 : -133;

    for (int i = 0; i < r->n; i++) {
        if (r->a[i] * r->w[i] != 0 || IS(MH11)) {
            e = larger(e, product_exponent(b, u, r->a[i], r->w[i]));
        }
    }
    return c != 0 || IS(MH11) ? larger(e, nominal(c, -126)) : e;
}

static double cut(double x)
{
    return trunc(x);
}

/* A sum becomes a number of so many bits. */
static double narrowed(const broken *b, const broken_mma *u, double y)
{
    const int m = IS(MH17) ? 23 : u->m;

    if (y == 0) {
        return 0;
    }
    const int quantum = larger(ilogb(y), -126) - m;
    const double t = ldexp(y, -quantum);
    const double x = ldexp(IS(MH06) ? rint(t) : cut(t), quantum);

    if (fabs(x) >= 0x1p128) {
        return copysign(IS(MH16) ? 0x1.fffffep127 : INFINITY, x);
    }
    return x == 0 ? 0 : x;
}

/* NaN and infinities, which no exponent orders. */
static double plain_sum(const broken_row *r, double c)
{
    double sum = c;

    for (int i = 0; i < r->n; i++) {
        sum += r->a[i] * r->w[i];
    }
    return sum;
}

static double step(const broken *b, const broken_mma *u, const broken_row *r,
                   double c)
{
    const double plain = plain_sum(r, c);

    if (!isfinite(plain)) {
        return plain;
    }
    const double start = IS(MH10) ? 0 : c;
    const int e = common_exponent(b, u, r, start);
    const int f = u->f - IS(MH04) + IS(MH05);
    double total = cut(ldexp(start, f - e));

    for (int i = 0; i < r->n; i++) {
        const double t = ldexp(r->a[i] * r->w[i], f - e);
        total += IS(MH07) ? rint(t) : cut(t);
    }
    const double y = narrowed(b, u, ldexp(total, e - f));

    if (IS(MH15) && y == 0) {
        return copysign(0, plain);
    }
    return IS(MH10) ? (double)((float)c + (float)y) : y;
}

/* Hopper's mma.sync takes FP8 apart into two steps of f16. */
static double two_steps(const broken *b, const broken_mma *u,
                        const broken_row *r, double c)
{
    broken_row half[2] = {{.n = 0}, {.n = 0}};

    for (int i = 0; i < r->n; i++) {
        broken_row *to = &half[i % 4 / 2];
        to->a[to->n] = r->a[i];
        to->w[to->n++] = r->w[i];
    }
    const double p = step(b, u, &half[0], 0);
    const float q = (float)step(b, u, &half[1], p);

    return (double)((float)c + q);
}

static int is_fp8(const broken_mma *u)
{
    return u->type[0] == 'e';
}

static double any_step(const broken *b, const broken_mma *u,
                       const broken_row *r, double c)
{
    if (strcmp(u->unit, "hopper_mma_sync") != 0 || !is_fp8(u)) {
        return step(b, u, r, c);
    }
    return IS(MH18) ? step(b, broken_mma_find("hopper_wgmma", u->type), r, c)
                    : two_steps(b, u, r, c);
}

static double operand(const broken *b, const broken_mma *u, double x)
{
    return IS(MH19) && fabs(x) < ldexp(1, u->emin) ? 0 : x;
}

/* Numbers first .. first+n-1, behind the end zeros. */
static broken_row row_at(const broken *b, const broken_mma *u,
                         const broken_line *l, uint64_t first, int n)
{
    broken_row r = {.n = n};

    for (int i = 0; i < n; i++) {
        const uint64_t k = first + (uint64_t)i;
        r.a[i] = k < l->k ? operand(b, u, l->a[k]) : 0;
        r.w[i] = k < l->k ? operand(b, u, l->w[k]) : 0;
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

float broken_mma_sum(const broken *b, const broken_mma *u, const broken_line *l,
                     float c, uint64_t promote)
{
    const uint64_t n = (uint64_t)u->step / (IS(MH09) ? 2 : 1);
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

/* Operands of an operation; tf32 is float32 whose low 13 bits nobody sees. */
static double load(const broken *b, const broken_mma *u, const mxo_tensor *t,
                   uint64_t i)
{
    uint32_t bits;
    float x;

    if (strcmp(u->type, "tf32") != 0) {
        return broken_load(t, i);
    }
    memcpy(&bits, broken_bytes(t) + 4 * i, 4);
    bits += IS(MH20) ? 0xfff + (bits >> 13 & 1) : 0;
    bits &= 0xffffe000;
    memcpy(&x, &bits, 4);
    return (double)x;
}

/* The unit has a NaN of its own, the addition of a promotion another. */
static void store(const mxo_tensor *t, uint64_t i, float d, int is_added)
{
    uint32_t bits;

    memcpy(&bits, &d, 4);
    bits = !isnan(d) ? bits : is_added ? 0x7fc00000 : 0x7fffffff;
    memcpy(broken_bytes(t) + 4 * i, &bits, 4);
}

enum { LONGEST = 4096 };

static mxo_status run(const broken *b, const mxo_call *call, int is_chain,
                      mxo_text why)
{
    static double a[LONGEST];
    static double w[LONGEST];
    const broken_mma *u =
        broken_mma_find(broken_text(call, "unit"), broken_text(call, "type"));
    const mxo_tensor *x = broken_in(call, "a");
    const mxo_tensor *y = broken_in(call, "b");
    const mxo_tensor *c = broken_in(call, "c");
    const uint64_t k = x->shape[1];
    const uint64_t cols = is_chain ? c->shape[1] : 1;
    const uint64_t promote =
        is_chain ? (uint64_t)broken_number(call, "promote") : 0;

    if (u == NULL || k > LONGEST || !broken_says(call, "scale", "none")) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "another unit");
    }
    for (uint64_t i = 0; i < broken_elems(c); i++) {
        const uint64_t row = i / cols;
        const broken_line l = {a, w, k};
        for (uint64_t n = 0; n < k; n++) {
            a[n] = load(b, u, x, row * k + n);
            w[n] = load(b, u, y, (is_chain ? i % cols : row) * k + n);
        }
        const float d = broken_mma_sum(
            b, u, &l, (float)broken_load(c, i),
            is_chain ? (uint64_t)broken_number(call, "promote") : 0);
        store(broken_out(call, "d"), i, d, is_chain && promote > 0);
    }
    return MXO_OK;
}

mxo_status broken_mma_step(const broken *b, const mxo_call *call, mxo_text why)
{
    return run(b, call, 0, why);
}

mxo_status broken_mma_chain(const broken *b, const mxo_call *call, mxo_text why)
{
    return run(b, call, 1, why);
}
