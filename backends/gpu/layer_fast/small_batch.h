/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer for few tokens, in one launch with one block per multiprocessor.
 * Decoding reads every active expert's weights once and does little with them:
 * what counts is that reading begins early and never stops.
 *
 * Pairs of a token and an expert are sorted in every block anew; up to eight
 * pairs of an expert, and no more than tokens, are the columns of a group.  A
 * unit is 16 rows of a group's weights: all units of the first GEMM, then all
 * of the second, a stretch of each to every block.  One warp fetches weights,
 * units ahead of those who multiply, and across the border between the GEMMs,
 * because weights wait for nothing.  A unit whose rows are too long for that
 * comes in parts of k, each in a stage of its own.  A team of warps takes a
 * unit and shares its k; other warps take turns to add a unit's sums up and to
 * finish its rows. Activations of a group are in shared memory, in the order in
 * which lanes want them, those of the next one beside them if there is room.
 *
 * Slots for activations of the second GEMM are pre-filled with a reserved NaN;
 * any other value means the data has arrived, so no counter or barrier is
 * needed.  Rows of the second GEMM are published likewise, to the warps that
 * have nothing left to multiply and sum over a token's experts.  Launches
 * alternate between two arrays of both; each clears the other's.
 *
 * Every block is resident: the launch asks for that, or nothing would end.
 */
#ifndef GPU_SMALL_BATCH_H
#define GPU_SMALL_BATCH_H

#include "layer/layer.h"
#include "ops/glu.h"
#include "port/device.h"
#if defined(__CUDACC__)
#include "layer_fast/small_batch_gpu.cuh"
#else
#include "port/simt_small_batch.h"
#endif

enum {
    SMALL_BATCH_PAIRS = 256,
    SMALL_BATCH_COLUMNS = 8,
    SMALL_BATCH_ROWS = 16,   /* of a unit */
    SMALL_BATCH_CHUNK = 128, /* of k: a step of a warp */
    SMALL_BATCH_SPAN = 512,  /* of k: parts are multiples of it */
    SMALL_BATCH_AT_ONCE = 4, /* columns whose activations are on their way */
    SMALL_BATCH_BUFFERS = 2, /* of activations, where they fit */
    SMALL_BATCH_UNPUBLISHED =
        0xffff, /* no activation, no row: their NaN is another */
    SMALL_BATCH_MATH = SMALL_BATCH_TEAM * SMALL_BATCH_TEAMS,
    SMALL_BATCH_LOADER = SMALL_BATCH_EPILOGUE_WARPS +
                         SMALL_BATCH_MATH, /* the warp that fetches */
    SMALL_BATCH_THREADS = 32 * (SMALL_BATCH_LOADER + 1)
};

/* Room for the scales of half a unit, wherever in 16 bytes they begin. */
#define SMALL_BATCH_SCALE_ROOM(blocks) \
    ((SMALL_BATCH_ROWS / 2 * (blocks) + 47) / 16 * 16)

typedef struct small_batch_args {
    layer_pairs p;
    layer_gemm g[2]; /* g[1].a is g[0].y, behind the activation */
    glu_args glu;
    layer_sum_args sum;
    gpu_u128 *stale;  /* activations and rows of the launch before this one */
    uint32_t n_stale; /* as many sixteen bytes */
    uint32_t tokens;
    uint32_t glu_mode;
    uint32_t halves; /* gate rows first, then up rows */
    uint32_t tiles[2];
    gpu_divisor by_tiles[2], by_topk, by_grid;
    gpu_divisor by_pieces; /* of 32 columns, that an output has */
    uint32_t stages, stage_bytes;
    uint32_t part;      /* of k that a stage holds */
    uint32_t columns;   /* of activations, a power of two: no group has more */
    uint32_t buffers;   /* of them */
    uint32_t act_bytes; /* of a buffer */
    uint32_t places;    /* of a token, in its sum: four or eight, 2^places */
    uint32_t terms;     /* of a place, rows that it has */
    gpu_map codes[2], scales[2]; /* of GEMMs that come in parts; last, because
                 what is looked up at the beginning is fetched first */
} small_batch_args;

/* Pairs of one expert, as many as there are columns at most. */
typedef struct small_batch_group {
    uint32_t expert;
    uint16_t first; /* in the list of pairs */
    uint16_t n;
} small_batch_group;

/* Sums of a unit by the warps of a team, and whether a scale makes them void.
 */
