/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts by vectors of 64 bytes: what a lane is told.  Vectors are taken in
 * groups whose number has up to CPU_TRANSPOSE_REGS bits; each bit of the number
 * changes places with one bit of the index within vectors, and then the bits
 * of every vector are put in order by one network.
 */
#ifndef CPU_TRANSPOSE_H
#define CPU_TRANSPOSE_H

#include <stdint.h>

enum {
    CPU_TRANSPOSE_REGS = 3,
    CPU_TRANSPOSE_TERMS = 4, /* bytes that one byte may be made of */
    CPU_VECTOR = 64,         /* bytes */
    CPU_VECTOR_LOG = 9       /* of its bits */
};

/*
 * Byte i of the result is the sum over terms t of matrix[t][i / 8] applied to
 * byte from[t][i], in the order given by order: the matrices are those of
 * gf2p8affineqb (row k, for bit k, is byte 7 - k).  Without terms the bytes
 * are only put in order; and without that either, nothing is done.
 */
typedef struct cpu_inner {
    int n_terms;
    int ordered;
    uint8_t from[CPU_TRANSPOSE_TERMS][CPU_VECTOR];
    uint64_t matrix[CPU_TRANSPOSE_TERMS][8];
    uint8_t order[CPU_VECTOR];
} cpu_inner;

/* Group i of n reads vectors from src + src_at[r * n + i] for every number r,
   and writes to dst likewise. */
typedef struct cpu_transpose {
    int n_reg;
    int backward; /* the network before the exchanges */
    int stream;   /* every destination is a whole line: around the caches */
    uint8_t bit[CPU_TRANSPOSE_REGS]; /* bit that changes bit r of the number */
    const cpu_inner *inner;
    uint64_t n;
    const uint8_t *src;
    const uint64_t *src_at;
    uint8_t *dst;
    const uint64_t *dst_at;
    const uint8_t *next; /* lines to ask for meanwhile; NULL: none */
    const uint64_t *next_at;
    uint64_t n_next;
} cpu_transpose;

#endif
