/* SPDX-License-Identifier: Apache-2.0 */
/* Types of kernels' arguments that host and device share. */
#ifndef GPU_DEVICE_TYPES_H
#define GPU_DEVICE_TYPES_H

#include <stdint.h>

/* Threads of a block unless a launch says otherwise. */
enum { GPU_BLOCK = 256 };

/* Sixteen bytes: what one thread moves at a time. */
typedef struct gpu_u128 {
    uint32_t w[4];
} gpu_u128;

/* A matrix in memory that tensor copies take boxes of: a CUtensorMap. */
typedef struct gpu_map {
#if defined(__cplusplus)
    alignas(64)
#endif
        uint64_t words[16];
} gpu_map;

/* Division by an invariant: i / by is i * factor >> shift for i < 2^31. */
typedef struct gpu_divisor {
    uint32_t by;
    uint32_t factor;
    uint32_t shift;
} gpu_divisor;

#endif
