/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two GEMMs of a layer as its plan has them: operands, tiles, routing
 * weights and places of results, for one number and for intervals alike.
 */
#include "plan.h"

#include <string.h>

void *layer_scratch_at(const layer_plan *p, uint64_t offset)
{
    uint8_t *base = mxo_tensor_data(mxo_call_out(p->call, ".scratch"));

    return base + offset;
}

/* The rows of one expert, by up to LAYER_TILE at a time. */
static void each_tile_of(const layer_plan *p, int second, uint64_t expert,
                         void (*tile)(void *state, const layer_tile *tile),
                         void *state)
{
    const uint64_t slots = p->tokens * p->topk;
    layer_tile t = {expert, p->loaded == NULL ? expert : 0, {0}, {0}, 0};
    int is_at_hand = p->loaded == NULL;

    for (uint64_t i = 0; i < slots; i++) {
        if (layer_expert(p, i) == (int64_t)expert) {
            t.slot[t.rows] = i;
            t.row[t.rows++] = second ? i : i / p->topk;
        }
        if (t.rows == LAYER_TILE || (i + 1 == slots && t.rows > 0)) {
            if (!is_at_hand) {
                layer_bring_back(p->loaded, second, expert);
                is_at_hand = 1;
            }
            tile(state, &t);
            t.rows = 0;
        }
    }
}

void layer_each_tile(const layer_plan *p, int second,
                     void (*tile)(void *state, const layer_tile *tile),
                     void *state)
{
    for (uint64_t e = 0; e < p->experts; e++) {
        each_tile_of(p, second, e, tile, state);
    }
}

void layer_store_code(mxo_format f, void *to, uint64_t i, uint64_t code)
{
    const uint32_t wide = (uint32_t)code;
    const uint16_t narrow = (uint16_t)code;
    uint8_t *at = to;

    if (f == MXO_FMT_F32) {
        memcpy(at + 4 * i, &wide, sizeof wide);
    } else {
        memcpy(at + 2 * i, &narrow, sizeof narrow);
    }
}

void layer_store(mxo_format format, void *to, uint64_t i, uint32_t x)
{
    layer_store_code(format, to, i, layer_code(format, x));
}

int layer_weighs_rows(const layer_recipe *two)
{
    return two->routing_at == MXO_P_ROUTING_AT_ACC ||
           two->routing_at == MXO_P_ROUTING_AT_ROUNDED;
}

int layer_weighs_first(const layer_plan *p)
{
    return p->has_two && p->two.routing_at == MXO_P_ROUTING_AT_GEMM1;
}

uint32_t layer_weight(const layer_plan *p, uint64_t slot)
{
    const uint32_t up = (uint32_t)(127 + p->two.behind) << 23;
    const mxo_tensor *t = mxo_call_in(p->call, "topk_weights");
    const uint32_t w =
        layer_round(p->two.routing_type, (uint32_t)mxo_load(t, slot));

    return layer_scales_late(&p->two) ? mxo_f32_mul(w, up) : w;
}

uint64_t layer_weigh_act(const layer_plan *p, uint64_t slot, uint64_t y)
{
    const mxo_format f = p->one.unit.to;

    return p->has_two && p->two.routing_at == MXO_P_ROUTING_AT_GLU
               ? layer_code(f, mxo_f32_mul(mxo_quant_widen(f, y),
                                           layer_weight(p, slot)))
               : y;
}

layer_gemm layer_open_gemm(const layer_plan *p, int second, mxo_dot_matrix a)
{
    const char *const names[2][3] = {{"w13", "w13_scale", "w13_bias"},
                                     {"w2", "w2_scale", "w2_bias"}};
    const char *const *name = names[second];
    const layer_recipe *r = second ? &p->two : &p->one;
    const layer_gemm g = {
        r,
        a,
        layer_order_of(r->order),
        mxo_tensor_data(mxo_call_in(p->call, name[0])),
        mxo_tensor_data(mxo_call_in(p->call, name[1])),
        mxo_call_in(p->call, name[2]),
        second ? p->hidden : 2 * p->inter,
        second ? p->inter : p->hidden,
        layer_scratch_at(p, p->at.blocks),
        a.format == MXO_FMT_F16 ? MXO_FMT_F16 : MXO_FMT_BF16,
        layer_scratch_at(p, p->at.wide),
        layer_scratch_at(p, p->at.unit_a),
        layer_scratch_at(p, p->at.unit_w),
    };

    return g;
}

/* Hidden states as the layer gets them, or times their routing weights. */
static layer_source source_of(const layer_plan *p)
{
    const mxo_tensor *x = mxo_call_in(p->call, "x");
    const mxo_tensor *scale = mxo_call_in(p->call, "x_scale");
    layer_source src = {mxo_call_format(p->call, "from"), mxo_tensor_data(x),
                        scale == NULL ? NULL : mxo_tensor_data(scale),
                        p->tokens, p->hidden};
    void *weighed = layer_scratch_at(p, p->at.weighed);

    if (!p->has_two || p->two.routing_at != MXO_P_ROUTING_AT_INPUT) {
        return src;
    }
    for (uint64_t i = 0; i < p->tokens * p->hidden; i++) {
        layer_store(src.from, weighed, i,
                    mxo_f32_mul(layer_load(src.from, src.codes, i),
                                layer_weight(p, i / p->hidden)));
    }
    src.codes = weighed;
    return src;
}

layer_gemm layer_first_gemm(const layer_plan *p)
{
    const layer_source src = source_of(p);

    return layer_open_gemm(p, 0,
                           layer_quantise(&p->one.quant, &src,
                                          layer_scratch_at(p, p->at.q1),
                                          layer_scratch_at(p, p->at.s1)));
}

layer_gemm layer_second_gemm(const layer_plan *p, mxo_format from,
                             const void *act)
{
    const layer_source src = {from, act, NULL, p->tokens * p->topk, p->inter};

    return layer_open_gemm(p, 1,
                           layer_quantise(&p->two.quant, &src,
                                          layer_scratch_at(p, p->at.q2),
                                          layer_scratch_at(p, p->at.s2)));
}
