/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.sort for vLLM's Triton and Marlin kernels (moe_align_block_size): rows
 * name their pair, pads the number of pairs, blocks their expert.  Experts
 * that are not local keep their rows; only their blocks say -1.
 */
#include "sort.h"

static mxo_status infer(const sort_plan *p, mxo_tensor *out, uint32_t *n_out,
                        mxo_text why)
{
    const uint64_t most = p->pairs + p->num_experts * (p->block - 1);
    const uint64_t few = p->pairs * p->block;
    const uint64_t rows[1] = {p->pairs < p->num_experts && few < most ? few
                                                                      : most};
    const uint64_t blocks[1] = {mxo_sort_blocks(p, rows[0])};
    const uint64_t one[1] = {1};

    if (most > INT32_MAX) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "moe.sort: the padded rows do not fit 31 bits");
    }
    mxo_out(out, 0, "sorted_token_ids", MXO_I32, 1, rows);
    mxo_out(out, 1, "expert_ids", MXO_I32, 1, blocks);
    mxo_out(out, 2, "num_tokens_post_padded", MXO_I32, 1, one);
    *n_out = 3;
    return MXO_OK;
}

/* Experts before e that the mask has. */
static uint32_t masked_before(const sort_plan *p, uint64_t e)
{
    uint32_t n = 0;

    for (uint64_t i = 0; i < e; i++) {
        n += mxo_load(p->map, i) != 0;
    }
    return n;
}

/* The blocks of an expert are its number in this rank, or -1. */
static uint32_t block_label(const sort_plan *p, uint64_t e)
{
    switch (p->local) {
    case SORT_MASK:
        return mxo_load(p->map, e) != 0 ? masked_before(p, e) : 0xffffffffu;
    case SORT_MAP:
        return (uint32_t)mxo_load(p->map, e);
    case SORT_RANGE:
        return e >= p->offset && e - p->offset < p->n_local
                   ? (uint32_t)(e - p->offset)
                   : 0xffffffffu;
    default:
        return (uint32_t)e;
    }
}

static void run(const sort_plan *p, const mxo_call *call)
{
    const mxo_tensor *rows = mxo_call_out(call, "sorted_token_ids");
    const mxo_tensor *experts = mxo_call_out(call, "expert_ids");
    sort_plan all = *p;
    uint64_t row = 0;

    all.local = SORT_ALL;
    mxo_sort_fill(rows, (uint32_t)p->pairs);
    mxo_sort_fill(experts, 0xffffffffu);
    for (uint64_t e = 0; e < p->num_experts; e++) {
        const uint64_t first = row / p->block;

        for (uint64_t i = mxo_sort_next(&all, e, 0); i < p->used;
             i = mxo_sort_next(&all, e, i + 1)) {
            mxo_store(rows, row++, i);
        }
        row = mxo_sort_blocks(p, row) * p->block;
        for (uint64_t b = first; b < row / p->block; b++) {
            mxo_store(experts, b, block_label(p, e));
        }
    }
    mxo_store(mxo_call_out(call, "num_tokens_post_padded"), 0, row);
}

const sort_layout mxo_sort_vllm = {"vllm", infer, run};
