/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the operations of this folder share. */
#ifndef MXO_EMU_ACT_OP_H
#define MXO_EMU_ACT_OP_H

#include "../call.h"

#include <mxoracle/act.h>

#include <string.h>

/*
 * A real parameter as the number it stands for: rounded to binary32, or
 * binary64 if the parameter to is f64; "none" is +Inf.
 */
mxo_real mxo_act_param(const mxo_call *call, const char *key);

/* Where gate and up of row r, column c lie: tensor and element. */
typedef struct mxo_glu_view {
    const mxo_tensor *gate;
    const mxo_tensor *up;
    uint64_t rows;
    uint64_t cols;
    uint64_t pitch; /* elements from row to row */
    uint64_t step;  /* elements from column to column */
    uint64_t gate_at;
    uint64_t up_at;
} mxo_glu_view;

/* interleaved or halves in one tensor; gate_first: or up before gate. */
mxo_status mxo_glu_view_joint(mxo_glu_view *v, const mxo_call *call,
                              int interleaved, int gate_first, mxo_text why);
/* Two tensors, gate and up. */
mxo_status mxo_glu_view_split(mxo_glu_view *v, const mxo_call *call,
                              mxo_text why);

#endif
