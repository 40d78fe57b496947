/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer's sums as a chain of matrix instructions, bit for bit as mma.chain
 * has them.  Three ways to treat scales:
 *
 * scale_at=weight  both operands are dequantised: to the activations' own type
 *                  if they have no scale (binary32 as TF32), else to BF16
 * scale_at=block   codes without scales, a chain of its own per block of 32;
 *                  times the scales, added in binary32
 * a unit that multiplies scales itself gets codes and bytes
 *
 * E2M1 weights beside FP8 activations are FP8 numbers, all of them exact.
 */
#include "layer.h"

#include "../mma/chain.h"

enum { MAX_STEP = 64 };

typedef struct type_row {
    mxo_format a;
    mxo_mma_type type;
} type_row;

static const type_row types[] = {
    {MXO_FMT_BF16, MXO_MMA_BF16}, {MXO_FMT_F16, MXO_MMA_F16},
    {MXO_FMT_F32, MXO_MMA_TF32},  {MXO_FMT_E4M3FN, MXO_MMA_E4M3FN},
    {MXO_FMT_E5M2, MXO_MMA_E5M2}, {MXO_FMT_E2M1, MXO_MMA_E2M1},
};

enum { N_TYPES = sizeof types / sizeof types[0] };

static const mxo_mma *find(const char *unit, mxo_format f)
{
    for (int i = 0; i < N_TYPES; i++) {
        if (types[i].a == f) {
            return mxo_mma_find(unit, types[i].type);
        }
    }
    return NULL;
}

static mxo_format format_of(const mxo_mma *m)
{
    for (int i = 0; i < N_TYPES; i++) {
        if (types[i].type == (mxo_mma_type)m->type) {
            return types[i].a;
        }
    }
    return MXO_FMT_BF16;
}

/* The unit multiplies scale bytes itself. */
static int takes_scales(const layer_order *order)
{
    return !order->by_block;
}

const mxo_mma *layer_unit_for(const layer_recipe *r, mxo_format a,
                              int is_quantised, int has_bytes)
{
    const layer_order *order = layer_order_of(r->order);

    if (takes_scales(order)) {
        return has_bytes ? find(order->unit, a) : NULL;
    }
    if (r->scale_at == MXO_P_SCALE_AT_WEIGHT) {
        return find(order->unit, is_quantised ? MXO_FMT_BF16 : a);
    }
    const mxo_mma *m = find(order->unit, a);

    /* FP4 where there is only FP8. */
    m = m == NULL && a == MXO_FMT_E2M1 ? find(order->unit, MXO_FMT_E4M3FN) : m;
    return m != NULL && m->step <= MXO_MX_BLOCK ? m : NULL;
}

uint64_t layer_unit_pitch(uint64_t k)
{
    return (k + MAX_STEP - 1) / MAX_STEP * MAX_STEP;
}

/* Codes of a row as the unit's type; scaled: times its scale bytes. */
static void load(const layer_gemm *g, const mxo_dot_matrix *m, uint64_t row,
                 uint32_t *codes)
{
    const mxo_format to = format_of(g->recipe->mma);

    for (uint64_t k = 0; k < layer_unit_pitch(g->k); k++) {
        codes[k] =
            k < g->k
                ? (uint32_t)mxo_format_round(to, mxo_dot_element(m, row, k))
                : 0;
    }
}

static int keeps_codes(const layer_gemm *g)
{
    return takes_scales(g->order) ||
           g->recipe->scale_at == MXO_P_SCALE_AT_BLOCK;
}

void layer_unit_load(const layer_gemm *g, const layer_tile *tile)
{
    mxo_dot_matrix a = g->a;

    a.scale = keeps_codes(g) ? NULL : a.scale;
    for (int r = 0; r < tile->rows; r++) {
        load(g, &a, tile->row[r],
             g->unit_a + (uint64_t)r * layer_unit_pitch(g->k));
    }
}

static void load_weights(const layer_gemm *g, uint64_t row)
{
    const mxo_dot_matrix codes = {MXO_FMT_E2M1, g->w, NULL, g->k};
    const mxo_dot_matrix wide = {g->narrow, g->wide, NULL, g->k};

    if (keeps_codes(g)) {
        load(g, &codes, row, g->unit_w);
        return;
    }
    layer_widen(g, row);
    load(g, &wide, 0, g->unit_w);
}

/* Products first .. end - 1 of a chain. */
static void steps(const layer_gemm *g, mma_chain *c, const uint32_t *a,
                  uint64_t end, mxo_mma_operand x, mxo_mma_operand w)
{
    const uint32_t step = g->recipe->mma->step;
    const uint64_t first = c->done;

    for (uint64_t k = first; k < end; k += step) {
        x.code = a + k;
        w.code = g->unit_w + k;
        mma_chain_step(c, x, w);
        x.scale = x.scale == NULL ? NULL : x.scale + step / MXO_MX_BLOCK;
        w.scale = w.scale == NULL ? NULL : w.scale + step / MXO_MX_BLOCK;
    }
}

/* The whole of K in one chain. */
static uint32_t chain(const layer_gemm *g, const uint32_t *a, uint64_t a_row,
                      uint64_t row, uint32_t start)
{
    const uint64_t blocks = layer_blocks(g->k);
    const int scaled = takes_scales(g->order);
    const mxo_mma_operand x = {
        NULL, scaled ? g->a.scale + a_row * blocks : NULL, MXO_MX_BLOCK, 0};
    const mxo_mma_operand w = {NULL, scaled ? g->scale + row * blocks : NULL,
                               MXO_MX_BLOCK, 0};
    mma_chain c = mma_chain_from(g->recipe->mma, g->recipe->promote, start);

    steps(g, &c, a, g->k, x, w);
    return mma_chain_value(&c);
}

/* A chain per block. */
static uint32_t chains(const layer_gemm *g, const uint32_t *a, uint64_t a_row,
                       uint64_t row, uint32_t start)
{
    const mxo_mma_operand plain = {NULL, NULL, MXO_MX_BLOCK, 0};
    uint32_t sum = start;

    for (uint64_t b = 0; b < layer_blocks(g->k); b++) {
        mma_chain c = mma_chain_from(g->recipe->mma, 0, 0);

        c.done = b * MXO_MX_BLOCK;
        steps(g, &c, a, (b + 1) * MXO_MX_BLOCK, plain, plain);
        sum = layer_add_scaled(g, a_row, row, b, mma_chain_value(&c), sum);
    }
    return sum;
}

void layer_unit_column(const layer_gemm *g, const layer_tile *tile,
                       uint64_t col, uint32_t start, uint32_t *y)
{
    const uint64_t row = layer_weight_row(g, tile, col);

    load_weights(g, row);
    for (int r = 0; r < tile->rows; r++) {
        const uint32_t *a = g->unit_a + (uint64_t)r * layer_unit_pitch(g->k);
        y[r] = g->recipe->scale_at == MXO_P_SCALE_AT_BLOCK
                   ? chains(g, a, tile->row[r], row, start)
                   : chain(g, a, tile->row[r], row, start);
    }
}
