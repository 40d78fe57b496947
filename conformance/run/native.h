/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors in this program's own terms: op and params are those of a case,
 * tensors are in.<name> and out.<name>.  verify judges them without a row.
 */
#ifndef MXO_NATIVE_H
#define MXO_NATIVE_H

#include "base/tensors.h"
#include "case/case_text.h"

/* The emulator's answer: names, types and shapes, bytes if it ran. */
typedef struct native_answer {
    tensor_set out;
    int has_bytes;
} native_answer;

/* Write a case's inputs, and its outputs if they have bytes; the metadata
   "outputs" names them in any case, "params_text" is what a subject gets.  0,
   or -1 and a sentence; the path then holds what it held before. */
int native_write(const char *path, const test_case *c, uint64_t seed,
                 const tensor_set *in, const native_answer *a, mxo_text why);

/* The outputs of a case, appended to out without their bytes.  0, or -1 and a
   sentence. */
int native_shapes(const test_case *c, const tensor_set *in, tensor_set *out,
                  mxo_text why);

/* Append the emulator's answer to out. 0, or -1 and a sentence. */
int native_outputs(const test_case *c, const tensor_set *in, tensor_set *out,
                   mxo_text why);

#endif
