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

#include "chain.h"

/* An element of memory. */
typedef struct layout_spot {
    mxo_layout_content content;
    uint64_t element;   /* of the tensor that the chain takes, if live */
    uint8_t byte;       /* of a pad */
    uint64_t base;      /* unit u of it lies at base + at[u] */
    const uint64_t *at;
} layout_spot;

/* Can the chain be walked?  Only its last step may go below the element. */
int layout_can_walk(const layout_chain *c);

/* Visit every element of memory once; ends early where visit returns 0. */
int layout_walk(const layout_chain *c,
                int (*visit)(void *state, const layout_spot *s), void *state);

#endif
