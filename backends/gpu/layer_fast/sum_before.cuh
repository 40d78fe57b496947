/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the threads of a block, by which pairs find their places. */
#ifndef GPU_SUM_BEFORE_CUH
#define GPU_SUM_BEFORE_CUH

#include "port/device.h"

/* Sum of x over the threads before this one. */
GPU_FN uint32_t sum_before(uint32_t x, uint32_t *of_warp)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t sum = x;

    GPU_UNROLL
    for (int by = 1; by < 32; by *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, sum, by);
        sum += lane >= (uint32_t)by ? other : 0;
    }
    if (lane == 31) {
        of_warp[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    uint32_t before = 0;
    for (uint32_t i = 0; i < threadIdx.x / 32; i++) {
        before += of_warp[i];
    }
    __syncthreads();
    return before + sum - x;
}

#endif
