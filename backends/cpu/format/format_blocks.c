/* SPDX-License-Identifier: Apache-2.0 */
/* Other engines' quantisers, a block at a time, by
   backends/common/engine_blocks.h. */
#include "../../common/engine_blocks_call.h"
#include "cpu.h"

#include <stdlib.h>

enum { GRAIN = 1 << 5 };

static void rows(void *arg, uint64_t begin, uint64_t end)
{
    const blocks_job *job = arg;

    for (uint64_t i = begin; i < end; i++) {
        blocks_put_row(job, i, blocks_row(job, i, 0, 1));
    }
}

static void blocks(void *arg, uint64_t begin, uint64_t end)
{
    const blocks_job *job = arg;

    for (uint64_t i = begin; i < end; i++) {
        blocks_put(job, i);
    }
}

mxo_status cpu_engine_blocks(cpu_context *ctx, const mxo_call *call,
                             mxo_text why)
{
    blocks_job job;

    MXO_TRY(blocks_make(call, &job, why));
    if (job.op == BLOCKS_CAST) {
        MXO_TRY(blocks_cast_scales(call, &job, job.in.scale, why));
    }
    if (blocks_has_rows(&job)) {
        job.amax = malloc((size_t)(job.rows + 1) * sizeof *job.amax);
        if (job.amax == NULL) {
            return cpu_fail(MXO_E_NOMEM, why, "no memory for maxima of rows");
        }
        cpu_split(ctx, job.rows, 1, rows, &job);
    }
    if (blocks_has_tensor(&job)) {
        blocks_put_tensor(&job);
    }
    free(job.amax);
    cpu_split(ctx, job.n, GRAIN, blocks, &job);
    cpu_name_kernel(ctx, "engine_quantise", cpu_threads(ctx, job.n, GRAIN));
    return MXO_OK;
}
