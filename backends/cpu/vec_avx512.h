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

#endif
