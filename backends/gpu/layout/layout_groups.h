/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.groups, layout.grouped: rows of groups in a buffer whose groups start
 * at multiples of an alignment.  The host makes the list of groups, which is
 * in the order of the buffer; a row of the buffer is looked up in it.
 */
#ifndef GPU_LAYOUT_GROUPS_H
#define GPU_LAYOUT_GROUPS_H

#include "layout/layout.h"
#include "port/device.h"

typedef struct groups_range {
    int64_t src; /* first rows */
    int64_t dst;
    int64_t n;
} groups_range;

typedef struct groups_args {
    const groups_range *list; /* NULL: input rows repeat */
    uint64_t n_list;
    const uint8_t *src;
    uint8_t *dst;
    uint64_t n;         /* accesses, or rows */
    uint64_t row_units; /* accesses per row */
    uint64_t rows;      /* of an expert's input */
    uint64_t to_rows;   /* and buffer */
    uint64_t repeat;
    uint32_t unit; /* bytes of an access: 16, 4 or 1 */
    int32_t *index;
    int32_t *ends;
} groups_args;

/* Number of the group that owns row r of the buffer, or -1. */
GPU_FN int64_t groups_owner(const groups_args *a, int64_t r)
{
    uint64_t low = 0;
    uint64_t high = a->n_list; /* the first group that starts behind r */

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (a->list[middle].dst <= r) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && r < a->list[low - 1].dst + a->list[low - 1].n
               ? (int64_t)low - 1
               : -1;
}

GPU_FN void groups_rows(const groups_args *a)
{
    const uint64_t i = (uint64_t)gpu_block() * GPU_BLOCK + gpu_thread();

    if (i >= a->n) {
        return;
    }
    const uint64_t row = i / a->row_units;
    const uint64_t r = row % a->to_rows;
    int64_t from = a->list == NULL ? (int64_t)(r / a->repeat)
                                   : groups_owner(a, (int64_t)r);

    if (a->list != NULL && from >= 0) {
        const groups_range g = a->list[from];
        from = g.src + ((int64_t)r - g.dst);
    }
    const uint64_t at =
        (row / a->to_rows * a->rows + (uint64_t)from) * a->row_units +
        i % a->row_units;
    if (a->unit == 16) {
        gpu_store_u8x16(a->dst, i,
                        from < 0 ? tile_filled(0) : gpu_load_u8x16(a->src, at));
    } else if (a->unit == 4) {
        gpu_store_u8x4(a->dst, i, from < 0 ? 0 : gpu_load_u8x4(a->src, at));
    } else {
        a->dst[i] = from < 0 ? 0 : a->src[at];
    }
}

GPU_FN void groups_index(const groups_args *a)
{
    const uint64_t i = (uint64_t)gpu_block() * GPU_BLOCK + gpu_thread();

    if (i < a->n) {
        a->index[i] = (int32_t)groups_owner(a, (int64_t)i);
    }
    if (i < a->n_list) {
        a->ends[i] = (int32_t)(a->list[i].dst + a->list[i].n);
    }
}

GPU_ENTRY(layout_gather_rows, groups_args, groups_rows(a))
GPU_ENTRY(layout_owners, groups_args, groups_index(a))

#endif
