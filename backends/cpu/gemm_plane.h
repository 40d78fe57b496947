/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A single row as bytes, for exact products with E2M1 weights.
 *
 * All numbers of the row are integers times one unit, and the integers are
 * written to base 256 with digits from -128 to 127: plane d holds digit d of
 * every number.  Codes are integers too, and scale bytes of a column become
 * shifts above the least of them, so that the sum of a plane's products is an
 * integer.  Where that is sure to fit 32 bits it is exact modulo 2^32 on the
 * way and exact at the end, in any order; one number per plane and column is
 * left to be added.  A block needs no conversion and no sum of its own, which
 * is what slices (gemm_slice.h) pay for, and shares among rows.
 */
#ifndef CPU_GEMM_PLANE_H
#define CPU_GEMM_PLANE_H

#include <stddef.h>
#include <stdint.h>

/* A group is what 64 bytes of codes hold; sums have 16 lanes of 8 codes. */
enum { CPU_PLANE_GROUP = 128, CPU_PLANE_LANES = 16, CPU_MAX_PLANES = 7 };

/* One digit of a group's numbers, as bytes of codes have them: even[i] meets
   the lower code of byte i, odd[i] the upper one.  Codes enter the sum of a
   lane as code + 12, so it starts at minus 12 times the lane's digits. */
typedef struct cpu_plane {
    _Alignas(64) int8_t even[CPU_PLANE_GROUP / 2];
    int8_t odd[CPU_PLANE_GROUP / 2];
    int32_t start[CPU_PLANE_LANES];
} cpu_plane;

/* A row. */
typedef struct cpu_planes {
    cpu_plane *plane; /* owned; [groups][n] */
    uint8_t *used;    /* owned; bit d of a group's: plane d is not all zero */
    int unit;         /* numbers are integers times 2^unit */
    int n;            /* 0: all are zero, or there are no planes */
    int is_cut;       /* there are */
} cpu_planes;

/*
 * Cut x[k]; 0, or -1 without memory.  Not cut are NaN, infinity and rows that
 * span too many bits.
 */
int cpu_planes_cut(const double *x, size_t k, cpu_planes *row);
void cpu_planes_free(cpu_planes *row);

/* A row against up to 16 columns, which follow each other in memory:
   sum[d][c] = sum of digit d * code * 2^(scale byte - least[c]). */
enum { CPU_PLANE_COLS = 16 };
typedef struct cpu_plane_mac {
    const cpu_planes *row;
    const uint8_t *codes;
    const uint8_t *scale;
    size_t n;
    size_t k;
    uint8_t from; /* scale bytes have to be from .. to, */
    uint8_t to;
    uint8_t spread; /* and at most this far apart in a column */
    uint8_t least[CPU_PLANE_COLS];
    int32_t sum[CPU_MAX_PLANES][CPU_PLANE_COLS];
} cpu_plane_mac;

/* 0: scale bytes are not as they have to be, and nothing is done. */
typedef int (*cpu_plane_fn)(cpu_plane_mac *job);

/* How far scale bytes may be apart for sums of k products; -1: never. */
int cpu_plane_spread(size_t k);

/* Sums of columns first .. first + n - 1, each with its start as one more
   addend, rounded to odd where they do not fit a double; 0 if these columns
   need another way. */
struct cpu_weights;
int cpu_plane_columns(const cpu_planes *row, cpu_plane_fn mac,
                      const struct cpu_weights *w, size_t first, size_t n,
                      const float *start, double *y);

#endif
