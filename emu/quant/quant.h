/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share and the public header does not show. */
#ifndef MXO_EMU_QUANT_H
#define MXO_EMU_QUANT_H

#include "../call.h"

#include <mxoracle/quant.h>

/* RN32(amax / max) in the row's spelling, floor and zero rule included. */
uint32_t mxo_quant_float_scale(const mxo_quant_rule *rule, mxo_format element,
                               uint32_t amax);

/* Element i of a tensor as a binary32 pattern. */
uint32_t quant_load(const mxo_tensor *t, uint64_t i);
/* Row of the parameter "rule". */
const mxo_quant_rule *quant_rule(const mxo_call *call);

#endif
