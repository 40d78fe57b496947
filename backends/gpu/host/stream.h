/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and graphs of the ABI.  Each has device memory of its own, so that
 * its calls run beside others; that of a graph stays where it is.
 */
#ifndef GPU_STREAM_H
#define GPU_STREAM_H

#include "host/call_job.h"

/* Where a call on that stream runs; NULL: in the context's own order. */
gpu_scratch *stream_scratch(gpu_context *c, void *stream);
/* Its work is done. */
void scratch_close(gpu_scratch *s);

/* For the table of backend.c. */
mxo_status backend_synchronize(void *ctx, mxo_text why);
mxo_status backend_stream_open(void *ctx, void **stream, mxo_text why);
void backend_stream_close(void *ctx, void *stream);
mxo_status backend_stream_upload(void *ctx, void *stream, void *buffer,
                                 uint64_t offset, const void *src,
                                 uint64_t n_bytes, uint32_t microseconds,
                                 mxo_text why);
mxo_status backend_capture(void *ctx, const mxo_call *call, void **graph,
                           mxo_text why);
mxo_status backend_launch(void *ctx, void *graph, void *stream, mxo_text why);
void backend_graph_close(void *ctx, void *graph);

#endif
