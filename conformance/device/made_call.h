/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call as a backend gets it, from tensors that are placed, and making it:
 * plainly, on a stream, or as a graph.
 */
#ifndef MXO_MADE_CALL_H
#define MXO_MADE_CALL_H

#include "device_buffers.h"

/* Another graph, captured behind the call's own: what a backend keeps of a
   capture in one place is not the call's any more. */
typedef struct bystander {
    stage at;
    void *graph; /* NULL: there is none */
} bystander;

/* Tensors stand in here. */
typedef struct made_call {
    mxo_call call;
    mxo_tensor in[MXO_MAX_TENSORS];
    mxo_tensor out[MAX_OUT];
    mxo_tensor workspace;
    void *stream; /* owned by the backend; NULL: none */
    void *idle;   /* a stream that was opened after it, without work */
    void *graph;
    int is_early;   /* it is made on other data before its capture */
    int on_noise;   /* the graph is launched on noise, too */
    int is_refused; /* its workspace is; then the call has to be */
    bystander beside;
} made_call;

int made_call_is_refusal(mxo_status status);

/* The call, with the workspace that it asks for.  What refuses to say how much
   refuses the call when it is made. */
mxo_status made_call_describe(stage *g, int run, made_call *m, mxo_text why);

mxo_status made_call_make(const subject *s, const made_call *m, mxo_text why);

/* Is the call taken plainly?  What is not, a graph could not refuse, and on a
   stream its data may be looked at when nothing but an error can be said. */
int made_call_is_taken(const subject *s, const made_call *m);

#endif
