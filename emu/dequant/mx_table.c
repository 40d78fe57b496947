/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequant.mx_table: every E2M1 code times every scale byte, and what became
 * of it.  Small enough to exhaust, so nothing about a rule stays unseen.
 */
#include "../call.h"

#include <mxoracle/dequant.h>

mxo_status infer_dequant_mx_table(const mxo_call *call, mxo_tensor *out_tensor,
                                  uint32_t *n_out, mxo_text why)
{
    const char *rule = mxo_call_text(call, "rule");
    const mxo_tensor *code = mxo_call_in(call, "code");
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const uint64_t shape[2] = {mxo_tensor_elems(scale), mxo_tensor_elems(code)};

    if (!mxo_dequant_rule_has(mxo_dequant_rule_by_name(rule), MXO_FMT_E2M1,
                              mxo_call_format(call, "to"))) {
        return mxo_fail(MXO_E_PARAM, why,
                        "dequant.mx_table: rule=%s does not turn e2m1 into %s",
                        rule, mxo_call_text(call, "to"));
    }
    if (shape[0] != 0 && shape[1] > INT64_MAX / 8 / shape[0]) {
        return mxo_fail(MXO_E_SHAPE, why, "dequant.mx_table: too large");
    }
    mxo_out(out_tensor, 0, "y", mxo_call_dtype(call, "to"), 2, shape);
    mxo_out(out_tensor, 1, "status", MXO_U8, 2, shape);
    *n_out = 2;
    return MXO_OK;
}

mxo_status run_dequant_mx_table(const mxo_call *call, mxo_text why)
{
    const mxo_dequant_rule rule =
        mxo_dequant_rule_by_name(mxo_call_text(call, "rule"));
    const mxo_format to = mxo_call_format(call, "to");
    const mxo_tensor *code = mxo_call_in(call, "code");
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const mxo_tensor *status = mxo_call_out(call, "status");
    const uint64_t n = mxo_tensor_elems(y);
    const uint64_t codes = mxo_tensor_elems(code);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t c = mxo_load(code, i % codes);
        const uint8_t s = (uint8_t)mxo_load(scale, i / codes);
        const uint32_t v = mxo_dequant_mx(rule, MXO_FMT_E2M1, to, c, s);
        mxo_store(y, i, v);
        mxo_store(status, i, mxo_dequant_judge(to, c, s, v));
    }
    return MXO_OK;
}
