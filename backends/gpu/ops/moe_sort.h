/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.sort by one block: a thread has every 256th expert, counts its pairs and
 * writes them in ascending order, so that no order depends on who comes first.
 */
#ifndef GPU_MOE_SORT_H
#define GPU_MOE_SORT_H

#include "port/device.h"

enum { SORT_ALL, SORT_RANGE, SORT_MAP, SORT_MASK };
enum { SORT_AITER, SORT_DEEPGEMM, SORT_TRITON, SORT_TRTLLM, SORT_VLLM };
enum { SORT_OUTPUTS = 7 };

/* An array of 32-bit numbers and what it holds where nobody writes. */
typedef struct sort_output {
    void *to;
    uint64_t n;
    uint32_t fill;
} sort_output;

typedef struct sort_args {
    const void *ids;     /* int32 */
    const void *map;     /* int32, or NULL */
    const void *weights; /* binary32, or NULL */
    uint64_t tokens, slots;
    uint64_t used;    /* pairs that take part */
    uint64_t experts; /* with the shared ones */
    uint64_t locals, shared;
    int64_t offset;
    uint64_t block;
    uint32_t kind, layout;
    void *local; /* int32[experts]: number of an expert here, or -1 */
    void *start; /* uint32[experts + 1]: first pair of a key in sorted order */
    void *tile;  /* uint32[experts + 1]: and its first block */
    void *pair;  /* int32[pairs], sorted */
    sort_output out[SORT_OUTPUTS];
} sort_args;

GPU_FN int32_t sort_local(const sort_args *a, uint64_t e)
{
    const uint64_t routed = a->experts - a->shared;
    const int64_t from_offset = (int64_t)e - a->offset;
    int32_t before = 0;

    if (e >= routed) { /* shared ones come last, on every rank */
        return (int32_t)(e - routed + a->locals - a->shared);
    }
    switch (a->kind) {
    case SORT_RANGE:
        return from_offset >= 0 &&
                       from_offset < (int64_t)(a->locals - a->shared)
                   ? (int32_t)from_offset
                   : -1;
    case SORT_MAP:
        return (int32_t)gpu_load_u32(a->map, e);
    case SORT_MASK:
        for (uint64_t i = 0; i < e; i++) {
            before += gpu_load_u32(a->map, i) != 0;
        }
        return gpu_load_u32(a->map, e) != 0 ? before : -1;
    default:
        return (int32_t)e;
    }
}

/* Sort key of pair i; -1: it takes no part. */
GPU_FN int32_t sort_key(const sort_args *a, uint64_t i)
{
    const int32_t id = (int32_t)gpu_load_u32(a->ids, i);

    return id < 0 || a->layout == SORT_VLLM
               ? id
               : (int32_t)gpu_load_u32(a->local, (uint64_t)id);
}

GPU_FN uint32_t sort_blocks(const sort_args *a, uint32_t rows)
{
    return (uint32_t)((rows + a->block - 1) / a->block);
}

GPU_FN void sort_prepare(const sort_args *a)
{
    for (int o = 0; o < SORT_OUTPUTS; o++) {
        for (uint64_t i = gpu_thread(); i < a->out[o].n; i += GPU_BLOCK) {
            gpu_store_u32(a->out[o].to, i, a->out[o].fill);
        }
    }
    for (uint64_t e = gpu_thread(); e < a->experts; e += GPU_BLOCK) {
        gpu_store_u32(a->local, e, (uint32_t)sort_local(a, e));
    }
}

GPU_FN void sort_count(const sort_args *a)
{
    for (uint64_t k = gpu_thread(); k < a->experts; k += GPU_BLOCK) {
        uint32_t n = 0;
        for (uint64_t i = 0; i < a->used; i++) {
            n += sort_key(a, i) == (int32_t)k;
        }
        gpu_store_u32(a->start, k, n);
    }
}

/* Counts become the first pairs and the first blocks. */
GPU_FN void sort_add_up(const sort_args *a)
{
    uint32_t row = 0;
    uint32_t tile = 0;

    for (uint64_t k = 0; k <= a->experts; k++) {
        const uint32_t n = k < a->experts ? gpu_load_u32(a->start, k) : 0;
        gpu_store_u32(a->start, k, row);
        gpu_store_u32(a->tile, k, tile);
        row += n;
        tile += sort_blocks(a, n);
    }
}

