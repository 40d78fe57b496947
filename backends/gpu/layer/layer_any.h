/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer as any profile declares it, one output per thread: its types, the
 * places of biases and routing weights, the activation and the sum over
 * experts.  layer_operands.h has the rows, layer_order.h the sums.
 */
#ifndef GPU_LAYER_ANY_H
#define GPU_LAYER_ANY_H

#include "layer/layer.h"
#include "layer/layer_add.h"
#include "layer/layer_order.h"
#include "layer/layer_type.h"
#include "port/device.h"

typedef struct layer_args {
    layer_pairs p;
    layer_gemm g;
    layer_order order;
    const float *sums;    /* NULL, or [pairs, n]: they are known */
    const uint32_t *when; /* layer_is_needed() */
    const float *given;   /* of activations under one scale: the sums are */
    uint32_t divides;     /* multiplied by it, or by its reciprocal */
    float early;          /* factor for small operands: before the rounding, */
    float late;           /* after it, and with the routing weight */
    float weight;
    uint32_t leaves; /* type of y */
} layer_args;

GPU_FN float layer_add_flushed(float a, float b)
{
    return glu_flush32(glu_flush32(a) + glu_flush32(b));
}

/* A rounded sum with a bias that comes behind. */
GPU_FN float layer_any_behind(const layer_args *a, uint32_t at, float y,
                              float bias)
{
    y = at == LAYER_BIAS_BEHIND ? layer_add_flushed(y, bias) : y;
    y = at == LAYER_BIAS_UNROUNDED ? y + bias : y;
    return at == LAYER_BIAS_ROUNDED ? layer_to(a->g.mid, y + bias) : y;
}

/* A sum, with its bias at that place and rounded. */
GPU_FN float layer_any_finish(const layer_args *a, uint32_t at, float sum,
                              float bias)
{
    const layer_gemm *const g = &a->g;
    const int is_late =
        at == LAYER_BIAS_SUM && a->order.kind == LAYER_ORDER_AMX;
    float y = sum;

    if (a->given != NULL) {
        const float given = gpu_float(gpu_load_u32(a->given, 0));
        y = sum * (a->divides ? 1.0f / given : given);
    }

    y = at == LAYER_BIAS_ACC || is_late ? y + bias : y;
    y = at == LAYER_BIAS_FLUSHED ? layer_add_flushed(y, bias) : y;
    y = layer_to(g->mid, y * a->early);
    y = a->late != 1 ? layer_to(g->mid, y * a->late) : y;
    return layer_any_behind(a, at, y, bias);
}

/* The sum of a part, which has no order: binary64 as in layer_dot(). */
GPU_FN float layer_any_part(const layer_row *r, uint64_t first, uint64_t end)
{
    double sum = 0;

    for (uint64_t at = first / LAYER_BLOCK; at * LAYER_BLOCK < end; at++) {
        const layer_block b = layer_block_at(r, at);
        for (uint64_t k = b.first; k < b.end; k++) {
            sum += layer_product(r, &b, k);
        }
    }
    return (float)sum;
}

/* Parts of K, each rounded by itself: from the last one on, which has the bias;
   of two halves it comes behind the sum.  Of no columns there is one. */
GPU_FN float layer_any_parts(const layer_args *a, float bias, uint64_t pair,
                             uint64_t w)
{
    const layer_gemm *const g = &a->g;
    const uint64_t row = pair / g->share;
    const layer_row r = {g, row * g->pitch, w, row};
    const uint64_t blocks = (g->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    const uint64_t size = (blocks + a->order.splits - 1) / a->order.splits;
    const int streams = a->order.kind == LAYER_ORDER_STREAMK;
    uint32_t at = streams ? g->bias_at : (uint32_t)LAYER_BIAS_NONE;
    uint64_t end = g->k;
    float y = 0;

    for (uint64_t i = blocks == 0 ? 1 : (blocks + size - 1) / size; i-- > 0;) {
        const uint64_t first = i * size * LAYER_BLOCK;
        const float sum = layer_any_part(&r, first, end);
        const float x = layer_any_finish(a, at, sum, bias);
        y = end == g->k ? x : layer_to(g->mid, y + x);
        at = LAYER_BIAS_NONE;
        end = first;
    }
    return streams ? y : layer_any_behind(a, g->bias_at, y, bias);
}

GPU_FN float layer_any_gemm(const layer_args *a, float bias, uint64_t pair,
                            uint64_t w)
{
    const layer_gemm *const g = &a->g;
    const uint32_t kind = a->order.kind;

    if (kind == LAYER_ORDER_STREAMK || kind == LAYER_ORDER_HALVES) {
        return layer_any_parts(a, bias, pair, w);
    }
    const float sum =
        a->sums == NULL
            ? layer_order_dot(g, &a->order, bias, pair, w)
            : gpu_float(gpu_load_u32(a->sums, pair * g->n + w % g->n));

    return layer_any_finish(a, g->bias_at, sum, bias);
}

GPU_FN float layer_any_one(const layer_args *a, uint64_t pair, uint64_t w)
{
    const layer_gemm *const g = &a->g;
    const float bias = g->bias_at == LAYER_BIAS_NONE ? 0 : layer_bias(g, w);
    const float y = layer_any_gemm(a, bias, pair, w);

    return g->weigh ? layer_to(g->out,
                               y * (layer_weight_of(&a->p, pair) * a->weight))
                    : y;
}

/* Pairs whose expert is elsewhere get zeros. */
GPU_FN void layer_plain_body(const layer_args *a)
{
    const layer_gemm *const g = &a->g;

    if (!layer_is_needed(a->when)) {
        return;
    }
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->p.pairs * g->n; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t pair = i / g->n;
        const int32_t expert = layer_expert(&a->p, pair);

        layer_put(
            a->leaves, g->y, i,
            expert < 0
                ? 0
                : layer_any_one(a, pair, (uint64_t)expert * g->n + i % g->n));
    }
}

