/* SPDX-License-Identifier: Apache-2.0 */
/* While a plan chooses its tile: what words and vectors have in common. */
#ifndef CPU_LAYOUT_TILE_H
#define CPU_LAYOUT_TILE_H

#include "layout_plan.h"

enum { CPU_MOST_BITS = CPU_VECTOR_LOG }; /* of the index of a bit in a word */

typedef struct cpu_tiler {
    cpu_plan *plan;
    uint32_t log;       /* of the bits of a word */
    uint32_t chunk_log; /* of those that are neighbours on the logical side */
    int n;
    cpu_atom atom[CPU_ATOMS];
    int opened[CPU_TABLES];
    int logical_bit[CPU_MOST_BITS]; /* atom at each bit of a word, either side
                                     */
    int physical_bit[CPU_MOST_BITS];
    int in_tile[CPU_ATOMS];
    int is_word[CPU_ATOMS]; /* 1: in words of the logical side, 2: of memory */
    uint64_t slots;
    int n_reg;
    int reg[CPU_MOST_BITS];     /* atoms outside the words, before the swaps */
    int swapped[CPU_MOST_BITS]; /* and after them */
    int n_along;
    int along[CPU_ATOMS]; /* most significant first */
} cpu_tiler;

/* The atom of size two with that stride on one side; -1 if there is none. */
int cpu_find_bit(const cpu_tiler *t, uint64_t stride, int physical);
/* Words that are neighbours on either side join the tile, as many as fit. */
void cpu_grow_tile(cpu_tiler *t);
/* A bit of a word, through the opened tables. */
uint32_t cpu_through_tables(const cpu_tiler *t, uint32_t bit);
/* Offset of value v of an atom, in bytes of the logical side. */
uint64_t cpu_value_at(const cpu_atom *a, uint64_t v);
uint64_t cpu_coord_at(const cpu_atom *a, uint64_t v, int wall);
/* Cuts a digit that follows the neighbours of the logical side and is no power
   of two into blocks that are, the last of which overlaps the one before it;
   0, or -1 without memory. */
int cpu_cut_blocks(cpu_tiler *t);
/* Slots that lie one behind the other everywhere. */
uint32_t cpu_run_of(const cpu_plan *p, const uint64_t *at);
/* Coordinates inside words, and the largest in a tile. */
void cpu_plan_edges(cpu_tiler *t);
/* Make outer loops of all that is not in the tile. */
void cpu_plan_rest(cpu_tiler *t);

/* The permutation of the 512 bits of a vector that puts bit from[i] at i; 0 if
   the lanes' networks cannot. */
int cpu_inner_of(cpu_inner *inner, const uint16_t from[8 * CPU_VECTOR]);

#endif
