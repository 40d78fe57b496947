/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer, streamed: one column of one expert's weights at a time meets up
 * to 16 rows of activations, so that nothing is ever dequantised as a whole.
 */
#ifndef MXO_EMU_LAYER_LAYER_H
#define MXO_EMU_LAYER_LAYER_H

#include "../dot/order.h"
#include "../moe/finalize.h"
#include "recipe.h"

enum { LAYER_TILE = 16, LAYER_NVFP4_BLOCK = 16 };

/* One of the two GEMMs, over all experts. */
typedef struct layer_gemm {
    const layer_recipe *recipe;
    mxo_dot_matrix a; /* quantised activations, one row per row number */
    const layer_order *order;
    const uint8_t *w;       /* [experts at hand, n, k / 2] */
    const uint8_t *scale;   /* [experts at hand, n, ceil(k / 32)] */
    const mxo_tensor *bias; /* [experts at hand, n]; NULL: none */
    uint64_t n;
    uint64_t k;
    mxo_dot_block *blocks; /* [LAYER_TILE, ceil(k / 32)] */
    mxo_format narrow;     /* FP16 beside FP16 activations, else BF16 */
    uint16_t *wide;        /* [k]: a row of weights in it */
    uint32_t *unit_a;      /* [LAYER_TILE, unit_pitch]: codes of a unit */
    uint32_t *unit_w;      /* [unit_pitch] */
} layer_gemm;

/* Up to LAYER_TILE rows of one expert. */
typedef struct layer_tile {
    uint64_t expert;
    uint64_t matrix;           /* its weights' number in w and scale */
    uint64_t row[LAYER_TILE];  /* in a */
    uint64_t slot[LAYER_TILE]; /* token * topk + slot */
    int rows;
} layer_tile;

/* Activations become codes and bytes (or 16-bit numbers) as the recipe says:
   a is given in from, q and s receive what layer_quant_bytes asks for. */
typedef struct layer_source {
    mxo_format from;
    const void *codes;
    const uint8_t *scale; /* of E2M1 that came quantised; else NULL */
    uint64_t rows;
    uint64_t k;
} layer_source;

uint64_t layer_blocks(uint64_t k);
mxo_dot_matrix layer_quantise(const layer_quant *quant, const layer_source *src,
                              uint8_t *q, uint8_t *s);

/* Bring the tile's rows into blocks; then any number of columns. */
void layer_gemm_load(const layer_gemm *g, const layer_tile *tile);
/* Binary32 patterns of a column for every row of the tile: sum, bias and the
   rounding that out names (a choice of gemm1_out or row_out). */
void layer_gemm_column(const layer_gemm *g, const layer_tile *tile,
                       uint64_t col, mxo_profile_choice out, uint32_t *y);

/* The same for two kinds of orders, before bias and rounding: start is what
   the accumulator starts with. */
void layer_order_column(const layer_gemm *g, const layer_tile *tile,
                        uint64_t col, uint32_t start, uint32_t *y);
void layer_unit_load(const layer_gemm *g, const layer_tile *tile);
void layer_unit_column(const layer_gemm *g, const layer_tile *tile,
                       uint64_t col, uint32_t start, uint32_t *y);
/* Codes of a row of k operands, zeros up to a whole step of any unit. */
uint64_t layer_unit_pitch(uint64_t k);
/* The unit's row for activations in this format, codes of a quantiser or not,
   with a byte per block or not; NULL: it has no such operands. */
const mxo_mma *layer_unit_for(const layer_recipe *r, mxo_format a,
                              int is_quantised, int has_bytes);

/* sum + part * the scales of block b of both rows. */
uint32_t layer_add_scaled(const layer_gemm *g, uint64_t a_row, uint64_t row,
                          uint64_t b, uint32_t part, uint32_t sum);

/* Row number of a column's weights among the rows of w. */
uint64_t layer_weight_row(const layer_gemm *g, const layer_tile *tile,
                          uint64_t col);
/* Block b of a row of weights. */
void layer_weights_load(const layer_gemm *g, uint64_t row, uint64_t b,
                        mxo_dot_block *block);
/* A row's bias in the type it is added in; binary32. */
uint32_t layer_bias_at(const layer_gemm *g, uint64_t row);
/* A row of weights into g->wide. */
void layer_widen(const layer_gemm *g, uint64_t row);
/* The factor that a block's scale byte stands for; binary32. */
uint32_t layer_factor(const layer_gemm *g, uint64_t row, uint64_t b);

/* A sum of products as it leaves the GEMM: brought back if the operands were
   small, times the given scales, with its bias, rounded. */
uint32_t layer_finish(const layer_recipe *r, mxo_profile_choice out,
                      uint32_t bias, uint32_t y);
/* A bias that is added behind the rounding. */
uint32_t layer_bias_behind(const layer_recipe *r, mxo_profile_choice out,
                           uint32_t bias, uint32_t y);
/* How many parts of K are rounded each by itself, and the block that one of
   them begins with. */
uint64_t layer_parts(const layer_gemm *g);
uint64_t layer_part_at(const layer_gemm *g, uint64_t part);
/* The recipe by which a part leaves, is_first: before all others.  One part
   alone leaves as a whole sum does. */
layer_recipe layer_part_recipe(const layer_recipe *r, int is_first);
/* From the last part on: sum is what came of those behind it, y its own. */
uint32_t layer_add_part(const layer_recipe *r, mxo_profile_choice out,
                        uint32_t bias, int is_first, uint32_t sum, uint32_t y);
uint32_t layer_end_parts(const layer_recipe *r, mxo_profile_choice out,
                         uint32_t bias, uint32_t sum);
/* An activation's code with the saturation that glu_out may ask for. */
uint64_t layer_act(const layer_recipe *r, const mxo_glu *unit, uint32_t gate,
                   uint32_t up);

/* x rounded to the type that a choice names; a pattern. */
uint32_t layer_round(mxo_profile_choice out, uint32_t x);
/* Its code in a format, rounded to the nearest if need be. */
uint64_t layer_code(mxo_format to, uint32_t x);
/* Element i of codes in a format of 2 or 4 bytes, as a pattern. */
uint32_t layer_load(mxo_format format, const void *codes, uint64_t i);

/* The sum over a token's n slots that take part, in the type of r->out. */
uint64_t layer_sum(const layer_recipe *r, const mxo_finalize_term *terms,
                   uint32_t n);

#endif
