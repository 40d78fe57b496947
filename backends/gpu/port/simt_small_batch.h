/* SPDX-License-Identifier: Apache-2.0 */
/* The names of small_batch_gpu.cuh on a CPU; simt_crowd.c has the rest.  Warps
   are fewer, because lanes take turns. */
#ifndef GPU_SIMT_SMALL_BATCH_H
#define GPU_SIMT_SMALL_BATCH_H

#include "port/device.h"

enum {
    SMALL_BATCH_EPILOGUE_WARPS = 4,
    SMALL_BATCH_TEAM = 2,
    SMALL_BATCH_TEAMS = 2,
    FEW_TOKENS_EPILOGUE_WARPS = 3,
    FEW_TOKENS_TEAM = 2,
    FEW_TOKENS_TEAMS = 2,
    FEW_TOKENS_ACTIVATION_LOADERS = 2,
    FEW_TOKENS_BUFFERS = 6 /* few, so that rows go around */
};

typedef struct mbarrier {
    uint32_t parity;
    uint32_t due, arrivals; /* of a phase: left, in all */
    uint32_t bytes;         /* announced and not copied */
} mbarrier;

uint8_t *dynamic_shared(void);
void mbarrier_wait(mbarrier *g, uint32_t parity);
void warp_mma(float *d, const uint32_t *a, const uint32_t *b);
void warp_sync(void);
uint32_t warp_ballot(int claim);
uint32_t warp_match(int32_t x);
void named_barrier(uint32_t name, uint32_t n);

GPU_FN void mbarrier_init(mbarrier *g, uint32_t n)
{
    const mbarrier fresh = {0, n, n, 0};

    *g = fresh;
}

GPU_FN void mbarrier_flip(mbarrier *g)
{
    if (g->due == 0 && g->bytes == 0) {
        g->parity ^= 1;
        g->due = g->arrivals;
    }
}

GPU_FN void mbarrier_arrive(mbarrier *g)
{
    g->due--;
    mbarrier_flip(g);
}

GPU_FN void mbarrier_expect(mbarrier *g, uint32_t bytes)
{
    g->bytes += bytes;
}

GPU_FN void mbarrier_arrive_expect(mbarrier *g, uint32_t bytes)
{
    g->bytes += bytes;
    mbarrier_arrive(g);
}

GPU_FN void bulk_copy(void *to, const void *from, uint32_t bytes, mbarrier *g)
{
    simt_check_aligned(to, 16);
    simt_check_aligned(from, 16);
    memcpy(to, from, bytes);
    g->bytes -= bytes;
    mbarrier_flip(g);
}

/* Matrices alone: words are the base, bytes of an element, elements of a row,
   rows, bytes from row to row, elements and rows of a box. */
GPU_FN void tensor_copy(void *to, const gpu_map *map, uint32_t element,
                        uint32_t row, mbarrier *g)
{
    const uint64_t *const m = map->words;
    const uint8_t *const base = (const uint8_t *)(uintptr_t)m[0];
    const uint32_t bytes = (uint32_t)(m[1] * m[5]);

    simt_check_aligned(to, 128);
    for (uint32_t r = 0; r < m[6]; r++) {
        uint8_t *const line = (uint8_t *)to + r * bytes;
        const uint64_t n = row + r >= m[3] || element >= m[2] ? 0
                           : m[2] - element < m[5]            ? m[2] - element
                                                              : m[5];

        memset(line, 0, bytes);
        memcpy(line, base + (row + r) * m[4] + element * m[1], n * m[1]);
    }
    g->bytes -= (uint32_t)m[6] * bytes;
    mbarrier_flip(g);
}

GPU_FN void mbarrier_wait_three(mbarrier *g, uint32_t g_parity, mbarrier *h,
                                uint32_t h_parity, mbarrier *i,
                                uint32_t i_parity)
{
    mbarrier_wait(g, g_parity);
    mbarrier_wait(h, h_parity);
    mbarrier_wait(i, i_parity);
}

GPU_FN uint32_t multiply_bf16x2(uint32_t x, uint32_t y)
{
    return gpu_round_bf16(gpu_float(x << 16) * gpu_float(y << 16),
                          gpu_float(x & 0xffff0000u) *
                              gpu_float(y & 0xffff0000u));
}

GPU_FN void gpu_cell_store_f32x2(float *p, float x, float y)
{
    p[0] = x;
    p[1] = y;
}

GPU_FN uint32_t max3_u32(uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t most = x > y ? x : y;

    return most > z ? most : z;
}

GPU_FN uint32_t max3_u16x2(uint32_t x, uint32_t y, uint32_t z)
{
    return max3_u32(x & 0xffffu, y & 0xffffu, z & 0xffffu) |
           max3_u32(x >> 16, y >> 16, z >> 16) << 16;
}

GPU_FN void shared_load_if(uint32_t claims, const gpu_u128 *p, gpu_u128 *x)
{
    if (claims) {
        *x = gpu_cell_load_u8x16(p);
    }
}

GPU_FN void warp_mma_first(float *d, const uint32_t *a, const uint32_t *b)
{
    d[0] = 0;
    d[1] = 0;
    d[2] = 0;
    d[3] = 0;
    warp_mma(d, a, b);
}

#define keep_in_register(x) (x)
#define count_ones(x) ((uint32_t)__builtin_popcount(x))
#define highest_one(x) (31 - (uint32_t)__builtin_clz(x))
#define load_relaxed_u16x8(p) gpu_load_u16x8((p), 0)
#define load_relaxed_u16 gpu_load_u16
#define load_relaxed_u32 gpu_load_u32
#define publish_u16 gpu_store_u16
#define publish_u32 gpu_store_u32
#define back_off_if(lacks) (warp_ballot(lacks) != 0)
#define prefetch_l2(p) ((void)(p))
#define mbarrier_init_fence() ((void)0)
#define acquire_fence() ((void)0)

#endif
