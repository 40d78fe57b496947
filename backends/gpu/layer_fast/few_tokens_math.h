/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the teams of few_tokens.h multiply: as small_batch_math.h does, but for
 * the columns.  A chunk's four blocks are a column each, twice, for the two
 * experts that a unit may have: of activations a column has its block's, and
 * zeros.  So a block's sum is by itself, in the lanes that have its scales, and
 * codes need no scale; as they come they are numbers times 2^-126, which
 * activations lifted by 2^80 make good.  Other activations than those for which
 * that is harmless mark their units (few_tokens_epilogue.h).
 */
#ifndef GPU_FEW_TOKENS_MATH_H
#define GPU_FEW_TOKENS_MATH_H

#include "layer/layer.h"
#include "layer_fast/few_tokens.h"
#include "layer_fast/small_batch.h"
#include "ops/dequant.h"
#include "port/device.h"

/* Of a unit and a lane's two rows, fetched while the unit before is multiplied:
   few_tokens_task_of()'s word, and where scales are, in low and high half. */
typedef struct few_tokens_task {
    uint32_t word;
    uint32_t scales;
} few_tokens_task;

typedef struct few_tokens_warp {
    uint32_t few;
    uint32_t lane;
    uint32_t mate; /* its place in its team */
    uint32_t more; /* of few_tokens_factor() */
    uint32_t has;  /* the lane's column is its block's */
    uint32_t i;    /* unit */
    uint32_t stage, parity;
    uint32_t slot, slot_parity; /* of its sums */
    uint32_t freed, to_free;    /* rows of activations: others wait for them */
    uint32_t last;              /* unit that needs row `freed` */
    uint32_t all;               /* units */
    few_tokens_task task;       /* of unit i */
} few_tokens_warp;

/* A warp's share of a GEMM's units: two rows, neighbours, and every
   FEW_TOKENS_TEAM-th chunk, two of them at a time. */
typedef struct few_tokens_lane {
    uint32_t second;
    uint32_t laid;
    uint32_t half;  /* bytes from one row to the next */
    uint32_t codes; /* in a stage */
    uint32_t block;
    uint32_t acts; /* in activations */
    uint32_t spans;
    int32_t left; /* blocks, from the lane's first on */
} few_tokens_lane;

GPU_FN few_tokens_lane few_tokens_lane_of(const small_batch_args *a,
                                          const few_tokens_warp *p,
                                          uint32_t second)
{
    const uint32_t k = small_batch_k(a, second);
    few_tokens_lane d;

    d.second = second;
    d.laid = a->g[0].laid;
    d.half = k / 2;
    d.block = p->mate * 4 + p->lane % 4;
    d.codes = p->lane / 4 * 2 * d.half + d.block * (LAYER_BLOCK / 2);
    d.acts = p->mate * 16 + p->lane % 4;
    d.left = (int32_t)(k / LAYER_BLOCK - d.block);
    d.spans = (k + FEW_TOKENS_SPAN - 1) / FEW_TOKENS_SPAN;
    return d;
}

/* Sums of a lane's block of four rows' columns: two rows, two experts. */
typedef struct few_tokens_sums {
    float low[2], high[2];
} few_tokens_sums;

/* Factor of a block's sum under a scale byte.  With more = 0 byte 0 gives zero;
   else more is 255. */
GPU_FN float few_tokens_factor(uint32_t more, uint32_t byte)
{
    const uint32_t x = byte + 46;
    const uint32_t y = byte * 64 + more;

    return gpu_float((x < y ? x : y) << 23);
}

/* 32 of k in every lane, one block of four; acts are kept zeros but in the
   lanes whose column it is. */
GPU_FN void few_tokens_steps(const few_tokens_warp *p, const uint32_t laid,
                             gpu_u128 low, gpu_u128 high, const gpu_u128 *acts,
                             gpu_u128 *x, float *acc)
{
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        uint32_t l[4], h[4];

        shared_load_if(p->has, acts + i * 4, &x[i]);
        layer_spread_of(laid, low.w[i], l);
        layer_spread_of(laid, high.w[i], h);
        const uint32_t even[4] = {l[0], h[0], l[1], h[1]};
        const uint32_t odd[4] = {l[2], h[2], l[3], h[3]};

        if (i == 0) {
            warp_mma_first(acc, even, x[i].w);
            warp_mma_first(acc + 4, odd, x[i].w + 2);
        } else {
            warp_mma(acc, even, x[i].w);
            warp_mma(acc + 4, odd, x[i].w + 2);
        }
    }
}

/* Where a lane is in a unit. */
typedef struct few_tokens_cursor {
    const uint8_t *codes, *scale;
    const gpu_u128 *acts;
    uint32_t half, apart; /* to the other row's codes, scales */
    int32_t left;
    uint32_t largest; /* scale byte */
} few_tokens_cursor;

