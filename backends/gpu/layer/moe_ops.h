/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.permute a byte of the result per thread, moe.finalize an element: rows
 * of pairs on their way into grouped GEMMs and out of them.
 */
#ifndef GPU_MOE_OPS_H
#define GPU_MOE_OPS_H

#include "layer/layer_type.h"
#include "port/device.h"

enum { PERMUTE_ROWS = 32, PERMUTE_COLS = 8 }; /* of AITER's tiles */

typedef struct permute_args {
    const uint8_t *x;
    const void *rows;    /* int32 */
    const void *n_valid; /* int32[1]; NULL: all rows count */
    uint8_t *y;
    uint64_t sources, bytes; /* rows of x, and bytes of one */
    uint64_t n;              /* rows that are named */
    uint64_t y_rows, pitch;
    uint64_t top_k;
    uint32_t is_aiter; /* rows are slot << 24 | token */
    uint32_t per_pair;
    uint32_t shuffles;
    uint32_t pad;
} permute_args;

enum {
    FINALIZE_FMA,
    FINALIZE_ADD,
    FINALIZE_TYPED,
    FINALIZE_LANES4,
    FINALIZE_VLLM,
    FINALIZE_CPU,
    FINALIZE_PAIRWISE,
    FINALIZE_EXACT
};
enum { FINALIZE_DEPTH = 16 };

typedef struct finalize_args {
    const void *x;
    const void *index;   /* int32; NULL: a pair's own number */
    const void *weights; /* NULL: none */
    const void *ids;     /* int32, with map */
    const void *map;     /* int32; NULL: all experts are here */
    void *y;
    uint64_t x_cols, cols, outputs;
    uint32_t slots;
    uint32_t from, weight, to; /* LAYER_BF16, LAYER_F16, LAYER_F32 */
    uint32_t sum;
    uint32_t keeps; /* absent pairs are zeros and not left out */
} finalize_args;

/* Row of x for row r of y; sources: a pad. */
GPU_FN uint64_t permute_source(const permute_args *a, uint64_t r)
{
    const uint64_t tokens = a->per_pair ? a->sources / a->top_k : a->sources;
    const int32_t valid =
        a->n_valid == NULL ? 0 : (int32_t)gpu_load_u32(a->n_valid, 0);
    const int is_live =
        r < a->n && (a->n_valid == NULL || (valid > 0 && r < (uint64_t)valid));

    if (!is_live) {
        return a->sources;
    }
    const uint32_t id = gpu_load_u32(a->rows, r);
    const uint64_t token = a->is_aiter ? id & 0xffffffu : id / a->top_k;
    const uint64_t slot = !a->is_aiter  ? id % a->top_k
                          : a->per_pair ? id >> 24
                                        : 0;

    if ((!a->is_aiter && (int32_t)id < 0) || token >= tokens ||
        slot >= a->top_k) {
        return a->sources;
    }
    return a->per_pair ? token * a->top_k + slot : token;
}

/* Tiles of 32 rows, each a row of tiles of 8 columns; within one of these
   [column mod 4][row mod 16][column / 4][row / 16]. */
GPU_FN uint64_t permute_place(const permute_args *a, uint64_t r, uint64_t c)
{
    const uint64_t tile =
        r / PERMUTE_ROWS * (a->pitch / PERMUTE_COLS) + c / PERMUTE_COLS;

    return a->shuffles ? tile * PERMUTE_ROWS * PERMUTE_COLS + c % 4 * 64 +
                             r % 16 * 4 + c / 4 % 2 * 2 + r / 16 % 2
                       : r * a->pitch + c;
}

GPU_FN void permute_body(const permute_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->y_rows * a->pitch; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t r = i / a->pitch;
        const uint64_t c = i % a->pitch;
        const uint64_t from = c < a->bytes ? permute_source(a, r) : a->sources;

        a->y[permute_place(a, r, c)] =
            from == a->sources ? (uint8_t)a->pad : a->x[from * a->bytes + c];
    }
}

/* A token's term of slot k; row is -1 where the expert is elsewhere. */
typedef struct finalize_term {
    int32_t row;
    float x, w;
} finalize_term;

GPU_FN finalize_term finalize_at(const finalize_args *a, uint64_t pair,
                                 uint64_t col)
{
    finalize_term t = {(int32_t)pair, 0, 1};

    if (a->index != NULL) {
        t.row = (int32_t)gpu_load_u32(a->index, pair);
    }
    if (a->map != NULL) {
        const int32_t id = (int32_t)gpu_load_u32(a->ids, pair);
        const int is_here =
            id >= 0 && (int32_t)gpu_load_u32(a->map, (uint64_t)id) >= 0;
        t.row = is_here ? t.row : -1;
    }
    if (t.row >= 0) {
        t.x = layer_get(a->from, a->x, (uint64_t)t.row * a->x_cols + col);
    }
    if (a->weights != NULL) {
        t.w = layer_get(a->weight, a->weights, pair);
    }
    return t;
}

