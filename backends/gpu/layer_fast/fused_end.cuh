/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epilogue of fused.cuh, in registers: bias, rounding, the activation or the
 * routing weight, and the stores of results.
 */
#ifndef GPU_FUSED_END_CUH
#define GPU_FUSED_END_CUH

#include "layer/layer.h"
#include "layer/layer_act.h"
#include "layer/layer_add.h"
#include "layer_fast/fused.cuh"
#include "ops/glu.h"
#include "port/device.h"

#if defined(GPU_IS_SM90A)

/* A thread's place among the sums: rows r and r + 8, columns c and c + 1 of
   every 8. */
typedef struct fused_spot {
    uint32_t row;
    uint32_t col;
    uint32_t lane;
} fused_spot;

GPU_FN fused_spot fused_thread(void)
{
    const uint32_t lane = threadIdx.x % 32;
    const fused_spot p = {threadIdx.x / 32 * 16 + lane / 4, lane % 4 * 2, lane};

    return p;
}

/* Sums of rows with weights beyond BF16, or of those that are small beside the
   block's shift (layer_is_lost()): slowly. */
template <bool GLU, int ROWS, int N>
GPU_FN void fused_repair(const fused_block *b, int is_all, float (&acc)[N / 2])
{
    const fused_spot at = fused_thread();

    GPU_UNROLL
    for (int i = 0; i < N / 2; i++) {
        const uint32_t col = (uint32_t)(i / 4) * 8 + at.col + (i & 1);
        const uint32_t r = at.row + (i & 2) * 4;
        if (col < b->n && fused_is_row<GLU>(b, r) &&
            (is_all || layer_is_lost(b->shift, acc[i]))) {
            acc[i] = layer_dot(&b->a->g, b->pairs[col],
                               b->w + fused_row<GLU, ROWS>(b, r));
        }
    }
}

/* A row of sums with its bias, as the GEMM hands it on. */
GPU_FN float fused_bias(const fused_block *b, uint64_t row)
{
    return b->a->g.bias_at == LAYER_BIAS_NONE
               ? 0.0f
               : layer_bias(&b->a->g, b->w + row);
}

/*
 * Activations of columns c and c + 1.  Outputs j and j + 4 are neighbours in
 * the next GEMM's order: the lanes that have them swap a column each.
 */
template <int N>
GPU_FN void fused_act_end(const fused_block *b, float (&acc)[N / 2])
{
    const fused_args *const a = b->a;
    const fused_spot at = fused_thread();
    const int is_there = fused_is_row<true>(b, at.row);
    const uint32_t j = b->base + (at.row >> 4) * 8 + (at.row & 7);
    const uint32_t gate = fused_row<true, 0>(b, at.row);
    const uint32_t up = fused_row<true, 0>(b, at.row + 8);
    const float bias_g = is_there ? fused_bias(b, gate) : 0;
    const float bias_u = is_there ? fused_bias(b, up) : 0;
    const uint32_t first = j & 127 & ~4u;
    uint16_t *const y = (uint16_t *)a->g.y + (j & ~127u) + layer_place(first);

    GPU_UNROLL
    for (int i = 0; i < N / 8; i++) {
        const uint32_t col = (uint32_t)i * 8 + at.col;
        glu_two in[2];
        GPU_UNROLL
        for (int c = 0; c < 2; c++) {
            in[c].g = layer_finish(&a->g, acc[4 * i + c], bias_g, 0);
            in[c].v = layer_finish(&a->g, acc[4 * i + 2 + c], bias_u, 0);
        }
        const uint32_t wanted =
            (col < b->n ? 0xffffu : 0) | (col + 1 < b->n ? 0xffff0000u : 0);
        uint32_t two =
            layer_act_two(&a->glu, a->glu_mode, in, is_there ? wanted : 0);
        if (!a->placed) {
            uint16_t *const flat = (uint16_t *)a->g.y + j;
            if (is_there && col < b->n) {
                flat[b->pairs[col] * a->y_pitch] = (uint16_t)two;
            }
            if (is_there && col + 1 < b->n) {
                flat[b->pairs[col + 1] * a->y_pitch] = (uint16_t)(two >> 16);
            }
            continue;
        }
        const uint32_t other = __shfl_xor_sync(0xffffffffu, two, 16);
        const int is_low = at.lane < 16;
        const uint32_t mine = col + !is_low;
        two = is_low ? __byte_perm(two, other, 0x5410)
                     : __byte_perm(other, two, 0x7632);
        if (mine < b->n && is_there) {
            *(uint32_t *)(y + b->pairs[mine] * a->y_pitch) = two;
        }
    }
}

