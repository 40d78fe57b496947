/* SPDX-License-Identifier: Apache-2.0 */
/* The names of device.h for CUDA and HIP: mostly one builtin each. */
#ifndef GPU_DEVICE_GPU_H
#define GPU_DEVICE_GPU_H

#include "port/device_types.h"

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#endif

/* Hopper's own instructions: wgmma, bulk copies, mbarriers. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GPU_IS_SM90A 1
#endif

#define GPU_FN static __device__ __forceinline__
#define GPU_SLOW static __device__ __noinline__
#define GPU_SHARED __shared__
#define GPU_ALIGN16 __align__(16)
/* Not const: a folded 64-bit constant costs two moves, a bank none. */
#define GPU_CONSTANT static __constant__
#define GPU_INFINITY __builtin_huge_val()
#define GPU_UNROLL _Pragma("unroll")
#define GPU_LOOP _Pragma("unroll 1")
/* The argument stays in constant memory even if its address is taken. */
#if defined(__HIPCC__)
#define GPU_PARAMETER
#else
#define GPU_PARAMETER __grid_constant__
#endif
#define GPU_ENTRY(name, type, call)                     \
    static __global__ void __launch_bounds__(GPU_BLOCK) \
        name(const GPU_PARAMETER type args)             \
    {                                                   \
        const type *const a = &args;                    \
        call;                                           \
    }

/* The same with so many blocks on a multiprocessor that registers get few */
#if defined(__HIPCC__)
#define GPU_ENTRY_DENSE(name, type, blocks, call) GPU_ENTRY(name, type, call)
#else
#define GPU_ENTRY_DENSE(name, type, blocks, call)               \
    static __global__ void __launch_bounds__(GPU_BLOCK, blocks) \
        name(const GPU_PARAMETER type args)                     \
    {                                                           \
        const type *const a = &args;                            \
        call;                                                   \
    }
#endif

#if defined(__HIPCC__) && !defined(__GFX12__)
#define GPU_WARP 64 /* of gfx9, and what the host's code says */
#else
#define GPU_WARP 32
#endif

GPU_FN uint32_t gpu_thread(void)
{
    return threadIdx.x;
}

GPU_FN uint32_t gpu_block(void)
{
    return blockIdx.x;
}

GPU_FN uint32_t gpu_grid(void)
{
    return gridDim.x;
}

GPU_FN uint32_t gpu_shfl_xor(uint32_t value, int mask)
{
#if defined(__HIPCC__)
    return (uint32_t)__shfl_xor((int)value, mask, GPU_WARP);
#else
    return __shfl_xor_sync(0xffffffffu, value, mask, GPU_WARP);
#endif
}

GPU_FN uint32_t gpu_shfl(uint32_t value, int lane)
{
#if defined(__HIPCC__)
    return (uint32_t)__shfl((int)value, lane, GPU_WARP);
#else
    return __shfl_sync(0xffffffffu, value, lane, GPU_WARP);
#endif
}

#define gpu_barrier() __syncthreads()

GPU_FN int gpu_any(int claim)
{
#if defined(__HIPCC__)
    return __any(claim);
#else
    return __any_sync(0xffffffffu, claim);
#endif
}

GPU_FN float gpu_float(uint32_t bits)
{
    return __uint_as_float(bits);
}

GPU_FN uint32_t gpu_bits(float x)
{
    return __float_as_uint(x);
}

GPU_FN float gpu_fabsf(float x)
{
    return fabsf(x);
}

GPU_FN double gpu_double(uint64_t bits)
{
    return __longlong_as_double((long long)bits);
}

GPU_FN uint64_t gpu_bits64(double x)
{
    return (uint64_t)__double_as_longlong(x);
}

/* High word of |x|. */
GPU_FN uint32_t gpu_high(double x)
{
    return (uint32_t)__double2hiint(x) & 0x7fffffffu;
}

GPU_FN float gpu_minf(float a, float b)
{
#if defined(__HIPCC__)
    return a > b ? b : a;
#else
    float y;

    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
#endif
}

GPU_FN float gpu_maxf(float a, float b)
{
#if defined(__HIPCC__)
    return a < b ? b : a;
#else
    float y;

    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
#endif
}

