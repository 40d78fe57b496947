/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lane every machine has: plain C, the definition the others repeat.
 */
#include "isa_ops.h"

#include "number.h"

#include <mxoracle/abi.h>

#include <string.h>

static void dequant4_16(const cpu_dequant4 *job)
{
    for (uint64_t b = 0; b < job->blocks; b++) {
        const uint16_t *row = job->table->u.row16[job->scale[b]];
        uint16_t y[32];

        for (int i = 0; i < 16; i++) {
            const uint8_t pair = job->q[16 * b + (unsigned)i];

            y[2 * i] = row[pair & 15];
            y[2 * i + 1] = row[pair >> 4];
        }
        memcpy(job->y + 64 * b, y, sizeof y);
    }
}

static void dequant4_32(const cpu_dequant4 *job)
{
    for (uint64_t b = 0; b < job->blocks; b++) {
        const uint32_t *row = job->table->u.row32[job->scale[b]];
        uint32_t y[32];

        for (int i = 0; i < 16; i++) {
            const uint8_t pair = job->q[16 * b + (unsigned)i];

            y[2 * i] = row[pair & 15];
            y[2 * i + 1] = row[pair >> 4];
        }
        memcpy(job->y + 128 * b, y, sizeof y);
    }
}

void cpu_widen(uint32_t dtype, const uint8_t *src, uint32_t n, float *dst)
{
    for (uint32_t i = 0; i < n; i++) {
        uint16_t half;

        if (dtype == MXO_F32) {
            memcpy(&dst[i], src + 4 * (size_t)i, 4);
            continue;
        }
        memcpy(&half, src + 2 * (size_t)i, 2);
        dst[i] = dtype == MXO_BF16 ? cpu_from_bf16(half) : cpu_from_f16(half);
    }
}

void cpu_widen2(uint32_t dtype, const uint8_t *src, uint32_t n, float *even,
                float *odd)
{
    const size_t size = dtype == MXO_F32 ? 4 : 2;

    for (uint32_t i = 0; i < n; i++) {
        cpu_widen(dtype, src + 2 * size * i, 1, even + i);
        cpu_widen(dtype, src + 2 * size * i + size, 1, odd + i);
    }
}

static uint32_t glu16(const cpu_glu *c, const cpu_glu_operands *x, uint32_t n,
                      uint16_t *code, uint16_t *hard)
{
    (void)hard;
    for (uint32_t i = 0; i < n; i++) {
        float gate;
        float up;

        cpu_glu_operand(x, i, &gate, &up);
        code[i] = (uint16_t)cpu_glu_one(c, gate, up);
    }
    return 0;
}

static uint32_t glu32(const cpu_glu *c, const float *gate, const float *up,
                      uint32_t n, float *y, uint16_t *hard)
{
    (void)hard;
    for (uint32_t i = 0; i < n; i++) {
        y[i] = cpu_float(cpu_glu_one(c, gate[i], up[i]));
    }
    return 0;
}

static uint32_t exp32(const float *x, uint32_t n, float *y, uint16_t *hard)
{
    (void)hard;
    for (uint32_t i = 0; i < n; i++) {
        y[i] = cpu_float(cpu_exp_one(x[i], MXO_F32));
    }
    return 0;
}

uint64_t cpu_low_mask(uint32_t bit)
{
    static const uint64_t mask[] = {0x5555555555555555u, 0x3333333333333333u,
                                    0x0f0f0f0f0f0f0f0fu, 0x00ff00ff00ff00ffu,
                                    0x0000ffff0000ffffu, 0x00000000ffffffffu};

    return mask[bit];
}

void cpu_swap_bits(uint8_t *x, uint8_t *y, uint64_t n_bytes, uint32_t bit)
{
    const uint64_t low = cpu_low_mask(bit);

    for (uint64_t i = 0; i < n_bytes; i += 8) {
        uint64_t a;
        uint64_t b;

        memcpy(&a, x + i, 8);
        memcpy(&b, y + i, 8);
        const uint64_t differ = ((a >> (1u << bit)) ^ b) & low;
        a ^= differ << (1u << bit);
        b ^= differ;
        memcpy(x + i, &a, 8);
        memcpy(y + i, &b, 8);
    }
}

void cpu_mix_bits(uint8_t *x, uint64_t n_bytes, int n, const int8_t *shift,
                  const uint64_t *mask)
{
    for (uint64_t i = 0; i < n_bytes; i += 8) {
        uint64_t a;
        uint64_t b = 0;

        memcpy(&a, x + i, 8);
        for (int k = 0; k < n; k++) {
            b |= (shift[k] < 0 ? a >> -shift[k] : a << shift[k]) & mask[k];
        }
        memcpy(x + i, &b, 8);
    }
}

const cpu_isa_ops cpu_isa_portable = {
    .isa = "portable",
    .dequant4_16 = dequant4_16,
    .dequant4_32 = dequant4_32,
    .quant = cpu_quant_portable,
    .glu16 = glu16,
    .glu32 = glu32,
    .exp32 = exp32,
    .widen = cpu_widen,
    .widen2 = cpu_widen2,
    .swap_bits = cpu_swap_bits,
    .mix_bits = cpu_mix_bits,
    .mac = cpu_mac_portable,
    .scales = cpu_scales_portable,
};
