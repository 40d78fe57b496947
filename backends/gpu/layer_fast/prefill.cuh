/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer's GEMMs for many tokens on Hopper: one persistent block on each
 * multiprocessor, a thread that loads, three warps that look at scales, and
 * two or four warpgroups that multiply (prefill_math.cuh).
 *
 * A tile is 256 rows of an expert's weights and up to 128 of its pairs.  Codes
 * come by tensor copies, 64 bytes of every row, activations by one bulk copy:
 * prefill_place.cuh has stored them as shared memory is to have them.  A ring
 * of stages of 128 k stands between: the loader fills it across tiles, so the
 * next tile's first stages arrive while this one's epilogue runs, and one
 * warpgroup multiplies while the other finishes.
 *
 * A warp multiplies BLOCKS times 16 rows: two where experts have many pairs,
 * one, and so twice as many warps, where few pairs leave it idle for long.
 */
#ifndef GPU_PREFILL_CUH
#define GPU_PREFILL_CUH

#include "layer/layer.h"
#include "layer_fast/prefill_mma.cuh"
#include "layer_fast/small_batch_gpu.cuh"
#include "ops/dequant.h"
#include "ops/glu.h"
#include "port/device.h"

enum {
    PREFILL_CHUNK = 128,   /* of k: a stage */
    PREFILL_ROWS = 256,    /* of weights: a tile */
    PREFILL_COLUMNS = 128, /* of a tile, at most, with two blocks a warp */
    PREFILL_FEW = 64,      /* and with one */
    PREFILL_LOOKERS = 3,   /* warps that look at scales */
    PREFILL_LOADERS = 32 * (1 + PREFILL_LOOKERS),
    PREFILL_CODES = PREFILL_ROWS * PREFILL_CHUNK / 2, /* bytes of a stage */
    PREFILL_STAGES = 8,                               /* at most */
    PREFILL_BATCH = 16, /* columns that a warp finishes at a time: more are more
                           instructions than a multiprocessor keeps */
};

/* Warps that multiply, and the columns that their registers hold. */
#define PREFILL_WARPS(blocks) (PREFILL_ROWS / 16 / (blocks))
#define PREFILL_WIDTH(blocks) ((blocks) == 2 ? PREFILL_COLUMNS : PREFILL_FEW)
#define PREFILL_THREADS(blocks) (PREFILL_LOADERS + 32 * PREFILL_WARPS(blocks))
/* Bytes in which a warp's batch of columns turns. */
#define PREFILL_TURN(blocks) (PREFILL_BATCH * 16 * (blocks) + ((blocks)-1) * 64)

/* A stretch of an expert's pairs, and where its activations are stored. */
typedef struct prefill_tile {
    uint32_t expert;
    uint32_t first; /* in the list of pairs */
    uint32_t n;
    uint32_t row; /* of the stored activations; a tile's rows end at eights */
} prefill_tile;

/* Pairs by expert, and the tiles; all in scratch. */
typedef struct prefill_routes {
    uint32_t *n_tiles;
    prefill_tile *tiles;
    uint32_t *list;
    uint32_t *tile_of; /* of the list's entries */
} prefill_routes;

typedef struct prefill_args {
    gpu_map map; /* of the codes */
    layer_pairs p;
    layer_gemm g; /* g.a as prefill_at() says; g.pitch is whole chunks */
    glu_args glu;
    prefill_routes routes;
    uint64_t y_pitch;
    uint32_t is_glu;
    uint32_t glu_mode; /* of layer_act_two() */
    uint32_t is_plain; /* sums get a bias; rows a weight, and are rounded */
    uint32_t halves;   /* gate rows first, then up rows */
    uint32_t placed;   /* the result is the next GEMM's activations */
    uint32_t m_tiles;
    uint32_t of_expert, of_tile; /* steps along the map's second dimension */
    uint32_t stages, stage_bytes;
    uint32_t scale_bytes; /* of a tile, rounded up */
    uint32_t scale_turns; /* 1: two tiles' scales take turns; 0: one's */
} prefill_args;

/* Data of a tile, published before it is multiplied. */
typedef struct prefill_turn {
    prefill_tile t;
    uint32_t m;                      /* tile of the expert's rows */
    uint32_t large[PREFILL_LOOKERS]; /* scales beyond BF16's range */
    float bias[PREFILL_ROWS];        /* -0 if there is none */
    uint32_t pair[PREFILL_COLUMNS];
    float weight[PREFILL_COLUMNS]; /* of routing, or 1 */
} prefill_turn;

/* Shared memory behind the stages and the scales, before what warps turn. */
typedef struct prefill_shared {
    mbarrier full[PREFILL_STAGES], empty[PREFILL_STAGES];
    mbarrier scales_full[2], scales_known[2], scales_empty[2];
    alignas(16) prefill_turn turn[2];
} prefill_shared;

