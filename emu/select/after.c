/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consequences of a choice: the description of operands, the kernel object,
 * the byte order of weights; and the questions that only env-2025-08
 * answered.
 */
#include "rules.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *dtype; /* "fp8": e4m3 of the platform's flavour */
    const char *scheme;
    int16_t shape[2];
    uint8_t static_scale, drops_alpha_beta, from_layer, named_fp8, bare;
} quant_kinds[SEL_N_QUANTS] = {
    [SEL_QUANT_BF16] = {.scheme = "w_mxfp4"},
    [SEL_QUANT_MXFP4] = {.dtype = "mxfp4",
                         .scheme = "w_mxfp4_a_mxfp4",
                         .shape = {-1, -1}},
    [SEL_QUANT_MXFP8] = {.dtype = "mxfp8"},
    [SEL_QUANT_FP8_STATIC] = {.dtype = "fp8",
                              .scheme = "w_mxfp4_a_fp8",
                              .static_scale = 1,
                              .drops_alpha_beta = 1},
    [SEL_QUANT_FP8_BLOCK] = {.named_fp8 = 1, .shape = {128, 128}},
    [SEL_QUANT_NVFP4] = {.dtype = "nvfp4",
                         .shape = {-1, -1},
                         .drops_alpha_beta = 1,
                         .bare = 1},
    [SEL_QUANT_LAYER] = {.from_layer = 1},
};

void mxo_select_quant(const mxo_select_config *c, mxo_sel_backend backend,
                      mxo_sel_quant *out)
{
    const mxo_select_rules *rules = sel_rules(c);
    const sel_quant *row = &rules->quants[c->version][backend];
    const sel_device d = sel_device_of(c);
    const int fnuz = (d.gfx & rules->switches.fnuz_gfx) != 0;

    *out = (mxo_sel_quant){
        .from_layer = quant_kinds[row->kind].from_layer,
        .dtype = quant_kinds[row->kind].dtype,
        .shape = {quant_kinds[row->kind].shape[0],
                  quant_kinds[row->kind].shape[1]},
        .static_scale = quant_kinds[row->kind].static_scale,
        .scheme = quant_kinds[row->kind].scheme,
        .keeps_alpha_beta = !quant_kinds[row->kind].drops_alpha_beta,
        .mx_alignment = row->alignment,
        .is_scale_swizzled = !row->linear_scale,
        .has_gemm1_fields = sel_has(c, rules->switches.gemm1_fields),
        .drops_limit = quant_kinds[row->kind].bare,
        .bare_weights = quant_kinds[row->kind].bare};
    if (quant_kinds[row->kind].named_fp8) {
        out->dtype = fnuz ? "float8_e4m3fnuz" : "float8_e4m3fn";
    }
}

void mxo_select_kernel(const mxo_select_config *c, mxo_sel_backend backend,
                       mxo_sel_experts experts, mxo_sel_kernel *out)
{
    const mxo_select_rules *rules = sel_rules(c);
    const int flags = rules->backends[c->version][backend].flags;
    const uint32_t of_class = rules->classes[c->version][experts].flags;

    *out = (mxo_sel_kernel){
        .monolithic = (of_class & SEL_MONOLITHIC) != 0,
        .batched = (of_class & SEL_BATCHED) != 0,
        .inplace = !c->disable_inplace && (flags & SEL_IN_PLACE) != 0,
        .skip_forward_padding = (flags & SEL_SKIPS_PADDING) != 0,
        .needs_layer = (flags & SEL_NEEDS_LAYER) != 0,
        .marks_shuffled = (flags & SEL_SHUFFLED) != 0,
        .precision_configs = (flags & SEL_PRECISION) != 0,
        .has_unpadded_output = (flags & SEL_UNPADDED) != 0,
        .knows_inplace = !sel_has(c, rules->switches.gates_by_name)};
}

