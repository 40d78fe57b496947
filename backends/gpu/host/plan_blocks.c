/* SPDX-License-Identifier: Apache-2.0 */
/* Other engines' quantisers: a warp has a row's maximum, a thread a block, by
   backends/common/engine_blocks.h. */
#include "host/call.h"
#include "host/plans.h"
#include "port/device.h"

#define CODES_FN GPU_FN
#define CODES_CALLED GPU_SLOW
#include "../../common/engine_blocks_call.h"

GPU_FN void blocks_rows_body(const blocks_job *a)
{
    const uint64_t warps = GPU_BLOCK / GPU_WARP;

    for (uint64_t row = gpu_block() * warps + gpu_thread() / GPU_WARP;
         row < a->rows; row += gpu_grid() * warps) {
        uint32_t amax =
            gpu_bits(blocks_row(a, row, gpu_thread() % GPU_WARP, GPU_WARP));
        GPU_UNROLL
        for (int s = 1; s < GPU_WARP; s *= 2) {
            amax = gpu_max(amax, gpu_shfl_xor(amax, s));
        }
        if (gpu_thread() % GPU_WARP == 0) {
            blocks_put_row(a, row, gpu_float(amax));
        }
    }
}

GPU_FN void blocks_tensor_body(const blocks_job *a)
{
    if (gpu_block() == 0 && gpu_thread() == 0) {
        blocks_put_tensor(a);
    }
}

GPU_FN void blocks_body(const blocks_job *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        blocks_put(a, i);
    }
}

GPU_ENTRY(engine_rows, blocks_job, blocks_rows_body(a))
GPU_ENTRY(engine_tensor, blocks_job, blocks_tensor_body(a))
GPU_ENTRY(engine_quantise, blocks_job, blocks_body(a))

/* The scales are read back: what they may not be is refused first. */
static mxo_status read_scales(const mxo_call *call, blocks_job *j, mxo_text why)
{
    uint8_t *const host = (uint8_t *)malloc(j->n + 1);
    mxo_status status = host == NULL
                            ? gpu_fail(MXO_E_NOMEM, why, "no memory for scales")
                            : MXO_OK;

    if (status == MXO_OK && j->n > 0) {
        status = call_fetch(call, host, j->in.scale, j->n, why);
    }
    if (status == MXO_OK) {
        status = blocks_cast_scales(call, j, host, why);
    }
    free(host);
    return status;
}

mxo_status plan_blocks(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel rows = KERNEL(engine_rows, 1);
    static const gpu_kernel tensor = KERNEL(engine_tensor, 0);
    static const gpu_kernel blocks = KERNEL(engine_quantise, 0);
    gpu_plan *steps[3] = {NULL, NULL, NULL};
    blocks_job j;
    int n = 0;

    MXO_TRY(blocks_make(call, &j, why));
    if (j.op == BLOCKS_CAST) {
        MXO_TRY(read_scales(call, &j, why));
    }
    if (blocks_has_rows(&j)) {
        MXO_TRY(scratch_need(plan->scratch, 4 * j.rows + 4, why));
        j.amax = (float *)plan->scratch->p;
        steps[n++] = plan_step(plan, &rows, j.rows * GPU_WARP);
    }
    if (blocks_has_tensor(&j)) {
        steps[n++] = plan_step(plan, &tensor, 1);
    }
    steps[n++] = plan_step(plan, &blocks, j.n);
    for (int i = 0; i < n; i++) {
        if (steps[i] == NULL) {
            return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
        }
        *PLAN_ARGS(steps[i], blocks_job) = j;
    }
    return MXO_OK;
}
