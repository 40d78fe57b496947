/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_plane_lane for AVX2.  vpmaddubsw wants one operand without signs, so
 * digits are stored with 128 added, and what that adds to a column's sums, 128
 * times its weights, is taken off at the end.  Eight products of a block share
 * 16 bits: they stay below 8 255 12 < 2^15.  A panel of 16 columns is decoded
 * into the nearest cache, with each block's factor as the lanes want it; then
 * three planes at a time meet two columns at a time.  Planes of few digits meet
 * the products of codes and factors instead, 16 columns of a number at once.
 */
#include "avx2digit_few.h"
#include "gemm/gemm_digit_plane.h"
#include "isa_ops.h"

#include <immintrin.h>
#include <string.h>

/* Holds a sum where it is: compilers reassociate such sums, and spill them. */
#define KEEP(x) __asm__ volatile("" : "+x"(x))

/* Where number i of a group is: bytes 0-7 of four blocks (0, 2, 1, 3), lower
   codes and then upper ones, and bytes 8-15. */
static size_t place_of(size_t i)
{
    const size_t block = i % HALF / 32;
    const size_t byte = i % 32 / 2;
    const size_t turn = block % 2 * 2 + block / 2;

    return i / HALF * HALF + byte / 8 * (HALF / 2) + turn * 8 + byte % 8;
}

uint16_t cpu_plane_place_avx2(size_t i)
{
    return (uint16_t)(i / CPU_PLANE_GROUP * CPU_PLANE_GROUP +
                      place_of(i % CPU_PLANE_GROUP) + i % 2 * STEP);
}

/* Bytes of 16 numbers: t[i] holds byte 2 i of the eight even ones and byte
   2 i + 1 of them, t[4 + i] those of the odd ones. */
CPU_INLINE void transpose(__m128i *t)
{
    __m128i s[LANES];

    UNROLL
    for (int round = 0; round < 3; round++) {
        UNROLL
        for (int i = 0; i < 4; i++) {
            s[2 * i] = _mm_unpacklo_epi8(t[i], t[i + 4]);
            s[2 * i + 1] = _mm_unpackhi_epi8(t[i], t[i + 4]);
        }
        UNROLL
        for (int i = 0; i < LANES; i++) {
            t[i] = s[i];
        }
    }
}

void cpu_plane_put_avx2(cpu_plane *group, int n, const int64_t *v)
{
    const __m128i bytes = _mm_set1_epi64x(
        (long long)(UINT64_C(0x0080808080808080) >> 8 * (CPU_MAX_PLANES - n)));

    for (size_t i = 0; i < CPU_PLANE_GROUP; i += RUN) {
        __m128i t[LANES];

        for (size_t j = 0; j < LANES; j++) {
            t[j] = _mm_add_epi64(_mm_loadu_si128((const void *)(v + i + 2 * j)),
                                 bytes);
        }
        transpose(t);
        for (int d = 0; d < n; d++) {
            int8_t *to = group[d].digit + place_of(i);
            const __m128i even = t[d / 2];
            const __m128i odd = t[4 + d / 2];

            _mm_storel_epi64((void *)to,
                             d % 2 == 0 ? even : _mm_srli_si128(even, 8));
            _mm_storel_epi64((void *)(to + STEP),
                             d % 2 == 0 ? odd : _mm_srli_si128(odd, 8));
        }
    }
}

CPU_INLINE uint8_t least_byte(__m256i x)
{
    const __m128i q =
        _mm_min_epu8(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

    return (uint8_t)_mm_cvtsi128_si32(
        _mm_minpos_epu16(_mm_min_epu8(q, _mm_srli_epi16(q, 8))));
}

/* Ends of a column's scale bytes; are they as they have to be? */
static int read_ends(cpu_plane_mac *job, size_t c, size_t blocks)
{
    const uint8_t *scale = job->scale + c * blocks;
    const __m256i ones = _mm256_set1_epi8(-1);
    __m256i least = ones;
    __m256i most = ones; /* of 255 - byte: the least again */
    uint8_t few[STEP];

    if (blocks < STEP) {
        memset(few, scale[0], sizeof few);
        memcpy(few, scale, blocks);
        scale = few;
        blocks = STEP;
    }
    for (size_t at = 0; at < blocks; at += STEP) {
        const size_t last = blocks - STEP; /* some twice */
        const __m256i s =
            _mm256_loadu_si256((const void *)(scale + (at < last ? at : last)));

        least = _mm256_min_epu8(least, s);
        most = _mm256_min_epu8(most, _mm256_xor_si256(s, ones));
    }
    const uint8_t low = least_byte(least);
    const uint8_t high = (uint8_t)~least_byte(most);

    job->least[c] = low;
    job->most[c] = high;
    return low >= job->from && high <= job->to && high - low <= job->spread;
}

/* 2^(byte - least) of four blocks, each in four lanes. */
CPU_INLINE __m256i factors(const uint8_t *four, uint8_t least)
{
    const __m256i turns =
        _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 8, 9, 8, 9, 8, 9, 8, 9, 4, 5,
                         4, 5, 4, 5, 4, 5, 12, 13, 12, 13, 12, 13, 12, 13);
    int32_t bytes;

    memcpy(&bytes, four, sizeof bytes);
    const __m256i s = _mm256_cvtepu8_epi32(_mm_set1_epi32(bytes));
    const __m256i f = _mm256_sllv_epi32(
        _mm256_set1_epi32(1), _mm256_sub_epi32(s, _mm256_set1_epi32(least)));

    return _mm256_shuffle_epi8(f, turns);
}