GPU_FN float finalize_product(const finalize_args *a, const finalize_term *t)
{
    return a->weights == NULL ? t->x : t->w * t->x;
}

/* One term more. */
GPU_FN float finalize_step(const finalize_args *a, uint32_t sum, float acc,
                           const finalize_term *t)
{
    if (sum == FINALIZE_FMA && a->weights != NULL) {
        return gpu_fmaf(t->w, t->x, acc);
    }
    const float p = finalize_product(a, t);

    return sum == FINALIZE_TYPED ? layer_to(a->to, acc + layer_to(a->to, p))
                                 : acc + p;
}

/* Terms of a token that take part. */
GPU_FN uint32_t finalize_terms(const finalize_args *a, uint64_t first)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < a->slots; k++) {
        n += a->keeps || finalize_at(a, first + k, 0).row >= 0;
    }
    return n;
}

/* One sum, or four of every fourth term. */
GPU_FN float finalize_in_turn(const finalize_args *a, uint32_t sum,
                              uint64_t first, uint64_t col, uint32_t terms)
{
    const uint32_t lanes = sum == FINALIZE_LANES4 ? 4 : 1;
    float acc[4] = {0, 0, 0, 0};
    uint32_t n = 0;

    for (uint32_t k = 0; k < a->slots; k++) {
        const finalize_term t = finalize_at(a, first + k, col);
        if (a->keeps || t.row >= 0) {
            float *const own = &acc[n++ % lanes];
            *own = sum == FINALIZE_CPU && terms == 1
                       ? finalize_product(a, &t) /* copied: -0 stays */
                       : finalize_step(a, sum, *own, &t);
        }
    }
    float y = acc[0];
    for (uint32_t lane = 1; lane < lanes; lane++) {
        y = y + acc[lane];
    }
    return sum == FINALIZE_CPU && terms != 1 ? glu_flush32(y) : y;
}

/* Rounds of neighbours are a binary counter: a waiting sum for each bit of the
   number of terms. */
GPU_FN float finalize_pairs(const finalize_args *a, uint64_t first,
                            uint64_t col)
{
    float acc[FINALIZE_DEPTH];
    uint32_t n = 0;
    int top = 0;

    for (uint32_t k = 0; k < a->slots; k++) {
        const finalize_term t = finalize_at(a, first + k, col);
        if (!a->keeps && t.row < 0) {
            continue;
        }
        acc[top++] = finalize_product(a, &t);
        for (uint32_t seen = ++n; seen % 2 == 0; seen /= 2) {
            top--;
            acc[top - 1] = acc[top - 1] + acc[top];
        }
    }
    for (; top > 1; top--) {
        acc[top - 2] = acc[top - 2] + acc[top - 1];
    }
    return top == 0 ? 0 : acc[0];
}

/* The real sum as a code of the result's type. */
GPU_SLOW uint32_t finalize_exact(const finalize_args *a, uint64_t first,
                                 uint64_t col)
{
    layer_total total = {0, 0, 0};
    layer_limbs sum;

    for (int i = 0; i < LAYER_LIMBS; i++) {
        sum.limb[i] = 0;
    }
    for (uint32_t k = 0; k < a->slots; k++) {
        const finalize_term t = finalize_at(a, first + k, col);
        const double p = (double)t.x * (double)t.w;
        if (!a->keeps && t.row < 0) {
            continue;
        }
        layer_total_add(&total, p);
        if (p - p == 0) {
            layer_limbs_add(&sum, p);
        }
    }
    return layer_total_is_answer(&total) ? layer_total_round(&total, (int)a->to)
                                         : layer_limbs_round(&sum, (int)a->to);
}

GPU_FN float finalize_of(const finalize_args *a, uint64_t first, uint64_t col)
{
    const uint32_t n = a->sum == FINALIZE_VLLM || a->sum == FINALIZE_CPU
                           ? finalize_terms(a, first)
                           : 0;
    const uint32_t sum = a->sum != FINALIZE_VLLM ? a->sum
                         : n >= 2 && n <= 4      ? (uint32_t)FINALIZE_TYPED
                                                 : (uint32_t)FINALIZE_LANES4;

    return sum == FINALIZE_PAIRWISE ? finalize_pairs(a, first, col)
                                    : finalize_in_turn(a, sum, first, col, n);
}

GPU_FN void finalize_body(const finalize_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->outputs; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t first = i / a->cols * a->slots;
        const uint64_t col = i % a->cols;

        if (a->sum != FINALIZE_EXACT) {
            layer_put(a->to, a->y, i,
                      layer_to(a->to, finalize_of(a, first, col)));
        } else if (a->to == LAYER_F32) {
            gpu_store_u32(a->y, i, finalize_exact(a, first, col));
        } else {
            gpu_store_u16(a->y, i, finalize_exact(a, first, col));
        }
    }
}

#endif
