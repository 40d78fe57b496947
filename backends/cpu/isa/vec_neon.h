/* SPDX-License-Identifier: Apache-2.0 */
/* NEON under the names the shared inner loops use; see vec_avx512.h. */
#ifndef CPU_VEC_NEON_H
#define CPU_VEC_NEON_H

#include "isa_ops.h"
#include <arm_neon.h>

#include <stdint.h>
#include <string.h>

enum { VEC_N = 4 };

typedef uint32x4_t vec_u;

CPU_INLINE vec_u vec_u_set(uint32_t x)
{
    return vdupq_n_u32(x);
}

CPU_INLINE vec_u vec_u_load(const void *src)
{
    return vreinterpretq_u32_u8(vld1q_u8(src));
}

CPU_INLINE vec_u vec_u_load16(const void *src)
{
    return vmovl_u16(vreinterpret_u16_u8(vld1_u8(src)));
}

CPU_INLINE vec_u vec_u_load_f16(const void *src)
{
    return vreinterpretq_u32_f32(
        vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(src))));
}

CPU_INLINE vec_u vec_u_add(vec_u a, vec_u b)
{
    return vaddq_u32(a, b);
}

CPU_INLINE vec_u vec_u_sub(vec_u a, vec_u b)
{
    return vsubq_u32(a, b);
}

CPU_INLINE vec_u vec_u_and(vec_u a, vec_u b)
{
    return vandq_u32(a, b);
}

CPU_INLINE vec_u vec_u_or(vec_u a, vec_u b)
{
    return vorrq_u32(a, b);
}

CPU_INLINE void vec_u_store(void *dst, vec_u a)
{
    vst1q_u8(dst, vreinterpretq_u8_u32(a));
}

CPU_INLINE vec_u vec_u_min(vec_u a, vec_u b)
{
    return vminq_u32(a, b);
}

CPU_INLINE vec_u vec_u_max(vec_u a, vec_u b)
{
    return vmaxq_u32(a, b);
}

CPU_INLINE vec_u vec_u_shl(vec_u a, int n)
{
    return vshlq_u32(a, vdupq_n_s32(n));
}

CPU_INLINE vec_u vec_u_shr(vec_u a, int n)
{
    return vshlq_u32(a, vdupq_n_s32(-n));
}

CPU_INLINE uint32_t vec_u_largest(vec_u a)
{
    return vmaxvq_u32(a);
}

CPU_INLINE vec_u vec_u_fadd(vec_u a, vec_u b)
{
    return vreinterpretq_u32_f32(
        vaddq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
}

CPU_INLINE void vec_u_unzip(const void *src, vec_u *even, vec_u *odd)
{
    const vec_u a = vec_u_load(src);
    const vec_u b = vec_u_load((const uint8_t *)src + 16);

    *even = vuzp1q_u32(a, b);
    *odd = vuzp2q_u32(a, b);
}

CPU_INLINE vec_u vec_u_from_f16(vec_u a)
{
    return vreinterpretq_u32_f32(
        vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(a))));
}

/* One bit per lane of a mask of all-ones lanes. */
CPU_INLINE unsigned vec_u_mask(uint32x4_t mask)
{
    static const uint32_t weight[4] = {1, 2, 4, 8};

    return vaddvq_u32(vandq_u32(mask, vld1q_u32(weight)));
}

CPU_INLINE unsigned vec_u_le(vec_u a, vec_u b)
{
    return vec_u_mask(vcleq_u32(a, b));
}

CPU_INLINE void vec_u_store8(uint8_t *dst, vec_u a)
{
    const uint16x4_t words = vmovn_u32(a);
    const uint8x8_t bytes = vmovn_u16(vcombine_u16(words, words));

    vst1_lane_u32((void *)dst, vreinterpret_u32_u8(bytes), 0);
}

CPU_INLINE void vec_u_store4(uint8_t *dst, vec_u a)
{
    const uint64x2_t wide = vreinterpretq_u64_u32(a);
    const uint8x16_t pair =
        vreinterpretq_u8_u64(vorrq_u64(wide, vshrq_n_u64(wide, 28)));

    dst[0] = vgetq_lane_u8(pair, 0);
    dst[1] = vgetq_lane_u8(pair, 8);
}

typedef uint16x8_t vec_h;

CPU_INLINE vec_h vec_h_load(const void *src)
{
    return vreinterpretq_u16_u8(vld1q_u8(src));
}

CPU_INLINE vec_h vec_h_set(uint16_t x)
{
    return vdupq_n_u16(x);
}

CPU_INLINE vec_h vec_h_pair(uint32_t x)
{
    return vreinterpretq_u16_u32(vdupq_n_u32(x));
}

CPU_INLINE vec_h vec_h_and(vec_h a, vec_h b)
{
    return vandq_u16(a, b);
}

CPU_INLINE vec_h vec_h_or(vec_h a, vec_h b)
{
    return vorrq_u16(a, b);
}

CPU_INLINE vec_h vec_h_sub(vec_h a, vec_h b)
{
    return vsubq_u16(a, b);
}

CPU_INLINE vec_h vec_h_add(vec_h a, vec_h b)
{
    return vaddq_u16(a, b);
}

/* Zero where b is more. */
CPU_INLINE vec_h vec_h_subs(vec_h a, vec_h b)
{
    return vqsubq_u16(a, b);
}

CPU_INLINE void vec_h_store(void *dst, vec_h a)
{
    vst1q_u16(dst, a);
}

CPU_INLINE vec_h vec_u_lower16(vec_u a, vec_u b)
{
    return vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
}

