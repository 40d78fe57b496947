/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.sort for vLLM's DeepGEMM path: experts start at aligned rows, each row
 * names its expert, pads and the tail -1.  layouts-deepgemm 4, 7.4
 */
#include "sort.h"

static mxo_status infer(const sort_plan *p, mxo_tensor *out, uint32_t *n_out,
                        mxo_text why)
{
    const uint64_t most = p->pairs + p->num_experts * (p->block - 1);
    const uint64_t pairs[2] = {p->tokens, p->top_k};
    const uint64_t rows[1] = {mxo_sort_blocks(p, most) * p->block};
    const uint64_t experts[1] = {p->num_experts};

    if (rows[0] > INT32_MAX) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "moe.sort: the padded rows do not fit 31 bits");
    }
    mxo_out(out, 0, "inv_perm", MXO_I32, 2, pairs);
    mxo_out(out, 1, "expert_ids", MXO_I32, 1, rows);
    mxo_out(out, 2, "psum", MXO_I32, 1, experts);
    *n_out = 3;
    return MXO_OK;
}

static void run(const sort_plan *p, const mxo_call *call)
{
    uint64_t row = 0;

    mxo_sort_fill(mxo_call_out(call, "inv_perm"), 0xffffffffu);
    mxo_sort_fill(mxo_call_out(call, "expert_ids"), 0xffffffffu);
    for (uint64_t e = 0; e < p->num_experts; e++) {
        row = mxo_sort_blocks(p, row) * p->block;
        for (uint64_t i = mxo_sort_next(p, e, 0); i < p->used;
             i = mxo_sort_next(p, e, i + 1)) {
            mxo_store(mxo_call_out(call, "inv_perm"), i, row);
            mxo_store(mxo_call_out(call, "expert_ids"), row, e);
            row++;
        }
        mxo_store(mxo_call_out(call, "psum"), e, row);
    }
}

const sort_layout mxo_sort_deepgemm = {"deepgemm", infer, run};
