/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.*, tiles whose destination has no whole vectors: rows of 90 bytes,
 * say.  Eight such lines do have; where each byte of those lies is one table
 * in shared memory, and how far every line lies from the first is another.
 */
#ifndef GPU_LAYOUT_LINES_H
#define GPU_LAYOUT_LINES_H

#include "layout/layout.h"
#include "layout/layout_gather.h"
#include "port/device.h"

enum { LINES_TABLE = 2048 };

typedef struct lines_args {
    tile_args tile;
    gpu_divisor span;   /* vectors that follow each other */
    gpu_divisor line;   /* bytes of a line of such a span */
    uint32_t lines;     /* of a span */
    gpu_divisor period; /* bytes of the fewest lines that are vectors */
    uint32_t together;  /* and how many those are */
    uint32_t n_low_digits;
    uint32_t n_high_digits;
    uint32_t low_from; /* bits in shared memory where either begins */
    uint32_t high_from;
    tile_inner low_digit[TILE_INNER];
    tile_inner high_digit[TILE_INNER];
} lines_args;

typedef struct lines_room {
    tile_room tile;
    uint16_t byte[LINES_TABLE];
    uint16_t line[LINES_TABLE];
} lines_room;

/* Bits of shared memory from the first line to another. */
GPU_FN uint32_t lines_high(const lines_args *a, uint32_t line)
{
    return a->high_from + tile_sum(a->high_digit, a->n_high_digits, line).bits;
}

/* Where bytes and lines are; seen after the next barrier. */
GPU_FN void lines_list(const lines_args *a, lines_room *room)
{
    for (uint32_t i = gpu_thread(); i < a->period.by; i += GPU_BLOCK) {
        const uint32_t line = gpu_quotient(i, a->line);
        const tile_inner at =
            tile_sum(a->low_digit, a->n_low_digits, i - line * a->line.by);

        room->byte[i] = (uint16_t)((a->low_from + at.bits +
                                    lines_high(a, line) - lines_high(a, 0)) >>
                                   3);
    }
    for (uint32_t i = gpu_thread(); i < a->lines; i += GPU_BLOCK) {
        room->line[i] = (uint16_t)(lines_high(a, i) >> 3);
    }
}

/* Sixteen bytes from byte `at` of the span at that cell. */
GPU_FN gpu_u128 lines_gather(const lines_args *a, const lines_room *room,
                             uint32_t cell, uint32_t at)
{
    const uint32_t period = gpu_quotient(at, a->period);
    const uint16_t *const byte = room->byte + (at - period * a->period.by);
    const uint8_t *const cells = (const uint8_t *)room->tile.cell + cell +
                                 room->line[period * a->together];
    gpu_u128 place[2];
    gpu_u128 x = tile_filled(0);

    place[0] = gpu_cell_load_u16x8(byte);
    place[1] = gpu_cell_load_u16x8(byte + 8);
    GPU_UNROLL
    for (uint32_t k = 0; k < 16; k++) {
        const uint32_t two = place[k >> 3].w[k >> 1 & 3];
        const uint16_t from = (uint16_t)(two >> 16 * (k & 1));

        x.w[k >> 2] |= (uint32_t)cells[(int16_t)from] << 8 * (k & 3);
    }
    return x;
}

/* Rows from `row` on, as far as they are there. */
GPU_FN void lines_store(const tile_args *a, const tile_place *t, uint32_t row,
                        uint32_t at, gpu_u128 x)
{
    if (row >= a->rows) {
        return;
    }
    const uint64_t end = (uint64_t)(a->rows - row) * a->row_bytes;
    uint8_t *const p = a->dst + t->logical + (uint64_t)row * a->row_bytes + at;

    if (at + 16 <= end) {
        gpu_store_u8x16(p, 0, x);
        return;
    }
    for (uint32_t i = 0; i < 16 && at + i < end; i++) {
        p[i] = (uint8_t)(x.w[i >> 2] >> 8 * (i & 3));
    }
}

GPU_FN void lines_body(const lines_args *lines, int from_memory)
{
    GPU_SHARED GPU_ALIGN16 lines_room shared;
    lines_room *const room = &shared;
    const tile_args *const a = &lines->tile;

    lines_list(lines, room);
    tile_list_runs(a, &room->tile, from_memory);
    GPU_LOOP
    for (uint32_t tile = gpu_block(); tile < a->tiles; tile += gpu_grid()) {
        const tile_place t = tile_find(a, tile);

        tile_fill(a, &room->tile, &t, from_memory);
        GPU_LOOP
        for (uint32_t i = gpu_thread(); i < a->n_vectors; i += GPU_BLOCK) {
            const uint32_t span = gpu_quotient(i, lines->span);
            const uint32_t at = 16 * (i - span * lines->span.by);
            const tile_inner to = tile_vector(a, span);
            const gpu_u128 x = lines_gather(lines, room, to.bits >> 3, at);

            if (from_memory) {
                lines_store(a, &t, t.row + to.row, at, x);
            } else {
                gpu_store_u8x16(a->dst + t.memory + to.memory + at, 0, x);
            }
        }
        gpu_barrier();
    }
}

GPU_ENTRY(layout_lines, lines_args, lines_body(a, 0))
GPU_ENTRY(layout_back_lines, lines_args, lines_body(a, 1))

#endif
