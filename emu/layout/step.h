/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of a chain: a layout bound to a tensor, with the change of values
 * that rides along.
 */
#ifndef MXO_EMU_LAYOUT_STEP_H
#define MXO_EMU_LAYOUT_STEP_H

#include "values.h"

#include <mxoracle/layout.h>

typedef struct layout_step {
    mxo_layout map;
    const layout_values *values;
    uint32_t dtype; /* of the tensor it takes */
    uint32_t to;    /* of the tensor it gives; elements of this size move */
} layout_step;

/* Row by name, or a sentence with the nearest id; NULL. */
const mxo_layout_row *layout_step_row(const char *name, mxo_text why);

/* Bind name to a tensor of this dtype and extent. */
mxo_status layout_step_bind(layout_step *s, const char *name, uint32_t dtype,
                            const uint64_t extent[3], mxo_text why);
/* Bind so that dtype is what memory holds and extent the padded tensor. */
mxo_status layout_step_bind_back(layout_step *s, const char *name,
                                 uint32_t dtype, const uint64_t extent[3],
                                 mxo_text why);

#endif
