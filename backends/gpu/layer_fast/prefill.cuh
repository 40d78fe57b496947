/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer's GEMMs for many tokens on Hopper: one persistent block on each
 * multiprocessor, a warp that loads and two warpgroups that multiply.
 *
 * A tile is 256 rows of an expert's weights and up to 128 of its pairs.  Codes
 * come by tensor copies, 64 bytes of every row, activations by one bulk copy:
 * prefill_place.cuh has stored them as shared memory is to have them.  A ring
 * of stages of 128 k stands between: the loader fills it across tiles, so the
 * next tile's first stages arrive while this one's epilogue runs, and one
 * warpgroup multiplies while the other finishes.
 *
 * Weights are the A operand, in registers.  A thread has whole blocks of 32 of
 * four rows; a word of each becomes operands of two steps of 16 while the
 * tensor cores still multiply the word before (layer_place() says which k
 * meet).  Codes become BF16 numbers times 2^-126, subnormals included; the
 * scale times 2^126 is one exact multiplication.
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
    PREFILL_CHUNK = 128,                        /* of k: a stage */
    PREFILL_ROWS = 256,                         /* of weights: a tile */
    PREFILL_COLUMNS = 128,                      /* of a tile, at most */
    PREFILL_GROUP = 128,                        /* threads of a warpgroup */
    PREFILL_WARPS = 8,                          /* that multiply */
    PREFILL_THREADS = 32 * (PREFILL_WARPS + 4), /* registers move by fours */
    PREFILL_CODES = PREFILL_ROWS * PREFILL_CHUNK / 2, /* bytes of a stage */
    PREFILL_STAGES = 8,                               /* at most */
    PREFILL_BATCH = 32, /* columns of sums that a warp finishes at a time */
    PREFILL_PITCH = 20, /* floats of a column there: 16, apart in banks */
    PREFILL_MAP = 16    /* 64-bit words of a tensor map */
};

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
    alignas(64) uint64_t map[PREFILL_MAP]; /* of the codes: CUtensorMap */
    layer_pairs p;
    layer_gemm g; /* g.a as prefill_at() says; g.pitch is whole chunks */
    glu_args glu;
    prefill_routes routes;
    uint64_t y_pitch;
    uint32_t is_glu;
    uint32_t glu_mode; /* of layer_act_two() */
    uint32_t halves;   /* gate rows first, then up rows */
    uint32_t placed;   /* the result is the next GEMM's activations */
    uint32_t m_tiles;
    uint32_t stages, stage_bytes;
    uint32_t scale_bytes; /* of a tile, rounded up */
    uint32_t scale_turns; /* 1: two tiles' scales take turns; 0: one's */
} prefill_args;

