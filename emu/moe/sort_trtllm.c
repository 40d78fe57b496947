/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.sort for TRTLLM-gen: every local expert gets whole tiles, and each pair
 * is told its row.  layouts-flashinfer 6.4
 */
#include "sort.h"

/* Tiles enough for any choice of experts. */
static uint64_t max_ctas(const sort_plan *p)
{
    const uint64_t full = p->num_experts < p->pairs ? p->num_experts : p->pairs;

    return full + (p->pairs - full) / p->block;
}

static mxo_status infer(const sort_plan *p, mxo_tensor *out, uint32_t *n_out,
                        mxo_text why)
{
    const uint64_t pairs[2] = {p->tokens, p->top_k};
    const uint64_t ctas[1] = {max_ctas(p)};
    const uint64_t rows[1] = {max_ctas(p) * p->block};
    const uint64_t one[1] = {1};

    if (rows[0] > INT32_MAX) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "moe.sort: the padded rows do not fit 31 bits");
    }
    mxo_out(out, 0, "expanded_idx_to_permuted_idx", MXO_I32, 2, pairs);
    mxo_out(out, 1, "permuted_idx_to_expanded_idx", MXO_I32, 1, rows);
    mxo_out(out, 2, "cta_idx_xy_to_batch_idx", MXO_I32, 1, ctas);
    mxo_out(out, 3, "cta_idx_xy_to_mn_limit", MXO_I32, 1, ctas);
    mxo_out(out, 4, "num_non_exiting_ctas", MXO_I32, 1, one);
    mxo_out(out, 5, "total_num_padded_tokens", MXO_I32, 1, one);
    *n_out = 6;
    return MXO_OK;
}

/* Expert e from tile base on; returns the next free tile. */
static uint64_t place(const sort_plan *p, const mxo_call *call, uint64_t e,
                      uint64_t base)
{
    const mxo_tensor *expert = mxo_call_out(call, "cta_idx_xy_to_batch_idx");
    const mxo_tensor *limit = mxo_call_out(call, "cta_idx_xy_to_mn_limit");
    const mxo_tensor *there =
        mxo_call_out(call, "expanded_idx_to_permuted_idx");
    const mxo_tensor *back = mxo_call_out(call, "permuted_idx_to_expanded_idx");
    uint64_t row = base * p->block;

    for (uint64_t i = mxo_sort_next(p, e, 0); i < p->used;
         i = mxo_sort_next(p, e, i + 1)) {
        mxo_store(there, i, row);
        mxo_store(back, row, i);
        row++;
    }
    const uint64_t next = mxo_sort_blocks(p, row);

    for (uint64_t cta = base; cta < next; cta++) {
        const uint64_t end = (cta + 1) * p->block;

        mxo_store(expert, cta, e);
        mxo_store(limit, cta, end < row ? end : row);
    }
    return next;
}

static void run(const sort_plan *p, const mxo_call *call)
{
    uint64_t tiles = 0;

    for (uint32_t i = 0; i < 4; i++) {
        mxo_sort_fill(&call->out[i], 0xffffffffu);
    }
    for (uint64_t e = 0; e < p->n_local; e++) {
        tiles = place(p, call, e, tiles);
    }
    mxo_store(mxo_call_out(call, "num_non_exiting_ctas"), 0, tiles);
    mxo_store(mxo_call_out(call, "total_num_padded_tokens"), 0,
              tiles * p->block);
}

const sort_layout mxo_sort_trtllm = {"trtllm", infer, run};
