/* SPDX-License-Identifier: Apache-2.0 */
/* Double lanes by NEON; see vec_double_avx512.h. */
#ifndef CPU_VEC_DOUBLE_NEON_H
#define CPU_VEC_DOUBLE_NEON_H

#include "vec_neon.h"

typedef float64x2_t vec_d;

CPU_INLINE vec_d vec_d_load(const double *src)
{
    return vld1q_f64(src);
}

CPU_INLINE void vec_d_store(double *dst, vec_d a)
{
    vst1q_f64(dst, a);
}

CPU_INLINE vec_d vec_d_or_above(vec_d x, vec_d a, vec_d b)
{
    return vreinterpretq_f64_u64(
        vorrq_u64(vreinterpretq_u64_f64(x), vcgtq_f64(a, b)));
}

CPU_INLINE vec_d vec_d_load_f32(const float *src)
{
    return vcvt_f64_f32(vld1_f32(src));
}

CPU_INLINE void vec_d_store_f32(float *dst, vec_d a)
{
    vst1_f32(dst, vcvt_f32_f64(a));
}

CPU_INLINE vec_d vec_d_set(double x)
{
    return vdupq_n_f64(x);
}

CPU_INLINE vec_d vec_d_add(vec_d a, vec_d b)
{
    return vaddq_f64(a, b);
}

CPU_INLINE vec_d vec_d_sub(vec_d a, vec_d b)
{
    return vsubq_f64(a, b);
}

CPU_INLINE vec_d vec_d_mul(vec_d a, vec_d b)
{
    return vmulq_f64(a, b);
}

CPU_INLINE vec_d vec_d_div(vec_d a, vec_d b)
{
    return vdivq_f64(a, b);
}

CPU_INLINE vec_d vec_d_fma(vec_d a, vec_d b, vec_d c)
{
    return vfmaq_f64(c, a, b);
}

CPU_INLINE vec_d vec_d_min(vec_d limit, vec_d x)
{
    return vminq_f64(limit, x);
}

CPU_INLINE vec_d vec_d_max(vec_d limit, vec_d x)
{
    return vmaxq_f64(limit, x);
}

CPU_INLINE vec_d vec_d_abs(vec_d a)
{
    return vabsq_f64(a);
}

CPU_INLINE vec_d vec_d_negative(vec_d x, vec_d a, vec_d b)
{
    return vbslq_f64(vcltzq_s64(vreinterpretq_s64_f64(x)), a, b);
}

CPU_INLINE vec_d vec_d_scale(vec_d p, vec_d n)
{
    return vreinterpretq_f64_s64(vaddq_s64(
        vreinterpretq_s64_f64(p), vshlq_n_s64(vreinterpretq_s64_f64(n), 52)));
}

CPU_INLINE unsigned vec_d_mask(uint64x2_t mask)
{
    return (unsigned)(vgetq_lane_u64(mask, 0) & 1) |
           (unsigned)(vgetq_lane_u64(mask, 1) & 2);
}

CPU_INLINE unsigned vec_d_outside(vec_d a, double low, double high)
{
    return vec_d_mask(vandq_u64(vcgeq_f64(a, vdupq_n_f64(low)),
                                vcltq_f64(a, vdupq_n_f64(high)))) ^
           3u;
}

CPU_INLINE unsigned vec_d_near(vec_d a, int64_t shift, int64_t mask,
                               int64_t width)
{
    const int64x2_t sum =
        vaddq_s64(vreinterpretq_s64_f64(a), vdupq_n_s64(shift));

    return vec_d_mask(
        vcleq_s64(vandq_s64(sum, vdupq_n_s64(mask)), vdupq_n_s64(width)));
}

#endif
