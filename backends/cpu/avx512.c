/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 (F, BW, DQ, VL).  Dequantising is one permute per 64 bytes: the
 * table row of the block's scale is the value register, the codes are the
 * indices, and vpermw and vpermd ignore the index bits above the code.
 */
#include "lane.h"

#include "vec_avx512.h"

#include "act_vec.h"
#include "quant_vec.h"

#include <immintrin.h>

static void put(uint8_t *dst, __m512i v, int stream)
{
    if (stream) {
        _mm512_stream_si512((void *)dst, v);
    } else {
        _mm512_storeu_si512(dst, v);
    }
}

/* Streaming stores need whole cache lines. */
static int may_stream(const cpu_dequant4 *job)
{
    return job->stream && (uintptr_t)job->y % 64 == 0;
}

static void dequant4_16(const cpu_dequant4 *job)
{
    const int stream = may_stream(job);

    for (uint64_t b = 0; b < job->blocks; b++) {
        const __m512i row = _mm512_broadcast_i64x4(_mm256_load_si256(
            (const __m256i *)job->table->u.row16[job->scale[b]]));
        const __m512i pair = _mm512_cvtepu8_epi32(
            _mm_loadu_si128((const __m128i *)(job->q + 16 * b)));
        const __m512i code = _mm512_or_si512(pair, _mm512_slli_epi32(pair, 12));

        put(job->y + 64 * b, _mm512_permutexvar_epi16(code, row), stream);
    }
    _mm_sfence();
}

static __m512i codes_of_8(const uint8_t *q)
{
    const __m512i pair =
        _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)q));

    return _mm512_or_si512(pair, _mm512_slli_epi64(pair, 28));
}

static void dequant4_32(const cpu_dequant4 *job)
{
    const int stream = may_stream(job);

    for (uint64_t b = 0; b < job->blocks; b++) {
        const __m512i row =
            _mm512_load_si512(job->table->u.row32[job->scale[b]]);
        const uint8_t *q = job->q + 16 * b;
        uint8_t *y = job->y + 128 * b;

        put(y, _mm512_permutexvar_epi32(codes_of_8(q), row), stream);
        put(y + 64, _mm512_permutexvar_epi32(codes_of_8(q + 8), row), stream);
    }
    _mm_sfence();
}

static void stream(uint8_t *dst, const void *src, uint64_t n_bytes)
{
    for (uint64_t i = 0; i < n_bytes; i += 64) {
        put(dst + i, _mm512_loadu_si512((const uint8_t *)src + i), 1);
    }
}

static void fence(void)
{
    _mm_sfence();
}

const cpu_lane cpu_lane_avx512 = {
    .isa = "avx512",
    .dequant4_16 = dequant4_16,
    .dequant4_32 = dequant4_32,
    .quant = quant,
    .glu16 = glu16,
    .glu32 = glu32,
    .exp32 = exp32,
    .widen = widen,
    .widen2 = widen2,
    .stream = stream,
    .fence = fence,
};
