/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of activations times a row of weights in a declared order of binary32
 * sums, by one thread.  Operands are what layer_operands() leaves; products
 * are exact in binary64, and one rounding to binary32 is one statement.
 * docs/ops/gemm.mx.md says what each order is.
 */
#ifndef GPU_LAYER_ORDER_H
#define GPU_LAYER_ORDER_H

#include "layer/layer.h"
#include "ops/glu_power.h"
#include "port/device.h"

enum {
    LAYER_ORDER_ANY,     /* or exact: layer_dot() */
    LAYER_ORDER_BLOCK32, /* sums of blocks, in any order */
    LAYER_ORDER_BLOCK,   /* seq within a block, then the scales, then added */
    LAYER_ORDER_SEQ,
    LAYER_ORDER_PAIRWISE,
    LAYER_ORDER_SPLIT,
    LAYER_ORDER_STREAMK, /* layer_any_parts(), as the next */
    LAYER_ORDER_HALVES,
    LAYER_ORDER_DPBF16, /* k + 1 before k, no subnormals */
    LAYER_ORDER_AMX     /* even and odd chains of 32, added, then added */
};

typedef struct layer_order {
    uint32_t kind;
    uint32_t fma; /* a product is not rounded before it is added */
    uint64_t splits;
    const double *scale; /* of the blocks of a row, where it is apart */
} layer_order;

/* Two rows that meet. */
typedef struct layer_chain {
    const layer_gemm *g;
    const layer_order *o;
    const double *x;
    const double *scale;
    uint64_t w; /* number of the row of weights */
} layer_chain;

enum { LAYER_DEPTH = 64 }; /* of the pairwise sums */

/* p + c, rounded once to binary32. */
GPU_FN float layer_add32(double p, float c)
{
    const glu_pair s = glu_two_sum(p, (double)c);
    uint64_t bits = gpu_bits64(s.hi);

    if (s.hi - s.hi == 0 && s.lo != 0 && (bits & 1) == 0) {
        bits += (s.lo > 0) == (s.hi > 0) ? 1 : ~(uint64_t)0;
    }
    return (float)gpu_double(bits);
}

GPU_FN uint32_t layer_chain_byte(const layer_chain *r, uint64_t b)
{
    return r->g->scale[r->w * ((r->g->k + LAYER_BLOCK - 1) / LAYER_BLOCK) + b];
}

/* Weight k as an operand of 16 bits. */
GPU_FN double layer_chain_weight(const layer_chain *r, uint64_t k)
{
    if (layer_has_numbers(r->g)) {
        return r->g->wide[r->w * r->g->k + k];
    }
    return layer_rare(r->g->rule, layer_chain_byte(r, k / LAYER_BLOCK),
                      layer_code(r->g, r->w * r->g->k + k) & 15);
}

/* Value of a scale byte by the rule: of the number 1 under it. */
GPU_FN double layer_chain_unit(const layer_chain *r, uint64_t b)
{
    const uint64_t blocks = (r->g->k + LAYER_BLOCK - 1) / LAYER_BLOCK;

    if (layer_has_numbers(r->g)) {
        return r->g->unit[r->w * blocks + b];
    }
    const uint32_t rule = r->g->rule;
    const uint32_t m = dequant_entry(rule, 0, layer_chain_byte(r, b), 2);
    const uint32_t fill =
        (rule & DEQUANT_CLAMP) != 0 && m == 0x7f7f ? 0xffffu : 0;

    return (double)gpu_float(m << 16 | fill);
}

GPU_FN float layer_add_product(const layer_chain *r, double p, float acc)
{
    if (r->o->fma) {
        return layer_add32(p, acc);
    }
    const float product = (float)p;

    return acc + product;
}

GPU_FN float layer_run_seq(const layer_chain *r, uint64_t first, uint64_t end,
                           float acc)
{
    for (uint64_t k = first; k < end; k++) {
        acc = layer_add_product(r, r->x[k] * layer_chain_weight(r, k), acc);
    }
    return acc;
}

