/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device of the backends simt32 and simt64, which is the CPU: the kernels
 * of the GPU backends run there, so that their logic is judged without a GPU.
 */
#include "port/simt_blocks.h"

enum {
    UNITS = 3, /* few, so that kernels must loop */
    RESIDENTS = 2
};

mxo_status gpu_open(int device, gpu_device *d, mxo_text why)
{
    if (device != 0) {
        return gpu_fail(MXO_E_DEVICE, why, "there is one shim, number 0");
    }
    d->index = 0;
    d->units = UNITS;
    d->tensor_cores = SIMT_WARP == 32;
    (void)snprintf(d->name, sizeof d->name, "CPU, warps of %d", SIMT_WARP);
    (void)snprintf(d->driver, sizeof d->driver, "SIMT shim");
    return MXO_OK;
}

/* What is put on a stream. */
typedef struct simt_work {
    struct simt_work *next;
    const gpu_kernel *kernel; /* NULL: a copy, or a fill where from is NULL */
    gpu_shape shape;
    void *to;
    const void *from;
    uint64_t n;
    int byte;
    union {
        uint64_t align[2];
        uint8_t bytes[GPU_ARGS_BYTES];
    } args;
} simt_work;

typedef struct simt_stream {
    simt_work *first;
} simt_stream;

static _Thread_local int simt_captures;

/* Aligned as a device would. */
mxo_status gpu_malloc(void **p, uint64_t n_bytes)
{
    if (simt_captures) {
        return MXO_E_DEVICE;
    }
    *p = n_bytes > SIZE_MAX - 512
             ? NULL
             : aligned_alloc(256, ((size_t)n_bytes + 256) / 256 * 256);
    return *p == NULL ? MXO_E_NOMEM : MXO_OK;
}

void gpu_free(void *p)
{
    free(p);
}

/* Work of any kind: a launch, a copy, or bytes of one value. */
static mxo_status work_do(const simt_work *w, mxo_text why)
{
    if (w->kernel != NULL) {
        return simt_run(w->kernel, &w->shape, w->args.bytes, why);
    }
    if (w->from != NULL) {
        memcpy(w->to, w->from, (size_t)w->n);
    } else {
        memset(w->to, w->byte, (size_t)w->n);
    }
    return MXO_OK;
}

/* On the default stream at once; on another, or in its capture, when somebody
   waits for that: as late as can be. */
static mxo_status work_put(const simt_work *w, void *stream, mxo_text why)
{
    if (stream == NULL) {
        return work_do(w, why);
    }
    simt_work *const copy = (simt_work *)malloc(sizeof *copy);
    simt_work **at = &((simt_stream *)stream)->first;

    if (copy == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for work");
    }
    *copy = *w;
    copy->next = NULL;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = copy;
    return MXO_OK;
}

mxo_status gpu_launch(const gpu_kernel *k, const gpu_shape *shape,
                      const void *args, mxo_text why)
{
    simt_work w;

    if (shape->stream == NULL) {
        return simt_run(k, shape, args, why);
    }
    memset(&w, 0, sizeof w);
    w.kernel = k;
    w.shape = *shape;
    memcpy(w.args.bytes, args, sizeof w.args.bytes);
    return work_put(&w, shape->stream, why);
}

mxo_status gpu_copy(void *dst, const void *src, uint64_t n, void *stream,
                    mxo_text why)
{
    simt_work w;

    memset(&w, 0, sizeof w);
    w.to = dst;
    w.from = src;
    w.n = n;
    return work_put(&w, stream, why);
}

mxo_status gpu_fill(void *dst, int byte, uint64_t n, void *stream, mxo_text why)
{
    simt_work w;

    memset(&w, 0, sizeof w);
    w.to = dst;
    w.byte = byte;
    w.n = n;
    return work_put(&w, stream, why);
}

static void work_end(simt_work *w)
{
    while (w != NULL) {
        simt_work *const next = w->next;

        free(w);
        w = next;
    }
}

