/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders in which quantisers store what they computed: rows of layouts.def
 * under the names of the parameters sf_layout and q_layout, with what each
 * quantiser asks of its matrix and pads it to.
 *
 * 128x4 and 8x4 are FlashInfer's and TensorRT-LLM's tiles for block scales
 * (vLLM's "swizzled" is the same 128x4); the others are AITER's tiles, which
 * its fused quantiser writes.
 */
#include "layout.h"

#include <string.h>

static const quant_layout sf_layouts[] = {
    {"linear", NULL, 1, 1, 1, 1, 0, 0},
    {"128x4", "flashinfer.128x4", 128, 4, 1, 1, 1, 0},
    {"8x4", "flashinfer.8x4", 8, 4, 1, 1, 1, 0},
    {"aiter_linear", NULL, 1, 1, 1, 1, 0, 1},
    {"aiter", "aiter.e8m0_shuffle", 256, 8, 1, 1, 0, 1},
    {"aiter_a16w4", "aiter.shuffle_scale_a16w4", 1, 1, 32, 8, 0, 1},
    {"aiter_a16w4_gate_up", "aiter.shuffle_scale_a16w4_gate_up", 1, 1, 32, 8, 0,
     1},
};

static const quant_layout q_layouts[] = {
    {"linear", NULL, 1, 1, 1, 1, 0, 0},
    {"aiter_16x16", "aiter.shuffle_weight", 1, 1, 16, 32, 0, 0},
    {"aiter_16x16_gate_up", "aiter.shuffle_weight_a16w4_gate_up", 1, 1, 32, 64,
     0, 0},
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
    return layout->id == NULL;
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

mxo_status quant_place_bind(quant_place *p, const quant_layout *layout,
                            uint64_t rows, uint64_t cols, mxo_text why)
{
    const uint64_t extent[3] = {1, rows, cols};

    p->cols = cols;
    p->linear = quant_layout_is_linear(layout);
    return p->linear ? MXO_OK
                     : mxo_layout_bind(&p->map, mxo_layout_find(layout->id),
                                       layout->id, 1, extent, why);
}

uint64_t quant_place_at(const quant_place *p, uint64_t r, uint64_t c)
{
    const uint64_t i = r * p->cols + c;

    return p->linear ? i
                     : mxo_layout_forward(&p->map,
                                          mxo_layout_padded_index(&p->map, i));
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
