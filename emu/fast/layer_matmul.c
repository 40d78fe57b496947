/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One column of weights against a tile of rows.  Scale bytes 2 to 247 mean
 * the same in every rule of dequant.def whose operands are not small; the few
 * others go through the rule and BF16.  A unit test holds the rules to that.
 */
#include "../layer/layer.h"

#include <string.h>

enum { SAME_FROM = 2, SAME_TO = 247 };

uint64_t layer_weight_row(const layer_gemm *g, const layer_tile *tile,
                          uint64_t col)
{
    return tile->matrix * g->n + col;
}

static uint8_t byte_at(const layer_gemm *g, uint64_t row, uint64_t b)
{
    return g->scale[row * layer_blocks(g->k) + b];
}

/* 16-bit codes of block b of a row of weights; returns how many. */
static unsigned widen_block(const layer_gemm *g, uint64_t row, uint64_t b,
                            uint16_t *to)
{
    const uint64_t first = b * MXO_MX_BLOCK;
    const uint64_t left = g->k - first;
    const unsigned n = left < MXO_MX_BLOCK ? (unsigned)left : MXO_MX_BLOCK;
    const uint8_t byte = byte_at(g, row, b);

    for (unsigned i = 0; i < n; i++) {
        const uint8_t code = mxo_load_nibble(g->w, row * g->k + first + i);
        to[i] = (uint16_t)mxo_dequant_mx(g->recipe->weight_rule, MXO_FMT_E2M1,
                                         g->narrow, code, byte);
    }
    return n;
}

void layer_widen(const layer_gemm *g, uint64_t row)
{
    for (uint64_t b = 0; b < layer_blocks(g->k); b++) {
        (void)widen_block(g, row, b, g->wide + b * MXO_MX_BLOCK);
    }
}

uint32_t layer_factor(const layer_gemm *g, uint64_t row, uint64_t b)
{
    const uint32_t one = 2; /* the code of 1.0 */

    return mxo_dequant_mx(g->recipe->weight_rule, MXO_FMT_E2M1, MXO_FMT_F32,
                          one, byte_at(g, row, b));
}

static void load_by_rule(const layer_gemm *g, uint64_t row, uint64_t b,
                         mxo_dot_block *block)
{
    if (g->recipe->weight_rule == MXO_DEQUANT_OCP) {
        const mxo_dot_matrix m = {MXO_FMT_E2M1, g->w, g->scale, g->k};
        mxo_dot_load(block, &m, row, b);
        return;
    }
    uint16_t wide[MXO_MX_BLOCK];
    const unsigned n = widen_block(g, row, b, wide);
    const mxo_dot_matrix m = {g->narrow, wide, NULL, n};

    mxo_dot_load(block, &m, 0, 0);
}

void layer_weights_load(const layer_gemm *g, uint64_t row, uint64_t b,
                        mxo_dot_block *block)
{
    const uint64_t first = row * g->k + b * MXO_MX_BLOCK;
    const uint8_t byte = byte_at(g, row, b);

    if (byte >= SAME_FROM && byte <= SAME_TO && g->narrow == MXO_FMT_BF16 &&
        g->recipe->behind == 0 && (b + 1) * MXO_MX_BLOCK <= g->k) {
        mxo_dot_load_e2m1(block, g->w + first / 2, byte - 127);
    } else {
        load_by_rule(g, row, b, block);
    }
}

void layer_gemm_load(const layer_gemm *g, const layer_tile *tile)
{
    const uint64_t blocks = layer_blocks(g->k);

    if (g->order->way == LAYER_UNIT) {
        layer_unit_load(g, tile);
        return;
    }
    for (int r = 0; r < tile->rows; r++) {
        for (uint64_t b = 0; b < blocks; b++) {
            mxo_dot_load(&g->blocks[(uint64_t)r * blocks + b], &g->a,
                         tile->row[r], b);
        }
    }
}

/* Of the blocks first .. end - 1.  start is one more addend: nothing is rounded
   before it is in the sum. */
