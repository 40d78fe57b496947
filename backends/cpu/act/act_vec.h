/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations of ordinary operands, written once over vec_*.h.
 *
 * e^-z = 2^-k * p(s), s = k ln 2 - z, |s| <= ln 2 / 2, p the Taylor polynomial
 * (degree 7 in float, 9 in double).  Nothing cancels in
 * y = G (V + beta) * (t < 0 ? E : 1) / (1 + E).
 *
 * Float tier, in units of 2^-24 relative: s 0.5 (two FMAs) and 0.5 (low part
 * of alpha G), p 4.3, truncation 0.1, 1 + E, V + beta and two products 1 each,
 * the quotient 3: at most 12.4, that is 12.4 ulp of a significand next to 2.
 * With a table of powers s is 0.1, the power and its product 1 each, truncation
 * 0.2 (degree 3, |s| <= ln 2 / 32), in place of 5.4.
 * Lanes nearer than 16 ulp to a rounding boundary of the result are handed
 * back.  Double tier: truncation 2^-36.6, all else below 2^-49; lanes nearer
 * than 2^17 ulp = 2^-36 are handed back.  So are NaN, infinities, zeros,
 * results near the ends of the range, and z > 80 (float) or 600.
 */
#ifndef CPU_ACT_VEC_H
#define CPU_ACT_VEC_H

#include "isa/isa_ops.h"
#include "number.h"

#include <mxoracle/abi.h>

enum { VEC_D = VEC_N / 2, ALL_LANES = (1 << VEC_N) - 1 };

/* Append the lanes' indices.  Inlined: a call would cost the constants of the
   loop their registers. */
CPU_INLINE uint32_t note(uint16_t *hard, uint32_t count, uint32_t at,
                         unsigned lanes)
{
    for (uint32_t i = at; lanes != 0; i++, lanes >>= 1) {
        if ((lanes & 1) != 0) {
            hard[count++] = (uint16_t)i;
        }
    }
    return count;
}

/* a + b * s */
CPU_INLINE vec_f line_f(vec_f s, float a, float b)
{
    return vec_f_fma(s, vec_f_set(b), vec_f_set(a));
}

#ifdef VEC_HAS_POWERS
/* e^-(z + low) = 2^(n / 16) e^s, |s| <= ln 2 / 32; the exponent of the result
   is added to the pattern. */
CPU_INLINE vec_f decay_f(vec_f z, vec_f low)
{
    const vec_f magic = vec_f_set(0x1.8p23f);
    const vec_f shifted = vec_f_fma(z, vec_f_set(-0x1.715476p4f), magic);
    const vec_f n = vec_f_sub(shifted, magic);
    const vec_f s1 = vec_f_fma(n, vec_f_set(0x1.62e430p-5f), z);
    const vec_f s2 = vec_f_fma(n, vec_f_set(-0x1.05c610p-33f), s1);
    const vec_f minus = vec_f_add(s2, low); /* -s */
    const vec_f c = line_f(minus, 0.5f, -1.0f / 6);
    const vec_f rest = vec_f_fms(vec_f_mul(minus, minus), c, minus);
    const vec_f power = vec_f_power16(vec_f_bits(shifted));
    const vec_f p = vec_f_fma(power, rest, power);
    const vec_u whole = vec_u_and(vec_f_bits(shifted), vec_u_set(0xfffffff0u));

    return vec_f_of(vec_u_add(vec_f_bits(p), vec_u_shl(whole, 19)));
}
#else
/* p(s) = e^s by pairs: a chain of seven steps would cost more than the two
   products. */
CPU_INLINE vec_f poly_f(vec_f s)
{
    const vec_f s2 = vec_f_mul(s, s);
    const vec_f s4 = vec_f_mul(s2, s2);
    const vec_f low = vec_f_fma(line_f(s, 0.5f, 1.0f / 6), s2, line_f(s, 1, 1));
    const vec_f high = vec_f_fma(line_f(s, 1.0f / 720, 1.0f / 5040), s2,
                                 line_f(s, 1.0f / 24, 1.0f / 120));

    return vec_f_fma(high, s4, low);
}

