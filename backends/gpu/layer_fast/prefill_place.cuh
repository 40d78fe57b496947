/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before the GEMMs of prefill.cuh: one block sorts the pairs by expert and cuts
 * experts into tiles of about the same size; then every pair's activations are
 * stored as the tensor cores meet them, zeros where rows end before a chunk.
 */
#ifndef GPU_PREFILL_PLACE_CUH
#define GPU_PREFILL_PLACE_CUH

#include "layer/layer.h"
#include "layer_fast/prefill.cuh"
#include "layer_fast/sum_before.cuh"
#include "port/device.h"

enum { PREFILL_EXPERTS = 1024, PREFILL_SORTERS = 1024 };

typedef struct prefill_place_args {
    layer_pairs p;
    prefill_routes routes;
    const void *x; /* [rows, k], a row for `share` pairs */
    void *placed;  /* as prefill_at() says */
    uint64_t k, pitch;
    uint32_t share;
    uint32_t experts;
    uint32_t columns; /* of a tile, at most */
} prefill_place_args;

/* Columns of an expert's tiles but the last: n in equal parts, in sixteens,
   by which products go. */
GPU_FN uint32_t prefill_part(uint32_t n, uint32_t tiles)
{
    return tiles == 0 ? 0 : ((n + tiles - 1) / tiles + 15) / 16 * 16;
}

/* Counts become the first of each expert; tiles are cut. */
GPU_FN void prefill_cut(const prefill_place_args *a, uint32_t *count,
                        uint32_t *tile)
{
    __shared__ uint32_t of_warp[PREFILL_SORTERS / 32];
    const uint32_t e = threadIdx.x;
    const uint32_t n = e < a->experts ? count[e] : 0;
    const uint32_t tiles = (n + a->columns - 1) / a->columns;
    const uint32_t part = prefill_part(n, tiles);
    const uint32_t first = sum_before(n, of_warp);
    const uint32_t at = sum_before(tiles, of_warp);
    const uint32_t row = sum_before(prefill_padded(n), of_warp);

    for (uint32_t i = 0; i < tiles; i++) {
        prefill_tile *const t = &a->routes.tiles[at + i];
        const uint32_t done = i * part;
        const uint32_t left = n > done ? n - done : 0;

        t->expert = e;
        t->first = first + done;
        t->n = left < part ? left : part;
        t->row = row + done;
    }
    if (e < a->experts) {
        count[e] = first;
        tile[e] = at;
        /* Tile of place i in the list: i - first over part. */
        tile[PREFILL_EXPERTS + e] = first;
        tile[2 * PREFILL_EXPERTS + e] = part;
    }
    if (e == PREFILL_SORTERS - 1) {
        *a->routes.n_tiles = at + tiles;
    }
}

/* All pairs, several at a time: counted, or put where they belong. */
template <int PUT>
GPU_FN void prefill_each(const prefill_place_args *a, uint32_t *count,
                         const uint32_t *tile)
{
    enum { AT_ONCE = 8 };

    for (uint64_t first = threadIdx.x; first < a->p.pairs;
         first += AT_ONCE * PREFILL_SORTERS) {
        int32_t expert[AT_ONCE];

        GPU_UNROLL
        for (int k = 0; k < AT_ONCE; k++) {
            const uint64_t i = first + (uint64_t)k * PREFILL_SORTERS;
            expert[k] = i < a->p.pairs ? layer_expert(&a->p, i) : -1;
        }
        GPU_UNROLL
        for (int k = 0; k < AT_ONCE; k++) {
            const int32_t e = expert[k];
            if (e < 0) {
                continue;
            }
            const uint32_t at = atomicAdd(&count[e], 1u);
            if (PUT) {
                a->routes.list[at] =
                    (uint32_t)(first + (uint64_t)k * PREFILL_SORTERS);
                a->routes.tile_of[at] =
                    tile[e] + (at - tile[PREFILL_EXPERTS + e]) /
                                  tile[2 * PREFILL_EXPERTS + e];
            }
        }
    }
}

