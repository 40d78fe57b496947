/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.*: from a tile in shared memory to vectors of the destination, and
 * the kernels.  Bytes are picked one by one, or as words where they lie
 * together; nibbles and bits get to their places by rotations, products and
 * masks, the same for every word.
 */
#ifndef GPU_LAYOUT_GATHER_H
#define GPU_LAYOUT_GATHER_H

#include "layout/layout.h"
#include "port/device.h"

enum {
    GATHER_16, /* pieces of so many bytes lie together */
    GATHER_4,
    GATHER_2,
    GATHER_1,
    GATHER_BITS4, /* words from four bytes: four terms, products but one */
    GATHER_BITS5, /* five, none of them a product */
    GATHER_WIDE,  /* words from eight bytes, four terms of each half */
    GATHER_PAIR2, /* low and high nibbles take the same way: two terms */
    GATHER_PAIR5,
    GATHER_COLUMN_BITS4, /* the four words' bytes are neighbours */
    GATHER_COLUMN_PAIR5,
    GATHER_WORD_PAIR5, /* a word's bytes are neighbours */
    GATHER_KINDS
};

GPU_FN uint32_t tile_bytes4(const uint8_t *cell, const uint32_t *at)
{
    const uint32_t low = cell[at[0]] | (uint32_t)cell[at[1]] << 8;
    const uint32_t high = cell[at[2]] | (uint32_t)cell[at[3]] << 8;

    return low | high << 16;
}

/* Low nibbles of two bytes to bits 0 and 8, high ones to 16 and 24; what lies
   between is left over, and no term takes it. */
GPU_FN uint32_t tile_pair(const uint8_t *cell, const uint32_t *at)
{
    const uint32_t both = cell[at[0]] | (uint32_t)cell[at[1]] << 8;

    return both | both << 12;
}

/* The same from a word that has the two bytes twice. */
GPU_FN uint32_t tile_twice(uint32_t twice)
{
    return (twice & 0xffffu) | (twice >> 4 & 0xffff0000u);
}

GPU_FN uint32_t tile_terms(const tile_term *term, int n, uint32_t x)
{
    uint32_t y = gpu_turn(x, term[0].turn) & term[0].mask;

    GPU_UNROLL
    for (int i = 1; i < n; i++) {
        y |= x * term[i].times & term[i].mask;
    }
    return y;
}

/* Where bits go both ways. */
GPU_FN uint32_t tile_turns(const tile_term *term, int n, uint32_t x)
{
    uint32_t y = 0;

    GPU_UNROLL
    for (int i = 0; i < n; i++) {
        y |= gpu_turn(x, term[i].turn) & term[i].mask;
    }
    return y;
}

/* Both halves of four bytes that take the same way. */
GPU_FN uint32_t tile_pairs(const tile_args *a, int n, uint32_t low,
                           uint32_t high)
{
    return tile_terms(a->term[0], n, low) | tile_terms(a->term[1], n, high);
}

/* One word of the destination whose bits start at bit `at`. */
GPU_FN uint32_t tile_wide(const tile_args *a, const tile_room *room,
                          uint32_t at)
{
    const uint8_t *const cell = (const uint8_t *)room->cell + (at >> 3);

    const uint32_t low = tile_bytes4(cell, a->gathered) >> (at & 7);
    const uint32_t high = tile_bytes4(cell, a->gathered + 4) >> (at & 7);

    return tile_turns(a->term[0], 4, low) | tile_turns(a->term[1], 4, high);
}

/* Byte i of four words becomes four bytes. */
GPU_FN uint32_t tile_across(const uint32_t x[4], uint32_t i)
{
    const uint32_t pick = i | (4 + i) << 4;

    return gpu_bytes(gpu_bytes(x[0], x[1], pick), gpu_bytes(x[2], x[3], pick),
                     0x5410);
}

/* Four words whose bytes number i are neighbours. */
GPU_FN gpu_u128 tile_columns(const tile_args *a, const uint8_t *cell,
                             int gather)
{
    uint32_t x[4];
    gpu_u128 y;

    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        x[i] = gpu_cell_load_u8x4(cell + a->piece[i]);
    }
    GPU_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t twice = (i | (4 + i) << 4) * 0x101u;

        y.w[i] =
            gather == GATHER_COLUMN_BITS4
                ? tile_terms(a->term[0], 4, tile_across(x, i))
                : tile_pairs(a, 5, tile_twice(gpu_bytes(x[0], x[1], twice)),
                             tile_twice(gpu_bytes(x[2], x[3], twice)));
    }
    return y;
}

