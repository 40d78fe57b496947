/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that one class of experts has for itself, before or after those that
 * all classes share.  A flag of its row says which.
 */
#include "rules.h"

#include <stddef.h>
#include <string.h>

/* Not given is NaN, which is equal to nothing. */
static int is_number(double x, double wanted)
{
    return x >= wanted && x <= wanted;
}

static int is_given(double x)
{
    return is_number(x, x);
}

static mxo_sel_reason b12x_operands(const mxo_select_config *c, unsigned key)
{
    if (c->has_bias) {
        return MXO_SEL_BECAUSE_B12X_BIAS;
    }
    if (c->in_dtype == MXO_SEL_DTYPE_f32) {
        return MXO_SEL_BECAUSE_B12X_DTYPE;
    }
    if (c->activation == MXO_SEL_ACT_situ &&
        (!is_number(c->situ_beta, 4) || !is_number(c->situ_linear_beta, 25))) {
        return MXO_SEL_BECAUSE_B12X_SITU;
    }
    if (key != MXO_SEL_KEY_NONE &&
        c->activation == MXO_SEL_ACT_swigluoai_uninterleave) {
        return MXO_SEL_BECAUSE_B12X_UNINTERLEAVE;
    }
    return MXO_SEL_BECAUSE_NONE;
}

static mxo_sel_reason b12x_reason(const mxo_select_config *c, unsigned key)
{
    const mxo_sel_reason reason = b12x_operands(c, key);
    const int64_t rows = c->intermediate_unpadded != 0
                             ? c->intermediate_unpadded
                             : c->intermediate;

    if (reason != MXO_SEL_BECAUSE_NONE) {
        return reason;
    }
    if (rows % 32 != 0) {
        return MXO_SEL_BECAUSE_B12X_INTERMEDIATE;
    }
    if (key != MXO_SEL_KEY_kMxfp8Dynamic) {
        return MXO_SEL_BECAUSE_NONE;
    }
    if (c->activation != MXO_SEL_ACT_silu &&
        c->activation != MXO_SEL_ACT_situ) {
        return MXO_SEL_BECAUSE_B12X_W4A8;
    }
    return c->hidden % 256 != 0 || c->intermediate % 32 != 0
               ? MXO_SEL_BECAUSE_B12X_W4A8_SIZES
               : MXO_SEL_BECAUSE_NONE;
}

mxo_sel_reason sel_own_before(const mxo_select_config *c, const sel_class *k,
                              unsigned key)
{
    if ((k->flags & SEL_QUARK) != 0 &&
        (c->libraries >> MXO_SEL_LIB_quark & 1) == 0) {
        return MXO_SEL_BECAUSE_QUARK;
    }
    return (k->flags & SEL_B12X) != 0 ? b12x_reason(c, key)
                                      : MXO_SEL_BECAUSE_NONE;
}

const char *sel_humming_own(const sel_class *k)
{
    return (k->flags & SEL_BATCHED) != 0   ? "grouped_masked"
           : (k->flags & SEL_GROUPED) != 0 ? "grouped_contiguous"
                                           : "indexed";
}

const char *sel_humming_kind(const mxo_select_config *c)
{
    const char *text = c->env[MXO_SEL_ENV_VLLM_HUMMING_MOE_GEMM_TYPE];
    const int is_grouped =
        text != NULL && (sel_equals_lower(text, "grouped") ||
                         sel_equals_lower(text, "grouped_contiguous"));

    if (is_grouped) {
        return "grouped_contiguous";
    }
    if (!sel_has(c, sel_rules(c)->switches.humming_kinds)) {
        return "indexed";
    }
    if (text == NULL || sel_equals_lower(text, "auto")) {
        return c->parallel.use_ep ? "grouped_contiguous" : "indexed";
    }
    return text; /* printed in lower case */
}

/* Whether any condition of the megakernel's list refuses it. */
static int refuses_moe_ep(const mxo_select_config *c)
{
    return c->skip_final_all_reduce || c->in_dtype != MXO_SEL_DTYPE_bf16 ||
           c->has_bias || is_given(c->swiglu_alpha) ||
           is_given(c->swiglu_beta) ||
           (strcmp(c->moe_backend, "flashinfer_moe_ep_mega_deep_gemm") == 0 &&
            c->routing != MXO_SEL_ROUTING_DeepseekV4);
}

/* moe_align_block_size pads the number of experts to 32. */
static int has_many_experts(const mxo_select_config *c)
{
    const unsigned asked =
        1u << MXO_SEL_PLATFORM_cuda | 1u << MXO_SEL_PLATFORM_rocm;

    return (asked >> c->platform & 1) != 0 &&
           (c->num_experts + 31) / 32 * 32 >= 1024;
}

mxo_sel_reason sel_own_after(const mxo_select_config *c, const sel_class *k)
{
    if ((k->flags & SEL_FEW_EXPERTS) != 0 && has_many_experts(c)) {
        return MXO_SEL_BECAUSE_MANY_EXPERTS;
    }
    if ((k->flags & SEL_HUMMING_KIND) != 0 &&
        !sel_equals_lower(sel_humming_kind(c), sel_humming_own(k))) {
        return MXO_SEL_BECAUSE_HUMMING_KIND;
    }
    return (k->flags & SEL_MOE_EP) != 0 && refuses_moe_ep(c)
               ? MXO_SEL_BECAUSE_MOE_EP
               : MXO_SEL_BECAUSE_NONE;
}
