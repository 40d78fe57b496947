/* SPDX-License-Identifier: Apache-2.0 */
/* Element by element: a file's tensor against a computed one. */
#ifndef MXO_VECTORS_COMPARE_H
#define MXO_VECTORS_COMPARE_H

#include "vectors/map/glue.h"
#include "vectors/map/map.h"

typedef struct vector_difference {
    uint64_t n_judged;
    uint64_t n_differ;
    uint64_t first; /* index of the first element that differs */
    uint64_t in_file;
    uint64_t computed;
} vector_difference;

/* May bytes of one type be read as the other? Same width, and one of them
   an integer type, in which codes travel. */
int vector_can_retag(uint32_t a, uint32_t b);

/* Same shape but for axes of 1; or the file's tensor is flat; or one side has
   all axes but the last as one. */
int vector_same_shape(const host_tensor *file, const glue *computed);

/* Both have the same number of elements of the same width. wrong (NULL: not
   wanted) becomes 1 for each element that differs. */
void vector_compare(const host_tensor *file, const glue *computed,
                    const map_rule *rule, vector_difference *d, uint8_t *wrong);

#endif
