/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2 under the names the shared inner loops use; see vec_avx512.h. */
#ifndef CPU_VEC_AVX2_H
#define CPU_VEC_AVX2_H

#include "isa_ops.h"
#include <immintrin.h>

#include <stdint.h>
#include <string.h>

enum { VEC_N = 8 };

typedef __m256i vec_u;

CPU_INLINE vec_u vec_u_set(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

CPU_INLINE vec_u vec_u_load(const void *src)
{
    return _mm256_loadu_si256((const __m256i *)src);
}

CPU_INLINE vec_u vec_u_load16(const void *src)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)src));
}

CPU_INLINE vec_u vec_u_load_f16(const void *src)
{
    return _mm256_castps_si256(
        _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)src)));
}

CPU_INLINE vec_u vec_u_add(vec_u a, vec_u b)
{
    return _mm256_add_epi32(a, b);
}

CPU_INLINE vec_u vec_u_sub(vec_u a, vec_u b)
{
    return _mm256_sub_epi32(a, b);
}

CPU_INLINE vec_u vec_u_and(vec_u a, vec_u b)
{
    return _mm256_and_si256(a, b);
}

CPU_INLINE vec_u vec_u_or(vec_u a, vec_u b)
{
    return _mm256_or_si256(a, b);
}

CPU_INLINE void vec_u_store(void *dst, vec_u a)
{
    _mm256_storeu_si256((__m256i *)dst, a);
}

CPU_INLINE vec_u vec_u_min(vec_u a, vec_u b)
{
    return _mm256_min_epu32(a, b);
}

CPU_INLINE vec_u vec_u_max(vec_u a, vec_u b)
{
    return _mm256_max_epu32(a, b);
}

CPU_INLINE vec_u vec_u_shl(vec_u a, int n)
{
    return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n));
}

CPU_INLINE vec_u vec_u_shr(vec_u a, int n)
{
    return _mm256_srl_epi32(a, _mm_cvtsi32_si128(n));
}

CPU_INLINE uint32_t vec_u_largest(vec_u a)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(a),
                              _mm256_extracti128_si256(a, 1));

    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

CPU_INLINE vec_u vec_u_fadd(vec_u a, vec_u b)
{
    return _mm256_castps_si256(
        _mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
}

/* Two vectors of four lanes in order, after a 128-bit-wise operation. */
CPU_INLINE __m256i vec_in_order(__m256i a)
{
    return _mm256_permute4x64_epi64(a, 0xd8);
}

CPU_INLINE void vec_u_unzip(const void *src, vec_u *even, vec_u *odd)
{
    const __m256 a = _mm256_loadu_ps(src);
    const __m256 b = _mm256_loadu_ps((const float *)src + 8);

    *even = vec_in_order(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)));
    *odd = vec_in_order(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)));
}

CPU_INLINE __m128i vec_low16(vec_u a)
{
    const __m256i low = _mm256_and_si256(a, _mm256_set1_epi32(0xffff));

    return _mm_packus_epi32(_mm256_castsi256_si128(low),
                            _mm256_extracti128_si256(low, 1));
}

CPU_INLINE vec_u vec_u_from_f16(vec_u a)
{
    return _mm256_castps_si256(_mm256_cvtph_ps(vec_low16(a)));
}

CPU_INLINE unsigned vec_u_le(vec_u a, vec_u b)
{
    const __m256i same = _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a);

    return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(same));
}

CPU_INLINE void vec_u_store8(uint8_t *dst, vec_u a)
{
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(a),
                                           _mm256_extracti128_si256(a, 1));

    _mm_storel_epi64((__m128i *)dst, _mm_packus_epi16(words, words));
}

CPU_INLINE void vec_u_store4(uint8_t *dst, vec_u a)
{
    const __m256i pair = _mm256_or_si256(a, _mm256_srli_epi64(a, 28));
    const __m128i words = _mm_packus_epi32(
        _mm_and_si128(_mm256_castsi256_si128(pair), _mm_set1_epi64x(0xff)),
        _mm_and_si128(_mm256_extracti128_si256(pair, 1),
                      _mm_set1_epi64x(0xff)));
    /* Bytes 0, 4, 8 and 12 hold the pairs. */
    const int four =
        _mm_cvtsi128_si32(_mm_shuffle_epi8(words, _mm_set1_epi32(0x0c080400)));

    memcpy(dst, &four, 4);
}

