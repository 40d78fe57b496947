/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the warps of small_batch.h multiply.  Weights are the 16 rows of a tensor
 * core's step, a group's tokens its 8 columns.  Four neighbouring lanes have
 * four blocks of 32 of k, each a whole one of two rows; which of its numbers
 * meet in a step is free, if activations come in the same order.
 *
 * A code becomes a BF16 number times 2^-126, and the scale times 2^126 makes it
 * the weight.  Above byte 128 that is no BF16 number: then the unit is marked,
 * and its sums are done anew elsewhere.
 */
#ifndef GPU_SMALL_BATCH_MATH_H
#define GPU_SMALL_BATCH_MATH_H

#include "layer/layer.h"
#include "layer_fast/small_batch.h"
#include "layer_fast/small_batch_acts.h"
#include "ops/dequant.h"
#include "port/device.h"

/* A warp, and what it keeps at hand. */
typedef struct small_batch_warp {
    uint32_t lane;
    uint32_t mate;  /* its place in its team */
    uint32_t least; /* scale bytes below this one are zero */
    uint32_t acts;  /* where its lanes' activations are in a chunk */
    uint32_t act_step;
    uint32_t buffer;              /* of activations */
    uint32_t at;                  /* unit */
    uint32_t stage, stage_parity; /* of the unit */
    uint32_t slot, slot_parity;   /* of its sums */
} small_batch_warp;

/* Where a lane finds its two rows in every stage of a GEMM, at the warp's first
   chunk.  They are neighbours, or in two halves. */
typedef struct small_batch_rows {
    uint32_t codes, scale;
    uint32_t codes_apart, scale_apart; /* from one row to the other */
    uint32_t is_split;
    uint32_t parts;
    uint32_t part_k;       /* of a part but the last */
    uint32_t chunks, last; /* of the warp in such a part, in the last one */
    int32_t left;          /* blocks of a part, from the lane's first on */
} small_batch_rows;

/* Chunks of k that a warp has. */
GPU_FN uint32_t small_batch_chunks(const small_batch_warp *p, uint32_t k)
{
    const uint32_t blocks = k / LAYER_BLOCK;
    const uint32_t left = blocks - p->mate * 4;

    return blocks > p->mate * 4
               ? (left + 4 * SMALL_BATCH_TEAM - 1) / (4 * SMALL_BATCH_TEAM)
               : 0;
}

GPU_FN small_batch_rows small_batch_rows_of(const small_batch_args *a,
                                            const small_batch_share *s,
                                            uint32_t second,
                                            const small_batch_warp *p)
{
    const uint32_t k = small_batch_k(a, second);
    const uint32_t is_split = (uint32_t)small_batch_is_split(a, second);
    const uint32_t row = is_split ? p->lane / 4 : p->lane / 4 * 2;
    const uint32_t at = p->mate * 4 + p->lane % 4;
    const uint32_t parts = small_batch_parts(a, s, second);
    const uint32_t part_k = parts > 1 ? a->part : k;
    const uint32_t blocks = part_k / LAYER_BLOCK;
    small_batch_rows r;

    r.codes = row * (part_k / 2) + at * 16;
    r.codes_apart = is_split ? part_k * (SMALL_BATCH_ROWS / 4) : part_k / 2;
    r.scale = SMALL_BATCH_ROWS / 2 * part_k + row * blocks + at;
    r.scale_apart = !is_split   ? blocks
                    : parts > 1 ? blocks * (SMALL_BATCH_ROWS / 2)
                                : SMALL_BATCH_SCALE_ROOM(blocks);
    r.is_split = is_split;
    r.parts = parts;
    r.part_k = part_k;
    r.last = small_batch_chunks(p, k - (parts - 1) * part_k);
    r.chunks = parts > 1 ? small_batch_chunks(p, part_k) : r.last;
    r.left = (int32_t)(blocks - at);
    return r;
}

/* Eight codes as the weights of layer_spread()'s pairs. */
GPU_FN void small_batch_widen(const uint32_t laid, uint32_t codes,
                              uint32_t factor, uint32_t *y)
{
    layer_spread_of(laid, codes, y);
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        y[i] = multiply_bf16x2(y[i], factor);
    }
}

