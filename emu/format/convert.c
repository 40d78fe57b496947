/* SPDX-License-Identifier: Apache-2.0 */
/* format.convert: between wide floats, with one rounding. */
#include "../call.h"

mxo_status infer_format_convert(const mxo_call *call, mxo_tensor *out_tensor,
                                uint32_t *n_out, mxo_text why)
{
    (void)why;
    return mxo_infer_like(call, "x", out_tensor, n_out, "y",
                          mxo_call_dtype(call, "to"));
}

mxo_status run_format_convert(const mxo_call *call, mxo_text why)
{
    const mxo_format from = mxo_call_format(call, "from");
    const mxo_format to = mxo_call_format(call, "to");
    const mxo_tie tie = mxo_tie_by_name(mxo_call_text(call, "tie"));
    const mxo_nan nan =
        mxo_call_is(call, "nan", "ones") ? MXO_NAN_ONES : MXO_NAN_QUIET;
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const uint64_t n = mxo_tensor_elems(x);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        mxo_store(y, i, mxo_format_convert(to, from, mxo_load(x, i), tie, nan));
    }
    return MXO_OK;
}