/* One word of the destination, from bytes of its own. */
GPU_FN uint32_t tile_word(const tile_args *a, const uint8_t *cell, int gather,
                          uint32_t skip, int i)
{
    const uint32_t *const at = a->piece + 4 * i;

    if (gather == GATHER_PAIR2 || gather == GATHER_PAIR5) {
        return tile_pairs(a, gather == GATHER_PAIR2 ? 2 : 5,
                          tile_pair(cell, at), tile_pair(cell, at + 2));
    }
    if (gather == GATHER_WORD_PAIR5) {
        const uint32_t x = gpu_cell_load_u8x4(cell + a->word[i]);
        return tile_pairs(a, 5, tile_twice(gpu_bytes(x, x, a->gathered[0])),
                          tile_twice(gpu_bytes(x, x, a->gathered[1])));
    }
    const uint32_t x = tile_bytes4(cell, at) >> skip;
    return gather == GATHER_BITS4 ? tile_terms(a->term[0], 4, x)
                                  : tile_turns(a->term[0], 5, x);
}

/* Sixteen bytes of the destination. */
GPU_FN gpu_u128 tile_gather(const tile_args *a, const tile_room *room,
                            int gather, uint32_t bits)
{
    const uint8_t *const cell = (const uint8_t *)room->cell + (bits >> 3);
    gpu_u128 x;

    if (gather == GATHER_16) {
        return gpu_cell_load_u8x16(cell);
    }
    if (gather == GATHER_COLUMN_BITS4 || gather == GATHER_COLUMN_PAIR5) {
        return tile_columns(a, cell, gather);
    }
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        if (gather == GATHER_4) {
            x.w[i] = gpu_cell_load_u8x4(cell + a->piece[i]);
        } else if (gather == GATHER_2) {
            x.w[i] = gpu_cell_load_u8x2(cell + a->piece[2 * i]) |
                     gpu_cell_load_u8x2(cell + a->piece[2 * i + 1]) << 16;
        } else if (gather == GATHER_1) {
            x.w[i] = tile_bytes4(cell, a->piece + 4 * i);
        } else if (gather == GATHER_WIDE) {
            x.w[i] = tile_wide(a, room, bits + a->word[i]);
        } else {
            x.w[i] = tile_word(a, cell, gather, bits & 7, i);
        }
    }
    return x;
}

/* Into the logical tensor, as far as it is there. */
GPU_FN void tile_store(const tile_args *a, const tile_place *t, uint32_t row,
                       uint32_t col, gpu_u128 x)
{
    row += t->row;
    col += t->col;
    if (row >= a->rows) {
        return;
    }
    uint8_t *const p = a->dst + t->logical + (uint64_t)row * a->row_bytes + col;
    if (a->unit == 16) {
        if (col < a->row_bytes) {
            gpu_store_u8x16(p, 0, x);
        }
        return;
    }
    for (uint32_t i = 0; i < 16 && col + i < a->row_bytes; i++) {
        p[i] = (uint8_t)(x.w[i >> 2] >> 8 * (i & 3));
    }
}

GPU_FN int tile_inside(const tile_args *a, const tile_place *t)
{
    return t->row + a->row_span < a->rows &&
           t->col + a->col_span < a->row_bytes;
}

/* The bytes of a tile, for all threads to see. */
GPU_FN void tile_fill(const tile_args *a, tile_room *room, const tile_place *t,
                      int from_memory)
{
    if (!from_memory && a->lines != 0) {
        tile_load_lines(a, room, t);
    } else if (from_memory || tile_inside(a, t)) {
        tile_load(a, room, t, from_memory, 1);
    } else {
        tile_load(a, room, t, from_memory, 0);
    }
    gpu_barrier();
}