mxo_status gpu_stream_open(void **stream, mxo_text why)
{
    *stream = calloc(1, sizeof(simt_stream));
    return *stream != NULL
               ? MXO_OK
               : gpu_fail(MXO_E_NOMEM, why, "no memory for a stream");
}

void gpu_stream_close(void *stream)
{
    work_end(((simt_stream *)stream)->first);
    free(stream);
}

mxo_status gpu_stream_wait(void *stream, mxo_text why)
{
    simt_stream *const s = (simt_stream *)stream;
    mxo_status status = MXO_OK;

    if (simt_captures) {
        return gpu_fail(MXO_E_DEVICE, why, "a wait within a capture");
    }
    if (s == NULL) {
        return MXO_OK;
    }
    for (const simt_work *w = s->first; w != NULL && status == MXO_OK;
         w = w->next) {
        status = work_do(w, why);
    }
    work_end(s->first);
    s->first = NULL;
    return status;
}

/* Its work is late as it is. */
mxo_status gpu_delay(void *stream, uint32_t microseconds, mxo_text why)
{
    (void)stream;
    (void)microseconds;
    (void)why;
    return MXO_OK;
}

mxo_status gpu_upload(void *dst, const void *src, uint64_t n, void *stream,
                      mxo_text why)
{
    MXO_TRY(gpu_stream_wait(stream, why));
    memcpy(dst, src, (size_t)n);
    return MXO_OK;
}

mxo_status gpu_download(void *dst, const void *src, uint64_t n, void *stream,
                        mxo_text why)
{
    return gpu_upload(dst, src, n, stream, why);
}

/* A graph is the work of a stream that nobody has waited for. */
mxo_status gpu_capture_begin(void *stream, mxo_text why)
{
    MXO_TRY(gpu_stream_wait(stream, why));
    simt_captures = 1;
    return MXO_OK;
}

mxo_status gpu_capture_end(void *stream, void **graph, mxo_text why)
{
    simt_captures = 0;
    MXO_TRY(gpu_stream_open(graph, why));
    ((simt_stream *)*graph)->first = ((simt_stream *)stream)->first;
    ((simt_stream *)stream)->first = NULL;
    return MXO_OK;
}

/* Copies and launches alike go where the graph goes. */
mxo_status gpu_graph_launch(void *graph, void *stream, mxo_text why)
{
    for (const simt_work *w = ((simt_stream *)graph)->first; w != NULL;
         w = w->next) {
        MXO_TRY(work_put(w, stream, why));
    }
    return MXO_OK;
}

void gpu_graph_close(void *graph)
{
    gpu_stream_close(graph);
}

mxo_status gpu_lanes_open(gpu_lanes *l, mxo_text why)
{
    (void)l;
    (void)why;
    return MXO_OK;
}

/* As tensor_copy() reads it. */
mxo_status gpu_map_of(const gpu_boxes *b, gpu_map *map, mxo_text why)
{
    const gpu_map m = {{(uint64_t)(uintptr_t)b->base, b->element, b->size[0],
                        b->size[1], b->stride[0], b->box[0], b->box[1]}};

    (void)why;
    *map = m;
    return MXO_OK;
}

/* One lane after the other, as launches come. */
void gpu_lanes_close(gpu_lanes *l)
{
    (void)l;
}

/* All lanes are the first: one launch after the other, as they come. */
mxo_status gpu_fork(gpu_lanes *l, mxo_text why)
{
    (void)why;
    for (int i = 1; i < GPU_LANES; i++) {
        l->stream[i] = l->stream[0];
    }
    return MXO_OK;
}

mxo_status gpu_join(gpu_lanes *l, mxo_text why)
{
    return gpu_fork(l, why);
}

mxo_status gpu_synchronize(mxo_text why)
{
    return gpu_stream_wait(NULL, why);
}

mxo_status gpu_residents(gpu_entry entry, uint32_t *blocks, mxo_text why)
{
    (void)entry;
    (void)why;
    *blocks = RESIDENTS;
    return MXO_OK;
}
