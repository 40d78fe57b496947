/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows the sums of prefill.cuh: a warp puts 16 rows and 32 columns of
 * them into shared memory, then a lane has all 16 rows of a column: bias, the
 * activation or the routing weight, and a store of whole sectors.
 */
#ifndef GPU_PREFILL_EPILOGUE_CUH
#define GPU_PREFILL_EPILOGUE_CUH

#include "layer/layer.h"
#include "layer/layer_act.h"
#include "layer_fast/prefill.cuh"
#include "port/device.h"

#if defined(GPU_IS_SM90A)
/* What a warp finishes: 16 rows of a tile. */
typedef struct prefill_end {
    const prefill_args *a;
    const prefill_tile *t;
    float *sums;
    uint32_t m, block;
    int in_vain; /* the sums are to be computed without tensor cores */
} prefill_end;

/* Is any scale of the tile beyond BF16's range?  For 128 threads. */
GPU_FN int prefill_has_large(const uint8_t *scales, uint32_t bytes)
{
    uint32_t above = 0;

    for (uint32_t i = threadIdx.x % PREFILL_GROUP; i < bytes / 16;
         i += PREFILL_GROUP) {
        const uint4 v = ((const uint4 *)scales)[i];
        const uint32_t w[4] = {v.x, v.y, v.z, v.w};
        GPU_UNROLL
        for (int k = 0; k < 4; k++) {
            /* 128 borrows nothing from 129. */
            above |= w[k] & 0x80808080u & ((w[k] & 0x7f7f7f7fu) + 0x7f7f7f7fu);
        }
    }
    return above != 0;
}

/* Lowest and highest byte, by every warp for itself. */
GPU_FN void prefill_extremes(const uint8_t *scales, uint32_t bytes,
                             uint32_t *low, uint32_t *high)
{
    for (uint32_t i = threadIdx.x % 32; i < bytes; i += 32) {
        const uint32_t x = scales[i];
        *low = x < *low ? x : *low;
        *high = x > *high ? x : *high;
    }
    *low = __reduce_min_sync(0xffffffffu, *low);
    *high = __reduce_max_sync(0xffffffffu, *high);
}

/* Do the tile's scales exceed what factors can hold?  Then all are shifted, or
   (returned) sums must be done without tensor cores. */
GPU_FN int prefill_range(const prefill_block *b, const uint8_t *scales,
                         uint32_t m, uint32_t *shift)
{
    const uint32_t blocks = (uint32_t)(b->a->g.k / LAYER_BLOCK);
    const uint8_t *const second = scales + PREFILL_ROWS / 2 * blocks;
    const uint32_t n[2] = {prefill_rows(b->a, m, 0) * blocks,
                           prefill_rows(b->a, m, 1) * blocks};
    const uint32_t large =
        prefill_has_large(scales, n[0]) | prefill_has_large(second, n[1]);
    const uint32_t name = 1 + threadIdx.x / PREFILL_GROUP;
    uint32_t any, low = 255, high = 0;

    asm volatile("{\n"
                 ".reg .pred p, q;\n"
                 "setp.ne.u32 p, %1, 0;\n"
                 "barrier.cta.red.or.pred q, %2, 128, p;\n"
                 "selp.u32 %0, 1, 0, q;\n"
                 "}"
                 : "=r"(any)
                 : "r"(large), "r"(name)
                 : "memory");
    *shift = 0;
    if (!any) {
        return 0;
    }
    prefill_extremes(scales, n[0], &low, &high);
    prefill_extremes(second, n[1], &low, &high);
    *shift = high > 128 && high <= 192 ? high - 128 : 0;
    return high > 192 || (high > 128 && low < 64);
}

/* Row of the tile's expert that row r of a warp's 16 is. */
GPU_FN uint32_t prefill_weight_row(const prefill_end *e, uint32_t r)
{
    const prefill_args *const a = e->a;
    const uint32_t row = prefill_row_of(a, threadIdx.x / 32, e->block, r);

    return row < PREFILL_ROWS / 2
               ? prefill_first(a, e->m) + row
               : prefill_second(a, e->m) + row - PREFILL_ROWS / 2;
}

