/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of a device, for CUDA and HIP.  Their runtimes differ in the
 * prefix of each name and in next to nothing else: RT(Malloc) is cudaMalloc or
 * hipMalloc.  simt.c offers the same gpu_* functions for the CPU.
 */
#include "port/device_types.h"
#include "port/runtime.h"

#include <time.h>

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define RT(name) hip##name
typedef hipDeviceProp_t gpu_properties;
typedef hipError_t gpu_error;
typedef hipEvent_t gpu_event;
typedef hipStream_t gpu_stream;
typedef hipGraph_t gpu_graph;
typedef hipGraphExec_t gpu_graph_exec;
#else
#include <cuda.h>
#include <cuda_runtime.h>
#define RT(name) cuda##name
typedef cudaDeviceProp gpu_properties;
typedef cudaError_t gpu_error;
typedef cudaEvent_t gpu_event;
typedef cudaStream_t gpu_stream;
typedef cudaGraph_t gpu_graph;
typedef cudaGraphExec_t gpu_graph_exec;
#endif

static mxo_status gpu_check(gpu_error error, const char *what, mxo_text why)
{
    if (error == RT(Success)) {
        return MXO_OK;
    }
    (void)RT(GetLastError)(); /* clear it: the next call starts clean */
    return gpu_fail(error == RT(ErrorMemoryAllocation) ? MXO_E_NOMEM
                                                       : MXO_E_DEVICE,
                    why, "%s: %s", what, RT(GetErrorString)(error));
}

mxo_status gpu_open(int device, gpu_device *d, mxo_text why)
{
    gpu_properties p;
    int n = 0;
    int version = 0;
    const gpu_error error = RT(GetDeviceCount)(&n);

    if (error != RT(Success) || n == 0) {
        (void)RT(GetLastError)();
        return gpu_fail(MXO_E_DEVICE, why, "no %s device (%s)", GPU_LABEL,
                        error == RT(Success) ? "none found"
                                             : RT(GetErrorString)(error));
    }
    if (device < 0 || device >= n) {
        return gpu_fail(MXO_E_DEVICE, why, "no %s device %d: there are %d",
                        GPU_LABEL, device, n);
    }
    mxo_status status = gpu_check(RT(SetDevice)(device), "open", why);
    if (status == MXO_OK) {
        status = gpu_check(RT(GetDeviceProperties)(&p, device), "open", why);
    }
    if (status == MXO_OK) {
        status = gpu_check(RT(DriverGetVersion)(&version), "open", why);
    }
    if (status == MXO_OK) {
        d->index = device;
        d->units = (uint32_t)p.multiProcessorCount;
        d->tensor_cores = p.major == 9 && p.minor == 0;
        (void)snprintf(d->name, sizeof d->name, "%s", p.name);
        (void)snprintf(d->driver, sizeof d->driver, "%s driver interface %d",
                       GPU_LABEL, version);
    }
    return status;
}

mxo_status gpu_malloc(void **p, uint64_t n_bytes)
{
    const mxo_text nowhere = {NULL, 0};

    return gpu_check(RT(Malloc)(p, n_bytes == 0 ? 1 : (size_t)n_bytes), "alloc",
                     nowhere);
}

void gpu_free(void *p)
{
    (void)RT(Free)(p);
}

mxo_status gpu_copy(void *dst, const void *src, uint64_t n, void *stream,
                    mxo_text why)
{
    return gpu_check(RT(MemcpyAsync)(dst, src, (size_t)n,
                                     RT(MemcpyDeviceToDevice),
                                     (gpu_stream)stream),
                     "copy", why);
}

mxo_status gpu_stream_wait(void *stream, mxo_text why)
{
    return gpu_check(RT(StreamSynchronize)((gpu_stream)stream), "wait", why);
}

mxo_status gpu_upload(void *dst, const void *src, uint64_t n, void *stream,
                      mxo_text why)
{
    MXO_TRY(
        gpu_check(RT(MemcpyAsync)(dst, src, (size_t)n, RT(MemcpyHostToDevice),
                                  (gpu_stream)stream),
                  "upload", why));
    return gpu_stream_wait(stream, why);
}

