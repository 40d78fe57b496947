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
    glu_nan nan;
    const number_format *from; /* types of the operands and of the result */
    const number_format *to;
} glu_steps;

/* The row of a call's dialect; -1: not one that goes by steps. */
int broken_steps_of(const mxo_call *call);
dd broken_by_steps(const broken *b, int dialect, const glu_steps *given);

#endif
