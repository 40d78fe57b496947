/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.permute: rows of tokens, or of pairs, in the order of a grouped GEMM.
 * Rows are bytes; what they mean does not matter here.
 * docs/ops/moe.permute.md
 */
#include "../call.h"
#include "../quant/layout.h"

#include <string.h>

typedef struct plan {
    const mxo_tensor *x;
    const mxo_tensor *rows;
    const quant_layout *layout;
    int aiter;    /* ids are slot << 24 | token */
    int per_pair; /* x has a row for every pair, not for every token */
    uint64_t top_k;
    uint64_t row_bytes;
    uint64_t n_rows;  /* of y, with those that a layout adds */
    uint64_t n_bytes; /* of a row of y */
} plan;

static mxo_status make_plan(const mxo_call *call, plan *p, mxo_text why)
{
    const int64_t top_k = mxo_call_int(call, "top_k");
    const int64_t pad = mxo_call_int(call, "pad");
    const int shuffled = mxo_call_is(call, "layout", "aiter");

    p->x = mxo_call_in(call, "x");
    p->rows = mxo_call_in(call, "rows");
    p->aiter = mxo_call_is(call, "ids", "aiter");
    p->per_pair = mxo_call_int(call, "per_pair") != 0;
    if (p->x->rank != 2 || p->rows->rank != 1) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "moe.permute: x is a matrix and rows a vector");
    }
    if (top_k < 1 || (p->per_pair && p->x->shape[0] % (uint64_t)top_k != 0)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "moe.permute: top_k is at least 1 and divides the "
                        "rows of x if there is one for every pair");
    }
    if (pad < 0 || pad > 255) {
        return mxo_fail(MXO_E_PARAM, why, "moe.permute: pad is a byte");
    }
    if (p->aiter && mxo_tensor_elems(mxo_call_in(call, "num_valid")) < 1) {
        return mxo_fail(MXO_E_SHAPE, why, "moe.permute: num_valid is empty");
    }
    p->top_k = (uint64_t)top_k;
    p->row_bytes = p->x->shape[1];
    p->layout = quant_sf_layout(shuffled ? "aiter_a16w4" : "linear");
    p->n_rows =
        shuffled ? quant_round_up(p->rows->shape[0], 32) : p->rows->shape[0];
    p->n_bytes = shuffled ? quant_round_up(p->row_bytes, 8) : p->row_bytes;
    return MXO_OK;
}

mxo_status infer_moe_permute(const mxo_call *call, mxo_tensor *out_tensor,
                             uint32_t *n_out, mxo_text why)
{
    plan p = {0};

    MXO_TRY(make_plan(call, &p, why));
    const uint64_t shape[2] = {p.n_rows, p.n_bytes};

    mxo_out(out_tensor, 0, "y", MXO_U8, 2, shape);
    *n_out = 1;
    return MXO_OK;
}

/* Row of x that row r of y takes; as many as x has if it is a pad. */
static uint64_t source(const plan *p, const mxo_call *call, uint64_t r)
{
    const uint64_t none = p->x->shape[0];
    const uint64_t tokens = p->per_pair ? none / p->top_k : none;

    if (r >= p->rows->shape[0]) {
        return none;
    }
    const uint32_t id = (uint32_t)mxo_load(p->rows, r);

    if (p->aiter) {
        const uint64_t token = id & 0xffffff;
        const uint64_t slot = p->per_pair ? id >> 24 : 0;
        const mxo_tensor *valid = mxo_call_in(call, "num_valid");
        const int live = (int64_t)r < (int32_t)mxo_load(valid, 0) &&
                         token < tokens && slot < p->top_k;

        return !live ? none : p->per_pair ? token * p->top_k + slot : token;
    }
    if (id >> 31 != 0 || id / p->top_k >= tokens) {
        return none;
    }
    return p->per_pair ? id : id / p->top_k;
}

mxo_status run_moe_permute(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *y = mxo_call_out(call, "y");
    const uint8_t *x;
    quant_place at;
    plan p = {0};

    MXO_TRY(make_plan(call, &p, why));
    MXO_TRY(quant_place_bind(&at, p.layout, p.n_rows, p.n_bytes, why));
    x = mxo_tensor_data(p.x);
    memset(mxo_tensor_data(y), (int)mxo_call_int(call, "pad"),
           (size_t)y->n_bytes);
    for (uint64_t r = 0; r < p.n_rows; r++) {
        const uint64_t from = source(&p, call, r);

        for (uint64_t c = 0; from < p.x->shape[0] && c < p.row_bytes; c++) {
            mxo_store(y, quant_place_at(&at, r, c), x[from * p.row_bytes + c]);
        }
    }
    return MXO_OK;
}
