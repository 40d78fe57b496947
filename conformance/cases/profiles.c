/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every profile as it stands, in a few small layers each: a wrong word in one
 * entry of one of them turns red (docs/profiles.md).
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>

/* What other families ask a hundred times over is not asked again here:
   exact, MARLIN, TRITON, TRITON_UNFUSED, EMULATION, CPU. */
#define HERE                                                         \
    "FLASHINFER_TRTLLM_MXFP4_MXFP8|FLASHINFER_TRTLLM_MXFP4_BF16|"    \
    "FLASHINFER_CUTLASS_MXFP4_MXFP8|FLASHINFER_CUTLASS_MXFP4_MXFP8/" \
    "fused|FLASHINFER_CUTLASS_MXFP4_BF16|BATCHED_MARLIN|"            \
    "BATCHED_MARLIN/naive|HUMMING|XPU|AITER_MXFP4_BF16|CK|"          \
    "AITER_MXFP4_MXFP4/flydsl"
#define SILU                                                   \
    "DEEPGEMM_MXFP4|DEEPGEMM_MXFP4/unfused|AITER_MXFP4_MXFP4|" \
    "AITER_MXFP4_MXFP4/roundup"
/* Those that refuse experts that live elsewhere. */
#define LOCAL "AITER_TRITON_MXFP4_BF16|B12X_MXFP4_BF16"
#define LOCAL_SILU "B12X_MXFP4_MXFP8"
#define GIVEN "AITER_MXFP4_FP8,input_scale=given"
/* Those whose activations stay as small as they are. */
#define SIXTEEN                                                   \
    "FLASHINFER_TRTLLM_MXFP4_BF16|FLASHINFER_CUTLASS_MXFP4_BF16|" \
    "BATCHED_MARLIN|XPU|AITER_MXFP4_BF16|AITER_TRITON_MXFP4_BF16"
/* What differs in one entry from one above is asked for that entry. */
#define OF_FIRST "HUMMING/native|EMULATION/triton|TRITON/3.5"
#define OF_SECOND "HUMMING/native|EMULATION/triton|TRITON/split_k"
#define LOCAL_SECOND "B12X_MXFP4_BF16/atomic|B12X_MXFP4_MXFP8/deterministic"
#define HALVES "activation=silu,rows=halves,"

/* Numbers on both sides of each rounding, and what is no number. */
#define LONE "tokens=24,experts=7,topk=2,"
#define FIRST(profiles)                                           \
    {                                                             \
        2, 0,                                                     \
            "moe.gemm1:profile=" profiles ",stage=gemm|act," LONE \
            "hidden=160,inter=24,alpha=1.25,bias=bf16,data=lone"  \
    }
#define SECOND(profiles, experts)                                      \
    {2, 0,                                                             \
     "moe.gemm2:profile=" profiles ",stage=row|sum," LONE              \
     "hidden=48,inter=160,bias=f32,data=lone"},                        \
    {                                                                  \
        2, 0, /* the order of experts, and some that live elsewhere */ \
            "moe.gemm2:profile=" profiles ",tokens=9,topk=5," experts  \
            ",hidden=48,inter=160,data=lone|ordinary"                  \
    }
#define WHOLE(profiles)                                                        \
    {2, 0,                                                                     \
     "moe.layer:profile=" profiles ",tokens=6,topk=5,experts=6,hidden="        \
     "96,inter=160,bias=f32,data=orderfree"},                                  \
    {                                                                          \
        2, 0, /* scales far from 1 */                                          \
            "moe.layer:profile=" profiles ",tokens=2,topk=2,experts=4,hidden=" \
            "160,inter=96,data=vast"                                           \
    }
#define PARTS                                                               \
    "row_out=bf16,routing_at=sum,sum=fma,bias=bf16,bias2=rounded,tokens=3," \
    "topk=2,experts=3,hidden=96,inter=64"
