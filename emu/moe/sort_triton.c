/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.sort for triton_kernels: rows are packed without padding, tiles are
 * found through a map.  layouts-triton 8.2
 */
#include "sort.h"

/* Tiles of the smallest block, 16, that any choice of experts can fill. */
static uint64_t max_tiles(const sort_plan *p)
{
    if (p->pairs <= p->num_experts) {
        return p->pairs;
    }
    return p->num_experts + (p->pairs - p->num_experts) / 16;
}

static mxo_status infer(const sort_plan *p, mxo_tensor *out, uint32_t *n_out,
                        mxo_text why)
{
    const uint64_t pairs[1] = {p->pairs};
    const uint64_t experts[1] = {p->num_experts};
    const uint64_t offsets[1] = {p->num_experts + 1};
    const uint64_t tiles[1] = {max_tiles(p)};

    if (p->block < 16 || p->num_experts > 0x10000) {
        return mxo_fail(MXO_E_PARAM, why,
                        "moe.sort: layout=triton has blocks from 16 up and "
                        "16 bits for an expert");
    }
    mxo_out(out, 0, "gather_src", MXO_I32, 1, pairs);
    mxo_out(out, 1, "gather_dst", MXO_I32, 1, pairs);
    mxo_out(out, 2, "gate_scal", MXO_F32, 1, pairs);
    mxo_out(out, 3, "expt_hist", MXO_I32, 1, experts);
    mxo_out(out, 4, "token_offs_raw", MXO_I32, 1, offsets);
    mxo_out(out, 5, "token_offs_pad", MXO_I32, 1, offsets);
    mxo_out(out, 6, "block_pid_map", MXO_I32, 1, tiles);
    *n_out = 7;
    return MXO_OK;
}

/* Rows of expert e from row on; returns how many. */
static uint64_t place(const sort_plan *p, const mxo_call *call, uint64_t e,
                      uint64_t row)
{
    const mxo_tensor *weights = mxo_call_in(call, "topk_weights");
    uint64_t n = 0;

    for (uint64_t i = mxo_sort_next(p, e, 0); i < p->used;
         i = mxo_sort_next(p, e, i + 1)) {
        mxo_store(mxo_call_out(call, "gather_src"), row + n, i);
        mxo_store(mxo_call_out(call, "gather_dst"), i, row + n);
        mxo_store(mxo_call_out(call, "gate_scal"), row + n,
                  mxo_load(weights, i));
        n++;
    }
    return n;
}

static void run(const sort_plan *p, const mxo_call *call)
{
    const mxo_tensor *map = mxo_call_out(call, "block_pid_map");
    uint64_t row = 0;
    uint64_t tile = 0;

    mxo_sort_fill(mxo_call_out(call, "gather_src"), 0xffffffffu);
    mxo_sort_fill(mxo_call_out(call, "gather_dst"), 0xffffffffu);
    mxo_sort_fill(mxo_call_out(call, "gate_scal"), 0);
    mxo_sort_fill(map, 0xffffffffu);
    for (uint64_t e = 0; e < p->num_experts; e++) {
        const uint64_t n = place(p, call, e, row);

        mxo_store(mxo_call_out(call, "expt_hist"), e, n);
        mxo_store(mxo_call_out(call, "token_offs_raw"), e, row);
        mxo_store(mxo_call_out(call, "token_offs_pad"), e, tile);
        for (uint64_t i = 0; i < mxo_sort_blocks(p, n); i++) {
            mxo_store(map, tile + i, i << 16 | e);
        }
        row += n;
        tile += mxo_sort_blocks(p, n);
    }
    mxo_store(mxo_call_out(call, "token_offs_raw"), p->num_experts, row);
    mxo_store(mxo_call_out(call, "token_offs_pad"), p->num_experts, tile);
}

const sort_layout mxo_sort_triton = {"triton", infer, run};
