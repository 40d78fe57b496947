/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that a subject makes beside the one that is judged.  Between the
 * uploads and the last run: the same operation with other sizes and constants,
 * or other words, on noise; where inputs are of the same types and sizes, on
 * the call's own bytes.  What a subject keeps of a call, and takes for that
 * of another, is spoilt by it.  Behind a capture, and behind the call while it
 * waits: a larger one on its own bytes repeated.  Memory that grows then is not
 * where the graph or the call that waits had it.
 */
#ifndef MXO_OTHER_CALL_H
#define MXO_OTHER_CALL_H

#include "judge.h"

typedef struct other_call {
    test_case c;
    mxo_param params[OP_MAX_PARAMS];
    tensor_set in;
    tensor_set out;
    op_call call;
} other_call;

typedef struct other_calls {
    other_call other;
    other_call larger[N_LARGER];
} other_calls;

/* Those that there are, and that are worth their time: the subject knows them
   until they are cleared. */
void other_calls_make(judge *j, const test_case *c, const tensor_set *in,
                      other_calls *o);
void other_calls_clear(judge *j, other_calls *o);

#endif
