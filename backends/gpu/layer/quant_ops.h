/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantisers beside quant.mx and the way back: quant.static and dequant.group
 * an element per thread, quant.qdq a block of 32.
 */
#ifndef GPU_QUANT_OPS_H
#define GPU_QUANT_OPS_H

#include "layer/layer_operands.h"
#include "port/device.h"

typedef struct static_args {
    quant_args q;
    const void *x;
    const void *scale; /* binary32[1] */
    uint8_t *y;
    uint64_t n;
    uint32_t type; /* of x */
    uint32_t reciprocal;
} static_args;

typedef struct qdq_args {
    layer_operands_args o; /* how a block is read */
    uint8_t *codes;
    uint8_t *scale;
    void *y;
    uint64_t blocks;
} qdq_args;

typedef struct group_args {
    quant_format f;
    const uint8_t *q;
    const void *scale; /* binary32 */
    void *y;
    uint64_t n, rows, cols;
    uint64_t group_rows, group_cols;
    uint64_t scale_rows, scale_cols;
    uint32_t packed;   /* two codes in a byte */
    uint32_t positive; /* a zero has no sign */
    uint32_t to;
} group_args;

GPU_FN void static_body(const static_args *a)
{
    const float scale = gpu_float(gpu_load_u32(a->scale, 0));
    const float inverse = 1.0f / scale;

    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const float x = layer_get(a->type, a->x, i);
        const float q = a->reciprocal ? x * inverse : x / scale;
        const uint32_t bits = x != x ? gpu_bits(x) : gpu_bits(q);

        a->y[i] = (uint8_t)quant_rare_code(
            &a->q, q != q && x == x ? QUANT_QUIET : bits, 0, 127);
    }
}

GPU_FN void qdq_block(const qdq_args *a, uint64_t b)
{
    const layer_group g = {&a->o, 0, b * LAYER_BLOCK, LAYER_BLOCK};
    const layer_qdq unit = layer_qdq_of(&g);
    uint32_t low = 0;

    a->scale[b] = (uint8_t)unit.byte;
    for (uint32_t i = 0; i < LAYER_BLOCK; i++) {
        const uint32_t code = layer_qdq_code(&g, &unit, i) & 15;

        layer_put(a->o.type, a->y, b * LAYER_BLOCK + i,
                  layer_qdq_value(&g, &unit, code));
        if (i % 2 == 0) {
            low = code;
        } else {
            a->codes[(b * LAYER_BLOCK + i) / 2] = (uint8_t)(low | code << 4);
        }
    }
}

GPU_FN void qdq_body(const qdq_args *a)
{
    for (uint64_t b = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         b < a->blocks; b += (uint64_t)gpu_grid() * GPU_BLOCK) {
        qdq_block(a, b);
    }
}

/* Place of element i's scale. */
GPU_FN uint64_t group_scale_at(const group_args *a, uint64_t i)
{
    const uint64_t r = i / a->cols % a->rows;
    const uint64_t c = i % a->cols;

    return (i / a->cols / a->rows * a->scale_rows + r / a->group_rows) *
               a->scale_cols +
           c / a->group_cols;
}

GPU_FN void group_body(const group_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint32_t code =
            a->packed ? (uint32_t)a->q[i / 2] >> 4 * (i & 1) & 15u : a->q[i];
        const float x = (float)quant_value(&a->f, code);
        const float scale =
            gpu_float(gpu_load_u32(a->scale, group_scale_at(a, i)));
        const float y = (a->positive && x == 0 ? 0.0f : x) * scale;

        layer_put(a->to, a->y, i, layer_to(a->to, y));
    }
}

#endif
