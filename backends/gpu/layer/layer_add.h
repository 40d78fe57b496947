/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum over a token's experts, in every declared order: one output per
 * thread.  Four slots are fetched at a time, before the first is used.
 */
#ifndef GPU_LAYER_ADD_H
#define GPU_LAYER_ADD_H

#include "layer/layer.h"
#include "layer/layer_sum.h"
#include "port/device.h"

enum { LAYER_LANES = 4 };

typedef struct layer_four {
    float x[LAYER_LANES]; /* rows; +0 of experts elsewhere */
    float w[LAYER_LANES]; /* weights; 1 if they take no part */
    int there[LAYER_LANES];
} layer_four;

/* A token's slots at one column. */
typedef struct layer_slots {
    const layer_sum_args *a;
    uint64_t first; /* pair of slot 0 */
    uint64_t col;
    const layer_four *at_hand; /* the first four, or NULL */
} layer_slots;

GPU_FN layer_four layer_fetch(const layer_slots *s, uint32_t j)
{
    const layer_sum_args *const a = s->a;
    int32_t expert[LAYER_LANES];
    layer_four f;

    if (j == 0 && s->at_hand != NULL) {
        return *s->at_hand;
    }
    GPU_UNROLL
    for (uint32_t i = 0; i < LAYER_LANES; i++) {
        const uint64_t pair =
            s->first + (j + i < a->p.topk ? j + i : a->p.topk - 1);
        expert[i] = layer_expert(&a->p, pair);
        f.x[i] = layer_load(a->row_type, a->rows, pair * a->cols + s->col);
        f.w[i] = a->weigh ? layer_weight_of(&a->p, pair) : 1.0f;
    }
    GPU_UNROLL
    for (uint32_t i = 0; i < LAYER_LANES; i++) {
        f.there[i] = j + i < a->p.topk && (a->keeps || expert[i] >= 0);
        f.x[i] = expert[i] < 0 ? 0 : f.x[i];
    }
    return f;
}

/* One more slot. */
GPU_FN float layer_step(uint32_t sum, float acc, float x, float w)
{
    if (sum == LAYER_SUM_FMA) {
        return gpu_fmaf(x, w, acc);
    }
    if (sum == LAYER_SUM_PRODUCT) {
        const float p = x * w;
        return acc + p;
    }
    return acc + x;
}

/* Four slots more, every sum rounded to a type. */
GPU_FN float layer_four_more(uint32_t sum, uint32_t type, float acc,
                             const layer_four *f)
{
    GPU_UNROLL
    for (int i = 0; i < LAYER_LANES; i++) {
        acc = f->there[i]
                  ? layer_round(type, layer_step(sum, acc, f->x[i], f->w[i]))
                  : acc;
    }
    return acc;
}

/* Slot by slot in binary32, or with every sum rounded to a type. */
GPU_FN float layer_in_turn(const layer_slots *s, uint32_t type)
{
    float acc = 0;

    for (uint32_t j = 0; j < s->a->p.topk; j += LAYER_LANES) {
        const layer_four f = layer_fetch(s, j);
        acc = layer_four_more(s->a->sum, type, acc, &f);
    }
    return acc;
}

/* Slots that take part. */
GPU_FN uint32_t layer_terms(const layer_slots *s)
{
    uint32_t n = s->a->keeps ? s->a->p.topk : 0;

    for (uint32_t j = 0; !s->a->keeps && j < s->a->p.topk; j++) {
        n += layer_expert(&s->a->p, s->first + j) >= 0;
    }
    return n;
}

/* Four partial sums, of terms n mod 4. */
GPU_FN float layer_four_lanes(const layer_slots *s)
{
    float lane[LAYER_LANES] = {0, 0, 0, 0};
    uint32_t n = 0;

    for (uint32_t j = 0; j < s->a->p.topk; j += LAYER_LANES) {
        const layer_four f = layer_fetch(s, j);
        GPU_UNROLL
        for (int i = 0; i < LAYER_LANES; i++) {
            GPU_UNROLL
            for (uint32_t k = 0; k < LAYER_LANES; k++) {
                const int is_it = f.there[i] && n % LAYER_LANES == k;
                lane[k] = is_it ? lane[k] + f.x[i] : lane[k];
            }
            n += f.there[i] != 0;
        }
    }
    const float two = lane[0] + lane[1];
    const float three = two + lane[2];

    return three + lane[3];
}

GPU_SLOW uint32_t layer_sum_exact(const layer_slots *s, int to)
{
    layer_total total = {0, 0, 0};
    layer_limbs sum;

    for (int i = 0; i < LAYER_LIMBS; i++) {
        sum.limb[i] = 0;
    }
    for (uint32_t j = 0; j < s->a->p.topk; j += LAYER_LANES) {
        const layer_four f = layer_fetch(s, j);
        for (int i = 0; i < LAYER_LANES; i++) {
            const double term =
                f.there[i] ? (double)f.x[i] * (double)f.w[i] : 0;
            layer_total_add(&total, term);
            if (term - term == 0) {
                layer_limbs_add(&sum, term);
            }
        }
    }
    return layer_total_is_answer(&total) ? layer_total_round(&total, to)
                                         : layer_limbs_round(&sum, to);
}

/* The sums that the fast kernels know; layer_any.h has the others. */
GPU_FN float layer_sum_of(const layer_slots *s)
{
    const layer_sum_args *const a = s->a;
    const uint32_t n = a->sum == LAYER_SUM_MOE ? layer_terms(s) : 0;

    if (a->sum == LAYER_SUM_MOE && (n < 2 || n > 4)) {
        return layer_four_lanes(s);
    }
    return layer_in_turn(
        s, a->sum == LAYER_SUM_MOE || a->sum == LAYER_SUM_ATOMIC ? LAYER_BF16
                                                                 : LAYER_F32);
}

GPU_FN void layer_sum_one(const layer_sum_args *a, uint64_t i, uint64_t token)
{
    const layer_slots s = {a, token * a->p.topk, i - token * a->cols, NULL};

    if (a->sum != LAYER_SUM_EXACT) {
        layer_store(a->out, a->y, i, layer_round(a->out, layer_sum_of(&s)));
    } else if (a->out == LAYER_F32) {
        gpu_store_u32(a->y, i, layer_sum_exact(&s, GLU_F32));
    } else {
        gpu_store_u16(a->y, i, layer_sum_exact(&s, GLU_BF16));
    }
}

GPU_FN void layer_sum_body(const layer_sum_args *a)
{
    if (!layer_is_needed(a->when)) {
        return;
    }
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->outputs; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        layer_sum_one(a, i,
                      a->outputs >> 31 == 0
                          ? gpu_quotient((uint32_t)i, a->columns)
                          : i / a->cols);
    }
}

#endif
