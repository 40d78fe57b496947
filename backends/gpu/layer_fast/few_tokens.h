/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer for one token or two, in one launch with one block per
 * multiprocessor.  That is too little work to amortise exchange between blocks.
 *
 * A block has the same rows of every expert in both GEMMs, one expert after the
 * other: its outputs of the first, and its columns of the layer.  So all blocks
 * are done with an expert at about the same time, long before they need what
 * came of it, and the sum over experts is the block's own.  A unit is 16 rows
 * of that list, of one expert or of two that follow each other: eight gates
 * with their ups, or 16 rows of the second GEMM, whose activations are then two
 * columns.  Two pairs of one expert are twins: their units are of that expert
 * alone, and the two columns are theirs.  The list may be two
 * (few_tokens_cut()).
 *
 * One warp fetches weights (few_tokens_load.h); others carry activations to
 * shared memory, a pair's at a time (few_tokens_activations.h); teams multiply
 * (few_tokens_math.h), and some warps finish rows (few_tokens_epilogue.h).
 * They meet when gates are set and the experts known, and those who need tables
 * when there are any; from then on they wait for each other at gates, and at
 * the end to sum.  small_batch.h says how blocks publish activations.
 */
#ifndef GPU_FEW_TOKENS_H
#define GPU_FEW_TOKENS_H

#include "layer/layer.h"
#include "layer_fast/small_batch.h"
#include "port/device.h"

enum {
    FEW_TOKENS_TOKENS = 2,
    FEW_TOKENS_PAIRS = 16, /* places: of a token four or eight */
    FEW_TOKENS_ACT_ROWS = FEW_TOKENS_TOKENS + FEW_TOKENS_PAIRS,
    FEW_TOKENS_STAGES =
        6, /* a multiple of teams: a stage is always the same one's */
    FEW_TOKENS_SLOTS =
        12, /* of sums: of teams, and of warps that finish rows */
    FEW_TOKENS_MOST_ROWS = 128, /* of the layer's output, a block's */
    FEW_TOKENS_TERMS = 1024,    /* of them, of all places */
    FEW_TOKENS_UNITS = 64,      /* of a GEMM, a block's */
    FEW_TOKENS_MATH =
        FEW_TOKENS_EPILOGUE_WARPS +
        FEW_TOKENS_ACTIVATION_LOADERS, /* the first warp of the teams */
    FEW_TOKENS_LOADER = FEW_TOKENS_MATH + FEW_TOKENS_TEAM * FEW_TOKENS_TEAMS,
    FEW_TOKENS_THREADS = 32 * (FEW_TOKENS_LOADER + 1),
    FEW_TOKENS_MET = /* threads that need the tables */
    FEW_TOKENS_THREADS - 32 * (FEW_TOKENS_ACTIVATION_LOADERS + 1),
    FEW_TOKENS_PARTS = 4 * FEW_TOKENS_TEAM, /* of a row's sum */
    FEW_TOKENS_SPAN =
        2 * FEW_TOKENS_TEAM * SMALL_BATCH_CHUNK, /* of k: two steps of a team */
    FEW_TOKENS_PIECES =
        4, /* of sixteen bytes, of activations, that a lane carries */
    FEW_TOKENS_GAP =
        48 /* bytes that a part's scales are behind their place, at most */
};

/* The list of pairs: those whose expert is theirs alone, then twins, two pairs
   of one expert. */
typedef struct few_tokens_list {
    uint32_t singles, twins;
} few_tokens_list;

/* A unit: which of a GEMM's it is and the list say all of this.  No expert has
   fewer rows than a unit; twins share none with others. */
typedef struct few_tokens_unit {
    uint32_t at;    /* pair of its first row, in the list */
    uint32_t row;   /* its first, of the block's */
    uint32_t first; /* rows of that pair; what is behind is the next one's */
    uint32_t count; /* rows of both, or of both twins */
} few_tokens_unit;