/* Codes of four blocks; returns what 128 more in every digit adds. */
CPU_INLINE __m256i decode_half(const uint8_t *codes, __m256i factor, int8_t *to)
{
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i a = _mm256_loadu_si256((const void *)codes);
    const __m256i b = _mm256_loadu_si256((const void *)(codes + STEP));
    const __m256i lo = _mm256_unpacklo_epi64(a, b);
    const __m256i hi = _mm256_unpackhi_epi64(a, b);
    const __m256i part[STEPS] = {lo, _mm256_srli_epi16(lo, 4), hi,
                                 _mm256_srli_epi16(hi, 4)};
    __m256i sum = _mm256_setzero_si256();

    UNROLL
    for (int i = 0; i < STEPS; i++) {
        const __m256i w =
            _mm256_shuffle_epi8(table, _mm256_and_si256(part[i], nibble));

        _mm256_store_si256((void *)(to + i * STEP), w);
        sum = _mm256_add_epi8(sum, w);
    }
    return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(-128), sum),
                             factor);
}

CPU_INLINE __m256i add_pairs32(__m256i a, __m256i b)
{
    return _mm256_add_epi32(_mm256_unpacklo_epi32(a, b),
                            _mm256_unpackhi_epi32(a, b));
}

/* The lanes of each of eight sums, added. */
CPU_INLINE __m256i add_lanes(const __m256i *s)
{
    __m256i four[2];

    UNROLL
    for (int i = 0; i < 2; i++) {
        const __m256i ab = add_pairs32(s[4 * i], s[4 * i + 1]);
        const __m256i cd = add_pairs32(s[4 * i + 2], s[4 * i + 3]);

        four[i] = _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd),
                                   _mm256_unpackhi_epi64(ab, cd));
    }
    return _mm256_add_epi32(_mm256_permute2x128_si256(four[0], four[1], 0x20),
                            _mm256_permute2x128_si256(four[0], four[1], 0x31));
}

/* Halves first to first + n - 1 of a column; what is not there is zero. */
static __m256i decode_column(const cpu_plane_mac *job, size_t c, size_t first,
                             size_t n, panel *to)
{
    const size_t blocks = job->k / 32 + (job->k % 32 != 0);
    const size_t bytes = job->k / 2;
    const uint8_t *codes = job->codes + c * bytes;
    const uint8_t *scale = job->scale + c * blocks;
    __m256i excess = _mm256_setzero_si256();

    for (size_t i = 0; i < n; i++) {
        const size_t at = (first + i) * (HALF / 2);
        const size_t block = (first + i) * BLOCKS;
        const uint8_t *from = codes + at;
        const uint8_t *four = scale + block;
        uint8_t rest[HALF / 2 + BLOCKS] = {0};

        if (bytes - at < HALF / 2) {
            memcpy(rest, from, bytes - at);
            memset(rest + HALF / 2, job->least[c], BLOCKS);
            memcpy(rest + HALF / 2, four, blocks - block);
            from = rest;
            four = rest + HALF / 2;
        }
        const __m256i f = factors(four, job->least[c]);

        _mm256_store_si256((void *)to->factor[c][i], f);
        excess = _mm256_sub_epi32(excess, decode_half(from, f, to->code[c][i]));
        CPU_FETCH_L2(from + job->n * bytes);
    }
    return excess;
}

static void decode(const cpu_plane_mac *job, size_t first, size_t n, panel *to)
{
    for (size_t c = 0; c < CPU_PLANE_COLS; c += LANES) {
        __m256i excess[LANES];

        for (size_t i = 0; i < LANES; i++) {
            const size_t at = c + i;

            excess[i] = at < job->n ? decode_column(job, at, first, n, to)
                                    : _mm256_setzero_si256();
        }
        _mm256_store_si256((void *)(to->excess + c), add_lanes(excess));
    }
}

/* Planes, from a panel's first half on. */
typedef struct planes {
    const int8_t *digit[FEW];
    size_t step[FEW]; /* bytes from group to group */
    int32_t *sum[FEW];
} planes;

