/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 under the names the shared inner loops use.  u: unsigned 32-bit
 * lanes, f: float lanes, d: double lanes, mask: one bit per lane.
 */
#ifndef CPU_VEC_AVX512_H
#define CPU_VEC_AVX512_H

#include "isa_ops.h"
#include <immintrin.h>

#include <stdint.h>

enum { VEC_N = 16 };

typedef __m512i vec_u;

CPU_INLINE vec_u vec_u_set(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

CPU_INLINE vec_u vec_u_load(const void *src)
{
    return _mm512_loadu_si512(src);
}

/* 16-bit words, zero-extended. */
CPU_INLINE vec_u vec_u_load16(const void *src)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)src));
}

/* F16 codes as float patterns. */
CPU_INLINE vec_u vec_u_load_f16(const void *src)
{
    return _mm512_castps_si512(
        _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)src)));
}

CPU_INLINE vec_u vec_u_add(vec_u a, vec_u b)
{
    return _mm512_add_epi32(a, b);
}

CPU_INLINE vec_u vec_u_sub(vec_u a, vec_u b)
{
    return _mm512_sub_epi32(a, b);
}

CPU_INLINE vec_u vec_u_and(vec_u a, vec_u b)
{
    return _mm512_and_si512(a, b);
}

CPU_INLINE vec_u vec_u_or(vec_u a, vec_u b)
{
    return _mm512_or_si512(a, b);
}

CPU_INLINE vec_u vec_u_xor(vec_u a, vec_u b)
{
    return _mm512_xor_si512(a, b);
}

CPU_INLINE void vec_u_store(void *dst, vec_u a)
{
    _mm512_storeu_si512(dst, a);
}

CPU_INLINE vec_u vec_u_min(vec_u a, vec_u b)
{
    return _mm512_min_epu32(a, b);
}

CPU_INLINE vec_u vec_u_max(vec_u a, vec_u b)
{
    return _mm512_max_epu32(a, b);
}

CPU_INLINE vec_u vec_u_shl(vec_u a, int n)
{
    return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n));
}

CPU_INLINE vec_u vec_u_shr(vec_u a, int n)
{
    return _mm512_srl_epi32(a, _mm_cvtsi32_si128(n));
}

CPU_INLINE uint32_t vec_u_largest(vec_u a)
{
    return _mm512_reduce_max_epu32(a);
}

/* The float sum of two patterns, as a pattern. */
CPU_INLINE vec_u vec_u_fadd(vec_u a, vec_u b)
{
    return _mm512_castps_si512(
        _mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}

/* Even and odd words of 32 consecutive ones. */
CPU_INLINE void vec_u_unzip(const void *src, vec_u *even, vec_u *odd)
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
CPU_INLINE vec_u vec_u_from_f16(vec_u a)
{
    return _mm512_castps_si512(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)));
}

/* Lanes with a <= b, a bit each. */
CPU_INLINE unsigned vec_u_le(vec_u a, vec_u b)
{
    return _mm512_cmple_epu32_mask(a, b);
}

/* x, but all ones where a > b. */
CPU_INLINE vec_u vec_u_or_above(vec_u x, vec_u a, vec_u b)
{
    return _mm512_mask_mov_epi32(x, _mm512_cmpgt_epu32_mask(a, b),
                                 _mm512_set1_epi32(-1));
}

/* Low halves. */
CPU_INLINE void vec_u_store16(uint16_t *dst, vec_u a)
{
    _mm256_storeu_si256((__m256i *)dst, _mm512_cvtepi32_epi16(a));
}

/* Low bytes. */
CPU_INLINE void vec_u_store8(uint8_t *dst, vec_u a)
{
    _mm_storeu_si128((__m128i *)dst, _mm512_cvtepi32_epi8(a));
}

/* Low nibbles, two per byte, even lane low. */
CPU_INLINE void vec_u_store4(uint8_t *dst, vec_u a)
{
    const __m512i pair = _mm512_or_si512(a, _mm512_srli_epi64(a, 28));

    _mm_storel_epi64((__m128i *)dst, _mm512_cvtepi64_epi8(pair));
}

/* h: unsigned 16-bit lanes, twice as many. */
typedef __m512i vec_h;

CPU_INLINE vec_h vec_h_load(const void *src)
{
    return _mm512_loadu_si512(src);
}

CPU_INLINE vec_h vec_h_set(uint16_t x)
{
    return _mm512_set1_epi16((short)x);
}