/* Of a row of activations: a token's, or a pair's behind the first GEMM. */
typedef struct few_tokens_row_mbarriers {
    mbarrier ready;       /* of who carries */
    mbarrier sizes_ready; /* its magnitudes; likewise */
    mbarrier freed;       /* of all who multiply */
    mbarrier published;   /* one arrival: a pair's outputs of this block */
} few_tokens_row_mbarriers;

/* Of a block; the first line's have one arrival, the second's a team's. */
typedef struct few_tokens_mbarriers {
    mbarrier full[FEW_TOKENS_STAGES], sums_empty[FEW_TOKENS_SLOTS];
    mbarrier empty[FEW_TOKENS_STAGES], sums_full[FEW_TOKENS_SLOTS];
    few_tokens_row_mbarriers row[FEW_TOKENS_ACT_ROWS];
} few_tokens_mbarriers;

/* Shared memory; behind it activations, a ring of rows, the tokens' and then
   each pair's, and stages of weights. */
typedef struct few_tokens_shared {
    few_tokens_mbarriers mbarrier;
    float sums[FEW_TOKENS_SLOTS][2][SMALL_BATCH_ROWS]
              [FEW_TOKENS_PARTS + 4];                 /* of twins both; apart
                                        from each other's banks */
    uint32_t rare[FEW_TOKENS_SLOTS][FEW_TOKENS_TEAM]; /* lanes whose scales
                                               make them void */
    uint32_t sizes[FEW_TOKENS_ACT_ROWS]
                  [FEW_TOKENS_ACTIVATION_LOADERS]; /* of activations, ORed */
    /* Of both GEMMs' units, one behind the other. */
    uint16_t scale_at[2 * FEW_TOKENS_UNITS]
                     [SMALL_BATCH_ROWS]; /* behind a stage's codes */
    few_tokens_unit unit[2 * FEW_TOKENS_UNITS];
    uint32_t task[2 * FEW_TOKENS_UNITS]; /* of few_tokens_task_of() */
    uint8_t last[FEW_TOKENS_ACT_ROWS];   /* unit that needs them */
    few_tokens_list list;
    int32_t expert[FEW_TOKENS_PAIRS]; /* of the list, as what follows */
    uint32_t pair[FEW_TOKENS_PAIRS];
    uint32_t token[FEW_TOKENS_PAIRS];
    uint32_t place[FEW_TOKENS_PAIRS]; /* in the sum over experts */
    float weight[FEW_TOKENS_PAIRS];   /* by place, as what follows */
    float factor[FEW_TOKENS_PAIRS];   /* in the sum over experts, rounded */
    float fused[FEW_TOKENS_PAIRS];    /* there, in the addition itself */
    float term[FEW_TOKENS_TERMS];     /* of the sum: a->terms of a place, by
                             row; zeros of experts elsewhere */
} few_tokens_shared;

GPU_FN few_tokens_shared *few_tokens_state(void)
{
    return (few_tokens_shared *)dynamic_shared();
}

GPU_FN uint32_t few_tokens_count(const small_batch_args *a, uint32_t few)
{
    return few ? a->tokens : 1;
}

/* Does the list have a twin at i? */
GPU_FN int few_tokens_is_twin(uint32_t few, uint32_t i)
{
    return few && i >= few_tokens_state()->list.singles;
}

/* The row of activations that the list's pair i has in a GEMM.  A row is there
   when those before it are. */
GPU_FN uint32_t few_tokens_act_row(const small_batch_args *a, uint32_t few,
                                   uint32_t second, uint32_t i)
{
    return second ? few_tokens_count(a, few) + i
           : few  ? few_tokens_state()->token[i]
                  : 0;
}

/* Pairs of the list. */
GPU_FN uint32_t few_tokens_pairs(const few_tokens_list *l)
{
    return l->singles + 2 * l->twins;
}

/* Buffer i of activations. */
GPU_FN gpu_u128 *few_tokens_acts(const small_batch_args *a, uint32_t i)
{
    return (gpu_u128 *)(dynamic_shared() +
                        (sizeof(few_tokens_shared) + 127) / 128 * 128 +
                        i * a->act_bytes);
}

