/* SPDX-License-Identifier: Apache-2.0 */
/* quant.scale: the scale rules alone, one byte per block maximum. */
#include "quant.h"

mxo_status infer_quant_scale(const mxo_call *call, mxo_tensor *out_tensor,
                             uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *amax = mxo_call_in(call, "amax");

    (void)why;
    mxo_out(out_tensor, 0, "scale", MXO_E8M0, amax->rank, amax->shape);
    *n_out = 1;
    return MXO_OK;
}

mxo_status run_quant_scale(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *amax = mxo_call_in(call, "amax");
    const mxo_tensor *scale = mxo_call_out(call, "scale");
    const mxo_quant_rule *rule = quant_rule(call);
    const mxo_format element = mxo_call_format(call, "element");
    const uint64_t n = mxo_tensor_elems(amax);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t x = (uint32_t)mxo_load(amax, i);

        mxo_store(scale, i, mxo_quant_scale_byte(rule, element, x));
    }
    return MXO_OK;
}
