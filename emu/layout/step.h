/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of a conversion: a layout bound to a tensor, with the change of
 * values that rides along.  layout.apply is one step, layout.convert chains
 * of them.
 */
#ifndef MXO_EMU_LAYOUT_STEP_H
#define MXO_EMU_LAYOUT_STEP_H

#include "values.h"

#include <mxoracle/layout.h>

typedef struct layout_step {
    mxo_layout map;
    const layout_values *values;
    uint32_t dtype;      /* of the tensor it takes */
    uint32_t to;         /* of the tensor it gives */
    uint32_t elem_bytes; /* of what moves: the size of to */
} layout_step;

/* Row by name, or a sentence with the nearest id; NULL. */
const mxo_layout_row *layout_step_row(const char *name, mxo_text why);

/* Bind name to a tensor of this dtype and extent, forward. */
mxo_status layout_step_bind(layout_step *s, const char *name, uint32_t dtype,
                            const uint64_t extent[3], mxo_text why);
/* Bind so that dtype is what memory holds and extent the padded tensor. */
mxo_status layout_step_bind_back(layout_step *s, const char *name,
                                 uint32_t dtype, const uint64_t extent[3],
                                 mxo_text why);

/* x (logical) to y (memory); valid (u8 of y's elements) may be NULL. */
mxo_status layout_step_forward(const layout_step *s, const mxo_tensor *x,
                               const mxo_tensor *y, const mxo_tensor *valid,
                               mxo_text why);
/* x (memory) to y: rows x cols of every expert, the rest is cut off. */
mxo_status layout_step_back(const layout_step *s, const mxo_tensor *x,
                            const mxo_tensor *y, uint64_t rows, uint64_t cols,
                            mxo_text why);

#endif
