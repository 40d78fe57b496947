/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu of binary64: y = G * sigmoid(alpha G) * (V + beta), rounded once.
 * Numbers of 320 bits are cut after every step; what is near 1/2 or 1 has no
 * room even there and is a product plus the sign of what is missing:
 *
 *     sigmoid(t) = 1/2 + t/4 - ...       |t| < 2^-230
 *     sigmoid(t) = 1 - e^-t + ...        t > 160
 *
 * If V and beta are more than 2^110 apart, G times the larger one is the
 * product, from |t| < 2^-110 and t > 80 on, and the sign that of all the rest.
 * Otherwise V + beta and G * (V + beta) are exact.  No other result lies on a
 * boundary: sigmoid(t) is transcendental but for t = 0.
 *
 * Other dialects to binary64 round every step, an exponential among them; it is
 * transcendental too but for e^0.  C that CUDA C++ and HIP C++ also accept.
 */
#ifndef BACKENDS_GLU_WIDE_H
#define BACKENDS_GLU_WIDE_H

#include "../codes_call.h"

#include <string.h>

#if !defined(GLU_WIDE_FN)
#define GLU_WIDE_FN CODES_FN
#endif

enum { GLU_LIMBS = 10, GLU_BITS = 32 * GLU_LIMBS, GLU_FAR = 110 };
enum { GLU_WIDE_KEEP, GLU_WIDE_LIMIT, GLU_WIDE_LOW }; /* a clamp's NaN */

/* How a result comes about: rounded once; by steps that round to binary64 each;
   in binary32, by the backend, and widened. */
enum { GLU_WIDE_ONCE, GLU_WIDE_STEPS, GLU_WIDE_WIDENED };
/* Of steps: s times V; s times V + 1; s times V, and s added. */
enum { GLU_WIDE_TIMES, GLU_WIDE_PLUS, GLU_WIDE_FMA };

/* What a clamp and a unit have; no clamp is an infinite limit. */
typedef struct glu_wide_unit {
    codes_format from, to, f64;
    uint32_t in_bytes, out_bytes, nan;
    uint32_t way;
    uint32_t divides, tail, two_way; /* of steps; two_way: beta 0 is TIMES */
    double alpha, beta, limit;
} glu_wide_unit;

/* The number (-1)^neg w 2^exp, w's top bit set; or zero, w all zero. */
typedef struct glu_wide {
    uint32_t w[GLU_LIMBS]; /* low ones first */
    int32_t exp;
    uint32_t neg;
} glu_wide;

GLU_WIDE_FN int glu_wide_is_zero(const glu_wide *x)
{
    return x->w[GLU_LIMBS - 1] == 0;
}

/* |x| is at least 2^this, and below twice that. */
GLU_WIDE_FN int32_t glu_wide_lg(const glu_wide *x)
{
    return x->exp + GLU_BITS - 1;
}

/* w to the right by n bits, which are lost. */
GLU_WIDE_FN void glu_wide_right(uint32_t *w, int32_t n)
{
    const int32_t limbs = n / 32;

    for (int32_t i = 0; i < GLU_LIMBS; i++) {
        const int32_t at = i + limbs;
        const uint64_t low = at < GLU_LIMBS ? w[at] : 0;
        const uint64_t high = at + 1 < GLU_LIMBS ? w[at + 1] : 0;

        w[i] = (uint32_t)((high << 32 | low) >> n % 32);
    }
}

/* To the left, until the top bit is set. */
GLU_WIDE_FN void glu_wide_normal(glu_wide *x)
{
    int32_t top = GLU_LIMBS - 1;

    while (top > 0 && x->w[top] == 0) {
        top--;
    }
    if (x->w[top] == 0) {
        return;
    }
    const int32_t limbs = GLU_LIMBS - 1 - top;
    const int32_t bits = 31 - codes_lg(x->w[top]);

    for (int32_t i = GLU_LIMBS - 1; i >= 0; i--) {
        const int32_t at = i - limbs;
        const uint64_t high = at >= 0 ? x->w[at] : 0;
        const uint64_t low = at >= 1 ? x->w[at - 1] : 0;

        x->w[i] = (uint32_t)((high << 32 | low) >> (32 - bits));
    }
    x->exp -= 32 * limbs + bits;
}