GPU_FN void sort_gather(const sort_args *a)
{
    for (uint64_t k = gpu_thread(); k < a->experts; k += GPU_BLOCK) {
        uint64_t at = gpu_load_u32(a->start, k);
        for (uint64_t i = 0; i < a->used; i++) {
            if (sort_key(a, i) == (int32_t)k) {
                gpu_store_u32(a->pair, at++, (uint32_t)i);
            }
        }
    }
}

GPU_FN void sort_put(const sort_args *a, int output, uint64_t i, uint64_t value)
{
    gpu_store_u32(a->out[output].to, i, (uint32_t)value);
}

/* Outputs of a pair: number i in sorted order, placed in row. */
GPU_FN void sort_tell_pair(const sort_args *a, uint64_t e, uint64_t i,
                           uint64_t row)
{
    const uint64_t pair = gpu_load_u32(a->pair, i);

    switch (a->layout) {
    case SORT_AITER:
        sort_put(a, 0, row, pair % a->slots << 24 | pair / a->slots);
        sort_put(a, 1, row, gpu_load_u32(a->weights, pair));
        break;
    case SORT_DEEPGEMM:
        sort_put(a, 0, pair, row);
        sort_put(a, 1, row, e);
        break;
    case SORT_TRITON:
        sort_put(a, 0, i, pair);
        sort_put(a, 1, pair, i);
        sort_put(a, 2, i, gpu_load_u32(a->weights, pair));
        break;
    case SORT_TRTLLM:
        sort_put(a, 0, pair, row);
        sort_put(a, 1, row, pair);
        break;
    default:
        sort_put(a, 0, row, pair);
        break;
    }
}

/* And of block t of expert e, whose rows end at end. */
GPU_FN void sort_tell_block(const sort_args *a, uint64_t e, uint64_t t,
                            uint64_t end)
{
    const uint64_t last = (t + 1) * a->block;

    switch (a->layout) {
    case SORT_AITER:
        sort_put(a, 2, t, e);
        break;
    case SORT_TRITON:
        sort_put(a, 6, t, (t - gpu_load_u32(a->tile, e)) << 16 | e);
        break;
    case SORT_TRTLLM:
        sort_put(a, 2, t, e);
        sort_put(a, 3, t, last < end ? last : end);
        break;
    case SORT_VLLM:
        sort_put(a, 1, t, gpu_load_u32(a->local, e));
        break;
    default:
        break;
    }
}

GPU_FN void sort_tell_expert(const sort_args *a, uint64_t e)
{
    const uint64_t first = gpu_load_u32(a->start, e);
    const uint64_t n = gpu_load_u32(a->start, e + 1) - first;
    const uint64_t tile = gpu_load_u32(a->tile, e);
    const uint64_t row = tile * a->block;

    for (uint64_t i = 0; i < n; i++) {
        sort_tell_pair(a, e, first + i, row + i);
    }
    for (uint64_t t = tile; t < gpu_load_u32(a->tile, e + 1); t++) {
        sort_tell_block(a, e, t, row + n);
    }
    if (a->layout == SORT_DEEPGEMM) {
        sort_put(a, 2, e, row + n);
    } else if (a->layout == SORT_TRITON) {
        sort_put(a, 3, e, n);
        sort_put(a, 4, e, first);
        sort_put(a, 5, e, tile);
    }
}

/* Outputs of all pairs together. */
GPU_FN void sort_tell_all(const sort_args *a)
{
    const uint64_t tiles = gpu_load_u32(a->tile, a->experts);

    switch (a->layout) {
    case SORT_AITER:
        sort_put(a, 3, 0, tiles * a->block);
        sort_put(a, 3, 1, a->tokens);
        break;
    case SORT_TRITON:
        sort_put(a, 4, a->experts, gpu_load_u32(a->start, a->experts));
        sort_put(a, 5, a->experts, tiles);
        break;
    case SORT_TRTLLM:
        sort_put(a, 4, 0, tiles);
        sort_put(a, 5, 0, tiles * a->block);
        break;
    case SORT_VLLM:
        sort_put(a, 2, 0, tiles * a->block);
        break;
    default:
        break;
    }
}

GPU_FN void sort_body(const sort_args *a)
{
    sort_prepare(a);
    gpu_barrier();
    sort_count(a);
    gpu_barrier();
    if (gpu_thread() == 0) {
        sort_add_up(a);
    }
    gpu_barrier();
    sort_gather(a);
    gpu_barrier();
    for (uint64_t e = gpu_thread(); e < a->experts; e += GPU_BLOCK) {
        sort_tell_expert(a, e);
    }
    if (gpu_thread() == 0) {
        sort_tell_all(a);
    }
}

#endif
