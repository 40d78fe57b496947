/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call that a subject makes between the uploads and the last run of the one
 * that is judged: the same operation with other sizes and constants, or other
 * words, on noise.  What a subject keeps of a call, and takes for that of
 * another, is spoilt by it.
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

/* 0, and the subject knows what it has others of; or -1: there is no such call,
   or it is not worth its time.  Clear it either way. */
int other_call_make(judge *j, const test_case *c, const tensor_set *in,
                    other_call *o);
void other_call_clear(other_call *o);

#endif
