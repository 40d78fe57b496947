/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold between two answers of one backend, whoever is right: an
 * expert's number, a token's place, the tokens beside it, the room behind them
 * and the machines that experts and columns lie on change no bit of an
 * order-free layer; what was quantised is not changed by quantising it.
 */
#ifndef MXO_METAMORPH_H
#define MXO_METAMORPH_H

#include "judge.h"

/* For a case that passed, and its inputs and outputs; v becomes a failure if
   a property does not hold.  Cases of other kinds are left as they are. */
void metamorph_check(judge *j, const test_case *c, const tensor_set *in,
                     const tensor_set *want, verdict *v);

#endif
