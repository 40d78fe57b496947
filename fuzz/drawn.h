/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls for targets of this tree, by the decoder that `mxoracle fuzz` has
 * (conformance/draw): an input is a record of the draw, and bytes behind it
 * that take the place of the first ones of the tensors.
 */
#ifndef MXO_FUZZ_DRAWN_H
#define MXO_FUZZ_DRAWN_H

#include "base/tensors.h"
#include "draw/draw.h"

typedef struct drawn_call {
    test_case c;
    uint64_t seed;
    const uint8_t *rest; /* borrowed from the input */
    size_t n_rest;
} drawn_call;

/* Set the operations that a target draws; once, before the others. */
void drawn_begin(const char *const patterns[], size_t n);
void drawn_read(const uint8_t *bytes, size_t n, drawn_call *d);
/* Its inputs. 0, or -1 where there is none for such a call, or it is large. */
int drawn_inputs(const drawn_call *d, tensor_set *in);
/* The next of the bytes in place of the tensors' first ones. */
void drawn_take(const uint8_t *bytes, size_t n, tensor_set *in);
/* As LLVMFuzzerCustomMutator(). */
size_t drawn_mutate(uint8_t *bytes, size_t n, size_t most, unsigned seed);

#endif
