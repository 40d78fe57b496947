/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the teams of single_token.h multiply: as small_batch_math.h does, but for
 * the columns.  A chunk's four blocks are a column each, twice, for the two
 * experts that a unit may have: of activations a column has its block's, and
 * zeros.  So a block's sum is by itself, in the lanes that have its scales, and
 * codes need no scale; as they come they are numbers times 2^-126, which
 * activations lifted by 2^80 make good.  Other activations than those for which
 * that is harmless mark their units (single_token_epilogue.h).
 */
#ifndef GPU_SINGLE_TOKEN_MATH_H
#define GPU_SINGLE_TOKEN_MATH_H

#include "layer/layer.h"
#include "layer_fast/single_token.h"
#include "layer_fast/small_batch.h"
#include "ops/dequant.h"
#include "port/device.h"

typedef struct single_token_warp {
    uint32_t lane;
    uint32_t mate; /* its place in its team */
    uint32_t more; /* of single_token_factor() */
    uint32_t has;  /* the lane's column is its block's */
    uint32_t i;    /* unit */
    uint32_t stage, parity;
    uint32_t slot, slot_parity; /* of its sums */
} single_token_warp;

/* A warp's share of a GEMM's units: two rows, neighbours, and every
   SINGLE_TOKEN_TEAM-th chunk, two of them at a time. */
typedef struct single_token_lane {
    uint32_t second;
    uint32_t half;  /* bytes from one row to the next */
    uint32_t codes; /* in a stage */
    uint32_t block;
    uint32_t acts; /* in activations */
    uint32_t spans;
    int32_t left; /* blocks, from the lane's first on */
} single_token_lane;

GPU_FN single_token_lane single_token_lane_of(const small_batch_args *a,
                                              const single_token_warp *p,
                                              uint32_t second)
{
    const uint32_t k = small_batch_k(a, second);
    single_token_lane d;

    d.second = second;
    d.half = k / 2;
    d.block = p->mate * 4 + p->lane % 4;
    d.codes = p->lane / 4 * 2 * d.half + d.block * (LAYER_BLOCK / 2);
    d.acts = p->mate * 16 + p->lane % 4;
    d.left = (int32_t)(k / LAYER_BLOCK - d.block);
    d.spans = (k + SINGLE_TOKEN_SPAN - 1) / SINGLE_TOKEN_SPAN;
    return d;
}

/* Sums of a lane's block of four rows' columns: two rows, two experts. */
typedef struct single_token_sums {
    float low[2], high[2];
} single_token_sums;

/* Factor of a block's sum under a scale byte.  With more = 0 byte 0 gives zero;
   else more is 255. */
GPU_FN float single_token_factor(uint32_t more, uint32_t byte)
{
    const uint32_t x = byte + 46;
    const uint32_t y = byte * 64 + more;

    return gpu_float((x < y ? x : y) << 23);
}

/* 32 of k in every lane, one block of four; acts are kept zeros but in the
   lanes whose column it is. */
GPU_FN void single_token_steps(const single_token_warp *p, const uint32_t laid,
                               gpu_u128 low, gpu_u128 high,
                               const gpu_u128 *acts, gpu_u128 *x, float *acc)
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
typedef struct single_token_place {
    const uint8_t *codes, *scale;
    const gpu_u128 *acts;
    uint32_t half, apart; /* to the other row's codes, scales */
    int32_t left;
    uint32_t largest; /* scale byte */
} single_token_place;

/* A chunk of k, `skip` further on.  What is read behind k is multiplied by
   activations of zero. */
GPU_FN void single_token_chunk(const single_token_warp *p, const uint32_t laid,
                               single_token_place *at, uint32_t skip,
                               gpu_u128 *x, single_token_sums *sums)
{
    const uint8_t *const codes = at->codes + skip * (SMALL_BATCH_CHUNK / 2);
    const uint8_t *const scale = at->scale + skip * 4;
    const int is_there = at->left > (int32_t)(skip * 4);
    const uint32_t low = is_there ? scale[0] : 0;
    const uint32_t high = is_there ? scale[at->apart] : 0;
    float acc[8];

    single_token_steps(p, laid, gpu_cell_load_u8x16(codes),
                       gpu_cell_load_u8x16(codes + at->half),
                       at->acts + skip * 16, x, acc);
    const float f = single_token_factor(p->more, low);
    const float g = single_token_factor(p->more, high);
    GPU_UNROLL
    for (int i = 0; i < 2; i++) {
        sums->low[i] = gpu_fmaf(acc[i] + acc[4 + i], f, sums->low[i]);
        sums->high[i] = gpu_fmaf(acc[2 + i] + acc[6 + i], g, sums->high[i]);
    }
    at->largest = max3_u32(at->largest, low, high);
}