/* A sum in binary64, for weights beyond BF16. */
GPU_SLOW float prefill_dot(const prefill_args *a, const prefill_tile *t,
                           uint32_t col, uint32_t row)
{
    const layer_gemm *const g = &a->g;
    const layer_row r = {g, 0, t->expert * g->n + row, 0};
    double sum = 0;

    for (uint64_t at = 0; at * LAYER_BLOCK < g->k; at++) {
        const layer_block k = layer_block_at(&r, at);
        for (uint64_t i = k.first; i < k.end; i++) {
            const float x = layer_load(
                LAYER_BF16, g->a, prefill_at(t, g->pitch, col, (uint32_t)i));
            sum += (double)x * layer_weight(g->rule, k.byte, k.power,
                                            layer_code(g, r.w * g->k + i));
        }
    }
    return (float)sum;
}

/* 16 rows of a column. */
GPU_FN void prefill_column(const prefill_end *e, uint32_t col, float (&y)[16])
{
    const float4 *const from =
        (const float4 *)(e->sums + threadIdx.x % 32 * PREFILL_PITCH);

    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const float4 v = from[i];
        y[4 * i] = v.x;
        y[4 * i + 1] = v.y;
        y[4 * i + 2] = v.z;
        y[4 * i + 3] = v.w;
    }
    if (e->in_vain && col < e->t->n) {
        GPU_LOOP
        for (uint32_t r = 0; r < 16; r++) {
            e->sums[threadIdx.x % 32 * PREFILL_PITCH + r] =
                prefill_dot(e->a, e->t, col, prefill_weight_row(e, r));
        }
        GPU_UNROLL
        for (int r = 0; r < 16; r++) {
            y[r] = e->sums[threadIdx.x % 32 * PREFILL_PITCH + r];
        }
    }
}

/* Row lane % 16's bias, for prefill_bias(). */
GPU_FN float prefill_own_bias(const prefill_end *e, uint32_t last)
{
    const layer_gemm *const g = &e->a->g;
    const uint32_t row = prefill_weight_row(e, threadIdx.x % 16);

    return g->bias_at == LAYER_BIAS_NONE || row >= last
               ? 0.0f
               : layer_bias(g, e->t->expert * g->n + row);
}

GPU_FN float prefill_bias(float own, int r)
{
    return __shfl_sync(0xffffffffu, own, r);
}

/* Activations of a column: eight outputs. */
GPU_FN void prefill_act(const prefill_end *e, uint32_t col, float own)
{
    const prefill_args *const a = e->a;
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t outputs = (uint32_t)(a->g.n / 2);
    const uint32_t first =
        e->m * (PREFILL_ROWS / 2) + (warp >> 1) * 8 + (warp & 1) * 2 + e->block;
    float y[16];
    gpu_u128 out;

    prefill_column(e, col, y);
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        glu_two in[2];
        GPU_UNROLL
        for (int k = 0; k < 2; k++) {
            const float bias_g = prefill_bias(own, 2 * i + k);
            const float bias_u = prefill_bias(own, 2 * i + k + 8);
            in[k].g = layer_finish(&a->g, y[2 * i + k], bias_g, 0);
            in[k].v = layer_finish(&a->g, y[2 * i + k + 8], bias_u, 0);
        }
        out.w[i] = first + 32 * (uint32_t)i < outputs && col < e->t->n
                       ? layer_act_two(&a->glu, a->glu_mode, in)
                       : 0;
    }
    if (col >= e->t->n) {
        return;
    }
    if (a->placed) {
        const uint32_t k = first;
        gpu_store_u16x8(
            (uint16_t *)a->g.y + prefill_at(e->t, a->y_pitch, col, k), 0, out);
        return;
    }
    const uint64_t pair = a->routes.list[e->t->first + col];
    uint16_t *const to = (uint16_t *)a->g.y + pair * a->y_pitch;
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        if (first + 32 * (uint32_t)i < outputs) {
            to[first + 32 * i] = (uint16_t)out.w[i];
            to[first + 32 * i + 4] = (uint16_t)(out.w[i] >> 16);
        }
    }
}