GPU_FN uint32_t prefill_padded(uint32_t n)
{
    return (n + 7) / 8 * 8;
}

/*
 * Element of the stored activations that k of a tile's row r is: 128 k after
 * 128 k, 64 places after 64, rows of 128 bytes swizzled in eights.
 */
GPU_FN uint64_t prefill_at(const prefill_tile *t, uint64_t pitch, uint32_t r,
                           uint32_t k)
{
    const uint64_t padded = prefill_padded(t->n);
    const uint32_t place = layer_place(k & 127);

    return t->row * pitch + (k >> 7) * padded * 128 +
           (place >> 6) * padded * 64 + r * 64 +
           ((place >> 3 & 7) ^ (r & 7)) * 8 + (place & 7);
}

#if defined(GPU_IS_SM90A)
/* State of a block in all of its roles. */
typedef struct prefill_block {
    const prefill_args *a;
    uint8_t *stages;
    uint8_t *scales; /* of one tile or two */
    prefill_shared *s;
    uint8_t *turned;
} prefill_block;

/* Where a role is in the ring. */
typedef struct prefill_ring {
    uint32_t stage, parity;
} prefill_ring;

GPU_FN void prefill_advance(prefill_ring *r, uint32_t stages)
{
    r->stage++;
    if (r->stage == stages) {
        r->stage = 0;
        r->parity ^= 1;
    }
}

/* Rows of the expert's that the tile's halves begin with. */
GPU_FN uint32_t prefill_first(const prefill_args *a, uint32_t m)
{
    return a->is_glu && a->halves ? m * (PREFILL_ROWS / 2) : m * PREFILL_ROWS;
}

GPU_FN uint32_t prefill_second(const prefill_args *a, uint32_t m)
{
    return a->is_glu && a->halves
               ? (uint32_t)(a->g.n / 2) + m * (PREFILL_ROWS / 2)
               : m * PREFILL_ROWS + PREFILL_ROWS / 2;
}

/* Rows of the tile's half that are there. */
GPU_FN uint32_t prefill_rows(const prefill_args *a, uint32_t m, uint32_t half)
{
    const uint32_t first = half ? prefill_second(a, m) : prefill_first(a, m);
    const uint32_t n = (uint32_t)a->g.n;
    const uint32_t end = a->is_glu && a->halves && !half ? n / 2 : n;
    const uint32_t left = first < end ? end - first : 0;

    return left < PREFILL_ROWS / 2 ? left : PREFILL_ROWS / 2;
}

/* Scales of a tile's halves, each in its place. */
GPU_FN void prefill_load_scales(const prefill_block *b, const prefill_tile *t,
                                uint32_t m, uint32_t buffer)
{
    const layer_gemm *const g = &b->a->g;
    const uint32_t blocks = (uint32_t)(g->k / LAYER_BLOCK);
    mbarrier *const full = &b->s->scales_full[buffer];
    uint8_t *const to = b->scales + buffer * b->a->scale_bytes;
    const uint32_t rows[2] = {prefill_rows(b->a, m, 0),
                              prefill_rows(b->a, m, 1)};
    const uint64_t w = t->expert * g->n;

    mbarrier_arrive_expect(full, (rows[0] + rows[1]) * blocks);
    if (rows[0] > 0) {
        bulk_copy(to, g->scale + (w + prefill_first(b->a, m)) * blocks,
                  rows[0] * blocks, full);
    }
    if (rows[1] > 0) {
        bulk_copy(to + PREFILL_ROWS / 2 * blocks,
                  g->scale + (w + prefill_second(b->a, m)) * blocks,
                  rows[1] * blocks, full);
    }
}

/* All stages of a tile. */
GPU_FN void prefill_load_tile(const prefill_block *b, const prefill_tile *t,
                              uint32_t m, prefill_ring *r)
{
    const prefill_args *const a = b->a;
    const uint32_t padded = prefill_padded(t->n);
    const uint32_t row = t->expert * a->of_expert + m * a->of_tile;
    const uint32_t chunks = (uint32_t)(a->g.pitch / PREFILL_CHUNK);
    const uint8_t *const acts =
        (const uint8_t *)a->g.a + t->row * a->g.pitch * 2;

    GPU_LOOP
    for (uint32_t c = 0; c < chunks; c++) {
        mbarrier *const full = &b->s->full[r->stage];
        uint8_t *const to = b->stages + r->stage * a->stage_bytes;

        mbarrier_wait(&b->s->empty[r->stage], r->parity ^ 1);
        mbarrier_arrive_expect(full,
                               PREFILL_CODES + padded * 2 * PREFILL_CHUNK);
        tensor_copy(to, &a->map, c * (PREFILL_CHUNK / 2), row, full);
        bulk_copy(to + PREFILL_CODES,
                  acts + (uint64_t)c * padded * 2 * PREFILL_CHUNK,
                  padded * 2 * PREFILL_CHUNK, full);
        prefill_advance(r, a->stages);
    }
}