GPU_FN float layer_run_split(const layer_chain *r)
{
    const uint64_t k = r->g->k;
    const uint64_t blocks = (k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    const uint64_t part =
        (blocks + r->o->splits - 1) / r->o->splits * LAYER_BLOCK;
    float acc = 0;

    for (uint64_t first = 0; first < k; first += part) {
        const float sum =
            layer_run_seq(r, first, k - first < part ? k : first + part, 0);
        acc = first == 0 ? sum : acc + sum;
    }
    return acc;
}

/* A binary counter of finished sums: one for each bit of the number of
   products seen. */
GPU_FN float layer_run_pairwise(const layer_chain *r)
{
    float stack[LAYER_DEPTH];
    int top = 0;

    for (uint64_t k = 0; k < r->g->k; k++) {
        stack[top++] = (float)(r->x[k] * layer_chain_weight(r, k));
        for (uint64_t n = k + 1; n % 2 == 0; n /= 2) {
            top--;
            stack[top - 1] = stack[top - 1] + stack[top];
        }
    }
    for (; top > 1; top--) {
        stack[top - 2] = stack[top - 2] + stack[top - 1];
    }
    return top == 1 ? stack[0] : 0;
}

/* Accumulation of the CPU's BF16 instructions: fused; subnormal operands, sums
   and results are flushed. */
GPU_FN float layer_add_dp(const layer_chain *r, uint64_t k, float acc)
{
    const int has = k < r->g->k;
    const float x = has ? glu_flush32((float)r->x[k]) : 0;
    const float w = has ? glu_flush32((float)layer_chain_weight(r, k)) : 0;

    return glu_flush32(gpu_fmaf(x, w, glu_flush32(acc)));
}

GPU_FN float layer_run_dpbf16(const layer_chain *r, float acc)
{
    for (uint64_t k = 0; k < r->g->k; k += 2) {
        acc = layer_add_dp(r, k + 1, acc);
        acc = layer_add_dp(r, k, acc);
    }
    return acc;
}

/* A short block ends in zeros, which take part. */
GPU_FN float layer_run_amx(const layer_chain *r)
{
    float acc = 0;

    for (uint64_t first = 0; first < r->g->k; first += LAYER_BLOCK) {
        float even = 0;
        float odd = 0;
        for (uint64_t k = first; k < first + LAYER_BLOCK; k += 2) {
            even = layer_add_dp(r, k, even);
            odd = layer_add_dp(r, k + 1, odd);
        }
        const float both = glu_flush32(even + odd);
        acc = glu_flush32(acc + both);
    }
    return acc;
}

/* A block's sum of bare codes: binary64 where any order will do. */
GPU_FN float layer_block_sum(const layer_chain *r, uint64_t first, uint64_t end)
{
    double sum = 0;
    float acc = 0;

    for (uint64_t k = first; k < end; k++) {
        const uint64_t at = r->w * r->g->k + k;
        const double w = layer_has_numbers(r->g)
                             ? r->g->wide[at]
                             : 0.5 * layer_halves(layer_code(r->g, at));
        const double p = r->x[k] * w;
        sum += p;
        acc =
            r->o->kind == LAYER_ORDER_BLOCK ? layer_add_product(r, p, acc) : 0;
    }
    return r->o->kind == LAYER_ORDER_BLOCK ? acc : (float)sum;
}

GPU_FN float layer_run_blocks(const layer_chain *r, float acc)
{
    const uint64_t k = r->g->k;

    for (uint64_t b = 0; b * LAYER_BLOCK < k; b++) {
        const uint64_t first = b * LAYER_BLOCK;
        const uint64_t end = k - first < LAYER_BLOCK ? k : first + LAYER_BLOCK;
        const float part = layer_block_sum(r, first, end);
        const double unit =
            layer_chain_unit(r, b) * (r->scale == NULL ? 1.0 : r->scale[b]);

        acc = layer_add_product(r, (double)part * unit, acc);
    }
    return acc;
}

GPU_FN layer_chain layer_chain_of(const layer_gemm *g, const layer_order *o,
                                  uint64_t pair, uint64_t w)
{
    const uint64_t row = pair / g->share;
    const uint64_t blocks = (g->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    const layer_chain r = {g, o, (const double *)g->a + row * g->k,
                           o->scale == NULL ? NULL : o->scale + row * blocks,
                           w};

    return r;
}

/* bias: what the sum starts with where its order has a place for it. */
GPU_SLOW float layer_order_dot(const layer_gemm *g, const layer_order *o,
                               float bias, uint64_t pair, uint64_t w)
{
    const layer_chain r = layer_chain_of(g, o, pair, w);
    const float start = g->bias_at == LAYER_BIAS_SUM ? bias : 0;

    switch (o->kind) {
    case LAYER_ORDER_BLOCK32:
    case LAYER_ORDER_BLOCK:
        return layer_run_blocks(&r, start);
    case LAYER_ORDER_SEQ:
        return layer_run_seq(&r, 0, g->k, start);
    case LAYER_ORDER_PAIRWISE:
        return layer_run_pairwise(&r);
    case LAYER_ORDER_SPLIT:
        return layer_run_split(&r);
    case LAYER_ORDER_DPBF16:
        return layer_run_dpbf16(&r, start);
    case LAYER_ORDER_AMX:
        return layer_run_amx(&r);
    default:
        return layer_dot(g, pair, w);
    }
}

#endif
