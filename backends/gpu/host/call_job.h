/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call made ready: its plan between what moves its tensors, on the stream of
 * a scratch.  It is launched once, many times between events, or into a graph.
 */
#ifndef GPU_CALL_JOB_H
#define GPU_CALL_JOB_H

#include "host/dense_call.h"

typedef struct gpu_context {
    gpu_device device;
    const char *kernel; /* of the last launch */
    uint32_t grid;
    uint32_t threads;
    gpu_scratch scratch; /* of the default stream */
    struct call_stream *streams;
} gpu_context;

typedef struct call_job {
    dense_call dense;
    gpu_plan gather;
    gpu_plan plan;
    gpu_plan scatter;
} call_job;

/* Whatever is returned, call_job_end() must follow.  The inputs are copied
   here, but for a graph: some plans read lists back. */
mxo_status call_job_make(gpu_context *c, gpu_scratch *scratch,
                         const mxo_call *call, call_job *job, mxo_text why);
void call_job_end(call_job *job);

/* All launches but those that call_job_make() has made; then the host looks
   whether one has met what it has no answer for. */
mxo_status call_job_launch(call_job *job, mxo_text why);

/* All launches, and no look. */
mxo_status call_job_put(call_job *job, mxo_text why);

#endif