/* Rows of a GEMM in their own order; BF16 goes out in pairs of rows. */
template <int N>
GPU_FN void fused_row_end(const fused_block *b, float (&acc)[N / 2])
{
    const fused_args *const a = b->a;
    const fused_spot at = fused_thread();
    const int is_low = (at.row & 1) == 0;

    GPU_UNROLL
    for (int h = 0; h < 2; h++) {
        const uint32_t row = b->base + at.row + 8 * (uint32_t)h;
        const int is_there = row < a->g.n;
        const float bias = is_there ? fused_bias(b, row) : 0;
        GPU_UNROLL
        for (int i = 0; i < N / 8; i++) {
            const uint32_t col = (uint32_t)i * 8 + at.col;
            float y[2];
            GPU_UNROLL
            for (int c = 0; c < 2; c++) {
                const int there = col + c < b->n && is_there;
                y[c] = layer_finish(&a->g, acc[4 * i + 2 * h + c], bias,
                                    b->weights[col + c]);
                if (there && a->g.out == LAYER_F32) {
                    layer_store(LAYER_F32, a->g.y,
                                b->pairs[col + c] * a->y_pitch + row, y[c]);
                }
            }
            if (a->g.out == LAYER_F32) {
                continue;
            }
            const uint32_t two =
                gpu_bits(y[0]) >> 16 | (gpu_bits(y[1]) & 0xffff0000u);
            const uint32_t other = __shfl_xor_sync(0xffffffffu, two, 4);
            const uint32_t mine = col + !is_low;
            if (mine < b->n && is_there) {
                uint16_t *const to = (uint16_t *)a->g.y +
                                     b->pairs[mine] * a->y_pitch + (row & ~1u);
                *(uint32_t *)to = is_low ? __byte_perm(two, other, 0x5410)
                                         : __byte_perm(other, two, 0x7632);
            }
        }
    }
}

/* One tile of rows and columns. */
template <bool GLU, int N> GPU_FN void fused_tile_of(fused_block *b)
{
    float acc[N / 2];

    GPU_UNROLL
    for (int i = 0; i < N / 2; i++) {
        acc[i] = 0;
    }
    const int in_vain = fused_multiply<GLU, N>(b, acc);
    if (in_vain || b->shift != 0) {
        fused_repair<GLU, FUSED_ROWS, N>(b, in_vain, acc);
    }
    if (GLU) {
        fused_act_end<N>(b, acc);
    } else {
        fused_row_end<N>(b, acc);
    }
}

/* The block's tile, or 0 if there is none for it. */
template <bool GLU>
GPU_FN int fused_begin(const fused_args *a, uint8_t *shared, int bytes,
                       fused_block *b)
{
    const uint32_t t = blockIdx.x / a->m_tiles;
    const uint32_t rows = FUSED_ROWS;

    if (a->is_first) {
        fused_after();
    }
    fused_before();
    const fused_tile tile = a->routes.tiles[t];
    if (t >= *a->routes.n_tiles) {
        return 0;
    }
    b->a = a;
    b->stages = shared + (-fused_shared(shared) & 1023);
    b->blocks = (uint32_t)(a->g.k / LAYER_BLOCK);
    b->scales = b->stages + bytes;
    b->at = fused_shared(b->stages);
    /* The last row's scales are read beyond their end: zeros are harmless. */
    b->pairs = (uint32_t *)(b->scales + rows * b->blocks) + 4;
    if (threadIdx.x < 4) {
        b->pairs[(int)threadIdx.x - 4] = 0;
    }
    b->rows = b->pairs + FUSED_COLUMNS;
    b->weights = (float *)(b->rows + FUSED_COLUMNS);
    b->w = tile.expert * a->g.n;
    b->base = blockIdx.x % a->m_tiles * (GLU ? rows / 2 : rows);
    b->n = tile.n;
    for (uint32_t i = threadIdx.x; i < FUSED_COLUMNS; i += FUSED_LANES) {
        const uint32_t pair = a->routes.list[tile.first + (i < tile.n ? i : 0)];
        b->pairs[i] = pair;
        b->rows[i] = (uint32_t)(pair / a->g.share * (a->g.pitch / 8));
        b->weights[i] = a->g.weigh ? layer_weight_of(&a->p, pair) : 0;
    }
    __syncthreads();
    return 1;
}
#endif