GPU_FN uint8_t *few_tokens_stage(const small_batch_args *a, uint32_t i)
{
    return (uint8_t *)few_tokens_acts(a, a->buffers) + i * a->stage_bytes;
}

/* The block's rows of an expert: outputs of the first GEMM, and the second. */
typedef struct few_tokens_share {
    uint32_t first[2];
    uint32_t rows[2];
    uint32_t few; /* tokens, not one; known when a kernel is compiled */
} few_tokens_share;

GPU_FN few_tokens_share few_tokens_share_of(const small_batch_args *a,
                                            const uint32_t few)
{
    const uint32_t n[2] = {small_batch_n(a, 0) / 2, small_batch_n(a, 1)};
    few_tokens_share s;

    s.few = few;
    GPU_UNROLL
    for (int i = 0; i < 2; i++) {
        s.first[i] = gpu_quotient(n[i] * gpu_block(), a->by_grid);
        s.rows[i] =
            gpu_quotient(n[i] * (gpu_block() + 1), a->by_grid) - s.first[i];
    }
    return s;
}

/* Rows of a unit: an output of the first GEMM has two. */
GPU_FN uint32_t few_tokens_size(uint32_t second)
{
    return second ? SMALL_BATCH_ROWS : SMALL_BATCH_ROWS / 2;
}

/* Units of n experts that follow each other. */
GPU_FN uint32_t few_tokens_chain(const few_tokens_share *s, uint32_t second,
                                 uint32_t n)
{
    return second ? (n * s->rows[1] + SMALL_BATCH_ROWS - 1) / SMALL_BATCH_ROWS
                  : (n * s->rows[0] + SMALL_BATCH_ROWS / 2 - 1) /
                        (SMALL_BATCH_ROWS / 2);
}

/* Units of twins. */
GPU_FN uint32_t few_tokens_twin_units(const few_tokens_share *s,
                                      uint32_t second)
{
    return second ? (s->rows[1] + SMALL_BATCH_ROWS - 1) / SMALL_BATCH_ROWS
                  : (s->rows[0] + SMALL_BATCH_ROWS / 2 - 1) /
                        (SMALL_BATCH_ROWS / 2);
}

GPU_FN uint32_t few_tokens_units(const few_tokens_share *s, uint32_t second,
                                 const few_tokens_list *l)
{
    const uint32_t alone = few_tokens_chain(s, second, l->singles);

    return !s->few || l->twins == 0
               ? alone
               : alone + l->twins * few_tokens_twin_units(s, second);
}

/* Experts of the second GEMM before a unit begins anew: half of them, if that
   takes no more units.  What those need is there long before the others' is. */
GPU_FN uint32_t few_tokens_cut(const few_tokens_share *s, uint32_t n)
{
    const uint32_t half = (n + 1) / 2;

    return few_tokens_chain(s, 1, half) + few_tokens_chain(s, 1, n - half) ==
                   few_tokens_chain(s, 1, n)
               ? half
               : n;
}

/* Unit i of the twins; behind their last one, units without rows. */
GPU_FN few_tokens_unit few_tokens_twin_unit(const few_tokens_share *s,
                                            uint32_t second,
                                            const few_tokens_list *l,
                                            uint32_t i)
{
    const uint32_t size = few_tokens_size(second);
    const uint32_t rows = second ? s->rows[1] : s->rows[0];
    const uint32_t each = few_tokens_twin_units(s, second);
    const uint32_t twin = i / each;
    few_tokens_unit x;

    x.at = l->singles + 2 * twin;
    x.row = (i - twin * each) * size;
    x.count = twin >= l->twins ? 0 : rows - x.row < size ? rows - x.row : size;
    x.first = x.count;
    return x;
}

