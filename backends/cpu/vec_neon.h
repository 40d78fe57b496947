/* SPDX-License-Identifier: Apache-2.0 */
/* NEON under the names the shared inner loops use; see vec_avx512.h. */
#ifndef CPU_VEC_NEON_H
#define CPU_VEC_NEON_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

enum { VEC_N = 4 };

typedef uint32x4_t vec_u;

static inline vec_u vec_u_set(uint32_t x)
{
    return vdupq_n_u32(x);
}

static inline vec_u vec_u_load(const void *src)
{
    return vreinterpretq_u32_u8(vld1q_u8(src));
}

static inline vec_u vec_u_load16(const void *src)
{
    return vmovl_u16(vreinterpret_u16_u8(vld1_u8(src)));
}

static inline vec_u vec_u_load_f16(const void *src)
{
    return vreinterpretq_u32_f32(
        vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(src))));
}

static inline vec_u vec_u_add(vec_u a, vec_u b)
{
    return vaddq_u32(a, b);
}

static inline vec_u vec_u_sub(vec_u a, vec_u b)
{
    return vsubq_u32(a, b);
}

static inline vec_u vec_u_and(vec_u a, vec_u b)
{
    return vandq_u32(a, b);
}

static inline vec_u vec_u_or(vec_u a, vec_u b)
{
    return vorrq_u32(a, b);
}

static inline vec_u vec_u_min(vec_u a, vec_u b)
{
    return vminq_u32(a, b);
}

static inline vec_u vec_u_max(vec_u a, vec_u b)
{
    return vmaxq_u32(a, b);
}

static inline vec_u vec_u_shl(vec_u a, int n)
{
    return vshlq_u32(a, vdupq_n_s32(n));
}

static inline vec_u vec_u_shr(vec_u a, int n)
{
    return vshlq_u32(a, vdupq_n_s32(-n));
}

static inline uint32_t vec_u_largest(vec_u a)
{
    return vmaxvq_u32(a);
}

static inline vec_u vec_u_fadd(vec_u a, vec_u b)
{
    return vreinterpretq_u32_f32(
        vaddq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
}

static inline void vec_u_store8(uint8_t *dst, vec_u a)
{
    const uint16x4_t words = vmovn_u32(a);
    const uint8x8_t bytes = vmovn_u16(vcombine_u16(words, words));

    vst1_lane_u32((void *)dst, vreinterpret_u32_u8(bytes), 0);
}

static inline void vec_u_store4(uint8_t *dst, vec_u a)
{
    const uint64x2_t wide = vreinterpretq_u64_u32(a);
    const uint8x16_t pair =
        vreinterpretq_u8_u64(vorrq_u64(wide, vshrq_n_u64(wide, 28)));

    dst[0] = vgetq_lane_u8(pair, 0);
    dst[1] = vgetq_lane_u8(pair, 8);
}

#endif
