/* SPDX-License-Identifier: Apache-2.0 */
/* act.glu from or to binary64: a thread has an output, by glu_wide.h of
   backends/common. */
#ifndef GPU_GLU_WIDE_ONE_H
#define GPU_GLU_WIDE_ONE_H

#include "ops/glu.h"
#include "port/device.h"

#define CODES_FN GPU_FN
#define CODES_CALLED GPU_SLOW
#define GLU_WIDE_FN GPU_SLOW
#include "../../common/glu/glu_wide_call.h"

typedef struct glu_wide_args {
    glu_args at; /* tensors, and constants of experts, which are binary32 */
    glu_wide_unit unit;
    uint32_t limit_alone; /* of experts; alpha and beta are the unit's */
} glu_wide_args;

/* A result of binary32 as binary64. */
GPU_FN uint64_t glu_widened(const glu_wide_args *w, const glu_place *at)
{
    const glu_args *const a = &w->at;
    const int from = (int)a->from;
    const float g = glu_scalar(from, a->gate, at->gate);
    const float v = glu_scalar(from, a->interleaved ? a->gate : a->up, at->up);
    const float y = gpu_float(glu_slow_of(a, at->own, from, GLU_F32, g, v));

    return glu_wide_bits(&w->unit, (double)y);
}

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
        codes_store(
            a->y, unit.out_bytes, i,
            unit.way == GLU_WIDE_WIDENED
                ? glu_widened(w, &at)
                : glu_wide_code(&unit,
                                codes_load(a->gate, unit.in_bytes, at.gate),
                                codes_load(a->interleaved ? a->gate : a->up,
                                           unit.in_bytes, at.up)));
    }
}

#endif
