/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The global scales of an NVFP4 layer.  A converted file keeps the
 * checkpoint's as fused tensors, so that the way back has every bit, and adds
 * what the loader derives from them: a1_gscale, a2_gscale, g1_alphas,
 * g1_scale_c, g2_alphas.
 */
#ifndef MXO_CONVERT_GLOBALS_H
#define MXO_CONVERT_GLOBALS_H

#include "job.h"

/* Nothing for a layer that is not NVFP4.  0, or -1 and a sentence. */
int globals_plan_forward(job *j, const moe_layer *l, const layer_part *p,
                         mxo_text why);
/* first: the index in the sink of the first tensor that was planned. */
int globals_run_forward(job *j, const moe_layer *l, const layer_part *p,
                        size_t first, mxo_text why);
int globals_plan_back(job *j, const moe_layer *l, const layer_part *p,
                      mxo_text why);
int globals_run_back(job *j, const moe_layer *l, const layer_part *p,
                     size_t first, mxo_text why);
/* Whether globals_plan_forward made this tensor of a converted file. */
int globals_made(const moe_layer *l, const char *name);

#endif