/* A column of the rows that a GEMM hands on. */
GPU_FN void prefill_row(const prefill_end *e, uint32_t col, float own)
{
    const prefill_args *const a = e->a;
    const uint32_t row = prefill_weight_row(e, 0);
    const int is_there = col < e->t->n && row < a->g.n;
    const uint64_t pair = a->routes.list[e->t->first + (is_there ? col : 0)];
    const float weight = a->g.weigh ? layer_weight_of(&a->p, pair) : 0;
    const uint64_t at = (pair * a->y_pitch + row) / 4;
    float y[16];

    prefill_column(e, row < a->g.n ? col : e->t->n, y);
    GPU_UNROLL
    for (int r = 0; r < 16; r++) {
        const float x = layer_finish(&a->g, y[r], prefill_bias(own, r), weight);
        y[r] = x != x ? gpu_float(0x7fc00000u) : x;
    }
    if (!is_there) {
        return;
    }
    GPU_UNROLL
    for (int i = 0; i < 4 && a->g.out == LAYER_F32; i++) {
        const gpu_u128 v = {{gpu_bits(y[4 * i]), gpu_bits(y[4 * i + 1]),
                             gpu_bits(y[4 * i + 2]), gpu_bits(y[4 * i + 3])}};
        gpu_store_u32x4(a->g.y, at + (uint32_t)i, v);
    }
    GPU_UNROLL
    for (int i = 0; i < 2 && a->g.out != LAYER_F32; i++) {
        gpu_u128 v;
        GPU_UNROLL
        for (int k = 0; k < 4; k++) {
            v.w[k] = __byte_perm(gpu_bits(y[8 * i + 2 * k]),
                                 gpu_bits(y[8 * i + 2 * k + 1]), 0x7632);
        }
        gpu_store_u16x8(a->g.y, at / 2 + (uint32_t)i, v);
    }
}

/* 32 columns of a thread's sums to where a lane finds a column's. */
template <int BLOCK, int PART>
GPU_FN void prefill_put(float *sums, const float (&acc)[2][64])
{
    const uint32_t lane = threadIdx.x % 32;
    float *const to = sums + lane % 4 * 2 * PREFILL_PITCH + lane / 4;

    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        GPU_UNROLL
        for (int k = 0; k < 4; k++) {
            to[(i * 8 + k % 2) * PREFILL_PITCH + k / 2 * 8] =
                acc[BLOCK][PART * 16 + i * 4 + k];
        }
    }
}

/* Sums of 16 rows and 32 columns: which ones is only known here. */
GPU_FN void prefill_put_any(float *sums, const float (&acc)[2][64],
                            uint32_t which)
{
    switch (which) {
    case 0:
        prefill_put<0, 0>(sums, acc);
        break;
    case 1:
        prefill_put<0, 1>(sums, acc);
        break;
    case 2:
        prefill_put<0, 2>(sums, acc);
        break;
    case 3:
        prefill_put<0, 3>(sums, acc);
        break;
    case 4:
        prefill_put<1, 0>(sums, acc);
        break;
    case 5:
        prefill_put<1, 1>(sums, acc);
        break;
    case 6:
        prefill_put<1, 2>(sums, acc);
        break;
    default:
        prefill_put<1, 3>(sums, acc);
        break;
    }
}

