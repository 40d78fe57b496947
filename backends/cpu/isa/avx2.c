/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX2 with FMA and F16C.  Dequantising looks every byte of the result up
 * with one byte shuffle and zips the bytes together.  Both 128-bit halves
 * work on their own 16 codes, so results are put in order at the store.
 */
#include "isa_ops.h"

#include "vec_double_avx2.h"

#include "act/act_vec.h"
#include "quant/quant_vec.h"

#include "mac_avx2.h"

/* Sixteen exponents, four at a time: 2^(byte - 128) has byte + 895. */
CPU_INLINE void scales_store(double *to, __m128i bytes)
{
    const __m256i bias = _mm256_set1_epi64x(895);

    for (int i = 0; i < 4; i++) {
        const __m256i e = _mm256_add_epi64(_mm256_cvtepu8_epi64(bytes), bias);
        _mm256_store_si256((void *)(to + 4 * i), _mm256_slli_epi64(e, 52));
        bytes = _mm_srli_si128(bytes, 4);
    }
}

#define SCALES_STORE(to, bytes) scales_store(to, bytes)

#include "mac_scales.h"

#include <immintrin.h>

static void put(uint8_t *dst, __m256i v, int stream)
{
    if (stream) {
        _mm256_stream_si256((__m256i *)dst, v);
    } else {
        _mm256_storeu_si256((__m256i *)dst, v);
    }
}

/* a holds pieces 0 and 2 of four, b pieces 1 and 3. */
static void put_pair(uint8_t *dst, uint64_t apart, __m256i a, __m256i b,
                     int stream)
{
    put(dst, _mm256_permute2x128_si256(a, b, 0x20), stream);
    put(dst + apart, _mm256_permute2x128_si256(a, b, 0x31), stream);
}

/* Codes 0..15 in the low half, 16..31 in the high half. */
static __m256i codes_of(const uint8_t *q)
{
    const __m128i pair = _mm_loadu_si128((const __m128i *)q);
    const __m128i mask = _mm_set1_epi8(15);
    const __m128i even = _mm_and_si128(pair, mask);
    const __m128i odd = _mm_and_si128(_mm_srli_epi16(pair, 4), mask);

    return _mm256_set_m128i(_mm_unpackhi_epi8(even, odd),
                            _mm_unpacklo_epi8(even, odd));
}

static __m256i look(const uint8_t *plane, __m256i codes)
{
    return _mm256_shuffle_epi8(
        _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)plane)),
        codes);
}

static void dequant4_16(const cpu_dequant4 *job)
{
    const int stream = cpu_may_stream(job);

    for (uint64_t b = 0; b < job->blocks; b++) {
        const uint8_t(*plane)[16] = job->table->u.plane16[job->scale[b]];
        const __m256i codes = codes_of(job->q + 16 * b);
        const __m256i low = look(plane[0], codes);
        const __m256i high = look(plane[1], codes);

        put_pair(job->y + 64 * b, 32, _mm256_unpacklo_epi8(low, high),
                 _mm256_unpackhi_epi8(low, high), stream);
    }
    _mm_sfence();
}

static void dequant4_32(const cpu_dequant4 *job)
{
    const int stream = cpu_may_stream(job);

    for (uint64_t b = 0; b < job->blocks; b++) {
        const uint8_t(*plane)[16] = job->table->u.plane32[job->scale[b]];
        const __m256i codes = codes_of(job->q + 16 * b);
        const __m256i p0 = look(plane[0], codes);
        const __m256i p1 = look(plane[1], codes);
        const __m256i p2 = look(plane[2], codes);
        const __m256i p3 = look(plane[3], codes);
        const __m256i a = _mm256_unpacklo_epi8(p0, p1);
        const __m256i c = _mm256_unpacklo_epi8(p2, p3);
        const __m256i d = _mm256_unpackhi_epi8(p0, p1);
        const __m256i e = _mm256_unpackhi_epi8(p2, p3);
        uint8_t *y = job->y + 128 * b;

        put_pair(y, 64, _mm256_unpacklo_epi16(a, c),
                 _mm256_unpackhi_epi16(a, c), stream);
        put_pair(y + 32, 64, _mm256_unpacklo_epi16(d, e),
                 _mm256_unpackhi_epi16(d, e), stream);
    }
    _mm_sfence();
}

static void stream(uint8_t *dst, const void *src, uint64_t n_bytes)
{
    for (uint64_t i = 0; i < n_bytes; i += 32) {
        put(dst + i,
            _mm256_loadu_si256((const __m256i *)((const uint8_t *)src + i)), 1);
    }
}

static void fence(void)
{
    _mm_sfence();
}

static void swap_bits(uint8_t *x, uint8_t *y, uint64_t n_bytes, uint32_t bit)
{
    const uint64_t whole = n_bytes / 32 * 32;
    const __m256i low = _mm256_set1_epi64x((long long)cpu_low_mask(bit));
    const __m128i by = _mm_cvtsi32_si128(1 << bit);

    for (uint64_t i = 0; i < whole; i += 32) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(x + i));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(y + i));
        const __m256i differ =
            _mm256_and_si256(_mm256_xor_si256(_mm256_srl_epi64(a, by), b), low);

        _mm256_storeu_si256((__m256i *)(x + i),
                            _mm256_xor_si256(a, _mm256_sll_epi64(differ, by)));
        _mm256_storeu_si256((__m256i *)(y + i), _mm256_xor_si256(b, differ));
    }
    cpu_swap_bits(x + whole, y + whole, n_bytes - whole, bit);
}

static void mix_bits(uint8_t *x, uint64_t n_bytes, int n, const int8_t *shift,
                     const uint64_t *mask)
{
    const uint64_t whole = n_bytes / 32 * 32;

    for (uint64_t i = 0; i < whole; i += 32) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(x + i));
        __m256i sum = _mm256_setzero_si256();

        for (int k = 0; k < n; k++) {
            const __m256i m = _mm256_set1_epi64x((long long)mask[k]);
            const __m128i by =
                _mm_cvtsi32_si128(shift[k] < 0 ? -shift[k] : shift[k]);
            const __m256i moved = shift[k] < 0 ? _mm256_srl_epi64(a, by)
                                               : _mm256_sll_epi64(a, by);
            sum = _mm256_or_si256(sum, _mm256_and_si256(moved, m));
        }
        _mm256_storeu_si256((__m256i *)(x + i), sum);
    }
    cpu_mix_bits(x + whole, n_bytes - whole, n, shift, mask);
}

const cpu_isa_ops cpu_isa_avx2 = {
    .isa = "avx2",
    .planes = 1,
    .dequant4_16 = dequant4_16,
    .dequant4_32 = dequant4_32,
    .quant = quant,
    .glu16 = glu16,
    .glu32 = glu32,
    .exp32 = exp32,
    .widen = widen,
    .widen2 = widen2,
    .swap_bits = swap_bits,
    .mix_bits = mix_bits,
    .mac = mac,
    .scales = scales,
    .settle = cpu_settle_avx2,
    .stream = stream,
    .fence = fence,
};
