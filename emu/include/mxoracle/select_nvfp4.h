/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVFP4 path beside the MXFP4 oracle: which FlashInfer class multiplies
 * NVFP4 experts, and which of them is there at all.  One page of vLLM
 * (quantization/utils/flashinfer_fp4_moe.py, late 2025) decides it by two
 * variables; it has one version, so config.version is not looked at.
 */
#ifndef MXORACLE_SELECT_NVFP4_H
#define MXORACLE_SELECT_NVFP4_H

#include <mxoracle/select.h>

#ifdef __cplusplus
extern "C" {
#endif

/** FlashInfer's two NVFP4 kernels. */
typedef enum mxo_sel_nvfp4 {
    MXO_SEL_NVFP4_CUTLASS, /* is_flashinfer_fp4_cutlass_moe_available */
    MXO_SEL_NVFP4_CUTEDSL  /* is_flashinfer_fp4_cutedsl_moe_available */
} mxo_sel_nvfp4;

/**
 * @brief Can the kernel be used here?
 *
 * Map      VLLM_USE_FLASHINFER_MOE_FP4 and its library and CUDA and the
 *          capability: 10.0 or more (CUTLASS), 10.0 itself (CuteDSL).
 * Needs    the variable unset counts as 0.
 * Errors   0 and failure if the variable is malformed.
 * Threads  pure and re-entrant.
 * Source   vLLM flashinfer_fp4_moe.py, functions of those names
 */
MXO_EXPORT int mxo_select_nvfp4_available(const mxo_select_config *c,
                                          mxo_sel_nvfp4 kernel,
                                          mxo_sel_failure *failure);

/**
 * @brief select_nvfp4_gemm_impl: the class of experts.
 *
 * Map      with allow_flashinfer VLLM_FLASHINFER_MOE_BACKEND chooses:
 *          "masked_gemm" FlashInferCuteDSLExperts, "throughput"
 *          FlashInferExperts; anything else is the error.
 * Needs    the variable set: its default is not on the page, so that unset
 *          counts as another word.
 * Errors   none and failure.
 * Source   vLLM flashinfer_fp4_moe.py select_nvfp4_gemm_impl
 */
MXO_EXPORT mxo_sel_experts mxo_select_nvfp4(const mxo_select_config *c,
                                            int allow_flashinfer,
                                            mxo_sel_failure *failure);

/** Arguments of create_flashinfer_prepare_finalize. */
typedef struct mxo_sel_prepare {
    int use_dp, use_nvfp4, enable_alltoallv;
} mxo_sel_prepare;

/**
 * @brief build_flashinfer_fp4_cutlass_moe_prepare_finalize: its arguments.
 *
 * Map      use_dp: more than one data-parallel rank; use_nvfp4: always;
 *          enable_alltoallv: the all-to-all is "flashinfer_all2allv".
 * Needs    a configuration that mxo_select_check accepts.
 * Threads  pure and re-entrant.
 * Source   vLLM flashinfer_fp4_moe.py, function of that name
 */
MXO_EXPORT mxo_sel_prepare mxo_select_nvfp4_prepare(const mxo_select_config *c);

#ifdef __cplusplus
}
#endif
#endif
