/* SPDX-License-Identifier: Apache-2.0 */
/* format.ue4m3: ggml's unsigned E4M3 scale, a number to a byte and back. */
#include "../quant/engine.h"

static int decodes(const mxo_call *call)
{
    return mxo_call_is(call, "dir", "decode");
}

mxo_status infer_format_ue4m3(const mxo_call *call, mxo_tensor *out_tensor,
                              uint32_t *n_out, mxo_text why)
{
    (void)why;
    return decodes(call)
               ? mxo_infer_like(call, "code", out_tensor, n_out, "y", MXO_F32)
               : mxo_infer_like(call, "x", out_tensor, n_out, "y", MXO_U8);
}

mxo_status run_format_ue4m3(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *y = mxo_call_out(call, "y");
    const mxo_tensor *in = mxo_call_in(call, decodes(call) ? "code" : "x");

    (void)why;
    for (uint64_t i = 0; i < mxo_tensor_elems(y); i++) {
        const uint32_t v = (uint32_t)mxo_load(in, i);
        mxo_store(y, i,
                  decodes(call) ? engine_ue4m3_half((uint8_t)v)
                                : engine_ue4m3(v));
    }
    return MXO_OK;
}