/* A chunk of k, `skip` further on.  What is read behind k is multiplied by
   activations of zero. */
GPU_FN void few_tokens_chunk(const few_tokens_warp *p, const uint32_t laid,
                             few_tokens_cursor *at, uint32_t skip, gpu_u128 *x,
                             few_tokens_sums *sums)
{
    const uint8_t *const codes = at->codes + skip * (SMALL_BATCH_CHUNK / 2);
    const uint8_t *const scale = at->scale + skip * 4;
    const int is_there = at->left > (int32_t)(skip * 4);
    const uint32_t low = is_there ? scale[0] : 0;
    const uint32_t high = is_there ? scale[at->apart] : 0;
    float acc[8];

    few_tokens_steps(p, laid, gpu_cell_load_u8x16(codes),
                     gpu_cell_load_u8x16(codes + at->half),
                     at->acts + skip * 16, x, acc);
    const float f = few_tokens_factor(p->more, low);
    const float g = few_tokens_factor(p->more, high);
    GPU_UNROLL
    for (int i = 0; i < 2; i++) {
        sums->low[i] = gpu_fmaf(acc[i] + acc[4 + i], f, sums->low[i]);
        sums->high[i] = gpu_fmaf(acc[2 + i] + acc[6 + i], g, sums->high[i]);
    }
    at->largest = max3_u32(at->largest, low, high);
}

/* The warp's share of a unit's sums.  Returns the largest scale byte. */
GPU_FN uint32_t few_tokens_multiply(const small_batch_args *a,
                                    const few_tokens_warp *p,
                                    const few_tokens_lane *d,
                                    const uint32_t laid, uint32_t scale_at,
                                    uint32_t apart, uint32_t buffer,
                                    few_tokens_sums *sums)
{
    const uint8_t *const stage = few_tokens_stage(a, p->stage);
    gpu_u128 x[4] = {
        {{0, 0, 0, 0}}, {{0, 0, 0, 0}}, {{0, 0, 0, 0}}, {{0, 0, 0, 0}}};
    few_tokens_cursor at = {stage + d->codes,
                            stage + SMALL_BATCH_ROWS * d->half + d->block +
                                scale_at,
                            few_tokens_acts(a, buffer) + d->acts,
                            d->half,
                            apart,
                            d->left,
                            0};

    GPU_LOOP
    for (uint32_t c = d->spans; c > 0; c--) {
        few_tokens_chunk(p, laid, &at, 0, x, sums);
        few_tokens_chunk(p, laid, &at, FEW_TOKENS_TEAM, x, sums);
        at.codes += FEW_TOKENS_SPAN / 2;
        at.scale += FEW_TOKENS_SPAN / LAYER_BLOCK;
        at.acts += FEW_TOKENS_SPAN / 8;
        at.left -= FEW_TOKENS_SPAN / LAYER_BLOCK;
    }
    return at.largest;
}

/* Sums of a lane's two rows and blocks, each in its pair's column; twins have
   both. */
GPU_FN void few_tokens_hand_on(const small_batch_args *a,
                               const few_tokens_warp *p, uint32_t second,
                               uint32_t word, const few_tokens_sums *sums,
                               uint32_t largest)
{
    few_tokens_shared *const s = few_tokens_state();
    const uint32_t row = p->lane / 4 * 2;
    const uint32_t part = p->mate * 4 + p->lane % 4;
    const uint32_t first = word & 0x7f;
    const uint32_t rare = warp_ballot(largest > 128);
    const uint32_t low = p->few ? few_tokens_output(a, second, row) : row;
    const uint32_t high =
        p->few ? few_tokens_output(a, second, row + 1) : row + 1;

    s->sums[p->slot][0][row][part] = low < first ? sums->low[0] : sums->low[1];
    s->sums[p->slot][0][row + 1][part] =
        high < first ? sums->high[0] : sums->high[1];
    if (p->few && (word & 0x80) != 0) {
        s->sums[p->slot][1][row][part] = sums->low[1];
        s->sums[p->slot][1][row + 1][part] = sums->high[1];
    }
    if (p->lane == 0) {
        s->rare[p->slot][p->mate] = rare;
    }
}

/* Of unit i, or of the last one. */
GPU_FN few_tokens_task few_tokens_read_task(const few_tokens_warp *p,
                                            uint32_t i)
{
    const few_tokens_shared *const here = few_tokens_state();
    const uint32_t at = i < p->all ? i : p->all - 1;
    const uint16_t *const scales = here->scale_at[at] + p->lane / 4 * 2;
    few_tokens_task t;

    t.word = here->task[at];
    t.scales = scales[0] | (uint32_t)scales[1] << 16;
    return t;
}

