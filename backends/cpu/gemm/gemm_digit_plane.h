/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as bytes, for exact products with E2M1 weights.
 *
 * All numbers of a row are integers times one unit, and the integers are
 * written to base 256 with digits from -128 to 127: plane d holds digit d of
 * every number.  Codes are integers too, and scale bytes of a column become
 * factors above the least of them, so that the sum of a plane's products is an
 * integer.  Where that is sure to fit 32 bits it is exact modulo 2^32 on the
 * way and exact at the end, in any order; one number per plane and column is
 * left to be added.
 *
 * Not all planes need to be multiplied.  What the upper ones leave of a row is
 * known, and no weight of a column is larger than 12 times its largest factor:
 * the product of both bounds what is missing of the sum.  Where the result is
 * the same at both ends of that interval it is the result, because everything
 * that follows a sum is monotone; elsewhere the other planes are asked.
 */
#ifndef CPU_GEMM_PLANE_H
#define CPU_GEMM_PLANE_H

#include <stddef.h>
#include <stdint.h>

/* A group is what 128 bytes of codes hold; sums have 16 lanes of 16 codes. */
enum {
    CPU_PLANE_GROUP = 256,
    CPU_PLANE_BLOCKS = 8,
    CPU_PLANE_LANES = 16,
    CPU_MAX_PLANES = 7,
    CPU_UPPER_PLANES = 6
};

/* One digit of a group's numbers, as the codes that they meet lie in registers
   (cpu_plane_at; avx2digit_plane.c has another order, and adds 128 to digits
   in place of starts).  Codes enter the sum of a lane as code + 12, so it
   starts at minus 12 times the lane's digits. */
typedef struct cpu_plane {
    _Alignas(64) int8_t digit[CPU_PLANE_GROUP];
    int32_t start[CPU_PLANE_LANES];
} cpu_plane;

/* A plane of which few digits are not zero: those, in pairs within a stretch
   of numbers.  at: as cpu_plane_lane.place has it. */
enum { CPU_PLANE_STRETCH = 4 * CPU_PLANE_GROUP };
typedef struct cpu_plane_pair {
    uint16_t at[2];
    int16_t digit[2];
} cpu_plane_pair;

typedef struct cpu_plane_few {
    cpu_plane_pair *pair; /* owned; NULL: the digits are not few */
    uint32_t *first;      /* pair of each stretch, and the end; behind them */
} cpu_plane_few;

/* A row. */
typedef struct cpu_planes {
    cpu_plane *plane; /* owned; [groups][n], least digit first */
    cpu_plane_few few[CPU_MAX_PLANES];
    int unit;    /* numbers are integers times 2^unit */
    int n;       /* 0: all are zero, or there are no planes */
    int is_cut;  /* there are */
    double norm; /* Euclidean, at least */
    /* At least the sum of the magnitudes of what the upper p planes leave of
       the row's numbers; known for p = n and for p from 2 to 6.  0: nothing. */
    double left[CPU_MAX_PLANES + 1];
} cpu_planes;

/* Where number i of a group is in a plane: bytes 0-7 of its eight blocks (0, 4,
   1, 5, 2, 6, 3, 7), lower codes and then upper ones, and bytes 8-15. */
static inline size_t cpu_plane_at(size_t i)
{
    const size_t block = i / 32;
    const size_t byte = i % 32 / 2;
    const size_t turn = block % 4 * 2 + block / 4;

    return byte / 8 * 128 + i % 2 * 64 + turn * 8 + byte % 8;
}

/* The n digits of a group's integers, which fit, and what lanes start at. */
typedef void (*cpu_plane_put_fn)(cpu_plane *group, int n, const int64_t *v);

/* Cut x[k]; 0, or -1 without memory.  Rows holding NaN or infinity are not cut.
 */
struct cpu_plane_lane;
int cpu_planes_cut(const double *x, size_t k, const struct cpu_plane_lane *by,
                   cpu_planes *row);
void cpu_planes_free(cpu_planes *row);

/* Planes that are enough for most results of so many bits. */
int cpu_planes_for(const cpu_planes *row, int bits);

/* One plane of a row in every group. */
typedef struct cpu_plane_item {
    const cpu_plane *plane;
    size_t step; /* from group to group */
    const cpu_plane_few *few;
} cpu_plane_item;