/* Where each run starts; the first step of a block. */
GPU_FN void tile_list_runs(const tile_args *a, tile_room *room, int from_memory)
{
    for (uint32_t i = gpu_thread(); i < a->n_runs; i += GPU_BLOCK) {
        const tile_inner at = tile_sum(a->run, a->n_run_digits, i);

        room->row[i] = from_memory ? at.memory : at.row;
        room->col[i] = at.col;
    }
    for (uint32_t i = gpu_thread(); i < TILE_ROOM / 4 && a->lines != 0;
         i += GPU_BLOCK) {
        room->cell[i] = a->pad_col; /* where no line reaches */
    }
    gpu_barrier();
}

/* A thread's load of a tile: offset from its first byte, and its cell. */
typedef struct tile_step {
    uint32_t from;
    uint32_t cell;
} tile_step;

GPU_FN tile_step tile_find_step(const tile_args *a, const tile_room *room,
                                int from_memory, uint32_t i)
{
    const uint32_t run = gpu_quotient(i, a->units);
    const uint32_t at = (i - run * a->units.by) * 16;
    tile_step s = {0, UINT32_MAX};

    if (i >= a->n_units) {
        return s;
    }
    s.from = at + (from_memory ? room->row[run]
                   : a->stepped == STEPS_BYTES
                       ? room->row[run] * a->row_bytes + room->col[run]
                       : room->row[run] << 16 | room->col[run]);
    s.cell = run * a->pitch + at;
    return s;
}

/* One of them; p is the tile's first byte. */
GPU_FN gpu_u128 tile_fetch_step(const tile_args *a, const tile_place *t,
                                const uint8_t *p, int from_memory,
                                uint32_t from)
{
    if (from_memory || a->stepped == STEPS_BYTES) {
        return gpu_load_u8x16(p + from, 0);
    }
    const uint32_t row = from >> 16;
    const uint32_t col = from & 0xffffu;
    if (t->row + row >= a->rows || t->col + col >= a->row_bytes) {
        return tile_filled(t->row + row >= a->rows ? a->pad_row : a->pad_col);
    }
    return gpu_load_u8x16(p + (uint64_t)row * a->row_bytes + col, 0);
}

GPU_FN void tile_load_steps(const tile_args *a, tile_room *room,
                            const tile_place *t, int from_memory,
                            const tile_step step[TILE_STEPS])
{
    uint8_t *const cells = (uint8_t *)room->cell;
    const uint8_t *const p =
        a->src + (from_memory
                      ? t->memory
                      : t->logical + (uint64_t)t->row * a->row_bytes + t->col);
    const int aligned = a->pitch % 16 == 0;
    gpu_u128 x[TILE_STEPS];

    GPU_UNROLL
    for (uint32_t k = 0; k < TILE_STEPS; k++) {
        if (step[k].cell != UINT32_MAX) {
            x[k] = tile_fetch_step(a, t, p, from_memory, step[k].from);
        }
    }
    GPU_UNROLL
    for (uint32_t k = 0; k < TILE_STEPS; k++) {
        if (step[k].cell != UINT32_MAX) {
            tile_keep(cells + step[k].cell, 16, x[k], aligned);
        }
    }
    gpu_barrier();
}

/* from_memory: from the layout back to the tensor. */
GPU_FN void tile_body(const tile_args *a, int gather, int from_memory)
{
    GPU_SHARED GPU_ALIGN16 tile_room shared;
    tile_room *const room = &shared;
    const int steps = gather >= GATHER_BITS4; /* where arithmetic is dear */
    tile_inner at[TILE_STEPS];
    tile_step step[TILE_STEPS];

    tile_list_runs(a, room, from_memory);
    GPU_UNROLL
    for (uint32_t k = 0; k < TILE_STEPS; k++) {
        const uint32_t i = gpu_thread() + k * GPU_BLOCK;

        at[k] = tile_vector(a, i);
        step[k] = tile_find_step(a, room, from_memory, i);
    }
    GPU_LOOP
    for (uint32_t tile = gpu_block(); tile < a->tiles; tile += gpu_grid()) {
        const tile_place t = tile_find(a, tile);

        if (steps && a->stepped != STEPS_NONE) {
            tile_load_steps(a, room, &t, from_memory, step);
        } else {
            tile_fill(a, room, &t, from_memory);
        }
        GPU_UNROLL
        for (uint32_t k = 0; k < TILE_STEPS; k++) {
            if (gpu_thread() + k * GPU_BLOCK >= a->n_vectors) {
                continue;
            }
            const gpu_u128 x = tile_gather(a, room, gather, at[k].bits);
            if (from_memory) {
                tile_store(a, &t, at[k].row, at[k].col, x);
            } else {
                gpu_store_u8x16(a->dst + t.memory + at[k].memory, 0, x);
            }
        }
        gpu_barrier();
    }
}

