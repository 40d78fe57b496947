/* SPDX-License-Identifier: Apache-2.0 */
/* Make a legal call invalid as its case says; see case_invalid.h. */
#ifndef MXO_INVALID_CALL_H
#define MXO_INVALID_CALL_H

#include "base/tensors.h"
#include "case/case_invalid.h"

/* A call in the making: everything is changed in place. */
typedef struct invalid_call {
    tensor_set *in;
    tensor_set *out;
    mxo_param *params; /* room for one more than n_params */
    uint32_t n_params;
} invalid_call;

/* 0, or -1 and a sentence: it changes nothing, or memory is short. */
int invalid_call_make(const test_case *c, invalid_call *call, mxo_text why);

/* The case with the dimension that makes it invalid; as it was for others. */
void invalid_call_resize(const test_case *c, test_case *changed);

#endif
