/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.apply: one layout, or the chain of one tensor of a conversion,
 * forward or back.  Backwards the input is memory, seen in the shape of the
 * padded logical tensor.
 */
#include "chain.h"

#include <string.h>

static int is_forward(const mxo_call *call)
{
    return mxo_call_is(call, "dir", "forward");
}

/* Extent of an axis that an inverse keeps; all of it if keep is 0. */
static mxo_status keep_of(const mxo_call *call, const char *key, uint64_t all,
                          uint64_t *kept, mxo_text why)
{
    const int64_t keep = mxo_call_int(call, key);

    *kept = keep == 0 ? all : (uint64_t)keep;
    return keep < 0 || *kept > all || (keep != 0 && is_forward(call))
               ? mxo_fail(MXO_E_PARAM, why,
                          "layout.apply: %s=%lld, and there are %llu", key,
                          (long long)keep, (unsigned long long)all)
               : MXO_OK;
}

static mxo_status plan(const mxo_call *call, layout_chain *c, uint64_t kept[3],
                       mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const char *name = mxo_call_text(call, "layout");

    if (x->rank != 3) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "layout.apply: x has experts, rows and columns");
    }
    kept[0] = x->shape[0];

    MXO_TRY(keep_of(call, "keep_rows", x->shape[1], &kept[1], why));
    MXO_TRY(keep_of(call, "keep_cols", x->shape[2], &kept[2], why));
    if (is_forward(call)) {
        return chain_bind(c, name, x->dtype, x->shape, why);
    }
    MXO_TRY(chain_bind_back(c, name, x->dtype, x->shape, kept, why));
    if (chain_last(c)->map.n_records > 0) {
        memcpy(kept, c->step[0].map.extent, 3 * sizeof kept[0]);
    }
    return MXO_OK;
}

mxo_status infer_layout_apply(const mxo_call *call, mxo_tensor *out_tensor,
                              uint32_t *n_out, mxo_text why)
{
    layout_chain c;
    uint64_t kept[3];

    MXO_TRY(plan(call, &c, kept, why));
    if (is_forward(call)) {
        const layout_step *last = chain_last(&c);
        mxo_out(out_tensor, 0, "y", last->to, last->map.rank, last->map.shape);
        mxo_out(out_tensor, 1, "valid", MXO_U8, last->map.rank,
                last->map.shape);
    } else {
        mxo_out(out_tensor, 0, "y", c.step[0].dtype, 3, kept);
        mxo_out(out_tensor, 1, "valid", MXO_U8, 3, kept);
    }
    *n_out = 2;
    return MXO_OK;
}

mxo_status run_layout_apply(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const mxo_tensor *valid = mxo_call_out(call, "valid");
    layout_chain c;
    uint64_t kept[3];

    MXO_TRY(plan(call, &c, kept, why));
    if (is_forward(call)) {
        return chain_forward(&c, x, y, valid, why);
    }
    MXO_TRY(chain_back(&c, x, y, kept, why));
    if (valid->n_bytes > 0) {
        memset(mxo_tensor_data(valid), 1, (size_t)valid->n_bytes);
    }
    return MXO_OK;
}
