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

/* A column's scale bytes, the least and 255 less the largest of every 64th. */
CPU_INLINE void read_ends(const uint8_t *scale, size_t blocks, __m512i *least,
                          __m512i *rest)
{
    const __mmask64 m = first_bytes(blocks);
    __m512i s = _mm512_maskz_loadu_epi8(m, scale);
    __m512i low = _mm512_mask_mov_epi8(_mm512_set1_epi8(-1), m, s);
    __m512i high = s;

    for (size_t at = 64; at < blocks; at += 64) {
        const __mmask64 more = first_bytes(blocks - at);

        s = _mm512_maskz_loadu_epi8(more, scale + at);
        low = _mm512_mask_min_epu8(low, more, low, s);
        high = _mm512_max_epu8(high, s);
    }
    *least = low;
    *rest = _mm512_xor_si512(high, _mm512_set1_epi8(-1));
}

/* The least byte of each of 16 registers. */
CPU_INLINE __m128i least_bytes(const __m512i *x)
{
    __m512i four[4];

    UNROLL
    for (int i = 0; i < 4; i++) {
        const __m512i *v = x + 4 * i;
        const __m512i ab = _mm512_min_epu8(_mm512_unpacklo_epi32(v[0], v[1]),
                                           _mm512_unpackhi_epi32(v[0], v[1]));
        const __m512i cd = _mm512_min_epu8(_mm512_unpacklo_epi32(v[2], v[3]),
                                           _mm512_unpackhi_epi32(v[2], v[3]));
        four[i] = _mm512_min_epu8(_mm512_unpacklo_epi64(ab, cd),
                                  _mm512_unpackhi_epi64(ab, cd));
    }
    const __m512i ab =
        _mm512_min_epu8(_mm512_shuffle_i32x4(four[0], four[1], 0x44),
                        _mm512_shuffle_i32x4(four[0], four[1], 0xee));
    const __m512i cd =
        _mm512_min_epu8(_mm512_shuffle_i32x4(four[2], four[3], 0x44),
                        _mm512_shuffle_i32x4(four[2], four[3], 0xee));
    const __m512i all = _mm512_min_epu8(_mm512_shuffle_i32x4(ab, cd, 0x88),
                                        _mm512_shuffle_i32x4(ab, cd, 0xdd));
    const __m512i half = _mm512_min_epu8(all, _mm512_srli_epi32(all, 16));

    return _mm512_cvtepi32_epi8(
        _mm512_min_epu8(half, _mm512_srli_epi32(half, 8)));
}

CPU_INLINE int all_at_most(__m128i a, __m128i b)
{
    return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(a, b), a)) == 0xffff;
}

int cpu_plane_ends(cpu_plane_mac *job)
{
    const size_t blocks = job->k / BLOCK + (job->k % BLOCK != 0);
    __m512i least[CPU_PLANE_COLS];
    __m512i rest[CPU_PLANE_COLS];

    for (size_t c = 0; c < CPU_PLANE_COLS; c++) {
        const uint8_t *scale =
            job->scale + (c < job->n ? c : job->n - 1) * blocks;

        read_ends(scale, blocks, least + c, rest + c);
        CPU_FETCH_L2(scale + job->n * blocks);
        CPU_FETCH_L2(scale + job->n * blocks + 64);
    }
    const __m128i low = least_bytes(least);
    const __m128i high = _mm_xor_si128(least_bytes(rest), _mm_set1_epi8(-1));

    _mm_storeu_si128((void *)job->least, low);
    _mm_storeu_si128((void *)job->most, high);
    return all_at_most(_mm_set1_epi8((char)job->from), low) &&
           all_at_most(high, _mm_set1_epi8((char)job->to)) &&
           all_at_most(_mm_sub_epi8(high, low),
                       _mm_set1_epi8((char)job->spread));
}

/* 2^(byte - least) for each block of a column. */
static void set_factors(const cpu_plane_mac *job, size_t c, size_t blocks,
                        uint16_t *factor)
{
    const uint8_t *scale = job->scale + c * blocks;
    const __m512i least = _mm512_set1_epi16(job->least[c]);
    const __m512i one = _mm512_set1_epi16(1);
    size_t at = 0;

    for (; at + 32 <= blocks; at += 32) {
        const __m512i s = _mm512_cvtepu8_epi16(
            _mm256_loadu_si256((const void *)(scale + at)));

        _mm512_storeu_si512(factor + at,
                            _mm512_sllv_epi16(one, _mm512_sub_epi16(s, least)));
    }
    const __m512i s = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(
        (__mmask32)first_bytes(blocks - at), scale + at));

    _mm512_storeu_si512(factor + at,
                        _mm512_sllv_epi16(one, _mm512_sub_epi16(s, least)));
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
