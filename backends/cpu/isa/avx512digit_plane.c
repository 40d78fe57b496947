/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_plane_mac for AVX-512 with VNNI and VBMI.  A column's codes are read 128
 * bytes or eight blocks at a time: registers of lower and of upper codes of
 * the first and of the second halves of the blocks, so that each lane has 16
 * codes of one block.  Their products with a plane's digits add up to less
 * than 2^15 and are multiplied by the block's factor in 16 bits.  Four columns
 * share what is read of the rows, all rows what is decoded.
 */
#include "gemm/gemm_digit_plane.h"
#include "isa_ops.h"

#include <immintrin.h>
#include <string.h>

enum { BLOCK = 32, FEW = 4, BATCH = 32, HALF = CPU_PLANE_GROUP / 4 };

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

/* Codes plus 12 in the order of cpu_plane.digit, factors in 32 bits each. */
typedef struct decoded {
    __m512i code[4];
    __m512i factor;
} decoded;

/* The permute looks at six bits; the table repeats after four. */
CPU_INLINE decoded decode(const uint8_t *codes, const uint16_t *factor,
                          __mmask64 first, __mmask64 second)
{
    const __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(
        12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    const __m512i spread = _mm512_set_epi32(
        -0x7f800000 + 0x0f0e, -0x7f800000 + 0x0f0e, -0x7f800000 + 0x0706,
        -0x7f800000 + 0x0706, -0x7f800000 + 0x0d0c, -0x7f800000 + 0x0d0c,
        -0x7f800000 + 0x0504, -0x7f800000 + 0x0504, -0x7f800000 + 0x0b0a,
        -0x7f800000 + 0x0b0a, -0x7f800000 + 0x0302, -0x7f800000 + 0x0302,
        -0x7f800000 + 0x0908, -0x7f800000 + 0x0908, -0x7f800000 + 0x0100,
        -0x7f800000 + 0x0100);
    const __m512i a = _mm512_maskz_loadu_epi8(first, codes);
    const __m512i b = _mm512_maskz_loadu_epi8(second, codes + HALF);
    const __m512i lo = _mm512_unpacklo_epi64(a, b);
    const __m512i hi = _mm512_unpackhi_epi64(a, b);
    const __m512i f =
        _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)factor));

    return (decoded){{_mm512_permutexvar_epi8(lo, table),
                      _mm512_permutexvar_epi8(_mm512_srli_epi16(lo, 4), table),
                      _mm512_permutexvar_epi8(hi, table),
                      _mm512_permutexvar_epi8(_mm512_srli_epi16(hi, 4), table)},
                     _mm512_shuffle_epi8(f, spread)};
}

/* One plane of a row against n columns. */
CPU_INLINE void add_item(const cpu_plane *p, const decoded *w, const int n,
                         __m512i *sum)
{
    __m512i t[FEW];

    UNROLL
    for (int c = 0; c < n; c++) {
        t[c] = _mm512_load_si512(p->start);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        const __m512i digits = _mm512_load_si512(p->digit + 64 * i);
        UNROLL
        for (int c = 0; c < n; c++) {
            t[c] = _mm512_dpbusd_epi32(t[c], w[c].code[i], digits);
        }
    }
    UNROLL
    for (int c = 0; c < n; c++) {
        sum[c] = _mm512_dpwssd_epi32(sum[c], t[c], w[c].factor);
    }
}

CPU_INLINE __m512i add_pairs32(__m512i a, __m512i b)
{
    return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b),
                            _mm512_unpackhi_epi32(a, b));
}

/* The lanes of each of four sums, added. */
CPU_INLINE __m128i add_lanes(const __m512i *s)
{
    const __m512i ab = add_pairs32(s[0], s[1]);
    const __m512i cd = add_pairs32(s[2], s[3]);
    const __m512i all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd),
                                         _mm512_unpackhi_epi64(ab, cd));
    const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all),
                                          _mm512_extracti64x4_epi64(all, 1));

    return _mm_add_epi32(_mm256_castsi256_si128(half),
                         _mm256_extracti128_si256(half, 1));
}

/* A few columns. */
typedef struct few {
    const uint8_t *codes[FEW];
    const uint16_t *factor[FEW];
    size_t next; /* bytes from these codes to those of the next few */
} few;

/* One group of n columns against a batch of planes. */
CPU_INLINE void add_group(const few *f, const cpu_plane_item *item,
                          size_t items, size_t g, __mmask64 first,
                          __mmask64 second, const int n, __m512i (*sum)[FEW])
{
    decoded w[FEW];

    UNROLL
    for (int c = 0; c < n; c++) {
        const uint8_t *codes = f->codes[c] + 2 * HALF * g;
        w[c] =
            decode(codes, f->factor[c] + CPU_PLANE_BLOCKS * g, first, second);
        CPU_FETCH_L2(codes + f->next);
        CPU_FETCH_L2(codes + f->next + HALF);
    }
    for (size_t i = 0; i < items; i++) {
        add_item(item[i].plane + g * item[i].step, w, n, sum[i]);
    }
}

static __mmask64 first_bytes(size_t n)
{
    return n == 0 ? 0 : ~(__mmask64)0 >> (n < 64 ? 64 - n : 0);
}

