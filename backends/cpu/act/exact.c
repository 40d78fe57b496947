/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Correctly rounded activations, one at a time.
 *
 * With z = |t| and E = e^-z the sigmoid is 1/(1+E) or E/(1+E): nothing
 * cancels.  Tier 1 is double: polynomial of degree 6 after a table of 64
 * powers, relative error below 2^-50, tested with 2^-49.  Tier 2 is double-
 * double (TwoSum, Dekker's product), error near 2^-104, tested with 2^-95.
 * Where the sigmoid is 1/2 or 1 up to less than tier 2 can see (|t| < 2^-60,
 * t > 60) the result is an exact product plus a small correction, summed
 * without loss.  All of it is IEEE double, no libm, no FMA.
 */
#include "exact.h"
#include "act.h"

#include "exact_table.h"
#include "number.h"

#include <mxoracle/abi.h>

#define INF_BITS 0x7f800000u

const cpu_wide cpu_wide_f32 = {23, -126, 0x7f800000u, 0x80000000u, 0x7fc00000u};
static const cpu_wide bf16 = {7, -126, 0x7f80u, 0x8000u, 0x7fc0u};
static const cpu_wide f16 = {10, -14, 0x7c00u, 0x8000u, 0x7e00u};

static const cpu_wide *format_of(uint32_t to)
{
    return to == MXO_F32 ? &cpu_wide_f32 : to == MXO_BF16 ? &bf16 : &f16;
}

uint32_t cpu_round_pair(dd x, const cpu_wide *f)
{
    const uint64_t u = cpu_bits64(x.h);
    const uint32_t sign = (u >> 63) != 0 ? f->sign : 0;
    const int own = (int)(u >> 52 & 0x7ff) - 1023;
    const int e = own < f->emin ? f->emin : own;
    const int shift = 52 - f->mbits + (e - own);
    const uint64_t m = (u & 0xfffffffffffffu) | 0x10000000000000u;
    const double low = (u >> 63) != 0 ? -x.l : x.l;

    if (own > 200) {
        return sign | f->infinity;
    }
    if (shift > 54) {
        return sign;
    }
    uint64_t n = m >> shift;
    const uint64_t rest = m - (n << shift);
    const uint64_t half = (uint64_t)1 << (shift - 1);
    const int up = rest > half || (rest == half && low > 0) ||
                   (rest == half && low == 0 && n % 2 != 0);
    n += (uint64_t)up;
    const uint64_t code = ((uint64_t)(e - f->emin) << f->mbits) + n;

    return sign | (uint32_t)(code > f->infinity ? f->infinity : code);
}

int cpu_decided(dd x, double eps, const cpu_wide *f, uint32_t *code)
{
    const double step = x.h * eps;
    const dd low = dd_two_sum(x.h, x.l - step);
    const dd high = dd_two_sum(x.h, x.l + step);

    *code = cpu_round_pair(low, f);
    return *code == cpu_round_pair(high, f);
}

/* e^-r for |r| <= 0.0055, relative error 2^-52. */
static double short_exp(double r)
{
    double p = factorial_table[6][0];

    for (int n = 5; n >= 0; n--) {
        p = factorial_table[n][0] - r * p;
    }
    return p;
}

double cpu_exp_fast(double z)
{
    const int k = (int)(z * INV_LN2_64 + 0.5);
    const double r = (z - k * LN2_64_A) - k * LN2_64_B;

    return power_table[k & 63][0] * short_exp(r) * cpu_pow2(-(k >> 6));
}

dd cpu_exp_precise(double z)
{
    const int k = (int)(z * INV_LN2_64 + 0.5);
    const dd a = dd_two_sum(z - k * LN2_64_A, -(k * LN2_64_B));
    const dd r = dd_quick_sum(a.h, a.l - k * LN2_64_C);
    const dd minus = {-r.h, -r.l};
    dd p = {factorial_table[14][0], factorial_table[14][1]};

    for (int n = 13; n >= 0; n--) {
        const dd c = {factorial_table[n][0], factorial_table[n][1]};

        p = dd_add(c, dd_mul(minus, p));
    }
    const dd t = {power_table[k & 63][0], power_table[k & 63][1]};

    return dd_scale(dd_mul(t, p), cpu_pow2(-(k >> 6)));
}

/* The sum of n terms, as the nearest double and the sign of the rest. */
static dd sum_exactly(double *term, int n)
{
    /* Each pass moves the sum up; n passes leave terms that do not overlap. */
    for (int pass = 0; pass < n; pass++) {
        for (int i = 0; i + 1 < n; i++) {
            const dd s = dd_two_sum(term[i + 1], term[i]);

            term[i + 1] = s.h;
            term[i] = s.l;
        }
    }
    int i = n - 2;
    while (i > 0 && term[i] == 0) {
        i--;
    }
    return dd_two_sum(term[n - 1], term[i]);
}

/*
 * g * w * sigmoid(t) where the sigmoid is base + correction, the base 1/2 or
 * 1 and the correction below 2^-60 of it.
 */
static uint32_t near_product(double g, dd w, double base, double correction,
                             const cpu_wide *f)
{
    const dd a = dd_two_product(g * base, w.h);
    const dd b = dd_two_product(g * base, w.l);
    double term[5] = {a.h * correction, b.l, b.h, a.l, a.h};

    return cpu_round_pair(sum_exactly(term, 5), f);
}

/* g, w and t finite, g and w not zero. */
static uint32_t gated(double g, dd w, double t, const cpu_wide *f)
{
    const double z = t < 0 ? -t : t;
    const double product = g * w.h;
    uint32_t code;

    if (t < -290) {
        return (g < 0) != (w.h < 0) ? f->sign : 0;
    }
    const double e = cpu_exp_fast(z > 290 ? 290 : z);
    const double top = t < 0 ? product * e : product;
    const dd y1 = {top / (1 + e), 0};
    if (cpu_decided(y1, 0x1p-49, f, &code)) {
        return code;
    }
    if (z < 0x1p-60) {
        return near_product(g, w, 0.5, t * 0.5, f);
    }
    if (t > 60) {
        return near_product(g, w, 1, -e, f);
    }
    const dd one = {1, 0};
    const dd e2 = cpu_exp_precise(z);
    const dd gd = {g, 0};
    const dd p = dd_mul(w, gd);
    const dd y2 = dd_div(t < 0 ? dd_mul(p, e2) : p, dd_add(one, e2));

    /* A miss here is within 2^-95 of a boundary: nearer than any input of
       one variable, and expected nowhere among 2^64 pairs.  Rounding the
       double-double is then the answer. */
    return cpu_decided(y2, 0x1p-95, f, &code) ? code : cpu_round_pair(y2, f);
}

static uint32_t special(double g, double w, double t, const cpu_wide *f)
{
    const double inf = cpu_float(INF_BITS);
    const double sigmoid = t == inf ? 1 : t == -inf ? 0 : 0.5;
    const double y = g * sigmoid * w;

    if (y != y || t != t) {
        return f->nan;
    }
    if (y != 0 && y != inf && y != -inf) { /* sigmoid(Inf) */
        const dd exact = {y, 0};
        return cpu_round_pair(exact, f);
    }
    return ((cpu_bits64(y) >> 63) != 0 ? f->sign : 0) |
           (y == 0 ? 0 : f->infinity);
}

static int is_nan(float x)
{
    return x != x;
}

uint32_t cpu_glu_one(const cpu_glu *c, float gate, float up)
{
    const cpu_wide *f = format_of(c->to);
    const int clamps = cpu_bits32(c->limit) != INF_BITS;
    float g = gate;
    float v = up;

    if (clamps) {
        g = is_nan(g) && c->nan != CPU_NAN_KEEP ? c->limit
            : g > c->limit                      ? c->limit
                                                : g;
        if (is_nan(v) && c->nan != CPU_NAN_KEEP) {
            v = c->nan == CPU_NAN_LIMIT ? c->limit : -c->limit;
        } else if (v > c->limit) {
            v = c->limit;
        } else if (v < -c->limit) {
            v = -c->limit;
        }
    }
    const double t = (double)c->alpha * (double)g;
    const double factor = c->no_mul ? 1 : (double)g;
    dd w = dd_two_sum((double)v, (double)c->beta);
    w.h = w.h == 0 ? 0.0 : w.h; /* V + beta = 0 counts as +0 */
    const double test = factor * w.h * t;

    if (test == 0 || test - test != 0) {
        /* Zero, infinite or NaN somewhere; t = 0 alone is ordinary. */
        if (factor == 0 || w.h == 0 || factor - factor != 0 || w.h - w.h != 0 ||
            t - t != 0) {
            return special(factor, w.h, t, f);
        }
    }
    return gated(factor, w, t, f);
}

uint32_t cpu_exp_one(float x, uint32_t to)
{
    const cpu_wide *f = format_of(to);
    const double t = (double)x;
    const double z = t < 0 ? -t : t;
    const dd one = {1, 0};
    uint32_t code;

    if (is_nan(x)) {
        return f->nan;
    }
    if (z > 200) {
        return t < 0 ? 0 : f->infinity;
    }
    const double e = cpu_exp_fast(z);
    const dd y1 = {t < 0 ? e : 1 / e, 0};
    if (cpu_decided(y1, 0x1p-49, f, &code)) {
        return code;
    }
    const dd e2 = cpu_exp_precise(z);
    const dd y2 = t < 0 ? e2 : dd_div(one, e2);

    return cpu_decided(y2, 0x1p-95, f, &code) ? code : cpu_round_pair(y2, f);
}

/* 2^(n - f) = 2^n e^-(f ln 2), where n is the next integer above and f below
   one: exact as a double.  2^x is irrational unless f is zero. */
float cpu_exp2_one(float x)
{
    const dd ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
    const double t = (double)x;
    uint32_t code;

    if (is_nan(x)) {
        return cpu_float(cpu_wide_f32.nan);
    }
    if (t >= 128 || t < -150) {
        return t < 0 ? 0.0f : cpu_float(INF_BITS);
    }
    int n = (int)t;
    n += t > n;
    const double f = n - t;
    const double scale = cpu_pow2(n);
    const dd y1 = {cpu_exp_fast(f * ln2.h) * scale, 0};
    if (cpu_decided(y1, 0x1p-48, &cpu_wide_f32, &code)) {
        return cpu_float(code);
    }
    /* e^-(h + l) = e^-h (1 - l), as l is below 2^-52. */
    const dd fd = {f, 0};
    const dd z = dd_mul(ln2, fd);
    const dd rest = {1, -z.l};
    const dd y2 = dd_scale(dd_mul(cpu_exp_precise(z.h), rest), scale);

    return cpu_float(cpu_round_pair(y2, &cpu_wide_f32));
}
