/* SPDX-License-Identifier: Apache-2.0 */
/* Double lanes by AVX-512 under the names the shared inner loops use. */
#ifndef CPU_VEC_DOUBLE_AVX512_H
#define CPU_VEC_DOUBLE_AVX512_H

#include "vec_avx512.h"

typedef __m512d vec_d;

CPU_INLINE vec_d vec_d_load(const double *src)
{
    return _mm512_loadu_pd(src);
}

CPU_INLINE void vec_d_store(double *dst, vec_d a)
{
    _mm512_storeu_pd(dst, a);
}

/* x, but all ones where a > b. */
CPU_INLINE vec_d vec_d_or_above(vec_d x, vec_d a, vec_d b)
{
    return _mm512_mask_mov_pd(x, _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ),
                              _mm512_castsi512_pd(_mm512_set1_epi64(-1)));
}

CPU_INLINE vec_d vec_d_load_f32(const float *src)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(src));
}

CPU_INLINE void vec_d_store_f32(float *dst, vec_d a)
{
    _mm256_storeu_ps(dst, _mm512_cvtpd_ps(a));
}

CPU_INLINE vec_d vec_d_set(double x)
{
    return _mm512_set1_pd(x);
}

CPU_INLINE vec_d vec_d_add(vec_d a, vec_d b)
{
    return _mm512_add_pd(a, b);
}

CPU_INLINE vec_d vec_d_sub(vec_d a, vec_d b)
{
    return _mm512_sub_pd(a, b);
}

CPU_INLINE vec_d vec_d_mul(vec_d a, vec_d b)
{
    return _mm512_mul_pd(a, b);
}

CPU_INLINE vec_d vec_d_div(vec_d a, vec_d b)
{
    return _mm512_div_pd(a, b);
}

CPU_INLINE vec_d vec_d_fma(vec_d a, vec_d b, vec_d c)
{
    return _mm512_fmadd_pd(a, b, c);
}

CPU_INLINE vec_d vec_d_min(vec_d limit, vec_d x)
{
    return _mm512_min_pd(limit, x);
}

CPU_INLINE vec_d vec_d_max(vec_d limit, vec_d x)
{
    return _mm512_max_pd(limit, x);
}

CPU_INLINE vec_d vec_d_abs(vec_d a)
{
    return _mm512_abs_pd(a);
}

CPU_INLINE vec_d vec_d_negative(vec_d x, vec_d a, vec_d b)
{
    return _mm512_mask_blend_pd(_mm512_movepi64_mask(_mm512_castpd_si512(x)), b,
                                a);
}

/* p * 2^n for the integer in the low bits of the pattern n. */
CPU_INLINE vec_d vec_d_scale(vec_d p, vec_d n)
{
    return _mm512_castsi512_pd(_mm512_add_epi64(
        _mm512_castpd_si512(p), _mm512_slli_epi64(_mm512_castpd_si512(n), 52)));
}

/* Lanes that are not in [low, high), a bit each; NaN is not. */
CPU_INLINE unsigned vec_d_outside(vec_d a, double low, double high)
{
    const __mmask8 in = _mm512_cmp_pd_mask(a, _mm512_set1_pd(low), _CMP_GE_OQ) &
                        _mm512_cmp_pd_mask(a, _mm512_set1_pd(high), _CMP_LT_OQ);

    return in ^ 0xffu;
}

/* Lanes whose pattern plus shift, under mask, is at most width. */
CPU_INLINE unsigned vec_d_near(vec_d a, int64_t shift, int64_t mask,
                               int64_t width)
{
    const __m512i sum =
        _mm512_add_epi64(_mm512_castpd_si512(a), _mm512_set1_epi64(shift));

    return _mm512_cmple_epi64_mask(
        _mm512_and_si512(sum, _mm512_set1_epi64(mask)),
        _mm512_set1_epi64(width));
}

#endif