/* Finish an activation's code: no infinity, the routing weight. */
GPU_FN uint32_t layer_settle(const layer_glu_args *a, uint64_t pair,
                             uint32_t code)
{
    const int to = (int)a->glu.to;

    if (a->saturates && (code & 0x7fffu) == 0x7f80u) {
        code--;
    }
    return a->weigh ? glu_finish(to, glu_widen(to, code) *
                                         layer_weight_of(&a->p, pair))
                    : code;
}

GPU_FN void layer_glu_body(const layer_glu_args *a)
{
    const glu_args *const u = &a->glu;

    if (!layer_is_needed(a->when)) {
        return;
    }
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < u->outputs; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t pair = i / u->cols;
        const uint64_t at = u->interleaved ? 2 * i : i + pair * u->cols;
        const uint64_t up = u->interleaved ? at + 1 : at + u->cols;
        const int32_t expert = layer_expert(&a->p, pair);
        uint32_t code = 0;

        if (expert >= 0) {
            code = glu_slow_of(u, u->table == NULL ? NULL : u->table + expert,
                               (int)u->from, (int)u->to,
                               layer_get(u->from, u->gate, at),
                               layer_get(u->from, u->gate, up));
            code = layer_settle(a, pair, code);
        }
        if (u->to == GLU_F32) {
            gpu_store_u32(u->y, i, code);
        } else {
            gpu_store_u16(u->y, i, code);
        }
    }
}

/* The slot that is number n of a token's: in turn, or by experts' numbers;
   topk if no more take part. */
GPU_FN uint32_t layer_turn(const layer_sum_args *a, uint64_t first, uint32_t n)
{
    const int sorts =
        a->sum == LAYER_SUM_BY_EXPERT || a->sum == LAYER_SUM_EXPERTS;

    for (uint32_t j = 0; j < a->p.topk; j++) {
        const int32_t own = layer_expert(&a->p, first + j);
        uint32_t before = 0;

        for (uint32_t i = 0; i < a->p.topk; i++) {
            const int32_t other = layer_expert(&a->p, first + i);
            const int is_first =
                !sorts || other == own || (other < 0 && own < 0) ? i < j
                                                                 : other < own;
            before += (a->keeps || other >= 0) && is_first;
        }
        if ((a->keeps || own >= 0) && before == n) {
            return j;
        }
    }
    return a->p.topk;
}

/* Slot by slot, every sum rounded to a type; only: there is but one. */
GPU_FN float layer_any_turns(const layer_sum_args *a, uint64_t first,
                             uint64_t col, uint32_t type, int only)
{
    float acc = 0;

    for (uint32_t n = 0; n < a->p.topk; n++) {
        const uint32_t j = layer_turn(a, first, n);
        if (j == a->p.topk) {
            break;
        }
        const uint64_t pair = first + j;
        const float x =
            layer_expert(&a->p, pair) < 0
                ? 0
                : layer_get(a->row_type, a->rows, pair * a->cols + col);
        const float w = a->weigh ? layer_weight_of(&a->p, pair) : 1.0f;
        if (a->sum == LAYER_SUM_CPU && only) {
            acc = x; /* copied: -0 stays */
        } else if (a->sum == LAYER_SUM_FLUSHED) {
            acc = glu_flush32(gpu_fmaf(glu_flush32(x), glu_flush32(w), acc));
        } else {
            acc = layer_step(a->sum, acc, x, w);
        }
        acc = layer_to(type, acc);
    }
    return acc;
}

/* The sums that layer_sum_of() does not have, and those of binary16. */
GPU_FN float layer_any_sum(const layer_sum_args *a, uint64_t first,
                           uint64_t col)
{
    const layer_slots s = {a, first, col, NULL};
    const uint32_t n = layer_terms(&s);
    const uint32_t half = a->step == LAYER_F16 ? LAYER_F16 : LAYER_BF16;
    const int each = a->sum == LAYER_SUM_MOE || a->sum == LAYER_SUM_ATOMIC ||
                     a->sum == LAYER_SUM_EXPERTS;

    if (a->sum == LAYER_SUM_MOE && (n < 2 || n > 4)) {
        return layer_four_lanes(&s);
    }
    const float y = layer_any_turns(a, first, col,
                                    each ? half : (uint32_t)LAYER_F32, n == 1);

    return a->sum == LAYER_SUM_CPU && n != 1
               ? layer_to(a->step == LAYER_F16 ? LAYER_F16 : LAYER_DOWN, y)
               : y;
}

GPU_FN void layer_any_sum_body(const layer_sum_args *a)
{
    if (!layer_is_needed(a->when)) {
        return;
    }
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->outputs; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t first = i / a->cols * a->p.topk;
        const layer_slots s = {a, first, i % a->cols, NULL};

        if (a->sum != LAYER_SUM_EXACT) {
            layer_put(a->out, a->y, i,
                      layer_to(a->out, layer_any_sum(a, first, s.col)));
        } else if (a->out == LAYER_F32) {
            gpu_store_u32(a->y, i, layer_sum_exact(&s, GLU_F32));
        } else {
            gpu_store_u16(a->y, i, layer_sum_exact(&s, (int)a->out));
        }
    }
}

#endif