/* Unit i of a GEMM; behind its last one, units without rows. */
GPU_FN few_tokens_unit few_tokens_unit_of(const few_tokens_share *s,
                                          uint32_t second,
                                          const few_tokens_list *l, uint32_t i)
{
    const uint32_t n = l->singles;
    const uint32_t alone = few_tokens_chain(s, second, n);

    if (s->few && i >= alone && l->twins > 0) {
        return few_tokens_twin_unit(s, second, l, i - alone);
    }
    const uint32_t size = few_tokens_size(second);
    const uint32_t rows = second ? s->rows[1] : s->rows[0];
    const uint32_t cut = second ? few_tokens_cut(s, n) : n;
    const uint32_t before = few_tokens_chain(s, second, cut);
    const uint32_t behind = i >= before;
    const uint32_t at = (i - (behind ? before : 0)) * size;
    const uint32_t all = (behind ? n - cut : cut) * rows;
    const uint32_t expert = at / rows;
    few_tokens_unit x;

    x.at = expert + (behind ? cut : 0);
    x.row = at - expert * rows;
    x.count = all < at ? 0 : all - at < size ? all - at : size;
    x.first = rows - x.row < x.count ? rows - x.row : x.count;
    return x;
}

/* The last unit that has rows of the list's pair i. */
GPU_FN uint32_t few_tokens_last(const few_tokens_share *s, uint32_t second,
                                const few_tokens_list *l, uint32_t i)
{
    const uint32_t n = l->singles;
    const uint32_t rows = second ? s->rows[1] : s->rows[0];
    const uint32_t cut = second ? few_tokens_cut(s, n) : n;
    const uint32_t size = few_tokens_size(second);

    if (s->few && i >= n) {
        return few_tokens_chain(s, second, n) +
               ((i - n) / 2 + 1) * few_tokens_twin_units(s, second) - 1;
    }
    return i < cut ? ((i + 1) * rows - 1) / size
                   : few_tokens_chain(s, second, cut) +
                         ((i - cut + 1) * rows - 1) / size;
}

/* One row of a unit. */
typedef struct few_tokens_row {
    uint32_t next; /* 1: the next expert's */
    uint32_t row;  /* of the block's */
} few_tokens_row;

GPU_FN few_tokens_row few_tokens_row_of(const few_tokens_unit *x, uint32_t i)
{
    const uint32_t next = i >= x->first;
    const few_tokens_row r = {next, next ? i - x->first : x->row + i};

    return r;
}

/*
 * A unit's rows come in up to four parts: of one expert or two, and gates and
 * ups may lie apart.  In memory a part's scales begin `off` behind a multiple
 * of 16, from which on they are copied; in the stage they are apart by as much
 * as that may take.
 */
typedef struct few_tokens_part {
    uint32_t number; /* row of an expert's weights that it begins with */
    uint32_t line;   /* row of the stage */
    uint32_t off;
    uint32_t scales; /* in the stage, behind the codes: from the 16 bytes on */
} few_tokens_part;

/* Are an output's rows of the first GEMM neighbours? */
GPU_FN uint32_t few_tokens_gate_up(const small_batch_args *a, uint32_t second)
{
    return !second && !a->halves;
}

GPU_FN few_tokens_part few_tokens_part_of(const small_batch_args *a,
                                          const few_tokens_share *s,
                                          const few_tokens_unit *x,
                                          uint32_t second, uint32_t next,
                                          uint32_t is_up)
{
    const uint32_t twins = few_tokens_gate_up(a, second);
    const uint32_t blocks = small_batch_k(a, second) / LAYER_BLOCK;
    const uint32_t from =
        (second ? s->first[1] : s->first[0]) + (next ? 0 : x->row);
    few_tokens_part p;

    p.number = (from << twins) + (is_up ? small_batch_n(a, 0) / 2 : 0);
    p.line =
        ((next ? x->first : 0) << twins) + (is_up ? SMALL_BATCH_ROWS / 2 : 0);
    p.off = p.number * blocks & 15;
    p.scales =
        (p.line * blocks + 15) / 16 * 16 + (2 * is_up + next) * FEW_TOKENS_GAP;
    return p;
}

/* Which of a unit's outputs a row of its stage belongs to. */
GPU_FN uint32_t few_tokens_output(const small_batch_args *a, uint32_t second,
                                  uint32_t i)
{
    return small_batch_is_split(a, second) ? i % (SMALL_BATCH_ROWS / 2)
                                           : i >> few_tokens_gate_up(a, second);
}

