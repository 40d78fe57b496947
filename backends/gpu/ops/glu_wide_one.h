/* SPDX-License-Identifier: Apache-2.0 */
/* act.glu from or to binary64: a thread has an output, by glu_wide.h of
   backends/common. */
#ifndef GPU_GLU_WIDE_ONE_H
#define GPU_GLU_WIDE_ONE_H

#include "ops/glu.h"
#include "port/device.h"

#define CODES_FN GPU_FN
#define GLU_WIDE_FN GPU_SLOW
#include "../../common/glu_wide.h"

typedef struct glu_wide_args {
    glu_args at; /* tensors, and constants of experts, which are binary32 */
    glu_wide_unit unit;
    uint32_t limit_alone; /* of experts; alpha and beta are the unit's */
} glu_wide_args;

GPU_FN void glu_wide_body(const glu_wide_args *w)
{
    const glu_args *const a = &w->at;

    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->outputs; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const glu_place at = glu_place_of(a, i);
        glu_wide_unit unit = w->unit;

        if (at.own != NULL) {
            unit.limit = (double)at.own->limit;
            unit.alpha = w->limit_alone ? unit.alpha : (double)at.own->alpha;
            unit.beta = w->limit_alone ? unit.beta : (double)at.own->beta;
        }
        codes_store(a->y, unit.out_bytes, i,
                    glu_wide_code(&unit,
                                  codes_load(a->gate, unit.in_bytes, at.gate),
                                  codes_load(a->interleaved ? a->gate : a->up,
                                             unit.in_bytes, at.up)));
    }
}

#endif
