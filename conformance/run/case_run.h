/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One case from its seed to an explained verdict: inputs, the judge, what must
 * hold between calls, and the words for a red one.
 */
#ifndef MXO_CASE_RUN_H
#define MXO_CASE_RUN_H

#include "judge/judge.h"

/* v is filled in whatever happens; verdict_clear() it.  Data on which no work
   would look the same are drawn again; if none are better, the case is
   skipped. */
void case_run(judge *j, const test_case *c, uint64_t seed, verdict *v);

/* The same on given inputs, one call; want and got are empty sets that receive
   the answers of the oracle and of the subject. */
void case_run_inputs(judge *j, const test_case *c, const tensor_set *in,
                     tensor_set *want, tensor_set *got, verdict *v);

#endif
