/* SPDX-License-Identifier: Apache-2.0 */
/* format.classify: what kind of number each code is. */
#include "../call.h"

mxo_status infer_format_classify(const mxo_call *call, mxo_tensor *out_tensor,
                                 uint32_t *n_out, mxo_text why)
{
    (void)why;
    return mxo_infer_like(call, "code", out_tensor, n_out, "class", MXO_U8);
}

mxo_status run_format_classify(const mxo_call *call, mxo_text why)
{
    const mxo_format format = mxo_call_format(call, "format");
    const mxo_tensor *code = mxo_call_in(call, "code");
    const mxo_tensor *class = mxo_call_out(call, "class");
    const uint64_t n = mxo_tensor_elems(code);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        mxo_store(class, i, mxo_format_classify(format, mxo_load(code, i)));
    }
    return MXO_OK;
}
