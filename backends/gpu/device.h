/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel may use.  The kernels (*.inc) are written once, in the subset
 * that C11, CUDA C++ and HIP C++ share; everything that differs between the
 * three compilations is one of the names below.
 *
 * GPU_FN, GPU_SLOW       a function of the device, inlined or called
 * GPU_ENTRY              a kernel whose only argument is a struct, by value
 * GPU_WARP, GPU_BLOCK    lanes of a warp, threads of a block
 * gpu_thread()           this thread's number in its block
 * gpu_block(), gpu_grid()   this block's number, the number of blocks
 * gpu_shfl_xor, gpu_shfl, gpu_any   among a warp; every lane takes part
 * GPU_SHARED, gpu_barrier()   a block's memory, and where its threads meet
 * gpu_load_*, gpu_store_*   vectors: number i of the array at p.  u8x16 counts
 *                        bytes, u16x8 halves, u32x4 words; element 0 is always
 *                        in the low bits of w[0], whatever the byte order
 * gpu_lut8               eight E2M1 codes through a table of eight bytes
 * gpu_fma, gpu_fmaf      one rounding
 * gpu_ex2, gpu_rcp       2^x to 5 units of 2^-24, 1/x to 3
 * gpu_minf, gpu_maxf     of x and a number; a NaN x is the result
 *
 * Floating point is IEEE in all three: no contraction, subnormals kept.
 */
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H

#include <stdint.h>

enum { GPU_BLOCK = 256 };

/* Sixteen bytes: what one thread moves at a time. */
typedef struct gpu_u128 {
    uint32_t w[4];
} gpu_u128;

/* Division by an invariant: i / by is i * factor >> shift for i < 2^31. */
typedef struct gpu_divisor {
    uint32_t by;
    uint32_t factor;
    uint32_t shift;
} gpu_divisor;

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#endif

#if defined(__CUDACC__) || defined(__HIPCC__)
#include "device_gpu.h"
#else
#include "simt.h"
#endif

GPU_FN uint32_t gpu_quotient(uint32_t i, gpu_divisor d)
{
    return (uint32_t)((uint64_t)i * d.factor >> d.shift);
}

#endif
