/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a warp of few_tokens.h finishes a unit's rows, a lane an output of the
 * first GEMM or a row of the second; and the sum over experts, once a block has
 * all of its rows.
 */
#ifndef GPU_FEW_TOKENS_EPILOGUE_H
#define GPU_FEW_TOKENS_EPILOGUE_H

#include "layer/layer.h"
#include "layer/layer_act.h"
#include "layer/layer_add.h"
#include "layer_fast/few_tokens.h"
#include "layer_fast/few_tokens_activations.h"
#include "layer_fast/small_batch.h"
#include "ops/glu.h"
#include "port/device.h"

typedef struct few_tokens_epilogue {
    const small_batch_args *a;
    uint32_t few;
    uint32_t is_real;
    uint32_t second;
    uint32_t tells;    /* the lane's expert is one to look for from here on */
    uint32_t is_there; /* the lane's row, as what follows */
    uint32_t row;      /* of an expert's */
    uint32_t twin;     /* of a unit's two pairs the lane has the second */
    uint32_t pair, place;
    uint64_t number; /* row of the weights, over all experts: the gate */
    uint64_t up;
    float bias[2];
    uint32_t acts; /* row of activations */
    uint32_t slot, parity;
} few_tokens_epilogue;

GPU_FN void few_tokens_epilogue_biases(few_tokens_epilogue *e)
{
    const layer_gemm *const one = &e->a->g[0];
    const layer_gemm *const two = &e->a->g[1];

    e->bias[0] = 0;
    e->bias[1] = 0;
    if (!e->is_there) {
        return;
    }
    if (e->second) {
        if (two->bias_at != LAYER_BIAS_NONE) {
            e->bias[0] = layer_bias(two, e->number);
        }
    } else if (one->bias_at != LAYER_BIAS_NONE) {
        e->bias[0] = layer_bias(one, e->number);
        e->bias[1] = layer_bias(one, e->up);
    }
}

/* The unit behind which pair i's activations are looked for: its last one, or,
   as long as nobody waits for them, the next, when others will have told
   theirs. */
GPU_FN uint32_t few_tokens_published_by(const few_tokens_share *s,
                                        const few_tokens_list *l, uint32_t i)
{
    const uint32_t last = few_tokens_last(s, 0, l, i);

    return i + 2 < few_tokens_pairs(l) ? last + 1 : last;
}

/* Which of the list's pairs a lane has, and which of the block's rows. */
GPU_FN uint32_t few_tokens_epilogue_pair(few_tokens_epilogue *e,
                                         const few_tokens_unit *x)
{
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t size = few_tokens_size(e->second);
    const few_tokens_row r = few_tokens_row_of(x, lane);

    if (few_tokens_is_twin(e->few, x->at)) {
        const uint32_t i = lane & (size - 1);

        e->twin = lane / size & 1;
        e->is_there = e->is_real && lane < 2 * size && i < x->count;
        e->row = x->row + i;
        return x->at + e->twin;
    }
    e->twin = 0;
    e->is_there = e->is_real && lane < x->count;
    e->row = r.row;
    return x->at + (e->is_there ? r.next : 0);
}

/* Unit i of both GEMMs', and what is to be known of it long before its sums
   are there. */
GPU_FN void few_tokens_epilogue_turn_to(few_tokens_epilogue *e,
                                        const few_tokens_share *s,
                                        uint32_t second, uint32_t i)
{
    const small_batch_args *const a = e->a;
    const few_tokens_shared *const here = few_tokens_state();
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t n = small_batch_n(a, second);
    const few_tokens_unit x = here->unit[i];

    e->second = second;
    e->tells = e->is_real && !second && lane < few_tokens_pairs(&here->list) &&
               few_tokens_published_by(s, &here->list, lane) == i;
    const uint32_t at = few_tokens_epilogue_pair(e, &x);
    e->row += second ? s->first[1] : s->first[0];
    e->acts = few_tokens_act_row(a, e->few, second, at);
    e->pair = here->pair[at];
    e->place = e->few ? here->place[at] : e->pair;
    e->number = (uint64_t)here->expert[at] * n +
                (e->row << few_tokens_gate_up(a, second));
    e->up = e->number + (a->halves ? n / 2 : 1);
    few_tokens_epilogue_biases(e);
}

