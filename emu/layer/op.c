/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.layer and its two halves, moe.gemm1 and moe.gemm2.  Experts are taken
 * one after the other, their (token, slot) pairs in tiles; every intermediate
 * that is kept has a row per pair, in the order of topk_ids.
 */
#include "op.h"

#include "../bounds/bound.h"

#include <string.h>

/* State of a GEMM's visit to the tiles of one expert. */
typedef struct pass {
    const layer_plan *plan;
    const layer_gemm *gemm;
    void *to;
} pass;

static mxo_status infer(const layer_plan *p, mxo_tensor *out_tensor,
                        uint32_t *n_out, uint32_t dtype, uint32_t rank,
                        const uint64_t *shape)
{
    uint32_t n = 0;

    if (p->has_bounds) {
        mxo_out(out_tensor, n++, "y_lo", dtype, rank, shape);
        mxo_out(out_tensor, n++, "y_hi", dtype, rank, shape);
    } else {
        mxo_out(out_tensor, n++, "y", dtype, rank, shape);
    }
    mxo_out(out_tensor, n++, ".scratch", MXO_U8, 1, &p->at.bytes);
    *n_out = n;
    return MXO_OK;
}

static uint32_t dtype_for(mxo_format f)
{
    return f == MXO_FMT_F32 ? MXO_F32 : f == MXO_FMT_F16 ? MXO_F16 : MXO_BF16;
}

static uint32_t dtype_of(const mxo_profile_choice out)
{
    return dtype_for(layer_format(out));
}

/* A plan, over the checkpoint's tensors, with room for an expert of those that
   have to be brought back: it begins where *offset says. */
static mxo_status make(layer_plan *p, layer_loaded *l, uint64_t *offset,
                       const mxo_call *call, const int has[2], mxo_text why)
{
    MXO_TRY(layer_read_loaded(l, call, has[0], has[1], why));
    MXO_TRY(layer_plan_make(p, &l->call, has[0], has[1], why));
    if (p->has_bounds) {
        bound_place(p);
        MXO_TRY(bound_check(p, why));
    }
    p->loaded = l->row == NULL ? NULL : l;
    *offset = layer_take(p, l->bytes);
    return MXO_OK;
}

mxo_status infer_moe_layer(const mxo_call *call, mxo_tensor *out_tensor,
                           uint32_t *n_out, mxo_text why)
{
    layer_plan p;
    layer_loaded l;
    uint64_t offset;
    const int both[2] = {1, 1};

    MXO_TRY(make(&p, &l, &offset, call, both, why));
    const uint64_t shape[2] = {p.tokens, p.hidden};

    return infer(&p, out_tensor, n_out, dtype_of(p.two.out), 2, shape);
}

mxo_status infer_moe_gemm1(const mxo_call *call, mxo_tensor *out_tensor,
                           uint32_t *n_out, mxo_text why)
{
    layer_plan p;
    layer_loaded l;
    uint64_t offset;
    const int first[2] = {1, 0};

    MXO_TRY(make(&p, &l, &offset, call, first, why));
    const uint64_t shape[3] = {p.tokens, p.topk,
                               p.has_glu ? p.inter : 2 * p.inter};

    return infer(&p, out_tensor, n_out,
                 p.has_glu ? dtype_for(p.one.unit.to)
                           : dtype_for(layer_leaves(&p.one, p.one.gemm_out)),
                 3, shape);
}

mxo_status infer_moe_gemm2(const mxo_call *call, mxo_tensor *out_tensor,
                           uint32_t *n_out, mxo_text why)
{
    layer_plan p;
    layer_loaded l;
    uint64_t offset;
    const int second[2] = {0, 1};

    MXO_TRY(make(&p, &l, &offset, call, second, why));
    const uint64_t sum[2] = {p.tokens, p.hidden};
    const uint64_t rows[3] = {p.tokens, p.topk, p.hidden};

    return p.has_sum
               ? infer(&p, out_tensor, n_out, dtype_of(p.two.out), 2, sum)
               : infer(&p, out_tensor, n_out,
                       dtype_for(layer_leaves(&p.two, p.two.row_out)), 3, rows);
}

