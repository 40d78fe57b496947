/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 (F, BW, DQ, VL).  Dequantising is one permute per 64 bytes: the
 * table row of the block's scale is the value register, the codes are the
 * indices, and vpermw and vpermd ignore the index bits above the code.
 */
#include "isa_ops.h"

#include "vec_double_avx512.h"

#include "act/act_vec.h"
#include "quant/quant_vec.h"

#define MAC_DOT2(sum, w, x) _mm512_add_epi32(sum, _mm512_madd_epi16(w, x))

#include "mac_avx512.h"

/* Sixteen exponents, eight at a time: 2^(byte - 128) has byte + 895. */
CPU_INLINE void scales_store(double *to, __m128i bytes)
{
    const __m512i bias = _mm512_set1_epi64(895);
    const __m128i high = _mm_srli_si128(bytes, 8);
    const __m512i e0 = _mm512_add_epi64(_mm512_cvtepu8_epi64(bytes), bias);
    const __m512i e1 = _mm512_add_epi64(_mm512_cvtepu8_epi64(high), bias);

    _mm512_store_si512((void *)to, _mm512_slli_epi64(e0, 52));
    _mm512_store_si512((void *)(to + 8), _mm512_slli_epi64(e1, 52));
}

#define SCALES_STORE(to, bytes) scales_store(to, bytes)

#include "mac_scales.h"

#include <immintrin.h>

static void put(uint8_t *dst, __m512i v, int stream)
{
    if (stream) {
        _mm512_stream_si512((void *)dst, v);
    } else {
        _mm512_storeu_si512(dst, v);
    }
}

static void dequant4_16(const cpu_dequant4 *job)
{
    const int stream = cpu_may_stream(job);

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
    const int stream = cpu_may_stream(job);

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

/* y where mask is set, x elsewhere. */
static __m512i choose(__m512i mask, __m512i x, __m512i y)
{
    return _mm512_ternarylogic_epi64(mask, x, y, 0xac);
}

static void swap_bits(uint8_t *x, uint8_t *y, uint64_t n_bytes, uint32_t bit)
{
    const uint64_t whole = n_bytes / 64 * 64;
    const __m512i low = _mm512_set1_epi64((long long)cpu_low_mask(bit));
    const __m128i by = _mm_cvtsi32_si128(1 << bit);

    for (uint64_t i = 0; i < whole; i += 64) {
        const __m512i a = _mm512_loadu_si512(x + i);
        const __m512i b = _mm512_loadu_si512(y + i);

        _mm512_storeu_si512(x + i, choose(low, _mm512_sll_epi64(b, by), a));
        _mm512_storeu_si512(y + i, choose(low, b, _mm512_srl_epi64(a, by)));
    }
    cpu_swap_bits(x + whole, y + whole, n_bytes - whole, bit);
}

static void mix_bits(uint8_t *x, uint64_t n_bytes, int n, const int8_t *shift,
                     const uint64_t *mask)
{
    const uint64_t whole = n_bytes / 64 * 64;

    for (uint64_t i = 0; i < whole; i += 64) {
        const __m512i a = _mm512_loadu_si512(x + i);
        __m512i sum = _mm512_setzero_si512();

        for (int k = 0; k < n; k++) {
            const __m512i m = _mm512_set1_epi64((long long)mask[k]);
            /* A rotation: the mask leaves nothing of what comes round. */
            const __m512i by = _mm512_set1_epi64(shift[k]);
            sum = _mm512_ternarylogic_epi64(sum, _mm512_rolv_epi64(a, by), m,
                                            0xf8);
        }
        _mm512_storeu_si512(x + i, sum);
    }
    cpu_mix_bits(x + whole, n_bytes - whole, n, shift, mask);
}

#define LANE                                                                   \
    .dequant4_16 = dequant4_16, .dequant4_32 = dequant4_32, .quant = quant,    \
    .glu16 = glu16, .glu32 = glu32, .exp32 = exp32, .widen = widen,            \
    .widen2 = widen2, .swap_bits = swap_bits, .mix_bits = mix_bits,            \
    .mac = mac, .scales = scales, .settle = cpu_settle_avx2, .stream = stream, \
    .fence = fence

const cpu_isa_ops cpu_isa_avx512 = {.isa = "avx512", LANE};
const cpu_isa_ops cpu_isa_avx512vbmi = {
    .isa = "avx512vbmi", .transpose = cpu_transpose_vbmi, LANE};
const cpu_isa_ops cpu_isa_amx = {
    .isa = "amx", .transpose = cpu_transpose_vbmi, LANE};