/* A row's sum, by the order of warps and blocks. */
GPU_FN float few_tokens_epilogue_add(const few_tokens_epilogue *e, uint32_t row)
{
    const float *const part = few_tokens_state()->sums[e->slot][e->twin][row];
    float sum = 0;

    GPU_UNROLL
    for (int i = 0; i < FEW_TOKENS_PARTS; i += 4) {
        const gpu_u128 v = gpu_cell_load_u8x16((const uint8_t *)(part + i));
        const float one = gpu_float(v.w[0]) + gpu_float(v.w[1]);
        const float two = gpu_float(v.w[2]) + gpu_float(v.w[3]);

        sum += one + two;
    }
    return sum;
}

/* The sums are in registers: others may come.  Which lanes' are void? */
GPU_FN uint32_t few_tokens_epilogue_has(const few_tokens_epilogue *e)
{
    few_tokens_shared *const here = few_tokens_state();
    const uint32_t *const sizes = here->sizes[e->acts];
    uint32_t rare = 0;
    uint32_t size = 0;

    if (e->is_real) {
        mbarrier_wait(&here->mbarrier.row[e->acts].sizes_ready, 0);
    }
    GPU_UNROLL
    for (int w = 0; w < FEW_TOKENS_TEAM; w++) {
        rare |= here->rare[e->slot][w];
    }
    GPU_UNROLL
    for (int w = 0; w < FEW_TOKENS_ACTIVATION_LOADERS; w++) {
        size |= sizes[w];
    }
    warp_sync();
    if (e->is_real && gpu_thread() % 32 == 0) {
        mbarrier_arrive(&here->mbarrier.sums_empty[e->slot]);
    }
    return size == FEW_TOKENS_SOME ? ~0u : rare;
}

/* Whether a row of the stage is rare, or its sum overflowed because an
   activation was too large to be lifted. */
GPU_FN int few_tokens_epilogue_is_rare(const few_tokens_epilogue *e,
                                       uint32_t rare, uint32_t row, float sum)
{
    return e->is_there && ((rare >> row / 2 * 4 & 15) != 0 ||
                           !(gpu_fabsf(sum) < (float)GPU_INFINITY));
}

GPU_FN void few_tokens_epilogue_act(const few_tokens_epilogue *e)
{
    const layer_gemm *const g = &e->a->g[0];
    const uint32_t lane = gpu_thread() % 8;
    const uint32_t one = e->a->halves ? lane : 2 * lane;
    const uint32_t two = e->a->halves ? lane + 8 : 2 * lane + 1;
    float gate = few_tokens_epilogue_add(e, one);
    float up = few_tokens_epilogue_add(e, two);
    const uint32_t rare = few_tokens_epilogue_has(e);
    glu_two in;

    if (few_tokens_epilogue_is_rare(e, rare, one, gate) ||
        few_tokens_epilogue_is_rare(e, rare, two, up)) {
        gate = layer_dot(g, e->pair, e->number);
        up = layer_dot(g, e->pair, e->up);
    }
    in.g = e->is_real ? layer_finish(g, gate, e->bias[0], 0) : 1;
    in.v = e->is_real ? layer_finish(g, up, e->bias[1], 0) : 1;
    const uint32_t y =
        layer_act_one(&e->a->glu, e->a->glu_mode, in, !e->is_real);
    if (e->is_there) {
        publish_u16(g->y, e->pair * ((uint32_t)g->n / 2) + e->row, y);
    }
    if (e->tells) {
        mbarrier_arrive(
            &few_tokens_state()
                 ->mbarrier
                 .row[few_tokens_count(e->a, e->few) + gpu_thread() % 32]
                 .published);
    }
}

