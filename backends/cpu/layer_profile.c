/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profiles mean, as docs/profiles.md says it: a row per profile, a word
 * per fact, in the order of layer_field.  U is a fact nobody states.
 */
#include "layer.h"

#include <string.h>

#define U "unknown"

typedef struct profile {
    const char *name;
    const char *word[LAYER_N_FIELDS];
} profile;

static const char *const keys[LAYER_N_FIELDS] = {
#define LAYER_FIELD(id, key) key,
    LAYER_FIELDS
#undef LAYER_FIELD
};

/* clang-format off */
static const profile profiles[] = {
    {"FLASHINFER_TRTLLM_MXFP4_MXFP8",
     {U, U, U, "f32",
      "quant.mx", "e4m3fn", "flashinfer", "32", U,
      "acc", U,
      "trtllm", "trtllm", "trtllm", "config", "config", "config", U,
      U, "sum", "bf16", "bf16",
      "fma", "bf16", "skip"}},
    {"FLASHINFER_TRTLLM_MXFP4_BF16",
     {U, U, U, "f32",
      "none", "none", "none", "0", "none",
      "acc", U,
      "trtllm", "trtllm", "trtllm", "config", "config", "config", "bf16",
      U, "sum", "bf16", "bf16",
      "fma", "bf16", "skip"}},
    {"FLASHINFER_CUTLASS_MXFP4_MXFP8",
     {U, U, U, "bf16",
      "quant.mx", "e4m3fn", "flashinfer", "32", "same",
      "acc", U,
      "trtllm", U, U, "1.702", "1", "7", "bf16",
      U, "sum", U, U,
      U, "bf16", U}},
    {"FLASHINFER_CUTLASS_MXFP4_BF16",
     {"shift", "block", "block32", "bf16",
      "none", "none", "none", "0", "none",
      "acc", U,
      "trtllm", U, U, "1.702", "1", "7", "bf16",
      U, "sum", U, U,
      U, "bf16", U}},
    {"FLASHINFER_TRTLLM_NVFP4",
     {U, U, U, "f32",
      "quant.nvfp4", "e2m1", "fast", "16", U,
      "none", U,
      "none", "trtllm", "none", "1", "0", "none", U,
      "none", "sum", "bf16", "bf16",
      "fma", "bf16", "skip"}},
    {"TRITON",
     {"triton_matmul", "weight", "any", "f32",
      "none", "none", "none", "0", "none",
      "acc", "f32",
      "triton", "none", "none", "1.702", "1", "7", "bf16",
      "acc", "acc", "bf16", "bf16",
      "slots", "bf16", "skip"}},
    {"TRITON_UNFUSED",
     {"triton_matmul", "weight", "any", "f32",
      "none", "none", "none", "0", "none",
      "acc", "bf16",
      "vllm_swigluoai", "vllm_silu", "vllm_swiglu_limit", "config", "1", "config", "bf16",
      "acc", "acc", "bf16", "bf16",
      "moe_sum", "bf16", U}},
    {"AITER_MXFP4_FP8",
     {U, U, U, "f32",
      "quant.static", "e4m3fn", U, "0", U,
      U, U,
      U, "none", "none", "1.702", "1", "7", U,
      U, U, U, U,
      U, U, U}},
    {"MARLIN",
     {"marlin", "weight", "any", "bf16",
      "none", "none", "none", "0", "none",
      "rounded", "bf16",
      "vllm_swigluoai", "vllm_silu", "vllm_swiglu_limit", "1.702", "1", "7", "bf16",
      "rounded", "rounded", "bf16", "bf16",
      "moe_sum", "bf16", "zero"}},
    {"BATCHED_MARLIN",
     {"marlin", "weight", "any", "bf16",
      "none", "none", "none", "0", "none",
      "rounded", "bf16",
      "vllm_swigluoai", "vllm_silu", "vllm_swiglu_limit", "1.702", "1", "7", "bf16",
      "rounded", U, U, "bf16",
      U, "bf16", U}},
    {"DEEPGEMM_MXFP4",
     {"ocp", "weight", "any", "bf16",
      "quant.group", "e4m3fn", "vllm_group", "128", "same",
      "none", "bf16",
      "none", "vllm_packed", "vllm_packed", "1", "0", "config", "bf16",
      "none", "sum", U, "bf16",
      U, "bf16", "skip"}},
    {"HUMMING",
     {U, U, U, "bf16",
      "none", "none", "none", "0", "none",
      U, "bf16",
      "vllm_swigluoai", U, "vllm_swiglu_limit", "1.702", "1", "7", "bf16",
      U, "sum", "f32", "bf16",
      "fma", "bf16", "zero"}},
    {"CPU",
     {"vllm_cpu", "weight", "cpu", "f32",
      "none", "none", "none", "0", "none",
      "order", "down",
      "cpu_swiglu", "cpu_silu", "cpu_silu", "config", "1", "config", "bf16",
      "order", "rounded", "f32", "down",
      "cpu", "bf16", U}},
    {"XPU",
     {U, U, U, "bf16",
      "quant.mx", "e2m1", U, "32", U,
      U, U,
      U, U, U, U, U, U, U,
      U, U, U, U,
      U, U, U}},
    {"EMULATION",
     {"quark_hip", "weight", "any", "f32",
      "quant.qdq", "e2m1", "quark_hip", "32", "same",
      "acc", "bf16",
      "vllm_swigluoai", "vllm_silu", "vllm_silu", "1.702", "1", "7", "bf16",
      "acc", "acc", "f32", "bf16",
      "moe_sum", "bf16", U}},
    {"NONE",
     {U, U, U, U,
      U, U, U, U, U,
      U, U,
      U, U, U, U, U, U, U,
      U, U, U, U,
      U, U, U}},
    {"exact",
     {"ocp", "weight", "exact", "f32",
      "none", "none", "none", "0", "none",
      "order", "f32",
      "exact", "exact", "exact", "config", "config", "config", "bf16",
      "order", "sum", "f32", "f32",
      "exact", "bf16", "skip"}},
    {"AITER_MXFP4_BF16",
     {U, "weight", "any", "f32",
      "none", "none", "none", "0", "none",
      "acc", "f32",
      U, U, U, "1.702", "1", U, "bf16",
      "acc", "acc", "f32", "bf16",
      "atomic_bf16", "bf16", "skip"}},
    {"AITER_MXFP4_MXFP4",
     {U, "weight", "any", "f32",
      "quant.mx", "e2m1", "aiter_dynamic", "32", U,
      "none", "f32",
      U, U, U, "1.702", "1", U, U,
      "none", "acc", "f32", "bf16",
      "atomic_bf16", "bf16", "skip"}},
    {"CK",
     {U, "weight", "any", "f32",
      "none", "none", "none", "0", "none",
      "acc", "f32",
      U, U, U, "1.702", "1", U, "bf16",
      "acc", "acc", "f32", "bf16",
      "atomic_bf16", "bf16", "skip"}},
};
/* clang-format on */

const char *cpu_layer_key(layer_field field)
{
    return keys[field];
}

const char *cpu_layer_fact(const mxo_call *call, layer_field field)
{
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        if (cpu_is(call, "profile", profiles[i].name)) {
            return profiles[i].word[field];
        }
    }
    return U;
}

const char *cpu_layer_word(const mxo_call *call, layer_field field)
{
    const char *own = cpu_text(call, keys[field]);

    return own[0] == '\0' || strcmp(own, "profile") == 0
               ? cpu_layer_fact(call, field)
               : own;
}
