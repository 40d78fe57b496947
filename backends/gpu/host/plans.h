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

/* Operations, sorted by name, and what plans them. */
#define GPU_OPS(OP)                             \
    OP("act.glu", plan_glu)                     \
    OP("act.glu_quant", plan_glu_quant)         \
    OP("act.unary", plan_functions)             \
    OP("dequant.group", plan_dequant_group)     \
    OP("dequant.mx", plan_dequant)              \
    OP("dequant.mx_table", plan_tables)         \
    OP("dequant.nvfp4", plan_nvfp4_dequant)     \
    OP("dequant.nvfp4_engine", plan_engines)    \
    OP("format.classify", plan_codes)           \
    OP("format.convert", plan_codes)            \
    OP("format.decode", plan_codes)             \
    OP("format.e8m0_decode", plan_codes)        \
    OP("format.e8m0_encode", plan_codes)        \
    OP("format.encode", plan_codes)             \
    OP("format.ue4m3", plan_codes)              \
    OP("gemm.mx", plan_gemm)                    \
    OP("gemm.q8_0", plan_engines)               \
    OP("layout.apply", plan_apply)              \
    OP("layout.convert", plan_convert)          \
    OP("layout.grouped", plan_grouped)          \
    OP("layout.groups", plan_groups)            \
    OP("layout.index", plan_index)              \
    OP("layout.record", plan_record)            \
    OP("layout.tp_pad", plan_tables)            \
    OP("math.lg2", plan_functions)              \
    OP("math.rcp", plan_functions)              \
    OP("moe.finalize", plan_finalize)           \
    OP("moe.gemm1", plan_layer)                 \
    OP("moe.gemm2", plan_layer)                 \
    OP("moe.layer", plan_layer)                 \
    OP("moe.layer_routed", plan_routed)         \
    OP("moe.nvfp4_gemm1", plan_nvfp4_layer)     \
    OP("moe.nvfp4_gemm2", plan_nvfp4_layer)     \
    OP("moe.nvfp4_layer", plan_nvfp4_layer)     \
    OP("moe.nvfp4_scalars", plan_nvfp4_scalars) \
    OP("moe.permute", plan_permute)             \
    OP("moe.sort", plan_sort)                   \
    OP("quant.engine", plan_blocks)             \
    OP("quant.group", plan_quant_group)         \
    OP("quant.mx", plan_quant)                  \
    OP("quant.mx_exponent", plan_engines)       \
    OP("quant.mxfp4_to_nvfp4", plan_blocks)     \
    OP("quant.nvfp4", plan_nvfp4_quant)         \
    OP("quant.nvfp4_engine", plan_blocks)       \
    OP("quant.q8_0", plan_engines)              \
    OP("quant.qdq", plan_qdq)                   \
    OP("quant.requant", plan_requant)           \
    OP("quant.requant_table", plan_tables)      \
    OP("quant.scale", plan_scale)               \
    OP("quant.scaled", plan_engines)            \
    OP("quant.static", plan_static)             \
    OP("route.topk", plan_route)

#define GPU_DECLARE(name, plan) \
    mxo_status plan(const mxo_call *call, gpu_plan *plan_of, mxo_text why);
GPU_OPS(GPU_DECLARE)
#undef GPU_DECLARE

/* The plan of its operation; plan is zeros but for the scratch. */
mxo_status plan_call(const mxo_call *call, gpu_plan *plan, mxo_text why);

/* Type of a tensor that a description of the operation spells as type. */
uint32_t call_dtype(const mxo_call *call, const char *type);

/* Dialect and numbers of a gated activation, also the layer's. */
mxo_status glu_numbers(const mxo_call *call, struct glu_args *a, mxo_text why);

/* Constants of n experts on the host, by vectors there; NULL: the call's. */
typedef struct glu_own {
    const float *alpha, *beta, *limit, *scale;
} glu_own;

/* Constants of each expert that replace base's; base has the types. */
mxo_status glu_per_expert(const mxo_call *call, const struct glu_args *base,
                          const glu_own *own, uint64_t n,
                          struct glu_constants *to, mxo_text why);

/* A layer on weights in an order that plan_layer() does not read. */
mxo_status plan_loaded(const mxo_call *call, gpu_plan *plan, mxo_text why);

/* A layer that waits for the launches already in plan. */
mxo_status plan_layer_behind(const mxo_call *call, gpu_plan *plan,
                             mxo_text why);

struct quant_args;

/* Plans of quant.mx and dequant.mx for what has no vectors. */
mxo_status plan_quant_any(const mxo_call *call, gpu_plan *plan, mxo_text why);
mxo_status plan_dequant_any(const mxo_call *call, gpu_plan *plan, mxo_text why);

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
