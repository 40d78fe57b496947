/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of few_tokens.h for the smallest batches. */
#ifndef GPU_PLAN_FEW_TOKENS_H
#define GPU_PLAN_FEW_TOKENS_H

#include "host/call.h"
#include "layer_fast/small_batch.h"

/* Bytes of shared memory that a block has on Hopper. */
enum { SMALL_BATCH_SHARED = 227 << 10 };

/* Fills in the sizes; 0: the small batch kernel takes the call. */
int plan_is_few_tokens(small_batch_args *a, uint64_t units);

/* The launch of a call for which the above holds. */
void plan_few_tokens(const small_batch_args *a, gpu_plan *plan);

#endif