GPU_FN void few_tokens_epilogue_row(const few_tokens_epilogue *e,
                                    const few_tokens_share *s)
{
    const layer_gemm *const g = &e->a->g[1];
    const uint32_t row = gpu_thread() % SMALL_BATCH_ROWS;
    few_tokens_shared *const here = few_tokens_state();
    float sum = few_tokens_epilogue_add(e, row);

    if (few_tokens_epilogue_is_rare(e, few_tokens_epilogue_has(e), row, sum)) {
        acquire_fence();
        sum = layer_dot(g, e->pair, e->number);
    }
    if (e->is_there) {
        here->term[e->place * e->a->terms + e->row - s->first[1]] =
            layer_finish(g, sum, e->bias[0], here->weight[e->place]) *
            here->factor[e->place];
    }
}

/* A token's output in a row of the block's.  It never is -0 on its way, so
   that zeros make no difference. */
GPU_FN void few_tokens_add(const small_batch_args *a, const few_tokens_share *s,
                           uint32_t token, uint32_t row, uint32_t is_real)
{
    const layer_sum_args *const sum = &a->sum;
    const few_tokens_shared *const here = few_tokens_state();
    const uint32_t place = token << a->places;
    const float *const fused = here->fused + place;
    const float *const term = here->term + place * a->terms + row;
    float y = 0;

    for (uint32_t first = 0; first < a->p.topk; first += LAYER_LANES) {
        GPU_UNROLL
        for (uint32_t i = first; i < first + LAYER_LANES; i++) {
            y = gpu_fmaf(term[i * a->terms], fused[i], y);
        }
    }
    y = layer_round(sum->out, y);
    if (is_real) {
        layer_store(sum->out, sum->y,
                    token * small_batch_n(a, 1) + s->first[1] + row, y);
    }
}

/* Unit i, of the block's, of which `one` are of the first GEMM. */
GPU_FN void few_tokens_epilogue_unit(few_tokens_epilogue *e,
                                     const few_tokens_share *s, uint32_t i,
                                     uint32_t one)
{
    const uint32_t second = i >= one;

    few_tokens_epilogue_turn_to(e, s, second, i);
    if (e->is_real) {
        mbarrier_wait(&few_tokens_state()->mbarrier.sums_full[e->slot],
                      e->parity);
    }
    if (second) {
        few_tokens_epilogue_row(e, s);
    } else {
        few_tokens_epilogue_act(e);
    }
}

/* Units of the block, those of one warp.  Others wait for what is done here,
   and not for its instructions and arguments to come from far away: each warp
   does its first unit once before, for nothing. */
GPU_FN void few_tokens_epilogue_units(const small_batch_args *a,
                                      const few_tokens_share *s)
{
    const few_tokens_list *const list = &few_tokens_state()->list;
    const uint32_t one = few_tokens_units(s, 0, list);
    const uint32_t end = one + few_tokens_units(s, 1, list);
    few_tokens_epilogue e;

    e.a = a;
    e.few = s->few;
    e.slot = gpu_thread() / 32;
    e.parity = 0;
    e.is_real = 0;
    GPU_LOOP
    for (uint32_t i = e.slot; i < end;) {
        few_tokens_epilogue_unit(&e, s, i, one);
        if (e.is_real) {
            i += FEW_TOKENS_EPILOGUE_WARPS;
            e.slot += FEW_TOKENS_EPILOGUE_WARPS;
            if (e.slot >= FEW_TOKENS_SLOTS) {
                e.slot -= FEW_TOKENS_SLOTS;
                e.parity ^= 1;
            }
        }
        e.is_real = 1;
    }
}

/* So it is with the sum at the end: what it reads then may still be stored by
   others, and is of no use. */
GPU_FN void few_tokens_epilogue_warps(const small_batch_args *a,
                                      const few_tokens_share *s)
{
    GPU_LOOP
    for (uint32_t is_real = 0; is_real < 2; is_real++) {
        if (is_real) {
            few_tokens_epilogue_units(a, s);
            named_barrier(1, 32 * FEW_TOKENS_EPILOGUE_WARPS);
        }
        GPU_LOOP
        for (uint32_t token = 0; token < few_tokens_count(a, s->few); token++) {
            GPU_LOOP
            for (uint32_t i = gpu_thread(); i < s->rows[1];
                 i += 32 * FEW_TOKENS_EPILOGUE_WARPS) {
                few_tokens_add(a, s, token, i, is_real);
            }
        }
    }
}

#endif
