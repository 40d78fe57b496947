/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the subject, its outputs described by the oracle. */
#ifndef MXO_VECTORS_INVOKE_H
#define MXO_VECTORS_INVOKE_H

#include "findings.h"
#include "judge/judge.h"

/*
 * Compute out, which gets the tensors that the oracle infers. SHAPE if their
 * bytes together exceed limit; UNSUPPORTED if the subject does not do it,
 * PARAM if the oracle does not; DEVICE if its process is gone, which the next
 * call starts again. Findings of the two runs are added to the
 * findings.
 */
MXO_MUST_CHECK mxo_status invoke(judge *j, const test_case *c,
                                 const tensor_set *in, uint64_t limit,
                                 tensor_set *out, findings *f, mxo_text why);

#endif
