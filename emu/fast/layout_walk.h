/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All elements of a tensor and where a chain puts them.  A map whose tables do
 * not mix rows with columns is a sum: dst(row, column) = dst(row, 0) +
 * dst(0, column) - dst(0, 0), as every digit belongs to one axis and every
 * other term is linear in its digits.  So the divisions of map.c are done once
 * for a stretch of columns and once for its part of a row.
 */
#ifndef MXO_EMU_LAYOUT_WALK_H
#define MXO_EMU_LAYOUT_WALK_H

#include "../layout/chain.h"

/* Units of an element that lie side by side in memory and in one byte. */
typedef struct layout_part {
    uint64_t at; /* the first, beyond where its row begins */
    uint8_t n;
    uint8_t shift; /* of the first in the element */
    uint8_t mask;  /* as many ones as they have bits */
} layout_part;

/* Elements of memory that are neighbours in a row of its padded tensor: n
   neighbours of the tensor that the chain takes, or n times the same pad. */
typedef struct layout_run {
    mxo_layout_content content;
    uint64_t element; /* the first of that tensor, if live */
    uint64_t n;
    uint8_t byte;  /* of a pad */
    uint64_t base; /* where the row begins */
    uint32_t bits; /* of a unit; 8: elements stay whole */
    const layout_part *part;
    const uint16_t *first; /* the i-th's are first[i] .. first[i + 1] - 1 */
} layout_run;

/* Visit every element of some experts' memory once; ends early where visit
   returns 0. */
int layout_walk(const layout_chain *c, layout_experts experts,
                int (*visit)(void *state, const layout_run *r), void *state);

#endif
