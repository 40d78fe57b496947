/* SPDX-License-Identifier: Apache-2.0 */
/* A call of moe.nvfp4_layer or of a half of it as numbers. */
#ifndef CPU_MOE_NVFP4_H
#define CPU_MOE_NVFP4_H

#include "layer.h"
#include "quant/quant_nvfp4.h"

enum { BLOCK = CPU_NVFP4_BLOCK, MOST_K = 1 << 18, N_GLOBALS = 4 };

typedef struct fp4 {
    layer base; /* experts, unit, sum: as moe.layer has them */
    const cpu_nvfp4 *quant;
    const cpu_nvfp4 *requant;
    int is_raw;
    int is_seq;
    const uint8_t *w13, *s13, *w2, *s2;
    const mxo_tensor *x, *act;
    float *result; /* [slots, 2 inter], [slots, inter] or [slots, hidden] */
    int failed;
} fp4;

/* Sizes, tensors and choices; nothing is written. */
mxo_status cpu_fp4_read(fp4 *f, mxo_text why);
/* Global scales, and the unit of every expert. */
mxo_status cpu_fp4_check(const fp4 *f, mxo_text why);
float cpu_fp4_global(const fp4 *f, const char *name, size_t i);
/* The activation of an expert: raw constants are the loader's quotients. */
cpu_glu cpu_fp4_unit(const fp4 *f, size_t e);

#endif
