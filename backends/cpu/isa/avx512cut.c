/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_plane_lane.put for AVX-512 with VNNI and VBMI.  16 numbers in a row are
 * eight lower and eight upper codes; byte d of them with 128 added everywhere
 * is their digit d plus 128.
 */
#include "gemm/gemm_digit_plane.h"
#include "isa_ops.h"

#include <immintrin.h>

enum { RUN = 16, CODE = 12 };

/* Byte d of eight numbers, for every plane. */
CPU_INLINE void put_eight(cpu_plane *group, int n, size_t at, __m512i x)
{
    for (int d = 0; d < n; d++) {
        const __m128i byte =
            _mm512_cvtepi64_epi8(_mm512_srl_epi64(x, _mm_cvtsi32_si128(8 * d)));

        _mm_storel_epi64((void *)(group[d].digit + at),
                         _mm_xor_si128(byte, _mm_set1_epi8(-128)));
    }
}

/* Start sums at minus the excess of lanes that hold code + 12. */
CPU_INLINE void set_start(cpu_plane *p)
{
    const __m512i codes = _mm512_set1_epi8(CODE);
    __m512i sum = _mm512_setzero_si512();

    for (size_t i = 0; i < CPU_PLANE_GROUP; i += 64) {
        sum = _mm512_dpbusd_epi32(sum, codes, _mm512_load_si512(p->digit + i));
    }
    _mm512_store_si512(p->start, _mm512_sub_epi32(_mm512_setzero_si512(), sum));
}

void cpu_plane_put_both(cpu_plane *group, int n, const int64_t *v)
{
    const __m512i bytes = _mm512_set1_epi64(
        (long long)(UINT64_C(0x0080808080808080) >> 8 * (CPU_MAX_PLANES - n)));
    const __m512i low = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i high = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);

    for (size_t i = 0; i < CPU_PLANE_GROUP; i += RUN) {
        const size_t at = cpu_plane_at(i);
        const __m512i a = _mm512_add_epi64(_mm512_loadu_si512(v + i), bytes);
        const __m512i b =
            _mm512_add_epi64(_mm512_loadu_si512(v + i + 8), bytes);

        put_eight(group, n, at, _mm512_permutex2var_epi64(a, low, b));
        put_eight(group, n, at + 64, _mm512_permutex2var_epi64(a, high, b));
    }
    for (int d = 0; d < n; d++) {
        set_start(group + d);
    }
}
