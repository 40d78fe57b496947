/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations of ordinary operands, written once over vec_*.h.
 *
 * In float e^-t = 2^w, w = -t / ln 2 = n + f, t = alpha G, n a multiple of
 * 1 / VEC_POWERS, |f| at most half of that; 1 / ln 2 times alpha is a sum of
 * two floats, and n is subtracted within the product of the first.  Nothing
 * cancels in y = G (V + beta) / (1 + e^-t).  In units of 2^-24 relative: f 0.1;
 * the power and its product 1 each and a truncation of at most 3.6, or 4.3 for
 * the whole polynomial; 1 + e^-t, V + beta and their product with G 1 each, the
 * quotient 3: at most 11.7, that is 11.7 ulp of a significand next to 2 (7.4
 * were met).  Lanes nearer than 16 ulp to a rounding boundary of the result are
 * handed back.
 *
 * In double, e^-z = 2^-k p(s), s = k ln 2 - z, z = |t|, p the Taylor polynomial
 * of degree 9, and y = G (V + beta) (t < 0 ? E : 1) / (1 + E): truncation
 * 2^-36.6, all else below 2^-49; lanes nearer than 2^17 ulp = 2^-36 are handed
 * back.  So are NaN, infinities, zeros, results near the ends of the range, and
 * t < -79 (float) or |t| > 600.
 */
#ifndef CPU_ACT_VEC_H
#define CPU_ACT_VEC_H

#include "isa/isa_ops.h"
#include "number.h"

#include <mxoracle/abi.h>

enum { VEC_D = VEC_N / 2 };

/* (ln 2)^k / k! */
#define LN2 0x1.62e430p-1f
#define LN2_2 0x1.ebfbe0p-3f
#define LN2_3 0x1.c6b08ep-5f
#define LN2_4 0x1.3b2ab6p-7f
#define LN2_5 0x1.5d87fep-10f
#define LN2_6 0x1.430912p-13f
#define LN2_7 0x1.ffcbfcp-17f

/* Append the lanes' indices.  Inlined: a call would cost the constants of the
   loop their registers. */
CPU_INLINE uint32_t note(uint16_t *hard, uint32_t count, uint32_t at,
                         uint32_t lanes)
{
    for (; lanes != 0; lanes &= lanes - 1) {
        hard[count++] = (uint16_t)(at + (uint32_t)__builtin_ctz(lanes));
    }
    return count;
}

/* a + b * s */
CPU_INLINE vec_f line_f(vec_f s, float a, float b)
{
    return vec_f_fma(s, vec_f_set(b), vec_f_set(a));
}

/* (2^f - 1) / f for |f| <= 1 / (2 VEC_POWERS). */
CPU_INLINE vec_f slope_f(vec_f f)
{
    if (VEC_POWERS >= 32) {
        return line_f(f, LN2, LN2_2);
    }
    if (VEC_POWERS >= 8) {
        return vec_f_fma(f, line_f(f, LN2_2, LN2_3), vec_f_set(LN2));
    }
    /* By pairs: a chain of six steps would cost more. */
    const vec_f f2 = vec_f_mul(f, f);
    const vec_f low =
        vec_f_fma(line_f(f, LN2_3, LN2_4), f2, line_f(f, LN2, LN2_2));
    const vec_f high = vec_f_fma(f2, vec_f_set(LN2_7), line_f(f, LN2_5, LN2_6));

    return vec_f_fma(high, vec_f_mul(f2, f2), low);
}

/* What a run's operands have in common. */
typedef struct glu_constants {
    vec_f limit, least; /* of V; G has the first alone */
    vec_f turns, more;  /* -alpha / ln 2, and what is left of it */
    vec_f beta;
    int no_mul;
} glu_constants;

CPU_INLINE glu_constants glu_constants_of(const cpu_glu *c)
{
    const double turns = (double)c->alpha * -0x1.71547652b82fep0;
    const float first = (float)turns;
    /* Infinite turns: nothing is decided. */
    const float beta = first - first == 0 ? c->beta : first - first;

    return (glu_constants){
        vec_f_set(c->limit), vec_f_set(-c->limit),
        vec_f_set(first),    vec_f_set((float)(turns - (double)first)),
        vec_f_set(beta),     c->no_mul};
}