/* Shared memory behind the stages and the scales. */
typedef struct prefill_shared {
    float sums[PREFILL_WARPS][PREFILL_BATCH * PREFILL_PITCH];
    mbarrier full[PREFILL_STAGES], empty[PREFILL_STAGES];
    mbarrier scales_full[2], scales_empty[2];
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
/* What a block knows, wherever it is. */
typedef struct prefill_block {
    const prefill_args *a;
    uint8_t *stages;
    uint8_t *scales; /* of one tile or two */
    prefill_shared *s;
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

/* First row of a tile's weights in its expert: of gates if there is a glu. */
GPU_FN uint32_t prefill_base(const prefill_args *a, uint32_t m)
{
    return m * (a->is_glu ? PREFILL_ROWS / 2 : PREFILL_ROWS);
}

/* Rows of the expert's that the tile's second half begins with. */
GPU_FN uint32_t prefill_second(const prefill_args *a, uint32_t m)
{
    if (!a->is_glu) {
        return m * PREFILL_ROWS + PREFILL_ROWS / 2;
    }
    return a->halves ? (uint32_t)(a->g.n / 2) + m * (PREFILL_ROWS / 2)
                     : m * PREFILL_ROWS + PREFILL_ROWS / 2;
}

GPU_FN uint32_t prefill_first(const prefill_args *a, uint32_t m)
{
    return a->is_glu && a->halves ? m * (PREFILL_ROWS / 2) : m * PREFILL_ROWS;
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

GPU_FN void prefill_tensor_copy(uint32_t to, const void *map, uint32_t byte,
                                uint32_t row, mbarrier *full)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
                 "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(byte), "r"(row), "r"(MBARRIER_ADDRESS(full))
                 : "memory");
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
    const uint32_t row = t->expert * (uint32_t)a->g.n;
    const uint32_t chunks = (uint32_t)(a->g.pitch / PREFILL_CHUNK);
    const uint8_t *const acts =
        (const uint8_t *)a->g.a + t->row * a->g.pitch * 2;

    GPU_LOOP
    for (uint32_t c = 0; c < chunks; c++) {
        mbarrier *const full = &b->s->full[r->stage];
        uint8_t *const to = b->stages + r->stage * a->stage_bytes;
        const uint32_t codes = (uint32_t)__cvta_generic_to_shared(to);

        mbarrier_wait(&b->s->empty[r->stage], r->parity ^ 1);
        mbarrier_arrive_expect(full, PREFILL_CODES + padded * 256);
        prefill_tensor_copy(codes, a->map, c * 64, row + prefill_first(a, m),
                            full);
        prefill_tensor_copy(codes + PREFILL_CODES / 2, a->map, c * 64,
                            row + prefill_second(a, m), full);
        bulk_copy(to + PREFILL_CODES, acts + (uint64_t)c * padded * 256,
                  padded * 256, full);
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

/* Row of the tile, as loaded, that a warp multiplies as row r of its block. */
GPU_FN uint32_t prefill_row_of(const prefill_args *a, uint32_t warp,
                               uint32_t block, uint32_t r)
{
    if (!a->is_glu) {
        return warp * 32 + block * 16 + r;
    }
    /* Eight outputs that are neighbours among the next GEMM's operands. */
    const uint32_t out = (warp >> 1) * 8 + (warp & 1) * 2 + block +
                         (r & 1) * 4 + (r >> 1 & 3) * 32;

    return a->halves ? (r >> 3) * (PREFILL_ROWS / 2) + out : 2 * out + (r >> 3);
}

/* What a thread reads of every stage. */
typedef struct prefill_reader {
    const uint8_t *scale[2][2];
    uint32_t w[2][2];
    uint32_t blocks; /* of 32 in a row */
    uint32_t bias, zero;
} prefill_reader;

GPU_FN prefill_reader prefill_reader_of(const prefill_block *b,
                                        const uint8_t *scales, uint32_t shift)
{
    const uint32_t blocks = (uint32_t)(b->a->g.k / LAYER_BLOCK);
    const uint32_t lane = threadIdx.x % 32;
    prefill_reader x;

    GPU_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t row =
            prefill_row_of(b->a, threadIdx.x / 32, i / 2, lane / 4 + i % 2 * 8);
        x.scale[i / 2][i % 2] = scales + row * blocks + lane % 4;
        x.w[i / 2][i % 2] = row * 64 + lane % 4 * 16;
    }
    x.blocks = blocks;
    x.bias = 126 - shift;
    x.zero = (b->a->g.rule & DEQUANT_ZERO) != 0 ? 0 : x.bias * 0x800080u;
    return x;
}

/* A word of two rows as operands of two steps of 16. */
template <uint32_t LAID>
GPU_FN void prefill_widen(const uint32_t code[2], const uint32_t factor[2],
                          uint32_t (&even)[4], uint32_t (&odd)[4])
{
    uint32_t y[2][4];

    GPU_UNROLL
    for (int i = 0; i < 2; i++) {
        layer_spread_of(LAID, code[i], y[i]);
        GPU_UNROLL
        for (int k = 0; k < 4; k++) {
            y[i][k] = multiply_bf16x2(y[i][k], factor[i]);
        }
        even[i] = y[i][0];
        even[2 + i] = y[i][1];
        odd[i] = y[i][2];
        odd[2 + i] = y[i][3];
    }
}

template <int LEFT> GPU_FN void prefill_await_mma(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

GPU_FN void prefill_release(mbarrier *empty)
{
    warp_sync();
    if (threadIdx.x % 32 == 0) {
        mbarrier_arrive(empty);
    }
}

/* A matrix of 64 columns in rows of 128 bytes, swizzled by 128. */
GPU_FN uint64_t prefill_matrix(uint32_t at)
{
    return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)1 << 16 |
           (uint64_t)64 << 32 | (uint64_t)1 << 62;
}

/* One stage: words are widened one ahead of what is being multiplied. */
template <int N, uint32_t LAID>
GPU_FN void prefill_stage(const prefill_block *b, const prefill_reader *x,
                          uint32_t c, uint32_t padded, const prefill_ring *r,
                          float (&acc)[2][64])
{
    uint8_t *const at = b->stages + r->stage * b->a->stage_bytes;
    const uint64_t first =
        prefill_matrix((uint32_t)__cvta_generic_to_shared(at + PREFILL_CODES));
    /* Where rows end before the chunk does, factors must not be infinite. */
    const int is_there = c * 4 + threadIdx.x % 4 < x->blocks;
    uint4 code[2][2];
    uint32_t factor[2][2];

    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const uint32_t byte = is_there ? x->scale[i / 2][i % 2][c * 4] : 0;
        code[i / 2][i % 2] = *(const uint4 *)(at + x->w[i / 2][i % 2]);
        factor[i / 2][i % 2] =
            byte == 0 ? x->zero : (byte + x->bias) * 0x800080u;
    }
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        uint32_t even[2][4], odd[2][4];
        GPU_UNROLL
        for (int k = 0; k < 2; k++) {
            const uint32_t *const low = (const uint32_t *)&code[k][0];
            const uint32_t *const high = (const uint32_t *)&code[k][1];
            const uint32_t two[2] = {low[i], high[i]};
            prefill_widen<LAID>(two, factor[k], even[k], odd[k]);
        }
        const uint64_t columns =
            first + (uint64_t)(i / 2 * (padded * 8) + i % 2 * 4);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        prefill_mma<N>(acc[0], even[0], columns);
        prefill_mma<N>(acc[1], even[1], columns);
        prefill_mma<N>(acc[0], odd[0], columns + 2);
        prefill_mma<N>(acc[1], odd[1], columns + 2);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (i == 3) {
            prefill_await_mma<0>();
        } else {
            prefill_await_mma<1>();
        }
    }
}

