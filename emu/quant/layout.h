/* SPDX-License-Identifier: Apache-2.0 */
/* Where a quantiser puts scale (r, c) and code byte (r, k). */
#ifndef MXO_EMU_QUANT_LAYOUT_H
#define MXO_EMU_QUANT_LAYOUT_H

#include "../call.h"

#include <mxoracle/layout.h>

/* One order of a [rows, cols] matrix of scales, or of bytes of codes. */
typedef struct quant_layout {
    const char *name;
    const char *id;   /* in layouts.def; NULL: row-major */
    uint32_t row_pad; /* rows and columns are rounded up to multiples */
    uint32_t col_pad;
    uint32_t row_need; /* and must be multiples of these to begin with */
    uint32_t col_need;
    uint8_t flat;  /* the result is one-dimensional */
    uint8_t holes; /* padding is left unwritten by the vendor: scale_valid */
} quant_layout;

/* Rows of the parameters sf_layout and q_layout; the name is known. */
const quant_layout *quant_sf_layout(const char *name);
const quant_layout *quant_q_layout(const char *name);

int quant_layout_is_linear(const quant_layout *layout);
uint64_t quant_layout_rows(const quant_layout *layout, uint64_t rows);
uint64_t quant_layout_cols(const quant_layout *layout, uint64_t cols);
/* SHAPE if rows or cols (named what) are not multiples the layout needs. */
mxo_status quant_layout_check(const quant_layout *layout, uint64_t rows,
                              uint64_t cols, const char *what, mxo_text why);
/* Shape of the stored matrix; returns the rank. */
uint32_t quant_layout_shape(const quant_layout *layout, uint64_t rows,
                            uint64_t cols, uint64_t *shape);

/* An order bound to a matrix of rows x cols bytes, before padding. */
typedef struct quant_place {
    uint64_t cols;
    int linear;
    mxo_layout map;
} quant_place;

mxo_status quant_place_bind(quant_place *p, const quant_layout *layout,
                            uint64_t rows, uint64_t cols, mxo_text why);
/* Offset of (r, c) in elements. */
uint64_t quant_place_at(const quant_place *p, uint64_t r, uint64_t c);

uint64_t quant_round_up(uint64_t n, uint64_t multiple);

#endif
