/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated units as kernels compute them, one float operation at a time; a row
 * per dialect says which operations, in which order.
 */
#ifndef CPU_GLU_STEPS_H
#define CPU_GLU_STEPS_H

#include "act.h"
#include "isa/isa_ops.h"

typedef struct cpu_steps cpu_steps; /* a row */

/* NULL if this backend has no such dialect. */
const cpu_steps *cpu_steps_of(const char *name);
/* Treatment of a NaN by the clamp, unless the caller names another. */
uint8_t cpu_steps_nan(const cpu_steps *row);
/* 1 if beta must be 0 or 1. */
int cpu_steps_two_way(const cpu_steps *row);
/* 1 if it has a scale, which is positive; 0 stands for 1. */
int cpu_steps_scaled(const cpu_steps *row);
/* 1 if a negative limit is a way of having none. */
int cpu_steps_any_limit(const cpu_steps *row);

/* gate and up are overwritten; n <= CPU_RUN, room for a multiple of 16. */
void cpu_steps_run(const cpu_steps *row, const cpu_glu *c, uint32_t from,
                   const cpu_isa_ops *lane, float *gate, float *up, uint32_t n);

/* e^x by the polynomial of vLLM's CPU kernels. */
float cpu_exp_u20(float x);

#endif
