/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that a kernel may use.  The kernels are written once, in the subset
 * that C11, CUDA C++ and HIP C++ share; everything that differs between the
 * three compilations is one of the names below.
 *
 * GPU_FN, GPU_SLOW       a function of the device, inlined or called
 * GPU_ENTRY              a kernel whose only argument is a struct, by value
 * GPU_ENTRY_DENSE        the same with few registers: a multiprocessor is to
 *                        hold that many blocks
 * GPU_WARP, GPU_BLOCK    lanes of a warp, threads of a block
 * gpu_thread()           this thread's number in its block
 * gpu_block(), gpu_grid()   this block's number, the number of blocks
 * gpu_shfl_xor, gpu_shfl, gpu_any   among a warp; every lane takes part
 * GPU_SHARED, gpu_barrier()   a block's memory, and where its threads meet
 * gpu_cell_load_*, gpu_cell_store_*   vectors there
 * gpu_turn               bits turned left
 * gpu_load_*, gpu_store_*   vectors: number i of the array at p.  u8x16 counts
 *                        bytes, u16x8 halves, u32x4 words; element 0 is always
 *                        in the low bits of w[0], whatever the byte order
 * gpu_lut8               eight E2M1 codes through a table of eight bytes
 * gpu_fma, gpu_fmaf, gpu_sqrt   one rounding
 * gpu_ex2, gpu_rcp       2^x to 5 units of 2^-24, 1/x to 3
 * gpu_rcp64              1/x to 2^-18
 * gpu_minf, gpu_maxf     of x and a number; a NaN x is the result
 *
 * Floating point is IEEE in all three: no contraction, subnormals kept.
 */
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H

#include "port/device_types.h"

#if defined(__CUDACC__) || defined(__HIPCC__)
#include "port/device_gpu.h"
#else
#include "port/simt.h"
#endif

#if !defined(GPU_HAS_E4M3)
/* The format's subnormals are binary32's: then rounding is an addition. */
GPU_FN uint32_t gpu_one_e4m3(float x)
{
    const uint32_t w = gpu_bits(gpu_fabsf(x) * 0x1p-120f);
    const uint32_t code = (w + 0x7ffffu + (w >> 20 & 1)) >> 20;

    return (code < 0x7e ? code : 0x7e) | (gpu_bits(x) >> 24 & 0x80u);
}

/* Two E4M3FN codes, to nearest even, beyond 448 the code of 448; no NaN. */
GPU_FN uint32_t gpu_e4m3(float low, float high)
{
    return gpu_one_e4m3(low) | gpu_one_e4m3(high) << 8;
}
#endif

GPU_FN uint32_t gpu_quotient(uint32_t i, gpu_divisor d)
{
    return (uint32_t)((uint64_t)i * d.factor >> d.shift);
}

#endif
