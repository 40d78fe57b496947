/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wgmma of 64 rows from registers by N columns from shared memory, 16 deep,
 * added to the first N / 2 of a thread's accumulators.  An instruction names
 * its registers one by one, so there is a function for each N.
 */
#ifndef GPU_PREFILL_MMA_CUH
#define GPU_PREFILL_MMA_CUH

#include "port/device.h"

template <int N>
__device__ __forceinline__ void prefill_mma(float *d, const uint32_t (&a)[4],
                                            uint64_t b);

/* Four registers of the instruction's list, and of its operands. */
#define PREFILL_D4(i) \
    "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define PREFILL_D16(i)                                       \
    PREFILL_D4(i), PREFILL_D4((i) + 4), PREFILL_D4((i) + 8), \
        PREFILL_D4((i) + 12)

/* clang-format off */

template <>
__device__ __forceinline__ void prefill_mma<16>(float *d, const uint32_t (&a)[4],
                                                uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7}, "
        "{%8, %9, %10, %11}, %12, 1, 1, 1, 0;"
        : PREFILL_D4(0), PREFILL_D4(4)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <>
__device__ __forceinline__ void prefill_mma<24>(float *d, const uint32_t (&a)[4],
                                                uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11}, "
        "{%12, %13, %14, %15}, %16, 1, 1, 1, 0;"
        : PREFILL_D4(0), PREFILL_D4(4), PREFILL_D4(8)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <>
__device__ __forceinline__ void prefill_mma<32>(float *d, const uint32_t (&a)[4],
                                                uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15}, "
        "{%16, %17, %18, %19}, %20, 1, 1, 1, 0;"
        : PREFILL_D16(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <>
__device__ __forceinline__ void prefill_mma<48>(float *d, const uint32_t (&a)[4],
                                                uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15, %16, %17, %18, %19, %20, %21, %22, %23}, "
        "{%24, %25, %26, %27}, %28, 1, 1, 1, 0;"
        : PREFILL_D16(0), PREFILL_D4(16), PREFILL_D4(20)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <>
__device__ __forceinline__ void prefill_mma<64>(float *d, const uint32_t (&a)[4],
                                                uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
        "%28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
        : PREFILL_D16(0), PREFILL_D16(16)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <>
__device__ __forceinline__ void prefill_mma<80>(float *d, const uint32_t (&a)[4],
                                                uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
        "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}, "
        "{%40, %41, %42, %43}, %44, 1, 1, 1, 0;"
        : PREFILL_D16(0), PREFILL_D16(16), PREFILL_D4(32), PREFILL_D4(36)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <>
__device__ __forceinline__ void prefill_mma<96>(float *d, const uint32_t (&a)[4],
                                                uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
        "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "
        "%41, %42, %43, %44, %45, %46, %47}, "
        "{%48, %49, %50, %51}, %52, 1, 1, 1, 0;"
        : PREFILL_D16(0), PREFILL_D16(16), PREFILL_D16(32)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <>
__device__ __forceinline__ void prefill_mma<112>(float *d, const uint32_t (&a)[4],
                                                uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n112k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
        "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "
        "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "
        "%54, %55}, "
        "{%56, %57, %58, %59}, %60, 1, 1, 1, 0;"
        : PREFILL_D16(0), PREFILL_D16(16), PREFILL_D16(32), PREFILL_D4(48),
          PREFILL_D4(52)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <>
__device__ __forceinline__ void prefill_mma<128>(float *d, const uint32_t (&a)[4],
                                                uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
        "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "
        "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "
        "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "{%64, %65, %66, %67}, %68, 1, 1, 1, 0;"
        : PREFILL_D16(0), PREFILL_D16(16), PREFILL_D16(32), PREFILL_D16(48)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

/* clang-format on */

#undef PREFILL_D16
#undef PREFILL_D4

#endif
