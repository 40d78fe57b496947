/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes at which a layout changes its mind: the strides and extents of its
 * digits along each axis and what axes are padded to, read from the layout as
 * it is bound to a shape (<mxoracle/layout.h>).
 */
#ifndef MXO_GRANULE_H
#define MXO_GRANULE_H

#include <stdint.h>

enum { GRANULE_MOST = 16 };

typedef struct granules {
    int n;
    uint64_t size[GRANULE_MOST]; /* ascending, without 1 */
} granules;

/* Of experts, rows and columns.  Where the name is that of no single layout
   the blocks of MXFP4 and of common tiles. */
void granules_of(const char *layout, uint32_t elem_bytes, granules axis[3]);

/* Digits of an axis that are the same in every shape: index / stride % size. */
typedef struct axis_digits {
    int n;
    uint64_t stride[GRANULE_MOST];
    uint64_t size[GRANULE_MOST];
} axis_digits;

void digits_of(const char *layout, uint32_t elem_bytes, axis_digits axis[3]);

#endif