CPU_INLINE void add_batch(const few *f, const cpu_plane_item *item,
                          size_t items, size_t k, const int n,
                          int32_t (*to)[CPU_PLANE_COLS])
{
    const __mmask64 all = ~(__mmask64)0;
    const size_t whole = k / CPU_PLANE_GROUP;
    const size_t rest = k % CPU_PLANE_GROUP / 2;
    __m512i sum[BATCH][FEW];

    for (size_t i = 0; i < items; i++) {
        UNROLL
        for (int c = 0; c < FEW; c++) {
            sum[i][c] = _mm512_setzero_si512();
        }
    }
    for (size_t g = 0; g < whole; g++) {
        add_group(f, item, items, g, all, all, n, sum);
    }
    if (rest > 0) {
        add_group(f, item, items, whole, first_bytes(rest),
                  first_bytes(rest < HALF ? 0 : rest - HALF), n, sum);
    }
    for (size_t i = 0; i < items; i++) {
        _mm_storeu_si128((void *)to[i], add_lanes(sum[i]));
    }
}

static void add_four(const few *f, const cpu_plane_item *item, size_t items,
                     size_t k, int32_t (*to)[CPU_PLANE_COLS])
{
    add_batch(f, item, items, k, FEW, to);
}

static void add_one(const few *f, const cpu_plane_item *item, size_t items,
                    size_t k, int32_t (*to)[CPU_PLANE_COLS])
{
    add_batch(f, item, items, k, 1, to);
}

CPU_INLINE uint8_t least_byte(__m512i x)
{
    const __m256i h = _mm256_min_epu8(_mm512_castsi512_si256(x),
                                      _mm512_extracti64x4_epi64(x, 1));
    const __m128i q =
        _mm_min_epu8(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));

    return (uint8_t)_mm_cvtsi128_si32(
        _mm_minpos_epu16(_mm_min_epu8(q, _mm_srli_epi16(q, 8))));
}

/* Ends of a column's scale bytes; are they as they have to be? */
static int read_ends(cpu_plane_mac *job, size_t c, size_t blocks)
{
    const uint8_t *scale = job->scale + c * blocks;
    const __m512i ones = _mm512_set1_epi8(-1);
    __m512i least = ones;
    __m512i most = ones; /* of 255 - byte: the least again */

    for (size_t at = 0; at < blocks; at += 64) {
        const __mmask64 m = first_bytes(blocks - at);
        const __m512i s = _mm512_mask_loadu_epi8(ones, m, scale + at);

        least = _mm512_min_epu8(least, s);
        most = _mm512_mask_min_epu8(most, m, most, _mm512_xor_si512(s, ones));
    }
    const uint8_t low = least_byte(least);
    const uint8_t high = (uint8_t)~least_byte(most);

    job->least[c] = low;
    job->most[c] = high;
    return low >= job->from && high <= job->to && high - low <= job->spread;
}

/* 2^(byte - least) for each block of a column. */
static void set_factors(const cpu_plane_mac *job, size_t c, size_t blocks,
                        uint16_t *factor)
{
    const uint8_t *scale = job->scale + c * blocks;
    const __m512i least = _mm512_set1_epi16(job->least[c]);
    const __m512i one = _mm512_set1_epi16(1);

    for (size_t at = 0; at < blocks; at += 32) {
        const __mmask64 m = first_bytes(blocks - at) & UINT32_MAX;
        const __m512i s = _mm512_cvtepu8_epi16(
            _mm256_maskz_loadu_epi8((__mmask32)m, scale + at));

        _mm512_storeu_si512(factor + at,
                            _mm512_sllv_epi16(one, _mm512_sub_epi16(s, least)));
    }
}

int cpu_plane_ends(cpu_plane_mac *job)
{
    const size_t blocks = job->k / BLOCK + (job->k % BLOCK != 0);
    int good = 1;

    for (size_t c = 0; c < job->n; c++) {
        good &= read_ends(job, c, blocks);
        CPU_FETCH_L2(job->scale + (job->n + c) * blocks);
        CPU_FETCH_L2(job->scale + (job->n + c) * blocks + 64);
    }
    return good;
}

int cpu_plane_both(cpu_plane_mac *job)
{
    const size_t blocks = job->k / BLOCK + (job->k % BLOCK != 0);
    const size_t room = cpu_plane_room(job->k);
    const int good = cpu_plane_ends(job);

    for (size_t c = 0; c < job->n && good; c++) {
        set_factors(job, c, blocks, job->factor + c * room);
    }
    for (size_t c = 0; c < job->n && good; c += FEW) {
        few f = {.next = FEW * (job->k / 2)};

        for (size_t i = 0; i < FEW; i++) {
            const size_t at = c + i < job->n ? c + i : c;
            f.codes[i] = job->codes + at * (job->k / 2);
            f.factor[i] = job->factor + at * room;
        }
        for (size_t i = 0; i < job->items; i += BATCH) {
            const size_t left = job->items - i;
            const size_t n = left < BATCH ? left : BATCH;

            (job->n - c == 1 ? add_one : add_four)(
                &f, job->item + i, n, job->k,
                (int32_t(*)[CPU_PLANE_COLS])(job->sum[i] + c));
        }
    }
    return good;
}
