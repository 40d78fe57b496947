/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.*: one family of kernels that permute digits.
 *
 * A block takes tiles: sets of digits that are runs of bytes in the source as
 * well as in the destination.  It reads the runs of a tile into shared memory
 * and writes 16 bytes of the destination per thread, gathered from there.
 * Which digits, and what the gathering is, the plan decides; here are only
 * strides, so that every layout is the same code.  layout_walk is the plain
 * form for all that has no such tile.
 */
#ifndef GPU_LAYOUT_H
#define GPU_LAYOUT_H

#include "port/device.h"

enum {
    TILE_OUTER = 12,
    TILE_INNER = 16,
    TILE_STEPS = 4, /* vectors of 16 bytes per thread */
    TILE_BYTES = TILE_STEPS * GPU_BLOCK * 16,
    TILE_ROOM = TILE_BYTES + TILE_BYTES / 2, /* in shared memory, with gaps */
    TILE_RUNS = GPU_BLOCK * 4,
    TILE_TERMS = 8
};

/* A digit that counts tiles. */
typedef struct tile_outer {
    gpu_divisor n;
    uint32_t row; /* added by one step */
    uint32_t col;
    uint64_t logical; /* experts, in bytes */
    uint64_t memory;
} tile_outer;

/* A digit of a tile: of its runs, or of its vectors. */
typedef struct tile_inner {
    gpu_divisor n;
    uint32_t row;
    uint32_t col;
    uint32_t memory;
    uint32_t bits; /* in shared memory */
} tile_inner;

/* Bits of gathered bytes: rotate left, keep the mask.  All but the first of a
   list may be products instead, for which other units are free. */
typedef struct tile_term {
    uint32_t turn;
    uint32_t times; /* 2^turn */
    uint32_t mask;
} tile_term;

typedef struct tile_args {
    const uint8_t *src; /* NULL: a tensor of ones */
    uint8_t *dst;
    uint32_t tiles;
    uint32_t rows; /* of the logical tensor, really there */
    uint32_t row_bytes;
    uint64_t memory_from; /* where digits that run backwards begin */
    uint32_t row_span;    /* the last row and byte that a tile reaches */
    uint32_t col_span;
    uint32_t pad_row; /* a byte, four times */
    uint32_t pad_col;
    uint32_t unit;     /* bytes of one access to the logical tensor */
    gpu_divisor units; /* accesses per run */
    uint32_t n_units;
    uint32_t n_runs;
    uint32_t pitch;   /* bytes from run to run in shared memory */
    uint32_t stepped; /* a thread's loads are alike in all tiles: STEPS_... */
    uint32_t lines;   /* so many runs are one piece of the tensor, or 0 */
    gpu_divisor line; /* then: bytes of each */
    uint32_t n_vectors;
    uint32_t n_outer;
    uint32_t n_run_digits;
    uint32_t n_vector_digits;
    tile_outer outer[TILE_OUTER];
    tile_inner run[TILE_INNER];
    tile_inner vector[TILE_INNER];
    tile_inner from;      /* the same for the vectors of a tile */
    uint32_t piece[16];   /* bytes from a vector's place to each piece */
    uint32_t word[4];     /* the same in bits, to each word */
    uint32_t gathered[8]; /* bytes that a word gathers */
    tile_term term[2][TILE_TERMS];
} tile_args;

/* How far apart those are: in bytes; as row << 16 | column, for some are pads;
   or not known beforehand. */
enum { STEPS_NONE, STEPS_BYTES, STEPS_PLACES };

/* Coordinates of a tile. */
typedef struct tile_place {
    uint32_t row;
    uint32_t col;
    uint64_t logical;
    uint64_t memory;
} tile_place;

/* Shared memory of a block. */
typedef struct tile_room {
    uint32_t cell[TILE_ROOM / 4];
    uint32_t row[TILE_RUNS]; /* of each run; or its place in memory */
    uint32_t col[TILE_RUNS];
} tile_room;

