/* SPDX-License-Identifier: Apache-2.0 */
/* format.*, math.*, act.unary, tables and what other engines do to blocks: a
   thread has an element or a block, by codes.h, functions.h, tables.h and
   engines.h of backends/common. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/glu_steps.h"
#include "port/device.h"

#define CODES_FN GPU_FN
#define CODES_CALLED GPU_SLOW
#define DEQUANT_ROUND(to, x) glu_through(to, x)
#define DEQUANT_F16(x) glu_finish(GLU_F16, x)
#define RCP_FN GPU_FN
#define RCP_TABLE GPU_CONSTANT
#define FUNCTIONS_U20(bits) gpu_bits(glu_exp_u20(gpu_float(bits)))
#include "../../common/codes_dialect.h"

#include "../../common/engines_call.h"
#include "../../common/functions_call.h"
#include "../../common/tables_call.h"

GPU_FN void codes_body(const codes_job *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        codes_put(a, i);
    }
}

GPU_FN void functions_body(const functions_job *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        functions_put(a, i);
    }
}

GPU_FN void engines_body(const engines_job *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        engines_put(a, i);
    }
}

GPU_FN void tables_body(const tables_job *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->rows * a->cols; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        tables_put(a, i);
    }
}

GPU_ENTRY(engine_blocks, engines_job, engines_body(a))
GPU_ENTRY(format_codes, codes_job, codes_body(a))
GPU_ENTRY(functions, functions_job, functions_body(a))
GPU_ENTRY(tables, tables_job, tables_body(a))

mxo_status plan_codes(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(format_codes, 0);
    codes_job *const job = PLAN_ARGS(plan, codes_job);

    MXO_TRY(codes_make(call, job, why));
    (void)plan_step(plan, &kernel, job->n);
    return MXO_OK;
}

mxo_status plan_engines(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(engine_blocks, 0);
    engines_job *const job = PLAN_ARGS(plan, engines_job);

    MXO_TRY(engines_make(call, job, why));
    (void)plan_step(plan, &kernel, job->n);
    return MXO_OK;
}

mxo_status plan_functions(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(functions, 0);
    functions_job *const job = PLAN_ARGS(plan, functions_job);

    MXO_TRY(functions_make(call, job, why));
    (void)plan_step(plan, &kernel, job->n);
    return MXO_OK;
}

/* The inputs are read back: what they may not hold is refused first. */
static mxo_status tables_read(const mxo_call *call, const tables_job *a,
                              mxo_text why)
{
    const uint64_t bytes = tables_rows[a->op].bytes;
    const uint64_t n_row = a->rows * bytes;
    const uint64_t n_col = a->cols * bytes;
    uint8_t *const host = (uint8_t *)malloc(n_row + n_col + 1);
    mxo_status status =
        host == NULL ? gpu_fail(MXO_E_NOMEM, why, "no memory for a table")
                     : MXO_OK;

    if (status == MXO_OK && n_row > 0) {
        status = call_fetch(call, host, a->row, n_row, why);
    }
    if (status == MXO_OK && n_col > 0) {
        status = call_fetch(call, host + n_row, a->col, n_col, why);
    }
    if (status == MXO_OK) {
        status = tables_check(call, a, host, host + n_row, why);
    }
    free(host);
    return status;
}

mxo_status plan_tables(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(tables, 0);
    tables_job *const a = PLAN_ARGS(plan, tables_job);

    MXO_TRY(tables_make(call, a, why));
    if (!call_is_captured(call)) {
        MXO_TRY(tables_read(call, a, why));
    }
    (void)plan_step(plan, &kernel, a->rows * a->cols);
    return MXO_OK;
}
