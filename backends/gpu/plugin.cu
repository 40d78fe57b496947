/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugins mxo_cuda.so and mxo_hip.so: one file, two compilers.  The whole
 * backend is one translation unit, so that nothing needs a name outside it
 * but the entry.
 */
#include "runtime.h"

#include "device.h"

#include "dequant.inc"

#include "quant.inc"

#include "quant_plain.inc"

#include "glu_exact.inc"

#include "glu_steps.inc"

#include "glu.inc"

#include "layer_sum.inc"

#include "layer.inc"

#include "layer_add.inc"

#if !defined(__HIPCC__)
#define GPU_HAS_FUSED 1
#define GPU_HAS_DECODE 1

#include "layer_act.inc"

#include "fused.inc"

#include "fused_end.inc"

#include "fused_prepare.inc"

#include "decode_gpu.inc"

#include "decode.inc"

#include "decode_acts.inc"
#include "decode_sort.inc"
#include "decode_math.inc"

#include "decode_add.inc"
#include "decode_end.inc"

#include "alone.inc"

#include "alone_load.inc"

#include "alone_carry.inc"

#include "alone_math.inc"

#include "alone_end.inc"
#else
#define GPU_HAS_FUSED 0
#define GPU_HAS_DECODE 0
#endif

#include "layout.inc"

#include "layout_gather.inc"

#include "layout_lines.inc"

#include "layout_terms.inc"

#include "layout_values.inc"

#include "layout_walk.inc"

#include "layout_index.inc"

#include "layout_groups.inc"

#include "runtime_gpu.h"

#include "call.inc"

#include "plan_dequant.inc"

#include "plan_quant.inc"

#include "plan_glu.inc"

#include "plan_recipe.inc"

#include "plan_layer.inc"

#include "layout_text.inc"

#include "layout_map.inc"

#include "layout_fold.inc"

#include "plan_tile.inc"

#include "plan_gather.inc"

#include "plan_lines.inc"

#include "plan_move.inc"

#include "plan_terms.inc"

#include "layout_chain.inc"

#include "plan_layout.inc"

#include "plan_convert.inc"

#include "plan_groups.inc"

#include "plan_index.inc"

#if GPU_HAS_FUSED
#include "yardstick.inc"
#endif

#include "cool.inc"

#include "backend.inc"

extern "C" MXO_EXPORT const mxo_backend *mxo_backend_entry(uint32_t version);

extern "C" const mxo_backend *mxo_backend_entry(uint32_t version)
{
    return version == MXO_ABI_VERSION ? &backend : NULL;
}
