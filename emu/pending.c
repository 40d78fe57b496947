/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of ops.def whose file has not landed: each refuses politely. */
#include "call.h"

#define PENDING(symbol)                                                       \
    mxo_status infer_##symbol(const mxo_call *call, mxo_tensor *out_tensor,   \
                              uint32_t *n_out, mxo_text why)                  \
    {                                                                         \
        (void)out_tensor;                                                     \
        (void)n_out;                                                          \
        return mxo_fail(MXO_E_UNSUPPORTED, why, "%s is not built", call->op); \
    }                                                                         \
    mxo_status run_##symbol(const mxo_call *call, mxo_text why)               \
    {                                                                         \
        return mxo_fail(MXO_E_UNSUPPORTED, why, "%s is not built", call->op); \
    }

PENDING(act_glu_quant)
