/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2 under the names the shared inner loops use; see vec_avx512.h. */
#ifndef CPU_VEC_AVX2_H
#define CPU_VEC_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { VEC_N = 8 };

typedef __m256i vec_u;

static inline vec_u vec_u_set(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

static inline vec_u vec_u_load(const void *src)
{
    return _mm256_loadu_si256((const __m256i *)src);
}

static inline vec_u vec_u_load16(const void *src)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)src));
}

static inline vec_u vec_u_load_f16(const void *src)
{
    return _mm256_castps_si256(
        _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)src)));
}

static inline vec_u vec_u_add(vec_u a, vec_u b)
{
    return _mm256_add_epi32(a, b);
}

static inline vec_u vec_u_sub(vec_u a, vec_u b)
{
    return _mm256_sub_epi32(a, b);
}

static inline vec_u vec_u_and(vec_u a, vec_u b)
{
    return _mm256_and_si256(a, b);
}

static inline vec_u vec_u_or(vec_u a, vec_u b)
{
    return _mm256_or_si256(a, b);
}

static inline vec_u vec_u_min(vec_u a, vec_u b)
{
    return _mm256_min_epu32(a, b);
}

static inline vec_u vec_u_max(vec_u a, vec_u b)
{
    return _mm256_max_epu32(a, b);
}

static inline vec_u vec_u_shl(vec_u a, int n)
{
    return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n));
}

static inline vec_u vec_u_shr(vec_u a, int n)
{
    return _mm256_srl_epi32(a, _mm_cvtsi32_si128(n));
}

static inline uint32_t vec_u_largest(vec_u a)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(a),
                              _mm256_extracti128_si256(a, 1));

    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

static inline vec_u vec_u_fadd(vec_u a, vec_u b)
{
    return _mm256_castps_si256(
        _mm256_add_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
}

static inline void vec_u_store8(uint8_t *dst, vec_u a)
{
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(a),
                                           _mm256_extracti128_si256(a, 1));

    _mm_storel_epi64((__m128i *)dst, _mm_packus_epi16(words, words));
}

static inline void vec_u_store4(uint8_t *dst, vec_u a)
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

#endif
