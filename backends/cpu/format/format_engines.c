/* SPDX-License-Identifier: Apache-2.0 */
/* Other engines' rules for blocks, an element or a block at a time, by
   backends/common/engines.h. */
#include "../../common/engines_call.h"
#include "cpu.h"

enum { GRAIN = 1 << 8 };

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const engines_job *job = arg;

    for (uint64_t i = begin; i < end; i++) {
        engines_put(job, i);
    }
}

mxo_status cpu_engines(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    engines_job job;

    MXO_TRY(engines_make(call, &job, why));
    cpu_split(ctx, job.n, GRAIN, span, &job);
    cpu_name_kernel(ctx, "engine_blocks", cpu_threads(ctx, job.n, GRAIN));
    return MXO_OK;
}
