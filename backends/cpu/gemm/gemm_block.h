/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact sums of rows against E2M1 columns, 16 columns at a time, by slices
 * (gemm_slice.h).  What has no slices (NaN, infinity) and columns whose scales
 * differ by more than SPREAD powers of two are added product by product.
 */
#ifndef CPU_GEMM_BLOCK_H
#define CPU_GEMM_BLOCK_H

#include "gemm_slice.h"
#include "isa/isa_ops.h"

/* How a rule reads weights: code c under byte s is value[s][c], or as an
   operand of 16 bits narrow[s][c]; what multiplies a block's sum afterwards is
   unit[s]. */
typedef struct cpu_weight_rule {
    double value[256][16];
    float narrow[256][16];
    float unit[256];
    int has_unit;
    double factor[256];  /* value[s][c] = factor[s] * cpu_code_int[c] ... */
    uint8_t is_odd[256]; /* ... unless this is set */
    uint8_t plain_from;  /* bytes up to plain_to have factor 2^(byte - 128) */
    uint8_t plain_to;
} cpu_weight_rule;

/* Operands are BF16 or F16; -1 if there is no such rule. */
int cpu_weight_rule_make(cpu_weight_rule *r, const char *name, uint32_t narrow);

typedef struct cpu_weights {
    const cpu_weight_rule *rule;
    const uint8_t *codes; /* [n, k / 2] */
    const uint8_t *scale; /* [n, ceil(k / 32)] */
    size_t n;
    size_t k;
} cpu_weights;

/* Row numbers as doubles. */
typedef struct cpu_row_reader {
    void (*read)(const void *self, size_t row, double *x);
    const void *self;
} cpu_row_reader;

/* Rows that meet the same columns. */
typedef struct cpu_tile {
    const cpu_sliced *row; /* of all rows; not cut where there are planes */
    const uint32_t *index; /* of those in the tile */
    size_t m;
    size_t k;
    cpu_row_reader reader;
    cpu_scales_fn scales;
    const cpu_plane_lane *by; /* planes; NULL: by slices */
    int bits;                 /* of results, for planes */
    /* Owned: */
    cpu_plane_tile planes;
    cpu_sliced *own; /* slices where planes do not do; NULL so far */
    cpu_mac_item *item;
    uint32_t *start;
    uint32_t *sum; /* number of a row's first sum, [m + 1] */
    double *y;     /* [sums, 16] */
    double *factor;
    double *x; /* a row and a column */
} cpu_tile;

/* log2 of the span that rows are to be sliced for. */
int cpu_tile_log_span(size_t k);
/* Memory of a tile of index[m]; -1 if there is none. */
int cpu_tile_open(cpu_tile *t);
void cpu_tile_close(cpu_tile *t);
/* Sums of columns first .. first + n - 1 (n <= 16), each with its start as one
   more addend, wrong by no more than off; where that is 0 they are exact,
   rounded to odd where they do not fit a double: y[row in tile][16].  -1
   without memory. */
int cpu_tile_columns(cpu_tile *t, cpu_mac_fn mac, const cpu_weights *w,
                     size_t first, size_t n, const float *start,
                     double (*y)[CPU_MAC_COLS], double (*off)[CPU_MAC_COLS]);
/* One sum that was off by all planes; returns by how much it still may be. */
double cpu_tile_more(cpu_tile *t, const cpu_weights *w, size_t col, size_t i,
                     double start, double *y);
/* The same product by product. */
double cpu_tile_dot(cpu_tile *t, const cpu_weights *w, size_t col, size_t i,
                    double start);
/* Block by block: the exact sum of the bare codes, rounded to float, times
   the unit of the scale byte, added in float and fused. */
void cpu_tile_blocks(cpu_tile *t, cpu_mac_fn mac, const cpu_weights *w,
                     size_t first, size_t n, float (*y)[CPU_MAC_COLS]);

#endif
