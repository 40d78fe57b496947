/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.index: where a layout puts an index, and which index it finds at a
 * place, in units of what moves as a whole; 64 bits, and nothing allocated.
 */
#ifndef GPU_LAYOUT_INDEX_H
#define GPU_LAYOUT_INDEX_H

#include "layout/layout_walk.h"
#include "port/device.h"

#define INDEX_BEYOND UINT64_MAX
#define INDEX_PAD (UINT64_MAX - 1)
#define INDEX_UNDEFINED (UINT64_MAX - 2)

enum { INDEX_SIZES = 6 };

typedef struct index_args {
    walk_args walk;
    const uint64_t *at;
    uint64_t *to;
    uint64_t *sizes;
    uint64_t n;
    uint64_t units; /* of an element */
    uint64_t facts[INDEX_SIZES];
    int inverse;
} index_args;

GPU_FN uint64_t index_forward(const index_args *a, uint64_t at)
{
    uint64_t element = at / a->units;
    walk_place p = {{0, 0, 0, 0}};

    if (at >= a->facts[1]) {
        return INDEX_BEYOND;
    }
    p.at[3] = at % a->units * a->walk.unit_bits;
    p.at[2] = element % a->walk.extent[2];
    element /= a->walk.extent[2];
    p.at[1] = element % a->walk.extent[1];
    p.at[0] = element / a->walk.extent[1];
    const uint64_t unit = walk_to_memory(&a->walk, &p);
    if (a->walk.n_records == 0) {
        return unit;
    }
    const uint64_t bit = unit * a->walk.unit_bits;
    return (8 * walk_spread(&a->walk, bit / 8) + bit % 8) / a->walk.unit_bits;
}

GPU_FN uint64_t index_inverse(const index_args *a, uint64_t at)
{
    uint64_t pad = 0;

    if (at >= a->facts[2]) {
        return INDEX_BEYOND;
    }
    if (a->walk.n_records > 0) {
        const uint64_t bit = at * a->walk.unit_bits;
        const uint64_t byte = walk_close(&a->walk, bit / 8);

        if (byte == UINT64_MAX) {
            return INDEX_UNDEFINED;
        }
        at = (8 * byte + bit % 8) / a->walk.unit_bits;
    }
    const walk_place p = walk_from_memory(&a->walk, at);
    for (uint32_t axis = 0; axis < 3; axis++) {
        if (p.at[axis] >= a->walk.extent[axis]) {
            pad = a->walk.undefined[axis] || pad == INDEX_UNDEFINED
                      ? INDEX_UNDEFINED
                      : INDEX_PAD;
        }
    }
    const uint64_t element =
        (p.at[0] * a->walk.extent[1] + p.at[1]) * a->walk.extent[2] + p.at[2];
    return pad != 0 ? pad : element * a->units + p.at[3] / a->walk.unit_bits;
}

GPU_FN void index_body(const index_args *a)
{
    const uint64_t i = (uint64_t)gpu_block() * GPU_BLOCK + gpu_thread();

    if (i < a->n) {
        a->to[i] = a->inverse ? index_inverse(a, a->at[i])
                              : index_forward(a, a->at[i]);
    }
    if (i < INDEX_SIZES) {
        a->sizes[i] = a->facts[i];
    }
}

GPU_ENTRY(layout_index, index_args, index_body(a))

#endif