/* A finite number. */
GLU_WIDE_FN glu_wide glu_wide_of(double number)
{
    uint64_t u;
    glu_wide x;

    memcpy(&u, &number, 8);
    memset(&x, 0, sizeof x);
    const int32_t field = (int32_t)(u >> 52 & 2047);
    const uint64_t part = u & 0xfffffffffffffu;
    const uint64_t sig = field == 0 ? part : part | 0x10000000000000u;

    x.w[GLU_LIMBS - 1] = (uint32_t)(sig >> 32);
    x.w[GLU_LIMBS - 2] = (uint32_t)sig;
    x.exp = (field == 0 ? 1 : field) - 1075 - (GLU_BITS - 64);
    x.neg = (uint32_t)(u >> 63);
    glu_wide_normal(&x);
    return x;
}

GLU_WIDE_FN glu_wide glu_wide_minus(glu_wide x)
{
    x.neg ^= 1;
    return x;
}

GLU_WIDE_FN glu_wide glu_wide_times(const glu_wide *a, const glu_wide *b)
{
    uint32_t p[2 * GLU_LIMBS];
    glu_wide x = *a;

    if (glu_wide_is_zero(a) || glu_wide_is_zero(b)) {
        memset(&x, 0, sizeof x);
        return x;
    }
    memset(p, 0, sizeof p);
    for (int i = 0; i < GLU_LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < GLU_LIMBS; j++) {
            carry += (uint64_t)a->w[i] * b->w[j] + p[i + j];
            p[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        p[i + GLU_LIMBS] = (uint32_t)carry;
    }
    /* The product's top bit may be clear: one more from below. */
    const uint32_t up = p[2 * GLU_LIMBS - 1] >> 31 == 0;

    for (int i = 0; i < GLU_LIMBS; i++) {
        const uint32_t below = p[GLU_LIMBS + i - 1] >> 31;
        x.w[i] = up ? p[GLU_LIMBS + i] << 1 | below : p[GLU_LIMBS + i];
    }
    x.exp = a->exp + b->exp + GLU_BITS - (int32_t)up;
    x.neg = a->neg ^ b->neg;
    return x;
}

GLU_WIDE_FN int glu_wide_is_below(const glu_wide *a, const glu_wide *b)
{
    int i = GLU_LIMBS - 1;

    if (glu_wide_is_zero(a) || glu_wide_is_zero(b)) {
        return glu_wide_is_zero(a);
    }
    while (i > 0 && a->w[i] == b->w[i]) {
        i--;
    }
    return a->exp != b->exp ? a->exp < b->exp : a->w[i] < b->w[i];
}

GLU_WIDE_FN glu_wide glu_wide_plus(const glu_wide *a, const glu_wide *b)
{
    const int swaps = glu_wide_is_below(a, b);
    glu_wide x = swaps ? *b : *a;
    glu_wide y = swaps ? *a : *b;
    const uint32_t turn = x.neg != y.neg ? 0xffffffffu : 0;
    uint64_t carry = turn & 1;

    if (glu_wide_is_zero(&y) || x.exp - y.exp >= GLU_BITS) {
        return x;
    }
    glu_wide_right(y.w, x.exp - y.exp);
    for (int i = 0; i < GLU_LIMBS; i++) {
        carry += (uint64_t)x.w[i] + (y.w[i] ^ turn);
        x.w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (turn == 0 && carry != 0) {
        glu_wide_right(x.w, 1);
        x.w[GLU_LIMBS - 1] |= 0x80000000u;
        x.exp++;
    }
    glu_wide_normal(&x);
    return x;
}

/* e^z, 0 < |z| < 2^20: a series below 2^-16, squared as often as z is halved;
   each square doubles the relative error, of 2^-316 at first. */
GLU_WIDE_FN glu_wide glu_wide_power(glu_wide z)
{
    const glu_wide one = glu_wide_of(1);
    const int32_t lg = glu_wide_lg(&z);
    const int32_t halves = lg < -17 ? 0 : lg + 17;
    glu_wide p = one;

    z.exp -= halves;
    for (uint32_t n = 18; n > 0; n--) {
        uint64_t rest = 0;

        p = glu_wide_times(&p, &z);
        for (int i = GLU_LIMBS - 1; i >= 0; i--) {
            rest = rest << 32 | p.w[i];
            p.w[i] = (uint32_t)(rest / n);
            rest %= n;
        }
        glu_wide_normal(&p);
        p = glu_wide_plus(&one, &p);
    }
    for (int32_t i = 0; i < halves; i++) {
        p = glu_wide_times(&p, &p);
    }
    return p;
}

/* 1 / d, 1 <= d <= 2: Newton's steps, from 30 bits on. */
GLU_WIDE_FN glu_wide glu_wide_over(const glu_wide *d)
{
    const glu_wide one = glu_wide_of(1);
    const double top = (double)(d->w[GLU_LIMBS - 1] >> 1) * 0x1p-30;
    glu_wide y = glu_wide_of(glu_wide_lg(d) == 0 ? 1 / top : 0.5 / top);

    for (int i = 0; i < 4; i++) {
        glu_wide e = glu_wide_minus(glu_wide_times(d, &y));
        e = glu_wide_plus(&one, &e);
        e = glu_wide_times(&y, &e);
        y = glu_wide_plus(&y, &e);
    }
    return y;
}

/* The number, or one between it and its neighbour of 62 bits farther from
   (side 1) or nearer to (side -1) zero, with 63 bits that round like it. */
GLU_WIDE_FN codes_real glu_wide_real(const glu_wide *x, int side)
{
    const uint64_t high =
        (uint64_t)x->w[GLU_LIMBS - 1] << 32 | x->w[GLU_LIMBS - 2];
    uint64_t rest = high & 3;

    for (int i = 0; i < GLU_LIMBS - 2; i++) {
        rest |= x->w[i];
    }
    const uint64_t less = rest == 0 && side < 0 ? 1 : 0;
    const uint64_t odd = rest != 0 || side != 0 ? 1 : 0;

    return codes_number(((high >> 2) - less) << 1 | odd, x->exp + GLU_BITS - 63,
                        x->neg);
}

/* Sign of what is missing beside big, |big| > 2^110 |small|, of
   (big + small) * (1 + tanh(t / 2)), |t| < 2^-110. */
GLU_WIDE_FN int glu_wide_half_side(const glu_wide *t, const glu_wide *big,
                                   const glu_wide *small)
{
    const glu_wide twelfth = glu_wide_of(-1.0 / 12);
    const glu_wide first = glu_wide_times(big, t);
    const glu_wide second = glu_wide_times(small, t);
    glu_wide third = glu_wide_times(t, t);
    glu_wide twice = *small;

    twice.exp++;
    third = glu_wide_times(&third, &first);
    third = glu_wide_times(&third, &twelfth);
    third = glu_wide_plus(&second, &third);
    const glu_wide sum = glu_wide_plus(&twice, &first); /* exact, if near 0 */
    const glu_wide all = glu_wide_plus(&sum, &third);

    return glu_wide_is_zero(&all) ? 0 : all.neg == big->neg ? 1 : -1;
}

/* The same of (big + small) * (1 - e^-t), t > 80. */
GLU_WIDE_FN int glu_wide_one_side(const glu_wide *t, const glu_wide *sum,
                                  const glu_wide *small)
{
    glu_wide e = glu_wide_of(0);

    if (glu_wide_lg(t) < 20) {
        e = glu_wide_power(glu_wide_minus(*t));
        e = glu_wide_minus(glu_wide_times(&e, sum));
    }
    const glu_wide all = glu_wide_plus(small, &e);

    return all.neg != sum->neg ? -1 : 1;
}

/* Where nothing is near 1/2 or 1; e^-4000 times 2^2048 is nothing. */
GLU_WIDE_FN codes_real glu_wide_direct(const glu_wide *product, glu_wide t)
{
    const glu_wide one = glu_wide_of(1);
    const uint32_t falls = t.neg;

    t.neg = 1;
    if (glu_wide_lg(&t) >= 12) {
        return codes_number(3, -20000, product->neg);
    }
    const glu_wide e = glu_wide_power(t);
    glu_wide y = glu_wide_plus(&one, &e);

    y = glu_wide_over(&y);
    y = falls ? glu_wide_times(&y, &e) : y;
    y = glu_wide_times(&y, product);
    return glu_wide_real(&y, 0);
}

/* g and v + beta are finite and not zero; endless: t is infinite. */
GLU_WIDE_FN codes_real glu_wide_gated(double g, const glu_wide *t, int endless,
                                      const glu_wide *v, const glu_wide *beta,
                                      const glu_wide *sum)
{
    const int swaps = glu_wide_is_below(v, beta);
    const glu_wide *const big = swaps ? beta : v;
    const glu_wide *const small = swaps ? v : beta;
    const int is_far = !glu_wide_is_zero(small) &&
                       glu_wide_lg(big) - glu_wide_lg(small) > GLU_FAR;
    const int is_level = glu_wide_is_zero(t) && !endless;
    const glu_wide bound = glu_wide_of(is_far ? 80 : 160);
    const int halves =
        is_level || (!endless && glu_wide_lg(t) < (is_far ? -GLU_FAR : -230));
    const int ends =
        endless || (!is_level && !t->neg && glu_wide_is_below(&bound, t));
    const glu_wide gate = glu_wide_of(g);
    glu_wide y = glu_wide_times(&gate, is_far && (halves || ends) ? big : sum);
    int side = endless ? 0 : -1; /* the sigmoid of infinity is 1 */

    if (!halves && !ends) {
        return glu_wide_direct(&y, *t);
    }
    if (halves) {
        y.exp--;
        side = is_level ? 0 : t->neg ? -1 : 1;
        side = is_far ? glu_wide_half_side(t, big, small) : side;
    } else if (is_far) {
        if (endless) {
            side = small->neg == big->neg ? 1 : -1;
        } else {
            side = glu_wide_one_side(t, sum, small);
        }
    }
    return glu_wide_real(&y, side);
}

/* 1 or -1 for a finite number that is not zero. */
GLU_WIDE_FN double glu_wide_sign(double x)
{
    return x == 0 || x - x != 0 ? x : x < 0 ? -1 : 1;
}

/* The gated unit of numbers that are clamped already. */
GLU_WIDE_FN codes_real glu_wide_value(double g, double v, double alpha,
                                      double beta)
{
    const double t = glu_wide_sign(alpha) * glu_wide_sign(g);
    const int finite = v - v == 0 && beta - beta == 0;
    const glu_wide nothing = glu_wide_of(0);
    const glu_wide wide_v = finite ? glu_wide_of(v) : nothing;
    const glu_wide wide_beta = finite ? glu_wide_of(beta) : nothing;
    const glu_wide total = glu_wide_plus(&wide_v, &wide_beta);
    const double sign = glu_wide_is_zero(&total) ? 0 : total.neg ? -1 : 1;
    const double sum = finite ? sign : v + beta;
    const double end = t < 0 ? 0 : 1;
    const double sigmoid = t != t ? t : t - t == 0 ? 0.5 : end;
    const double y = glu_wide_sign(g) * sigmoid * sum;

    if (y == 0 || y - y != 0) {
        uint64_t u;
        memcpy(&u, &y, 8);
        return codes_special(y == 0   ? (uint32_t)CODES_ZERO
                             : y != y ? (uint32_t)CODES_NAN
                                      : (uint32_t)CODES_INFINITE,
                             y != y ? 0 : (uint32_t)(u >> 63));
    }
    const int endless = alpha - alpha != 0;
    const glu_wide a = glu_wide_of(endless ? 0 : alpha);
    const glu_wide gate = glu_wide_of(g);
    const glu_wide product = glu_wide_times(&a, &gate);

    return glu_wide_gated(g, &product, endless, &wide_v, &wide_beta, &total);
}

/* A code as binary64, which has every number of every type. */
GLU_WIDE_FN double glu_wide_number(const glu_wide_unit *u, uint64_t code)
{
    const uint64_t bits =
        codes_write(&u->f64, codes_read(&u->from, code), CODES_RNE, 0, 0, 0);
    double x;

    memcpy(&x, &bits, 8);
    return x;
}

/* e^x, rounded once. */
GLU_WIDE_FN double glu_wide_exp(const glu_wide_unit *u, double x)
{
    const int ends = x - x != 0;
    const glu_wide z = glu_wide_of(ends ? 0 : x);
    uint64_t bits;
    double y;

    if (x != x || x == 0) {
        return x + 1;
    }
    if (ends || glu_wide_lg(&z) >= 11) { /* below half of the least number */
        return x < 0 ? 0 : __builtin_huge_val();
    }
    const glu_wide power = glu_wide_power(z);

    bits = codes_write(&u->f64, glu_wide_real(&power, 0), CODES_RNE, 0, 0, 0);
    memcpy(&y, &bits, 8);
    return y;
}

/* The gated unit of clamped numbers by steps, none of them fused. */
GLU_WIDE_FN double glu_wide_steps(const glu_wide_unit *u, double g, double v)
{
    const double t = u->alpha * g;
    const double sum = 1 + glu_wide_exp(u, -t);
    const double rest = 1 / sum;
    const double s = u->divides ? g / sum : g * rest;

    if (u->tail == GLU_WIDE_TIMES || (u->two_way && u->beta == 0)) {
        return s * v;
    }
    if (u->tail == GLU_WIDE_FMA) {
        const double product = s * v;
        return product + s;
    }
    const double more = v + 1;

    return s * more;
}

/* A number of binary64 as a code of it, any NaN as the one without payload. */
GLU_WIDE_FN uint64_t glu_wide_bits(const glu_wide_unit *u, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, 8);
    return x != x ? codes_nan(&u->f64, 0) : bits;
}

/* Code of the result for codes of gate and up. */
GLU_WIDE_FN uint64_t glu_wide_code(const glu_wide_unit *u, uint64_t gate,
                                   uint64_t up)
{
    double g = glu_wide_number(u, gate);
    double v = glu_wide_number(u, up);

    if (u->limit - u->limit == 0) {
        const int keeps = u->nan == GLU_WIDE_KEEP;
        const double low = u->nan == GLU_WIDE_LOW ? -u->limit : u->limit;

        g = g > u->limit || (g != g && !keeps) ? u->limit : g;
        v = v != v && !keeps ? low : v;
        v = v > u->limit ? u->limit : v < -u->limit ? -u->limit : v;
    }
    if (u->way == GLU_WIDE_STEPS) {
        return glu_wide_bits(u, glu_wide_steps(u, g, v));
    }
    const codes_real y = glu_wide_value(g, v, u->alpha, u->beta);

    return y.cls == CODES_NAN ? codes_nan(&u->to, 0)
                              : codes_write(&u->to, y, CODES_RNE, 0, 0, 0);
}

#endif