/* Where the scales of a unit's stage row i are, behind the codes.  A row that
   is not there has the last one's that is: any others might seem to be rare. */
GPU_FN uint32_t few_tokens_scale_at(const small_batch_args *a,
                                    const few_tokens_share *s,
                                    const few_tokens_unit *x, uint32_t second,
                                    uint32_t i)
{
    const uint32_t twins = few_tokens_gate_up(a, second);
    const uint32_t is_split = (uint32_t)small_batch_is_split(a, second);
    const uint32_t of = few_tokens_output(a, second, i);
    const uint32_t row = of < x->count ? of : x->count - 1;
    const uint32_t line = i - ((of - row) << twins);
    const few_tokens_part p =
        few_tokens_part_of(a, s, x, second, row >= x->first,
                           is_split && i >= SMALL_BATCH_ROWS / 2);

    return p.scales + p.off +
           (line - p.line) * (small_batch_k(a, second) / LAYER_BLOCK);
}

/* The last unit that needs a row of activations. */
GPU_FN uint32_t few_tokens_last_of_row(const small_batch_args *a,
                                       const few_tokens_share *s, uint32_t i)
{
    const few_tokens_list *const list = &few_tokens_state()->list;
    const uint32_t one = few_tokens_units(s, 0, list);

    return i < a->tokens ? one - 1
                         : one + few_tokens_last(s, 1, list, i - a->tokens);
}

/* The buffer of a row of activations. */
GPU_FN uint32_t few_tokens_buffer(const small_batch_args *a, uint32_t row)
{
    GPU_LOOP
    while (row >= a->buffers) {
        row -= a->buffers;
    }
    return row;
}

/*
 * All that those who multiply a unit have to know of it besides where its
 * scales are, in one word: rows of its first pair, and whether it is twins';
 * the row of activations with which all are there that it needs; the buffers of
 * its first pair's and of the other one's.
 */
GPU_FN uint32_t few_tokens_task_of(const small_batch_args *a,
                                   const few_tokens_share *s, uint32_t second,
                                   const few_tokens_unit *x)
{
    const uint32_t is_twin = (uint32_t)few_tokens_is_twin(s->few, x->at);
    const uint32_t one = few_tokens_act_row(a, s->few, second, x->at);
    const uint32_t two = x->first < x->count || is_twin
                             ? few_tokens_act_row(a, s->few, second, x->at + 1)
                             : one;

    return (x->first | is_twin << 7) | (one < two ? two : one) << 8 |
           few_tokens_buffer(a, one) << 16 | few_tokens_buffer(a, two) << 24;
}

/* Tables of units and of rows of activations, computed by the warps that
   multiply. */
GPU_FN void few_tokens_tables(const small_batch_args *a,
                              const few_tokens_share *s)
{
    few_tokens_shared *const here = few_tokens_state();
    const uint32_t one = few_tokens_units(s, 0, &here->list);
    const uint32_t two = few_tokens_units(s, 1, &here->list);
    const uint32_t self = gpu_thread() - 32 * FEW_TOKENS_MATH;

    if (s->few && self < a->tokens + few_tokens_pairs(&here->list)) {
        here->last[self] = (uint8_t)few_tokens_last_of_row(a, s, self);
    }
    GPU_LOOP
    for (uint32_t i = self; i < 16 * (one + two);
         i += 32 * FEW_TOKENS_TEAM * FEW_TOKENS_TEAMS) {
        const uint32_t second = i / 16 >= one;
        const uint32_t unit = i / 16 - (second ? one : 0);
        const few_tokens_unit x =
            few_tokens_unit_of(s, second, &here->list, unit);

        here->scale_at[i / 16][i % 16] =
            (uint16_t)few_tokens_scale_at(a, s, &x, second, i % 16);
        if (i % 16 == 0) {
            here->unit[i / 16] = x;
            here->task[i / 16] = few_tokens_task_of(a, s, second, &x);
        }
    }
}

#endif