/* Few tokens: one warpgroup, so many columns at most. */
template <bool GLU, int N>
__global__ void __launch_bounds__(FUSED_LANES, N < 32 ? 5 : 4)
    fused_few(const __grid_constant__ fused_args a)
{
#if defined(GPU_IS_SM90A)
    extern __shared__ uint8_t fused_memory[];
    fused_block b;

    if (fused_begin<GLU>(&a, fused_memory, fused_shape<N>::bytes, &b)) {
        fused_tile_of<GLU, N>(&b);
    }
#endif
}

#if defined(GPU_IS_SM90A)
/* Eight columns of a token from bfloat16 rows, in any order but the exact. */
GPU_FN void fused_add_eight(const layer_sum_args *a, uint64_t i)
{
    const uint64_t per = a->cols / 8;
    const uint64_t token = i / per;
    const uint32_t type = a->sum == LAYER_SUM_MOE || a->sum == LAYER_SUM_ATOMIC
                              ? LAYER_BF16
                              : LAYER_F32;
    float acc[8] = {0, 0, 0, 0, 0, 0, 0, 0};

    GPU_LOOP
    for (uint32_t j = 0; j < a->p.topk; j += 4) {
        gpu_u128 row[4];
        float w[4];
        int there[4];
        GPU_UNROLL
        for (uint32_t s = 0; s < 4; s++) {
            const uint32_t slot = j + s < a->p.topk ? j + s : a->p.topk - 1;
            const uint64_t pair = token * a->p.topk + slot;
            const gpu_u128 none = {{0, 0, 0, 0}};
            const int32_t expert = layer_expert(&a->p, pair);
            row[s] = gpu_load_u16x8(a->rows, pair * per + i % per);
            w[s] = a->weigh ? layer_weight_of(&a->p, pair) : 1.0f;
            there[s] = j + s < a->p.topk && (a->keeps || expert >= 0);
            row[s] = expert < 0 ? none : row[s];
        }
        GPU_UNROLL
        for (int s = 0; s < 4; s++) {
            GPU_UNROLL
            for (int k = 0; k < 8; k++) {
                const float x = glu_element(GLU_BF16, row[s], k);
                acc[k] =
                    there[s]
                        ? layer_round(type, layer_step(a->sum, acc[k], x, w[s]))
                        : acc[k];
            }
        }
    }
    gpu_u128 y;
    GPU_UNROLL
    for (int k = 0; k < 4; k++) {
        y.w[k] = gpu_round_bf16(acc[2 * k], acc[2 * k + 1]);
    }
    gpu_store_u16x8(a->y, i, y);
}
#endif

/* Can fused_add_eight() do it?  Four partial sums it has not. */
GPU_FN int fused_adds_eight(const layer_sum_args *a)
{
    const int lanes =
        a->sum == LAYER_SUM_MOE && (a->p.topk < 2 || a->p.topk > 4);

    return !lanes && a->row_type != LAYER_F32 && a->out == LAYER_BF16 &&
           a->sum != LAYER_SUM_EXACT && a->sum != LAYER_SUM_CPU &&
           a->cols % 8 == 0;
}

static __global__ void __launch_bounds__(GPU_BLOCK)
    fused_add(const __grid_constant__ layer_sum_args a)
{
#if defined(GPU_IS_SM90A)
    fused_after();
    if (!fused_adds_eight(&a)) {
        layer_sum_body(&a);
        return;
    }
    for (uint64_t i = blockIdx.x * (uint64_t)GPU_BLOCK + threadIdx.x;
         i < a.outputs / 8; i += gridDim.x * (uint64_t)GPU_BLOCK) {
        fused_add_eight(&a, i);
    }
#endif
}

#endif