/* n planes against two columns: sums of eight lanes, sum[plane][column]. */
CPU_INLINE void multiply(const planes *p, const panel *w, size_t c,
                         size_t halves, const int n,
                         __m256i (*to)[CPU_PLANE_COLS])
{
    const int8_t *digit[FEW];
    __m256i sum[FEW][PAIR];

    UNROLL
    for (int i = 0; i < n; i++) {
        digit[i] = p->digit[i];
        sum[i][0] = sum[i][1] = _mm256_setzero_si256();
    }
    for (size_t h = 0; h < halves; h++) {
        const int8_t *code = w->code[c][h];
        const __m256i *factor = (const void *)w->factor[c][h];
        __m256i t[FEW][PAIR];

        UNROLL
        for (int s = 0; s < STEPS; s++) {
            const __m256i a =
                _mm256_load_si256((const void *)(code + s * STEP));
            const __m256i b = _mm256_load_si256(
                (const void *)(code + sizeof w->code[c] + s * STEP));

            UNROLL
            for (int i = 0; i < n; i++) {
                const __m256i d =
                    _mm256_load_si256((const void *)(digit[i] + s * STEP));
                __m256i x = _mm256_maddubs_epi16(d, a);
                t[i][0] = s == 0 ? x : _mm256_add_epi16(t[i][0], x);
                KEEP(t[i][0]);
                __m256i y = _mm256_maddubs_epi16(d, b);
                t[i][1] = s == 0 ? y : _mm256_add_epi16(t[i][1], y);
                KEEP(t[i][1]);
            }
        }
        UNROLL
        for (int i = 0; i < n; i++) {
            sum[i][0] = _mm256_add_epi32(sum[i][0],
                                         _mm256_madd_epi16(t[i][0], factor[0]));
            sum[i][1] = _mm256_add_epi32(
                sum[i][1],
                _mm256_madd_epi16(
                    t[i][1], factor[sizeof w->factor[c] / sizeof *factor]));
            digit[i] += h % 2 == 0 ? HALF : p->step[i] - HALF;
        }
    }
    UNROLL
    for (int i = 0; i < n; i++) {
        to[i][c] = sum[i][0];
        to[i][c + 1] = sum[i][1];
    }
}

/* n planes against all columns of a panel. */
CPU_INLINE void add_few(const planes *p, const panel *w, size_t cols,
                        size_t halves, int is_first, const int n)
{
    __m256i sum[FEW][CPU_PLANE_COLS];

    for (size_t c = 0; c < cols; c += PAIR) {
        multiply(p, w, c, halves, n, sum);
    }
    for (int i = 0; i < n; i++) {
        for (size_t c = cols; c < LANES; c++) {
            sum[i][c] = _mm256_setzero_si256();
        }
        for (size_t c = 0; c < cols; c += LANES) {
            __m256i *y = (void *)(p->sum[i] + c);
            const __m256i all = _mm256_add_epi32(
                add_lanes(sum[i] + c),
                _mm256_load_si256((const void *)(w->excess + c)));

            _mm256_storeu_si256(
                y,
                is_first ? all : _mm256_add_epi32(_mm256_loadu_si256(y), all));
        }
    }
}

static void add_items(const cpu_plane_mac *job, const panel *w, size_t cols,
                      size_t first, size_t halves)
{
    planes p;
    int n = 0;

    for (size_t i = 0; i < job->items; i++) {
        const cpu_plane_item *item = &job->item[i];

        if (w->has_wide && item->few->pair != NULL) {
            add_pairs(item->few, w, first / PANEL, job->sum[i]);
            continue;
        }
        p.digit[n] = item->plane[first / 2 * item->step].digit;
        p.step[n] = item->step * sizeof *item->plane;
        p.sum[n] = job->sum[i];
        n++;
        if (n == FEW) {
            add_few(&p, w, cols, halves, first == 0, FEW);
            n = 0;
        }
    }
    if (n == 2) {
        add_few(&p, w, cols, halves, first == 0, 2);
    } else if (n == 1) {
        add_few(&p, w, cols, halves, first == 0, 1);
    }
}

/* Are there enough planes of few digits, and do their products fit? */
static int is_wide(const cpu_plane_mac *job)
{
    size_t n = 0;

    for (size_t c = 0; c < job->n; c++) {
        if (job->most[c] - job->least[c] > MOST_WIDE) {
            return 0;
        }
    }
    for (size_t i = 0; i < job->items; i++) {
        n += job->item[i].few->pair != NULL;
    }
    return n >= LEAST_WIDE;
}

int cpu_plane_avx2(cpu_plane_mac *job)
{
    const size_t blocks = job->k / 32 + (job->k % 32 != 0);
    const size_t halves = (job->k + HALF - 1) / HALF;
    const size_t cols = job->n == 1 ? PAIR : CPU_PLANE_COLS;
    _Alignas(64) panel w;
    int good = 1;

    for (size_t c = 0; c < job->n; c++) {
        good &= read_ends(job, c, blocks);
        CPU_FETCH_L2(job->scale + (job->n + c) * blocks);
        CPU_FETCH_L2(job->scale + (job->n + c) * blocks + 64);
    }
    if (!good) {
        return 0;
    }
    w.has_wide = job->n > 1 && is_wide(job);
    for (size_t c = job->n; c < cols; c++) {
        memset(w.code[c], 0, sizeof w.code[c]);
        memset(w.factor[c], 0, sizeof w.factor[c]);
    }
    for (size_t h = 0; h < halves; h += PANEL) {
        const size_t n = halves - h < PANEL ? halves - h : PANEL;

        decode(job, h, n, &w);
        if (w.has_wide) {
            widen_all(&w, n);
        }
        add_items(job, &w, cols, h, n);
    }
    return 1;
}
