/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the loops over tiles share. */
#ifndef CPU_LAYOUT_MOVE_H
#define CPU_LAYOUT_MOVE_H

#include "layout_plan.h"

/* A slot of words takes up to 8 bytes. */
enum { CPU_BUFFER_BYTES = 8 * CPU_TILE_SLOTS };

typedef struct cpu_mover {
    const cpu_plan *plan;
    const cpu_isa_ops *lane;
    int forward;
    int stream;
    int out_of_memory;
    uint8_t *dst;
    const uint8_t *src;
} cpu_mover;

/* First wall that the coordinates exceed, -1 if none. */
int cpu_beyond(const cpu_plan *p, const uint64_t *coord, const uint64_t *more);
/* n stretches of bytes each, from the places at[0], at[step], ... */
void cpu_gather(uint8_t *dst, const uint8_t *src, const uint64_t *at,
                uint64_t step, uint64_t n, uint64_t bytes);
void cpu_scatter(uint8_t *dst, const uint8_t *src, const uint64_t *at,
                 uint64_t step, uint64_t n, uint64_t bytes);
/* The logical side of a tile at a wall: what is beyond reads as the wall's
   byte and is not written. */
void cpu_load_edge(const cpu_plan *p, uint8_t *buffer, const uint8_t *src,
                   const cpu_place *at);
void cpu_store_edge(const cpu_plan *p, uint8_t *dst, const uint8_t *buffer,
                    const cpu_place *at);

/* Tiles [begin, end) of a plan of vectors; job is a mover. */
void cpu_move_vectors(void *job, uint64_t begin, uint64_t end);

#endif
