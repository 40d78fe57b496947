/* SPDX-License-Identifier: Apache-2.0 */
/* quant.static: FP8 under one given float32 scale for the whole tensor. */
#include "quant.h"

#include <string.h>

mxo_quant_block mxo_quant_block_static(mxo_format element, int reciprocal,
                                       int nan_is_max, uint32_t scale)
{
    mxo_quant_block b = {0};

    b.format = element;
    b.element.tie = MXO_TIE_RNE;
    b.element.sat = 1;
    b.element.nan = nan_is_max ? MXO_NAN_MAX : MXO_NAN_FORMAT;
    b.step = reciprocal ? MXO_STEP_MULTIPLY : MXO_STEP_DIVIDE;
    b.factor = reciprocal ? mxo_f32_div(0x3f800000u, scale) : scale;
    return b;
}

mxo_status infer_quant_static(const mxo_call *call, mxo_tensor *out_tensor,
                              uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const char *element = mxo_call_text(call, "element");

    if (mxo_tensor_elems(mxo_call_in(call, "scale")) != 1) {
        return mxo_fail(MXO_E_SHAPE, why, "%s: scale is one number", call->op);
    }
    mxo_out(out_tensor, 0, "q", mxo_dtype_by_name(element, strlen(element)),
            x->rank, x->shape);
    *n_out = 1;
    return MXO_OK;
}

mxo_status run_quant_static(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *q = mxo_call_out(call, "q");
    const uint64_t n = mxo_tensor_elems(x);
    const mxo_quant_block b = mxo_quant_block_static(
        mxo_call_format(call, "element"),
        mxo_call_is(call, "apply", "reciprocal"),
        mxo_call_is(call, "nan", "max"),
        (uint32_t)mxo_load(mxo_call_in(call, "scale"), 0));

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        mxo_store(q, i, mxo_quant_code(&b, quant_load(x, i)));
    }
    return MXO_OK;
}
