/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One plan for each operation: it reads the call's parameters and tensors and
 * fills in the launches.  Each lives in a unit of its own, with its kernels.
 */
#ifndef GPU_PLANS_H
#define GPU_PLANS_H

#include "host/call.h"

struct glu_args;
struct glu_constants;

mxo_status plan_engines(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_functions(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_glu(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_glu_quant(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_codes(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_dequant(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_apply(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_convert(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_grouped(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_groups(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_index(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_gemm(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_layer(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_dequant_group(const mxo_call *call, gpu_plan *plan,
                              mxo_text why);
mxo_status plan_finalize(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_nvfp4_dequant(const mxo_call *call, gpu_plan *plan,
                              mxo_text why);
mxo_status plan_nvfp4_layer(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_nvfp4_quant(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_nvfp4_scalars(const mxo_call *call, gpu_plan *plan,
                              mxo_text why);
mxo_status plan_permute(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_qdq(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_sort(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_quant_group(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_requant(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_route(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_routed(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_scale(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_static(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_quant(const mxo_call *call, gpu_plan *plan, mxo_text why);

/* Type of a tensor that a description of the operation spells as type. */
uint32_t call_dtype(const mxo_call *call, const char *type);

/* Dialect and numbers of a gated activation, also the layer's. */
mxo_status glu_numbers(const mxo_call *call, struct glu_args *a, mxo_text why);

/* Constants of n experts on the host, by vectors there; NULL: the call's. */
typedef struct glu_own {
    const float *alpha, *beta, *limit, *scale;
} glu_own;

/* What each expert has in place of base, which has the types. */
mxo_status glu_per_expert(const mxo_call *call, const struct glu_args *base,
                          const glu_own *own, uint64_t n,
                          struct glu_constants *to, mxo_text why);

struct quant_args;

/* Format and rule of a quantiser; tie "": the rule's own; -1: not here. */
int quant_make(struct quant_args *a, const char *element, const char *rule,
               const char *tie);

/* The same for the call's element and tie, or a sentence. */
mxo_status quant_need(const mxo_call *call, struct quant_args *a,
                      const char *rule, mxo_text why);

#if GPU_HAS_FUSED
/* Time of cuBLAS on the shapes that the call names. */
mxo_status time_library(const mxo_call *call, uint32_t repeat, double *seconds,
                        mxo_text why);
#endif

#endif
