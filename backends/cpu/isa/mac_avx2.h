/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_mac for AVX2: two registers of eight columns each.  A decoded block
 * does not fit 16 registers, so it lies in the first cache.
 */
#ifndef CPU_MAC_AVX2_H
#define CPU_MAC_AVX2_H

#include "isa_ops.h"

#include <immintrin.h>

/* Block b of columns c and 4 + c. */
CPU_INLINE __m256i mac_two(const cpu_mac *job, size_t b, int c)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(
            _mm_loadu_si128((const void *)(job->col[c] + 16 * b))),
        _mm_loadu_si128((const void *)(job->col[4 + c] + 16 * b)), 1);
}

/* Twice the numbers of the codes in byte i of each lane, 16 bits each. */
CPU_INLINE __m256i mac_pair(__m256i d, int i)
{
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));
    const __m256i byte = _mm256_srl_epi32(d, _mm_cvtsi32_si128(8 * i));
    const __m256i low = _mm256_and_si256(byte, _mm256_set1_epi32(0xf));
    const __m256i high = _mm256_and_si256(_mm256_slli_epi32(byte, 12),
                                          _mm256_set1_epi32(0xf0000));
    const __m256i v = _mm256_shuffle_epi8(table, _mm256_or_si256(low, high));

    return _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8);
}

/* Eight columns from c on; w[p] holds codes 2p and 2p + 1. */
CPU_INLINE void mac_decode(const cpu_mac *job, size_t b, int c, __m256i *w)
{
    const __m256i z0 = mac_two(job, b, c);
    const __m256i z1 = mac_two(job, b, c + 1);
    const __m256i z2 = mac_two(job, b, c + 2);
    const __m256i z3 = mac_two(job, b, c + 3);
    const __m256i t0 = _mm256_unpacklo_epi32(z0, z1);
    const __m256i t1 = _mm256_unpackhi_epi32(z0, z1);
    const __m256i t2 = _mm256_unpacklo_epi32(z2, z3);
    const __m256i t3 = _mm256_unpackhi_epi32(z2, z3);
    const __m256i d[4] = {
        _mm256_unpacklo_epi64(t0, t2), _mm256_unpackhi_epi64(t0, t2),
        _mm256_unpacklo_epi64(t1, t3), _mm256_unpackhi_epi64(t1, t3)};

    for (int p = 0; p < 16; p++) {
        w[p] = mac_pair(d[p / 4], p % 4);
    }
}

CPU_INLINE void mac_add4(double *y, __m128i sum, const double *factor,
                         __m256d unit)
{
    const __m256d f = _mm256_mul_pd(_mm256_loadu_pd(factor), unit);

    _mm256_store_pd(
        y, _mm256_fmadd_pd(_mm256_cvtepi32_pd(sum), f, _mm256_load_pd(y)));
}

CPU_INLINE void mac_add8(double *y, __m256i sum, const double *factor,
                         double unit)
{
    const __m256d u = _mm256_set1_pd(unit);

    mac_add4(y, _mm256_castsi256_si128(sum), factor, u);
    mac_add4(y + 4, _mm256_extracti128_si256(sum, 1), factor + 4, u);
}

static void mac_block(const cpu_mac *job, size_t b)
{
    const double *factor = job->factor + b * CPU_MAC_COLS;
    __m256i w0[16];
    __m256i w1[16];

    mac_decode(job, b, 0, w0);
    mac_decode(job, b, 8, w1);
    for (uint32_t i = job->start[b]; i < job->start[b + 1]; i++) {
        const cpu_mac_item *item = &job->item[i];
        const int32_t *x = item->slice->pair;
        double *y = job->y + (size_t)item->sum * CPU_MAC_COLS;
        __m256i s0 = _mm256_setzero_si256();
        __m256i s1 = s0;

        for (int p = 0; p < 16; p++) {
            const __m256i v = _mm256_set1_epi32(x[p]);
            s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(w0[p], v));
            s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(w1[p], v));
        }
        mac_add8(y, s0, factor, item->unit);
        mac_add8(y + 8, s1, factor + 8, item->unit);
    }
}

static void mac(const cpu_mac *job)
{
    cpu_mac_blocks(job, mac_block);
}

#endif
