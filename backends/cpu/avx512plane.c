/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_plane_mac for AVX-512 with VNNI and VBMI.  A column's codes are read as
 * they lie, 64 bytes or four blocks at a time: a register of lower codes, one
 * of upper codes, and four lanes of the sum for each block, which its scale
 * shifts.  Nothing is transposed.  Two columns share what is read of the row.
 */
#include "gemm_plane.h"
#include "lane.h"

#include <immintrin.h>
#include <string.h>

enum { BLOCK = 32, BLOCKS = 4 };

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

typedef struct column {
    const uint8_t *codes;
    const uint8_t *scale;
    __m512i least;
} column;

/* A group of a column: codes plus 12, lower and upper, and shifts. */
typedef struct decoded {
    __m512i even;
    __m512i odd;
    __m512i shift;
} decoded;

/* The permute looks at six bits; the table repeats after four. */
CPU_INLINE decoded decode(const column *c, size_t g, __mmask64 there,
                          uint32_t scales)
{
    const __m512i table = _mm512_broadcast_i32x4(_mm_setr_epi8(
        12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    const __m512i spread =
        _mm512_set_epi32(-253, -253, -253, -253, -254, -254, -254, -254, -255,
                         -255, -255, -255, -256, -256, -256, -256);
    const __m512i z = _mm512_maskz_loadu_epi8(there, c->codes + 64 * g);

    return (decoded){
        _mm512_permutexvar_epi8(z, table),
        _mm512_permutexvar_epi8(_mm512_srli_epi16(z, 4), table),
        _mm512_sub_epi32(
            _mm512_shuffle_epi8(_mm512_set1_epi32((int)scales), spread),
            c->least)};
}

/* Lanes of one plane and one group, shifted. */
CPU_INLINE __m512i lanes(const cpu_plane *p, const decoded *w)
{
    const __m512i even = _mm512_load_si512(p->even);
    const __m512i odd = _mm512_load_si512(p->odd);
    __m512i t = _mm512_load_si512(p->start);

    t = _mm512_dpbusd_epi32(t, w->even, even);
    t = _mm512_dpbusd_epi32(t, w->odd, odd);
    return _mm512_sllv_epi32(t, w->shift);
}

CPU_INLINE void add_group(const cpu_plane *p, unsigned used, const decoded *a,
                          const decoded *b, __m512i *x, __m512i *y,
                          const int planes)
{
    UNROLL
    for (int d = 0; d < planes; d++) {
        if ((used >> d & 1) == 0) {
            continue;
        }
        x[d] = _mm512_add_epi32(x[d], lanes(p + d, a));
        y[d] = _mm512_add_epi32(y[d], lanes(p + d, b));
    }
}

CPU_INLINE uint32_t four(const uint8_t *scale, size_t n)
{
    uint32_t u = 0;

    memcpy(&u, scale, n);
    return u;
}

/* Two columns; of the last group what is left. */
CPU_INLINE void two(cpu_plane_mac *job, const column *a, const column *b,
                    size_t c, const int planes)
{
    const size_t whole = job->k / CPU_PLANE_GROUP;
    const size_t rest = job->k % CPU_PLANE_GROUP;
    const cpu_plane *p = job->row->plane;
    const size_t next = job->k; /* bytes to the next two columns */
    __m512i x[CPU_MAX_PLANES];
    __m512i y[CPU_MAX_PLANES];

    UNROLL
    for (int d = 0; d < planes; d++) {
        x[d] = y[d] = _mm512_setzero_si512();
    }
    for (size_t g = 0; g < whole; g++, p += planes) {
        const decoded v =
            decode(a, g, ~(__mmask64)0, four(a->scale + 4 * g, 4));
        const decoded w =
            decode(b, g, ~(__mmask64)0, four(b->scale + 4 * g, 4));

        CPU_PREFETCH(a->codes + next + 64 * g);
        CPU_PREFETCH(b->codes + next + 64 * g);
        add_group(p, job->row->used[g], &v, &w, x, y, planes);
    }
    if (rest > 0) {
        const __mmask64 there = ~(__mmask64)0 >> (64 - rest / 2);
        const size_t left = (rest + BLOCK - 1) / BLOCK;
        const decoded v =
            decode(a, whole, there, four(a->scale + BLOCKS * whole, left));
        const decoded w =
            decode(b, whole, there, four(b->scale + BLOCKS * whole, left));

        add_group(p, job->row->used[whole], &v, &w, x, y, planes);
    }
    UNROLL
    for (int d = 0; d < planes; d++) {
        job->sum[d][c] = _mm512_reduce_add_epi32(x[d]);
        job->sum[d][c + 1] = _mm512_reduce_add_epi32(y[d]);
    }
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
        const size_t n = blocks - at < 64 ? blocks - at : 64;
        const __mmask64 m = ~(__mmask64)0 >> (64 - n);
        const __m512i s = _mm512_mask_loadu_epi8(ones, m, scale + at);

        least = _mm512_min_epu8(least, s);
        most = _mm512_mask_min_epu8(most, m, most, _mm512_xor_si512(s, ones));
    }
    const uint8_t low = least_byte(least);
    const uint8_t high = (uint8_t)~least_byte(most);

    job->least[c] = low;
    return low >= job->from && high <= job->to && high - low <= job->spread;
}

CPU_INLINE void all(cpu_plane_mac *job, const int planes)
{
    const size_t blocks = job->k / BLOCK + (job->k % BLOCK != 0);
    column col[2];

    for (size_t c = 0; c < job->n; c += 2) {
        for (size_t i = 0; i < 2; i++) {
            const size_t at = c + i < job->n ? c + i : c;
            col[i] = (column){job->codes + at * (job->k / 2),
                              job->scale + at * blocks,
                              _mm512_set1_epi32(job->least[at])};
        }
        two(job, &col[0], &col[1], c, planes);
    }
}

int cpu_plane_both(cpu_plane_mac *job)
{
    const size_t blocks = job->k / BLOCK + (job->k % BLOCK != 0);
    int good = 1;

    for (size_t c = 0; c < job->n; c++) {
        good &= read_ends(job, c, blocks);
    }
    if (!good) {
        return 0;
    }
#define CASE(planes)      \
    case planes:          \
        all(job, planes); \
        break;
    switch (job->row->n) {
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
        CASE(5)
        CASE(6)
        CASE(7)
    default:
        break; /* a row of zeros */
    }
#undef CASE
    return 1;
}
