/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of activations as integers, for exact products with E2M1 weights.
 *
 * A block of 32 numbers becomes slices: integers of at most 15 bits times a
 * power of two, as many as the block's bits need (one or two, as a rule).
 * E2M1 codes are integers too, so the sum of a slice's 32 products is exact
 * in 32 bits, and only one number per block and slice is left to be added in
 * double.  Slices are put into levels, each with the certificate of gemm.h
 * against every column of a given span: within a level no addition rounds.
 */
#ifndef CPU_GEMM_SLICE_H
#define CPU_GEMM_SLICE_H

#include "gemm_digit_plane.h"

#include <stddef.h>
#include <stdint.h>

enum { CPU_MX = 32, CPU_SLICE_BITS = 15, CPU_MAX_LEVELS = 32 };

/* Blocks of a row; the last may be short. */
static inline size_t cpu_blocks_of(size_t k)
{
    return k / CPU_MX + (k % CPU_MX != 0);
}

typedef union cpu_slice {
    _Alignas(64) int16_t q[CPU_MX];
    int32_t pair[CPU_MX / 2]; /* two of them, as a lane's dot products want */
} cpu_slice;

/* One slice's place in a GEMM: its products are added to y[sum]. */
typedef struct cpu_mac_item {
    const cpu_slice *slice;
    double unit;
    uint32_t sum;
} cpu_mac_item;

/*
 * Columns against slices: y[sum][c] += unit * factor[b][c] * (codes . slice)
 * for every block b and every item of it.
 */
enum { CPU_MAC_COLS = 16 };
typedef struct cpu_mac {
    const uint8_t *col[CPU_MAC_COLS]; /* codes of every column */
    const double *factor;             /* [blocks, CPU_MAC_COLS] */
    const cpu_mac_item *item;
    const uint32_t *start; /* of each block's items; [blocks + 1] */
    size_t blocks;
    double *y; /* [sums, CPU_MAC_COLS], multiples of 64 bytes */
    /* Codes to come, 16 CPU_MAC_COLS bytes for every block; NULL: none.  A
       machine's own prefetching loses track of 16 columns that share pages. */
    const uint8_t *next;
} cpu_mac;

typedef void (*cpu_mac_fn)(const cpu_mac *job);

/* Scale bytes of 16 columns as the factors of cpu_mac, 2^(byte - 128), and
   the ends of each column's bytes. */
typedef struct cpu_scales {
    const uint8_t *col[CPU_MAC_COLS];
    size_t blocks;
    double *factor; /* [blocks, CPU_MAC_COLS], multiples of 64 bytes */
    uint8_t least[CPU_MAC_COLS];
    uint8_t most[CPU_MAC_COLS];
} cpu_scales;

typedef void (*cpu_scales_fn)(cpu_scales *job);
/* The codes as integers: twice their numbers. */
extern const int8_t cpu_code_int[16];

typedef struct cpu_slice_place {
    double unit; /* of the integers */
    uint32_t block;
    uint32_t level;
} cpu_slice_place;

/* A row: slices in the order of its blocks. */
typedef struct cpu_sliced {
    cpu_slice *slice; /* owned */
    cpu_slice_place *place;
    size_t n;
    uint32_t levels;
    int is_hard;       /* NaN, infinity, or too many levels: no slices */
    cpu_planes planes; /* cut where they are wanted */
} cpu_sliced;

/* Room for one row that is being cut; grows as needed. */
typedef struct cpu_slicer {
    cpu_slice *slice;
    cpu_slice_place *place;
    size_t room;
    size_t n;
    int cut[CPU_MAX_LEVELS + 1]; /* level v holds multiples of 2^cut[v] */
} cpu_slicer;

/*
 * Cut x[k]; 0, or -1 without memory.  log_span bounds log2 of the span of the
 * columns it will meet (cpu_gemm_line), at most CPU_MAX_LOG_SPAN.
 */
enum { CPU_MAX_LOG_SPAN = 36 };
int cpu_slice_row(cpu_slicer *s, const double *x, size_t k, int log_span,
                  cpu_sliced *row);
void cpu_slicer_free(cpu_slicer *s);
void cpu_sliced_free(cpu_sliced *row);

/* log2 of the span of a column of k E2M1 codes whose scale bytes differ by
   at most spread: its norm is at most 6 sqrt(k) times the largest scale, its
   unit half the smallest. */
int cpu_log_span(size_t k, int spread);

#endif
