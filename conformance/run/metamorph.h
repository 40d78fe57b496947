/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relations between two answers of one backend, whoever is right: an
 * expert's number, a token's place, the tokens beside it, the room behind them
 * and the machines that experts and columns lie on change no bit of an
 * order-free layer, or none beyond what an exponential of the kernel's own is
 * off by; what was quantised is not changed by quantising it.
 */
#ifndef MXO_METAMORPH_H
#define MXO_METAMORPH_H

#include "judge/judge.h"

/* A case that passed, its inputs and both answers; all borrowed. */
typedef struct first_call {
    judge *j;
    const test_case *c;
    const tensor_set *checkpoint; /* the inputs before a loader had them */
    const tensor_set *in;
    const tensor_set *want; /* the oracle's */
    const tensor_set *got;  /* the subject's */
} first_call;

/* v becomes a failure if a property does not hold.  Cases of other kinds are
   left as they are. */
void metamorph_check(const first_call *first, verdict *v);

#endif