/* Numerator and 2^VEC_ONE_LOG times the denominator of y; they make no number
   but zero or NaN where t is too far below zero. */
CPU_INLINE void glu_parts(const glu_constants *c, vec_f gate, vec_f up,
                          vec_f *num, vec_f *den)
{
    const vec_f magic = vec_f_set(0x1.8p23f / VEC_POWERS);
    const vec_f g = vec_f_min(c->limit, gate);
    const vec_f v = vec_f_max(c->least, vec_f_min(c->limit, up));
    const vec_f shifted = vec_f_fma(g, c->turns, magic);
    const vec_f n = vec_f_sub(shifted, magic);
    const vec_f f = vec_f_fma(g, c->more, vec_f_fms(g, c->turns, n));
    const vec_f e = vec_f_raise(shifted, vec_f_mul(f, slope_f(f)));
    const vec_f sum = vec_f_add(v, c->beta);
    const vec_f product = c->no_mul ? sum : vec_f_mul(g, sum);

    *num = vec_f_raised(product, shifted);
    *den = vec_f_add(vec_f_set(1 << VEC_ONE_LOG), e);
}

/* Two vectors' y, patterns and half a unit in up, rounded to codes.  The result
   has a bit for each lane that is nearer than 16 ulp to a boundary, or not
   within the exponents of ordinary results. */
CPU_INLINE uint32_t glu_codes(int is_bf16, vec_u up0, vec_u up1, uint16_t *code)
{
    const uint16_t mask = is_bf16 ? 0xffff : 0x1fff;
    const uint16_t least = is_bf16 ? 0x80 << VEC_ONE_LOG : (127 - 14) << 7;
    const uint16_t most = is_bf16 ? 0x7fff : (127 + 15) << 7;
    const vec_h high = vec_u_upper16(up0, up1);
    const vec_h size = vec_h_and(high, vec_h_set(0x7fff));
    const vec_h rest = vec_h_sub(vec_u_lower16(up0, up1), vec_h_set(17));

    if (is_bf16) {
        vec_h_store(code, high);
    } else {
        const vec_u half = vec_u_set(0x1000);

        vec_u_store_f16(code, vec_f_of(vec_u_sub(up0, half)));
        vec_u_store_f16(code + VEC_N, vec_f_of(vec_u_sub(up1, half)));
    }
    return vec_h_above(vec_h_and(rest, vec_h_set(mask)), mask - 33,
                       vec_h_sub(size, vec_h_set(least)), most - least);
}

/* Patterns of 2^VEC_ONE_LOG num / den and half a unit.  What is added to the
   exponent makes infinities and NaN small. */
CPU_INLINE vec_u glu_quotient(int is_bf16, const float *num, const float *den)
{
    const uint32_t half = is_bf16 ? 0x8000 : 0x1000;
    const vec_f y =
        vec_f_ratio(vec_f_of(vec_u_load(num)), vec_f_of(vec_u_load(den)));

    return vec_u_add(vec_f_bits(y),
                     vec_u_set(half + ((uint32_t)VEC_ONE_LOG << 23)));
}

CPU_INLINE uint32_t glu_round(int is_bf16, const float *num, const float *den,
                              uint32_t n, uint16_t *code, uint16_t *hard)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i += 2 * VEC_N) {
        const uint32_t lanes = glu_codes(
            is_bf16, glu_quotient(is_bf16, num + i, den + i),
            glu_quotient(is_bf16, num + i + VEC_N, den + i + VEC_N), code + i);

        count = note(hard, count, i, lanes);
    }
    return count;
}

