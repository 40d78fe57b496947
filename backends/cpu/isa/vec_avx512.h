/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 under the names the shared inner loops use.  u: unsigned 32-bit
 * lanes, h: unsigned 16-bit lanes, f: float lanes.
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

/* Twice as many lanes. */
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

CPU_INLINE void vec_h_store(void *dst, vec_h a)
{
    _mm512_storeu_si512(dst, a);
}

/* Upper and lower halves of a's lanes, then of b's. */
CPU_INLINE vec_h vec_u_lower16(vec_u a, vec_u b)
{
    const __m512i index = _mm512_set_epi16(
        62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28,
        26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);

    return _mm512_permutex2var_epi16(a, index, b);
}

CPU_INLINE vec_h vec_u_upper16(vec_u a, vec_u b)
{
    const __m512i index = _mm512_set_epi16(
        63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29,
        27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);

    return _mm512_permutex2var_epi16(a, index, b);
}

/* A bit for each lane where a or b is above its most. */
CPU_INLINE uint32_t vec_h_above(vec_h a, uint16_t a_most, vec_h b,
                                uint16_t b_most)
{
    return _mm512_cmpgt_epu16_mask(a, vec_h_set(a_most)) |
           _mm512_cmpgt_epu16_mask(b, vec_h_set(b_most));
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

/* a / b to 3 units of 2^-24, b from 1 to 2^116: division itself stops one of
   two ports for eight of these. */
CPU_INLINE vec_f vec_f_ratio(vec_f a, vec_f b)
{
    const vec_f r = _mm512_rcp14_ps(b);
    const vec_f rest = _mm512_fnmadd_ps(b, r, _mm512_set1_ps(1));

    return _mm512_mul_ps(a, _mm512_fmadd_ps(r, rest, r));
}

/* a * b + c, rounded once. */
CPU_INLINE vec_f vec_f_fma(vec_f a, vec_f b, vec_f c)
{
    return _mm512_fmadd_ps(a, b, c);
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

CPU_INLINE vec_f vec_f_fms(vec_f a, vec_f b, vec_f c)
{
    return _mm512_fmsub_ps(a, b, c);
}

/* Powers of 2 in a table, from 1 to below 2; what vec_f_raise() has for 1, so
   that it is infinite where the inverse would be subnormal. */
enum { VEC_POWERS = 32, VEC_ONE_LOG = 2 };

/* 2^(n + VEC_ONE_LOG) (1 + rest), n the multiple of 1 / VEC_POWERS that
   1.5 * 2^23 / VEC_POWERS was added to. */
CPU_INLINE vec_f vec_f_raise(vec_f shifted, vec_f rest)
{
    const vec_f low = _mm512_setr_ps(
        1, 0x1.059b0ep0f, 0x1.0b5586p0f, 0x1.11301ep0f, 0x1.172b84p0f,
        0x1.1d4874p0f, 0x1.2387a6p0f, 0x1.29e9e0p0f, 0x1.306fe0p0f,
        0x1.371a74p0f, 0x1.3dea64p0f, 0x1.44e086p0f, 0x1.4bfdaep0f,
        0x1.5342b6p0f, 0x1.5ab07ep0f, 0x1.6247ecp0f);
    const vec_f high = _mm512_setr_ps(
        0x1.6a09e6p0f, 0x1.71f75ep0f, 0x1.7a1148p0f, 0x1.82589ap0f,
        0x1.8ace54p0f, 0x1.93737cp0f, 0x1.9c4918p0f, 0x1.a5503cp0f,
        0x1.ae89fap0f, 0x1.b7f770p0f, 0x1.c199bep0f, 0x1.cb720ep0f,
        0x1.d5818ep0f, 0x1.dfc974p0f, 0x1.ea4afap0f, 0x1.f50766p0f);
    const vec_f power = _mm512_permutex2var_ps(low, vec_f_bits(shifted), high);
    const vec_f n = _mm512_sub_ps(
        shifted, _mm512_set1_ps(0x1.8p23f / VEC_POWERS - VEC_ONE_LOG));

    return _mm512_scalef_ps(_mm512_fmadd_ps(power, rest, power), n);
}

/* x where vec_f_raise() is right or infinite; there, everywhere. */
CPU_INLINE vec_f vec_f_raised(vec_f x, vec_f shifted)
{
    (void)shifted;
    return x;
}

CPU_INLINE void vec_u_store_f16(uint16_t *dst, vec_f a)
{
    _mm256_storeu_si256(
        (__m256i *)dst,
        _mm512_maskz_cvtps_ph(0xffff, a,
                              _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

#endif
