/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer as docs/ops/moe.layer.md has it, one statement per line of its
 * Map: no tiles, no caches, no special scale bytes, one product at a time.
 * Slow, and the definition: op.c must give the same bits (test_layer_plain).
 *
 * A profile (recipe.h) says which types, roundings and orders are meant.
 * Declared orders are defined in dot/order.c, matrix instructions in mma/.
 */
#include "plain.h"

#include "op.h"

#include <string.h>

/* One GEMM: activations, and the matrix of the expert in hand. */
typedef struct plain_gemm {
    const layer_gemm *g;
    layer_tile tile; /* one row of one expert */
} plain_gemm;

/* A weight times its scale; unless by rule ocp, in the kernel's 16 bits. */
static mxo_real weight(const plain_gemm *p, uint64_t row, uint64_t k)
{
    const layer_gemm *g = p->g;
    const mxo_dot_matrix w = {MXO_FMT_E2M1, g->w, g->scale, g->k};
    const mxo_dequant_rule rule = g->recipe->weight_rule;
    const uint8_t code = mxo_load_nibble(g->w, row * g->k + k);
    const uint8_t byte = g->scale[row * layer_blocks(g->k) + k / MXO_MX_BLOCK];

    return rule == MXO_DEQUANT_OCP
               ? mxo_dot_element(&w, row, k)
               : mxo_format_decode(
                     g->narrow,
                     mxo_dequant_mx(rule, MXO_FMT_E2M1, g->narrow, code, byte));
}

/* The real sum of a part of a . w and start, rounded once to binary32. */
static uint32_t exact_sum(const plain_gemm *p, uint64_t row, uint64_t part,
                          uint32_t start)
{
    const uint64_t end = layer_part_at(p->g, part + 1) * MXO_MX_BLOCK;
    mxo_dot sum;

    mxo_dot_reset(&sum);
    mxo_dot_add(&sum, mxo_format_decode(MXO_FMT_F32, start));
    for (uint64_t k = layer_part_at(p->g, part) * MXO_MX_BLOCK;
         k < end && k < p->g->k; k++) {
        mxo_dot_add_product(&sum, mxo_dot_element(&p->g->a, p->tile.row[0], k),
                            weight(p, row, k));
    }
    return (uint32_t)mxo_dot_round(&sum, MXO_FMT_F32);
}

/* Blocks of 32 without their weights' scale, in binary32; an fma by it each. */
static uint32_t block_sum(const plain_gemm *p, uint64_t row)
{
    const layer_gemm *g = p->g;
    uint32_t y = 0;

    for (uint64_t b = 0; b < layer_blocks(g->k); b++) {
        mxo_dot part;
        mxo_dot_reset(&part);
        for (uint64_t k = b * MXO_MX_BLOCK;
             k < g->k && k < (b + 1) * MXO_MX_BLOCK; k++) {
            const uint8_t code = mxo_load_nibble(g->w, row * g->k + k);
            mxo_dot_add_product(&part,
                                mxo_dot_element(&g->a, p->tile.row[0], k),
                                mxo_format_decode(MXO_FMT_E2M1, code));
        }
        y = mxo_f32_fma((uint32_t)mxo_dot_round(&part, MXO_FMT_F32),
                        layer_factor(g, row, b), y);
    }
    return y;
}

/* A part of a . w[row] in the declared order, from start. */
static uint32_t sum_in_order(plain_gemm *p, uint64_t col, uint64_t part,
                             uint32_t start)
{
    const layer_gemm *g = p->g;
    const uint64_t row = layer_weight_row(g, &p->tile, col);
    uint32_t y = 0;

    if (g->order->way == LAYER_EXACT) {
        return g->recipe->scale_at == MXO_P_SCALE_AT_BLOCK
                   ? block_sum(p, row)
                   : exact_sum(p, row, part, start);
    }
    if (g->order->way == LAYER_UNIT) {
        layer_unit_load(g, &p->tile);
        layer_unit_column(g, &p->tile, col, start, &y);
    } else {
        layer_order_column(g, &p->tile, col, start, &y);
    }
    return y;
}

/* a . w[e] (+ bias) -> out: bias inside the sum, behind it in binary32, or
   behind the rounding, rounded again.  Parts of K are rounded each. */
static uint32_t product(plain_gemm *p, uint64_t col, mxo_profile_choice out)
{
    const layer_recipe *r = p->g->recipe;
    const uint64_t row = layer_weight_row(p->g, &p->tile, col);
    const uint32_t bias =
        r->bias == MXO_P_BIAS1_NONE ? 0 : layer_bias_at(p->g, row);
    uint32_t y = 0;

    for (uint64_t n = layer_parts(p->g), i = n; i-- > 0;) {
        const uint32_t part =
            sum_in_order(p, col, i, r->bias == MXO_P_BIAS1_ORDER ? bias : 0);
        y = layer_add_part(r, out, bias, i + 1 == n, y, part);
    }
    return layer_end_parts(r, out, bias, y);
}

