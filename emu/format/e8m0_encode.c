/* SPDX-License-Identifier: Apache-2.0 */
/* format.e8m0_encode: a number to the scale byte below, above or nearest. */
#include "../call.h"

static const char *const rules[] = {"rz",        "rp",       "cutlass", "torch",
                                    "ml_dtypes", "deepgemm", "openvino"};

mxo_status infer_format_e8m0_encode(const mxo_call *call,
                                    mxo_tensor *out_tensor, uint32_t *n_out,
                                    mxo_text why)
{
    (void)why;
    return mxo_infer_like(call, "x", out_tensor, n_out, "code", MXO_E8M0);
}

mxo_status run_format_e8m0_encode(const mxo_call *call, mxo_text why)
{
    const mxo_e8m0_round rule =
        (mxo_e8m0_round)mxo_call_choice(call, "rule", rules, MXO_N_E8M0_ROUNDS);
    const int sat = mxo_call_int(call, "sat") != 0;
    const int up = mxo_call_is(call, "from", "bf16") ? 16 : 0;
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *code = mxo_call_out(call, "code");
    const uint64_t n = mxo_tensor_elems(x);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)mxo_load(x, i) << up;
        mxo_store(code, i, mxo_e8m0_encode(rule, bits, sat));
    }
    return MXO_OK;
}
