/* SPDX-License-Identifier: Apache-2.0 */
/* format.e8m0_decode: a scale byte as each implementation reads it. */
#include "../call.h"

mxo_status infer_format_e8m0_decode(const mxo_call *call,
                                    mxo_tensor *out_tensor, uint32_t *n_out,
                                    mxo_text why)
{
    const char *rule = mxo_call_text(call, "rule");
    const char *to = mxo_call_text(call, "to");

    if (!mxo_e8m0_rule_has(mxo_e8m0_rule_by_name(rule),
                           mxo_format_by_name(to))) {
        return mxo_fail(MXO_E_PARAM, why,
                        "format.e8m0_decode: rule=%s does not convert to %s",
                        rule, to);
    }
    return mxo_infer_like(call, "code", out_tensor, n_out, "y",
                          mxo_call_dtype(call, "to"));
}

mxo_status run_format_e8m0_decode(const mxo_call *call, mxo_text why)
{
    const mxo_e8m0_rule rule =
        mxo_e8m0_rule_by_name(mxo_call_text(call, "rule"));
    const mxo_format to = mxo_call_format(call, "to");
    const mxo_tensor *code = mxo_call_in(call, "code");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const uint64_t n = mxo_tensor_elems(code);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        mxo_store(y, i, mxo_e8m0_decode(rule, to, (uint8_t)mxo_load(code, i)));
    }
    return MXO_OK;
}
