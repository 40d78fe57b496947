/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor's rows, wherever they lie, to and from a dense copy. */
#ifndef GPU_DENSE_ROWS_H
#define GPU_DENSE_ROWS_H

#include "port/device.h"

enum { DENSE_AXES = 5 }; /* those that count rows */

typedef struct dense_rows_args {
    uint8_t *rows;
    uint8_t *dense;
    uint64_t n; /* bytes of all rows */
    uint64_t row_bytes;
    uint64_t extent[DENSE_AXES];
    uint64_t stride[DENSE_AXES]; /* bytes */
    uint32_t axes;
    uint32_t unit; /* bytes that a thread moves: 1, 4 or 16, of one row */
    uint32_t scatters;
} dense_rows_args;

GPU_FN void dense_rows_body(const dense_rows_args *a)
{
    const uint64_t thread = (uint64_t)gpu_block() * GPU_BLOCK + gpu_thread();
    const uint64_t i = thread * a->unit;

    if (i >= a->n) {
        return;
    }
    uint64_t row = i / a->row_bytes;
    uint64_t at = i % a->row_bytes;
    for (uint32_t axis = a->axes; axis-- > 0;) {
        at += row % a->extent[axis] * a->stride[axis];
        row /= a->extent[axis];
    }
    const uint8_t *const from = a->scatters ? a->dense + i : a->rows + at;
    uint8_t *const to = a->scatters ? a->rows + at : a->dense + i;
    if (a->unit == 16) {
        gpu_store_u8x16(to, 0, gpu_load_u8x16(from, 0));
    } else if (a->unit == 4) {
        gpu_store_u8x4(to, 0, gpu_load_u8x4(from, 0));
    } else {
        *to = *from;
    }
}

#endif
