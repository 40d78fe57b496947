/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_scales for x86: 16 bytes of each of 16 columns are transposed, so that
 * a register holds one block's bytes, and each byte becomes the exponent of a
 * double.  SCALES_STORE(to, bytes) writes 16 of them.
 */
#ifndef CPU_MAC_SCALES_H
#define CPU_MAC_SCALES_H

#include "isa_ops.h"

#include <immintrin.h>

enum { SCALES_BLOCKS = 16 };

/* Four perfect shuffles of 256 bytes are the transpose. */
CPU_INLINE void scales_transpose(__m128i *r)
{
    __m128i t[SCALES_BLOCKS];

    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 8; i++) {
            t[2 * i] = _mm_unpacklo_epi8(r[i], r[i + 8]);
            t[2 * i + 1] = _mm_unpackhi_epi8(r[i], r[i + 8]);
        }
        for (int i = 0; i < SCALES_BLOCKS; i++) {
            r[i] = t[i];
        }
    }
}

static void scales(cpu_scales *job)
{
    __m128i least = _mm_set1_epi8(-1);
    __m128i most = _mm_setzero_si128();

    if (job->blocks < SCALES_BLOCKS) {
        cpu_scales_portable(job);
        return;
    }
    for (size_t at = 0; at < job->blocks; at += SCALES_BLOCKS) {
        const size_t last = job->blocks - SCALES_BLOCKS;
        const size_t b = at < last ? at : last; /* some blocks twice */
        __m128i r[SCALES_BLOCKS];

        for (int c = 0; c < CPU_MAC_COLS; c++) {
            r[c] = _mm_loadu_si128((const void *)(job->col[c] + b));
        }
        scales_transpose(r);
        for (int i = 0; i < SCALES_BLOCKS; i++) {
            least = _mm_min_epu8(least, r[i]);
            most = _mm_max_epu8(most, r[i]);
            SCALES_STORE(job->factor + (b + (size_t)i) * CPU_MAC_COLS, r[i]);
        }
    }
    _mm_storeu_si128((void *)job->least, least);
    _mm_storeu_si128((void *)job->most, most);
}

#endif
