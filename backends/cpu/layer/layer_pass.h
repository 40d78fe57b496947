/* SPDX-License-Identifier: Apache-2.0 */
/* One GEMM of the layer: tiles of an expert's pairs against panels of its
   columns. */
#ifndef CPU_LAYER_PASS_H
#define CPU_LAYER_PASS_H

#include "layer.h"

enum { LAYER_TILE_ROWS = 64, LAYER_PANEL = 256 };

typedef struct layer_tile {
    size_t expert;
    size_t first; /* in layer.pair */
    size_t m;
} layer_tile;

typedef struct layer_pass {
    layer *l;
    const layer_gemm *g;
    layer_rows rows;
    size_t divisor; /* slots per row of the input */
    cpu_mac_fn mac;
    const cpu_plane_lane *by; /* planes; NULL: none, or another order */
    cpu_sliced *row;
    layer_tile *tile;
    size_t n_tiles;
    size_t panels;
    void *to;
    int failed;
} layer_pass;

/* Sums of a panel as floats, [m][stride]. */
typedef struct layer_panel {
    const layer_pass *p;
    const layer_tile *place;
    size_t first; /* column; of a gated unit: pair of columns */
    size_t n;
    size_t stride;
    float *y;
    float weight[LAYER_TILE_ROWS]; /* routing weights, where sums have them */
    cpu_order_tile rows;           /* of declared orders; owned */
} layer_panel;

/* Columns col .. col + n - 1 into y, rounded, with their bias; -1 without
   memory. */
int cpu_layer_columns(const layer_panel *a, cpu_tile *t, size_t col, size_t n,
                      float *y);

/* The slot of row i of the tile. */
static inline size_t cpu_layer_slot(const layer_panel *a, size_t i)
{
    return a->p->l->pair[a->place->first + i];
}

/* Bits of what becomes of a sum before anything else than rounding, a bias or
   a weight does. */
int cpu_layer_bits(const layer_pass *p);

#endif
