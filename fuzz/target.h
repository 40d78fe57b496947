/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a fuzz target, for libFuzzer or standalone.c. */
#ifndef MXO_FUZZ_TARGET_H
#define MXO_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0. A property that does not hold ends in abort(). */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
/* Of targets whose inputs are records: another one, of at most most bytes. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most,
                               unsigned seed);

#endif
