/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that the oracle refuses: so must the subject, with a status that says
 * whose fault it is and a sentence, and before anything is written.  It is
 * given all that a good call would have, lest it refuse for want of that.
 */
#ifndef MXO_REFUSAL_H
#define MXO_REFUSAL_H

#include "judge/judge.h"

/* The oracle gave this status and sentence. out: what infer() gave; empty if
   it was infer() that refused. */
void refusal_judge(judge *j, const test_case *c, const op_call *call,
                   tensor_set *out, mxo_status status, const char *sentence,
                   verdict *v);

/* A case of an invalid call, made from these inputs. */
void refusal_judge_invalid(judge *j, const test_case *c, tensor_set *in,
                           verdict *v);

#endif
