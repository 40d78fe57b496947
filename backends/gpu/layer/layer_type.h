/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of every type that a profile can name between the layer's steps. */
#ifndef GPU_LAYER_TYPE_H
#define GPU_LAYER_TYPE_H

#include "layer/layer.h"
#include "ops/glu_steps.h"
#include "port/device.h"

/* x rounded to a type, as binary32. */
GPU_FN float layer_to(uint32_t type, float x)
{
    const float most = 0x1.fep127f;

    if (type == LAYER_F16) {
        return glu_through(GLU_F16, x);
    }
    if (type != LAYER_SAT) {
        return layer_round(type, x);
    }
    const float y = layer_round(LAYER_BF16, x);

    return y > most ? most : y < -most ? -most : y;
}

/* binary16 with the bits of its NaN, which gpu_from_f16() leaves open. */
GPU_FN float layer_wide_f16(uint32_t code)
{
    return (code & 0x7fffu) > 0x7c00u
               ? gpu_float((code & 0x8000u) << 16 | 0x7f800000u |
                           (code & 0x3ffu) << 13)
               : gpu_from_f16(code);
}

/* Element i of an array of a type. */
GPU_FN float layer_get(uint32_t type, const void *p, uint64_t i)
{
    return type == LAYER_F16 ? layer_wide_f16(gpu_load_u16(p, i))
                             : layer_load(type, p, i);
}

/* The same of x, which has that type already. */
GPU_FN void layer_put(uint32_t type, void *p, uint64_t i, float x)
{
    if (type == LAYER_F16) {
        gpu_store_u16(p, i, glu_finish(GLU_F16, x));
    } else {
        layer_store(type, p, i, x);
    }
}

#endif
