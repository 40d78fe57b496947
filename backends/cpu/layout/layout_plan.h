/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan moves a tensor along a map.  There are four kinds:
 *
 * RUNS   long stretches are neighbours on both sides: copies.
 * TILES  A tile is a set of words of 2^3 to 2^6 bits.  The bits of a word's
 *        index that both sides have in common stay; for each bit that one
 *        side has inside its words and the other outside, one exchange of
 *        halves between pairs of words brings it in and the other out.  What
 *        remains is one permutation of the bits of each word.
 * VECTORS  The same with words of 64 bytes, for lanes that transpose: a vector
 * is gathered from chunks that are neighbours on the logical side, up to three
 * bits of its index are exchanged, and what remains is one permutation of its
 * 512 bits. UNITS  anything else, unit by unit.
 *
 * A table whose digits lie outside the words only changes addresses.
 */
#ifndef CPU_LAYOUT_PLAN_H
#define CPU_LAYOUT_PLAN_H

#include "layout.h"

enum {
    CPU_ATOMS = 96,         /* digits, split into factors of two */
    CPU_MIX = 127,          /* distances inside a word of 64 bits */
    CPU_TILE_BYTES = 32768, /* at most */
    CPU_TILE_SLOTS = 8192,  /* words, at most */
    CPU_RUN_BYTES = 128,    /* least bytes of a long stretch, */
    CPU_LONG_BYTES = 4096   /* and as a very long one */
};

typedef enum cpu_plan_kind {
    CPU_PLAN_NOTHING,
    CPU_PLAN_RUNS,
    CPU_PLAN_TILES,
    CPU_PLAN_VECTORS,
    CPU_PLAN_UNITS
} cpu_plan_kind;

/* Where value p of a digit behind a table comes from. */
typedef struct cpu_hop {
    uint64_t logical;
    uint64_t physical;
    uint64_t coord[CPU_WALLS];
} cpu_hop;

/* A digit of the plan: value v adds v * logical, or hop[v] if that is set. */
typedef struct cpu_atom {
    uint64_t size;
    uint64_t logical;
    uint64_t physical;
    uint64_t coord[CPU_WALLS];
    const cpu_hop *hop;
} cpu_atom;

/* Every bit of a word that moves by shift (left if positive). */
typedef struct cpu_mix {
    int n;
    int8_t shift[CPU_MIX];
    uint64_t mask[CPU_MIX];
} cpu_mix;

/* Exchange bit number bit of a word's index with bit reg of the pairs' number.
 */
typedef struct cpu_swap {
    uint32_t reg;
    uint32_t bit;
} cpu_swap;

typedef struct cpu_plan {
    cpu_plan_kind kind;
    cpu_map map;
    int n_outer; /* most significant in memory first; distances in bytes */
    cpu_atom outer[CPU_ATOMS];
    uint64_t n_outer_steps; /* product of their sizes */
    uint64_t grain;         /* steps that one thread has to take */
    uint64_t whole_bytes;   /* of the output that this is a part of; or 0 */
    cpu_hop hop[CPU_TABLES][CPU_ENTRIES];

    uint64_t run_bytes; /* RUNS */

    /* TILES; slot = word of a tile, offsets in bytes from its first byte */
    uint32_t word_bytes;
    uint32_t pitch; /* bytes of a slot in the buffer */
    uint32_t n_slots;
    uint32_t logical_run; /* slots that are neighbours there */
    uint32_t physical_run;
    uint64_t stretch; /* bytes of memory that a tile fills without a gap */
    uint32_t n_stretches;
    int in_order; /* slots lie as memory does */
    int n_reg;    /* bits of a slot's number above those along the tile */
    int n_swaps;
    cpu_swap swap[8];
    cpu_mix mix;   /* after the swaps */
    cpu_mix unmix; /* its inverse */
    uint64_t *logical_at;
    uint64_t *physical_at;
    uint32_t *staged_at; /* physical_at with the gaps closed */
    uint64_t *stretch_at;
    uint64_t *slot_coord;                       /* [slot][wall] */
    uint64_t byte_coord[CPU_VECTOR][CPU_WALLS]; /* of the bytes of a word */
    uint32_t even_run; /* slots along which they grow by the same step from
                          byte to byte; 0: not even in a word */
    uint64_t byte_most[CPU_WALLS];
    uint64_t tile_most[CPU_WALLS]; /* largest in a tile */

    /* VECTORS; a slot is a chunk, physical_at is of vectors */
    uint32_t n_vectors;
    uint8_t
        bit[CPU_TRANSPOSE_REGS]; /* exchanged with bit r of a vector's number */
    int whole_lines;             /* chunks are lines on the logical side too */
    int memory_lines;            /* vectors are lines in memory */
    cpu_inner inner;             /* after the exchanges */
    cpu_inner outward;           /* its inverse */
    uint64_t *packed_at;         /* vectors one behind the other */
    uint64_t *line_at;           /* lines of the logical side */
    uint64_t n_lines;
    cpu_hop *blocks; /* of a digit that is no power of two */
} cpu_plan;

/* Read the same few bytes again and again: reach of them. */
void cpu_plan_stand_still(cpu_plan *plan, uint64_t *reach);

/* Free with cpu_plan_free.  vectors: the lane transposes. */
mxo_status cpu_plan_of(cpu_plan **plan, const cpu_map *map, int vectors,
                       mxo_text why);
void cpu_plan_free(cpu_plan *plan);

/* Digits as factors of two and odd ones, most significant in memory first,
   tables below word_bits opened; their number, -1 if there are too many. */
int cpu_plan_atoms(cpu_plan *plan, uint32_t word_bits, cpu_atom *out,
                   int opened[CPU_TABLES]);
/* The outer loops of a plan, given in bits. */
void cpu_plan_outer(cpu_plan *plan, const cpu_atom *atom, int n);
/* Where step number step of the outer digits begins. */
typedef struct cpu_place {
    uint64_t logical;
    uint64_t physical;
    uint64_t coord[CPU_WALLS];
} cpu_place;
cpu_place cpu_place_of(const cpu_plan *p, uint64_t step);
/* Logical bit that a unit of memory holds; result: the wall that it exceeds,
   -1 if none. */
int cpu_unit_source(const cpu_map *m, uint64_t unit, uint64_t *bit);

/* Fills the tiles' part; 0 if the map needs UNITS, -1 without memory. */
int cpu_plan_tiles(cpu_plan *plan);
/* The same for vectors; 0 if the map has none, -1 without memory. */
int cpu_plan_vectors(cpu_plan *plan);
/* Neighbours that behave as one digit become one. */
int cpu_merge_atoms(cpu_atom *atom, int n);

/* dst = memory of the layout, src = logical tensor; or the other way round. */
mxo_status cpu_move(cpu_context *ctx, const cpu_plan *plan, int forward,
                    uint8_t *dst, const uint8_t *src, mxo_text why);
void cpu_move_units(const cpu_plan *plan, int forward, uint8_t *dst,
                    const uint8_t *src);

#endif