#define ROUTED                                                              \
    "row_out=bf16,routing_at=sum,sum=fma,bias=bf16,bias2=rounded,tokens=3," \
    "top_k=2,experts=3,hidden=96,inter=64"
#define SOME_ELSEWHERE "experts=7,map=1,global=9"
#define ALL_HERE "experts=9"

/* 1 to 4 times 2^-113: with the scales below a good part
   of the products is under the least normal. */
static void fill_slight(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double size = (double)(prng_below(rng, 4) + 1);
        fill_put(t, i, ldexp(i % 2 == 0 ? -size : size, -113));
    }
}

/* 2^-15 everywhere. */
static void fill_slight_scales(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 112);
    }
}

/* 0, and what is as small as a product. */
static void fill_slight_bias(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, ldexp((double)prng_below(rng, 3), -128));
    }
}

static const fill_row fills[] = {
    {"moe.gemm1", "x", "slight", fill_slight},
    {"moe.gemm2", "act", "slight", fill_slight},
    {"moe.gemm?", "w13", "slight", fill_one_live},
    {"moe.gemm?", "w2", "slight", fill_one_live},
    {"moe.gemm?", "*_scale", "slight", fill_slight_scales},
    {"moe.gemm?", "*_bias", "slight", fill_slight_bias},
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    FIRST(HERE "|" LOCAL ",limit=5"),
    FIRST(HERE "|" LOCAL "," HALVES "limit=none|10"),
    FIRST(SILU "," HALVES "limit=none|10"),
    FIRST(LOCAL_SILU "," HALVES "limit=none"),
    FIRST("FLASHINFER_TRTLLM_MXFP4_BF16,limit=inf"),
    FIRST(OF_FIRST ",limit=5"),
    FIRST("XPU/clamp," HALVES "limit=10"),
    FIRST("AITER_MXFP4_BF16/split2,limit=5"),
    FIRST("HUMMING/streamk,splits=3,limit=5"),
    FIRST(GIVEN ",limit=5"),
    SECOND(HERE "|" SILU, SOME_ELSEWHERE),
    SECOND(LOCAL "|" LOCAL_SILU, ALL_HERE),
    SECOND(GIVEN, ALL_HERE),
    SECOND(OF_SECOND, SOME_ELSEWHERE),
    SECOND(LOCAL_SECOND, ALL_HERE),
    SECOND("HUMMING/streamk,splits=3", SOME_ELSEWHERE),
    {2, 0, /* parts of 2, 2 and 1 blocks, of 4 and 1, of 3 and 2 */
     "moe.gemm1:profile=HUMMING/streamk,splits=2|3|4,stage=*,tokens=3,topk=2,"
     "experts=3,hidden=160,inter=24,bias=none|bf16,data=orderfree|ordinary"},
    {2, 0, /* sums of parts that no binary32 holds; weights above 2^128 */
     "moe.gemm2:profile=HUMMING/streamk,splits=1|2,stage=*,tokens=3,topk=2,"
     "experts=3,hidden=32,inter=64|96,data=crowd|random"},
    {2, 0,
     "moe.gemm1:profile=AITER_MXFP4_MXFP4/flydsl,gemm1_out=split2_bf16,"
     "stage=*,tokens=3,topk=2,experts=3,hidden=64|96,inter=32,"
     "data=random|lost|crowd"},
    {2, 0, /* operands of binary16 under scales that it does not hold */
     "moe.gemm1:profile=HUMMING|MARLIN,from=f16,stage=gemm,tokens=3,topk=2,"
     "experts=3,hidden=64,inter=32,data=orderfree|random"},
    {2, 0,
     "moe.gemm2:profile=HUMMING|MARLIN,from=f16,tokens=3,topk=2,experts=3,"
     "hidden=32,inter=96,data=orderfree|random"},
    {2, 0,
     "moe.gemm1:profile=AITER_MXFP4_BF16/split2,stage=*,tokens=3,topk=2,"
     "experts=3,hidden=160,inter=24,bias=none|f32,data=orderfree|ordinary"},
    {2, 0, /* whole layers, routed ones too */
     "moe.layer:" PARTS ",order=streamk_bf16,splits=2,gemm1_out=bf16,"
     "bias1=rounded,data=orderfree"},
    {2, 0,
     "moe.layer:" PARTS ",order=any,gemm1_out=split2_bf16,bias1=unrounded,"
     "data=orderfree"},
    {2, 0,
     "moe.layer_routed:" ROUTED ",order=streamk_bf16,splits=2,gemm1_out=bf16,"
     "bias1=rounded,data=ordinary"},
    {2, 0,
     "moe.layer_routed:" ROUTED ",order=any,gemm1_out=split2_bf16,"
     "bias1=unrounded,data=ordinary"},
    {2, 0, /* subnormals are kept in a bias behind the sum */
     "moe.gemm1:gemm1_out=f32,bias1=unrounded,stage=gemm," LONE
     "hidden=64,inter=24,bias=f32,data=slight"},
    {2, 0,
     "moe.gemm1:profile=AITER_MXFP4_BF16/split2,stage=gemm," LONE
     "hidden=64,inter=24,bias=f32,data=slight"},
    {2, 0, /* subnormals, kept or flushed */
     "moe.gemm1:profile=" SIXTEEN ",stage=gemm," LONE
     "hidden=64,inter=24,bias=none|f32,data=slight"},
    {2, 0,
     "moe.gemm2:profile=" SIXTEEN ",stage=row|sum," LONE
     "hidden=48,inter=64,bias=none|f32,data=slight"},
    {2, 0, /* more slots than commute */
     "moe.gemm2:stage=sum,routing_at=acc,routing_type=f32,row_out=bf16,"
     "sum=by_expert|experts_bf16,out=f32,tokens=4,topk=5,experts=6,hidden=32,"
     "inter=32,data=ordinary"},
    {2, 0, /* one slot: stored, or added to zero */
     "moe.gemm2:stage=sum,routing_at=acc,row_out=bf16,"
     "sum=scatter_bf16|atomic_bf16|cpu,tokens=24,topk=1|2,experts=7,hidden=48,"
     "inter=64,data=lone"},
    {2, 0, /* subnormals, kept or flushed; what is rounded twice */
     "moe.gemm1:stage=gemm,bias=f32,bias1=acc_ftz|behind,"
     "gemm1_out=f32|bf16|down," LONE "hidden=64,inter=24,data=slight|lone"},
    {2, 0,
     "moe.gemm1:stage=gemm,gemm1_out=bf16|down," LONE
     "hidden=64,inter=24,data=slight"},
    {2, 0,
     "moe.gemm2:stage=row,bias=f32,bias2=acc_ftz|behind,"
     "row_out=f32|bf16|down," LONE "hidden=48,inter=64,data=slight|lone"},
    {2, 0,
     "moe.gemm2:stage=sum,routing_at=sum,routing_type=f32,row_out=f32,"
     "sum=fma_ftz,out=f32," LONE "hidden=48,inter=64,data=slight"},
    {2, 0, /* overflow, and every scale byte */
     "moe.gemm1:stage=act,glu_out=bf16sat,limit=none," LONE
     "hidden=160,inter=24,data=lone"},
    {2, 0,
     "moe.gemm2:stage=row,row_out=bf16sat|f32,"
     "weight_rule=ocp|ocp_bf16|b12x_mx|xpu|humming|b12x," LONE
     "hidden=48,inter=160,data=lone"},
    WHOLE(HERE "|" LOCAL),
    WHOLE(SILU "," HALVES "limit=10"),
    WHOLE(LOCAL_SILU "," HALVES "limit=none"),
    WHOLE(GIVEN),
    {0, 0, NULL},
};

const case_family cases_profiles = {"profiles", fills, grid};
