/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the GEMMs of fused.cuh: block 0 sorts the pairs by expert and cuts
 * experts into tiles, the others store activations in the order of k that the
 * tensor cores meet, and zeros where rows end before a chunk does.
 */
#ifndef GPU_FUSED_PREPARE_CUH
#define GPU_FUSED_PREPARE_CUH

#include "layer/layer.h"
#include "layer_fast/fused.cuh"
#include "layer_fast/sum_before.cuh"
#include "port/device.h"

enum { FUSED_EXPERTS = 1024, FUSED_THREADS = 1024 };

typedef struct fused_prepare_args {
    layer_pairs p;
    fused_routes routes;
    const void *x; /* [rows, k] */
    void *placed;  /* [rows, pitch] */
    void *next;    /* [pairs, next_pitch], whose ends become zeros, or NULL */
    uint64_t rows, k, pitch;
    uint64_t next_k, next_pitch;
    uint32_t experts;
    uint32_t columns; /* of a tile, at most */
} fused_prepare_args;

/* Counts become the first of each expert; tiles are cut. */
GPU_FN void fused_cut(const fused_prepare_args *a, uint32_t *count)
{
    __shared__ uint32_t of_warp[FUSED_THREADS / 32];
    const uint32_t e = threadIdx.x;
    const uint32_t n = e < a->experts ? count[e] : 0;
    const uint32_t tiles = (n + a->columns - 1) / a->columns;
    const uint32_t first = sum_before(n, of_warp);
    const uint32_t at = sum_before(tiles, of_warp);

    for (uint32_t i = 0; i < tiles; i++) {
        fused_tile *const t = &a->routes.tiles[at + i];
        const uint32_t done = i * a->columns;
        t->expert = e;
        t->first = first + done;
        t->n = n - done < a->columns ? n - done : a->columns;
    }
    if (e < a->experts) {
        count[e] = first;
    }
    if (e == FUSED_THREADS - 1) {
        *a->routes.n_tiles = at + tiles;
    }
}

GPU_FN void fused_route(const fused_prepare_args *a)
{
    __shared__ uint32_t count[FUSED_EXPERTS];

    for (uint32_t e = threadIdx.x; e < a->experts; e += FUSED_THREADS) {
        count[e] = 0;
    }
    __syncthreads();
    for (uint64_t i = threadIdx.x; i < a->p.pairs; i += FUSED_THREADS) {
        const int32_t e = layer_expert(&a->p, i);
        if (e >= 0) {
            atomicAdd(&count[e], 1u);
        }
    }
    __syncthreads();
    fused_cut(a, count);
    __syncthreads();
    for (uint64_t i = threadIdx.x; i < a->p.pairs; i += FUSED_THREADS) {
        const int32_t e = layer_expert(&a->p, i);
        if (e >= 0) {
            a->routes.list[atomicAdd(&count[e], 1u)] = (uint32_t)i;
        }
    }
}

/* Eight neighbours of k, k and k + 4 side by side. */
GPU_FN void fused_spread(void *row, uint32_t k, gpu_u128 x)
{
    uint16_t *const to = (uint16_t *)row + (k & ~127u) + layer_place(k & 127);

    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const uint32_t low = x.w[i / 2];
        const uint32_t high = x.w[2 + i / 2];

        *(uint32_t *)(to + layer_place((uint32_t)i)) =
            __byte_perm(low, high, i % 2 != 0 ? 0x7632 : 0x5410);
    }
}

GPU_FN void fused_store_rows(const fused_prepare_args *a)
{
    const uint64_t per = a->pitch / 8;
    const gpu_u128 none = {{0, 0, 0, 0}};

    for (uint64_t i = (blockIdx.x - 1) * (uint64_t)FUSED_THREADS + threadIdx.x;
         i < a->rows * per; i += (gridDim.x - 1) * (uint64_t)FUSED_THREADS) {
        const uint64_t row = i / per;
        /* Neighbours in a warp: the four blocks of a chunk. */
        const uint32_t at = (uint32_t)(i % per);
        const uint32_t k = (at & ~15u) * 8 + (at & 3) * 32 + (at >> 2 & 3) * 8;
        fused_spread((uint16_t *)a->placed + row * a->pitch, k,
                     k < a->k ? gpu_load_u16x8(
                                    (const uint16_t *)a->x + row * a->k + k, 0)
                              : none);
    }
    const uint64_t ends = (a->next_pitch - a->next_k) / 8;
    for (uint64_t i = (blockIdx.x - 1) * (uint64_t)FUSED_THREADS + threadIdx.x;
         i < a->p.pairs * ends;
         i += (gridDim.x - 1) * (uint64_t)FUSED_THREADS) {
        fused_spread((uint16_t *)a->next + i / ends * a->next_pitch,
                     (uint32_t)(a->next_k + i % ends * 8), none);
    }
}

static __global__ void __launch_bounds__(FUSED_THREADS)
    fused_prepare(const __grid_constant__ fused_prepare_args a)
{
#if defined(GPU_IS_SM90A)
    fused_before();
#endif
    if (blockIdx.x == 0) {
        fused_route(&a);
    } else {
        fused_store_rows(&a);
    }
}

#endif
