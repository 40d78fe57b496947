/* SPDX-License-Identifier: Apache-2.0 */
/* A call of moe.layer, moe.gemm1 or moe.gemm2 as a plan. */
#ifndef MXO_EMU_LAYER_OP_H
#define MXO_EMU_LAYER_OP_H

#include "plan.h"

/* The weights as the checkpoint has them and the plan, checked against the
   data: ready to be computed.  has: which of the two halves. */
mxo_status layer_prepare(layer_plan *p, layer_loaded *l, const mxo_call *call,
                         const int has[2], mxo_text why);

#endif
