/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors with gaps between rows and experts.  The kernels read dense ones, so
 * inputs are gathered into the call's workspace, and outputs scattered from it.
 */
#ifndef CPU_STRIDES_H
#define CPU_STRIDES_H

#include "cpu.h"

typedef mxo_status cpu_dense_run(void *ctx, const mxo_call *call, mxo_text why);

/* Bytes of workspace that the call needs: 0 if all of it is dense. */
uint64_t cpu_strides_bytes(const mxo_call *call);
/* The call on dense copies of what has gaps. */
mxo_status cpu_strides_run(void *ctx, const mxo_call *call, cpu_dense_run *run,
                           mxo_text why);

#endif