/* The team's unit, of a GEMM. */
GPU_FN void few_tokens_one(const small_batch_args *a, few_tokens_warp *p,
                           const few_tokens_lane *d)
{
    few_tokens_shared *const here = few_tokens_state();
    const few_tokens_task t = p->task;
    const uint32_t scale = t.scales & 0xffff;
    const uint32_t apart = (t.scales >> 16) - scale;
    const uint32_t buffer = t.word >> ((p->lane & 4) * 2 + 16) & 0xff;
    few_tokens_sums sums = {{0, 0}, {0, 0}};

    mbarrier_wait_three(&here->mbarrier.row[t.word >> 8 & 0xff].ready, 0,
                        &here->mbarrier.full[p->stage], p->parity,
                        &here->mbarrier.sums_empty[p->slot],
                        p->slot_parity ^ 1);
    p->task = few_tokens_read_task(p, p->i + FEW_TOKENS_TEAMS);
    const uint32_t largest =
        d->laid == LAYER_LAID_HOPPER
            ? few_tokens_multiply(a, p, d, LAYER_LAID_HOPPER, scale, apart,
                                  buffer, &sums)
            : few_tokens_multiply(a, p, d, LAYER_LAID_PLAIN, scale, apart,
                                  buffer, &sums);
    few_tokens_hand_on(a, p, d->second, t.word, &sums, largest);
    warp_sync();
    if (p->lane == 0) {
        mbarrier_arrive(&here->mbarrier.sums_full[p->slot]);
        mbarrier_arrive(&here->mbarrier.empty[p->stage]);
    }
}

/* To the team's next unit. */
GPU_FN void few_tokens_step(few_tokens_warp *p)
{
    p->i += FEW_TOKENS_TEAMS;
    p->stage += FEW_TOKENS_TEAMS;
    if (p->stage >= FEW_TOKENS_STAGES) {
        p->stage -= FEW_TOKENS_STAGES;
        p->parity ^= 1;
    }
    p->slot += FEW_TOKENS_TEAMS;
    if (p->slot >= FEW_TOKENS_SLOTS) {
        p->slot -= FEW_TOKENS_SLOTS;
        p->slot_parity ^= 1;
    }
}

/* The last unit that needs the row to be freed next; ~0: none is. */
GPU_FN uint32_t few_tokens_last_to_free(const few_tokens_warp *p)
{
    return p->freed < p->to_free ? few_tokens_state()->last[p->freed] : ~0u;
}

/* Rows of activations that the warp needs no more make room in the ring. */
GPU_FN void few_tokens_free(few_tokens_warp *p)
{
    GPU_LOOP
    while (p->last < p->i) {
        if (p->lane == 0) {
            mbarrier_arrive(&few_tokens_state()->mbarrier.row[p->freed].freed);
        }
        p->freed++;
        p->last = few_tokens_last_to_free(p);
    }
}

/* A team's units: every FEW_TOKENS_TEAMS-th. */
GPU_FN void few_tokens_math(const small_batch_args *a,
                            const few_tokens_share *s)
{
    const uint32_t warp = gpu_thread() / 32 - FEW_TOKENS_MATH;
    const few_tokens_list *const list = &few_tokens_state()->list;
    const uint32_t rows = a->tokens + few_tokens_pairs(list);
    const uint32_t one = few_tokens_units(s, 0, list);
    few_tokens_warp p;

    p.few = s->few;
    p.lane = keep_in_register(gpu_thread() % 32);
    p.mate = keep_in_register(warp % FEW_TOKENS_TEAM);
    p.more = keep_in_register((a->g[0].rule & DEQUANT_ZERO) != 0 ? 0 : 255);
    p.has = keep_in_register(gpu_thread() % 32 / 8 == gpu_thread() % 4);
    p.i = warp / FEW_TOKENS_TEAM;
    p.stage = p.i;
    p.parity = 0;
    p.slot = p.i;
    p.slot_parity = 0;
    p.freed = 0;
    p.to_free = s->few && rows > a->buffers ? rows - a->buffers : 0;
    p.last = few_tokens_last_to_free(&p);
    p.all = one + few_tokens_units(s, 1, list);
    if (p.all == 0) {
        return;
    }
    p.task = few_tokens_read_task(&p, p.i);
    GPU_LOOP
    for (uint32_t second = 0; second < 2; second++) {
        const few_tokens_lane d = few_tokens_lane_of(a, &p, second);

        GPU_LOOP
        while (p.i < (second ? p.all : one)) {
            few_tokens_one(a, &p, &d);
            few_tokens_step(&p);
            if (s->few) {
                few_tokens_free(&p);
            }
        }
    }
}

#endif
