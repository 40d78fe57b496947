/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer for one token, in one launch with one block per multiprocessor.
 * One token is too little work to amortise sorting or exchange between blocks.
 *
 * A block has the same rows of every expert in both GEMMs, one expert after the
 * other: its outputs of the first, and its columns of the layer.  So all blocks
 * are done with an expert at about the same time, long before they need what
 * came of it, and the sum over experts is the block's own.  A unit is 16 rows
 * of that list, of one expert or of two that follow each other: eight gates
 * with their ups, or 16 rows of the second GEMM, whose activations are then two
 * columns.  Its list may be two (single_token_cut()).
 *
 * One warp fetches weights (single_token_load.h); others carry activations to
 * shared memory, an expert at a time (single_token_activations.h); teams
 * multiply (single_token_math.h), and some warps finish rows
 * (single_token_epilogue.h).  They meet when gates are set and the experts
 * known, and those who need tables when there are any; from then on they wait
 * for each other at gates, and at the end to sum.  small_batch.h says how
 * blocks publish activations.
 */
#ifndef GPU_SINGLE_TOKEN_H
#define GPU_SINGLE_TOKEN_H

#include "layer/layer.h"
#include "layer_fast/small_batch.h"
#include "port/device.h"

enum {
    SINGLE_TOKEN_PAIRS = 8,
    SINGLE_TOKEN_STAGES =
        6, /* a multiple of teams: a stage is always the same one's */
    SINGLE_TOKEN_SLOTS =
        12, /* of sums: of teams, and of warps that finish rows */
    SINGLE_TOKEN_MOST_ROWS = 128, /* of the layer's output, a block's */
    SINGLE_TOKEN_UNITS = 64,      /* of a GEMM, a block's */
    SINGLE_TOKEN_MATH =
        SINGLE_TOKEN_EPILOGUE_WARPS +
        SINGLE_TOKEN_ACTIVATION_LOADERS, /* the first warp of the teams */
    SINGLE_TOKEN_LOADER =
        SINGLE_TOKEN_MATH + SINGLE_TOKEN_TEAM * SINGLE_TOKEN_TEAMS,
    SINGLE_TOKEN_THREADS = 32 * (SINGLE_TOKEN_LOADER + 1),
    SINGLE_TOKEN_MET = /* threads that need the tables */
    SINGLE_TOKEN_THREADS - 32 * (SINGLE_TOKEN_ACTIVATION_LOADERS + 1),
    SINGLE_TOKEN_PARTS = 4 * SINGLE_TOKEN_TEAM, /* of a row's sum */
    SINGLE_TOKEN_SPAN = 2 * SINGLE_TOKEN_TEAM *
                        SMALL_BATCH_CHUNK, /* of k: two steps of a team */
    SINGLE_TOKEN_PIECES =
        4, /* of sixteen bytes, of activations, that a lane carries */
    SINGLE_TOKEN_GAP =
        48 /* bytes that a part's scales are behind their place, at most */
};

/* A unit: which of a GEMM's it is and how many experts there are says all of
   this. No expert has fewer rows than a unit. */
typedef struct single_token_unit {
    uint32_t at;    /* expert of its first row, in the list */
    uint32_t row;   /* its first, of the block's */
    uint32_t first; /* rows of that expert; what is behind is the next one's */
    uint32_t count; /* rows of both */
} single_token_unit;

/* Of a block; the first line's have one arrival, the others a team's or those
   of who carries. */
typedef struct single_token_mbarriers {
    mbarrier full[SINGLE_TOKEN_STAGES], sums_empty[SINGLE_TOKEN_SLOTS],
        published[SINGLE_TOKEN_PAIRS];
    mbarrier empty[SINGLE_TOKEN_STAGES], sums_full[SINGLE_TOKEN_SLOTS];
    mbarrier ready[1 + SINGLE_TOKEN_PAIRS];       /* activations */
    mbarrier sizes_ready[1 + SINGLE_TOKEN_PAIRS]; /* and their magnitudes */
} single_token_mbarriers;

/* Shared memory; behind it activations, the token's and then each expert's, and
   stages of weights. */
