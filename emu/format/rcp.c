/* SPDX-License-Identifier: Apache-2.0 */
/* math.rcp: the correctly rounded reciprocal, or the H200's two. */
#include "../call.h"

mxo_status infer_math_rcp(const mxo_call *call, mxo_tensor *out_tensor,
                          uint32_t *n_out, mxo_text why)
{
    (void)why;
    return mxo_infer_like(call, "x", out_tensor, n_out, "y", MXO_F32);
}

mxo_status run_math_rcp(const mxo_call *call, mxo_text why)
{
    static const char *const modes[] = {"rn", "hopper_ftz", "hopper"};
    static uint32_t (*const functions[])(uint32_t) = {
        mxo_rcp_rn, mxo_rcp_hopper_ftz, mxo_rcp_hopper};
    uint32_t (*const rcp)(uint32_t) =
        functions[mxo_call_choice(call, "mode", modes, 3)];
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const uint64_t n = mxo_tensor_elems(x);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        mxo_store(y, i, rcp((uint32_t)mxo_load(x, i)));
    }
    return MXO_OK;
}
