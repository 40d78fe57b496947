/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of a case.  A buffer's bytes depend on the seed, the canonical case
 * and the tensor's name, and on nothing else: order, filters and workers
 * cannot change them.  What each kind of data means for an operation is a row
 * in cases/<family>.c.
 */
#ifndef MXO_FILL_H
#define MXO_FILL_H

#include "base/tensors.h"
#include "case/family.h"

/* Append every input of the case to in. 0, or -1 and a sentence.  Tensors that
   a loader lays out are the checkpoint's. */
int fill_checkpoint(const test_case *c, uint64_t seed, tensor_set *in,
                    mxo_text why);
/* The same as the call has them (fill_loaded.h). */
int fill_inputs(const test_case *c, uint64_t seed, tensor_set *in,
                mxo_text why);

/* 0, or -1 and a sentence: the inputs need more memory than there is. */
int fill_check_memory(const test_case *c, mxo_text why);
/* Bytes of all inputs; at most 2^62. */
uint64_t fill_bytes(const test_case *c);

#endif