static const struct {
    const char *id;
    const char *text;
} conversions[SEL_N_CONVERSIONS] = {
#define MXO_CONVERSION(id_, text_) \
    [SEL_CONVERSION_##id_] = {"convert/" #id_, text_},
#include "conversions.def"
};

/* Errors of models other than gpt-oss that no conversion fits. */
static const mxo_sel_error unconverted[MXO_SEL_N_VERSIONS] = {
    [MXO_SEL_2026_11] = MXO_SEL_ERROR_CONVERT_2026_11,
    [MXO_SEL_2026_09] = MXO_SEL_ERROR_CONVERT_2026_09,
    [MXO_SEL_2026_07] = MXO_SEL_ERROR_CONVERT_2026_07,
    [MXO_SEL_2026_05] = MXO_SEL_ERROR_CONVERT,
    [MXO_SEL_2026_03] = MXO_SEL_ERROR_CONVERT_ANY,
    [MXO_SEL_2025_08] = MXO_SEL_ERROR_CONVERT_ANY};

/* Do the conditions of a row hold beside version, function and backend? */
static int converts(const mxo_select_config *c, const sel_convert *row,
                    const sel_device *d)
{
    const char *text = c->env[row->env];

    return sel_where_holds(&row->where, d) &&
           (row->ranks == 0 || c->parallel.tp_size <= row->ranks) &&
           (row->activations == 0 ||
            (row->activations >> c->activation & 1) != 0) &&
           (row->env == 0 ||
            (text != NULL && sel_equals_lower(text, row->value)));
}

const char *mxo_select_conversion(const mxo_select_config *c,
                                  mxo_sel_backend backend,
                                  mxo_sel_failure *failure)
{
    const sel_convert *rows = sel_rules(c)->converts;
    const sel_device d = sel_device_of(c);

    *failure = (mxo_sel_failure){.error = MXO_SEL_ERROR_NONE};
    for (int i = 0; i < SEL_MAX_CONVERTS && rows[i].id != 0; i++) {
        if (rows[i].version == c->version &&
            (rows[i].entries >> c->entry & 1) != 0 &&
            (rows[i].backends >> backend & 1) != 0 &&
            converts(c, &rows[i], &d)) {
            return conversions[rows[i].id].id;
        }
    }
    failure->error = c->entry == MXO_SEL_ENTRY_deepseek_v4
                         ? unconverted[c->version]
                         : MXO_SEL_ERROR_CONVERT_ANY;
    failure->last.backend = (uint8_t)backend;
    return NULL;
}

const char *mxo_select_conversion_text(const char *id)
{
    for (int i = 1; i < SEL_N_CONVERSIONS; i++) {
        if (strcmp(conversions[i].id, id) == 0) {
            return conversions[i].text;
        }
    }
    return NULL;
}

const char *mxo_select_conversion_at(int i)
{
    return i >= 0 && i + 1 < SEL_N_CONVERSIONS ? conversions[i + 1].id : NULL;
}

int mxo_select_can_support(uint32_t obstacles)
{
    return obstacles == 0;
}

mxo_sel_method mxo_select_method(void)
{
    return (mxo_sel_method){"mxfp4", 90, "torch.bfloat16", ""};
}

const char *mxo_select_quant_method(mxo_sel_layer layer, int is_ignored,
                                    mxo_sel_failure *failure)
{
    *failure = (mxo_sel_failure){.error = MXO_SEL_ERROR_NONE};
    switch (layer) {
    case MXO_SEL_LAYER_LINEAR:
        if (is_ignored) {
            return "UnquantizedLinearMethod";
        }
        failure->error = MXO_SEL_ERROR_LINEAR;
        return NULL;
    case MXO_SEL_LAYER_MOE:
        return "Mxfp4MoEMethod";
    case MXO_SEL_LAYER_ATTENTION:
        failure->error = MXO_SEL_ERROR_ATTENTION;
        return NULL;
    default:
        return NULL;
    }
}

void mxo_select_input_scales(mxo_sel_backend backend, int has_w13, int has_w2,
                             mxo_sel_failure *failure)
{
    const int needed = backend == MXO_SEL_BACKEND_AITER_MXFP4_FP8;

    *failure = (mxo_sel_failure){.error = needed && !(has_w13 && has_w2)
                                              ? MXO_SEL_ERROR_INPUT_SCALES
                                              : MXO_SEL_ERROR_NONE};
}

void mxo_select_gemm_impl(mxo_sel_failure *failure)
{
    *failure = (mxo_sel_failure){.error = MXO_SEL_ERROR_GEMM_IMPL};
}
