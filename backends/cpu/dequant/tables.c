/* SPDX-License-Identifier: Apache-2.0 */
/* dequant.mx_table, quant.requant_table and layout.tp_pad, an entry at a time,
   by backends/common/tables.h. */
#include "cpu.h"
#include "dequant.h"
#include "number.h"

#define DEQUANT_ROUND(to, x) cpu_dequant_round(to, x)
#define DEQUANT_F16(x) cpu_f16_of(x)
#include "../../common/tables_call.h"

enum { GRAIN = 64 };

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const tables_job *job = arg;

    for (uint64_t i = begin; i < end; i++) {
        tables_put(job, i);
    }
}

mxo_status cpu_tables(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    tables_job job;

    MXO_TRY(tables_make(call, &job, why));
    MXO_TRY(tables_check(call, &job, job.row, job.col, why));
    cpu_split(ctx, job.rows * job.cols, GRAIN, span, &job);
    cpu_name_kernel(ctx, "tables", cpu_threads(ctx, job.rows, GRAIN));
    return MXO_OK;
}
