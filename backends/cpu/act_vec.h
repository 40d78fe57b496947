/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations of ordinary operands, written once over vec_*.h.
 *
 * e^-z = 2^-k * p(s), s = k ln 2 - z, |s| <= ln 2 / 2, p the Taylor polynomial
 * (degree 7 in float, 11 in double).  Nothing cancels in
 * y = G (V + beta) * (t < 0 ? E : 1) / (1 + E).
 *
 * Float tier, in units of 2^-24 relative: s 0.5 (two FMAs) and 0.5 (low part
 * of alpha G), p 2, truncation 0.1, 1 + E, V + beta, two products and the
 * quotient 1 each: at most 8.1, that is 8.1 ulp of a significand next to 2.
 * Lanes nearer than 16 ulp to a rounding boundary of the result are handed
 * back.  Double tier: truncation 2^-47, all else below 2^-49; lanes nearer
 * than 512 ulp = 2^-44 are handed back.  So are NaN, infinities, zeros,
 * results near the ends of the range, and z > 80 (float) or 600.
 */
#ifndef CPU_ACT_VEC_H
#define CPU_ACT_VEC_H

#include "lane.h"
#include "number.h"

#include <mxoracle/abi.h>

enum { VEC_D = VEC_N / 2 };

static inline uint32_t note(uint16_t *hard, uint32_t count, uint32_t at,
                            unsigned lanes)
{
    for (uint32_t i = at; lanes != 0; i++, lanes >>= 1) {
        if ((lanes & 1) != 0) {
            hard[count++] = (uint16_t)i;
        }
    }
    return count;
}

/* p(s) = e^s */
static inline vec_f poly_f(vec_f s)
{
    static const float c[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24,
                              1.0f / 6,    0.5f,       1.0f,       1.0f};
    vec_f p = vec_f_set(c[0]);

    for (int i = 1; i < 8; i++) {
        p = vec_f_fma(p, s, vec_f_set(c[i]));
    }
    return p;
}

/* e^-(z + low); the exponent of the result is set in the pattern. */
static inline vec_f decay_f(vec_f z, vec_f low)
{
    const vec_f magic = vec_f_set(0x1.8p23f);
    const vec_f shifted = vec_f_fma(z, vec_f_set(0x1.715476p0f), magic);
    const vec_f k = vec_f_sub(shifted, magic);
    const vec_f minus_z = vec_f_sub(vec_f_set(0), z);
    const vec_f s1 = vec_f_fma(k, vec_f_set(0x1.62e430p-1f), minus_z);
    const vec_f s2 = vec_f_fma(k, vec_f_set(-0x1.05c610p-29f), s1);
    const vec_f p = poly_f(vec_f_sub(s2, low));

    return vec_f_of(
        vec_u_sub(vec_f_bits(p), vec_u_shl(vec_f_bits(shifted), 23)));
}

typedef struct gate_f {
    vec_f y;
    vec_u z; /* pattern of |t| */
} gate_f;

static inline gate_f glu_f(const cpu_glu *c, vec_f gate, vec_f up)
{
    const vec_u sign = vec_u_set(0x80000000u);
    const vec_f limit = vec_f_set(c->limit);
    const vec_f g = vec_f_min(limit, gate);
    const vec_f v = vec_f_max(vec_f_set(-c->limit), vec_f_min(limit, up));
    const vec_f alpha = vec_f_set(c->alpha);
    const vec_f t = vec_f_mul(alpha, g);
    const vec_f minus_t = vec_f_sub(vec_f_set(0), t);
    const vec_f rest = vec_f_fma(alpha, g, minus_t);
    const vec_u t_sign = vec_u_and(vec_f_bits(t), sign);
    const vec_u z = vec_u_and(vec_f_bits(t), vec_u_set(0x7fffffffu));
    const vec_f low = vec_f_of(vec_u_xor(vec_f_bits(rest), t_sign));
    const vec_f one = vec_f_set(1);
    const vec_f e = decay_f(vec_f_of(z), low);
    const vec_f top = vec_f_negative(t, e, one);
    const vec_f sum = vec_f_add(v, vec_f_set(c->beta));
    const vec_f product = c->no_mul ? sum : vec_f_mul(g, sum);
    const gate_f r = {vec_f_div(vec_f_mul(product, top), vec_f_add(one, e)), z};

    return r;
}

/* Lanes whose pattern is not within [low, high], sign apart. */
static inline unsigned outside_f(vec_f y, uint32_t low, uint32_t high)
{
    const vec_u a = vec_u_and(vec_f_bits(y), vec_u_set(0x7fffffffu));

    return ~vec_u_le(vec_u_sub(a, vec_u_set(low)), vec_u_set(high - low)) &
           ((1u << VEC_N) - 1);
}

