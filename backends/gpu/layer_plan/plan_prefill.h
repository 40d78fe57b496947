/* SPDX-License-Identifier: Apache-2.0 */
/* The layer for many tokens on Hopper's tensor cores: prefill.cuh. */
#ifndef GPU_PLAN_PREFILL_H
#define GPU_PLAN_PREFILL_H

#include "host/call.h"
#include "layer_plan/layer_job.h"

/* Can the kernel take a job that the tensor cores can? */
int prefill_takes(const layer_job *j);

/* Bytes of scratch that it takes. */
uint64_t prefill_bytes(const layer_job *j);

/* Its launches; add: the sum over experts. */
mxo_status plan_prefill(layer_job *j, const gpu_kernel *add, gpu_plan *plan,
                        mxo_text why);

#endif
