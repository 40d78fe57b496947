/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a fuzzer's bytes to calls that mean something: an operation, legal
 * parameters, small shapes, data.  When the bytes run out a generator goes
 * on, so that short inputs reach everything.
 */
#ifndef MXO_FUZZ_INPUT_H
#define MXO_FUZZ_INPUT_H

#include "base/tensors.h"
#include "case/case_text.h"

typedef struct fuzz_input {
    const uint8_t *bytes;
    size_t n;
    uint64_t state;
} fuzz_input;

void input_start(fuzz_input *in, const uint8_t *bytes, size_t n);
uint64_t input_bits(fuzz_input *in);
/* 0..n-1 */
uint32_t input_below(fuzz_input *in, uint32_t n);

/* A value of a parameter's domain, sometimes one the operation refuses. */
void input_value(fuzz_input *in, const op_param *p, char *word);
/* An operation one of the patterns matches, with parameters of their domains
   and small dimensions.  0, or -1 if its extents do not come out whole. */
int input_case(fuzz_input *in, const char *const patterns[], test_case *c);
/* Its input tensors, filled with the bytes. 0 or -1. */
int input_tensors(fuzz_input *in, const test_case *c, tensor_set *set);
/* Make the call one that must be refused; says how. */
const char *input_spoil(fuzz_input *in, test_case *c, tensor_set *set);

#endif