/* e^-(z + low); the exponent of the result is set in the pattern. */
CPU_INLINE vec_f decay_f(vec_f z, vec_f low)
{
    const vec_f magic = vec_f_set(0x1.8p23f);
    const vec_f shifted = vec_f_fma(z, vec_f_set(0x1.715476p0f), magic);
    const vec_f k = vec_f_sub(shifted, magic);
    const vec_f s1 = vec_f_fms(k, vec_f_set(0x1.62e430p-1f), z);
    const vec_f s2 = vec_f_fma(k, vec_f_set(-0x1.05c610p-29f), s1);
    const vec_f p = poly_f(vec_f_sub(s2, low));

    return vec_f_of(
        vec_u_sub(vec_f_bits(p), vec_u_shl(vec_f_bits(shifted), 23)));
}
#endif

/* Numerator and denominator of y; the numerator is NaN where z > 80. */
CPU_INLINE void glu_parts(const cpu_glu *c, const float *gate, const float *up,
                          float *num, float *den)
{
    const vec_u sign = vec_u_set(0x80000000u);
    const vec_f limit = vec_f_set(c->limit);
    const vec_f g = vec_f_min(limit, vec_f_of(vec_u_load(gate)));
    const vec_f v = vec_f_max(vec_f_set(-c->limit),
                              vec_f_min(limit, vec_f_of(vec_u_load(up))));
    const vec_f alpha = vec_f_set(c->alpha);
    const vec_f t = vec_f_mul(alpha, g);
    const vec_f rest = vec_f_fms(alpha, g, t);
    const vec_u t_sign = vec_u_and(vec_f_bits(t), sign);
    const vec_u z = vec_u_and(vec_f_bits(t), vec_u_set(0x7fffffffu));
    const vec_f low = vec_f_of(vec_u_xor(vec_f_bits(rest), t_sign));
    const vec_f one = vec_f_set(1);
    const vec_f e = decay_f(vec_f_of(z), low);
    const vec_f top = vec_f_negative(t, e, one);
    const vec_f sum = vec_f_add(v, vec_f_set(c->beta));
    const vec_f product = c->no_mul ? sum : vec_f_mul(g, sum);

    vec_u_store(num, vec_u_or_above(vec_f_bits(vec_f_mul(product, top)), z,
                                    vec_u_set(0x42a00000u)));
    vec_u_store(den, vec_f_bits(vec_f_add(one, e)));
}

/* Lanes whose pattern is not within [low, high], sign apart. */
CPU_INLINE unsigned outside_f(vec_f y, uint32_t low, uint32_t high)
{
    const vec_u a = vec_u_and(vec_f_bits(y), vec_u_set(0x7fffffffu));

    return vec_u_le(vec_u_sub(a, vec_u_set(low)), vec_u_set(high - low)) ^
           ALL_LANES;
}

CPU_INLINE unsigned near_f(vec_f y, uint32_t half)
{
    const vec_u sum = vec_u_add(vec_f_bits(y), vec_u_set(half + 16));

    return vec_u_le(vec_u_and(sum, vec_u_set(2 * half - 1)), vec_u_set(32));
}

/* y = num / den, rounded to codes where its error leaves no doubt. */
CPU_INLINE uint32_t glu_round(int is_bf16, const float *num, const float *den,
                              uint32_t n, uint16_t *code, uint16_t *hard)
{
    const uint32_t low = is_bf16 ? (127u - 100u) << 23 : (127u - 14u) << 23;
    const uint32_t high = is_bf16 ? (127u + 100u) << 23 : (127u + 15u) << 23;
    const uint32_t half = is_bf16 ? 0x8000 : 0x1000;
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i += VEC_N) {
        const vec_f y = vec_f_ratio(vec_f_of(vec_u_load(num + i)),
                                    vec_f_of(vec_u_load(den + i)));
        const unsigned lanes = outside_f(y, low, high) | near_f(y, half);

        if (is_bf16) {
            const vec_u up = vec_u_add(vec_f_bits(y), vec_u_set(half));

            vec_u_store16(code + i, vec_u_shr(up, 16));
        } else {
            vec_u_store_f16(code + i, y);
        }
        count = note(hard, count, i, lanes);
    }
    return count;
}

/* Two loops: the chain from operand to quotient is too long for the machine
   to overlap with the next one. */
static uint32_t glu16(const cpu_glu *c, const float *gate, const float *up,
                      uint32_t n, uint16_t *code, uint16_t *hard)
{
    float num[CPU_RUN];
    float den[CPU_RUN];

    for (uint32_t i = 0; i < n; i += VEC_N) {
        glu_parts(c, gate + i, up + i, num + i, den + i);
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
