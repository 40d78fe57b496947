/* SPDX-License-Identifier: Apache-2.0 */
/* format.decode: element codes to numbers, one per byte or two per byte. */
#include "../call.h"

mxo_status infer_format_decode(const mxo_call *call, mxo_tensor *out_tensor,
                               uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *code = mxo_call_in(call, "code");
    const int packed = mxo_call_int(call, "packed") != 0;

    if (packed && (!mxo_call_is(call, "format", "e2m1") || code->rank == 0)) {
        return mxo_fail(
            MXO_E_PARAM, why,
            "format.decode: packed=1 needs format=e2m1 and an axis");
    }
    (void)mxo_infer_like(call, "code", out_tensor, n_out, "y",
                         mxo_call_dtype(call, "to"));
    if (packed) {
        out_tensor[0].shape[code->rank - 1] *= 2;
        out_tensor[0].n_bytes *= 2;
    }
    return MXO_OK;
}

mxo_status run_format_decode(const mxo_call *call, mxo_text why)
{
    const mxo_format format = mxo_call_format(call, "format");
    const mxo_format to = mxo_call_format(call, "to");
    const mxo_nan nan =
        mxo_call_is(call, "nan", "ones") ? MXO_NAN_ONES : MXO_NAN_QUIET;
    const int positive = mxo_call_is(call, "zero", "positive");
    const int packed = mxo_call_int(call, "packed") != 0;
    const mxo_tensor *code = mxo_call_in(call, "code");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const uint64_t n = mxo_tensor_elems(y);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t c = packed ? mxo_load_nibble(mxo_tensor_data(code), i)
                            : mxo_load(code, i);
        if (positive && mxo_format_classify(format, c) == MXO_CODE_ZERO) {
            c = 0;
        }
        mxo_store(y, i, mxo_format_convert(to, format, c, MXO_TIE_RNE, nan));
    }
    return MXO_OK;
}
