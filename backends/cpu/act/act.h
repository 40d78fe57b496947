/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations.  The real number of the formula is rounded once: lanes try
 * with a bound on their own error and give up near a rounding boundary, then
 * scalar double decides, then double-double.
 */
#ifndef CPU_ACT_H
#define CPU_ACT_H

#include <stdint.h>

/* Treatment of a NaN by a clamp. */
typedef enum cpu_nan {
    CPU_NAN_KEEP,
    CPU_NAN_LIMIT,    /* the limit */
    CPU_NAN_LOW_LIMIT /* gate: the limit; up: minus the limit */
} cpu_nan;

/* Constants of G * sigmoid(alpha G) * (V + beta); limit may be +Inf. */
typedef struct cpu_glu {
    float alpha;
    float beta;
    float limit;
    float linear;      /* SiTU's beta of the up half; 0: none */
    float scale;       /* multiplies gate and up; 0 stands for 1 */
    uint8_t nan;       /* cpu_nan */
    uint8_t no_mul;    /* sigmoid alone: the factor G is left out */
    uint8_t has_limit; /* of trtllm_gen: infinity is a limit, not none */
    uint32_t to;       /* mxo_dtype of the result */
} cpu_glu;

/* Gates and ups: floats; or BF16, a gate before each up, an up before each gate
   (up is not used), or apart. */
typedef enum cpu_glu_form {
    CPU_GLU_FLOATS,
    CPU_GLU_PAIRS,
    CPU_GLU_PAIRS_UP_FIRST,
    CPU_GLU_APART
} cpu_glu_form;

typedef struct cpu_glu_operands {
    cpu_glu_form form;
    const void *gate;
    const void *up;
} cpu_glu_operands;

/* Gate and up of an output. */
void cpu_glu_operand(const cpu_glu_operands *x, uint32_t i, float *gate,
                     float *up);

/* Code of the result for operands not yet clamped; every case there is. */
uint32_t cpu_glu_one(const cpu_glu *c, float gate, float up);
/* e^x rounded to the type to; 2^x rounded to float. */
uint32_t cpu_exp_one(float x, uint32_t to);
float cpu_exp2_one(float x);

enum { CPU_RUN = 512 }; /* elements per staging buffer, a multiple of 16 */

#endif
