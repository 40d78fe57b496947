/* SPDX-License-Identifier: Apache-2.0 */
/* A block of 16 numbers under an E4M3 byte and a global scale, natively. */
#ifndef CPU_QUANT_NVFP4_H
#define CPU_QUANT_NVFP4_H

#include <stdint.h>

enum { CPU_NVFP4_BLOCK = 16, CPU_NVFP4_MOST = 32 };

/* A rule, and what quant.nvfp4 may change of it. */
typedef struct cpu_nvfp4 {
    const char *name;
    uint8_t (*block)(const struct cpu_nvfp4 *rule, float global, const float *x,
                     uint8_t *code);
    float (*rcp)(float x); /* the kernel's reciprocal */
    int n;                 /* elements of a block */
    int is_e8m0;           /* the type of the scale */
} cpu_nvfp4;

/* fast, ieee, exact, vllm, trtllm_gen, from_e4m3; NULL for other names. */
const cpu_nvfp4 *cpu_nvfp4_of(const char *name);
/* 1 / x, rounded once and flushed, in place of Hopper's instruction. */
float cpu_nvfp4_inverse(float x);
/* Codes one per byte; returns the scale. */
uint8_t cpu_nvfp4_block(const cpu_nvfp4 *rule, float global, const float *x,
                        uint8_t *code);
/* A scale byte without its sign, as a multiple of 2^-9; -1: NaN. */
int32_t cpu_nvfp4_scale(uint8_t byte);

#endif
