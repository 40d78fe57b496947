/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 under the names the shared inner loops use.  u: unsigned 32-bit
 * lanes, f: float lanes, d: double lanes, mask: one bit per lane.
 */
#ifndef CPU_VEC_AVX512_H
#define CPU_VEC_AVX512_H

#include <immintrin.h>
#include <stdint.h>

enum { VEC_N = 16 };

typedef __m512i vec_u;

static inline vec_u vec_u_set(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

static inline vec_u vec_u_load(const void *src)
{
    return _mm512_loadu_si512(src);
}

/* 16-bit words, zero-extended. */
static inline vec_u vec_u_load16(const void *src)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)src));
}

/* F16 codes as float patterns. */
static inline vec_u vec_u_load_f16(const void *src)
{
    return _mm512_castps_si512(
        _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)src)));
}

static inline vec_u vec_u_add(vec_u a, vec_u b)
{
    return _mm512_add_epi32(a, b);
}

static inline vec_u vec_u_sub(vec_u a, vec_u b)
{
    return _mm512_sub_epi32(a, b);
}

static inline vec_u vec_u_and(vec_u a, vec_u b)
{
    return _mm512_and_si512(a, b);
}

static inline vec_u vec_u_or(vec_u a, vec_u b)
{
    return _mm512_or_si512(a, b);
}

static inline vec_u vec_u_xor(vec_u a, vec_u b)
{
    return _mm512_xor_si512(a, b);
}

static inline void vec_u_store(void *dst, vec_u a)
{
    _mm512_storeu_si512(dst, a);
}

static inline vec_u vec_u_min(vec_u a, vec_u b)
{
    return _mm512_min_epu32(a, b);
}

static inline vec_u vec_u_max(vec_u a, vec_u b)
{
    return _mm512_max_epu32(a, b);
}

static inline vec_u vec_u_shl(vec_u a, int n)
{
    return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n));
}

static inline vec_u vec_u_shr(vec_u a, int n)
{
    return _mm512_srl_epi32(a, _mm_cvtsi32_si128(n));
}

static inline uint32_t vec_u_largest(vec_u a)
{
    return _mm512_reduce_max_epu32(a);
}

/* The float sum of two patterns, as a pattern. */
static inline vec_u vec_u_fadd(vec_u a, vec_u b)
{
    return _mm512_castps_si512(
        _mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}

/* Even and odd words of 32 consecutive ones. */
static inline void vec_u_unzip(const void *src, vec_u *even, vec_u *odd)
{
    const __m512i a = _mm512_loadu_si512(src);
    const __m512i b = _mm512_loadu_si512((const uint8_t *)src + 64);
    const __m512i index = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18,
                                            20, 22, 24, 26, 28, 30);

    *even = _mm512_permutex2var_epi32(a, index, b);
    *odd = _mm512_permutex2var_epi32(
        a, _mm512_or_si512(index, _mm512_set1_epi32(1)), b);
}

/* F16 codes in the low halves, as float patterns. */
static inline vec_u vec_u_from_f16(vec_u a)
{
    return _mm512_castps_si512(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)));
}

/* Lanes with a <= b, a bit each. */
static inline unsigned vec_u_le(vec_u a, vec_u b)
{
    return _mm512_cmple_epu32_mask(a, b);
}

/* Low halves. */
static inline void vec_u_store16(uint16_t *dst, vec_u a)
{
    _mm256_storeu_si256((__m256i *)dst, _mm512_cvtepi32_epi16(a));
}

/* Low bytes. */
static inline void vec_u_store8(uint8_t *dst, vec_u a)
{
    _mm_storeu_si128((__m128i *)dst, _mm512_cvtepi32_epi8(a));
}

/* Low nibbles, two per byte, even lane low. */
static inline void vec_u_store4(uint8_t *dst, vec_u a)
{
    const __m512i pair = _mm512_or_si512(a, _mm512_srli_epi64(a, 28));

    _mm_storel_epi64((__m128i *)dst, _mm512_cvtepi64_epi8(pair));
}

typedef __m512 vec_f;

static inline vec_f vec_f_of(vec_u a)
{
    return _mm512_castsi512_ps(a);
}

static inline vec_u vec_f_bits(vec_f a)
{
    return _mm512_castps_si512(a);
}

