/* SPDX-License-Identifier: Apache-2.0 */
/* format.*: a code or a number at a time, by backends/common/codes.h. */
#include "../../common/codes_call.h"
#include "../../common/codes_dialect.h"
#include "cpu.h"

enum { GRAIN = 1 << 12 };

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const codes_job *job = arg;

    for (uint64_t i = begin; i < end; i++) {
        codes_put(job, i);
    }
}

mxo_status cpu_format_codes(cpu_context *ctx, const mxo_call *call,
                            mxo_text why)
{
    codes_job job;

    MXO_TRY(codes_make(call, &job, why));
    cpu_split(ctx, job.n, GRAIN, span, &job);
    cpu_name_kernel(ctx, "format_codes", cpu_threads(ctx, job.n, GRAIN));
    return MXO_OK;
}