/* h = a . w13[e] (+ w13_bias[e]) -> gemm1_out. */
static uint32_t hidden(const layer_plan *l, plain_gemm *p, uint64_t col)
{
    uint32_t h = product(p, col, l->one.gemm_out);

    if (layer_weighs_first(l)) {
        h = mxo_f32_mul(h, layer_weight(l, p->tile.slot[0]));
        h = layer_round(l->one.gemm_out, h);
    }
    return h;
}

/* y = glu(gate(h), up(h)) -> glu_out, one row. */
static void activate(const layer_plan *l, plain_gemm *p, void *act)
{
    const mxo_glu unit = layer_unit_of(l, p->tile.expert);
    const int joint = mxo_call_is(l->call, "rows", "interleaved");

    for (uint64_t i = 0; i < l->inter; i++) {
        const uint64_t gate = joint ? 2 * i : i;
        const uint64_t up = joint ? 2 * i + 1 : l->inter + i;
        const uint64_t y = layer_weigh_act(
            l, p->tile.slot[0],
            layer_act(&l->one, &unit, hidden(l, p, gate), hidden(l, p, up)));
        const uint64_t at = p->tile.slot[0] * l->inter + i;
        layer_store(unit.to, act, at, mxo_quant_widen(unit.to, y));
    }
}

/* z = b . w2[e] (+ w2_bias[e]) (* weight) -> row_out; a binary32 pattern. */
static uint32_t routed(const layer_plan *l, plain_gemm *p, uint64_t col)
{
    const layer_recipe *r = &l->two;

    const int early = r->routing_at == MXO_P_ROUTING_AT_ACC;
    const uint32_t z = product(p, col, early ? MXO_P_ROW_OUT_F32 : r->row_out);
    const uint32_t w = layer_weight(l, p->tile.slot[0]);

    return layer_weighs_rows(r) ? layer_round(r->row_out, mxo_f32_mul(z, w))
                                : z;
}

/* The row of slot i of one of the GEMMs, its expert's weights at hand. */
static plain_gemm at_slot(const layer_plan *l, const layer_gemm *g, int second,
                          uint64_t i)
{
    const uint64_t expert = (uint64_t)layer_expert(l, i);
    plain_gemm p = {g, {expert, expert, {0}, {0}, 1}};

    if (l->loaded != NULL) {
        layer_bring_back(l->loaded, second, expert);
        p.tile.matrix = 0;
    }
    p.tile.slot[0] = i;
    p.tile.row[0] = second ? i : i / l->topk;
    return p;
}

/* y[t] = sum over j of z -> out. */
static void combine(const layer_plan *l, const uint32_t *z)
{
    const mxo_tensor *y = mxo_call_out(l->call, "y");
    mxo_finalize_term *terms = layer_scratch_at(l, l->at.terms);
    uint64_t *slot = layer_scratch_at(l, l->at.slots);

    for (uint64_t t = 0; t < l->tokens; t++) {
        const uint32_t n = layer_token_slots(l, t, slot);
        for (uint64_t c = 0; c < l->hidden; c++) {
            for (uint32_t j = 0; j < n; j++) {
                terms[j].x = z[slot[j] * l->hidden + c];
                terms[j].weight = layer_weight(l, slot[j]);
            }
            mxo_store(y, t * l->hidden + c, layer_sum(&l->two, terms, n));
        }
    }
}

static void run(const layer_plan *l)
{
    const uint64_t slots = l->tokens * l->topk;
    void *act = layer_scratch_at(l, l->at.act);
    uint32_t *z = layer_scratch_at(l, l->at.rows);
    const uint64_t bytes = l->one.unit.to == MXO_FMT_F32 ? 4 : 2;

    memset(act, 0, (size_t)(slots * l->inter * bytes));
    memset(z, 0, (size_t)(slots * l->hidden * 4));
    const layer_gemm one = layer_first_gemm(l); /* a = quantise(x) */

    for (uint64_t i = 0; i < slots; i++) {
        if (layer_expert(l, i) >= 0) {
            plain_gemm p = at_slot(l, &one, 0, i);
            activate(l, &p, act);
        }
    }
    /* b = quantise(y) */
    const layer_gemm two = layer_second_gemm(l, l->one.unit.to, act);

    for (uint64_t i = 0; i < slots; i++) {
        if (layer_expert(l, i) >= 0) {
            plain_gemm p = at_slot(l, &two, 1, i);
            for (uint64_t c = 0; c < l->hidden; c++) {
                z[i * l->hidden + c] = routed(l, &p, c);
            }
        }
    }
    combine(l, z);
}

mxo_status run_moe_layer_plain(const mxo_call *call, mxo_text why)
{
    const int both[2] = {1, 1};
    layer_plan p;
    layer_loaded l;

    MXO_TRY(layer_prepare(&p, &l, call, both, why));
    if (p.has_bounds) {
        return mxo_fail(MXO_E_UNSUPPORTED, why,
                        "the plain layer has one result, not two ends");
    }
    run(&p);
    return MXO_OK;
}
