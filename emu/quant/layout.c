/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders in which quantisers store what they computed, as closed forms.
 *
 * 128x4 and 8x4 are FlashInfer's and TensorRT-LLM's tiles for block scales
 * (vLLM's "swizzled" is the same 128x4); the others are AITER's tiles, which
 * its fused quantiser writes.  rows and cols below are the padded sizes.
 */
#include "layout.h"

#include <string.h>

static uint64_t linear(uint64_t rows, uint64_t cols, uint64_t r, uint64_t c)
{
    (void)rows;
    return r * cols + c;
}

/* 512-byte tiles of 128 rows x 4; 16 bytes hold rows q, q+32, q+64, q+96. */
static uint64_t tile_128x4(uint64_t rows, uint64_t cols, uint64_t r, uint64_t c)
{
    (void)rows;
    return (r / 128 * (cols / 4) + c / 4) * 512 + r % 32 * 16 +
           r % 128 / 32 * 4 + c % 4;
}

static uint64_t tile_8x4(uint64_t rows, uint64_t cols, uint64_t r, uint64_t c)
{
    (void)rows;
    return (r / 8 * (cols / 4) + c / 4) * 32 + r % 8 * 4 + c % 4;
}

/* 256-byte tiles of 32 rows x 8: words of {row, row+16} x {scale, scale+4} */
static uint64_t aiter(uint64_t rows, uint64_t cols, uint64_t r, uint64_t c)
{
    (void)rows;
    return r / 32 * 32 * cols + c / 8 * 256 + c % 4 * 64 + r % 16 * 4 +
           c % 8 / 4 * 2 + r % 32 / 16;
}

/* Sixteen gate rows, sixteen up rows, and so on. */
static uint64_t gate_up_row(uint64_t rows, uint64_t r)
{
    const uint64_t half = rows / 2;
    const uint64_t in = r % half;

    return (2 * (in / 16) + r / half) * 16 + in % 16;
}

static uint64_t aiter_gate_up(uint64_t rows, uint64_t cols, uint64_t r,
                              uint64_t c)
{
    return aiter(rows, cols, gate_up_row(rows, r), c);
}

/* Bands of 16 rows, in a band 16-byte columns outermost. */
static uint64_t aiter_16x16(uint64_t rows, uint64_t cols, uint64_t r,
                            uint64_t c)
{
    (void)rows;
    return r / 16 * 16 * cols + c / 16 * 256 + r % 16 * 16 + c % 16;
}

static uint64_t aiter_16x16_gate_up(uint64_t rows, uint64_t cols, uint64_t r,
                                    uint64_t c)
{
    return aiter_16x16(rows, cols, gate_up_row(rows, r), c);
}

static const quant_layout sf_layouts[] = {
    {"linear", linear, 1, 1, 1, 1, 0, 0},
    {"128x4", tile_128x4, 128, 4, 1, 1, 1, 0},
    {"8x4", tile_8x4, 8, 4, 1, 1, 1, 0},
    {"aiter_linear", linear, 1, 1, 1, 1, 0, 1},
    {"aiter", aiter, 256, 8, 1, 1, 0, 1},
    {"aiter_a16w4", aiter, 1, 1, 32, 8, 0, 1},
    {"aiter_a16w4_gate_up", aiter_gate_up, 1, 1, 32, 8, 0, 1},
};

static const quant_layout q_layouts[] = {
    {"linear", linear, 1, 1, 1, 1, 0, 0},
    {"aiter_16x16", aiter_16x16, 1, 1, 16, 32, 0, 0},
    {"aiter_16x16_gate_up", aiter_16x16_gate_up, 1, 1, 32, 64, 0, 0},
};

static const quant_layout *find(const quant_layout *rows, size_t n,
                                const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return rows;
}

const quant_layout *quant_sf_layout(const char *name)
{
    return find(sf_layouts, sizeof sf_layouts / sizeof sf_layouts[0], name);
}

const quant_layout *quant_q_layout(const char *name)
{
    return find(q_layouts, sizeof q_layouts / sizeof q_layouts[0], name);
}

int quant_layout_is_linear(const quant_layout *layout)
{
    return layout->offset == linear;
}

uint64_t quant_round_up(uint64_t n, uint64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

uint64_t quant_layout_rows(const quant_layout *layout, uint64_t rows)
{
    return quant_round_up(rows, layout->row_pad);
}

uint64_t quant_layout_cols(const quant_layout *layout, uint64_t cols)
{
    return quant_round_up(cols, layout->col_pad);
}

uint64_t quant_layout_offset(const quant_layout *layout, uint64_t rows,
                             uint64_t cols, uint64_t r, uint64_t c)
{
    return layout->offset(quant_layout_rows(layout, rows),
                          quant_layout_cols(layout, cols), r, c);
}

mxo_status quant_layout_check(const quant_layout *layout, uint64_t rows,
                              uint64_t cols, const char *what, mxo_text why)
{
    if (rows % layout->row_need != 0 || cols % layout->col_need != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s in the layout %s needs rows in multiples of %u "
                        "and columns in multiples of %u",
                        what, layout->name, layout->row_need, layout->col_need);
    }
    return MXO_OK;
}

uint32_t quant_layout_shape(const quant_layout *layout, uint64_t rows,
                            uint64_t cols, uint64_t *shape)
{
    shape[0] = quant_layout_rows(layout, rows);
    shape[1] = quant_layout_cols(layout, cols);
    if (layout->flat) {
        shape[0] *= shape[1];
        return 1;
    }
    return 2;
}
