/* SPDX-License-Identifier: Apache-2.0 */
/* quant.requant_table: every E2M1 code under every offset, one per byte. */
#include "quant.h"

mxo_status infer_quant_requant_table(const mxo_call *call,
                                     mxo_tensor *out_tensor, uint32_t *n_out,
                                     mxo_text why)
{
    const mxo_tensor *code = mxo_call_in(call, "code");
    const uint64_t shape[2] = {mxo_tensor_elems(mxo_call_in(call, "offset")),
                               mxo_tensor_elems(code)};

    (void)why;
    mxo_out(out_tensor, 0, "y", MXO_U8, 2, shape);
    *n_out = 1;
    return MXO_OK;
}

mxo_status run_quant_requant_table(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *code = mxo_call_in(call, "code");
    const mxo_tensor *offset = mxo_call_in(call, "offset");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const uint64_t codes = mxo_tensor_elems(code);
    const uint64_t n = mxo_tensor_elems(y);

    for (uint64_t i = 0; i < codes; i++) {
        if (mxo_load(code, i) > 15) {
            return mxo_fail(MXO_E_SHAPE, why,
                            "%s: code %u at %llu is not an E2M1 code", call->op,
                            (unsigned)mxo_load(code, i), (unsigned long long)i);
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        mxo_store(y, i,
                  mxo_quant_requant((uint8_t)mxo_load(code, i % codes),
                                    (uint8_t)mxo_load(offset, i / codes)));
    }
    return MXO_OK;
}