/* The warp's share of a unit's sums.  Returns the largest scale byte. */
GPU_FN uint32_t single_token_multiply(const small_batch_args *a,
                                      const single_token_warp *p,
                                      const single_token_lane *d,
                                      const uint32_t laid, uint32_t scale_at,
                                      uint32_t apart, uint32_t buffer,
                                      single_token_sums *sums)
{
    const uint8_t *const stage = single_token_stage(a, p->stage);
    gpu_u128 x[4] = {
        {{0, 0, 0, 0}}, {{0, 0, 0, 0}}, {{0, 0, 0, 0}}, {{0, 0, 0, 0}}};
    single_token_place at = {stage + d->codes,
                             stage + SMALL_BATCH_ROWS * d->half + d->block +
                                 scale_at,
                             single_token_acts(a, buffer) + d->acts,
                             d->half,
                             apart,
                             d->left,
                             0};

    GPU_LOOP
    for (uint32_t c = d->spans; c > 0; c--) {
        single_token_chunk(p, laid, &at, 0, x, sums);
        single_token_chunk(p, laid, &at, SINGLE_TOKEN_TEAM, x, sums);
        at.codes += SINGLE_TOKEN_SPAN / 2;
        at.scale += SINGLE_TOKEN_SPAN / LAYER_BLOCK;
        at.acts += SINGLE_TOKEN_SPAN / 8;
        at.left -= SINGLE_TOKEN_SPAN / LAYER_BLOCK;
    }
    return at.largest;
}

/* Sums of a lane's two rows and blocks, each in its expert's column. */
GPU_FN void single_token_hand_on(const single_token_warp *p,
                                 const single_token_sums *sums,
                                 uint32_t largest, uint32_t first)
{
    single_token_shared *const s = single_token_state();
    const uint32_t row = p->lane / 4 * 2;
    const uint32_t part = p->mate * 4 + p->lane % 4;
    const uint32_t rare = warp_ballot(largest > 128);

    s->sums[p->slot][row][part] = row < first ? sums->low[0] : sums->low[1];
    s->sums[p->slot][row + 1][part] =
        row + 1 < first ? sums->high[0] : sums->high[1];
    if (p->lane == 0) {
        s->rare[p->slot][p->mate] = rare;
    }
}

/* Unit i of a GEMM. */
GPU_FN void single_token_one(const small_batch_args *a,
                             const single_token_warp *p,
                             const single_token_lane *d, uint32_t i)
{
    single_token_shared *const here = single_token_state();
    const single_token_unit x = here->unit[d->second][i];
    const uint32_t *const scale_at =
        here->scale_at[d->second][i] + p->lane / 4 * 2;
    const uint32_t scale = scale_at[0];
    const uint32_t apart = scale_at[1] - scale;
    uint32_t buffer = 0;
    uint32_t last = 0;
    single_token_sums sums = {{0, 0}, {0, 0}};

    if (d->second) {
        last = x.first < x.count ? 2 + x.at : 1 + x.at;
        buffer = p->lane / 4 % 2 ? last : 1 + x.at;
    }
    mbarrier_wait(&here->mbarrier.ready[last], 0);
    mbarrier_wait(&here->mbarrier.full[p->stage], p->parity);
    const uint32_t largest =
        a->g[0].laid == LAYER_LAID_HOPPER
            ? single_token_multiply(a, p, d, LAYER_LAID_HOPPER, scale, apart,
                                    buffer, &sums)
            : single_token_multiply(a, p, d, LAYER_LAID_PLAIN, scale, apart,
                                    buffer, &sums);
    mbarrier_wait(&here->mbarrier.sums_empty[p->slot], p->slot_parity ^ 1);
    single_token_hand_on(p, &sums, largest, x.first);
    warp_sync();
    if (p->lane == 0) {
        mbarrier_arrive(&here->mbarrier.sums_full[p->slot]);
        mbarrier_arrive(&here->mbarrier.empty[p->stage]);
    }
}

/* To the team's next unit. */
GPU_FN void single_token_step(single_token_warp *p)
{
    p->i += SINGLE_TOKEN_TEAMS;
    p->stage += SINGLE_TOKEN_TEAMS;
    if (p->stage >= SINGLE_TOKEN_STAGES) {
        p->stage -= SINGLE_TOKEN_STAGES;
        p->parity ^= 1;
    }
    p->slot += SINGLE_TOKEN_TEAMS;
    if (p->slot >= SINGLE_TOKEN_SLOTS) {
        p->slot -= SINGLE_TOKEN_SLOTS;
        p->slot_parity ^= 1;
    }
}

/* A team's units: every SINGLE_TOKEN_TEAMS-th. */
GPU_FN void single_token_math(const small_batch_args *a,
                              const single_token_share *s)
{
    const uint32_t warp = gpu_thread() / 32 - SINGLE_TOKEN_MATH;
    const uint32_t team = warp / SINGLE_TOKEN_TEAM;
    const uint32_t n = single_token_state()->n;
    uint32_t from = 0;
    single_token_warp p = {
        keep_in_register(gpu_thread() % 32),
        keep_in_register(warp % SINGLE_TOKEN_TEAM),
        keep_in_register((a->g[0].rule & DEQUANT_ZERO) != 0 ? 0 : 255),
        keep_in_register(gpu_thread() % 32 / 8 == gpu_thread() % 4),
        team,
        team,
        0,
        team,
        0};

    GPU_LOOP
    for (uint32_t second = 0; second < 2; second++) {
        const single_token_lane d = single_token_lane_of(a, &p, second);
        const uint32_t end = from + single_token_units(s, second, n);

        GPU_LOOP
        while (p.i < end) {
            single_token_one(a, &p, &d, p.i - from);
            single_token_step(&p);
        }
        from = end;
    }
}

#endif
