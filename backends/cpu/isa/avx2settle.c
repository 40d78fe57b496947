/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows the sums of planes, eight columns at a time, for all of x86-64
 * that has AVX2: planes of a row are put together (cpu_plane_join), and sums
 * get their bias, are rounded, and are compared with both ends of what they
 * may be (cpu_settle).
 */
#include "isa_ops.h"

#include <immintrin.h>

enum { THREE = 3, FOUR = 4, EIGHT = 8 };

/* Four integers of 32 bits. */
CPU_INLINE __m256d numbers(const int32_t *x)
{
    return _mm256_cvtepi32_pd(_mm_loadu_si128((const void *)x));
}

/* hi + lo rounded to odd; see cpu_odd_sum. */
CPU_INLINE __m256d odd_sum(__m256d hi, __m256d lo)
{
    const __m256d zero = _mm256_setzero_pd();
    const __m256i one = _mm256_set1_epi64x(1);
    const __m256d s = _mm256_add_pd(hi, lo);
    const __m256d back = _mm256_sub_pd(s, hi);
    const __m256d error = _mm256_add_pd(
        _mm256_sub_pd(hi, _mm256_sub_pd(s, back)), _mm256_sub_pd(lo, back));
    const __m256i bits = _mm256_castpd_si256(s);
    const __m256i is_even =
        _mm256_cmpeq_epi64(_mm256_and_si256(bits, one), _mm256_setzero_si256());
    const __m256i moves = _mm256_and_si256(
        is_even, _mm256_castpd_si256(_mm256_cmp_pd(error, zero, _CMP_NEQ_OQ)));
    /* -1 where the error points inward, else 1. */
    const __m256i inward = _mm256_srai_epi32(
        _mm256_shuffle_epi32(_mm256_castpd_si256(_mm256_xor_pd(error, s)),
                             0xf5),
        31);
    const __m256i step = _mm256_or_si256(inward, one);

    return _mm256_castsi256_pd(
        _mm256_add_epi64(bits, _mm256_and_si256(step, moves)));
}

/* Planes first to last, at most three: their sum has 31 + 16 bits. */
CPU_INLINE __m256d part(const cpu_plane_join *j, int first, int last, size_t c)
{
    __m256d sum = numbers(j->sum[last] + c);

    for (int d = last - 1; d >= first; d--) {
        sum = _mm256_add_pd(_mm256_mul_pd(sum, _mm256_set1_pd(0x1p8)),
                            numbers(j->sum[d] + c));
    }
    return sum;
}

CPU_INLINE __m256d join(const cpu_plane_join *j, double up, size_t c)
{
    const int lower = j->n - THREE;

    return lower <= 0 ? part(j, 0, j->n - 1, c)
                      : odd_sum(_mm256_mul_pd(part(j, lower, j->n - 1, c),
                                              _mm256_set1_pd(up)),
                                part(j, 0, lower - 1, c));
}

void cpu_plane_join_avx2(const cpu_plane_join *j, double *y, double *off)
{
    const __m256d magnitude =
        _mm256_castsi256_pd(_mm256_set1_epi64x(INT64_MAX));
    const __m256d unit = _mm256_set1_pd(j->unit);
    const __m256d left = _mm256_set1_pd(j->left);
    const double up = j->n == 4 ? 0x1p8 : j->n == 5 ? 0x1p16 : 0x1p24;
    const __m256d some = _mm256_set1_pd(j->left == 0 ? 0 : 0x1p-48);

    for (size_t c = 0; c < CPU_PLANE_COLS; c += FOUR) {
        const __m256d factor =
            _mm256_mul_pd(_mm256_loadu_pd(j->least + c), unit);
        const __m256d sum = _mm256_mul_pd(join(j, up, c), factor);
        const __m256d size = _mm256_and_pd(sum, magnitude);

        _mm256_storeu_pd(y + c, sum);
        _mm256_storeu_pd(
            off + c,
            _mm256_add_pd(_mm256_mul_pd(left, _mm256_loadu_pd(j->most + c)),
                          _mm256_mul_pd(size, some)));
    }
}

CPU_INLINE __m256 rounded(cpu_rounding to, __m256 x)
{
    const __m256i u = _mm256_castps_si256(x);
    __m256 y = x;

    if (to == CPU_TO_F32) {
        return x;
    }
    if (to == CPU_TO_F16) {
        y = _mm256_cvtph_ps(
            _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    } else {
        const __m256i odd =
            _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
        const __m256i sum = _mm256_add_epi32(
            _mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);

        y = _mm256_castsi256_ps(
            _mm256_and_si256(sum, _mm256_set1_epi32(-0x10000)));
    }
    return _mm256_blendv_ps(y,
                            _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)),
                            _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

CPU_INLINE __m256 finished(const cpu_settle *e, __m256 bias, __m256 sum)
{
    __m256 v = _mm256_mul_ps(sum, _mm256_set1_ps(e->factor));

    v = e->adds ? _mm256_add_ps(v, bias) : v;
    v = rounded(e->to, v);
    return e->adds_rounded ? rounded(e->to, _mm256_add_ps(v, bias)) : v;
}

CPU_INLINE __m256 narrow(const __m256d *x)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(x[1]), _mm256_cvtpd_ps(x[0]));
}

/* One end of what eight sums may be, as far as the routing weight. */
CPU_INLINE __m256i end_of(const cpu_settle *e, __m256 bias, const __m256d *x)
{
    const __m256 v = finished(e, bias, narrow(x));

    return _mm256_castps_si256(
        e->weighs ? rounded(e->weighed_to,
                            _mm256_mul_ps(v, _mm256_set1_ps(e->weight)))
                  : v);
}

unsigned cpu_settle_avx2(const cpu_settle *e, const float *bias,
                         const double *sum, const double *off, float *y)
{
    unsigned open = 0;

    for (int c = 0; c < CPU_PLANE_COLS; c += EIGHT) {
        const __m256 b = _mm256_loadu_ps(bias + c);
        __m256d mid[2];
        __m256d low[2];
        __m256d high[2];

        for (int i = 0; i < 2; i++) {
            const __m256d by = _mm256_loadu_pd(off + c + FOUR * i);

            mid[i] = _mm256_loadu_pd(sum + c + FOUR * i);
            low[i] = _mm256_sub_pd(mid[i], by);
            high[i] = _mm256_add_pd(mid[i], by);
        }
        _mm256_storeu_ps(y + c, finished(e, b, narrow(mid)));
        const __m256i same =
            _mm256_cmpeq_epi32(end_of(e, b, low), end_of(e, b, high));

        open |=
            (~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(same)) & 0xffu)
            << c;
    }
    return open;
}
