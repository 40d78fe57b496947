/* SPDX-License-Identifier: Apache-2.0 */
/* A user's function asked once, fast, and judged where it is wrong. */
#ifndef MXO_FUZZ_CALL_H
#define MXO_FUZZ_CALL_H

#include "base/tensors.h"
#include "case/case_text.h"

#include <mxoracle/fuzz.h>

/* The emulator's bytes, no input changed?  1 too where the emulator refuses
   the call or the function passes it over. */
int call_is_right(const test_case *c, const tensor_set *in,
                  mxo_fuzz_function function);

/* By the judge: if it is red the block of mxoracle run, and abort(). */
void call_judge(const test_case *c, uint64_t seed, mxo_fuzz_function function);

#endif
