/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NEON, little-endian aarch64.  Dequantising looks every byte of the result
 * up with one table instruction; interleaving stores zip the bytes together.
 */
#include "isa_ops.h"

#include "vec_double_neon.h"

#include "act/act_vec.h"
#include "quant/quant_vec.h"

#include <arm_neon.h>

/* Codes 0..15 of a block, then 16..31. */
static uint8x16x2_t codes_of(const uint8_t *q)
{
    const uint8x16_t pair = vld1q_u8(q);

    return vzipq_u8(vandq_u8(pair, vdupq_n_u8(15)), vshrq_n_u8(pair, 4));
}

static void dequant4_16(const cpu_dequant4 *job)
{
    for (uint64_t b = 0; b < job->blocks; b++) {
        const uint8_t(*plane)[16] = job->table->u.plane16[job->scale[b]];
        const uint8x16x2_t codes = codes_of(job->q + 16 * b);
        const uint8x16_t low = vld1q_u8(plane[0]);
        const uint8x16_t high = vld1q_u8(plane[1]);

        for (int h = 0; h < 2; h++) {
            uint8x16x2_t y;

            y.val[0] = vqtbl1q_u8(low, codes.val[h]);
            y.val[1] = vqtbl1q_u8(high, codes.val[h]);
            vst2q_u8(job->y + 64 * b + 32 * h, y);
        }
    }
}

static void dequant4_32(const cpu_dequant4 *job)
{
    for (uint64_t b = 0; b < job->blocks; b++) {
        const uint8_t(*plane)[16] = job->table->u.plane32[job->scale[b]];
        const uint8x16x2_t codes = codes_of(job->q + 16 * b);

        for (int h = 0; h < 2; h++) {
            uint8x16x4_t y;

            for (int p = 0; p < 4; p++) {
                y.val[p] = vqtbl1q_u8(vld1q_u8(plane[p]), codes.val[h]);
            }
            vst4q_u8(job->y + 128 * b + 64 * h, y);
        }
    }
}

const cpu_isa_ops cpu_isa_neon = {
    .isa = "neon",
    .planes = 1,
    .dequant4_16 = dequant4_16,
    .dequant4_32 = dequant4_32,
    .quant = quant,
    .glu16 = glu16,
    .glu32 = glu32,
    .exp32 = exp32,
    .widen = widen,
    .widen2 = widen2,
    .swap_bits = cpu_swap_bits,
    .mix_bits = cpu_mix_bits,
    .mac = cpu_mac_portable,
    .scales = cpu_scales_portable,
};
