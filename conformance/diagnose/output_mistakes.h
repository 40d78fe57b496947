/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong elements as functions of the right tensor. */
#ifndef MXO_OUTPUT_MISTAKES_H
#define MXO_OUTPUT_MISTAKES_H

#include "base/tensors.h"

typedef struct mistake {
    const char *says;
    uint64_t (*apply)(const host_tensor *t, uint64_t i);
    int everywhere; /* of every element; 0: of those that are wrong */
} mistake;

extern const mistake output_mistakes[]; /* ended by one without a function */

uint64_t mistake_swapped_nibbles(const host_tensor *t, uint64_t i);
uint64_t mistake_swapped_rows(const host_tensor *t, uint64_t i);
uint64_t mistake_previous_element(const host_tensor *t, uint64_t i);
uint64_t mistake_next_element(const host_tensor *t, uint64_t i);
uint64_t mistake_one_up(const host_tensor *t, uint64_t i);
uint64_t mistake_one_down(const host_tensor *t, uint64_t i);
uint64_t mistake_without_sign(const host_tensor *t, uint64_t i);
/* The sign bit of the type. */
uint64_t mistake_sign(const host_tensor *t);

#endif
