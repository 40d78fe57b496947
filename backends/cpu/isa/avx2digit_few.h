/* SPDX-License-Identifier: Apache-2.0 */
/* Panels of avx2digit_plane.c, and planes of few digits, which meet the
   products of codes and factors, all columns of a number at once. */
#ifndef CPU_AVX2_DIGIT_FEW_H
#define CPU_AVX2_DIGIT_FEW_H

#include "gemm/gemm_digit_plane.h"
#include "isa_ops.h"

#include <immintrin.h>
#include <string.h>

enum {
    RUN = 16,
    HALF = 128, /* numbers of four blocks: 32 lanes of 16 bits */
    STEP = 32,
    STEPS = HALF / STEP,
    BLOCKS = 4,
    PANEL = 8, /* halves */
    FEW = 3,   /* planes, */
    PAIR = 2,  /* and columns */
    LANES = 8,
    MOST_WIDE = 11,  /* 12 2^11 fits 16 bits */
    LEAST_WIDE = 12, /* planes that are worth it */
    WIDE = RUN       /* numbers, and columns */
};

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Columns of a panel. */
typedef struct panel {
    int8_t code[CPU_PLANE_COLS][PANEL][HALF];
    int16_t factor[CPU_PLANE_COLS][PANEL][STEP / 2];
    int32_t excess[CPU_PLANE_COLS]; /* of digits, to be added */
    /* Codes times factors of a number's columns: 0-3, 8-11, 4-7, 12-15. */
    int16_t wide[PANEL * HALF][CPU_PLANE_COLS];
    int has_wide;
} panel;

/* Bytes at to at + 15 of a half, times their factors. */
CPU_INLINE void widen(panel *w, size_t h, size_t at)
{
    __m256i t[WIDE];
    __m256i s[WIDE];

    UNROLL
    for (size_t c = 0; c < WIDE; c++) {
        const __m256i f = _mm256_load_si256((const void *)w->factor[c][h]);
        const __m256i code = _mm256_cvtepi8_epi16(
            _mm_load_si128((const void *)(w->code[c][h] + at)));

        t[(c & 3) | (c & 4) << 1 | (c & 8) >> 1] = _mm256_mullo_epi16(
            code, at % STEP == 0 ? _mm256_permute4x64_epi64(f, 0x50)
                                 : _mm256_permute4x64_epi64(f, 0xfa));
    }
    UNROLL
    for (int round = 0; round < 4; round++) {
        UNROLL
        for (int i = 0; i < WIDE / 2; i++) {
            s[2 * i] = _mm256_unpacklo_epi16(t[i], t[i + WIDE / 2]);
            s[2 * i + 1] = _mm256_unpackhi_epi16(t[i], t[i + WIDE / 2]);
        }
        UNROLL
        for (int i = 0; i < WIDE; i++) {
            t[i] = s[i];
        }
    }
    UNROLL
    for (size_t i = 0; i < WIDE / 2; i++) {
        int16_t(*to)[CPU_PLANE_COLS] = w->wide + h * HALF + at + i;

        _mm256_store_si256((void *)to[0], _mm256_permute2x128_si256(
                                              t[2 * i], t[2 * i + 1], 0x20));
        _mm256_store_si256(
            (void *)to[WIDE / 2],
            _mm256_permute2x128_si256(t[2 * i], t[2 * i + 1], 0x31));
    }
}

/* What planes of few digits of a panel meet. */
static void widen_all(panel *w, size_t halves)
{
    for (size_t h = 0; h < halves; h++) {
        for (size_t at = 0; at < HALF; at += STEP) {
            widen(w, h, at);
            widen(w, h, at + STEP / 2);
        }
    }
}

/* A plane's few digits against all columns. */
static void add_pairs(const cpu_plane_few *few, const panel *w, size_t stretch,
                      int32_t *to)
{
    const cpu_plane_pair *end = few->pair + few->first[stretch + 1];
    __m256i sum[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};

    for (const cpu_plane_pair *p = few->pair + few->first[stretch]; p < end;
         p++) {
        int32_t both;

        memcpy(&both, p->digit, sizeof both);
        const __m256i d = _mm256_set1_epi32(both);
        const __m256i a = _mm256_load_si256((const void *)w->wide[p->at[0]]);
        const __m256i b = _mm256_load_si256((const void *)w->wide[p->at[1]]);

        sum[0] = _mm256_add_epi32(
            sum[0], _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), d));
        sum[1] = _mm256_add_epi32(
            sum[1], _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), d));
    }
    for (int i = 0; i < 2; i++) {
        __m256i *y = (void *)(to + (size_t)i * LANES);

        _mm256_storeu_si256(
            y, stretch == 0 ? sum[i]
                            : _mm256_add_epi32(_mm256_loadu_si256(y), sum[i]));
    }
}

#endif
