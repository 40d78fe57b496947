/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of a device: memory, copies, launches, queues, events.
 * runtime_gpu.cu has it for CUDA and HIP, simt.c and simt_lanes.c for the CPU.
 */
#ifndef GPU_RUNTIME_H
#define GPU_RUNTIME_H

#if defined(SIMT_WARP)
#include "port/global_names.h"
#endif

#include "port/device_types.h"

#include <mxoracle/abi.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(SIMT_WARP)
#define GPU_NAME (SIMT_WARP == 32 ? "simt32" : "simt64")
#define GPU_LABEL "CPU"
#define GPU_HAS_TIMER 0
#define GPU_HAS_FUSED 0
#define GPU_HAS_SMALL_BATCH (SIMT_WARP == 32)
#elif defined(__HIPCC__)
#define GPU_NAME "hip"
#define GPU_LABEL "HIP"
#define GPU_HAS_TIMER 1
#define GPU_HAS_FUSED 0
#define GPU_HAS_SMALL_BATCH 0
#else
#define GPU_NAME "cuda"
#define GPU_LABEL "CUDA"
#define GPU_HAS_TIMER 1
#define GPU_HAS_FUSED 1 /* the kernels for Hopper's tensor cores */
#define GPU_HAS_SMALL_BATCH 1
#endif

typedef struct gpu_device {
    int index;
    uint32_t units;   /* multiprocessors */
    int tensor_cores; /* Hopper's */
    char name[256];
    char driver[64];
} gpu_device;

enum { GPU_LANES = 4 }; /* queues of launches that may run side by side */

/* A launch; threads 0: GPU_BLOCK; shared: bytes beyond what a kernel declares;
   overlaps: it may start while the launch before it ends; stream: a lane's,
   NULL: the device's default; together: all blocks run at once. */
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
static inline mxo_status
gpu_fail(mxo_status status, mxo_text why, const char *format, ...)
{
    va_list args;

    if (why.size > 0) {
        va_start(args, format);
        (void)vsnprintf(why.ptr, why.size, format, args);
        va_end(args);
    }
    return status;
}

/* A stream and others beside it.  Lane 0 is that stream, NULL the default; its
   event is the fork, the others' are the join.  Zeros: not open yet. */
typedef struct gpu_lanes {
    int open; /* so many of them, lane 0 included */
    void *stream[GPU_LANES];
    void *event[GPU_LANES];
} gpu_lanes;

/* Status of each: MXO_OK, MXO_E_NOMEM or MXO_E_DEVICE with a sentence. */
mxo_status gpu_open(int device, gpu_device *d, mxo_text why);
mxo_status gpu_malloc(void **p, uint64_t n_bytes);
void gpu_free(void *p);
mxo_status gpu_fill(void *dst, int byte, uint64_t n, void *stream,
                    mxo_text why);
mxo_status gpu_copy(void *dst, const void *src, uint64_t n, void *stream,
                    mxo_text why);
mxo_status gpu_synchronize(mxo_text why);

/* In the order of a stream, which these wait for. */
mxo_status gpu_upload(void *dst, const void *src, uint64_t n, void *stream,
                      mxo_text why);
mxo_status gpu_download(void *dst, const void *src, uint64_t n, void *stream,
                        mxo_text why);

/* A stream that neither waits for the default one nor lets it wait. */
mxo_status gpu_stream_open(void **stream, mxo_text why);
void gpu_stream_close(void *stream);
mxo_status gpu_stream_wait(void *stream, mxo_text why);
/* Its next work begins so much later. */
mxo_status gpu_delay(void *stream, uint32_t microseconds, mxo_text why);

/* What is put on a stream between begin and end is kept and not done.  There
   memory is neither asked for nor read back.  end() is called in any case. */
mxo_status gpu_capture_begin(void *stream, mxo_text why);
mxo_status gpu_capture_end(void *stream, void **graph, mxo_text why);
mxo_status gpu_graph_launch(void *graph, void *stream, mxo_text why);
void gpu_graph_close(void *graph);

/* A tensor in memory of 1 or 8 bytes an element, its fastest dimension first;
   strides in bytes, multiples of 16; elements of a box, at most 256 each. */
typedef struct gpu_boxes {
    const void *base;
    uint32_t element; /* bytes */
    uint64_t size[3];
    uint64_t stride[2];
    uint32_t box[3];
} gpu_boxes;

mxo_status gpu_map_of(const gpu_boxes *b, gpu_map *map, mxo_text why);

/* Blocks of this kernel that one multiprocessor holds at once. */
mxo_status gpu_residents(gpu_entry entry, uint32_t *blocks, mxo_text why);

/* args: GPU_ARGS_BYTES of them, where shape has a stream. */
enum { GPU_ARGS_BYTES = 4096 };
mxo_status gpu_launch(const gpu_kernel *k, const gpu_shape *shape,
                      const void *args, mxo_text why);

/* From a fork on lanes run side by side; what follows a join waits for all. */
mxo_status gpu_lanes_open(gpu_lanes *l, mxo_text why);
void gpu_lanes_close(gpu_lanes *l);
mxo_status gpu_fork(gpu_lanes *l, mxo_text why);
mxo_status gpu_join(gpu_lanes *l, mxo_text why);

#if GPU_HAS_TIMER
/* Events around the work between start and stop. */
enum { TIMER_BEFORE, TIMER_START, TIMER_STOP, TIMER_EVENTS };

typedef struct gpu_timer {
    void *event[TIMER_EVENTS];
    int opened;
    int is_busy; /* the device, when the work is asked for */
} gpu_timer;

void gpu_timer_close(gpu_timer *t);
mxo_status gpu_timer_open(gpu_timer *t, int is_busy, mxo_text why);

/* On failure the timer is closed. */
mxo_status gpu_timer_start(gpu_timer *t, mxo_text why);

/* Opens and starts a timer behind a first run of the work. */
mxo_status gpu_timer_begin(gpu_timer *t, mxo_text why);

/* Waits for the work and closes the timer. */
mxo_status gpu_timer_stop(gpu_timer *t, double *seconds, mxo_text why);
#endif

#endif