GPU_FN void prefill_finish(const prefill_block *b, const prefill_tile *t,
                           uint32_t m, int in_vain, const float (&acc)[2][64])
{
    const uint32_t n = (uint32_t)b->a->g.n;
    const uint32_t parts = (t->n + PREFILL_BATCH - 1) / PREFILL_BATCH;
    prefill_end e = {b->a, t, b->s->sums[threadIdx.x / 32], m, 0, in_vain};
    float own = 0;

    GPU_LOOP
    for (uint32_t i = 0; i < 2 * parts; i++) {
        const uint32_t part = i < parts ? i : i - parts;
        const uint32_t col = part * PREFILL_BATCH + threadIdx.x % 32;

        e.block = i >= parts;
        if (part == 0) {
            own = prefill_own_bias(&e, n);
        }
        warp_sync();
        prefill_put_any(e.sums, acc, e.block * 4 + part);
        warp_sync();
        if (b->a->is_glu) {
            prefill_act(&e, col, own);
        } else {
            prefill_row(&e, col, own);
        }
    }
}

/* The warpgroups that multiply. */
GPU_FN void prefill_math(const prefill_block *b)
{
    const prefill_args *const a = b->a;
    const uint32_t tiles = *a->routes.n_tiles * a->m_tiles;
    prefill_ring r = {0, 0};
    uint32_t turn = 0;

    GPU_LOOP
    for (uint32_t i = blockIdx.x; i < tiles; i += gridDim.x) {
        const prefill_tile t = a->routes.tiles[i / a->m_tiles];
        const uint32_t m = i % a->m_tiles;
        const uint32_t buffer = turn & a->scale_turns;
        const uint8_t *const scales = b->scales + buffer * a->scale_bytes;
        uint32_t shift;
        float acc[2][64];

        mbarrier_wait(&b->s->scales_full[buffer], turn >> a->scale_turns & 1);
        const int in_vain = prefill_range(b, scales, m, &shift);
        const prefill_reader x = prefill_reader_of(b, scales, shift);
        GPU_UNROLL
        for (int k = 0; k < 128; k++) {
            acc[k / 64][k % 64] = 0;
        }
        if (a->g.laid == LAYER_LAID_HOPPER) {
            prefill_multiply_any<LAYER_LAID_HOPPER>(b, &x, t.n, &r, acc);
        } else {
            prefill_multiply_any<LAYER_LAID_PLAIN>(b, &x, t.n, &r, acc);
        }
        prefill_release(&b->s->scales_empty[buffer]);
        if (shift != 0) {
            GPU_UNROLL
            for (int k = 0; k < 128; k++) {
                acc[k / 64][k % 64] *= gpu_float((127 + shift) << 23);
            }
        }
        prefill_finish(b, &t, m, in_vain, acc);
        turn++;
    }
}

GPU_FN void prefill_body(const prefill_args *a)
{
    uint8_t *const memory = dynamic_shared();
    uint8_t *const stages =
        memory + (-(uint32_t)__cvta_generic_to_shared(memory) & 1023);
    uint8_t *const scales = stages + a->stages * a->stage_bytes;
    const prefill_block b = {
        a, stages, scales,
        (prefill_shared *)(scales + (1 + a->scale_turns) * a->scale_bytes)};

    if (threadIdx.x < PREFILL_STAGES) {
        mbarrier_init(&b.s->full[threadIdx.x], 1);
        mbarrier_init(&b.s->empty[threadIdx.x], PREFILL_WARPS);
    } else if (threadIdx.x < PREFILL_STAGES + 2) {
        mbarrier_init(&b.s->scales_full[threadIdx.x - PREFILL_STAGES], 1);
        mbarrier_init(&b.s->scales_empty[threadIdx.x - PREFILL_STAGES],
                      PREFILL_WARPS);
    }
    mbarrier_init_fence();
    __syncthreads();
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    if (threadIdx.x >= 32 * PREFILL_WARPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 32 * PREFILL_WARPS) {
            asm volatile("fence.proxy.async.global;" ::: "memory");
            prefill_load(&b);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        prefill_math(&b);
    }
}
#endif

static __global__ void __launch_bounds__(PREFILL_THREADS, 1)
    prefill_gemm(const __grid_constant__ prefill_args a)
{
#if defined(GPU_IS_SM90A)
    prefill_body(&a);
#endif
}

#endif
