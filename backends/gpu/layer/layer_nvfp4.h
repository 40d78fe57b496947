/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVFP4 layer: rows on their way into a GEMM as integers, a block of 16
 * per thread, and the GEMM, an output per thread.  A code is a multiple of
 * 1/2, a scale one of 2^-9, so a row of products is an exact sum in 64 bits.
 */
#ifndef GPU_LAYER_NVFP4_H
#define GPU_LAYER_NVFP4_H

#include "layer/layer.h"
#include "layer/layer_order.h"
#include "layer/layer_type.h"
#include "ops/nvfp4.h"
#include "port/device.h"

typedef struct nvfp4_rows_args {
    layer_pairs p;
    nvfp4_rule rule;
    const void *from; /* [rows, k] */
    const void *global;
    int8_t *code;   /* [rows, k], doubled */
    int32_t *scale; /* [rows, k / 16], units of 2^-9; -1: NaN */
    uint64_t rows, k;
    uint32_t type;
    uint32_t by_expert; /* rows are pairs, global scales those of experts */
} nvfp4_rows_args;

typedef struct nvfp4_gemm_args {
    layer_pairs p;
    const int8_t *a;
    const int32_t *a_scale;
    const uint8_t *w;     /* [experts, n, k / 2] */
    const uint8_t *scale; /* [experts, n, k / 16] */
    const void *alpha;    /* [experts]; NULL: sums stay as they are */
    void *y;              /* [pairs, n] */
    uint64_t n, k;
    uint32_t share; /* pairs of a row of a */
    uint32_t is_seq;
    uint32_t type;   /* that y is rounded to */
    uint32_t leaves; /* that y is stored in */
    uint32_t turn;   /* the halves of n change places */
    uint32_t weighs; /* times the routing weight, before it is rounded */
} nvfp4_gemm_args;

GPU_FN void nvfp4_row_block(const nvfp4_rows_args *a, uint64_t i)
{
    const uint64_t row = i / (a->k / NVFP4_BLOCK);
    const int32_t expert = a->by_expert ? layer_expert(&a->p, row) : 0;
    float x[NVFP4_BLOCK];
    uint8_t code[NVFP4_BLOCK];

    if (expert < 0) {
        return; /* nobody reads it */
    }
    for (uint32_t j = 0; j < NVFP4_BLOCK; j++) {
        x[j] = layer_get(a->type, a->from, i * NVFP4_BLOCK + j);
    }
    const float global = gpu_float(gpu_load_u32(a->global, (uint64_t)expert));

    a->scale[i] =
        nvfp4_units(nvfp4_quantise(&a->rule, global, x, NVFP4_BLOCK, code));
    for (uint32_t j = 0; j < NVFP4_BLOCK; j++) {
        const int8_t size = (int8_t)dequant_halves(code[j] & 7u);
        a->code[i * NVFP4_BLOCK + j] =
            (code[j] & 8) != 0 ? (int8_t)-size : size;
    }
}

GPU_FN void nvfp4_rows_body(const nvfp4_rows_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->rows * (a->k / NVFP4_BLOCK);
         i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        nvfp4_row_block(a, i);
    }
}

/* Element k of a row of weights, doubled. */
GPU_FN int32_t nvfp4_weight(const uint8_t *w, uint64_t k)
{
    const uint32_t code = (uint32_t)w[k / 2] >> 4 * (k & 1);
    const int32_t size = (int32_t)dequant_halves(code & 7);

    return (code & 8) != 0 ? -size : size;
}

/* A block's sum of products in quarters; in turn into *acc if that is asked. */
GPU_FN int32_t nvfp4_block_dot(const nvfp4_gemm_args *g, const int8_t *a,
                               const uint8_t *w, double unit, float *acc)
{
    int32_t part = 0;

    for (uint32_t j = 0; j < NVFP4_BLOCK; j++) {
        const int32_t product = a[j] * nvfp4_weight(w, j);
        part += product;
        if (g->is_seq) {
            *acc = layer_add32((double)product * unit, *acc);
        }
    }
    return part;
}

GPU_FN float nvfp4_dot(const nvfp4_gemm_args *g, uint64_t row, uint64_t w)
{
    const uint64_t blocks = g->k / NVFP4_BLOCK;
    int64_t sum = 0;
    float acc = 0;

    for (uint64_t b = 0; b < blocks; b++) {
        const int32_t one = g->a_scale[row * blocks + b];
        const int32_t other = nvfp4_units(g->scale[w * blocks + b]);
        const int64_t both = (int64_t)one * other;

        if (one < 0 || other < 0) {
            return nvfp4_nan();
        }
        sum += both *
               nvfp4_block_dot(g, g->a + row * g->k + b * NVFP4_BLOCK,
                               g->w + w * (g->k / 2) + b * (NVFP4_BLOCK / 2),
                               (double)both * 0x1p-20, &acc);
    }
    return g->is_seq ? acc : (float)sum * 0x1p-20f;
}

GPU_FN void nvfp4_gemm_body(const nvfp4_gemm_args *g)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < g->p.pairs * g->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t pair = i / g->n;
        const uint64_t at = i % g->n;
        const uint64_t n = !g->turn ? at : (at + g->n / 2) % g->n;
        const int32_t expert = layer_expert(&g->p, pair);
        float y = 0;

        if (expert >= 0) {
            y = nvfp4_dot(g, pair / g->share, (uint64_t)expert * g->n + n);
            y = g->alpha == NULL
                    ? y
                    : y * gpu_float(gpu_load_u32(g->alpha, (uint64_t)expert));
            y = g->weighs ? y * layer_weight_of(&g->p, pair) : y;
        }
        layer_put(g->leaves, g->y, i, layer_to(g->type, y));
    }
}

#endif
