/* SPDX-License-Identifier: Apache-2.0 */
/* See <mxoracle/select_nvfp4.h>: two tables of two rows. */
#include "rules.h"

#include <mxoracle/select_nvfp4.h>

#include <stddef.h>
#include <string.h>

static const struct {
    mxo_sel_library library;
    int16_t low, high; /* capability in tenths, high not included */
} kernels[] = {
    [MXO_SEL_NVFP4_CUTLASS] = {MXO_SEL_LIB_flashinfer_cutlass_moe, 100, 10000},
    [MXO_SEL_NVFP4_CUTEDSL] = {MXO_SEL_LIB_flashinfer_cutedsl, 100, 101},
};

static const struct {
    const char *word;
    mxo_sel_experts experts;
} words[] = {
    {"masked_gemm", MXO_SEL_EXPERTS_FlashInferCuteDSLExperts},
    {"throughput", MXO_SEL_EXPERTS_FlashInferExperts},
};

int mxo_select_nvfp4_available(const mxo_select_config *c, mxo_sel_nvfp4 kernel,
                               mxo_sel_failure *failure)
{
    const char *text = c->env[MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_FP4];
    const int on = text == NULL ? 0 : sel_int_bool(text);
    const sel_device d = sel_device_of(c);

    *failure = (mxo_sel_failure){.error = MXO_SEL_ERROR_NONE};
    if (on < 0) {
        failure->error = MXO_SEL_ERROR_INTEGER;
        failure->env = MXO_SEL_ENV_VLLM_USE_FLASHINFER_MOE_FP4;
        return 0;
    }
    return on && (c->libraries >> kernels[kernel].library & 1) != 0 &&
           c->platform == MXO_SEL_PLATFORM_cuda &&
           d.cap >= kernels[kernel].low && d.cap < kernels[kernel].high;
}

mxo_sel_experts mxo_select_nvfp4(const mxo_select_config *c,
                                 int allow_flashinfer, mxo_sel_failure *failure)
{
    const char *text = c->env[MXO_SEL_ENV_VLLM_FLASHINFER_MOE_BACKEND];

    *failure = (mxo_sel_failure){.error = MXO_SEL_ERROR_NONE};
    for (int i = 0; allow_flashinfer && text != NULL && i < 2; i++) {
        if (strcmp(words[i].word, text) == 0) {
            return words[i].experts;
        }
    }
    failure->error = MXO_SEL_ERROR_NVFP4;
    return MXO_SEL_EXPERTS_NONE;
}

mxo_sel_prepare mxo_select_nvfp4_prepare(const mxo_select_config *c)
{
    return (mxo_sel_prepare){
        .use_dp = c->parallel.dp_size > 1,
        .use_nvfp4 = 1,
        .enable_alltoallv =
            strcmp(c->parallel.all2all_backend, "flashinfer_all2allv") == 0};
}
