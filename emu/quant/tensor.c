/* SPDX-License-Identifier: Apache-2.0 */
/* How the operations of this folder read their calls. */
#include "quant.h"

uint32_t quant_load(const mxo_tensor *t, uint64_t i)
{
    return mxo_quant_widen(mxo_dtype_format(t->dtype), mxo_load(t, i));
}

const mxo_quant_rule *quant_rule(const mxo_call *call)
{
    return mxo_quant_rule_by_name(mxo_call_text(call, "rule"));
}