/* The first GEMM alone: columns in the order of w13's rows. */
static void tile_gemm1(void *state, const layer_tile *tile)
{
    const pass *ps = state;
    const layer_recipe *r = &ps->plan->one;
    const uint64_t n = 2 * ps->plan->inter;
    uint32_t y[LAYER_TILE];

    layer_gemm_load(ps->gemm, tile);
    for (uint64_t c = 0; c < n; c++) {
        layer_gemm_column(ps->gemm, tile, c, r->gemm_out, y);
        for (int i = 0; i < tile->rows; i++) {
            layer_store(layer_leaves(r, r->gemm_out), ps->to,
                        tile->slot[i] * n + c, y[i]);
        }
    }
}

/* A column of the first GEMM as the activation gets it. */
static void act_column(const pass *ps, const layer_tile *tile, uint64_t col,
                       uint32_t *y)
{
    const layer_plan *p = ps->plan;
    const layer_recipe *r = &p->one;

    layer_gemm_column(ps->gemm, tile, col, r->gemm_out, y);
    for (int i = 0; layer_weighs_first(p) && i < tile->rows; i++) {
        y[i] = mxo_f32_mul(y[i], layer_weight(p, tile->slot[i]));
        y[i] = layer_round(r->gemm_out, y[i]);
    }
}

static void tile_act(void *state, const layer_tile *tile)
{
    const pass *ps = state;
    const layer_plan *p = ps->plan;
    const mxo_glu unit = layer_unit_of(p, tile->expert);
    const uint64_t n = p->inter;
    const int joint = mxo_call_is(p->call, "rows", "interleaved");
    uint32_t gate[LAYER_TILE];
    uint32_t up[LAYER_TILE];

    layer_gemm_load(ps->gemm, tile);
    for (uint64_t c = 0; c < n; c++) {
        act_column(ps, tile, joint ? 2 * c : c, gate);
        act_column(ps, tile, joint ? 2 * c + 1 : n + c, up);
        for (int i = 0; i < tile->rows; i++) {
            const uint64_t y = layer_act(&p->one, &unit, gate[i], up[i]);
            layer_store_code(unit.to, ps->to, tile->slot[i] * n + c,
                             layer_weigh_act(p, tile->slot[i], y));
        }
    }
}

/* Routed rows; with a sum still to come they stay binary32 patterns. */
static void tile_gemm2(void *state, const layer_tile *tile)
{
    const pass *ps = state;
    const layer_plan *p = ps->plan;
    const layer_recipe *r = &p->two;
    const int early = r->routing_at == MXO_P_ROUTING_AT_ACC;
    const mxo_profile_choice first = early ? MXO_P_ROW_OUT_F32 : r->row_out;
    const mxo_format to =
        p->has_sum ? MXO_FMT_F32 : layer_leaves(r, r->row_out);
    uint32_t y[LAYER_TILE];

    layer_gemm_load(ps->gemm, tile);
    for (uint64_t c = 0; c < p->hidden; c++) {
        layer_gemm_column(ps->gemm, tile, c, first, y);
        for (int i = 0; i < tile->rows; i++) {
            if (layer_weighs_rows(r)) {
                y[i] = mxo_f32_mul(y[i], layer_weight(p, tile->slot[i]));
                y[i] = layer_round(r->row_out, y[i]);
            }
            layer_store(to, ps->to, tile->slot[i] * p->hidden + c, y[i]);
        }
    }
}

/* The first half: into to, as far as the operation goes. */
static void run_first(const layer_plan *p, void *to)
{
    const layer_gemm g = layer_first_gemm(p);
    const uint64_t width = p->has_glu ? p->inter : 2 * p->inter;
    const uint32_t bytes = mxo_dtype_bytes(dtype_for(
        p->has_glu ? p->one.unit.to : layer_leaves(&p->one, p->one.gemm_out)));
    pass ps = {p, &g, to};

    /* Slots without an expert here keep zeros. */
    memset(to, 0, (size_t)(p->tokens * p->topk * width * bytes));
    layer_each_tile(p, 0, p->has_glu ? tile_act : tile_gemm1, &ps);
}