/* Runs of 16 bytes and more need no shared memory. */
GPU_FN void tile_direct(const tile_args *a, int from_memory)
{
    tile_inner at[TILE_STEPS];

    GPU_UNROLL
    for (uint32_t k = 0; k < TILE_STEPS; k++) {
        at[k] = tile_vector(a, gpu_thread() + k * GPU_BLOCK);
    }
    GPU_LOOP
    for (uint32_t tile = gpu_block(); tile < a->tiles; tile += gpu_grid()) {
        const tile_place t = tile_find(a, tile);
        gpu_u128 x[TILE_STEPS];

        GPU_UNROLL
        for (uint32_t k = 0; k < TILE_STEPS; k++) {
            const uint32_t row = t.row + at[k].row;
            const uint32_t col = t.col + at[k].col;
            if (gpu_thread() + k * GPU_BLOCK >= a->n_vectors) {
                continue;
            }
            if (from_memory) {
                x[k] = gpu_load_u8x16(a->src + t.memory + at[k].memory, 0);
            } else if (row < a->rows && col < a->row_bytes) {
                x[k] = tile_read(
                    a, t.logical + (uint64_t)row * a->row_bytes + col, 16);
            } else {
                x[k] = tile_filled(row >= a->rows ? a->pad_row : a->pad_col);
            }
        }
        GPU_UNROLL
        for (uint32_t k = 0; k < TILE_STEPS; k++) {
            if (gpu_thread() + k * GPU_BLOCK >= a->n_vectors) {
                continue;
            }
            if (from_memory) {
                tile_store(a, &t, at[k].row, at[k].col, x[k]);
            } else {
                gpu_store_u8x16(a->dst + t.memory + at[k].memory, 0, x[k]);
            }
        }
    }
}

GPU_ENTRY(layout_direct, tile_args, tile_direct(a, 0))
GPU_ENTRY(layout_16, tile_args, tile_body(a, GATHER_16, 0))
GPU_ENTRY(layout_4, tile_args, tile_body(a, GATHER_4, 0))
GPU_ENTRY(layout_2, tile_args, tile_body(a, GATHER_2, 0))
GPU_ENTRY(layout_1, tile_args, tile_body(a, GATHER_1, 0))
GPU_ENTRY(layout_bits4, tile_args, tile_body(a, GATHER_BITS4, 0))
GPU_ENTRY(layout_bits5, tile_args, tile_body(a, GATHER_BITS5, 0))
GPU_ENTRY(layout_wide, tile_args, tile_body(a, GATHER_WIDE, 0))
GPU_ENTRY(layout_pair2, tile_args, tile_body(a, GATHER_PAIR2, 0))
GPU_ENTRY(layout_pair5, tile_args, tile_body(a, GATHER_PAIR5, 0))
GPU_ENTRY(layout_column_bits4, tile_args, tile_body(a, GATHER_COLUMN_BITS4, 0))
GPU_ENTRY(layout_column_pair5, tile_args, tile_body(a, GATHER_COLUMN_PAIR5, 0))
GPU_ENTRY(layout_word_pair5, tile_args, tile_body(a, GATHER_WORD_PAIR5, 0))
GPU_ENTRY(layout_back_direct, tile_args, tile_direct(a, 1))
GPU_ENTRY(layout_back_16, tile_args, tile_body(a, GATHER_16, 1))
GPU_ENTRY(layout_back_4, tile_args, tile_body(a, GATHER_4, 1))
GPU_ENTRY(layout_back_2, tile_args, tile_body(a, GATHER_2, 1))
GPU_ENTRY(layout_back_1, tile_args, tile_body(a, GATHER_1, 1))
GPU_ENTRY(layout_back_bits5, tile_args, tile_body(a, GATHER_BITS5, 1))
GPU_ENTRY(layout_back_wide, tile_args, tile_body(a, GATHER_WIDE, 1))

#endif
