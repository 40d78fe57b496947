/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of dequant.mx as flags of its kernels. */
#ifndef GPU_DEQUANT_RULES_H
#define GPU_DEQUANT_RULES_H

#include "ops/dequant.h"

/* docs/ops/dequant.mx.md says where each rule was found. */
enum { TO_F32 = 1, TO_BF16 = 2, TO_F16 = 4, TO_ANY = 7 };

static const struct {
    const char *name;
    uint32_t flags;
    uint32_t formats; /* TO_..., a sum */
} dequant_rules[] = {
    {"ocp", 0, TO_ANY},
    {"shift", DEQUANT_ZERO | DEQUANT_INF, TO_ANY},
    {"triton35_torch", DEQUANT_ZERO | DEQUANT_INF, TO_ANY},
    {"triton36_torch", DEQUANT_ZERO | DEQUANT_INF | DEQUANT_CLAMP, TO_ANY},
    {"triton35_kernel", DEQUANT_ZERO | DEQUANT_NARROW, TO_ANY},
    {"triton36_kernel", DEQUANT_ZERO | DEQUANT_NARROW | DEQUANT_CLAMP, TO_ANY},
    {"triton_subnormal", DEQUANT_NARROW | DEQUANT_CLAMP, TO_ANY},
    {"triton_matmul", DEQUANT_ZERO | DEQUANT_INF, TO_BF16},
    {"quark_hip", DEQUANT_INF | DEQUANT_NARROW | DEQUANT_CAP, TO_BF16 | TO_F16},
    {"quark_triton", DEQUANT_ZERO | DEQUANT_NARROW, TO_BF16 | TO_F16},
    {"vllm_cpu", DEQUANT_WRAP, TO_BF16},
    {"marlin", DEQUANT_ZERO | DEQUANT_INF, TO_BF16},
    {"vllm_mxfp8", DEQUANT_INF, TO_BF16},
    {"ldexp", DEQUANT_INF | DEQUANT_NARROW, TO_ANY},
    {"ocp_bf16", DEQUANT_ROUNDED, TO_BF16},
    {"xpu", DEQUANT_ZERO | DEQUANT_INF | DEQUANT_NARROW, TO_BF16 | TO_F16},
    {"ggml", DEQUANT_POWER | DEQUANT_POSITIVE, TO_F32},
};

#endif
