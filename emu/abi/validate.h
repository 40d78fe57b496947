/* SPDX-License-Identifier: Apache-2.0 */
/* Checking a call against ops.def before an operation sees it. */
#ifndef MXO_EMU_VALIDATE_H
#define MXO_EMU_VALIDATE_H

#include "../call.h"

/* Every parameter of info is there, in its domain, and no other is. */
mxo_status mxo_check_params(const mxo_op_info *info, const mxo_call *call,
                            mxo_text why);
/* Every input that info asks for is there with its dtype, rank and bytes. */
mxo_status mxo_check_inputs(const mxo_op_info *info, const mxo_call *call,
                            mxo_text why);
/* The outputs are those that infer gave. */
mxo_status mxo_check_outputs(const mxo_call *call, const mxo_tensor *want,
                             uint32_t n, mxo_text why);

#endif