mxo_status gpu_download(void *dst, const void *src, uint64_t n, void *stream,
                        mxo_text why)
{
    MXO_TRY(
        gpu_check(RT(MemcpyAsync)(dst, src, (size_t)n, RT(MemcpyDeviceToHost),
                                  (gpu_stream)stream),
                  "download", why));
    return gpu_stream_wait(stream, why);
}

mxo_status gpu_stream_open(void **stream, mxo_text why)
{
    return gpu_check(
        RT(StreamCreateWithFlags)((gpu_stream *)stream, RT(StreamNonBlocking)),
        "stream", why);
}

void gpu_stream_close(void *stream)
{
    (void)RT(StreamDestroy)((gpu_stream)stream);
}

/* The driver calls it between two pieces of a stream's work. */
static void gpu_sleep(gpu_stream stream, gpu_error error, void *microseconds)
{
    const uint64_t n = (uint64_t)(uintptr_t)microseconds;
    const struct timespec t = {(time_t)(n / 1000000),
                               (long)(n % 1000000 * 1000)};

    (void)stream;
    (void)error;
    (void)nanosleep(&t, NULL);
}

mxo_status gpu_delay(void *stream, uint32_t microseconds, mxo_text why)
{
    return gpu_check(RT(StreamAddCallback)((gpu_stream)stream, gpu_sleep,
                                           (void *)(uintptr_t)microseconds, 0),
                     "delay", why);
}

/* Global: what would not be kept, as memory that is asked for, is refused. */
mxo_status gpu_capture_begin(void *stream, mxo_text why)
{
    return gpu_check(
        RT(StreamBeginCapture)((gpu_stream)stream, RT(StreamCaptureModeGlobal)),
        "capture", why);
}

mxo_status gpu_capture_end(void *stream, void **graph, mxo_text why)
{
    gpu_graph kept = NULL;
    gpu_graph_exec exec = NULL;
    gpu_error error = RT(StreamEndCapture)((gpu_stream)stream, &kept);

    if (error == RT(Success)) {
        error = RT(GraphInstantiateWithFlags)(&exec, kept, 0);
    }
    if (kept != NULL) {
        (void)RT(GraphDestroy)(kept);
    }
    *graph = exec;
    return gpu_check(error, "capture", why);
}

mxo_status gpu_graph_launch(void *graph, void *stream, mxo_text why)
{
    return gpu_check(RT(GraphLaunch)((gpu_graph_exec)graph, (gpu_stream)stream),
                     "graph", why);
}

void gpu_graph_close(void *graph)
{
    (void)RT(GraphExecDestroy)((gpu_graph_exec)graph);
}

mxo_status gpu_fill(void *dst, int byte, uint64_t n, void *stream, mxo_text why)
{
    return gpu_check(RT(MemsetAsync)(dst, byte, (size_t)n, (gpu_stream)stream),
                     "fill", why);
}

mxo_status gpu_synchronize(mxo_text why)
{
    return gpu_check(RT(DeviceSynchronize)(), "synchronize", why);
}

#if GPU_HAS_FUSED
/* The driver's function is asked for: nothing is linked with the driver. */
mxo_status gpu_map_of(const gpu_boxes *b, gpu_map *map, mxo_text why)
{
    typedef CUresult (*encode_fn)(
        CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
        const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
        const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
        CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    const cuuint64_t size[3] = {b->size[0], b->size[1], b->size[2]};
    const cuuint64_t stride[2] = {b->stride[0], b->stride[1]};
    const cuuint32_t step[3] = {1, 1, 1};
    CUtensorMap made;
    void *encode = NULL;
    cudaDriverEntryPointQueryResult found;

    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode,
                                         12000, cudaEnableDefault,
                                         &found) != cudaSuccess ||
        found != cudaDriverEntryPointSuccess ||
        ((encode_fn)encode)(
            &made,
            b->element == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                            : CU_TENSOR_MAP_DATA_TYPE_UINT64,
            3, (void *)b->base, size, stride, b->box, step,
            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
            CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
        return gpu_fail(MXO_E_DEVICE, why, "no tensor map of the weights");
    }
    memcpy(map->words, &made, sizeof made);
    return MXO_OK;
}
#endif

