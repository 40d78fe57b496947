/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.mx and dequant.mx along any axis, of any element, in any order: a
 * block per thread, by backends/common/mx_place.h.
 */
#ifndef GPU_MX_ANY_H
#define GPU_MX_ANY_H

#define CODES_FN GPU_FN
#define CODES_CALLED GPU_SLOW
#define DEQUANT_ROUND(to, x) glu_through(to, x)

#include "ops/glu_steps.h"
#include "ops/quant_block.h"
#include "port/device.h"

#include "../../common/dequant_dialect.h"
#include "../../common/mx_place.h"

typedef struct quant_any_args {
    quant_args q;
    mx_place place;
    const void *x;
    uint8_t *codes;
    uint8_t *scale;
    uint8_t *valid; /* NULL: not wanted */
    uint32_t from;
} quant_any_args;

GPU_FN uint32_t quant_any_load(const quant_any_args *a, uint64_t i)
{
    return a->from == QUANT_F32
               ? gpu_load_u32(a->x, i)
               : quant_widen((int)a->from, gpu_load_u16(a->x, i));
}

/* Codes of INT8 are two's complement. */
GPU_FN uint32_t quant_any_code(const quant_any_args *a, uint32_t x,
                               uint32_t amax, uint32_t byte)
{
    const uint32_t code = quant_rare_code(&a->q, x, amax, byte);

    return quant_is_int8(&a->q.f) && code > 127 ? (128 - code) & 255 : code;
}

GPU_FN void quant_any_block(const quant_any_args *a, const mx_block *b)
{
    const mx_place *const p = &a->place;
    const uint32_t n = mx_count(b, p->len);
    const uint32_t stored = mx_count(b, p->padded);
    uint32_t numbers = 0;
    uint32_t any_nan = 0;

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t m =
            quant_any_load(a, mx_element_at(p, b, k)) & 0x7fffffffu;
        any_nan |= (uint32_t)quant_is_nan(m);
        numbers = quant_is_nan(m) ? numbers : gpu_max(numbers, m + 1);
    }
    const uint32_t amax = quant_amax_of(&a->q, numbers, any_nan);
    const uint32_t byte = n == 0 ? 0 : quant_rare_byte(&a->q, amax);
    uint32_t low = 0;

    for (uint32_t k = 0; k < stored; k++) {
        const uint32_t x =
            k < n ? quant_any_load(a, mx_element_at(p, b, k)) : 0;
        const uint32_t code = k < n ? quant_any_code(a, x, amax, byte) : 0;

        if (!p->packed) {
            a->codes[mx_code_at(p, b, k)] = (uint8_t)code;
        } else if (k % 2 != 0) {
            a->codes[mx_code_at(p, b, k)] = (uint8_t)(low | (code & 15u) << 4);
        }
        low = code & 15u;
    }
    a->scale[b->at] = (uint8_t)byte;
}

GPU_FN void quant_any_body(const quant_any_args *a)
{
    for (uint64_t t = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         t < a->place.n; t += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const mx_block b = mx_block_of(&a->place, t);

        if (b.exists) {
            quant_any_block(a, &b);
        } else {
            a->scale[b.at] = 0;
        }
        if (a->valid != NULL) {
            a->valid[b.at] = (uint8_t)b.exists;
        }
    }
}

typedef struct dequant_any_args {
    quant_format f;
    mx_place place;
    const uint8_t *q;
    const uint8_t *scale;
    void *y;
    uint32_t flags; /* DIALECT_... */
    uint32_t to;
} dequant_any_args;

GPU_FN float dequant_any_element(const dequant_any_args *a, uint32_t code)
{
    return quant_is_int8(&a->f) ? (float)((int)(code ^ 128u) - 128) * 0x1p-6f
                                : (float)quant_value(&a->f, code);
}

GPU_FN void dequant_any_put(const dequant_any_args *a, uint64_t i, float y)
{
    if (a->to == DIALECT_TO_F32) {
        gpu_store_u32(a->y, i, gpu_bits(y));
    } else if (a->to == DIALECT_TO_BF16) { /* wrapped patterns as they are */
        gpu_store_u16(a->y, i, gpu_bits(y) >> 16);
    } else {
        gpu_store_u16(a->y, i, glu_finish(GLU_F16, y));
    }
}

GPU_FN void dequant_any_body(const dequant_any_args *a)
{
    const mx_place *const p = &a->place;

    for (uint64_t t = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         t < p->n; t += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const mx_block b = mx_block_of(p, t);
        const int byte = a->scale[b.at];
        const float factor = dialect_factor(a->flags, (int)a->to, byte);

        for (uint32_t k = 0; k < mx_count(&b, p->len); k++) {
            const uint32_t two = a->q[mx_code_at(p, &b, k)];
            const float x = dequant_any_element(
                a, p->packed ? two >> 4 * (k % 2) & 15u : two);

            dequant_any_put(
                a, mx_element_at(p, &b, k),
                dialect_value(a->flags, (int)a->to, x, factor, byte));
        }
    }
}

#endif
