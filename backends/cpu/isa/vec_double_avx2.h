/* SPDX-License-Identifier: Apache-2.0 */
/* Double lanes by AVX2; see vec_double_avx512.h. */
#ifndef CPU_VEC_DOUBLE_AVX2_H
#define CPU_VEC_DOUBLE_AVX2_H

#include "vec_avx2.h"

typedef __m256d vec_d;

CPU_INLINE vec_d vec_d_load(const double *src)
{
    return _mm256_loadu_pd(src);
}

CPU_INLINE void vec_d_store(double *dst, vec_d a)
{
    _mm256_storeu_pd(dst, a);
}

CPU_INLINE vec_d vec_d_or_above(vec_d x, vec_d a, vec_d b)
{
    return _mm256_or_pd(x, _mm256_cmp_pd(a, b, _CMP_GT_OQ));
}

CPU_INLINE vec_d vec_d_load_f32(const float *src)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(src));
}

CPU_INLINE void vec_d_store_f32(float *dst, vec_d a)
{
    _mm_storeu_ps(dst, _mm256_cvtpd_ps(a));
}

CPU_INLINE vec_d vec_d_set(double x)
{
    return _mm256_set1_pd(x);
}

CPU_INLINE vec_d vec_d_add(vec_d a, vec_d b)
{
    return _mm256_add_pd(a, b);
}

CPU_INLINE vec_d vec_d_sub(vec_d a, vec_d b)
{
    return _mm256_sub_pd(a, b);
}

CPU_INLINE vec_d vec_d_mul(vec_d a, vec_d b)
{
    return _mm256_mul_pd(a, b);
}

CPU_INLINE vec_d vec_d_div(vec_d a, vec_d b)
{
    return _mm256_div_pd(a, b);
}

CPU_INLINE vec_d vec_d_fma(vec_d a, vec_d b, vec_d c)
{
    return _mm256_fmadd_pd(a, b, c);
}

CPU_INLINE vec_d vec_d_min(vec_d limit, vec_d x)
{
    return _mm256_min_pd(limit, x);
}

CPU_INLINE vec_d vec_d_max(vec_d limit, vec_d x)
{
    return _mm256_max_pd(limit, x);
}

CPU_INLINE vec_d vec_d_abs(vec_d a)
{
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
}

CPU_INLINE vec_d vec_d_negative(vec_d x, vec_d a, vec_d b)
{
    return _mm256_blendv_pd(b, a, x);
}

/* p * 2^n for the integer in the low bits of the pattern n. */
CPU_INLINE vec_d vec_d_scale(vec_d p, vec_d n)
{
    return _mm256_castsi256_pd(_mm256_add_epi64(
        _mm256_castpd_si256(p), _mm256_slli_epi64(_mm256_castpd_si256(n), 52)));
}

/* Lanes that are not in [low, high), a bit each; NaN is not. */
CPU_INLINE unsigned vec_d_outside(vec_d a, double low, double high)
{
    const __m256d in =
        _mm256_and_pd(_mm256_cmp_pd(a, _mm256_set1_pd(low), _CMP_GE_OQ),
                      _mm256_cmp_pd(a, _mm256_set1_pd(high), _CMP_LT_OQ));

    return (unsigned)_mm256_movemask_pd(in) ^ 0xfu;
}

CPU_INLINE unsigned vec_d_near(vec_d a, int64_t shift, int64_t mask,
                               int64_t width)
{
    const __m256i sum =
        _mm256_add_epi64(_mm256_castpd_si256(a), _mm256_set1_epi64x(shift));
    const __m256i far =
        _mm256_cmpgt_epi64(_mm256_and_si256(sum, _mm256_set1_epi64x(mask)),
                           _mm256_set1_epi64x(width));

    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(far)) ^ 0xfu;
}

#endif
