/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_mac for AVX-512, 16 columns in 16 lanes.  A block of 16 columns is
 * transposed so that register p holds codes 2p and 2p + 1 of every column as
 * 16-bit integers, and stays in registers for all slices.  MAC_DOT2(sum, w, x)
 * adds two products per lane.
 */
#ifndef CPU_MAC_AVX512_H
#define CPU_MAC_AVX512_H

#include "isa_ops.h"

#include <immintrin.h>

#if defined(__clang__)
#define MAC_UNROLL _Pragma("unroll")
#else
#define MAC_UNROLL _Pragma("GCC unroll 8")
#endif

#define MAC_EACH(step)                                                      \
    step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) \
        step(9) step(10) step(11) step(12) step(13) step(14) step(15)

/* Block b of columns g, 4 + g, 8 + g, 12 + g. */
CPU_INLINE __m512i mac_four(const cpu_mac *job, size_t b, int g)
{
    __m512i z = _mm512_castsi128_si512(
        _mm_loadu_si128((const void *)(job->col[g] + 16 * b)));

    z = _mm512_inserti32x4(
        z, _mm_loadu_si128((const void *)(job->col[4 + g] + 16 * b)), 1);
    z = _mm512_inserti32x4(
        z, _mm_loadu_si128((const void *)(job->col[8 + g] + 16 * b)), 2);
    return _mm512_inserti32x4(
        z, _mm_loadu_si128((const void *)(job->col[12 + g] + 16 * b)), 3);
}

/* Byte i of each lane: its lower and its upper code in the four lowest of 16
   bits each; the fifth does not matter. */
#ifndef MAC_PICK
#define MAC_PICK(d, i) mac_pick(d, i)

CPU_INLINE __m512i mac_pick(__m512i d, int i)
{
    const int at = i * 0x00010001;
    const __m512i pick = _mm512_broadcast_i32x4(
        _mm_setr_epi32((int)0x80008000 + at, (int)0x80048004 + at,
                       (int)0x80088008 + at, (int)0x800c800c + at));

    return _mm512_srlv_epi16(_mm512_shuffle_epi8(d, pick),
                             _mm512_set1_epi32(0x00040000));
}
#endif

/* Twice the numbers of the codes in byte i of each lane.  The permute looks at
   five bits; the table repeats after four. */
CPU_INLINE __m512i mac_pair(__m512i d, int i)
{
    const __m512i table = _mm512_broadcast_i64x4(_mm256_setr_epi16(
        0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));

    return _mm512_permutexvar_epi16(MAC_PICK(d, i), table);
}

CPU_INLINE void mac_decode(const cpu_mac *job, size_t b, __m512i *w)
{
    const __m512i z0 = mac_four(job, b, 0);
    const __m512i z1 = mac_four(job, b, 1);
    const __m512i z2 = mac_four(job, b, 2);
    const __m512i z3 = mac_four(job, b, 3);
    const __m512i t0 = _mm512_unpacklo_epi32(z0, z1);
    const __m512i t1 = _mm512_unpackhi_epi32(z0, z1);
    const __m512i t2 = _mm512_unpacklo_epi32(z2, z3);
    const __m512i t3 = _mm512_unpackhi_epi32(z2, z3);
    const __m512i d[] = {
        _mm512_unpacklo_epi64(t0, t2), _mm512_unpackhi_epi64(t0, t2),
        _mm512_unpacklo_epi64(t1, t3), _mm512_unpackhi_epi64(t1, t3)};

#define DECODE(p) w[p] = mac_pair(d[(p) / 4], (p) % 4);
    MAC_EACH(DECODE)
#undef DECODE
}

CPU_INLINE void mac_add(const cpu_mac *job, const cpu_mac_item *item,
                        __m512i sum, __m512d f0, __m512d f1)
{
    const __m512d unit = _mm512_set1_pd(item->unit);
    double *y = job->y + (size_t)item->sum * CPU_MAC_COLS;
    const __m512d lo = _mm512_cvtepi32_pd(_mm512_castsi512_si256(sum));
    const __m512d hi = _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(sum, 1));

    _mm512_store_pd(
        y, _mm512_fmadd_pd(lo, _mm512_mul_pd(f0, unit), _mm512_load_pd(y)));
    _mm512_store_pd(y + 8, _mm512_fmadd_pd(hi, _mm512_mul_pd(f1, unit),
                                           _mm512_load_pd(y + 8)));
}

/* One slice in four sums, so that none waits for itself. */
CPU_INLINE __m512i mac_one(const __m512i *w, const int32_t *x)
{
    __m512i s[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(),
                    _mm512_setzero_si512(), _mm512_setzero_si512()};

#define ONE(p) s[(p) % 4] = MAC_DOT2(s[(p) % 4], w[p], _mm512_set1_epi32(x[p]));
    MAC_EACH(ONE)
#undef ONE
    return _mm512_add_epi32(_mm512_add_epi32(s[0], s[1]),
                            _mm512_add_epi32(s[2], s[3]));
}

/* A few slices side by side, so that none waits for itself. */
CPU_INLINE void mac_some(const cpu_mac *job, const cpu_mac_item *item,
                         const int n, const __m512i *w, __m512d f0, __m512d f1)
{
    __m512i s[8];

    MAC_UNROLL
    for (int i = 0; i < n; i++) {
        s[i] = _mm512_setzero_si512();
    }
#define SOME(p)                                                              \
    MAC_UNROLL                                                               \
    for (int i = 0; i < n; i++) {                                            \
        s[i] =                                                               \
            MAC_DOT2(s[i], w[p], _mm512_set1_epi32(item[i].slice->pair[p])); \
    }
    MAC_EACH(SOME)
#undef SOME
    MAC_UNROLL
    for (int i = 0; i < n; i++) {
        mac_add(job, item + i, s[i], f0, f1);
    }
}

static void mac_block(const cpu_mac *job, size_t b)
{
    const cpu_mac_item *item = job->item + job->start[b];
    const cpu_mac_item *end = job->item + job->start[b + 1];
    const __m512d f0 = _mm512_loadu_pd(job->factor + b * CPU_MAC_COLS);
    const __m512d f1 = _mm512_loadu_pd(job->factor + b * CPU_MAC_COLS + 8);
    __m512i w[16];

    mac_decode(job, b, w);
    for (; end - item >= 8; item += 8) {
        mac_some(job, item, 8, w, f0, f1);
    }
    for (; end - item >= 4; item += 4) {
        mac_some(job, item, 4, w, f0, f1);
    }
    for (; item < end; item++) {
        mac_add(job, item, mac_one(w, item->slice->pair), f0, f1);
    }
}

static void mac(const cpu_mac *job)
{
    cpu_mac_blocks(job, mac_block);
}

#endif
