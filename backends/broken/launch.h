/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c: members of the table, and what backend.c needs for its own. */
#ifndef BROKEN_LAUNCH_H
#define BROKEN_LAUNCH_H

#include "broken.h"

typedef mxo_status broken_run_fn(broken *b, const mxo_call *call, mxo_text why);

int broken_has_gaps(const mxo_call *call);
/* H90 to H96, H100 to H104, H118: is this the way in which a call is wrong? */
int broken_is_wrong_way(const broken *b, const mxo_call *call);
/* H109 to H113: is this the way in which no call is checked? */
int broken_forgets(const broken *b, const mxo_call *call);
/* The call on dense copies of its tensors. */
mxo_status broken_run_dense(broken *b, const mxo_call *call, broken_run_fn *run,
                            mxo_text why);

mxo_status broken_workspace(void *ctx, const mxo_call *call, uint64_t *n_bytes,
                            mxo_text why);
/* After an answer. */
void broken_use_workspace(const broken *b, const mxo_call *call);
/* The call into the job, with the fault of alignment. */
void broken_align(const mxo_call *call, broken_job *job);

mxo_status broken_stream_open(void *ctx, void **stream, mxo_text why);
void broken_stream_close(void *ctx, void *stream);
/* Bytes for an address, now or when asked to synchronize. */
mxo_status broken_put_upload(broken *b, uint8_t *to, const void *src,
                             uint64_t n_bytes, mxo_text why);
void broken_end_uploads(broken *b);

mxo_status broken_capture(broken *b, const mxo_call *call, void **graph,
                          mxo_text why);
/* A call that is no graph's is made. */
void broken_keep_choices(broken *b, const mxo_call *call);
/* Before and after the answer of a graph. */
void broken_launching(const broken *b, broken_job *job);
/* H116, H117: the first input out of a slot; what it was. */
mxo_tensor broken_put_slot(const broken *b, broken_job *job);
void broken_launched(const broken *b, broken_job *job);
void broken_graph_close(void *ctx, void *graph);

#endif