/* One thread loads all of the block's tiles. */
GPU_FN void prefill_load(const prefill_block *b)
{
    const uint32_t tiles = *b->a->routes.n_tiles * b->a->m_tiles;
    prefill_ring r = {0, 0};
    uint32_t turn = 0;

    GPU_LOOP
    for (uint32_t i = blockIdx.x; i < tiles; i += gridDim.x) {
        const prefill_tile t = b->a->routes.tiles[i / b->a->m_tiles];
        const uint32_t m = i % b->a->m_tiles;
        const uint32_t buffer = turn & b->a->scale_turns;

        mbarrier_wait(&b->s->scales_empty[buffer],
                      (turn >> b->a->scale_turns & 1) ^ 1);
        prefill_load_scales(b, &t, m, buffer);
        prefill_load_tile(b, &t, m, &r);
        turn++;
    }
}

/* Whether any scale of a warp's share is beyond BF16's range. */
GPU_FN uint32_t prefill_has_large(const uint8_t *scales, uint32_t bytes,
                                  uint32_t warp)
{
    uint32_t above = 0;

    for (uint32_t i = warp * 32 + threadIdx.x % 32; i < bytes / 16;
         i += 32 * PREFILL_LOOKERS) {
        const uint4 v = ((const uint4 *)scales)[i];
        const uint32_t w[4] = {v.x, v.y, v.z, v.w};
        GPU_UNROLL
        for (int k = 0; k < 4; k++) {
            /* 128 borrows nothing from 129. */
            above |= w[k] & 0x80808080u & ((w[k] & 0x7f7f7f7fu) + 0x7f7f7f7fu);
        }
    }
    return above;
}

/* Publish a tile's data for the epilogue; 96 threads from `first` on. */
GPU_FN void prefill_tell(const prefill_args *a, const prefill_tile *t,
                         uint32_t m, uint32_t first, prefill_turn *to)
{
    const uint32_t step = 32 * PREFILL_LOOKERS;

    for (uint32_t i = first; i < PREFILL_ROWS; i += step) {
        const uint32_t half = i >= PREFILL_ROWS / 2;
        const uint32_t row = i - half * (PREFILL_ROWS / 2);
        const int is_there =
            a->g.bias_at != LAYER_BIAS_NONE && row < prefill_rows(a, m, half);
        to->bias[i] = is_there
                          ? layer_bias(&a->g, t->expert * a->g.n + row +
                                                  (half ? prefill_second(a, m)
                                                        : prefill_first(a, m)))
                          : -0.0f;
    }
    for (uint32_t i = first; i < t->n; i += step) {
        const uint32_t pair = a->routes.list[t->first + i];
        to->pair[i] = pair;
        to->weight[i] = a->g.weigh ? layer_weight_of(&a->p, pair) : 1.0f;
    }
    if (first == 0) {
        to->t = *t;
        to->m = m;
    }
}

/* Three warps look at every tile's scales, and say what tile it is. */
GPU_FN void prefill_look(const prefill_block *b)
{
    const prefill_args *const a = b->a;
    const uint32_t tiles = *a->routes.n_tiles * a->m_tiles;
    const uint32_t blocks = (uint32_t)(a->g.k / LAYER_BLOCK);
    const uint32_t warp = threadIdx.x % PREFILL_LOADERS / 32 - 1;
    uint32_t turn = 0;

    GPU_LOOP
    for (uint32_t i = blockIdx.x; i < tiles; i += gridDim.x) {
        const prefill_tile t = a->routes.tiles[i / a->m_tiles];
        const uint32_t m = i % a->m_tiles;
        const uint32_t buffer = turn & a->scale_turns;
        const uint8_t *const scales = b->scales + buffer * a->scale_bytes;
        prefill_turn *const to = &b->s->turn[buffer];

        mbarrier_wait(&b->s->scales_empty[buffer],
                      (turn >> a->scale_turns & 1) ^ 1);
        prefill_tell(a, &t, m, threadIdx.x % PREFILL_LOADERS - 32, to);
        mbarrier_wait(&b->s->scales_full[buffer], turn >> a->scale_turns & 1);
        const uint32_t large =
            prefill_has_large(scales, prefill_rows(a, m, 0) * blocks, warp) |
            prefill_has_large(scales + PREFILL_ROWS / 2 * blocks,
                              prefill_rows(a, m, 1) * blocks, warp);
        const uint32_t any = __any_sync(0xffffffffu, large != 0);
        if (threadIdx.x % 32 == 0) {
            to->large[warp] = any;
        }
        mbarrier_arrive(&b->s->scales_known[buffer]);
        turn++;
    }
}
#endif

#endif