/* Two lanes from one word, repeated. */
CPU_INLINE vec_h vec_h_pair(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

CPU_INLINE vec_h vec_h_and(vec_h a, vec_h b)
{
    return _mm512_and_si512(a, b);
}

CPU_INLINE vec_h vec_h_or(vec_h a, vec_h b)
{
    return _mm512_or_si512(a, b);
}

CPU_INLINE vec_h vec_h_sub(vec_h a, vec_h b)
{
    return _mm512_sub_epi16(a, b);
}

CPU_INLINE vec_h vec_h_add(vec_h a, vec_h b)
{
    return _mm512_add_epi16(a, b);
}

/* Zero where b is more. */
CPU_INLINE vec_h vec_h_subs(vec_h a, vec_h b)
{
    return _mm512_subs_epu16(a, b);
}

CPU_INLINE vec_h vec_h_min(vec_h a, vec_h b)
{
    return _mm512_min_epu16(a, b);
}

CPU_INLINE int vec_h_any(vec_h a)
{
    return _mm512_test_epi16_mask(a, a) != 0;
}

CPU_INLINE vec_h vec_h_max(vec_h a, vec_h b)
{
    return _mm512_max_epu16(a, b);
}

CPU_INLINE vec_h vec_h_shr(vec_h a, int n)
{
    return _mm512_srl_epi16(a, _mm_cvtsi32_si128(n));
}

/* Lanes a, b, a, b, ... within 128 bits, each the larger of two. */
CPU_INLINE vec_h vec_h_zip_max(vec_h a, vec_h b)
{
    return _mm512_max_epu16(_mm512_unpacklo_epi16(a, b),
                            _mm512_unpackhi_epi16(a, b));
}

/* The largest over the 128-bit parts, lane by lane. */
CPU_INLINE void vec_h_fold(uint16_t dst[8], vec_h a)
{
    const __m256i m = _mm256_max_epu16(_mm512_castsi512_si256(a),
                                       _mm512_extracti64x4_epi64(a, 1));

    _mm_storeu_si128((__m128i *)dst,
                     _mm_max_epu16(_mm256_castsi256_si128(m),
                                   _mm256_extracti128_si256(m, 1)));
}

/* Half the lanes as the upper halves of 32-bit lanes; then the others. */
CPU_INLINE vec_u vec_h_low(vec_h a)
{
    return _mm512_unpacklo_epi16(_mm512_setzero_si512(), a);
}

CPU_INLINE vec_u vec_h_high(vec_h a)
{
    return _mm512_unpackhi_epi16(_mm512_setzero_si512(), a);
}

/* 32-bit lanes below 65536 in the places low and high took them from. */
CPU_INLINE vec_h vec_h_pack(vec_u low, vec_u high)
{
    return _mm512_packus_epi32(low, high);
}

CPU_INLINE void vec_h_store8(uint8_t *dst, vec_h a)
{
    _mm256_storeu_si256((__m256i *)dst, _mm512_cvtepi16_epi8(a));
}

/* A block of 32: the low bytes of codes below 128, with the signs of v. */
CPU_INLINE void vec_h_store_signed(uint8_t *dst, const vec_h *code,
                                   const vec_h *v)
{
    const vec_h sign = vec_h_and(vec_h_shr(v[0], 8), vec_h_set(0x80));

    vec_h_store8(dst, vec_h_or(code[0], sign));
}

/* Lanes below 16 as nibbles, two per byte. */
CPU_INLINE void vec_h_store4(uint8_t *dst, vec_h a)
{
    vec_u_store8(dst, _mm512_or_si512(a, _mm512_srli_epi32(a, 12)));
}

typedef __m512 vec_f;

CPU_INLINE vec_f vec_f_of(vec_u a)
{
    return _mm512_castsi512_ps(a);
}

CPU_INLINE vec_u vec_f_bits(vec_f a)
{
    return _mm512_castps_si512(a);
}

CPU_INLINE vec_f vec_f_set(float x)
{
    return _mm512_set1_ps(x);
}

CPU_INLINE vec_f vec_f_add(vec_f a, vec_f b)
{
    return _mm512_add_ps(a, b);
}

CPU_INLINE vec_f vec_f_sub(vec_f a, vec_f b)
{
    return _mm512_sub_ps(a, b);
}

CPU_INLINE vec_f vec_f_mul(vec_f a, vec_f b)
{
    return _mm512_mul_ps(a, b);
}

CPU_INLINE vec_f vec_f_div(vec_f a, vec_f b)
{
    return _mm512_div_ps(a, b);
}

/* a / b to 3 units of 2^-24, b from 1 to 2: division itself stops one of two
   ports for eight of these. */
CPU_INLINE vec_f vec_f_ratio(vec_f a, vec_f b)
{
    const vec_f r = _mm512_rcp14_ps(b);
    const vec_f rest = _mm512_fnmadd_ps(b, r, _mm512_set1_ps(1));

    return _mm512_mul_ps(a, _mm512_fmadd_ps(r, rest, r));
}

/* 2^(j / 16) rounded, j the low four bits. */
#define VEC_HAS_POWERS 1
CPU_INLINE vec_f vec_f_power16(vec_u j)
{
    const vec_f table = _mm512_setr_ps(
        1, 0x1.0b5586p0f, 0x1.172b84p0f, 0x1.2387a6p0f, 0x1.306fe0p0f,
        0x1.3dea64p0f, 0x1.4bfdaep0f, 0x1.5ab07ep0f, 0x1.6a09e6p0f,
        0x1.7a1148p0f, 0x1.8ace54p0f, 0x1.9c4918p0f, 0x1.ae89fap0f,
        0x1.c199bep0f, 0x1.d5818ep0f, 0x1.ea4afap0f);

    return _mm512_permutexvar_ps(j, table);
}

/* a * b + c, rounded once. */
CPU_INLINE vec_f vec_f_fma(vec_f a, vec_f b, vec_f c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* a * b - c, rounded once. */
CPU_INLINE vec_f vec_f_fms(vec_f a, vec_f b, vec_f c)
{
    return _mm512_fmsub_ps(a, b, c);
}

/* A NaN in x stays. */
CPU_INLINE vec_f vec_f_min(vec_f limit, vec_f x)
{
    return _mm512_min_ps(limit, x);
}

CPU_INLINE vec_f vec_f_max(vec_f limit, vec_f x)
{
    return _mm512_max_ps(limit, x);
}

/* a where the sign bit of x is set, else b. */
CPU_INLINE vec_f vec_f_negative(vec_f x, vec_f a, vec_f b)
{
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(vec_f_bits(x)), b, a);
}

CPU_INLINE void vec_u_store_f16(uint16_t *dst, vec_f a)
{
    _mm256_storeu_si256(
        (__m256i *)dst,
        _mm512_maskz_cvtps_ph(0xffff, a,
                              _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

typedef __m512d vec_d;

CPU_INLINE vec_d vec_d_load(const double *src)
{
    return _mm512_loadu_pd(src);
}

CPU_INLINE void vec_d_store(double *dst, vec_d a)
{
    _mm512_storeu_pd(dst, a);
}

/* x, but all ones where a > b. */
CPU_INLINE vec_d vec_d_or_above(vec_d x, vec_d a, vec_d b)
{
    return _mm512_mask_mov_pd(x, _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ),
                              _mm512_castsi512_pd(_mm512_set1_epi64(-1)));
}

CPU_INLINE vec_d vec_d_load_f32(const float *src)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(src));
}

CPU_INLINE void vec_d_store_f32(float *dst, vec_d a)
{
    _mm256_storeu_ps(dst, _mm512_cvtpd_ps(a));
}

CPU_INLINE vec_d vec_d_set(double x)
{
    return _mm512_set1_pd(x);
}

CPU_INLINE vec_d vec_d_add(vec_d a, vec_d b)
{
    return _mm512_add_pd(a, b);
}

CPU_INLINE vec_d vec_d_sub(vec_d a, vec_d b)
{
    return _mm512_sub_pd(a, b);
}

CPU_INLINE vec_d vec_d_mul(vec_d a, vec_d b)
{
    return _mm512_mul_pd(a, b);
}

CPU_INLINE vec_d vec_d_div(vec_d a, vec_d b)
{
    return _mm512_div_pd(a, b);
}

CPU_INLINE vec_d vec_d_fma(vec_d a, vec_d b, vec_d c)
{
    return _mm512_fmadd_pd(a, b, c);
}

CPU_INLINE vec_d vec_d_min(vec_d limit, vec_d x)
{
    return _mm512_min_pd(limit, x);
}

CPU_INLINE vec_d vec_d_max(vec_d limit, vec_d x)
{
    return _mm512_max_pd(limit, x);
}

CPU_INLINE vec_d vec_d_abs(vec_d a)
{
    return _mm512_abs_pd(a);
}

CPU_INLINE vec_d vec_d_negative(vec_d x, vec_d a, vec_d b)
{
    return _mm512_mask_blend_pd(_mm512_movepi64_mask(_mm512_castpd_si512(x)), b,
                                a);
}

/* p * 2^n for the integer in the low bits of the pattern n. */
CPU_INLINE vec_d vec_d_scale(vec_d p, vec_d n)
{
    return _mm512_castsi512_pd(_mm512_add_epi64(
        _mm512_castpd_si512(p), _mm512_slli_epi64(_mm512_castpd_si512(n), 52)));
}

/* Lanes that are not in [low, high), a bit each; NaN is not. */
CPU_INLINE unsigned vec_d_outside(vec_d a, double low, double high)
{
    const __mmask8 in = _mm512_cmp_pd_mask(a, _mm512_set1_pd(low), _CMP_GE_OQ) &
                        _mm512_cmp_pd_mask(a, _mm512_set1_pd(high), _CMP_LT_OQ);

    return in ^ 0xffu;
}

/* Lanes whose pattern plus shift, under mask, is at most width. */
CPU_INLINE unsigned vec_d_near(vec_d a, int64_t shift, int64_t mask,
                               int64_t width)
{
    const __m512i sum =
        _mm512_add_epi64(_mm512_castpd_si512(a), _mm512_set1_epi64(shift));

    return _mm512_cmple_epi64_mask(
        _mm512_and_si512(sum, _mm512_set1_epi64(mask)),
        _mm512_set1_epi64(width));
}

#endif