/* 32 of k: eight steps. */
GPU_FN void small_batch_steps(float *acc, const uint32_t laid, gpu_u128 low,
                              gpu_u128 high, uint32_t low_factor,
                              uint32_t high_factor, const gpu_u128 *acts,
                              uint32_t step)
{
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const gpu_u128 x = gpu_cell_load_u8x16(acts + (uint32_t)i * step);
        uint32_t l[4], h[4];

        small_batch_widen(laid, low.w[i], low_factor, l);
        small_batch_widen(laid, high.w[i], high_factor, h);
        const uint32_t even[4] = {l[0], h[0], l[1], h[1]};
        const uint32_t odd[4] = {l[2], h[2], l[3], h[3]};

        warp_mma(acc, even, x.w);
        warp_mma(acc + 4, odd, x.w + 2);
    }
}

/* Factor of codes under a scale byte; below `least` it is zero. */
GPU_FN uint32_t small_batch_factor(uint32_t least, uint32_t byte)
{
    return byte < least ? 0 : byte * 0x800080u + 126 * 0x800080u;
}

/* The warp's share of a part's sums.  Returns the largest scale byte.  What is
   read behind k is multiplied by activations of zero. */
GPU_FN uint32_t small_batch_multiply(const small_batch_args *a,
                                     const small_batch_warp *p,
                                     const small_batch_rows *r, uint32_t part,
                                     const uint32_t laid, float *acc)
{
    const uint32_t *const off = small_batch_state()->off[p->stage];
    const uint8_t *const stage = small_batch_stage(a, p->stage);
    const uint8_t *codes = stage + r->codes;
    const uint8_t *scale = stage + r->scale + off[0];
    const uint32_t scale_apart =
        r->scale_apart + (r->is_split ? off[1] - off[0] : 0);
    const gpu_u128 *acts =
        small_batch_acts(a, p->buffer) +
        (p->mate * 16 + part * (r->part_k / 8)) * a->columns + p->acts;
    const uint32_t act_more = SMALL_BATCH_TEAM * 16 * a->columns;
    int32_t left = r->left;
    uint32_t largest = 0;

    GPU_LOOP
    for (uint32_t c = part + 1 < r->parts ? r->chunks : r->last; c > 0; c--) {
        const uint32_t low = left > 0 ? scale[0] : 0;
        const uint32_t high = left > 0 ? scale[scale_apart] : 0;

        small_batch_steps(acc, laid, gpu_cell_load_u8x16(codes),
                          gpu_cell_load_u8x16(codes + r->codes_apart),
                          small_batch_factor(p->least, low),
                          small_batch_factor(p->least, high), acts,
                          p->act_step);
        largest = largest < low ? low : largest;
        largest = largest < high ? high : largest;
        codes += SMALL_BATCH_TEAM * SMALL_BATCH_CHUNK / 2;
        scale += SMALL_BATCH_TEAM * 4;
        acts += act_more;
        left -= SMALL_BATCH_TEAM * 4;
    }
    return largest;
}

/* A warp's sums of a unit, to where they are added up. */
GPU_FN void small_batch_hand_on(const small_batch_warp *p, const float *acc,
                                uint32_t largest, small_batch_sums *to)
{
    float *const part =
        to->part[p->mate] + p->lane / 4 * SMALL_BATCH_COLUMNS + p->lane % 4 * 2;
    const uint32_t rare = warp_ballot(largest > 128);

    gpu_cell_store_f32x2(part, acc[0] + acc[4], acc[1] + acc[5]);
    gpu_cell_store_f32x2(part + 8 * SMALL_BATCH_COLUMNS, acc[2] + acc[6],
                         acc[3] + acc[7]);
    if (p->lane == 0) {
        to->rare[p->mate] = rare;
    }
}

/* To the team's next stage. */
GPU_FN void small_batch_next_stage(const small_batch_args *a,
                                   small_batch_warp *p)
{
    p->stage += SMALL_BATCH_TEAMS;
    if (p->stage >= a->stages) {
        p->stage -= a->stages;
        p->stage_parity ^= 1;
    }
}

/* To the team's next unit. */
GPU_FN void small_batch_step(const small_batch_args *a, small_batch_warp *p)
{
    p->at += SMALL_BATCH_TEAMS;
    small_batch_next_stage(a, p);
    p->slot += SMALL_BATCH_TEAMS;
    if (p->slot >= SMALL_BATCH_EPILOGUE_WARPS) {
        p->slot -= SMALL_BATCH_EPILOGUE_WARPS;
        p->slot_parity ^= 1;
    }
}

/* The warp's share of a stage, if there is anything in it.  Returns the largest
   scale byte. */
