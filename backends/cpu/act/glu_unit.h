/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gated unit: which one, of which constants, from and to which type.  Used
 * by act.glu on tensors and by the layer on panels.
 */
#ifndef CPU_GLU_UNIT_H
#define CPU_GLU_UNIT_H

#include "cpu.h"
#include "glu_steps.h"

typedef struct cpu_glu_unit {
    const cpu_steps *steps; /* NULL: exact */
    cpu_glu base;
    uint32_t from;
} cpu_glu_unit;

typedef union cpu_codes {
    uint16_t u16[CPU_RUN];
    float f32[CPU_RUN];
} cpu_codes;

/* The dialect of a name and what it does with a NaN; -1: not here. */
int cpu_glu_dialect(cpu_glu_unit *unit, const char *name);
/* Replace the clamp's treatment of a NaN, unless the word is dialect; -1 for an
   unknown word. */
int cpu_glu_nan(cpu_glu_unit *unit, const char *word);
/* Constants the dialect cannot have: a sentence and a status. */
mxo_status cpu_glu_check(const cpu_glu_unit *unit, const cpu_glu *c,
                         mxo_text why);
/* The exact unit; n <= CPU_RUN, room for a multiple of 16.  From BF16 n is one,
   and c->to is no float. */
void cpu_glu_exact(const cpu_glu *c, const cpu_isa_ops *lane,
                   const cpu_glu_operands *x, uint32_t n, cpu_codes *out);
/* gate and up may be overwritten; n <= CPU_RUN, room for a multiple of 16. */
void cpu_glu_run(const cpu_glu_unit *unit, const cpu_glu *c,
                 const cpu_isa_ops *lane, float *gate, float *up, uint32_t n,
                 cpu_codes *out);

#endif
