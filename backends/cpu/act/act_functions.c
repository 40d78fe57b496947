/* SPDX-License-Identifier: Apache-2.0 */
/* act.unary where no lane has it, math.lg2, math.rcp: a number at a time, by
   backends/common/functions.h. */
#include "cpu.h"
#include "glu_steps.h"
#include "number.h"

#define FUNCTIONS_U20(bits) cpu_bits32(cpu_exp_u20(cpu_float(bits)))
#include "../../common/functions_call.h"

enum { GRAIN = 1 << 8 };

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const functions_job *job = arg;

    for (uint64_t i = begin; i < end; i++) {
        functions_put(job, i);
    }
}

mxo_status cpu_functions(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    functions_job job;

    MXO_TRY(functions_make(call, &job, why));
    cpu_split(ctx, job.n, GRAIN, span, &job);
    cpu_name_kernel(ctx, "functions", cpu_threads(ctx, job.n, GRAIN));
    return MXO_OK;
}
