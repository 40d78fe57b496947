/* SPDX-License-Identifier: Apache-2.0 */
/* The gated unit in the steps of a kernel, for act.c. */
#ifndef BROKEN_ACT_STEPS_H
#define BROKEN_ACT_STEPS_H

#include "broken.h"

/* What a clamp makes of a NaN: as the dialect does, the NaN, the limit, or of
   an up minus the limit. */
typedef enum glu_nan {
    GLU_NAN_DIALECT,
    GLU_NAN_THROUGH,
    GLU_NAN_HIGH,
    GLU_NAN_LOW
} glu_nan;

typedef struct glu_steps {
    float gate, up;
    float alpha, beta, limit; /* limit INFINITY: none */
    float linear, scale;      /* SiTU's second beta, 0: none; trtllm_gen's */
    int has_limit;            /* an infinite one was handed over */
    glu_nan nan;
    const number_format *from; /* types of the operands and of the result */
    const number_format *to;
} glu_steps;

#define LOG2_E 0x1.715476p0F /* RN32 */

/* A number rounded to a format, by way of its codes. */
float broken_narrow(const number_format *f, float x);
float broken_exp2(float t);
/* 1 + e^-t */
float broken_denominator(float t);
/* Both clamped, where there is a limit; both rounded to a format. */
glu_steps broken_clamped(const glu_steps *s);
glu_steps broken_in_type(const number_format *f, const glu_steps *s);
/* 1 / (1 + 2^(-x log2 e)) */
float broken_flydsl(float x);

/* act_situ.c: one kernel each. */
float broken_situ(const broken *b, const glu_steps *s);
float broken_situ_b12x(const broken *b, const glu_steps *s);
float broken_situ_vllm(const broken *b, const glu_steps *s);
float broken_situ_aiter(const broken *b, const glu_steps *s);
float broken_situ_flashinfer(const broken *b, const glu_steps *s);
float broken_situ_mega(const broken *b, const glu_steps *s);
float broken_mega(const broken *b, const glu_steps *s);

/* act_wide.c: steps that round to binary64 each. */
typedef struct glu_wide {
    double gate, up;
    double alpha, beta, limit; /* limit INFINITY: none */
    glu_nan nan;
} glu_wide;

/* The row of a call's dialect; -1: its results in binary64 are widened. */
int broken_wide_of(const mxo_call *call);
dd broken_wide(const broken *b, int dialect, const glu_wide *given);

/* The row of a call's dialect; -1: not one that goes by steps. */
int broken_steps_of(const mxo_call *call);
dd broken_by_steps(const broken *b, int dialect, const glu_steps *given);

#endif
