/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orders of a layer's sums, one row each, and the columns of those that
 * are gemm.mx's.
 */
#include "layer.h"

static const layer_order rows[] = {
    {MXO_P_ORDER_ANY, LAYER_EXACT, 0, NULL, 1, 0, 0},
    {MXO_P_ORDER_EXACT, LAYER_EXACT, 0, NULL, 1, 0, 1},
    {MXO_P_ORDER_BLOCK32, LAYER_EXACT, 0, NULL, 0, 1, 0},
    {MXO_P_ORDER_CPU, LAYER_STEPS, MXO_ORDER_DPBF16, NULL, 1, 0, 1},
    {MXO_P_ORDER_AVX512, LAYER_STEPS, MXO_ORDER_DPBF16, NULL, 1, 0, 1},
    {MXO_P_ORDER_AMX, LAYER_STEPS, MXO_ORDER_AMX, NULL, 1, 0, 1},
    {MXO_P_ORDER_SEQ, LAYER_STEPS, MXO_ORDER_SEQ, NULL, 1, 0, 1},
    {MXO_P_ORDER_PAIRWISE, LAYER_STEPS, MXO_ORDER_PAIRWISE, NULL, 1, 0, 0},
    {MXO_P_ORDER_SPLIT, LAYER_STEPS, MXO_ORDER_SPLIT, NULL, 1, 0, 0},
    {MXO_P_ORDER_STREAMK, LAYER_EXACT, 0, NULL, 1, 0, 0},
    {MXO_P_ORDER_BLOCK, LAYER_BLOCKS, 0, NULL, 0, 1, 1},
    {MXO_P_ORDER_HOPPER_WGMMA, LAYER_UNIT, 0, "hopper_wgmma", 1, 1, 1},
    {MXO_P_ORDER_HOPPER_MMA_SYNC, LAYER_UNIT, 0, "hopper_mma_sync", 1, 1, 1},
    {MXO_P_ORDER_VOLTA, LAYER_UNIT, 0, "volta", 1, 1, 1},
    {MXO_P_ORDER_TURING, LAYER_UNIT, 0, "turing", 1, 1, 1},
    {MXO_P_ORDER_AMPERE, LAYER_UNIT, 0, "ampere", 1, 1, 1},
    {MXO_P_ORDER_ADA, LAYER_UNIT, 0, "ada", 1, 1, 1},
    {MXO_P_ORDER_BLACKWELL, LAYER_UNIT, 0, "blackwell", 1, 1, 1},
    {MXO_P_ORDER_BLACKWELL_MX, LAYER_UNIT, 0, "blackwell_mx", 1, 0, 1},
    {MXO_P_ORDER_BLACKWELL_FP4, LAYER_UNIT, 0, "blackwell_fp4", 1, 0, 1},
    {MXO_P_ORDER_CDNA1, LAYER_UNIT, 0, "cdna1", 1, 1, 1},
    {MXO_P_ORDER_CDNA2, LAYER_UNIT, 0, "cdna2", 1, 1, 1},
    {MXO_P_ORDER_CDNA3, LAYER_UNIT, 0, "cdna3", 1, 1, 1},
};

const layer_order *layer_order_of(mxo_profile_choice order)
{
    const layer_order *row = rows;

    while (row->choice != order) {
        row++;
    }
    return row;
}

/* Operands in 16 bits, one order over the whole of K.  The CPU's tiles have no
   place for a start: the bias is added behind them. */
static void steps_column(const layer_gemm *g, const layer_tile *tile,
                         uint64_t row, uint32_t start, uint32_t *y)
{
    const int is_amx = g->order->order == MXO_ORDER_AMX;
    const mxo_dot_matrix b = {g->narrow, g->wide, NULL, g->k};
    const mxo_order_job job = {&g->a,
                               &b,
                               (mxo_order)g->order->order,
                               g->recipe->fma,
                               g->recipe->splits,
                               is_amx ? 0 : start};

    layer_widen(g, row);
    for (int r = 0; r < tile->rows; r++) {
        y[r] = mxo_order_dot(&job, tile->row[r], 0);
        if (is_amx && g->recipe->bias == MXO_P_BIAS1_ORDER) {
            y[r] = mxo_f32_add(y[r], start);
        }
    }
}

/* The products of a block without scales, then the scale, then the sum. */
static void blocks_column(const layer_gemm *g, const layer_tile *tile,
                          uint64_t row, uint32_t start, uint32_t *y)
{
    const mxo_dot_matrix a = {g->a.format, g->a.codes, NULL, g->a.k};
    const mxo_dot_matrix w = {MXO_FMT_E2M1, g->w, NULL, g->k};
    const mxo_order_job job = {&a, &w, MXO_ORDER_SEQ, g->recipe->fma, 1, 0};

    for (int r = 0; r < tile->rows; r++) {
        y[r] = start;
        for (uint64_t b = 0; b < layer_blocks(g->k); b++) {
            const uint32_t part = mxo_order_part(&job, tile->row[r], row, b);
            y[r] = layer_add_scaled(g, tile->row[r], row, b, part, y[r]);
        }
    }
}

uint32_t layer_add_scaled(const layer_gemm *g, uint64_t a_row, uint64_t row,
                          uint64_t b, uint32_t part, uint32_t sum)
{
    const mxo_real scale =
        mxo_real_mul(mxo_dot_block_scale(&g->a, a_row, b),
                     mxo_format_decode(MXO_FMT_F32, layer_factor(g, row, b)));
    const mxo_real x =
        mxo_real_mul(mxo_format_decode(MXO_FMT_F32, part), scale);

    return g->recipe->fma
               ? mxo_f32_add_real(sum, x)
               : mxo_f32_add(sum, (uint32_t)mxo_format_round(MXO_FMT_F32, x));
}

void layer_order_column(const layer_gemm *g, const layer_tile *tile,
                        uint64_t col, uint32_t start, uint32_t *y)
{
    const uint64_t row = layer_weight_row(g, tile, col);

    if (g->order->way == LAYER_BLOCKS) {
        blocks_column(g, tile, row, start, y);
    } else {
        steps_column(g, tile, row, start, y);
    }
}