static void run_second(const layer_plan *p, mxo_format from, const void *act,
                       void *to)
{
    const layer_gemm g = layer_second_gemm(p, from, act);
    const uint32_t bytes =
        p->has_sum
            ? 4
            : mxo_dtype_bytes(dtype_for(layer_leaves(&p->two, p->two.row_out)));
    pass ps = {p, &g, to};

    memset(to, 0, (size_t)(p->tokens * p->topk * p->hidden * bytes));
    layer_each_tile(p, 1, tile_gemm2, &ps);
}

static void run_sum(const layer_plan *p)
{
    const mxo_tensor *y = mxo_call_out(p->call, "y");
    const uint32_t *rows = layer_scratch_at(p, p->at.rows);
    mxo_finalize_term *terms = layer_scratch_at(p, p->at.terms);
    uint64_t *slot = layer_scratch_at(p, p->at.slots);

    for (uint64_t t = 0; t < p->tokens; t++) {
        const uint32_t n = layer_token_slots(p, t, slot);
        for (uint64_t c = 0; c < p->hidden; c++) {
            for (uint32_t j = 0; j < n; j++) {
                terms[j].x = rows[slot[j] * p->hidden + c];
                terms[j].weight = layer_weight(p, slot[j]);
            }
            mxo_store(y, t * p->hidden + c, layer_sum(&p->two, terms, n));
        }
    }
}

static void run_layer(const layer_plan *p)
{
    void *act = layer_scratch_at(p, p->at.act);

    run_first(p, act);
    run_second(p, p->one.unit.to, act, layer_scratch_at(p, p->at.rows));
    run_sum(p);
}

static void run_gemm2(const layer_plan *p)
{
    run_second(p, mxo_call_format(p->call, "from"),
               mxo_tensor_data(mxo_call_in(p->call, "act")),
               p->has_sum ? layer_scratch_at(p, p->at.rows)
                          : mxo_tensor_data(mxo_call_out(p->call, "y")));
    if (p->has_sum) {
        run_sum(p);
    }
}

/* Data: read when the operation runs. */
static void take_scale(layer_recipe *r, const mxo_tensor *scale)
{
    if (r->quant.op == MXO_P_QUANT_STATIC || r->quant.op == MXO_P_QUANT_NVFP4) {
        layer_give_scale(&r->quant, (uint32_t)mxo_load(scale, 0));
    }
}

mxo_status layer_prepare(layer_plan *p, layer_loaded *l, const mxo_call *call,
                         const int has[2], mxo_text why)
{
    uint64_t offset;

    MXO_TRY(make(p, l, &offset, call, has, why));
    MXO_TRY(layer_check_ids(p, why));
    MXO_TRY(layer_check_units(p, why));
    MXO_TRY(layer_check_loaded(l, why));
    layer_place_loaded(l, offset);
    take_scale(&p->one, mxo_call_in(call, "w13_input_scale"));
    take_scale(&p->two, mxo_call_in(call, "w2_input_scale"));
    return MXO_OK;
}

static mxo_status run(const mxo_call *call, int has_one, int has_two,
                      mxo_text why)
{
    layer_plan p;
    layer_loaded l;
    const int has[2] = {has_one, has_two};

    MXO_TRY(layer_prepare(&p, &l, call, has, why));
    if (p.has_bounds) {
        bound_run(&p);
    } else if (has_one && has_two) {
        run_layer(&p);
    } else if (has_one) {
        run_first(&p, mxo_tensor_data(mxo_call_out(call, "y")));
    } else {
        run_gemm2(&p);
    }
    return MXO_OK;
}

mxo_status run_moe_layer(const mxo_call *call, mxo_text why)
{
    return run(call, 1, 1, why);
}

mxo_status run_moe_gemm1(const mxo_call *call, mxo_text why)
{
    return run(call, 1, 0, why);
}

mxo_status run_moe_gemm2(const mxo_call *call, mxo_text why)
{
    return run(call, 0, 1, why);
}