typedef struct single_token_shared {
    single_token_mbarriers mbarrier;
    float sums[SINGLE_TOKEN_SLOTS][SMALL_BATCH_ROWS]
              [SINGLE_TOKEN_PARTS + 4];                   /* apart from each
                                          other's banks */
    uint32_t rare[SINGLE_TOKEN_SLOTS][SINGLE_TOKEN_TEAM]; /* lanes whose scales
                                               make them void */
    uint32_t sizes[1 + SINGLE_TOKEN_PAIRS]
                  [SINGLE_TOKEN_ACTIVATION_LOADERS]; /* of activations, ORed */
    uint32_t scale_at[2][SINGLE_TOKEN_UNITS]
                     [SMALL_BATCH_ROWS]; /* behind a stage's codes */
    single_token_unit unit[2][SINGLE_TOKEN_UNITS];
    uint32_t n;                         /* experts of the list */
    int32_t expert[SINGLE_TOKEN_PAIRS]; /* of the list */
    uint32_t pair[SINGLE_TOKEN_PAIRS];  /* of the list */
    float weight[SINGLE_TOKEN_PAIRS];   /* by pair, as what follows */
    float factor[SINGLE_TOKEN_PAIRS];   /* in the sum over experts, rounded */
    float fused[SINGLE_TOKEN_PAIRS];    /* there, in the addition itself */
    float term[SINGLE_TOKEN_PAIRS]
              [SINGLE_TOKEN_MOST_ROWS]; /* of the sum, by row; zeros of
                             experts elsewhere */
} single_token_shared;

GPU_FN single_token_shared *single_token_state(void)
{
    return (single_token_shared *)dynamic_shared();
}

/* Activations: 0 the token's, 1 .. of experts. */
GPU_FN gpu_u128 *single_token_acts(const small_batch_args *a, uint32_t i)
{
    return (gpu_u128 *)(dynamic_shared() +
                        (sizeof(single_token_shared) + 127) / 128 * 128 +
                        i * a->act_bytes);
}

GPU_FN uint8_t *single_token_stage(const small_batch_args *a, uint32_t i)
{
    return (uint8_t *)single_token_acts(a, 1 + a->p.topk) + i * a->stage_bytes;
}

/* The block's rows of an expert: outputs of the first GEMM, and the second. */
typedef struct single_token_share {
    uint32_t first[2];
    uint32_t rows[2];
} single_token_share;

GPU_FN single_token_share single_token_share_of(const small_batch_args *a)
{
    const uint32_t n[2] = {small_batch_n(a, 0) / 2, small_batch_n(a, 1)};
    single_token_share s;

    GPU_UNROLL
    for (int i = 0; i < 2; i++) {
        s.first[i] = gpu_quotient(n[i] * gpu_block(), a->by_grid);
        s.rows[i] =
            gpu_quotient(n[i] * (gpu_block() + 1), a->by_grid) - s.first[i];
    }
    return s;
}

/* Rows of a unit: an output of the first GEMM has two. */
GPU_FN uint32_t single_token_size(uint32_t second)
{
    return second ? SMALL_BATCH_ROWS : SMALL_BATCH_ROWS / 2;
}

/* Units of n experts. */
GPU_FN uint32_t single_token_units(const single_token_share *s, uint32_t second,
                                   uint32_t n)
{
    return second ? (n * s->rows[1] + SMALL_BATCH_ROWS - 1) / SMALL_BATCH_ROWS
                  : (n * s->rows[0] + SMALL_BATCH_ROWS / 2 - 1) /
                        (SMALL_BATCH_ROWS / 2);
}

/* Experts of the second GEMM before a unit begins anew: half of them, if that
   takes no more units.  What those need is there long before the others' is. */
GPU_FN uint32_t single_token_cut(const single_token_share *s, uint32_t n)
{
    const uint32_t half = (n + 1) / 2;

    return single_token_units(s, 1, half) +
                       single_token_units(s, 1, n - half) ==
                   single_token_units(s, 1, n)
               ? half
               : n;
}

/* Unit i of n experts; behind their last one, units without rows. */
GPU_FN single_token_unit single_token_unit_of(const single_token_share *s,
                                              uint32_t second, uint32_t n,
                                              uint32_t i)
{
    const uint32_t size = single_token_size(second);
    const uint32_t rows = second ? s->rows[1] : s->rows[0];
    const uint32_t cut = second ? single_token_cut(s, n) : n;
    const uint32_t before = single_token_units(s, second, cut);
    const uint32_t behind = i >= before;
    const uint32_t at = (i - (behind ? before : 0)) * size;
    const uint32_t all = (behind ? n - cut : cut) * rows;
    const uint32_t expert = at / rows;
    single_token_unit x;

    x.at = expert + (behind ? cut : 0);
    x.row = at - expert * rows;
    x.count = all < at ? 0 : all - at < size ? all - at : size;
    x.first = rows - x.row < x.count ? rows - x.row : x.count;
    return x;
}