GPU_FN tile_place tile_find(const tile_args *a, uint32_t tile)
{
    tile_place t = {0, 0, 0, a->memory_from};

    for (uint32_t i = 0; i < a->n_outer; i++) {
        const uint32_t rest = gpu_quotient(tile, a->outer[i].n);
        const uint32_t value = tile - rest * a->outer[i].n.by;

        t.row += value * a->outer[i].row;
        t.col += value * a->outer[i].col;
        t.logical += value * a->outer[i].logical;
        t.memory += value * a->outer[i].memory;
        tile = rest;
    }
    return t;
}

GPU_FN tile_inner tile_sum(const tile_inner *digit, uint32_t n, uint32_t i)
{
    tile_inner sum = {{0, 0, 0}, 0, 0, 0, 0};

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t rest = gpu_quotient(i, digit[k].n);
        const uint32_t value = i - rest * digit[k].n.by;

        sum.row += value * digit[k].row;
        sum.col += value * digit[k].col;
        sum.memory += value * digit[k].memory;
        sum.bits += value * digit[k].bits;
        i = rest;
    }
    return sum;
}

/* Where vector i of a tile is, on either side and in shared memory. */
GPU_FN tile_inner tile_vector(const tile_args *a, uint32_t i)
{
    tile_inner at = tile_sum(a->vector, a->n_vector_digits, i);

    at.row += a->from.row;
    at.col += a->from.col;
    at.memory += a->from.memory;
    at.bits += a->from.bits;
    return at;
}

GPU_FN gpu_u128 tile_filled(uint32_t word)
{
    gpu_u128 x;

    x.w[0] = word;
    x.w[1] = word;
    x.w[2] = word;
    x.w[3] = word;
    return x;
}

/* unit bytes of the tensor, in the low bytes of x. */
GPU_FN gpu_u128 tile_read(const tile_args *a, uint64_t at, uint32_t unit)
{
    const uint8_t *const p = a->src + at;
    gpu_u128 x = tile_filled(0x01010101u);

    if (a->src == NULL) {
        return x;
    }

    if (unit == 16) {
        return gpu_load_u8x16(p, 0);
    }
    if (unit >= 4) {
        x.w[0] = gpu_load_u8x4(p, 0);
        x.w[1] = unit == 8 ? gpu_load_u8x4(p, 1) : 0;
    } else {
        x.w[0] = unit == 2 ? gpu_load_u8x2(p, 0) : *p;
    }
    return x;
}

GPU_FN void tile_keep(uint8_t *cell, uint32_t unit, gpu_u128 x, int aligned)
{
    if (unit == 16 && aligned) {
        gpu_cell_store_u8x16(cell, x);
        return;
    }
    if (unit >= 4) {
        for (uint32_t i = 0; i < unit / 4; i++) {
            gpu_cell_store_u8x4(cell + 4 * i, x.w[i & 3]);
        }
    } else if (unit == 2) {
        gpu_cell_store_u8x2(cell, x.w[0]);
    } else {
        *cell = (uint8_t)x.w[0];
    }
}

/* One access of a load: unit bytes of run `run`, or what pads them. */
GPU_FN gpu_u128 tile_fetch(const tile_args *a, const tile_room *room,
                           const tile_place *t, int from_memory, int inside,
                           uint32_t run, uint32_t at)
{
    if (from_memory) {
        return gpu_load_u8x16(a->src + t->memory + room->row[run] + at, 0);
    }
    const uint32_t row = t->row + room->row[run];
    const uint32_t col = t->col + room->col[run] + at;
    if (!inside && (row >= a->rows || col >= a->row_bytes)) {
        return tile_filled(row >= a->rows ? a->pad_row : a->pad_col);
    }
    return tile_read(a, t->logical + (uint64_t)row * a->row_bytes + col,
                     a->unit);
}

