/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of K that are rounded each by itself: what must be so that they make
   sense. */
#ifndef GPU_PLAN_RECIPE_PARTS_H
#define GPU_PLAN_RECIPE_PARTS_H

#include "layer_plan/layer_job.h"
#include "port/runtime.h"

/* Parts that are added in bf16 leave nothing for behind them. */
static inline mxo_status recipe_parts(const layer_job *j, int second,
                                      mxo_text why)
{
    const layer_gemm *const g = second ? &j->two : &j->one;
    const uint32_t kind = j->rest[second].order.kind;
    const int is_inside = g->bias_at == LAYER_BIAS_ACC ||
                          g->bias_at == LAYER_BIAS_SUM ||
                          g->bias_at == LAYER_BIAS_FLUSHED;

    if (kind == LAYER_ORDER_HALVES && is_inside) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s on %s: gemm1_out=split2_bf16 needs a bias behind "
                        "it",
                        j->call->op, GPU_NAME);
    }
    if (kind == LAYER_ORDER_STREAMK &&
        (g->mid != LAYER_BF16 || g->bias_at >= LAYER_BIAS_BEHIND)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s on %s: order=streamk_bf16 needs results in bf16 "
                        "with nothing behind them",
                        j->call->op, GPU_NAME);
    }
    return MXO_OK;
}

/* Both halves of K are rounded each by itself. */
static inline mxo_status recipe_halves(layer_job *j, mxo_text why)
{
    layer_order *const o = &j->rest[0].order;

    if (o->kind != LAYER_ORDER_ANY || j->one.exact) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s on %s: gemm1_out=split2_bf16 needs order=any",
                        j->call->op, GPU_NAME);
    }
    o->kind = LAYER_ORDER_HALVES;
    o->splits = 2;
    j->one.mid = LAYER_BF16;
    return MXO_OK;
}

#endif
