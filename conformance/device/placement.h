/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the bytes of a tensor lie in a backend's memory: side by side, or with
 * gaps between rows and between experts, none as wide as another.
 */
#ifndef MXO_PLACEMENT_H
#define MXO_PLACEMENT_H

#include "base/tensors.h"

typedef struct placement {
    uint64_t stride[MXO_MAX_RANK]; /* in bytes; all 0: dense */
    uint64_t n_bytes;              /* from the first byte to the last */
} placement;

/* Is the name one of the list, which spaces separate and "*" fills? */
int placement_is_listed(const char *list, const char *name);
placement placement_dense(const host_tensor *h);

/* A power of two from least to most: the least for half of the tensors.  Drawn
   by the tensor's name and size, and a number of the call. */
uint64_t placement_align(const host_tensor *h, uint64_t call, uint64_t least,
                         uint64_t most);
/* With gaps; strides are multiples of unit, a power of two.  Drawn by the same:
   one to eight units between rows and two more between experts; multiples of 16
   or of 256 bytes; rows twice as wide; between all, between rows or experts
   alone, or none, which the strides say then, as they may of one row alone.  0:
   it has no rows to part, or takes more than most bytes then, and *p is
   dense. */
int placement_part(placement *p, const host_tensor *h, uint64_t call,
                   uint64_t unit, uint64_t most);
int placement_is_dense(const placement *p);

/* The tensor's bytes into an image of its memory, and out of it. */
void placement_scatter(const placement *p, const host_tensor *h,
                       const uint8_t *dense, uint8_t *image);
void placement_gather(const placement *p, const host_tensor *h,
                      const uint8_t *image, uint8_t *dense);

/* The first byte between rows that differs in two images; p->n_bytes: none. */
uint64_t placement_gap_differs(const placement *p, const host_tensor *h,
                               const uint8_t *a, const uint8_t *b);

#endif
