/* SPDX-License-Identifier: Apache-2.0 */
/* What the host's code and the runtime of each side share. */
#ifndef GPU_RUNTIME_H
#define GPU_RUNTIME_H

#include <mxoracle/abi.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gpu_device {
    int index;
    uint32_t units; /* multiprocessors */
    int tensor_cores; /* Hopper's */
    char name[256];
    char driver[64];
} gpu_device;

enum { GPU_LANES = 4 }; /* queues of launches that may run side by side */

/* A launch; threads 0: GPU_BLOCK; shared: bytes beyond what a kernel declares;
   overlaps: it may start while the launch before it ends; stream: a lane's,
   NULL: the one that all else uses; together: all blocks run at once. */
typedef struct gpu_shape {
    uint32_t grid;
    uint32_t threads;
    uint32_t shared;
    int overlaps;
    void *stream;
    int together;
} gpu_shape;

/* A kernel of any argument, as a function pointer that is only passed on. */
typedef void (*gpu_entry)(void);
#define GPU_ADDRESS(kernel) (gpu_entry)(kernel)

typedef struct gpu_kernel {
    const char *name;
    gpu_entry entry;
    int meets; /* its warps or blocks exchange data */
} gpu_kernel;

/* One sentence into why; returns status, so that a check is one statement. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static mxo_status gpu_fail(mxo_status status, mxo_text why, const char *format,
                           ...)
{
    va_list args;

    if (why.size > 0) {
        va_start(args, format);
        (void)vsnprintf(why.ptr, why.size, format, args);
        va_end(args);
    }
    return status;
}

#endif
