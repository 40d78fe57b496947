/* SPDX-License-Identifier: Apache-2.0 */
/* Make a legal call invalid as its case says; see case_invalid.h. */
#ifndef MXO_FLAW_H
#define MXO_FLAW_H

#include "base/tensors.h"
#include "case/case_invalid.h"

/* A call in the making: everything is changed in place. */
typedef struct flaw_call {
    tensor_set *in;
    tensor_set *out;
    mxo_param *params; /* room for one more than n_params */
    uint32_t n_params;
} flaw_call;

/* 0, or -1 and a sentence: the flaw changes nothing, or memory is short. */
int flaw_apply(const test_case *c, flaw_call *call, mxo_text why);

/* The case with the dimension that the flaw changes; as it was for others. */
void flaw_resize(const test_case *c, test_case *changed);

#endif