static void exact_column(const layer_gemm *g, const layer_tile *tile,
                         uint64_t row, uint64_t first, uint64_t end,
                         uint32_t start, uint32_t *y)
{
    const mxo_real bias = mxo_format_decode(MXO_FMT_F32, start);
    const uint64_t blocks = layer_blocks(g->k);
    mxo_dot sum[LAYER_TILE];
    mxo_dot_block w;

    for (int r = 0; r < tile->rows; r++) {
        mxo_dot_reset(&sum[r]);
        mxo_dot_add(&sum[r], bias);
    }
    for (uint64_t b = first; b < end; b++) {
        layer_weights_load(g, row, b, &w);
        for (int r = 0; r < tile->rows; r++) {
            mxo_dot_mac(&sum[r], &g->blocks[(uint64_t)r * blocks + b], &w);
        }
    }
    for (int r = 0; r < tile->rows; r++) {
        y[r] = (uint32_t)mxo_dot_round(&sum[r], MXO_FMT_F32);
    }
}

/* Partial sums without the scale, each rounded to binary32, then an fma. */
static void block_column(const layer_gemm *g, const layer_tile *tile,
                         uint64_t col, uint32_t *y)
{
    const mxo_dot_matrix m = {MXO_FMT_E2M1, g->w, NULL, g->k};
    const uint64_t blocks = layer_blocks(g->k);
    const uint64_t row = layer_weight_row(g, tile, col);
    mxo_dot_block w;
    mxo_dot sum;

    for (int r = 0; r < tile->rows; r++) {
        y[r] = 0;
    }
    for (uint64_t b = 0; b < blocks; b++) {
        const uint32_t factor = layer_factor(g, row, b);
        mxo_dot_load(&w, &m, row, b);
        for (int r = 0; r < tile->rows; r++) {
            mxo_dot_reset(&sum);
            mxo_dot_mac(&sum, &g->blocks[(uint64_t)r * blocks + b], &w);
            const uint32_t partial = (uint32_t)mxo_dot_round(&sum, MXO_FMT_F32);
            y[r] = mxo_f32_fma(partial, factor, y[r]);
        }
    }
}

/* Parts of K that are rounded each by itself. */
static void parted_column(const layer_gemm *g, const layer_tile *tile,
                          uint64_t row, mxo_profile_choice out, uint32_t bias,
                          uint32_t *y)
{
    const uint64_t n = layer_parts(g);
    uint32_t part[LAYER_TILE];

    for (uint64_t i = n; i-- > 0;) {
        exact_column(g, tile, row, layer_part_at(g, i), layer_part_at(g, i + 1),
                     0, part);
        for (int r = 0; r < tile->rows; r++) {
            y[r] =
                layer_add_part(g->recipe, out, bias, i + 1 == n, y[r], part[r]);
        }
    }
    for (int r = 0; r < tile->rows; r++) {
        y[r] = layer_end_parts(g->recipe, out, bias, y[r]);
    }
}

void layer_gemm_column(const layer_gemm *g, const layer_tile *tile,
                       uint64_t col, mxo_profile_choice out, uint32_t *y)
{
    const mxo_profile_choice place = g->recipe->bias;
    const uint64_t row = layer_weight_row(g, tile, col);
    const uint32_t bias = place == MXO_P_BIAS1_NONE ? 0 : layer_bias_at(g, row);
    const uint32_t start = place == MXO_P_BIAS1_ORDER ? bias : 0;

    if (layer_parts(g) > 1) {
        parted_column(g, tile, row, out, bias, y);
        return;
    }
    if (g->order->way == LAYER_UNIT) {
        layer_unit_column(g, tile, col, start, y);
    } else if (g->order->way != LAYER_EXACT) {
        layer_order_column(g, tile, col, start, y);
    } else if (g->recipe->scale_at == MXO_P_SCALE_AT_BLOCK) {
        block_column(g, tile, col, y);
    } else {
        exact_column(g, tile, row, 0, layer_blocks(g->k), start, y);
    }
    for (int r = 0; r < tile->rows; r++) {
        y[r] = layer_finish(g->recipe, out, bias, y[r]);
    }
}
