/* SPDX-License-Identifier: Apache-2.0 */
/* See stream.h. */
#include "host/stream.h"

#include "port/runtime.h"

/* Bytes on the device that wait for their turn on a stream. */
typedef struct stream_bytes {
    struct stream_bytes *next;
    void *p;
} stream_bytes;

typedef struct call_stream {
    gpu_scratch scratch;
    struct call_stream *next;
    stream_bytes *late;
} call_stream;

typedef struct call_graph {
    gpu_scratch scratch;
    void *made; /* the runtime's */
} call_graph;

gpu_scratch *stream_scratch(gpu_context *c, void *stream)
{
    return stream == NULL ? &c->scratch : &((call_stream *)stream)->scratch;
}

void scratch_close(gpu_scratch *s)
{
    void *const owned[] = {s->p,           s->heap,         s->copy[0],
                           s->copy[1],     s->published[0], s->published[1],
                           s->routed[0].p, s->routed[1].p,  s->loaded[0].p,
                           s->loaded[1].p};

    gpu_lanes_close(&s->lanes);
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        gpu_free(owned[i]);
    }
}

/* A scratch like the context's own, on a stream of its own. */
static mxo_status scratch_open(const gpu_context *c, gpu_scratch *s,
                               mxo_text why)
{
    s->has_tensor_cores = c->device.tensor_cores;
    s->units = c->device.units;
    return gpu_stream_open(&s->lanes.stream[0], why);
}

/* Its work is done, and what waited for its turn is there. */
static mxo_status stream_settle(call_stream *s, mxo_text why)
{
    const mxo_status status = gpu_stream_wait(s->scratch.lanes.stream[0], why);

    while (s->late != NULL) {
        stream_bytes *const late = s->late;

        s->late = late->next;
        gpu_free(late->p);
        free(late);
    }
    return status;
}

mxo_status backend_synchronize(void *ctx, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (call_stream *s = ((gpu_context *)ctx)->streams; s != NULL;
         s = s->next) {
        const mxo_status settled = stream_settle(s, why);
        status = status == MXO_OK ? settled : status;
    }
    const mxo_status done = gpu_synchronize(why);
    return status == MXO_OK ? done : status;
}

mxo_status backend_stream_open(void *ctx, void **stream, mxo_text why)
{
    gpu_context *const c = (gpu_context *)ctx;
    call_stream *const s = (call_stream *)calloc(1, sizeof *s);

    if (s == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for a stream");
    }
    const mxo_status status = scratch_open(c, &s->scratch, why);
    if (status != MXO_OK) {
        free(s);
        return status;
    }
    s->next = c->streams;
    c->streams = s;
    *stream = s;
    return MXO_OK;
}

void backend_stream_close(void *ctx, void *stream)
{
    const mxo_text unheard = {NULL, 0};
    call_stream *const s = (call_stream *)stream;
    call_stream **at = &((gpu_context *)ctx)->streams;

    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    (void)stream_settle(s, unheard);
    gpu_stream_close(s->scratch.lanes.stream[0]);
    scratch_close(&s->scratch);
    free(s);
}

/* On the device at once, and in their place when it is their turn. */
mxo_status backend_stream_upload(void *ctx, void *stream, void *buffer,
                                 uint64_t offset, const void *src,
                                 uint64_t n_bytes, uint32_t microseconds,
                                 mxo_text why)
{
    call_stream *const s = (call_stream *)stream;
    void *const on = s->scratch.lanes.stream[0];
    stream_bytes *const late = (stream_bytes *)calloc(1, sizeof *late);

    (void)ctx;
    if (late == NULL || gpu_malloc(&late->p, n_bytes) != MXO_OK) {
        free(late);
        return gpu_fail(MXO_E_NOMEM, why, "no memory for late bytes");
    }
    late->next = s->late;
    s->late = late;
    MXO_TRY(gpu_upload(late->p, src, n_bytes, NULL, why));
    if (microseconds > 0) {
        MXO_TRY(gpu_delay(on, microseconds, why));
    }
    return gpu_copy((uint8_t *)buffer + offset, late->p, n_bytes, on, why);
}

/* Everything that a plan asks for is asked for before the capture begins, and
   is done by then: the graph runs on another stream, which does not wait for
   this one's fills. */
static mxo_status graph_make(gpu_context *c, const mxo_call *call,
                             call_graph *g, mxo_text why)
{
    void *stream = NULL;
    call_job job;

    MXO_TRY(scratch_open(c, &g->scratch, why));
    stream = g->scratch.lanes.stream[0];
    mxo_status status = call_job_make(c, &g->scratch, call, &job, why);

    if (status == MXO_OK) {
        status = gpu_stream_wait(stream, why);
    }
    if (status == MXO_OK) {
        status = gpu_capture_begin(stream, why);
    }
    if (status == MXO_OK) {
        status = call_job_put(&job, why);
        const mxo_text last = {status == MXO_OK ? why.ptr : NULL,
                               status == MXO_OK ? why.size : 0};
        const mxo_status ended = gpu_capture_end(stream, &g->made, last);
        status = status == MXO_OK ? ended : status;
    }
    call_job_end(&job);
    gpu_stream_close(stream);
    return status;
}

mxo_status backend_capture(void *ctx, const mxo_call *call, void **graph,
                           mxo_text why)
{
    call_graph *const g = (call_graph *)calloc(1, sizeof *g);

    if (g == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for a graph");
    }
    g->scratch.captures = 1;
    const mxo_status status = graph_make((gpu_context *)ctx, call, g, why);

    if (status != MXO_OK) {
        backend_graph_close(ctx, g);
        return status;
    }
    *graph = g;
    return MXO_OK;
}

mxo_status backend_launch(void *ctx, void *graph, void *stream, mxo_text why)
{
    const gpu_scratch *const s = stream_scratch((gpu_context *)ctx, stream);

    return gpu_graph_launch(((call_graph *)graph)->made, s->lanes.stream[0],
                            why);
}

void backend_graph_close(void *ctx, void *graph)
{
    const mxo_text unheard = {NULL, 0};
    call_graph *const g = (call_graph *)graph;

    (void)backend_synchronize(ctx, unheard);
    if (g->made != NULL) {
        gpu_graph_close(g->made);
    }
    scratch_close(&g->scratch);
    free(g);
}