static __global__ void __launch_bounds__(PREFILL_SORTERS)
    prefill_sort(const __grid_constant__ prefill_place_args a)
{
    __shared__ uint32_t count[PREFILL_EXPERTS];
    __shared__ uint32_t tile[3 * PREFILL_EXPERTS];

    for (uint32_t e = threadIdx.x; e < a.experts; e += PREFILL_SORTERS) {
        count[e] = 0;
    }
    __syncthreads();
    prefill_each<0>(&a, count, tile);
    __syncthreads();
    prefill_cut(&a, count, tile);
    __syncthreads();
    prefill_each<1>(&a, count, tile);
    __syncthreads();
    /* Pairs that the list has; the rest of it has no expert here. */
    if (threadIdx.x == 0) {
        const uint32_t n = *a.routes.n_tiles;
        const prefill_tile last = a.routes.tiles[n == 0 ? 0 : n - 1];
        a.routes.n_tiles[1] = n == 0 ? 0 : last.first + last.n;
    }
}

/* Four lanes have eight neighbours of k in each block of a chunk: every lane
   gathers eight that are stored side by side. */
GPU_FN gpu_u128 prefill_gather(gpu_u128 x)
{
    const uint32_t lane = threadIdx.x % 4;
    const uint32_t own[4] = {__byte_perm(x.w[0], x.w[2], 0x5410),
                             __byte_perm(x.w[0], x.w[2], 0x7632),
                             __byte_perm(x.w[1], x.w[3], 0x5410),
                             __byte_perm(x.w[1], x.w[3], 0x7632)};
    gpu_u128 y = {{0, 0, 0, 0}};

    GPU_UNROLL
    for (uint32_t d = 0; d < 4; d++) {
        const uint32_t other = lane ^ d;
        uint32_t sent = own[3];
        if (other == 0) {
            sent = own[0];
        } else if (other == 1) {
            sent = own[1];
        } else if (other == 2) {
            sent = own[2];
        }
        const uint32_t got = __shfl_xor_sync(__activemask(), sent, (int)d);
        GPU_UNROLL
        for (uint32_t s = 0; s < 4; s++) {
            y.w[s] = s == other ? got : y.w[s];
        }
    }
    return y;
}

/* A warp stores a pair's row, four times sixteen bytes a lane at once. */
GPU_FN void prefill_store_row(const prefill_place_args *a, uint32_t at)
{
    enum { AT_ONCE = 4 };
    const prefill_tile t = a->routes.tiles[a->routes.tile_of[at]];
    const uint64_t row = a->routes.list[at] / a->share;
    const uint16_t *const from = (const uint16_t *)a->x + row * a->k;
    const uint32_t pieces = (uint32_t)(a->pitch / 8);
    const uint32_t lane = threadIdx.x % 4;

    for (uint32_t first = threadIdx.x % 32; first < pieces;
         first += 32 * AT_ONCE) {
        gpu_u128 x[AT_ONCE];
        GPU_UNROLL
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            const uint32_t piece = first + 32 * i;
            const uint32_t k = piece / 16 * 128 + lane * 32 + piece / 4 % 4 * 8;
            const gpu_u128 none = {{0, 0, 0, 0}};
            x[i] = k < a->k ? gpu_load_u16x8(from + k, 0) : none;
        }
        GPU_UNROLL
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            const uint32_t piece = first + 32 * i;
            const uint32_t k = piece / 16 * 128 + piece / 4 % 4 * 8 + lane;
            if (piece < pieces) {
                gpu_store_u16x8((uint16_t *)a->placed +
                                    prefill_at(&t, a->pitch, at - t.first, k),
                                0, prefill_gather(x[i]));
            }
        }
    }
}

static __global__ void __launch_bounds__(GPU_BLOCK)
    prefill_store(const __grid_constant__ prefill_place_args a)
{
#if defined(GPU_IS_SM90A)
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    const uint32_t all = a.routes.n_tiles[1];
    const uint32_t warps = GPU_BLOCK / 32;

    for (uint32_t at = blockIdx.x * warps + threadIdx.x / 32; at < all;
         at += gridDim.x * warps) {
        prefill_store_row(&a, at);
    }
}

#endif
