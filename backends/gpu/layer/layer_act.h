/* SPDX-License-Identifier: Apache-2.0 */
/* The activation between the layer's GEMMs where sums are in registers. */
#ifndef GPU_LAYER_ACT_H
#define GPU_LAYER_ACT_H

#include "ops/glu.h"
#include "port/device.h"

enum { LAYER_ACT_SLOW = 3 }; /* beside GLU_EXACT, GLU_STEPS and GLU_KEPT */

/* Two activations, as BF16 codes in one word; a half of *differ is not 0: that
   one has to be computed again. */
GPU_FN uint32_t layer_act_fast(const glu_args *u, uint32_t mode,
                               const glu_two *in, uint32_t *differ)
{
    const int from = (int)u->from;

    if (mode == GLU_EXACT) {
        return glu_fast_pair(u, from, GLU_BF16, GLU_EXACT, in, differ);
    }
    if (mode == GLU_STEPS) {
        return glu_fast_pair(u, from, GLU_BF16, GLU_STEPS, in, differ);
    }
    if (mode == GLU_KEPT) {
        return glu_fast_pair(u, from, GLU_BF16, GLU_KEPT, in, differ);
    }
    *differ = 0x10001u;
    return 0;
}

/* An activation that the first tier has no answer for, by the nearest that
   has: most need no slow one. */
GPU_SLOW uint32_t layer_act_again(const glu_args *u, uint32_t mode, float g,
                                  float v)
{
    const int from = (int)u->from;
    int waits = u->margin >= 1 || mode != GLU_EXACT;
    uint32_t y = 0;

    if (!waits) {
        y = glu_narrow(u, GLU_BF16, g, v, &waits);
    } else if (!u->rule.exact) {
        waits = 0;
        y = glu_steps_near(u, from, GLU_BF16, g, v, &waits);
    }
    return waits ? glu_slow(u, from, GLU_BF16, g, v) : y;
}

/* Two activations, of which those with ones in `wanted` are of use. */
GPU_FN uint32_t layer_act_two(const glu_args *u, uint32_t mode,
                              const glu_two *in, uint32_t wanted)
{
    uint32_t differ;
    uint32_t y = layer_act_fast(u, mode, in, &differ);

    differ &= wanted;
    if ((differ & 0xffffu) != 0) {
        y = (y & 0xffff0000u) | layer_act_again(u, mode, in[0].g, in[0].v);
    }
    if (differ >> 16 != 0) {
        y = (y & 0xffffu) | layer_act_again(u, mode, in[1].g, in[1].v) << 16;
    }
    return y;
}

/* One activation, for which others wait: a tier more before the slow ones.
   `anyway`: that one's answer whatever the fast one has. */
GPU_FN uint32_t layer_act_one(const glu_args *u, uint32_t mode, glu_two in,
                              int anyway)
{
    const glu_two twice[2] = {in, in};
    uint32_t differ;
    uint32_t y = layer_act_fast(u, mode, twice, &differ) & 0xffffu;

    int waits = (differ & 0xffffu) != 0;

    if ((waits || anyway) && mode != GLU_EXACT && mode != LAYER_ACT_SLOW) {
        waits = 0;
        y = glu_steps_near(u, (int)u->from, GLU_BF16, in.g, in.v, &waits);
    }
    return waits ? glu_slow(u, (int)u->from, GLU_BF16, in.g, in.v) : y;
}

#endif
