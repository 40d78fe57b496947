/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of K that are rounded each by itself: which GEMM has them, and what
   must be so that they make sense. */
#include "layer.h"

#include <string.h>

int cpu_layer_is_split(const layer *l)
{
    return strcmp(cpu_layer_word(l->call, LAYER_GEMM1_OUT), "split2_bf16") == 0;
}

/* Results in bf16, with nothing left to do behind them. */
static int streams(const layer *l, const layer_gemm *g)
{
    const int is_early = g == &l->two && l->routing_at == LAYER_AT_ACC;

    return g->out == LAYER_BF16 && g->place < LAYER_BIAS_BEHIND && !is_early;
}

static int is_behind(const layer_gemm *g)
{
    return g->place == LAYER_BIAS_NONE || g->place == LAYER_BIAS_ROUNDED ||
           g->place >= LAYER_BIAS_BEHIND;
}

mxo_status cpu_layer_read_parts(layer *l, mxo_text why)
{
    const int is_split = l->has_one && cpu_layer_is_split(l);
    const int is_any = strcmp(cpu_layer_word(l->call, LAYER_ORDER), "any") == 0;

    l->one.parts = is_split ? 2 : l->is_streamk ? l->order.splits : 1;
    l->two.parts = l->is_streamk ? l->order.splits : 1;
    if (is_split && (!is_any || !is_behind(&l->one))) {
        return cpu_fail(MXO_E_PARAM, why,
                        "gemm1_out=split2_bf16 needs order=any and a bias "
                        "behind it");
    }
    if (l->is_streamk && ((l->has_one && !streams(l, &l->one)) ||
                          (l->has_two && !streams(l, &l->two)))) {
        return cpu_fail(MXO_E_PARAM, why,
                        "order=streamk_bf16 needs results in bf16 with "
                        "nothing behind them");
    }
    return MXO_OK;
}
