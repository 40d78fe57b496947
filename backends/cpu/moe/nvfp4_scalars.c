/* SPDX-License-Identifier: Apache-2.0 */
/* moe.nvfp4_scalars by backends/common/nvfp4_scalars.h. */
#include "../../common/nvfp4_scalars.h"
#include "cpu.h"

mxo_status cpu_moe_nvfp4_scalars(cpu_context *ctx, const mxo_call *call,
                                 mxo_text why)
{
    nvfp4_scalars_job job;

    MXO_TRY(nvfp4_scalars_make(call, &job, why));
    for (int in = 0; in < NVFP4_N_IN; in++) {
        for (uint64_t i = 0; i < job.count[in]; i++) {
            float x;

            memcpy(&x, job.in[in] + 4 * i, sizeof x);
            MXO_TRY(nvfp4_scalars_check(call, in, i, x, why));
        }
    }
    nvfp4_scalars_experts(&job, 0, 1);
    cpu_name_kernel(ctx, "nvfp4_scalars", 1);
    return MXO_OK;
}
