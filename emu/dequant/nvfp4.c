/* SPDX-License-Identifier: Apache-2.0 */
/* dequant.nvfp4: blocks of 16 E2M1, an E4M3 scale each, one binary32 for all.
 */
#include "../call.h"

#include <mxoracle/dequant.h>

static int scale_fits(const mxo_tensor *scale, const mxo_tensor *y)
{
    int fits = scale->rank == y->rank;

    for (uint32_t i = 0; fits && i < y->rank; i++) {
        const uint64_t n = y->shape[i];
        const uint64_t blocks =
            n / MXO_NVFP4_BLOCK + (n % MXO_NVFP4_BLOCK != 0);
        fits = scale->shape[i] == (i + 1 < y->rank ? n : blocks);
    }
    return fits;
}

mxo_status infer_dequant_nvfp4(const mxo_call *call, mxo_tensor *out_tensor,
                               uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *q = mxo_call_in(call, "q");
    mxo_tensor *y = &out_tensor[0];

    if (q->rank == 0) {
        return mxo_fail(MXO_E_SHAPE, why, "dequant.nvfp4: q needs an axis");
    }
    if (mxo_tensor_elems(mxo_call_in(call, "global_scale")) != 1) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "dequant.nvfp4: global_scale needs one element");
    }
    (void)mxo_infer_like(call, "q", out_tensor, n_out, "y",
                         mxo_call_dtype(call, "to"));
    y->shape[q->rank - 1] *= 2;
    y->n_bytes *= 2;
    if (!scale_fits(mxo_call_in(call, "scale"), y)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "dequant.nvfp4: scale needs one byte per 16 elements "
                        "of the last axis and q's other axes");
    }
    return MXO_OK;
}

mxo_status run_dequant_nvfp4(const mxo_call *call, mxo_text why)
{
    const mxo_format to = mxo_call_format(call, "to");
    const uint8_t *q = mxo_tensor_data(mxo_call_in(call, "q"));
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const uint32_t global =
        (uint32_t)mxo_load(mxo_call_in(call, "global_scale"), 0);
    const uint64_t cols = y->shape[y->rank - 1];
    const uint64_t blocks = scale->shape[scale->rank - 1];
    const uint64_t n = mxo_tensor_elems(y);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t b = i / cols * blocks + i % cols / MXO_NVFP4_BLOCK;
        mxo_store(y, i,
                  mxo_dequant_nvfp4(to, mxo_load_nibble(q, i),
                                    (uint8_t)mxo_load(scale, b), global));
    }
    return MXO_OK;
}
