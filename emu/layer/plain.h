/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definition of the layer.  Everything else that computes one, here or in
 * a backend, is held to its bits.
 */
#ifndef MXO_EMU_LAYER_PLAIN_H
#define MXO_EMU_LAYER_PLAIN_H

#include "../call.h"

/* moe.layer with bounds=0, element by element; the contract of run_moe_layer:
   the call has the outputs of infer_moe_layer, scratch included. */
mxo_status run_moe_layer_plain(const mxo_call *call, mxo_text why);

#endif