/* The runs of a tile into shared memory; loads go out before any is used. */
GPU_FN void tile_load(const tile_args *a, tile_room *room, const tile_place *t,
                      int from_memory, int inside)
{
    uint8_t *const cells = (uint8_t *)room->cell;
    const uint32_t unit = from_memory ? 16 : a->unit;
    const int aligned = a->pitch % 16 == 0;

    GPU_LOOP
    for (uint32_t first = gpu_thread(); first < a->n_units;
         first += TILE_STEPS * GPU_BLOCK) {
        gpu_u128 x[TILE_STEPS];

        GPU_UNROLL
        for (uint32_t k = 0; k < TILE_STEPS; k++) {
            const uint32_t i = first + k * GPU_BLOCK;
            const uint32_t run = gpu_quotient(i, a->units);
            if (i < a->n_units) {
                x[k] = tile_fetch(a, room, t, from_memory, inside, run,
                                  (i - run * a->units.by) * unit);
            }
        }
        GPU_UNROLL
        for (uint32_t k = 0; k < TILE_STEPS; k++) {
            const uint32_t i = first + k * GPU_BLOCK;
            const uint32_t run = gpu_quotient(i, a->units);
            if (i < a->n_units) {
                tile_keep(cells + run * a->pitch +
                              (i - run * a->units.by) * unit,
                          unit, x[k], aligned);
            }
        }
    }
}

/* Sixteen bytes of consecutive lines of odd length, one by one. */
GPU_FN void tile_keep_odd(const tile_args *a, uint8_t *cell, uint32_t col,
                          gpu_u128 x)
{
    GPU_UNROLL
    for (uint32_t k = 0; k < 16; k++) {
        if (col >= a->line.by) {
            col -= a->line.by;
            cell += a->pitch;
        }
        cell[col++] = (uint8_t)(x.w[k >> 2] >> 8 * (k & 3));
    }
}

/* Sixteen bytes of consecutive lines to where each line has its cells. */
GPU_FN void tile_keep_lines(const tile_args *a, uint8_t *cells, uint32_t at,
                            gpu_u128 x)
{
    const uint32_t line = gpu_quotient(at, a->line);
    uint32_t col = at - line * a->line.by;
    uint8_t *cell = cells + line * a->pitch;

    if (a->line.by % 2 != 0) {
        tile_keep_odd(a, cell, col, x);
        return;
    }
    GPU_UNROLL
    for (uint32_t k = 0; k < 16; k += 2) {
        const uint32_t pair = x.w[k >> 2] >> 8 * (k & 2);

        if (col >= a->line.by) {
            col -= a->line.by;
            cell += a->pitch;
        }
        gpu_cell_store_u8x2(cell + col, pair);
        col += 2;
    }
}

/* Rows that follow each other in the tensor, as one piece. */
GPU_FN void tile_load_lines(const tile_args *a, tile_room *room,
                            const tile_place *t)
{
    uint8_t *const cells = (uint8_t *)room->cell;

    GPU_LOOP
    for (uint32_t first = gpu_thread(); first < a->n_units;
         first += TILE_STEPS * GPU_BLOCK) {
        gpu_u128 x[TILE_STEPS];

        GPU_UNROLL
        for (uint32_t k = 0; k < TILE_STEPS; k++) {
            const uint32_t i = first + k * GPU_BLOCK;
            const uint32_t piece = gpu_quotient(i, a->units);
            const uint32_t at = (i - piece * a->units.by) * 16;
            if (i < a->n_units) {
                const uint32_t row = t->row + room->row[piece * a->lines];
                x[k] = row + gpu_quotient(at, a->line) < a->rows
                           ? tile_read(a,
                                       t->logical +
                                           (uint64_t)row * a->row_bytes + at,
                                       16)
                           : tile_filled(a->pad_row);
            }
        }
        GPU_UNROLL
        for (uint32_t k = 0; k < TILE_STEPS; k++) {
            const uint32_t i = first + k * GPU_BLOCK;
            const uint32_t piece = gpu_quotient(i, a->units);
            if (i < a->n_units) {
                tile_keep_lines(a, cells + piece * a->lines * a->pitch,
                                (i - piece * a->units.by) * 16, x[k]);
            }
        }
    }
}

#endif