/* One row of a unit. */
typedef struct single_token_row {
    uint32_t next; /* 1: the next expert's */
    uint32_t row;  /* of the block's */
} single_token_row;

GPU_FN single_token_row single_token_row_of(const single_token_unit *x,
                                            uint32_t i)
{
    const uint32_t next = i >= x->first;
    const single_token_row r = {next, next ? i - x->first : x->row + i};

    return r;
}

/*
 * A unit's rows come in up to four parts: of one expert or two, and gates and
 * ups may lie apart.  In memory a part's scales begin `off` behind a multiple
 * of 16, from which on they are copied; in the stage they are apart by as much
 * as that may take.
 */
typedef struct single_token_part {
    uint32_t number; /* row of an expert's weights that it begins with */
    uint32_t line;   /* row of the stage */
    uint32_t off;
    uint32_t scales; /* in the stage, behind the codes: from the 16 bytes on */
} single_token_part;

/* Are an output's rows of the first GEMM neighbours? */
GPU_FN uint32_t single_token_gate_up(const small_batch_args *a, uint32_t second)
{
    return !second && !a->halves;
}

GPU_FN single_token_part single_token_part_of(const small_batch_args *a,
                                              const single_token_share *s,
                                              const single_token_unit *x,
                                              uint32_t second, uint32_t next,
                                              uint32_t is_up)
{
    const uint32_t twins = single_token_gate_up(a, second);
    const uint32_t blocks = small_batch_k(a, second) / LAYER_BLOCK;
    const uint32_t from =
        (second ? s->first[1] : s->first[0]) + (next ? 0 : x->row);
    single_token_part p;

    p.number = (from << twins) + (is_up ? small_batch_n(a, 0) / 2 : 0);
    p.line =
        ((next ? x->first : 0) << twins) + (is_up ? SMALL_BATCH_ROWS / 2 : 0);
    p.off = p.number * blocks & 15;
    p.scales = (p.line * blocks + 15) / 16 * 16 +
               (2 * is_up + next) * SINGLE_TOKEN_GAP;
    return p;
}

/* Where the scales of a unit's stage row i are, behind the codes.  A row that
   is not there has the last one's that is: any others might seem to be rare. */
GPU_FN uint32_t single_token_scale_at(const small_batch_args *a,
                                      const single_token_share *s,
                                      const single_token_unit *x,
                                      uint32_t second, uint32_t i)
{
    const uint32_t twins = single_token_gate_up(a, second);
    const uint32_t is_split = (uint32_t)small_batch_is_split(a, second);
    const uint32_t of = is_split ? i % (SMALL_BATCH_ROWS / 2) : i >> twins;
    const uint32_t row = of < x->count ? of : x->count - 1;
    const uint32_t line = i - ((of - row) << twins);
    const single_token_part p =
        single_token_part_of(a, s, x, second, row >= x->first,
                             is_split && i >= SMALL_BATCH_ROWS / 2);

    return p.scales + p.off +
           (line - p.line) * (small_batch_k(a, second) / LAYER_BLOCK);
}

/* Addresses of every unit's scales, computed by the warps that multiply. */
GPU_FN void single_token_tables(const small_batch_args *a,
                                const single_token_share *s)
{
    single_token_shared *const here = single_token_state();
    const uint32_t n = here->n;
    const uint32_t one = single_token_units(s, 0, n);
    const uint32_t two = single_token_units(s, 1, n);

    GPU_LOOP
    for (uint32_t i = gpu_thread() - 32 * SINGLE_TOKEN_MATH;
         i < 16 * (one + two);
         i += 32 * SINGLE_TOKEN_TEAM * SINGLE_TOKEN_TEAMS) {
        const uint32_t second = i / 16 >= one;
        const uint32_t unit = i / 16 - (second ? one : 0);
        const single_token_unit x = single_token_unit_of(s, second, n, unit);

        here->scale_at[second][unit][i % 16] =
            single_token_scale_at(a, s, &x, second, i % 16);
        if (i % 16 == 0) {
            here->unit[second][unit] = x;
        }
    }
}

#endif