static inline unsigned near_f(vec_f y, uint32_t half)
{
    const vec_u sum = vec_u_add(vec_f_bits(y), vec_u_set(half + 16));

    return vec_u_le(vec_u_and(sum, vec_u_set(2 * half - 1)), vec_u_set(32));
}

static uint32_t glu16(const cpu_glu *c, const float *gate, const float *up,
                      uint32_t n, uint16_t *code, uint16_t *hard)
{
    const int is_bf16 = c->to == MXO_BF16;
    const uint32_t low = is_bf16 ? (127u - 100u) << 23 : (127u - 14u) << 23;
    const uint32_t high = is_bf16 ? (127u + 100u) << 23 : (127u + 15u) << 23;
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i += VEC_N) {
        const gate_f r = glu_f(c, vec_f_of(vec_u_load(gate + i)),
                               vec_f_of(vec_u_load(up + i)));
        unsigned lanes = outside_f(r.y, low, high) |
                         outside_f(vec_f_of(r.z), 0, 0x42a00000u);

        if (is_bf16) {
            lanes |= near_f(r.y, 0x8000);
            vec_u_store16(
                code + i,
                vec_u_shr(vec_u_add(vec_f_bits(r.y), vec_u_set(0x8000)), 16));
        } else {
            lanes |= near_f(r.y, 0x1000);
            vec_u_store_f16(code + i, r.y);
        }
        if (lanes != 0) {
            count = note(hard, count, i, lanes);
        }
    }
    return count;
}

static inline vec_d poly_d(vec_d s)
{
    static const double c[] = {
        1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
        1.0 / 5040,     1.0 / 720,     1.0 / 120,    1.0 / 24,
        1.0 / 6,        0.5,           1.0,          1.0};
    vec_d p = vec_d_set(c[0]);

    for (int i = 1; i < 12; i++) {
        p = vec_d_fma(p, s, vec_d_set(c[i]));
    }
    return p;
}

/* e^x for |x| <= 600; beyond, anything. */
static inline vec_d exp_d(vec_d x)
{
    const vec_d magic = vec_d_set(0x1.8p52);
    const vec_d shifted = vec_d_fma(x, vec_d_set(0x1.71547652b82fep0), magic);
    const vec_d k = vec_d_sub(shifted, magic);
    const vec_d s1 = vec_d_fma(k, vec_d_set(-0x1.62e42fefa39efp-1), x);
    const vec_d s = vec_d_fma(k, vec_d_set(-0x1.abc9e3b39803fp-56), s1);

    return vec_d_scale(poly_d(s), shifted);
}

/* Lanes of a double that a float cannot be decided from. */
static inline unsigned hard_d(vec_d y)
{
    return vec_d_outside(vec_d_abs(y), 0x1p-120, 0x1p120) |
           vec_d_near(y, 0x10000000 + 512, 0x1fffffff, 1024);
}

static uint32_t glu32(const cpu_glu *c, const float *gate, const float *up,
                      uint32_t n, float *y, uint16_t *hard)
{
    const vec_d limit = vec_d_set((double)c->limit);
    const vec_d minus_limit = vec_d_set(-(double)c->limit);
    const vec_d alpha = vec_d_set((double)c->alpha);
    const vec_d beta = vec_d_set((double)c->beta);
    const vec_d one = vec_d_set(1);
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i += VEC_D) {
        const vec_d g = vec_d_min(limit, vec_d_load_f32(gate + i));
        const vec_d v =
            vec_d_max(minus_limit, vec_d_min(limit, vec_d_load_f32(up + i)));
        const vec_d t = vec_d_mul(alpha, g);
        const vec_d z = vec_d_abs(t);
        const vec_d e = exp_d(vec_d_sub(vec_d_set(0), z));
        const vec_d sum = vec_d_add(v, beta);
        const vec_d product = c->no_mul ? sum : vec_d_mul(g, sum);
        const vec_d top = vec_d_mul(product, vec_d_negative(t, e, one));
        const vec_d r = vec_d_div(top, vec_d_add(one, e));
        const unsigned lanes = hard_d(r) | vec_d_outside(z, 0, 600);

        vec_d_store_f32(y + i, r);
        if (lanes != 0) {
            count = note(hard, count, i, lanes);
        }
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
        if (lanes != 0) {
            count = note(hard, count, i, lanes);
        }
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