/* Gates and ups of a vector. */
CPU_INLINE void glu_load(cpu_glu_form form, const cpu_glu_operands *x,
                         uint32_t i, vec_f *gate, vec_f *up)
{
    const uint8_t *const g = x->gate;
    const uint8_t *const v = x->up;

    if (form == CPU_GLU_FLOATS) {
        *gate = vec_f_of(vec_u_load(g + 4 * (size_t)i));
        *up = vec_f_of(vec_u_load(v + 4 * (size_t)i));
    } else if (form == CPU_GLU_APART) {
        *gate = vec_f_of(vec_u_shl(vec_u_load16(g + 2 * (size_t)i), 16));
        *up = vec_f_of(vec_u_shl(vec_u_load16(v + 2 * (size_t)i), 16));
    } else {
        const vec_u pair = vec_u_load(g + 4 * (size_t)i);
        const vec_f low = vec_f_of(vec_u_shl(pair, 16));
        const vec_f high = vec_f_of(vec_u_and(pair, vec_u_set(0xffff0000u)));

        *gate = form == CPU_GLU_PAIRS ? low : high;
        *up = form == CPU_GLU_PAIRS ? high : low;
    }
}

CPU_INLINE void glu_all_parts(cpu_glu_form form, const cpu_glu *c,
                              const cpu_glu_operands *x, uint32_t n, float *num,
                              float *den)
{
    const glu_constants k = glu_constants_of(c);

    for (uint32_t i = 0; i < n; i += VEC_N) {
        vec_f gate;
        vec_f up;
        vec_f a;
        vec_f b;

        glu_load(form, x, i, &gate, &up);
        glu_parts(&k, gate, up, &a, &b);
        vec_u_store(num + i, vec_f_bits(a));
        vec_u_store(den + i, vec_f_bits(b));
    }
}

/* Two loops: the chain from operand to quotient is too long for the machine
   to overlap with the next one. */
static uint32_t glu16(const cpu_glu *c, const cpu_glu_operands *x, uint32_t n,
                      uint16_t *code, uint16_t *hard)
{
    _Alignas(64) float num[CPU_RUN];
    _Alignas(64) float den[CPU_RUN];

    if (x->form == CPU_GLU_FLOATS) {
        glu_all_parts(CPU_GLU_FLOATS, c, x, n, num, den);
    } else if (x->form == CPU_GLU_PAIRS) {
        glu_all_parts(CPU_GLU_PAIRS, c, x, n, num, den);
    } else if (x->form == CPU_GLU_PAIRS_UP_FIRST) {
        glu_all_parts(CPU_GLU_PAIRS_UP_FIRST, c, x, n, num, den);
    } else {
        glu_all_parts(CPU_GLU_APART, c, x, n, num, den);
    }
    for (uint32_t i = n; i % (2 * VEC_N) != 0; i += VEC_N) {
        vec_u_store(num + i, vec_f_bits(vec_f_set(1)));
        vec_u_store(den + i, vec_f_bits(vec_f_set(1)));
    }
    return c->to == MXO_BF16 ? glu_round(1, num, den, n, code, hard)
                             : glu_round(0, num, den, n, code, hard);
}

CPU_INLINE vec_d line_d(vec_d s, double a, double b)
{
    return vec_d_fma(s, vec_d_set(b), vec_d_set(a));
}

CPU_INLINE vec_d poly_d(vec_d s)
{
    const vec_d s2 = vec_d_mul(s, s);
    const vec_d s4 = vec_d_mul(s2, s2);
    const vec_d a = vec_d_fma(line_d(s, 0.5, 1.0 / 6), s2, line_d(s, 1.0, 1.0));
    const vec_d b = vec_d_fma(line_d(s, 1.0 / 720, 1.0 / 5040), s2,
                              line_d(s, 1.0 / 24, 1.0 / 120));
    const vec_d c = line_d(s, 1.0 / 40320, 1.0 / 362880);

    return vec_d_fma(vec_d_fma(c, s4, b), s4, a);
}

/* e^x for |x| <= 600; beyond, anything. */
CPU_INLINE vec_d exp_d(vec_d x)
{
    const vec_d magic = vec_d_set(0x1.8p52);
    const vec_d shifted = vec_d_fma(x, vec_d_set(0x1.71547652b82fep0), magic);
    const vec_d k = vec_d_sub(shifted, magic);
    const vec_d s1 = vec_d_fma(k, vec_d_set(-0x1.62e42fefa39efp-1), x);
    const vec_d s = vec_d_fma(k, vec_d_set(-0x1.abc9e3b39803fp-56), s1);

    return vec_d_scale(poly_d(s), shifted);
}