/* Blocks of this kernel that one multiprocessor holds at once. */
mxo_status gpu_residents(gpu_entry entry, uint32_t *blocks, mxo_text why)
{
    int n = 0;
    const mxo_status status =
        gpu_check(RT(OccupancyMaxActiveBlocksPerMultiprocessor)(
                      &n, (const void *)entry, GPU_BLOCK, 0),
                  "occupancy", why);

    *blocks = n < 1 ? 1 : (uint32_t)n;
    return status;
}

/* More shared memory than a kernel gets without asking. */
static mxo_status gpu_ask_shared(const gpu_kernel *k, uint32_t bytes,
                                 mxo_text why)
{
    return bytes <= 48 << 10
               ? MXO_OK
               : gpu_check(RT(FuncSetAttribute)(
                               (const void *)k->entry,
                               RT(FuncAttributeMaxDynamicSharedMemorySize),
                               (int)bytes),
                           k->name, why);
}

mxo_status gpu_launch(const gpu_kernel *k, const gpu_shape *shape,
                      const void *args, mxo_text why)
{
    const void *const entry = (const void *)k->entry;
    const dim3 block(shape->threads == 0 ? (unsigned)GPU_BLOCK
                                         : shape->threads);
    void *argv[1] = {(void *)args};
    const mxo_status status = gpu_ask_shared(k, shape->shared, why);

    if (status != MXO_OK) {
        return status;
    }
#if !defined(__HIPCC__)
    if (shape->overlaps || shape->together) {
        cudaLaunchConfig_t config = {};
        cudaLaunchAttribute early = {};
        if (shape->together) {
            early.id = cudaLaunchAttributeCooperative;
            early.val.cooperative = 1;
        } else {
            early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
            early.val.programmaticStreamSerializationAllowed = 1;
        }
        config.gridDim = dim3(shape->grid);
        config.blockDim = block;
        config.dynamicSmemBytes = shape->shared;
        config.stream = (gpu_stream)shape->stream;
        config.attrs = &early;
        config.numAttrs = 1;
        return gpu_check(cudaLaunchKernelExC(&config, entry, argv), k->name,
                         why);
    }
#endif
    return gpu_check(RT(LaunchKernel)(entry, dim3(shape->grid), block, argv,
                                      shape->shared, (gpu_stream)shape->stream),
                     k->name, why);
}

void gpu_lanes_close(gpu_lanes *l)
{
    for (; l->open > 0; l->open--) {
        (void)RT(EventDestroy)((gpu_event)l->event[l->open - 1]);
        if (l->open > 1) {
            gpu_stream_close(l->stream[l->open - 1]);
        }
    }
}

mxo_status gpu_lanes_open(gpu_lanes *l, mxo_text why)
{
    while (l->open < GPU_LANES) {
        void **const stream = &l->stream[l->open];

        if (l->open > 0) {
            MXO_TRY(gpu_stream_open(stream, why));
        }
        const gpu_error error = RT(EventCreateWithFlags)(
            (gpu_event *)&l->event[l->open], RT(EventDisableTiming));
        if (error != RT(Success)) {
            if (l->open > 0) {
                gpu_stream_close(*stream);
            }
            return gpu_check(error, "lanes", why);
        }
        l->open++;
    }
    return MXO_OK;
}

/* From here on lanes run side by side, after all that came before. */
mxo_status gpu_fork(gpu_lanes *l, mxo_text why)
{
    MXO_TRY(gpu_lanes_open(l, why));
    gpu_error error =
        RT(EventRecord)((gpu_event)l->event[0], (gpu_stream)l->stream[0]);

    for (int i = 1; i < GPU_LANES && error == RT(Success); i++) {
        error = RT(StreamWaitEvent)((gpu_stream)l->stream[i],
                                    (gpu_event)l->event[0], 0);
    }
    return gpu_check(error, "fork", why);
}

