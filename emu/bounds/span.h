/* SPDX-License-Identifier: Apache-2.0 */
/* Ends between which a binary32 number lies. */
#ifndef MXO_EMU_BOUNDS_SPAN_H
#define MXO_EMU_BOUNDS_SPAN_H

#include <mxoracle/format.h>

/* Binary32 patterns, lo <= hi as numbers.  Both NaN: NaN for certain.  From
   -Inf to +Inf: anything, NaN too. */
typedef struct mxo_span {
    uint32_t lo;
    uint32_t hi;
} mxo_span;

extern const mxo_span mxo_span_anything;

int mxo_span_is_point(mxo_span x);
/* Both ends finite? */
int mxo_span_is_finite(mxo_span x);
/* The smallest span with all n numbers; NaN ends if one of them is NaN. */
mxo_span mxo_span_hull(const uint32_t *x, int n);

#endif