typedef __m256i vec_h;

CPU_INLINE vec_h vec_h_load(const void *src)
{
    return _mm256_loadu_si256((const __m256i *)src);
}

CPU_INLINE vec_h vec_h_set(uint16_t x)
{
    return _mm256_set1_epi16((short)x);
}

CPU_INLINE vec_h vec_h_pair(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

CPU_INLINE vec_h vec_h_and(vec_h a, vec_h b)
{
    return _mm256_and_si256(a, b);
}

CPU_INLINE vec_h vec_h_or(vec_h a, vec_h b)
{
    return _mm256_or_si256(a, b);
}

CPU_INLINE vec_h vec_h_sub(vec_h a, vec_h b)
{
    return _mm256_sub_epi16(a, b);
}

CPU_INLINE vec_h vec_h_add(vec_h a, vec_h b)
{
    return _mm256_add_epi16(a, b);
}

/* Zero where b is more. */
CPU_INLINE vec_h vec_h_subs(vec_h a, vec_h b)
{
    return _mm256_subs_epu16(a, b);
}

CPU_INLINE void vec_h_store(void *dst, vec_h a)
{
    _mm256_storeu_si256((__m256i *)dst, a);
}

CPU_INLINE vec_h vec_u_lower16(vec_u a, vec_u b)
{
    const __m256i low = _mm256_set1_epi32(0xffff);

    return vec_in_order(_mm256_packus_epi32(_mm256_and_si256(a, low),
                                            _mm256_and_si256(b, low)));
}

CPU_INLINE vec_h vec_u_upper16(vec_u a, vec_u b)
{
    return vec_in_order(_mm256_packus_epi32(_mm256_srli_epi32(a, 16),
                                            _mm256_srli_epi32(b, 16)));
}

CPU_INLINE uint32_t vec_h_above(vec_h a, uint16_t a_most, vec_h b,
                                uint16_t b_most)
{
    const __m256i more =
        _mm256_or_si256(_mm256_subs_epu16(a, vec_h_set(a_most)),
                        _mm256_subs_epu16(b, vec_h_set(b_most)));
    const __m256i none = _mm256_cmpeq_epi16(more, _mm256_setzero_si256());
    const __m256i bytes = vec_in_order(_mm256_packs_epi16(none, none));

    return ~(uint32_t)_mm256_movemask_epi8(bytes) & 0xffff;
}

CPU_INLINE vec_h vec_h_min(vec_h a, vec_h b)
{
    return _mm256_min_epu16(a, b);
}

CPU_INLINE int vec_h_any(vec_h a)
{
    return !_mm256_testz_si256(a, a);
}

CPU_INLINE vec_h vec_h_max(vec_h a, vec_h b)
{
    return _mm256_max_epu16(a, b);
}

CPU_INLINE vec_h vec_h_shr(vec_h a, int n)
{
    return _mm256_srl_epi16(a, _mm_cvtsi32_si128(n));
}

/* Lanes a, b, a, b, ... within 128 bits, each the larger of two. */
CPU_INLINE vec_h vec_h_zip_max(vec_h a, vec_h b)
{
    return _mm256_max_epu16(_mm256_unpacklo_epi16(a, b),
                            _mm256_unpackhi_epi16(a, b));
}

/* The largest over the 128-bit parts, lane by lane. */
CPU_INLINE void vec_h_fold(uint16_t dst[8], vec_h a)
{
    _mm_storeu_si128((__m128i *)dst,
                     _mm_max_epu16(_mm256_castsi256_si128(a),
                                   _mm256_extracti128_si256(a, 1)));
}

/* Half the lanes as the upper halves of 32-bit lanes; then the others. */
CPU_INLINE vec_u vec_h_low(vec_h a)
{
    return _mm256_unpacklo_epi16(_mm256_setzero_si256(), a);
}

CPU_INLINE vec_u vec_h_high(vec_h a)
{
    return _mm256_unpackhi_epi16(_mm256_setzero_si256(), a);
}

/* 32-bit lanes below 65536 in the places low and high took them from. */
CPU_INLINE vec_h vec_h_pack(vec_u low, vec_u high)
{
    return _mm256_packus_epi32(low, high);
}

CPU_INLINE void vec_h_store8(uint8_t *dst, vec_h a)
{
    const __m256i bytes = vec_in_order(_mm256_packus_epi16(a, a));

    _mm_storeu_si128((__m128i *)dst, _mm256_castsi256_si128(bytes));
}

/* A block of 32: the low bytes of codes below 128, with the signs of v. */
CPU_INLINE void vec_h_store_signed(uint8_t *dst, const vec_h *code,
                                   const vec_h *v)
{
    const __m256i sign = _mm256_and_si256(_mm256_packs_epi16(v[0], v[1]),
                                          _mm256_set1_epi8(-128));
    const __m256i bytes = _mm256_packus_epi16(code[0], code[1]);

    _mm256_storeu_si256((__m256i *)dst,
                        vec_in_order(_mm256_or_si256(bytes, sign)));
}

/* Lanes below 16 as nibbles, two per byte. */
CPU_INLINE void vec_h_store4(uint8_t *dst, vec_h a)
{
    const __m256i pair = _mm256_or_si256(a, _mm256_srli_epi32(a, 12));

    vec_u_store8(dst, _mm256_and_si256(pair, _mm256_set1_epi32(0xff)));
}

typedef __m256 vec_f;

CPU_INLINE vec_f vec_f_of(vec_u a)
{
    return _mm256_castsi256_ps(a);
}

CPU_INLINE vec_u vec_f_bits(vec_f a)
{
    return _mm256_castps_si256(a);
}

CPU_INLINE vec_f vec_f_set(float x)
{
    return _mm256_set1_ps(x);
}

CPU_INLINE vec_f vec_f_add(vec_f a, vec_f b)
{
    return _mm256_add_ps(a, b);
}

CPU_INLINE vec_f vec_f_sub(vec_f a, vec_f b)
{
    return _mm256_sub_ps(a, b);
}

CPU_INLINE vec_f vec_f_mul(vec_f a, vec_f b)
{
    return _mm256_mul_ps(a, b);
}

CPU_INLINE vec_f vec_f_div(vec_f a, vec_f b)
{
    return _mm256_div_ps(a, b);
}

/* a / b to 3 units of 2^-24, b from 1 to 2^116. */
CPU_INLINE vec_f vec_f_ratio(vec_f a, vec_f b)
{
    return vec_f_div(a, b);
}

/* a * b + c, rounded once. */
CPU_INLINE vec_f vec_f_fma(vec_f a, vec_f b, vec_f c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* A NaN in x stays. */
CPU_INLINE vec_f vec_f_min(vec_f limit, vec_f x)
{
    return _mm256_min_ps(limit, x);
}

CPU_INLINE vec_f vec_f_max(vec_f limit, vec_f x)
{
    return _mm256_max_ps(limit, x);
}

CPU_INLINE vec_f vec_f_fms(vec_f a, vec_f b, vec_f c)
{
    return _mm256_fmsub_ps(a, b, c);
}

enum { VEC_POWERS = 8, VEC_ONE_LOG = 2 };

/* The powers' patterns are VEC_ONE_LOG << 23 more and j << 20 less, so that the
   shifted pattern, which has j in its low bits, can be added. */
CPU_INLINE vec_f vec_f_raise(vec_f shifted, vec_f rest)
{
    const vec_u bits = vec_f_bits(shifted);
    const __m256 table = _mm256_castsi256_ps(
        _mm256_setr_epi32(0x40800000, 0x407b95c2, 0x407837f0, 0x4075fed7,
                          0x407504f3, 0x4075672a, 0x407744fd, 0x407ac0c7));
    const vec_u power = vec_f_bits(_mm256_permutevar8x32_ps(table, bits));
    const vec_f scaled = vec_f_of(vec_u_add(power, vec_u_shl(bits, 20)));

    return vec_f_fma(scaled, rest, scaled);
}

/* x, but zero where n is beyond -114 or 114. */
CPU_INLINE vec_f vec_f_raised(vec_f x, vec_f shifted)
{
    const uint32_t far = 114 * VEC_POWERS;
    const vec_u at = vec_u_add(vec_f_bits(shifted),
                               vec_u_set(0x80000000u - 0x49c00000u + far));
    const __m256i fine =
        _mm256_cmpgt_epi32(vec_u_set(0x80000000u + 2 * far + 1), at);

    return _mm256_and_ps(x, _mm256_castsi256_ps(fine));
}

CPU_INLINE void vec_u_store_f16(uint16_t *dst, vec_f a)
{
    _mm_storeu_si128(
        (__m128i *)dst,
        _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

#endif