static inline vec_f vec_f_set(float x)
{
    return _mm512_set1_ps(x);
}

static inline vec_f vec_f_add(vec_f a, vec_f b)
{
    return _mm512_add_ps(a, b);
}

static inline vec_f vec_f_sub(vec_f a, vec_f b)
{
    return _mm512_sub_ps(a, b);
}

static inline vec_f vec_f_mul(vec_f a, vec_f b)
{
    return _mm512_mul_ps(a, b);
}

static inline vec_f vec_f_div(vec_f a, vec_f b)
{
    return _mm512_div_ps(a, b);
}

/* a * b + c, rounded once. */
static inline vec_f vec_f_fma(vec_f a, vec_f b, vec_f c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* A NaN in x stays. */
static inline vec_f vec_f_min(vec_f limit, vec_f x)
{
    return _mm512_min_ps(limit, x);
}

static inline vec_f vec_f_max(vec_f limit, vec_f x)
{
    return _mm512_max_ps(limit, x);
}

/* a where the sign bit of x is set, else b. */
static inline vec_f vec_f_negative(vec_f x, vec_f a, vec_f b)
{
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(vec_f_bits(x)), b, a);
}

static inline void vec_u_store_f16(uint16_t *dst, vec_f a)
{
    _mm256_storeu_si256(
        (__m256i *)dst,
        _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

typedef __m512d vec_d;

static inline vec_d vec_d_load_f32(const float *src)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(src));
}

static inline void vec_d_store_f32(float *dst, vec_d a)
{
    _mm256_storeu_ps(dst, _mm512_cvtpd_ps(a));
}

static inline vec_d vec_d_set(double x)
{
    return _mm512_set1_pd(x);
}

static inline vec_d vec_d_add(vec_d a, vec_d b)
{
    return _mm512_add_pd(a, b);
}

static inline vec_d vec_d_sub(vec_d a, vec_d b)
{
    return _mm512_sub_pd(a, b);
}

static inline vec_d vec_d_mul(vec_d a, vec_d b)
{
    return _mm512_mul_pd(a, b);
}

static inline vec_d vec_d_div(vec_d a, vec_d b)
{
    return _mm512_div_pd(a, b);
}

static inline vec_d vec_d_fma(vec_d a, vec_d b, vec_d c)
{
    return _mm512_fmadd_pd(a, b, c);
}

static inline vec_d vec_d_min(vec_d limit, vec_d x)
{
    return _mm512_min_pd(limit, x);
}

static inline vec_d vec_d_max(vec_d limit, vec_d x)
{
    return _mm512_max_pd(limit, x);
}

static inline vec_d vec_d_abs(vec_d a)
{
    return _mm512_abs_pd(a);
}

static inline vec_d vec_d_negative(vec_d x, vec_d a, vec_d b)
{
    return _mm512_mask_blend_pd(_mm512_movepi64_mask(_mm512_castpd_si512(x)), b,
                                a);
}

/* p * 2^n for the integer in the low bits of the pattern n. */
static inline vec_d vec_d_scale(vec_d p, vec_d n)
{
    return _mm512_castsi512_pd(_mm512_add_epi64(
        _mm512_castpd_si512(p), _mm512_slli_epi64(_mm512_castpd_si512(n), 52)));
}

/* Lanes that are not in [low, high), a bit each; NaN is not. */
static inline unsigned vec_d_outside(vec_d a, double low, double high)
{
    const __mmask8 in = _mm512_cmp_pd_mask(a, _mm512_set1_pd(low), _CMP_GE_OQ) &
                        _mm512_cmp_pd_mask(a, _mm512_set1_pd(high), _CMP_LT_OQ);

    return in ^ 0xffu;
}

/* Lanes whose pattern plus shift, under mask, is at most width. */
static inline unsigned vec_d_near(vec_d a, int64_t shift, int64_t mask,
                                  int64_t width)
{
    const __m512i sum =
        _mm512_add_epi64(_mm512_castpd_si512(a), _mm512_set1_epi64(shift));

    return _mm512_cmple_epi64_mask(
        _mm512_and_si512(sum, _mm512_set1_epi64(mask)),
        _mm512_set1_epi64(width));
}

#endif
