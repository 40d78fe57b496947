/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of K that are rounded each by itself.  Stream-K stores the last part
 * with its bias and adds the others to it, towards k = 0.  Of two halves the
 * bias comes behind the sum, which has no order.
 */
#include "layer.h"

static int is_streamk(const layer_recipe *r)
{
    return r->order == MXO_P_ORDER_STREAMK;
}

mxo_status layer_check_parts(const layer_recipe *r, const mxo_call *call,
                             mxo_profile_choice out, mxo_text why)
{
    const int is_inside = r->bias == MXO_P_BIAS1_ACC ||
                          r->bias == MXO_P_BIAS1_ACC_FTZ ||
                          r->bias == MXO_P_BIAS1_ORDER;
    const int is_behind =
        r->bias == MXO_P_BIAS1_BEHIND || r->bias == MXO_P_BIAS1_UNROUNDED;

    if (is_streamk(r) &&
        (is_behind || (out != MXO_P_GEMM1_OUT_BF16 &&
                       (out != MXO_P_ROW_OUT_BF16 ||
                        r->routing_at == MXO_P_ROUTING_AT_ACC)))) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: order=streamk_bf16 adds parts in bf16: its "
                        "results are bf16, no weight or bias is left behind "
                        "them",
                        call->op);
    }
    if (out == MXO_P_GEMM1_OUT_SPLIT2 &&
        (is_inside || r->order != MXO_P_ORDER_ANY)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: gemm1_out=split2_bf16 needs order=any and a bias "
                        "behind it",
                        call->op);
    }
    return MXO_OK;
}

static uint64_t blocks_of_part(const layer_gemm *g)
{
    const uint64_t blocks = layer_blocks(g->k);
    const uint64_t n = g->recipe->parts;

    return blocks / n + (blocks % n != 0);
}

/* Of no columns there is one part, of which the bias is left. */
uint64_t layer_parts(const layer_gemm *g)
{
    const uint64_t size = blocks_of_part(g);

    return g->recipe->parts == 1 || size == 0
               ? 1
               : (layer_blocks(g->k) + size - 1) / size;
}

uint64_t layer_part_at(const layer_gemm *g, uint64_t part)
{
    const uint64_t blocks = layer_blocks(g->k);
    const uint64_t at = part * blocks_of_part(g);

    return at < blocks ? at : blocks;
}

layer_recipe layer_part_recipe(const layer_recipe *r, int is_first)
{
    layer_recipe one = *r;

    if (r->parts > 1 && (!is_first || !is_streamk(r))) {
        one.bias = MXO_P_BIAS1_NONE;
    }
    return one;
}

uint32_t layer_add_part(const layer_recipe *r, mxo_profile_choice out,
                        uint32_t bias, int is_first, uint32_t sum, uint32_t y)
{
    const layer_recipe one = layer_part_recipe(r, is_first);
    const uint32_t part = layer_finish(&one, out, bias, y);

    return is_first ? part : layer_round(out, mxo_f32_add(sum, part));
}

uint32_t layer_end_parts(const layer_recipe *r, mxo_profile_choice out,
                         uint32_t bias, uint32_t sum)
{
    return r->parts == 1 || is_streamk(r)
               ? sum
               : layer_bias_behind(r, out, bias, sum);
}