typedef struct small_batch_sums {
    float part[SMALL_BATCH_TEAM][SMALL_BATCH_ROWS * SMALL_BATCH_COLUMNS];
    uint32_t rare[SMALL_BATCH_TEAM];
} small_batch_sums;

/* Shared memory; behind it activations, then stages of weights. */
typedef struct small_batch_shared {
    small_batch_sums
        sums[SMALL_BATCH_EPILOGUE_WARPS]; /* each is finished by a warp */
    mbarrier sums_full[SMALL_BATCH_EPILOGUE_WARPS],
        sums_empty[SMALL_BATCH_EPILOGUE_WARPS];
    mbarrier full[SMALL_BATCH_EPILOGUE_WARPS],
        empty[SMALL_BATCH_EPILOGUE_WARPS]; /* of stages */
    uint32_t off[SMALL_BATCH_EPILOGUE_WARPS]
                [2]; /* of scales in a stage's parts: they begin so
         far behind a multiple of 16 */
    small_batch_group group[SMALL_BATCH_PAIRS];
    uint32_t n_groups;
    uint32_t n_pairs; /* of the list */
    int32_t expert[SMALL_BATCH_PAIRS];
    float weight[SMALL_BATCH_PAIRS];
    uint16_t list[SMALL_BATCH_PAIRS];  /* of pairs, by expert */
    uint16_t token[SMALL_BATCH_PAIRS]; /* of the list's pairs */
    uint8_t opens[SMALL_BATCH_PAIRS];  /* a group */
} small_batch_shared;

GPU_FN small_batch_shared *small_batch_state(void)
{
    return (small_batch_shared *)dynamic_shared();
}

typedef struct small_batch_unit {
    uint32_t second; /* of the two GEMMs */
    uint32_t group;
    uint32_t tile;
} small_batch_unit;

/* Chunks of k: four times four lanes for each column. */
GPU_FN gpu_u128 *small_batch_acts(const small_batch_args *a, uint32_t buffer)
{
    return (gpu_u128 *)(dynamic_shared() +
                        (sizeof(small_batch_shared) + 127) / 128 * 128 +
                        buffer * a->act_bytes);
}

GPU_FN uint8_t *small_batch_stage(const small_batch_args *a, uint32_t i)
{
    return (uint8_t *)small_batch_acts(a, a->buffers) + i * a->stage_bytes;
}

/* Sizes of one of the GEMMs.  (An index would make the device look for them in
   memory, time and again.) */
GPU_FN uint32_t small_batch_k(const small_batch_args *a, uint32_t second)
{
    return (uint32_t)(second ? a->g[1].k : a->g[0].k);
}

GPU_FN uint32_t small_batch_n(const small_batch_args *a, uint32_t second)
{
    return (uint32_t)(second ? a->g[1].n : a->g[0].n);
}

/* A block's units in their order: a stretch of the first GEMM's, and one of the
   second's. */
typedef struct small_batch_share {
    uint32_t till[2];  /* units of the block, up to a GEMM's end */
    uint32_t start[2]; /* a GEMM's unit 0 of the block, of all */
    uint32_t in_parts; /* known when a kernel is compiled */
} small_batch_share;

GPU_FN small_batch_share small_batch_share_of(const small_batch_args *a,
                                              const uint32_t in_parts)
{
    const uint32_t groups = small_batch_state()->n_groups;
    uint32_t before = 0;
    small_batch_share s;

    GPU_UNROLL
    for (int i = 0; i < 2; i++) {
        const uint32_t n = groups * a->tiles[i];
        const uint32_t first = gpu_quotient(n * gpu_block(), a->by_grid);
        const uint32_t end = gpu_quotient(n * (gpu_block() + 1), a->by_grid);

        s.start[i] = first - before;
        s.till[i] = before + (end - first);
        before = s.till[i];
    }
    s.in_parts = in_parts;
    return s;
}

GPU_FN small_batch_unit small_batch_unit_at(const small_batch_args *a,
                                            const small_batch_share *s,
                                            uint32_t at)
{
    const uint32_t second = at >= s->till[0];
    const uint32_t i = at + (second ? s->start[1] : s->start[0]);
    const gpu_divisor by = second ? a->by_tiles[1] : a->by_tiles[0];
    const uint32_t group = gpu_quotient(i, by);
    const small_batch_unit x = {second, group, i - group * by.by};

    return x;
}