/* Planes against up to 16 columns, which follow each other in memory:
   sum[i][c] = sum of digit * code * 2^(scale byte - least[c]). */
enum { CPU_PLANE_COLS = 16 };
typedef struct cpu_plane_mac {
    const cpu_plane_item *item;
    size_t items;
    const uint8_t *codes;
    const uint8_t *scale;
    size_t n;
    size_t k;
    uint8_t from; /* scale bytes have to be from .. to, */
    uint8_t to;
    uint8_t spread;   /* and at most this far apart in a column */
    uint16_t *factor; /* room for [CPU_PLANE_COLS][cpu_plane_room(k)] */
    int8_t *packed;   /* the items, by cpu_plane_lane.pack; NULL: not */
    uint8_t least[CPU_PLANE_COLS];
    uint8_t most[CPU_PLANE_COLS];
    int32_t (*sum)[CPU_PLANE_COLS];
} cpu_plane_mac;

/* 0: scale bytes are not as they have to be, and nothing is done. */
typedef int (*cpu_plane_fn)(cpu_plane_mac *job);

/* Up to JOINED planes of a row, put together for 16 columns: y = unit least[c]
   times the sum of sum[d][c] 256^d, rounded to odd where it does not fit, and
   off = left most[c] and a little more of y, for roundings; 0 if left is. */
enum { CPU_PLANE_JOINED = 6 };
typedef struct cpu_plane_join {
    int32_t (*sum)[CPU_PLANE_COLS];
    int n;
    double unit;
    double left;
    double least[CPU_PLANE_COLS];
    double most[CPU_PLANE_COLS];
} cpu_plane_join;

/* Functions of an instruction set for planes. */
typedef struct cpu_plane_lane {
    cpu_plane_put_fn put;
    cpu_plane_fn mac;
    /* Packs items for mac where they meet many columns, and the bytes that
       this takes; NULL: mac reads items as they are. */
    void (*pack)(const cpu_plane_item *item, size_t items, size_t k,
                 int8_t *to);
    size_t (*packed)(size_t items, size_t k);
    void (*join)(const cpu_plane_join *job, double *y, double *off);
    /* Where number i of a stretch is in cpu_plane_pair.at; NULL: mac has no use
       for few digits. */
    uint16_t (*place)(size_t i);
} cpu_plane_lane;

/* How far scale bytes may be apart for sums of k products; -1: never. */
int cpu_plane_spread(size_t k);

/* Factors of a column of k codes, with some behind. */
static inline size_t cpu_plane_room(size_t k)
{
    return (k / CPU_PLANE_GROUP + 1) * CPU_PLANE_BLOCKS + 32;
}

/* Rows that meet the same columns. */
typedef struct cpu_plane_tile {
    const cpu_plane_lane *by;
    const cpu_planes **row; /* owned, as all that follows */
    size_t m;
    int uncut;       /* are there rows without planes? */
    int *upper;      /* planes of a row that are multiplied at first */
    uint32_t *first; /* item of a row, [m + 1] */
    cpu_plane_item *item;
    int32_t (*sum)[CPU_PLANE_COLS];
    uint16_t *factor;
    int8_t *packed; /* NULL: not wanted */
} cpu_plane_tile;

/* Room for m rows of k numbers; then row[m] is set, and it can be opened for
   results of so many bits.  -1 without memory. */
int cpu_plane_room_for(cpu_plane_tile *t, size_t m, size_t k);
int cpu_plane_open(cpu_plane_tile *t, size_t k, int bits);
void cpu_plane_close(cpu_plane_tile *t);

/* Sums of columns first .. first + n - 1, each with its start as one more
   addend, that are wrong by no more than off; where off is 0 they are exact,
   rounded to odd where they do not fit a double.  Rows without planes are left
   alone.  0 if these columns need another way. */
struct cpu_weights;
int cpu_plane_columns(cpu_plane_tile *t, const struct cpu_weights *w,
                      size_t first, size_t n, const float *start,
                      double (*y)[CPU_PLANE_COLS],
                      double (*off)[CPU_PLANE_COLS]);
/* One sum by all planes; returns off.  The column has not been refused. */
double cpu_plane_one(cpu_plane_tile *t, const struct cpu_weights *w, size_t col,
                     size_t i, double start, double *y);

#endif
