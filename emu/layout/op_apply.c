/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.apply: one layout on one tensor, forward or back.  Backwards the
 * input is memory, seen in the shape of the padded logical tensor.
 */
#include "step.h"

static int is_forward(const mxo_call *call)
{
    return mxo_call_is(call, "dir", "forward");
}

static mxo_status bind(const mxo_call *call, layout_step *s, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const char *name = mxo_call_text(call, "layout");

    if (x->rank != 3) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "layout.apply: x has experts, rows and columns");
    }
    return is_forward(call)
               ? layout_step_bind(s, name, x->dtype, x->shape, why)
               : layout_step_bind_back(s, name, x->dtype, x->shape, why);
}

/* What is left of an axis backwards: all of it if keep is 0. */
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

static mxo_status plan(const mxo_call *call, layout_step *s, uint64_t kept[3],
                       mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    mxo_status status = bind(call, s, why);

    kept[0] = x->shape[0];
    if (status == MXO_OK) {
        status = keep_of(call, "keep_rows", x->shape[1], &kept[1], why);
    }
    return status == MXO_OK
               ? keep_of(call, "keep_cols", x->shape[2], &kept[2], why)
               : status;
}

mxo_status infer_layout_apply(const mxo_call *call, mxo_tensor *out_tensor,
                              uint32_t *n_out, mxo_text why)
{
    layout_step s;
    uint64_t kept[3];
    const mxo_status status = plan(call, &s, kept, why);

    if (status != MXO_OK) {
        return status;
    }
    if (is_forward(call)) {
        mxo_out(out_tensor, 0, "y", s.to, s.map.rank, s.map.shape);
        mxo_out(out_tensor, 1, "valid", MXO_U8, s.map.rank, s.map.shape);
    } else {
        mxo_out(out_tensor, 0, "y", s.dtype, 3, kept);
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
    layout_step s;
    uint64_t kept[3];
    const mxo_status status = plan(call, &s, kept, why);

    if (status != MXO_OK) {
        return status;
    }
    if (is_forward(call)) {
        return layout_step_forward(&s, x, y, valid, why);
    }
    for (uint64_t i = 0; i < valid->n_bytes; i++) {
        mxo_store(valid, i, 1);
    }
    return layout_step_back(&s, x, y, kept[1], kept[2], why);
}
