/* SPDX-License-Identifier: Apache-2.0 */
/* quant.nvfp4 a block per thread, dequant.nvfp4 an element per thread. */
#ifndef GPU_NVFP4_OPS_H
#define GPU_NVFP4_OPS_H

#include "ops/dequant.h"
#include "ops/glu.h"
#include "ops/nvfp4.h"
#include "port/device.h"

enum {
    NVFP4_BF16 = GLU_BF16,
    NVFP4_F16 = GLU_F16,
    NVFP4_F32 = GLU_F32,
    NVFP4_E4M3
};

typedef struct nvfp4_quant_args {
    nvfp4_rule rule;
    quant_args mx; /* of NVFP4_MX; where scales lie */
    const void *x;
    uint8_t *q;
    uint8_t *scale;
    const void *global; /* NULL: 1 */
    uint64_t blocks;    /* all of them */
    uint64_t per_row;
    uint32_t size; /* of a block */
    uint32_t from;
    uint32_t inverted;
    uint32_t by_row; /* a global scale for each row */
} nvfp4_quant_args;

typedef struct nvfp4_dequant_args {
    const uint8_t *q;
    const uint8_t *scale;
    const void *global;
    void *y;
    uint64_t n, cols;
    uint32_t to;
} nvfp4_dequant_args;

GPU_FN float nvfp4_input(uint32_t from, const void *x, uint64_t i)
{
    return from == NVFP4_E4M3 ? nvfp4_e4m3_value(((const uint8_t *)x)[i])
                              : glu_scalar((int)from, x, i);
}

/* quant.mx's steps on a block of numbers. */
GPU_FN uint32_t nvfp4_mx_block(const quant_args *q, const float *x, uint32_t n,
                               uint8_t *code)
{
    uint32_t numbers = 0;
    uint32_t any_nan = 0;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t m = gpu_bits(x[i]) & 0x7fffffffu;
        any_nan |= (uint32_t)quant_is_nan(m);
        numbers = quant_is_nan(m) ? numbers : gpu_max(numbers, m + 1);
    }
    const uint32_t amax = quant_amax_of(q, numbers, any_nan);
    const uint32_t byte = quant_rare_byte(q, amax);

    for (uint32_t i = 0; i < n; i++) {
        code[i] = (uint8_t)quant_rare_code(q, gpu_bits(x[i]), amax, byte);
    }
    return byte;
}

GPU_FN void nvfp4_quant_block(const nvfp4_quant_args *a, uint64_t b)
{
    const uint64_t row = b / a->per_row;
    float x[NVFP4_MOST];
    uint8_t code[NVFP4_MOST];

    for (uint32_t i = 0; i < a->size; i++) {
        x[i] = nvfp4_input(a->from, a->x, b * a->size + i);
    }
    float global =
        a->global == NULL
            ? 1.0f
            : gpu_float(gpu_load_u32(a->global, a->by_row ? row : 0));
    global = a->inverted ? nvfp4_rcp(&a->rule, global) : global;
    const uint32_t byte =
        a->rule.math == NVFP4_MX
            ? nvfp4_mx_block(&a->mx, x, a->size, code)
            : nvfp4_quantise(&a->rule, global, x, a->size, code);

    a->scale[quant_scale_at(&a->mx, b)] = (uint8_t)byte;
    for (uint32_t i = 0; i < a->size; i += 2) {
        a->q[(b * a->size + i) / 2] =
            (uint8_t)((code[i] & 15) | code[i + 1] << 4);
    }
}

GPU_FN void nvfp4_quant_body(const nvfp4_quant_args *a)
{
    for (uint64_t b = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         b < a->blocks; b += (uint64_t)gpu_grid() * GPU_BLOCK) {
        nvfp4_quant_block(a, b);
    }
}

/* y as a code of the type to. */
GPU_FN uint32_t nvfp4_round(int to, double y)
{
    if (y != y) {
        return glu_nan(to);
    }
    if (y - y != 0) {
        return glu_infinity(to) | glu_sign(to, y < 0);
    }
    return y == 0 ? glu_sign(to, gpu_bits64(y) >> 63 != 0)
                  : glu_round(to, y, 0);
}

/* The product of three has 31 bits and is rounded once: in binary64 it is
   exact, with room for binary32's subnormals. */
GPU_FN void nvfp4_dequant_body(const nvfp4_dequant_args *a)
{
    const uint64_t per_row = (a->cols + NVFP4_BLOCK - 1) / NVFP4_BLOCK;

    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t b = i / a->cols * per_row + i % a->cols / NVFP4_BLOCK;
        const uint32_t code = (uint32_t)a->q[i / 2] >> 4 * (i & 1);
        const float scale = nvfp4_e4m3_value(a->scale[b] & 127u);
        const double size = 0.5 * (double)dequant_halves(code & 7);
        const double x = (code & 8) != 0 ? -size : size;
        const double y =
            x * (double)scale * (double)gpu_float(gpu_load_u32(a->global, 0));
        const uint32_t bits = nvfp4_round((int)a->to, y);
        if (a->to == GLU_F32) {
            gpu_store_u32(a->y, i, bits);
        } else {
            gpu_store_u16(a->y, i, bits);
        }
    }
}

#endif