GPU_FN float gpu_fmaf(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

GPU_FN double gpu_fma(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

GPU_FN double gpu_sqrt(double x)
{
    return sqrt(x);
}

/* 1/x within 2^-18; x is far from the ends of the range. */
GPU_FN double gpu_rcp64(double x)
{
#if defined(__HIPCC__)
    return __builtin_amdgcn_rcp(x);
#else
    double y;

    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
#endif
}

/*
 * 2^x and 1/x, subnormal results flushed.  PTX promises 2 units in the last
 * place and 1, AMD's instruction set 1 and 1: relative 5 * 2^-24, 3 * 2^-24.
 */
GPU_FN float gpu_ex2(float x)
{
#if defined(__HIPCC__)
    return exp2f(x);
#else
    float y;

    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

GPU_FN float gpu_rcp(float x)
{
#if defined(__HIPCC__)
    return __builtin_amdgcn_rcpf(x);
#else
    float y;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

/* Exact; a NaN becomes any NaN: NVIDIA's has neither its sign nor its bits. */
GPU_FN float gpu_from_f16(uint32_t code)
{
#if defined(__HIPCC__)
    return (float)__builtin_bit_cast(_Float16, (uint16_t)code);
#else
    float y;

    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"((uint16_t)code));
    return y;
#endif
}

/* Rounded to nearest even; what a NaN becomes is left open. */
GPU_FN uint32_t gpu_round_f16(float low, float high)
{
#if defined(__HIPCC__)
    return __builtin_bit_cast(uint16_t, (_Float16)low) |
           (uint32_t) __builtin_bit_cast(uint16_t, (_Float16)high) << 16;
#else
    uint32_t both;

    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#endif
}

GPU_FN uint32_t gpu_round_bf16(float low, float high)
{
#if defined(__HIPCC__)
    const uint32_t a = gpu_bits(low);
    const uint32_t b = gpu_bits(high);

    return ((a + 0x7fff + (a >> 16 & 1)) >> 16) |
           ((b + 0x7fff + (b >> 16 & 1)) & 0xffff0000u);
#else
    uint32_t both;

    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#endif
}

GPU_FN uint32_t gpu_max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Both halves at once. */
GPU_FN uint32_t gpu_max_u16(uint32_t a, uint32_t b)
{
#if defined(__HIPCC__)
    typedef uint16_t pair __attribute__((ext_vector_type(2)));
    const pair m = __builtin_elementwise_max(__builtin_bit_cast(pair, a),
                                             __builtin_bit_cast(pair, b));
    return __builtin_bit_cast(uint32_t, m);
#else
    return __vmaxu2(a, b);
#endif
}

GPU_FN uint32_t gpu_min_u16(uint32_t a, uint32_t b)
{
#if defined(__HIPCC__)
    typedef uint16_t pair __attribute__((ext_vector_type(2)));
    const pair m = __builtin_elementwise_min(__builtin_bit_cast(pair, a),
                                             __builtin_bit_cast(pair, b));
    return __builtin_bit_cast(uint32_t, m);
#else
    return __vminu2(a, b);
#endif
}

/* Halves of a + b as signed numbers, not below 0 and not above top's. */
GPU_FN uint32_t gpu_add_clamp_s16(uint32_t a, uint32_t b, uint32_t top)
{
#if defined(__HIPCC__)
    typedef int16_t pair __attribute__((ext_vector_type(2)));
    const pair sum = __builtin_bit_cast(pair, a) + __builtin_bit_cast(pair, b);
    const pair low =
        __builtin_elementwise_min(sum, __builtin_bit_cast(pair, top));
    const pair zero = {0, 0};

    return __builtin_bit_cast(uint32_t, __builtin_elementwise_max(low, zero));
#else
    return __viaddmin_s16x2_relu(a, b, top);
#endif
}

/* Halves of a * b as binary16, to nearest even. */
GPU_FN uint32_t gpu_mul_f16(uint32_t a, uint32_t b)
{
#if defined(__HIPCC__)
    typedef _Float16 pair __attribute__((ext_vector_type(2)));

    return __builtin_bit_cast(uint32_t, __builtin_bit_cast(pair, a) *
                                            __builtin_bit_cast(pair, b));
#else
    uint32_t y;

    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
#endif
}

/* Two E4M3FN codes; device.h has the steps for all others. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define GPU_HAS_E4M3 1
GPU_FN uint32_t gpu_e4m3(float low, float high)
{
    uint16_t both;

    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
        : "=h"(both)
        : "f"(high), "f"(low));
    return both;
}
#endif

/* Two binary16 numbers; how inexact ones round is left open. */
GPU_FN uint32_t gpu_pack_f16(float low, float high)
{
#if defined(__HIPCC__)
    return __builtin_bit_cast(uint32_t, __builtin_amdgcn_cvt_pkrtz(low, high));
#else
    uint32_t both;

    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#endif
}

/* floor(log2 x), x > 0. */
GPU_FN int gpu_lg(uint32_t x)
{
    return 31 - __clz((int)x);
}

#include "port/device_memory.h"

/* Bits turn left by 0 to 31. */
GPU_FN uint32_t gpu_turn(uint32_t x, uint32_t left)
{
#if defined(__HIPCC__)
    return __builtin_amdgcn_alignbit(x, x, 32 - left);
#else
    return __funnelshift_l(x, x, left);
#endif
}

/* Bytes 0..3 are a's, 4..7 b's; each nibble of pick chooses one, low first. */
#if defined(__HIPCC__)
/* The instruction wants a byte per choice, and b's bytes below a's. */
#define GPU_SPREAD(pick)                                         \
    (((pick)&15u) | ((pick)&0xf0u) << 4 | ((pick)&0xf00u) << 8 | \
     ((pick)&0xf000u) << 12)
#define gpu_bytes(a, b, pick) \
    __builtin_amdgcn_perm((b), (a), GPU_SPREAD((uint32_t)(pick)))
#else
#define gpu_bytes(a, b, pick) __byte_perm((a), (b), (pick))
#endif

/*
 * codes holds eight 4-bit codes; byte (code & 7) of the table lo, hi becomes
 * byte i of (*low, *high), in order.
 */
GPU_FN void gpu_lut8(uint32_t lo, uint32_t hi, uint32_t codes, uint32_t *low,
                     uint32_t *high)
{
#if defined(__HIPCC__)
    const uint32_t even = __builtin_amdgcn_perm(hi, lo, codes & 0x07070707u);
    const uint32_t odd =
        __builtin_amdgcn_perm(hi, lo, codes >> 4 & 0x07070707u);

    *low = gpu_bytes(even, odd, 0x5140);
    *high = gpu_bytes(even, odd, 0x7362);
#else
    const uint32_t pick = codes & 0x77777777u;

    *low = __byte_perm(lo, hi, pick);
    *high = __byte_perm(lo, hi, pick >> 16);
#endif
}

#endif