/* Lanes of a double that a float cannot be decided from. */
CPU_INLINE unsigned hard_d(vec_d y)
{
    return vec_d_outside(vec_d_abs(y), 0x1p-120, 0x1p120) |
           vec_d_near(y, 0x10000000 + 0x20000, 0x1fffffff, 0x40000);
}

/* As glu_parts; the numerator is NaN where z > 600. */
CPU_INLINE void glu_parts_d(const cpu_glu *c, const float *gate,
                            const float *up, double *num, double *den)
{
    const vec_d limit = vec_d_set((double)c->limit);
    const vec_d g = vec_d_min(limit, vec_d_load_f32(gate));
    const vec_d v = vec_d_max(vec_d_set(-(double)c->limit),
                              vec_d_min(limit, vec_d_load_f32(up)));
    const vec_d t = vec_d_mul(vec_d_set((double)c->alpha), g);
    const vec_d z = vec_d_abs(t);
    const vec_d one = vec_d_set(1);
    const vec_d e = exp_d(vec_d_sub(vec_d_set(0), z));
    const vec_d sum = vec_d_add(v, vec_d_set((double)c->beta));
    const vec_d product = c->no_mul ? sum : vec_d_mul(g, sum);
    const vec_d top = vec_d_mul(product, vec_d_negative(t, e, one));

    vec_d_store(num, vec_d_or_above(top, z, vec_d_set(600)));
    vec_d_store(den, vec_d_add(one, e));
}

static uint32_t glu32(const cpu_glu *c, const float *gate, const float *up,
                      uint32_t n, float *y, uint16_t *hard)
{
    double num[CPU_RUN];
    double den[CPU_RUN];
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i += VEC_D) {
        glu_parts_d(c, gate + i, up + i, num + i, den + i);
    }
    for (uint32_t i = 0; i < n; i += VEC_D) {
        const vec_d r = vec_d_div(vec_d_load(num + i), vec_d_load(den + i));

        vec_d_store_f32(y + i, r);
        count = note(hard, count, i, hard_d(r));
    }
    return count;
}

static uint32_t exp32(const float *x, uint32_t n, float *y, uint16_t *hard)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i += VEC_D) {
        const vec_d t = vec_d_load_f32(x + i);
        const vec_d r = exp_d(t);
        const unsigned lanes = hard_d(r) | vec_d_outside(vec_d_abs(t), 0, 600);

        vec_d_store_f32(y + i, r);
        count = note(hard, count, i, lanes);
    }
    return count;
}

static void widen(uint32_t dtype, const uint8_t *src, uint32_t n, float *dst)
{
    uint32_t i = 0;

    if (dtype == MXO_F32) {
        memcpy(dst, src, 4 * (size_t)n);
        return;
    }
    for (; i + VEC_N <= n; i += VEC_N) {
        const vec_u x = dtype == MXO_BF16
                            ? vec_u_shl(vec_u_load16(src + 2 * i), 16)
                            : vec_u_load_f16(src + 2 * i);
        vec_u_store(dst + i, x);
    }
    cpu_widen(dtype, src + 2 * i, n - i, dst + i);
}

static void widen2(uint32_t dtype, const uint8_t *src, uint32_t n, float *even,
                   float *odd)
{
    const uint32_t size = dtype == MXO_F32 ? 8 : 4;
    uint32_t i = 0;

    for (; i + VEC_N <= n; i += VEC_N) {
        vec_u a;
        vec_u b;

        if (dtype == MXO_F32) {
            vec_u_unzip(src + (size_t)size * i, &a, &b);
        } else {
            const vec_u pair = vec_u_load(src + (size_t)size * i);
            const int is_bf16 = dtype == MXO_BF16;

            a = is_bf16 ? vec_u_shl(pair, 16) : vec_u_from_f16(pair);
            b = is_bf16 ? vec_u_and(pair, vec_u_set(0xffff0000u))
                        : vec_u_from_f16(vec_u_shr(pair, 16));
        }
        vec_u_store(even + i, a);
        vec_u_store(odd + i, b);
    }
    cpu_widen2(dtype, src + (size_t)size * i, n - i, even + i, odd + i);
}

#endif
