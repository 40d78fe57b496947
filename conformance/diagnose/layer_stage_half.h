/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One half of a layer that is wrong: its quantiser, its GEMM and what follows
 * that, each judged on the oracle's bytes.
 */
#ifndef MXO_STAGE_HALF_H
#define MXO_STAGE_HALF_H

#include "data/gemm_probe_inputs.h"
#include "judge/judge.h"

/* The stages of one half of the layer: what comes before its GEMM, the GEMM,
   and what follows it in the same operation. */
typedef enum stage_id { BEFORE, GEMM, BEHIND, N_STAGES } stage_id;

typedef enum finding_kind { ABSENT, OPEN, RIGHT, WRONG } finding_kind;

typedef struct finding {
    finding_kind kind;
    int is_whole;   /* wrong, or what comes before it in the operation is */
    int is_vacuous; /* open, because no work would look the same */
    char says[512]; /* why it is wrong or open, or the rule */
} finding;

typedef struct stage_half {
    const evidence *e;
    const probe_half *p;
    const char *const *name;
    const tensor_set *in; /* the oracle's */
    const char *from;     /* type of the activations */
    int is_right;         /* the GEMM with what comes before it, on them */
    finding found[N_STAGES];
} stage_half;

/* Inputs of the half's operation, from the layer's own and the activation's
   output; an empty set if there are none. */
void stage_half_inputs(tensor_set *in, const stage_half *h,
                       const host_tensor *act);
/* The oracle's outputs for them; an empty set if it has none. */
void stage_half_gives(const stage_half *h, tensor_set *out);

/* Fill in what is found. */
void stage_half_judge(stage_half *h);

#endif
