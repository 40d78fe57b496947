/* SPDX-License-Identifier: Apache-2.0 */
/* How a call adds the rows of a token. */
#ifndef GPU_PLAN_RECIPE_SUM_H
#define GPU_PLAN_RECIPE_SUM_H

#include "layer_plan/plan_recipe.h"

static inline mxo_status recipe_sum(const mxo_call *call, layer_sum_args *s,
                                    mxo_text why)
{
    static const layer_choice sums[] = {{"fma", LAYER_SUM_FMA},
                                        {"product", LAYER_SUM_PRODUCT},
                                        {"slots", LAYER_SUM_SLOTS},
                                        {"moe_sum", LAYER_SUM_MOE},
                                        {"cpu", LAYER_SUM_CPU},
                                        {"atomic_bf16", LAYER_SUM_ATOMIC},
                                        {"exact", LAYER_SUM_EXACT},
                                        {"fma_ftz", LAYER_SUM_FLUSHED},
                                        {"by_expert", LAYER_SUM_BY_EXPERT},
                                        {"experts_bf16", LAYER_SUM_EXPERTS},
                                        {"scatter_bf16", LAYER_SUM_SCATTER},
                                        {NULL, 0}};
    const char *const at = layer_word(call, "routing_at");

    MXO_TRY(layer_choose(call, "sum", sums, &s->sum, why));
    MXO_TRY(layer_choose(call, "out", layer_types, &s->out, why));
    if (s->sum == LAYER_SUM_SCATTER) { /* one slot is stored, more are added */
        const mxo_tensor *const ids = call_in(call, "topk_ids");
        const double topk =
            ids != NULL ? (double)ids->shape[1] : call_number(call, "top_k");
        s->sum = topk == 1 ? LAYER_SUM_CPU : LAYER_SUM_ATOMIC;
    }
    s->weigh = at != NULL && strcmp(at, "sum") == 0;
    const int weighs = s->sum == LAYER_SUM_FMA || s->sum == LAYER_SUM_PRODUCT ||
                       s->sum == LAYER_SUM_FLUSHED;

    if (s->sum != LAYER_SUM_EXACT && weighs != (int)s->weigh) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s on %s: sum=%s and routing_at=%s contradict each "
                        "other",
                        call->op, GPU_NAME, layer_word(call, "sum"), at);
    }
    return MXO_OK;
}

#endif
