/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hyperbolic tangent and logarithm of floats, correctly rounded: routers take
 * both.  As in exact.c a double decides nearly always, with an error below
 * 2^-48, and a double-double the rest, with one below 2^-88.
 *
 * tanh z = (1 - E) / (1 + E), E = e^-2z, loses bits below z = 1/8: there a
 * Taylor series takes over.  Below 2^-12 the result is z less z^3 / 3, under
 * a third of half an ulp, so z itself.
 *
 * ln(c 2^k) = k ln 2 + 2 (s + s^3 / 3 + s^5 / 5 + ..), s = (c - 1) / (c + 1),
 * |s| < 0.172 for c between the roots of 1/2 and 2.
 */
#include "exact.h"

#include "number.h"

static const dd one = {1, 0};

/* Terms beyond z^15 are below 2^-58 of z. */
static double tanh_series(double z)
{
    static const double c[] = {
        -929569.0 / 638512875, 21844.0 / 6081075, -1382.0 / 155925, 62.0 / 2835,
        -17.0 / 315,           2.0 / 15,          -1.0 / 3};
    const double z2 = z * z;
    double sum = 0;

    for (int i = 0; i < 7; i++) {
        sum = (sum + c[i]) * z2;
    }
    return z + z * sum;
}

static dd tanh_precise(double z)
{
    const dd e = cpu_exp_precise(2 * z);
    const dd minus = {-e.h, -e.l};

    return dd_div(dd_add(one, minus), dd_add(one, e));
}

float cpu_tanh_one(float x)
{
    const double t = (double)x;
    const double z = t < 0 ? -t : t;
    const uint32_t sign = cpu_bits32(x) & 0x80000000u;
    uint32_t code;

    if (x != x || z < 0x1p-12) {
        return x;
    }
    if (z > 16) {
        return cpu_float(0x3f800000u | sign);
    }
    const double e = cpu_exp_fast(2 * z);
    const dd y1 = {z < 0x1p-3 ? tanh_series(z) : (1 - e) / (1 + e), 0};

    if (!cpu_decided(y1, 0x1p-45, &cpu_wide_f32, &code)) {
        code = cpu_round_pair(tanh_precise(z), &cpu_wide_f32);
    }
    return cpu_float(code | sign);
}

enum { SHORT_TERMS = 11, LONG_TERMS = 24 };

static double ln_fast(double c, int k)
{
    const double s = (c - 1) / (c + 1);
    const double s2 = s * s;
    double sum = 0;

    for (int n = SHORT_TERMS; n > 0; n--) {
        sum = (sum + 1.0 / (2 * n + 1)) * s2;
    }
    return k * 0x1.62e42fefa39efp-1 + (2 * s + 2 * s * sum);
}

static dd ln_precise(double c, int k)
{
    /* ln 2 to 106 bits. */
    const dd ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
    const dd top = {c - 1, 0};
    const dd below = {c + 1, 0};
    const dd whole = {k, 0};
    const dd s = dd_div(top, below);
    const dd s2 = dd_mul(s, s);
    dd sum = {0, 0};

    for (int n = LONG_TERMS; n > 0; n--) {
        const dd odd = {2 * n + 1, 0};
        sum = dd_mul(dd_add(sum, dd_div(one, odd)), s2);
    }
    const dd series = dd_scale(dd_mul(s, dd_add(one, sum)), 2);

    return dd_add(dd_mul(ln2, whole), series);
}

float cpu_ln_one(float x)
{
    const float infinity = cpu_float(0x7f800000u);
    const uint64_t u = cpu_bits64((double)x);
    int k = (int)(u >> 52 & 0x7ff) - 1023;
    double c = cpu_double((u & 0xfffffffffffffu) | UINT64_C(1023) << 52);
    uint32_t code;

    if (x == 0) {
        return -infinity;
    }
    if (!(x > 0)) {
        return cpu_float(0x7fc00000u);
    }
    if (x == infinity || x == 1) {
        return x == 1 ? 0 : x;
    }
    if (c > 0x1.6a09e6p+0) {
        c *= 0.5;
        k++;
    }
    const dd y1 = {ln_fast(c, k), 0};

    if (!cpu_decided(y1, 0x1p-45, &cpu_wide_f32, &code)) {
        code = cpu_round_pair(ln_precise(c, k), &cpu_wide_f32);
    }
    return cpu_float(code);
}
