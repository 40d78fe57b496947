/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.group in three steps: a warp for the maximum of each group, a thread
 * for each stored scale, a thread for each byte of codes.  quant.scale is the
 * second step alone, and quant.requant divides codes.
 */
#ifndef GPU_QUANT_GROUP_H
#define GPU_QUANT_GROUP_H

#include "ops/quant_args.h"
#include "ops/quant_block.h"
#include "ops/quant_rare.h"
#include "port/device.h"

enum { GROUP_F32, GROUP_E8M0, GROUP_WORDS, GROUP_WORDS_DOWN };

typedef struct quant_group_args {
    quant_args q;
    const void *x;
    uint32_t from; /* QUANT_BF16 ... */
    uint32_t form;
    uint32_t by_byte; /* scales are powers of two */
    uint32_t packed;  /* two codes in a byte */
    uint64_t rows, cols;
    uint64_t height, width; /* of a group */
    uint64_t down, across;  /* groups */
    uint64_t pitch;         /* words in a row of words */
    uint64_t n_scales;      /* stored: floats, bytes or words */
    uint64_t n_codes;       /* bytes */
    uint32_t *amax;         /* of each group */
    void *scale;
    uint8_t *codes;
} quant_group_args;

typedef struct quant_scale_args {
    quant_args q;
    const void *amax;
    uint8_t *scale;
    uint64_t n;
} quant_scale_args;

typedef struct requant_args {
    quant_args q; /* E2M1, half a quantum away from zero */
    const uint8_t *codes;
    const uint8_t *offset;
    uint8_t *y;
    uint64_t n; /* bytes */
} requant_args;

GPU_FN uint32_t group_pattern(const quant_group_args *a, uint64_t i)
{
    return a->from == QUANT_F32
               ? gpu_load_u32(a->x, i)
               : quant_widen((int)a->from, gpu_load_u16(a->x, i));
}

/* Groups at the edges are smaller. */
typedef struct group_part {
    uint64_t row, col, rows, cols;
} group_part;

GPU_FN group_part group_part_of(const quant_group_args *a, uint64_t g)
{
    group_part p;

    p.row = g / a->across * a->height;
    p.col = g % a->across * a->width;
    p.rows = a->rows - p.row < a->height ? a->rows - p.row : a->height;
    p.cols = a->cols - p.col < a->width ? a->cols - p.col : a->width;
    return p;
}

GPU_FN uint32_t group_amax_of(const quant_group_args *a, uint64_t g)
{
    const group_part p = group_part_of(a, g);
    uint32_t numbers = 0; /* 1 + the largest magnitude that is a number */
    uint32_t any_nan = 0;

    for (uint64_t i = gpu_thread() % GPU_WARP; i < p.rows * p.cols;
         i += GPU_WARP) {
        const uint64_t at = (p.row + i / p.cols) * a->cols + p.col + i % p.cols;
        const uint32_t m = group_pattern(a, at) & 0x7fffffffu;
        any_nan |= (uint32_t)quant_is_nan(m);
        numbers = quant_is_nan(m) ? numbers : gpu_max(numbers, m + 1);
    }
    GPU_UNROLL
    for (int s = 1; s < GPU_WARP; s *= 2) { /* both in one word */
        const uint32_t other = gpu_shfl_xor(numbers | any_nan << 31, s);
        numbers = gpu_max(numbers, other & 0x7fffffffu);
        any_nan |= other >> 31;
    }
    return gpu_max(quant_amax_of(&a->q, numbers, any_nan),
                   a->q.rule.amax_floor);
}

GPU_FN void group_amax_body(const quant_group_args *a)
{
    const uint64_t warps = GPU_BLOCK / GPU_WARP;

    for (uint64_t g = gpu_block() * warps + gpu_thread() / GPU_WARP;
         g < a->down * a->across; g += gpu_grid() * warps) {
        const uint32_t amax = group_amax_of(a, g);
        if (gpu_thread() % GPU_WARP == 0) {
            a->amax[g] = amax;
        }
    }
}