CPU_INLINE vec_h vec_u_upper16(vec_u a, vec_u b)
{
    return vuzp2q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
}

CPU_INLINE uint32_t vec_h_above(vec_h a, uint16_t a_most, vec_h b,
                                uint16_t b_most)
{
    static const uint16_t weight[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint16x8_t more = vorrq_u16(vcgtq_u16(a, vdupq_n_u16(a_most)),
                                      vcgtq_u16(b, vdupq_n_u16(b_most)));

    return vaddvq_u16(vandq_u16(more, vld1q_u16(weight)));
}

CPU_INLINE vec_h vec_h_min(vec_h a, vec_h b)
{
    return vminq_u16(a, b);
}

CPU_INLINE int vec_h_any(vec_h a)
{
    return vmaxvq_u16(a) != 0;
}

CPU_INLINE vec_h vec_h_max(vec_h a, vec_h b)
{
    return vmaxq_u16(a, b);
}

CPU_INLINE vec_h vec_h_shr(vec_h a, int n)
{
    return vshlq_u16(a, vdupq_n_s16((int16_t)-n));
}

CPU_INLINE vec_h vec_h_zip_max(vec_h a, vec_h b)
{
    return vmaxq_u16(vzip1q_u16(a, b), vzip2q_u16(a, b));
}

CPU_INLINE void vec_h_fold(uint16_t dst[8], vec_h a)
{
    vst1q_u16(dst, a);
}

CPU_INLINE vec_u vec_h_low(vec_h a)
{
    return vreinterpretq_u32_u16(vzip1q_u16(vdupq_n_u16(0), a));
}

CPU_INLINE vec_u vec_h_high(vec_h a)
{
    return vreinterpretq_u32_u16(vzip2q_u16(vdupq_n_u16(0), a));
}

CPU_INLINE vec_h vec_h_pack(vec_u low, vec_u high)
{
    return vcombine_u16(vmovn_u32(low), vmovn_u32(high));
}

CPU_INLINE void vec_h_store8(uint8_t *dst, vec_h a)
{
    vst1_u8(dst, vmovn_u16(a));
}

/* A block of 32: the low bytes of codes below 128, with the signs of v. */
CPU_INLINE void vec_h_store_signed(uint8_t *dst, const vec_h *code,
                                   const vec_h *v)
{
    for (int p = 0; p < 4; p++) {
        const vec_h sign = vec_h_and(vec_h_shr(v[p], 8), vec_h_set(0x80));

        vec_h_store8(dst + 8 * p, vec_h_or(code[p], sign));
    }
}

CPU_INLINE void vec_h_store4(uint8_t *dst, vec_h a)
{
    const vec_u wide = vreinterpretq_u32_u16(a);

    vec_u_store8(dst, vorrq_u32(wide, vshrq_n_u32(wide, 12)));
}

typedef float32x4_t vec_f;

CPU_INLINE vec_f vec_f_of(vec_u a)
{
    return vreinterpretq_f32_u32(a);
}

CPU_INLINE vec_u vec_f_bits(vec_f a)
{
    return vreinterpretq_u32_f32(a);
}

CPU_INLINE vec_f vec_f_set(float x)
{
    return vdupq_n_f32(x);
}

CPU_INLINE vec_f vec_f_add(vec_f a, vec_f b)
{
    return vaddq_f32(a, b);
}

CPU_INLINE vec_f vec_f_sub(vec_f a, vec_f b)
{
    return vsubq_f32(a, b);
}

CPU_INLINE vec_f vec_f_mul(vec_f a, vec_f b)
{
    return vmulq_f32(a, b);
}

CPU_INLINE vec_f vec_f_div(vec_f a, vec_f b)
{
    return vdivq_f32(a, b);
}

/* a / b to 3 units of 2^-24, b from 1 to 2^116. */
CPU_INLINE vec_f vec_f_ratio(vec_f a, vec_f b)
{
    return vec_f_div(a, b);
}

CPU_INLINE vec_f vec_f_fma(vec_f a, vec_f b, vec_f c)
{
    return vfmaq_f32(c, a, b);
}

CPU_INLINE vec_f vec_f_min(vec_f limit, vec_f x)
{
    return vminq_f32(limit, x);
}

CPU_INLINE vec_f vec_f_max(vec_f limit, vec_f x)
{
    return vmaxq_f32(limit, x);
}

CPU_INLINE vec_f vec_f_fms(vec_f a, vec_f b, vec_f c)
{
    return vnegq_f32(vfmsq_f32(c, a, b));
}

enum { VEC_POWERS = 1, VEC_ONE_LOG = 2 };

CPU_INLINE vec_f vec_f_raise(vec_f shifted, vec_f rest)
{
    const vec_u four = vec_f_bits(vec_f_fma(rest, vec_f_set(4), vec_f_set(4)));

    return vec_f_of(vec_u_add(four, vec_u_shl(vec_f_bits(shifted), 23)));
}

/* x, but zero where n is beyond -114 or 114. */
CPU_INLINE vec_f vec_f_raised(vec_f x, vec_f shifted)
{
    const vec_u at =
        vec_u_sub(vec_f_bits(shifted), vec_u_set(0x4b400000u - 114));
    const uint32x4_t fine = vcleq_u32(at, vec_u_set(2 * 114));

    return vec_f_of(vandq_u32(vec_f_bits(x), fine));
}

CPU_INLINE void vec_u_store_f16(uint16_t *dst, vec_f a)
{
    vst1_u16(dst, vreinterpret_u16_f16(vcvt_f16_f32(a)));
}

#endif