GPU_FN uint32_t small_batch_one_part(const small_batch_args *a,
                                     const small_batch_warp *p,
                                     const small_batch_rows *r, uint32_t part,
                                     float *acc)
{
    mbarrier_wait(&small_batch_state()->full[p->stage], p->stage_parity);
    if (part >= r->parts) {
        return 0;
    }
    return a->g[0].laid == LAYER_LAID_HOPPER
               ? small_batch_multiply(a, p, r, part, LAYER_LAID_HOPPER, acc)
               : small_batch_multiply(a, p, r, part, LAYER_LAID_PLAIN, acc);
}

/* The warp's share of all stages of a unit but the last. */
GPU_FN uint32_t small_batch_parts_before(const small_batch_args *a,
                                         small_batch_warp *p,
                                         const small_batch_rows *r,
                                         uint32_t last, float *acc)
{
    uint32_t largest = 0;

    GPU_LOOP
    for (uint32_t part = 0; part < last; part++) {
        const uint32_t most = small_batch_one_part(a, p, r, part, acc);

        largest = largest < most ? most : largest;
        warp_sync();
        if (p->lane == 0) {
            mbarrier_arrive(&small_batch_state()->empty[p->stage]);
        }
        small_batch_next_stage(a, p);
    }
    return largest;
}

/* The warp's share of a unit.  The last stage is held until sums are handed on:
   so nobody is two turns ahead at the gates of sums. */
GPU_FN void small_batch_one(const small_batch_args *a,
                            const small_batch_share *s, small_batch_warp *p,
                            const small_batch_rows *r)
{
    small_batch_shared *const here = small_batch_state();
    float acc[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    uint32_t last = 0;
    uint32_t before = 0;

    if (s->in_parts) {
        last = small_batch_round(a, s, p->at - p->at % SMALL_BATCH_TEAMS) - 1;
        before = small_batch_parts_before(a, p, r, last, acc);
    }
    const uint32_t most = small_batch_one_part(a, p, r, last, acc);
    const uint32_t largest = before < most ? most : before;
    mbarrier_wait(&here->sums_empty[p->slot], p->slot_parity ^ 1);
    small_batch_hand_on(p, acc, largest, &here->sums[p->slot]);
    warp_sync();
    if (p->lane == 0) {
        mbarrier_arrive(&here->sums_full[p->slot]);
        mbarrier_arrive(&here->empty[p->stage]);
    }
    small_batch_step(a, p);
}

/* Those who multiply go over to a run.  Where there is but one buffer all have
   to be done with what it has. */
GPU_FN void small_batch_turn_to(const small_batch_args *a,
                                const small_batch_run *r, gpu_u128 peeked)
{
    if (a->buffers == 1 && r->begin > 0) {
        named_barrier(1, 32 * SMALL_BATCH_MATH);
    }
    small_batch_take_acts(a, r, peeked);
    named_barrier(1, 32 * SMALL_BATCH_MATH);
}

/* All units of the block, run by run: the team's.  Before the last one of a run
   it asks for the next one's activations. */
GPU_FN void small_batch_math(const small_batch_args *a,
                             const small_batch_share *s)
{
    const uint32_t warp = gpu_thread() / 32 - SMALL_BATCH_EPILOGUE_WARPS;
    const uint32_t lane = gpu_thread() % 32;
    const uint32_t team = warp / SMALL_BATCH_TEAM;
    const uint32_t end = s->till[1];
    small_batch_warp p = {keep_in_register(lane),
                          keep_in_register(warp % SMALL_BATCH_TEAM),
                          keep_in_register((a->g[0].rule & DEQUANT_ZERO) != 0),
                          keep_in_register(lane % (4 * a->columns)),
                          4 * a->columns,
                          0,
                          team,
                          team,
                          0,
                          team,
                          0};
    small_batch_run r = small_batch_run_at(a, s, 0);
    gpu_u128 peeked = {{0, 0, 0, 0}};

    if (end > 0) {
        peeked = small_batch_peek(a, &r);
    }
    GPU_LOOP
    while (r.begin < end) {
        const small_batch_run next = small_batch_run_next(a, s, &r);
        const small_batch_rows rows = small_batch_rows_of(a, s, r.x.second, &p);
        small_batch_turn_to(a, &r, peeked);
        p.buffer = r.buffer;
        GPU_LOOP
        while (p.at + SMALL_BATCH_TEAMS < r.end) {
            small_batch_one(a, s, &p, &rows);
        }
        if (next.begin < end) {
            peeked = small_batch_peek(a, &next);
        }
        if (p.at < r.end) {
            small_batch_one(a, s, &p, &rows);
        }
        r = next;
    }
}

#endif
