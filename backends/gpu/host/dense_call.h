/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose tensors have strides or lie off 256 bytes.  The kernels want
 * dense and aligned ones: such inputs are copied into the call's workspace
 * before, such outputs out of it behind.
 */
#ifndef GPU_DENSE_CALL_H
#define GPU_DENSE_CALL_H

#include "host/call.h"

enum { DENSE_MOST = 64 }; /* tensors of either side */

typedef struct dense_call {
    mxo_call call; /* as the kernels see it */
    mxo_tensor in[DENSE_MOST];
    mxo_tensor out[DENSE_MOST];
} dense_call;

/* Bytes of the workspace that the call wants; 0: it is as the kernels want. */
uint64_t dense_call_bytes(const mxo_call *call);

/* The call for the kernels, which borrows from call, and the launches before
   and behind; both plans are empty at first. */
mxo_status dense_call_make(const mxo_call *call, dense_call *d,
                           gpu_plan *gather, gpu_plan *scatter, mxo_text why);

#endif