/* amax / max as the rule spells it, the float scale. */
GPU_FN float group_float(const quant_args *q, uint32_t amax)
{
    const uint32_t t = quant_ratio(q, amax);

    return t == 0 && (q->rule.flags & QUANT_SCALE_1) != 0 ? 1.0f : gpu_float(t);
}

/* Bytes of four groups beside each other; what is beyond the last is 0, or
   what the rule fills E2M1's words up with. */
GPU_FN uint32_t group_word(const quant_group_args *a, uint64_t gr, uint64_t gc)
{
    const int fills = a->packed && (a->q.rule.flags & QUANT_PACK_FULL) != 0;
    uint32_t word = 0;

    for (uint32_t i = 0; i < 4 && gr < a->down; i++) {
        const int is_there = gc + i < a->across;
        const uint32_t byte =
            is_there ? quant_rare_byte(&a->q, a->amax[gr * a->across + gc + i])
            : fills  ? 127u
                     : 0u;
        word |= byte << 8 * i;
    }
    return word;
}

GPU_FN void group_put_scale(const quant_group_args *a, uint64_t i)
{
    if (a->form >= GROUP_WORDS) {
        const int down = a->form == GROUP_WORDS_DOWN;
        const uint64_t gr = down ? i % a->pitch : i / a->pitch;
        const uint64_t gc = down ? i / a->pitch : i % a->pitch;
        gpu_store_u32(a->scale, i, group_word(a, gr, 4 * gc));
        return;
    }
    const uint32_t byte = quant_rare_byte(&a->q, a->amax[i]);

    if (a->form == GROUP_E8M0) {
        ((uint8_t *)a->scale)[i] = (uint8_t)byte;
    } else if (a->by_byte) {
        gpu_store_u32(a->scale, i, byte == 0 ? 0x400000u : byte << 23);
    } else {
        gpu_store_u32(a->scale, i, gpu_bits(group_float(&a->q, a->amax[i])));
    }
}

GPU_FN void group_scales_body(const quant_group_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n_scales; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        group_put_scale(a, i);
    }
}

/* The code of x under a float scale; a NaN keeps its sign, and one that
   numbers make has none. */
GPU_FN uint32_t group_code_under(const quant_args *q, uint32_t x, float scale)
{
    const float v = gpu_float(x);
    const float inverse = 1.0f / scale;
    const float y =
        (q->rule.flags & QUANT_INVERSE) != 0 ? v * inverse : v / scale;

    return quant_rare_code(q,
                           v != v   ? x
                           : y != y ? QUANT_QUIET
                                    : gpu_bits(y),
                           0, 127);
}

GPU_FN uint32_t group_code(const quant_group_args *a, uint64_t i)
{
    const uint64_t g =
        i / a->cols / a->height * a->across + i % a->cols / a->width;
    const uint32_t x = group_pattern(a, i);
    const uint32_t amax = a->amax[g];

    return a->by_byte
               ? quant_rare_code(&a->q, x, amax, quant_rare_byte(&a->q, amax))
               : group_code_under(&a->q, x, group_float(&a->q, amax));
}

GPU_FN void group_codes_body(const quant_group_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n_codes; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        a->codes[i] = (uint8_t)(a->packed ? (group_code(a, 2 * i) & 15) |
                                                group_code(a, 2 * i + 1) << 4
                                          : group_code(a, i));
    }
}

GPU_FN void scale_body(const quant_scale_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint32_t amax = gpu_load_u32(a->amax, i) & 0x7fffffffu;
        a->scale[i] = (uint8_t)quant_rare_byte(&a->q, amax);
    }
}

/* A code by 2^-offset; -0 is dropped, and nothing else is. */
GPU_FN uint32_t requant_code(const quant_args *q, uint32_t code,
                             uint32_t offset)
{
    const double y =
        quant_value(&q->f, code) * gpu_double((uint64_t)(1023 - offset) << 52);

    return code == 8 ? 0 : quant_rare_code(q, gpu_bits((float)y), 0, 127) & 15;
}

GPU_FN void requant_body(const requant_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint32_t offset = a->offset[i / 16];
        const uint32_t two = a->codes[i];
        a->y[i] = (uint8_t)(requant_code(&a->q, two & 15, offset) |
                            requant_code(&a->q, two >> 4, offset) << 4);
    }
}

#endif
