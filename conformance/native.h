/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors in this program's own terms: op and params are those of a case,
 * tensors are in.<name> and out.<name>.  verify judges them without a row.
 */
#ifndef MXO_NATIVE_H
#define MXO_NATIVE_H

#include "casetext.h"
#include "tensors.h"

/* Write a case's inputs, and its outputs if out is not NULL. 0, or -1 and a
   sentence; the path then holds what it held before. */
int native_write(const char *path, const test_case *c, uint64_t seed,
                 const tensor_set *in, const tensor_set *out, mxo_text why);

/* What the emulator answers, appended to out. 0, or -1 and a sentence. */
int native_outputs(const test_case *c, const tensor_set *in, tensor_set *out,
                   mxo_text why);

#endif