/* All of k. */
template <int N, uint32_t LAID>
GPU_FN void prefill_multiply(const prefill_block *b, const prefill_reader *x,
                             uint32_t padded, prefill_ring *r,
                             float (&acc)[2][64])
{
    const uint32_t chunks = (uint32_t)(b->a->g.pitch / PREFILL_CHUNK);

    GPU_LOOP
    for (uint32_t c = 0; c < chunks; c++) {
        mbarrier_wait(&b->s->full[r->stage], r->parity);
        prefill_stage<N, LAID>(b, x, c, padded, r, acc);
        prefill_release(&b->s->empty[r->stage]);
        prefill_advance(r, b->a->stages);
    }
}

template <uint32_t LAID>
GPU_FN void prefill_multiply_any(const prefill_block *b,
                                 const prefill_reader *x, uint32_t n,
                                 prefill_ring *r, float (&acc)[2][64])
{
    const uint32_t padded = prefill_padded(n);

    switch ((n + 15) / 16) {
    case 1:
        prefill_multiply<16, LAID>(b, x, padded, r, acc);
        break;
    case 2:
        prefill_multiply<32, LAID>(b, x, padded, r, acc);
        break;
    case 3:
        prefill_multiply<48, LAID>(b, x, padded, r, acc);
        break;
    case 4:
        prefill_multiply<64, LAID>(b, x, padded, r, acc);
        break;
    case 5:
        prefill_multiply<80, LAID>(b, x, padded, r, acc);
        break;
    case 6:
        prefill_multiply<96, LAID>(b, x, padded, r, acc);
        break;
    case 7:
        prefill_multiply<112, LAID>(b, x, padded, r, acc);
        break;
    default:
        prefill_multiply<128, LAID>(b, x, padded, r, acc);
        break;
    }
}
#endif

#endif
