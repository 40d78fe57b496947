/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.sort for AITER: rows name their pair as slot << 24 | token, blocks name
 * their expert.  layouts-aiter 9.1
 */
#include "sort.h"

static mxo_status infer(const sort_plan *p, mxo_tensor *out, uint32_t *n_out,
                        mxo_text why)
{
    const uint64_t room = p->pairs + p->num_experts * p->block;
    const uint64_t rows[1] = {room > p->top_k ? room - p->top_k : 0};
    const uint64_t blocks[1] = {mxo_sort_blocks(p, rows[0])};
    const uint64_t two[1] = {2};

    if (p->tokens >= (uint64_t)1 << 24 || p->top_k >= 128) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "moe.sort: layout=aiter has 24 bits for a token and 7 "
                        "for a slot");
    }
    /* The rows are pairs + experts * (block - 1) at worst. */
    if (p->top_k > p->num_experts) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "moe.sort: layout=aiter has no rows for more slots "
                        "than experts");
    }
    if (room > INT32_MAX) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "moe.sort: the padded rows do not fit 31 bits");
    }
    mxo_out(out, 0, "sorted_ids", MXO_I32, 1, rows);
    mxo_out(out, 1, "sorted_weights", MXO_F32, 1, rows);
    mxo_out(out, 2, "sorted_expert_ids", MXO_I32, 1, blocks);
    mxo_out(out, 3, "num_valid", MXO_I32, 1, two);
    *n_out = 4;
    return MXO_OK;
}

static void run(const sort_plan *p, const mxo_call *call)
{
    const mxo_tensor *weights = mxo_call_in(call, "topk_weights");
    const mxo_tensor *experts = mxo_call_out(call, "sorted_expert_ids");
    uint64_t row = 0;

    mxo_sort_fill(mxo_call_out(call, "sorted_ids"),
                  (uint32_t)(p->top_k << 24 | p->tokens));
    mxo_sort_fill(mxo_call_out(call, "sorted_weights"), 0);
    mxo_sort_fill(experts, 0xffffffffu);
    for (uint64_t e = 0; e < p->n_local; e++) {
        const uint64_t first = row / p->block;

        for (uint64_t i = mxo_sort_next(p, e, 0); i < p->used;
             i = mxo_sort_next(p, e, i + 1)) {
            mxo_store(mxo_call_out(call, "sorted_ids"), row,
                      i % p->top_k << 24 | i / p->top_k);
            mxo_store(mxo_call_out(call, "sorted_weights"), row,
                      mxo_load(weights, i));
            row++;
        }
        row = mxo_sort_blocks(p, row) * p->block;
        for (uint64_t b = first; b < row / p->block; b++) {
            mxo_store(experts, b, e);
        }
    }
    mxo_store(mxo_call_out(call, "num_valid"), 0, row);
    mxo_store(mxo_call_out(call, "num_valid"), 1, p->tokens);
}

const sort_layout mxo_sort_aiter = {"aiter", infer, run};