/* Units of the block that have the same activations, and where those are. */
typedef struct small_batch_run {
    small_batch_unit x; /* the first of them */
    uint32_t begin, end;
    uint32_t buffer;
} small_batch_run;

GPU_FN small_batch_run small_batch_run_at(const small_batch_args *a,
                                          const small_batch_share *s,
                                          uint32_t begin)
{
    const small_batch_unit x = small_batch_unit_at(a, s, begin);
    const uint32_t end =
        begin + (x.second ? a->tiles[1] : a->tiles[0]) - x.tile;
    const uint32_t till = x.second ? s->till[1] : s->till[0];
    const small_batch_run r = {x, begin, end < till ? end : till, 0};

    return r;
}

/* The run behind r; none begins at the second GEMM's end. */
GPU_FN small_batch_run small_batch_run_next(const small_batch_args *a,
                                            const small_batch_share *s,
                                            const small_batch_run *r)
{
    small_batch_run next = small_batch_run_at(a, s, r->end);

    next.buffer = r->buffer + 1 < a->buffers ? r->buffer + 1 : 0;
    return next;
}

/* Are the unit's rows eight gates, and eight ups from elsewhere? */
GPU_FN int small_batch_is_split(const small_batch_args *a, uint32_t second)
{
    return !second && a->halves;
}

/* Stages that a unit takes. */
GPU_FN uint32_t small_batch_parts(const small_batch_args *a,
                                  const small_batch_share *s, uint32_t second)
{
    return !s->in_parts || small_batch_k(a, second) <= a->part ? 1
           : small_batch_k(a, second) <= 2 * a->part           ? 2
                                                               : 3;
}

/* Stages of each of the teams' units from `at` on, the first team's: the most
   that one takes. */
GPU_FN uint32_t small_batch_round(const small_batch_args *a,
                                  const small_batch_share *s, uint32_t at)
{
    const uint32_t one = at < s->till[0] ? small_batch_parts(a, s, 0) : 0;
    const uint32_t two =
        at + SMALL_BATCH_TEAMS > s->till[0] ? small_batch_parts(a, s, 1) : 0;

    return one < two ? two : one;
}

/* Row of the weights, over all experts, that half of the unit begins with, or
   all of it. */
GPU_FN uint64_t small_batch_row(const small_batch_args *a,
                                const small_batch_unit *x, uint32_t half)
{
    const uint32_t n = small_batch_n(a, x->second);
    const uint64_t first =
        (uint64_t)small_batch_state()->group[x->group].expert * n;

    return small_batch_is_split(a, x->second)
               ? first + x->tile * (SMALL_BATCH_ROWS / 2) + half * (n / 2)
               : first + x->tile * SMALL_BATCH_ROWS;
}

/* A part of the unit's k: eight rows' codes, the others', and their scales.
   Behind k come zeros. */
GPU_FN void small_batch_send_part(const small_batch_args *a,
                                  const small_batch_unit *x, uint32_t part,
                                  uint32_t number)
{
    enum { ROWS = SMALL_BATCH_ROWS / 2, ELEMENT = 8 };
    small_batch_shared *const here = small_batch_state();
    uint8_t *const codes = small_batch_stage(a, number);
    uint8_t *const scales = codes + ROWS * a->part;
    mbarrier *const full = &here->full[number];
    const uint32_t from = part * a->part;
    const gpu_map *const w = x->second ? &a->codes[1] : &a->codes[0];
    const gpu_map *const scale = x->second ? &a->scales[1] : &a->scales[0];

    here->off[number][0] = 0;
    here->off[number][1] = 0;
    mbarrier_arrive_expect(full,
                           2 * ROWS * (a->part / 2 + a->part / LAYER_BLOCK));
    GPU_UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t row =
            (uint32_t)small_batch_row(a, x, i) +
            (small_batch_is_split(a, x->second) ? 0 : i * ROWS);

        tensor_copy(codes + i * ROWS * (a->part / 2), w, from / 2 / ELEMENT,
                    row, full);
        tensor_copy(scales + i * ROWS * (a->part / LAYER_BLOCK), scale,
                    from / LAYER_BLOCK / ELEMENT, row, full);
    }
}

