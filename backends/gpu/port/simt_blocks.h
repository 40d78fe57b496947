/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of the shim, done at once: one block after the other, or all side by
   side where they wait for each other (simt_crowd.c). */
#ifndef GPU_SIMT_BLOCKS_H
#define GPU_SIMT_BLOCKS_H

#include "port/runtime.h"

mxo_status simt_run(const gpu_kernel *k, const gpu_shape *shape,
                    const void *args, mxo_text why);

#if SIMT_WARP == 32
/* Runs all blocks of a launch side by side, a warp at a time. */
mxo_status simt_blocks_launch(const gpu_kernel *k, const gpu_shape *shape,
                              const void *args, mxo_text why);

/* The barrier of a block in such a launch; 0: none runs. */
int simt_blocks_barrier(void);
#endif

#endif