/* Later work waits for every side stream. */
mxo_status gpu_join(gpu_lanes *l, mxo_text why)
{
    gpu_error error = RT(Success);

    for (int i = 1; i < l->open && error == RT(Success); i++) {
        error =
            RT(EventRecord)((gpu_event)l->event[i], (gpu_stream)l->stream[i]);
        if (error == RT(Success)) {
            error = RT(StreamWaitEvent)((gpu_stream)l->stream[0],
                                        (gpu_event)l->event[i], 0);
        }
    }
    return gpu_check(error, "join", why);
}

/*
 * Events around the work between start and stop.  Two events with nothing
 * between them are 1.3 us apart on an H200, which is no time of the work's: so
 * one more is recorded before, and that distance taken off.  It is only known
 * where the device is still busy with something else, and not waiting for the
 * host to ask.
 */
void gpu_timer_close(gpu_timer *t)
{
    while (t->opened > 0) {
        t->opened--;
        (void)RT(EventDestroy)((gpu_event)t->event[t->opened]);
    }
}

mxo_status gpu_timer_open(gpu_timer *t, int is_busy, mxo_text why)
{
    gpu_error error = RT(Success);

    t->is_busy = is_busy;
    t->opened = 0;
    while (error == RT(Success) && t->opened < TIMER_EVENTS) {
        error = RT(EventCreate)((gpu_event *)&t->event[t->opened]);
        t->opened += error == RT(Success);
    }
    if (error != RT(Success)) {
        gpu_timer_close(t);
    }
    return gpu_check(error, "timer", why);
}

/* On failure the timer is gone. */
mxo_status gpu_timer_start(gpu_timer *t, mxo_text why)
{
    gpu_error error = RT(EventRecord)((gpu_event)t->event[TIMER_BEFORE], 0);

    if (error == RT(Success)) {
        error = RT(EventRecord)((gpu_event)t->event[TIMER_START], 0);
    }
    if (error != RT(Success)) {
        gpu_timer_close(t);
    }
    return gpu_check(error, "timer", why);
}

/* Both at once, behind a first run of the work. */
mxo_status gpu_timer_begin(gpu_timer *t, mxo_text why)
{
    const mxo_status status = gpu_timer_open(t, 1, why);

    return status == MXO_OK ? gpu_timer_start(t, why) : status;
}

/* Milliseconds of a pair of events without work.  A host that was held up
   between the two would make more of them: not more than two microseconds
   count. */
static gpu_error gpu_timer_nothing(const gpu_timer *t, float *ms)
{
    const float most = 2e-3f;
    gpu_error error = RT(Success);

    *ms = 0;
    if (t->is_busy) {
        error = RT(EventElapsedTime)(ms, (gpu_event)t->event[TIMER_BEFORE],
                                     (gpu_event)t->event[TIMER_START]);
    }
    *ms = *ms < most ? *ms : most;
    return error;
}

/* Waits for the work; the timer is gone afterwards. */
mxo_status gpu_timer_stop(gpu_timer *t, double *seconds, mxo_text why)
{
    float ms = 0;
    float nothing = 0;
    gpu_error error = RT(EventRecord)((gpu_event)t->event[TIMER_STOP], 0);

    if (error == RT(Success)) {
        error = RT(EventSynchronize)((gpu_event)t->event[TIMER_STOP]);
    }
    if (error == RT(Success)) {
        error = RT(EventElapsedTime)(&ms, (gpu_event)t->event[TIMER_START],
                                     (gpu_event)t->event[TIMER_STOP]);
    }
    if (error == RT(Success)) {
        error = gpu_timer_nothing(t, &nothing);
    }
    gpu_timer_close(t);
    *seconds = ((double)ms - (double)nothing) * 1e-3;
    return gpu_check(error, "timer", why);
}