/* A unit's codes, then its scales. */
GPU_FN void small_batch_send_whole(const small_batch_args *a,
                                   const small_batch_unit *x, uint32_t number)
{
    small_batch_shared *const here = small_batch_state();
    uint8_t *const stage = small_batch_stage(a, number);
    mbarrier *const full = &here->full[number];
    const uint8_t *const w = x->second ? a->g[1].w : a->g[0].w;
    const uint8_t *const scale = x->second ? a->g[1].scale : a->g[0].scale;
    const uint32_t is_split = (uint32_t)small_batch_is_split(a, x->second);
    const uint32_t rows = is_split ? SMALL_BATCH_ROWS / 2 : SMALL_BATCH_ROWS;
    const uint32_t half = small_batch_k(a, x->second) / 2;
    const uint32_t blocks = half / (LAYER_BLOCK / 2);
    uint8_t *const scales = stage + SMALL_BATCH_ROWS * half;
    uint64_t row[2];
    uint64_t from[2];
    uint32_t more[2];
    uint32_t all = 0;

    GPU_UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        if (i <= is_split) {
            row[i] = small_batch_row(a, x, i);
            const uint64_t at = row[i] * blocks;
            from[i] = at & ~(uint64_t)15;
            here->off[number][i] = (uint32_t)at & 15;
            more[i] = ((uint32_t)(at & 15) + rows * blocks + 15) / 16 * 16;
            all += rows * half + more[i];
        }
    }
    mbarrier_arrive_expect(full, all);
    GPU_UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        if (i <= is_split) {
            bulk_copy(stage + i * rows * half, w + row[i] * half, rows * half,
                      full);
            bulk_copy(scales + i * SMALL_BATCH_SCALE_ROOM(blocks),
                      scale + from[i], more[i], full);
        }
    }
}

/* A stage: nothing where others beside it have more parts. */
GPU_FN void small_batch_send(const small_batch_args *a,
                             const small_batch_share *s,
                             const small_batch_unit *x, uint32_t part,
                             uint32_t number)
{
    const uint32_t parts = small_batch_parts(a, s, x->second);

    if (part >= parts) {
        mbarrier_arrive(&small_batch_state()->full[number]);
    } else if (parts > 1) {
        small_batch_send_part(a, x, part, number);
    } else {
        small_batch_send_whole(a, x, number);
    }
}

/* To the next stage. */
typedef struct small_batch_ring {
    uint32_t stage, parity;
} small_batch_ring;

GPU_FN void small_batch_ring_step(const small_batch_args *a,
                                  small_batch_ring *r)
{
    r->stage++;
    if (r->stage == a->stages) {
        r->stage = 0;
        r->parity ^= 1;
    }
}

GPU_FN void small_batch_load_whole(const small_batch_args *a,
                                   const small_batch_share *s,
                                   small_batch_ring r)
{
    GPU_LOOP
    for (uint32_t at = 0; at < s->till[1]; at++) {
        const small_batch_unit x = small_batch_unit_at(a, s, at);

        mbarrier_wait(&small_batch_state()->empty[r.stage], r.parity);
        small_batch_send_whole(a, &x, r.stage);
        small_batch_ring_step(a, &r);
    }
}

/*
 * The teams' parts in turn, so that a stage is always the same team's.  A team
 * that waits for others to end a run leaves its stages full; theirs come before
 * its next, so that parts are at most one more than its stages
 * (small_batch_stages()).
 */
GPU_FN void small_batch_load_parts(const small_batch_args *a,
                                   const small_batch_share *s,
                                   small_batch_ring r)
{
    GPU_LOOP
    for (uint32_t first = 0; first < s->till[1]; first += SMALL_BATCH_TEAMS) {
        const uint32_t n = small_batch_round(a, s, first) * SMALL_BATCH_TEAMS;

        GPU_LOOP
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t at = first + i % SMALL_BATCH_TEAMS;

            if (at < s->till[1]) {
                const small_batch_unit x = small_batch_unit_at(a, s, at);

                mbarrier_wait(&small_batch_state()->empty[r.stage], r.parity);
                small_batch_send(a, s, &x, i / SMALL_BATCH_TEAMS, r.stage);
            }
            small_batch_ring_step(a, &r);
        }
    }
}

/* One thread does so; all stages are empty. */
GPU_FN void small_batch_load(const small_batch_args *a,
                             const small_batch_share *s)
{
    const small_batch_ring first = {0, 1};

    if (s->in_parts) {
        small_batch_load_parts(a, s, first);
    } else {
        small_batch_load_whole(a, s, first);
    }
}

#endif
