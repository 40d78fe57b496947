/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.mx, one output per thread: both operands become numbers first, with
 * their scales or beside them, and are summed as the layer's GEMMs are.
 * docs/ops/gemm.mx.md
 */
#ifndef GPU_GEMM_OPS_H
#define GPU_GEMM_OPS_H

#define LAYER_HAS_NUMBERS 1 /* layer_sum.h */

#include "layer/layer.h"
#include "layer/layer_order.h"
#include "layer/layer_type.h"
#include "ops/quant_block.h"
#include "port/device.h"

enum { GEMM_F64 = LAYER_F64 };
enum { GEMM_BIAS_NONE, GEMM_BIAS_SUM, GEMM_BIAS_F32, GEMM_BIAS_TO };

/* A matrix of codes or numbers on its way to binary64. */
typedef struct gemm_operand_args {
    quant_format f;
    const void *codes;
    const uint8_t *scale; /* NULL: 1 */
    double *x;            /* [rows, k] */
    double *unit;         /* NULL: the scale is in x; else [rows, blocks] */
    double *whole; /* as x with the scale in it, where unit is; NULL: none */
    uint64_t k, n; /* elements of a row, and of all rows */
    uint32_t type; /* LAYER_CODES: of f; else a wide type */
    uint32_t packed;
} gemm_operand_args;

typedef struct gemm_args {
    layer_gemm g;
    layer_order o;
    uint64_t outputs;
    uint32_t exact; /* any order: the sum is rounded once */
    uint32_t place; /* of the bias */
    uint32_t to;    /* or GEMM_F64 */
    uint32_t flush; /* bfloat16 results have no subnormals */
    void *y;
    void *sum_abs;         /* NULL: not asked for */
    const double *whole_a; /* what is summed there */
    const double *whole_w;
} gemm_args;

GPU_FN double gemm_element(const gemm_operand_args *a, uint64_t i)
{
    const uint8_t *const codes = (const uint8_t *)a->codes;

    if (a->type != LAYER_CODES) {
        return (double)layer_get(a->type, a->codes, i);
    }
    return quant_value(&a->f, a->packed ? codes[i / 2] >> 4 * (i & 1) & 15u
                                        : codes[i]);
}

GPU_FN void gemm_operand_body(const gemm_operand_args *a)
{
    const uint64_t blocks = (a->k + LAYER_BLOCK - 1) / LAYER_BLOCK;

    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t b = i / a->k * blocks + i % a->k / LAYER_BLOCK;
        const double unit = a->scale == NULL ? 1.0 : quant_unit(a->scale[b]);
        const double x = gemm_element(a, i);

        a->x[i] = a->unit == NULL && a->scale != NULL ? x * unit : x;
        if (a->unit != NULL && i % a->k % LAYER_BLOCK == 0) {
            a->unit[b] = unit;
        }
        if (a->whole != NULL) {
            a->whole[i] = a->scale != NULL ? x * unit : x;
        }
    }
}

/* A sum without loss, rounded to binary64. */
GPU_SLOW double gemm_lossless(const layer_row *r, double start, int is_abs)
{
    layer_limbs sum;

    layer_dot_limbs(r, start, is_abs, &sum);
    const layer_top t = layer_limbs_top(&sum);
    const uint64_t rest = t.m & 0x7ff;
    uint64_t n = t.m >> 11;

    n += rest > 0x400 || (rest == 0x400 && (t.sticky != 0 || (n & 1) != 0));
    if (n == 0) {
        return 0;
    }
    const double h =
        (double)n * gpu_double((uint64_t)(t.unit + 11 + 1023) << 52);

    return t.negative ? -h : h;
}

/* The sum of a row, or of its magnitudes, as the nearest binary64. */
GPU_FN double gemm_wide_sum(const layer_row *r, double start, int is_abs)
{
    const layer_total sum = layer_dot_total(r, start, is_abs);

    if (!layer_total_is_answer(&sum)) {
        return gemm_lossless(r, start, is_abs);
    }
    if (sum.value - sum.value != 0) {
        return sum.value;
    }
    const double y = glu_two_sum(sum.value, sum.rest).hi;

    return y == 0 ? 0 : y;
}

GPU_FN void gemm_put_wide(void *p, uint64_t i, double x)
{
    const uint64_t bits = x != x ? 0x7ff8ull << 48 : gpu_bits64(x);

    ((uint64_t *)p)[i] = bits;
}

/* Epilogue of a binary32 sum: bias, conversion, bias. */
GPU_FN float gemm_finish(const gemm_args *a, float sum, float bias)
{
    float y = a->place == GEMM_BIAS_F32 ? sum + bias : sum;

    y = layer_to(a->to, a->flush ? glu_flush32(y) : y);
    return a->place == GEMM_BIAS_TO ? layer_to(a->to, y + layer_to(a->to, bias))
                                    : y;
}

GPU_FN float gemm_narrow(const gemm_args *a, const layer_row *r, float bias)
{
    const int direct = a->place != GEMM_BIAS_F32 && a->exact;

    if (direct) { /* rounded once, to the result's type */
        const float y = glu_widen((int)a->to, layer_dot_exact(r, (int)a->to));
        return a->place == GEMM_BIAS_TO
                   ? layer_to(a->to, y + layer_to(a->to, bias))
                   : y;
    }
    const float sum = a->exact
                          ? gpu_float(layer_dot_exact(r, GLU_F32))
                          : layer_order_dot(&a->g, &a->o, bias, r->a_row, r->w);

    return gemm_finish(a, sum, bias);
}

/* The sum of magnitudes: no order, and every scale. */
GPU_FN double gemm_magnitudes(const gemm_args *a, const layer_row *r)
{
    layer_gemm g = a->g;
    const layer_row whole = {&g, r->a, r->w, r->a_row};

    g.a = a->whole_a;
    g.wide = a->whole_w;
    g.unit = NULL;
    return gemm_wide_sum(&whole, 0, 1);
}

GPU_FN void gemm_one(const gemm_args *a, uint64_t i)
{
    const uint64_t row = i / a->g.n;
    const layer_row r = {&a->g, row * a->g.k, i % a->g.n, row};
    const float bias = a->place == GEMM_BIAS_NONE ? 0 : layer_bias(&a->g, r.w);

    if (a->to != GEMM_F64) {
        layer_put(a->to, a->y, i, gemm_narrow(a, &r, bias));
    } else if (a->place == GEMM_BIAS_F32) {
        gemm_put_wide(a->y, i,
                      (double)(gpu_float(layer_dot_exact(&r, GLU_F32)) + bias));
    } else {
        gemm_put_wide(a->y, i, gemm_wide_sum(&r, layer_start(&r), 0));
    }
    if (a->sum_abs != NULL) {
        gemm_put_wide(a->sum_abs, i, gemm_magnitudes(a, &r));
    }
}

GPU_FN void gemm_body(const gemm_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->outputs; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        gemm_one(a, i);
    }
}

#endif
