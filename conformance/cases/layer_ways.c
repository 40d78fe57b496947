/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More of the layer: orders that are known, FP16, scales that are given,
 * routing weights before the first GEMM or behind it, and layers from the
 * router's logits on.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>

/* A scale that is no power of two, near 1. */
static void fill_given(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    fill_put(t, 0, 0.25 + (double)prng_below(rng, 4096) / 3000);
}

enum { GIVEN = 7, BLOCK = 32 };

/* Midpoints of codes under a scale of 7, which 1/7 in binary32 pushes over the
   tie; every third block of 32 is zero. */
static void fill_halfway(const test_case *c, host_tensor *t, prng *rng)
{
    const int steps = case_value(c, "quant_element")[1] == '5' ? 4 : 8;
    const uint64_t row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const double sign = prng_below(rng, 2) != 0 ? 1 : -1;
        const double m =
            1 + ((double)prng_below(rng, (uint64_t)steps) + 0.5) / steps;
        const int e = (int)prng_below(rng, 6) - 3;
        const int is_zero = i % row / BLOCK % 3 == 2;
        fill_put(t, i, is_zero ? 0 : sign * GIVEN * ldexp(m, e));
    }
}

static void fill_seven(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    (void)rng;
    fill_put(t, 0, GIVEN);
}

static const fill_row fills[] = {
    {"moe.gemm1", "x", "halfway", fill_halfway},
    {"moe.gemm2", "act", "halfway", fill_halfway},
    {"moe.gemm1", "w13_scale", "halfway", fill_scale_ordinary},
    {"moe.gemm2", "w2_scale", "halfway", fill_scale_ordinary},
    {"moe.gemm1", "w13_input_scale", "halfway", fill_seven},
    {"moe.gemm2", "w2_input_scale", "halfway", fill_seven},
    {"moe.*", "w13_input_scale", "*", fill_given},
    {"moe.*", "w2_input_scale", "*", fill_given},
    {"moe.layer", "w2_scale", "ties", fill_index_coded},
    {"moe.gemm2", "w2_scale", "ties", fill_index_coded},
    {"moe.gemm2", "act", "ties", fill_ordinary},
    {"moe.layer_routed", "correction_bias", "*", fill_positive},
    {NULL, NULL, NULL, NULL},
};

#define KNOWN "exact|MARLIN|TRITON|TRITON_UNFUSED|EMULATION|CPU"
#define TINY "tokens=2,topk=2,experts=3,hidden=32,inter=32"
#define SMALL "tokens=3,topk=2,experts=4,hidden=64,inter=64"
#define ONE "tokens=2,topk=1,experts=3,hidden=32,inter=32"
#define NINE "tokens=9,topk=2,experts=3,hidden=32,inter=32"
#define ROUTED "tokens=3,top_k=2,experts=4,hidden=64,inter=64"
#define DECLARED                                                           \
    "weight_rule=ocp,scale_at=weight,order=any,quant=none,requant=none,"   \
    "bias_type=f32,bias1=acc,bias2=acc,gemm1_out=f32,glu=exact,"           \
    "glu_out=bf16,routing_at=acc,routing_type=f32,row_out=bf16,sum=slots," \
    "out=bf16,absent=skip"
#define THREE_BLOCKS "tokens=3,topk=2,experts=3,hidden=96,inter=96,"
/* For orders and scales that leave a bias no place in the sum. */
#define ADDED "bias1=acc,bias2=acc,"
#define HALF "from=f16,gemm1_out=f16,glu_out=f16,row_out=f16,out=f16,"

#define PLAIN_ORDERS                                                        \
    "exact|cpu|avx512|amx|seq|pairwise|split|hopper_wgmma|hopper_mma_sync|" \
    "ampere|ada|blackwell|cdna1|cdna2|cdna3"
#define FP4 "quant=quant.mx,quant_element=e2m1,quant_rule=floor,"

/* Every order where it has a meaning, on either half of the layer or all of
   it: more is what else the operation needs. */
#define EVERY_ORDER(op, more)                                                 \
    {2, 0, op ":order=" PLAIN_ORDERS "," more ",data=ordinary"},              \
        {2, 0,                                                                \
         op ":order=block|block32,scale_at=block," more ",data=ordinary"},    \
    {                                                                         \
        2, 0,                                                                 \
            op ":order=blackwell_mx|blackwell_fp4," FP4 more ",data=ordinary" \
    }

/* Every quantiser under a given scale. */
#define EVERY_SCALE(op, more)                                             \
    {2, 0,                                                                \
     op ":input_scale=given,quant=quant.static,"                          \
        "quant_element=e4m3fn|e5m2,quant_rule=divide|reciprocal," more    \
        ",data=ordinary"},                                                \
    {                                                                     \
        2, 0,                                                             \
            op ":input_scale=given,quant=quant.nvfp4,quant_element=e2m1," \
               "quant_rule=fast|ieee|exact|vllm|trtllm_gen," more         \
               ",data=ordinary"                                           \
    }

/* Every other entry of a profile, one by one, behind a router. */
#define ENTRY(entry)                                                 \
    {                                                                \
        2, 0, "moe.layer_routed:" entry "," ROUTED ",data=orderfree" \
    }
#define GROUP32 "quant=quant.group,quant_element=e4m3fn,quant_group=32,"

static const grid_row grid[] = {
    EVERY_SCALE("moe.gemm1", "stage=gemm," TINY),
    EVERY_SCALE("moe.gemm2", "requant=same," TINY),
    EVERY_SCALE("moe.layer", "requant=same," TINY),
    EVERY_SCALE("moe.layer_routed", "requant=same," ROUTED),
    {2, 0,
     "moe.gemm1:stage=gemm,from=f16,bias=f16,bias_type=f16,"
     "gemm1_out=f16," TINY ",data=ordinary"},
    {2, 0,
     "moe.gemm2:from=f16,routing_type=f16,row_out=f16,out=f16,"
     "routing_at=gemm1|input|sum,sum=exact," TINY ",data=ordinary"},
    {2, 0, "moe.gemm2:order=seq,mul=*," TINY ",data=ordinary"},
    {2, 0, "moe.layer:order=seq,mul=*," TINY ",data=ordinary"},
    ENTRY("dialect=*"),
    {2, 0,
     "moe.layer_routed:dialect=trtllm_llama4|vllm_fused_scores,top_k=1,tokens="
     "3,experts=4,hidden=64,inter=64,data=orderfree"},
    ENTRY("logits=*"),
    ENTRY("dialect=softmax_topk|sigmoid_topk,routed_scaling_factor=2.5"),
    ENTRY("renormalize=*"),
    ENTRY("correction=*,dialect=trtllm_deepseek_v3"),
    ENTRY("profile=*," DECLARED),
    ENTRY("bias=*,bias_type=*"),
    {2, 0, /* tokens enough for one with an expert that is here */
     "moe.layer_routed:map=1,global=7,tokens=9,top_k=2,experts=4,hidden=64,"
     "inter=64,data=orderfree"},
    ENTRY("bounds=*,order=any"),
    ENTRY("from=*"),
    ENTRY("activation=*,rows=*"),
    ENTRY("glu=*"),
    ENTRY("glu_out=*"),
    ENTRY("weight_rule=*"),
    ENTRY("order=seq,mul=*"),
    ENTRY("order=profile|any"),
    ENTRY(GROUP32 "quant_rule=vllm_group|vllm_group_mul|deepgemm"),
    ENTRY("quant=quant.group,quant_element=e4m3fn,quant_rule=vllm_group,"
          "quant_group=32|64|128"),
    ENTRY("quant=quant.qdq,quant_element=e2m1,quant_rule=quark_hip"),
    ENTRY("quant=none|quant.mx,quant_element=e2m1|e4m3fn|e5m2,quant_rule="
          "floor"),
    ENTRY("quant=quant.mx,quant_element=e4m3fn,quant_rule=*"),
    ENTRY("bias=f32,bias1=none|acc|rounded,bias2=none|acc|rounded"),
    ENTRY("bias=f32,order=seq,bias1=order,bias2=order"),
    ENTRY("gemm1_out=*"),
    ENTRY("requant=*"),
    ENTRY("routing_at=*,sum=exact"),
    {2, 0,
     "moe.layer_routed:routing_at=gemm1|input,sum=exact,top_k=1,tokens=3,"
     "experts=4,hidden=64,inter=64,data=orderfree"},
    ENTRY("routing_type=*"),
    ENTRY("row_out=*"),
    ENTRY("sum=fma|product|exact"),
    ENTRY("routing_at=acc,sum=slots|moe_sum|cpu|atomic_bf16|scatter_bf16"),
    ENTRY("out=*"),
    ENTRY("absent=*"),
    {2, 0, /* sums of binary32 on tensor cores, in each kernel */
     "moe.layer:profile=AITER_MXFP4_BF16,glu=*,tokens=1|17|40,topk=1,experts=2,"
     "hidden=64,inter=32,data=random"},
    {2, 0,
     "moe.gemm1:profile=AITER_MXFP4_BF16,glu=*,tokens=3|17,topk=1,experts=2,"
     "hidden=64,inter=32,data=random"},
    {2, 0, /* refused, and nothing is written */
     "moe.layer:tokens=2,topk=2,experts=0,hidden=32,inter=32,data=orderfree"},
    {2, 0,
     "moe.layer:map=1,global=0,tokens=2,topk=2,experts=1,hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:tokens=2,topk=0,experts=1,hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.layer_routed:tokens=2,top_k=5,experts=4,hidden=32,inter=32,"
     "data=orderfree"},
    {1, 0, "moe.layer_routed:" ROUTED ",data=orderfree"},
    EVERY_ORDER("moe.gemm1", "stage=gemm," SMALL),
    EVERY_ORDER("moe.gemm2", "requant=same," SMALL),
    EVERY_ORDER("moe.layer", "requant=same," SMALL),
    EVERY_ORDER("moe.layer_routed", "requant=same," ROUTED),
    {2, 0,
     "moe.gemm1:stage=gemm,from=f16,order=volta|turing," SMALL
     ",data=ordinary"},
    {2, 0,
     "moe.gemm2:from=f16,order=volta|turing,bias=f16,bias_type=f16,"
     "bias2=acc," SMALL ",data=ordinary"},
    {2, 0,
     "moe.layer:" HALF "order=volta|turing,bias=f16," ADDED SMALL
     ",data=ordinary"},
    {2, 0,
     "moe.layer_routed:" HALF "order=volta|turing,bias=f16," ADDED ROUTED
     ",data=ordinary"},
    {2, 0, /* FP16 throughout */
     "moe.layer:profile=MARLIN|TRITON_UNFUSED,order=exact," HALF
     "routing_type=f16,"
     "bias_type=f16,bias=f16,tokens=5,topk=2|5,experts=5,hidden=64,inter=96,"
     "data=ordinary"},
    {2, 0, "moe.layer:" HALF "sum=exact," SMALL ",data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=*,from=f16,gemm1_out=f16,glu_out=f16|f32," TINY
     ",data=orderfree"},
    {2, 0,
     "moe.layer:from=f16,quant=quant.qdq,quant_element=e2m1,"
     "quant_rule=quark_hip|quark_triton," SMALL ",data=ordinary"},
    {2, 0, "moe.layer:from=f16,order=seq|hopper_wgmma," SMALL ",data=ordinary"},
    {2, 0, /* scales that are given */
     "moe.gemm1:stage=gemm,input_scale=given,quant=quant.static,"
     "quant_element=e4m3fn|e5m2,quant_rule=divide|reciprocal,from=*," TINY
     ",data=ordinary"},
    {2, 0,
     "moe.layer:input_scale=given,quant=quant.static,quant_element=e4m3fn,"
     "quant_rule=divide,requant=*,order=exact|hopper_wgmma,bias=f32," ADDED
         SMALL ",data=ordinary"},
    {2, 0,
     "moe.layer:input_scale=given,quant=quant.static,quant_element=e4m3fn,"
     "quant_rule=divide,requant=same,scale_at=block,"
     "order=block32|hopper_wgmma," SMALL ",data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,input_scale=given,quant=quant.nvfp4,"
     "quant_element=e2m1,quant_rule=fast|ieee|exact|vllm|trtllm_gen,"
     "from=bf16|f16|f32," TINY ",data=ordinary"},
    {2, 0,
     "moe.layer:input_scale=given,quant=quant.nvfp4,quant_element=e2m1,"
     "quant_rule=fast,requant=same,bias=bf16," ADDED
     "hidden=80,inter=48,tokens=3,"
     "topk=2,experts=3,data=ordinary"},
    {2, 0, /* a multiplied reciprocal gives the other code */
     "moe.gemm1:stage=gemm,input_scale=given,quant=quant.static,"
     "quant_element=e4m3fn|e5m2,quant_rule=divide|reciprocal," THREE_BLOCKS
     "data=halfway"},
    {2, 0,
     "moe.gemm2:stage=row,requant=same,input_scale=given,quant=quant.static,"
     "quant_element=e4m3fn|e5m2,quant_rule=divide|reciprocal," THREE_BLOCKS
     "data=halfway"},
    {2, 0, /* blocks without anything */
     "moe.gemm1:stage=gemm,quant=quant.mx,quant_element=e2m1|e4m3fn,"
     "quant_rule=floor|even|ceil|rceil|flashinfer," THREE_BLOCKS
     "data=halfway"},
    {2, 0,
     "moe.gemm2:stage=row,requant=same,quant=quant.group,quant_group=32,"
     "quant_element=e4m3fn,quant_rule=vllm_group|deepgemm," THREE_BLOCKS
     "data=halfway"},
    {2, 0,
     "moe.gemm1:stage=gemm,input_scale=given,quant=quant.nvfp4,"
     "quant_element=e2m1,quant_rule=fast|exact," THREE_BLOCKS "data=halfway"},
    {2, 0, /* more tokens than a byte counts */
     "moe.layer:tokens=257,topk=1,experts=2,hidden=32,inter=32,data=orderfree"},
    {2, 0, /* a NaN or an infinity, which FP4 has not */
     "moe.gemm2:stage=row,row_out=f32,requant=same,quant=quant.mx,"
     "quant_element=e2m1,quant_rule=*,tokens=5,topk=1,experts=2,hidden=32,"
     "inter=96,data=corners"},
    {2, 0, /* scales beyond the range of FP16 */
     "moe.gemm1:stage=gemm,from=f16,gemm1_out=f16|f32,"
     "order=seq|split|hopper_wgmma," SMALL ",data=corners"},
    {2, 0,
     "moe.layer:profile=MARLIN,weight_rule=ocp,order=exact," HALF
     "routing_type=f16,bias_type=f16,bias=f16,tokens=5,topk=2|5,experts=5,"
     "hidden=64,inter=96,data=ordinary"},
    {1, 0, /* one slot, and weights that no short number is */
     "moe.layer:tokens=7,topk=1,experts=4,hidden=64,inter=32,bias=f32,"
     "data=thirds"},
    {2, 0,
     "moe.layer:profile=" KNOWN ",tokens=7,topk=1,experts=4,hidden=64,"
     "inter=32,bias=none|bf16,data=thirds"},
    {2, 0,
     "moe.layer:routing_at=gemm1|input,routing_type=f32|bf16,sum=slots,"
     "tokens=7,topk=1,experts=4,hidden=64,inter=32,data=thirds"},
    {2, 0,
     "moe.gemm2:stage=*,routing_at=acc|rounded,routing_type=profile|f32|bf16,"
     "sum=slots,row_out=f32|bf16,tokens=7,topk=1,experts=4,hidden=64,"
     "inter=32,data=thirds"},
    {2, 0, /* double rounding of a sum gives the other number */
     "moe.layer:bias=f32,out=bf16|f16,tokens=12,topk=1|2|3,experts=5,"
     "hidden=64,inter=32,data=ties"},
    {2, 0,
     "moe.layer:bias=f32,profile=MARLIN|TRITON,tokens=12,topk=1|2,experts=5,"
     "hidden=64,inter=32,data=ties"},
    {2, 0,
     "moe.gemm2:bias=f32,routing_at=acc|sum,sum=exact,row_out=f32,"
     "out=bf16|f16,tokens=12,topk=1|2,experts=5,hidden=64,inter=32,"
     "data=ties"},
    {2, 0, /* K as it is: halves are known to a unit or a few of bf16 */
     "moe.gemm1:profile=MARLIN|TRITON,stage=*,tokens=2,topk=1,experts=2,"
     "hidden=2880,inter=24,bias=bf16,data=ordinary|typical"},
    {2, 0,
     "moe.gemm2:profile=MARLIN|TRITON,stage=*,tokens=2,topk=2,experts=2,"
     "hidden=40,inter=2880,bias=bf16,data=ordinary|typical"},
    {2, 0, /* apply_router_weight_on_input */
     "moe.layer:profile=MARLIN|EMULATION|exact,routing_at=gemm1|input,"
     "sum=slots,tokens=5,topk=1,experts=4,hidden=64,inter=32,bias=bf16,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:routing_at=input,quant=quant.mx,quant_element=e4m3fn,"
     "quant_rule=floor,requant=same,routing_type=bf16,tokens=5,topk=1,"
     "experts=4,hidden=64,inter=32,data=ordinary"},
    {2, 0, /* K orders that are known are judged by equality */
     "moe.gemm1:stage=gemm,order=seq|pairwise|split,mul=*," SMALL
     ",data=ordinary"},
    {2, 0, "moe.gemm2:order=split,splits=2," SMALL ",data=ordinary"},
    {2, 0, /* parts of 2, 2 and 1 blocks */
     "moe.gemm1:stage=gemm,order=split,splits=3,tokens=2,topk=2,experts=2,"
     "hidden=160,inter=32,data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,order=streamk_bf16,splits=2|3,gemm1_out=bf16,"
     "bias=none|bf16,bias1=rounded,tokens=3,topk=2,experts=2,hidden=160,"
     "inter=32,data=orderfree|ordinary"},
    {2, 0,
     "moe.gemm2:stage=row,order=streamk_bf16,splits=3,row_out=bf16,"
     "routing_at=sum,sum=fma,bias=none|bf16,bias2=rounded,tokens=3,topk=2,"
     "experts=2,hidden=32,inter=160,data=orderfree|ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,order=any,gemm1_out=split2_bf16,bias=none|f32,"
     "bias1=unrounded|rounded|behind,tokens=3,topk=2,experts=2,hidden=160,"
     "inter=32,data=orderfree|ordinary"},
    {2, 0, /* off the step of a unit */
     "moe.layer:order=hopper_wgmma,promote=0|32," ADDED
     "tokens=3,topk=2,experts=3,hidden=72,inter=40,bias=bf16,data=ordinary"},
    {2, 0, /* rows in binary32, where no later rounding hides a step */
     "moe.gemm2:stage=row,row_out=f32,order=avx512|amx|seq|pairwise|split,"
     "bias=f32,bias2=acc,hidden=48,inter=80,tokens=3,topk=1,experts=2,"
     "data=ordinary|corners"},
    {2, 0,
     "moe.gemm2:stage=row,row_out=f32,order=block|block32,scale_at=block,"
     "mul=*,hidden=48,inter=80,tokens=3,topk=1,experts=2,"
     "data=ordinary|corners"},
    {2, 0, /* more than 16 blocks, and no multiple of 16 */
     "moe.gemm2:stage=row,row_out=f32,from=bf16|f32,tokens=1|3,topk=1,"
     "experts=2,hidden=32,inter=560|1136,data=ordinary|cancel|typical"},
    {2, 0, /* where the CPU's kernels change their order */
     "moe.gemm2:stage=row,row_out=f32,order=cpu,tokens=9|10,topk=1,experts=2,"
     "hidden=32,inter=64,data=ordinary"},
    {2, 0,
     "moe.gemm2:stage=row,row_out=f32,from=bf16|f16,requant=same,"
     "quant=quant.qdq,quant_element=e2m1,quant_rule=quark_hip|quark_triton,"
     "hidden=48,inter=80,tokens=5,topk=1,experts=2,data=ordinary|corners"},
    {2, 0,
     "moe.gemm2:stage=row,row_out=f32,requant=same,quant=quant.group,"
     "quant_element=e4m3fn|e2m1,quant_rule=vllm_group|deepgemm,"
     "quant_group=64,hidden=32,inter=80,tokens=5,topk=1,experts=2,"
     "data=ordinary|corners"},
    {2, 0,
     "moe.layer:order=seq|hopper_wgmma,bias=f32,bias1=order,bias2=order," SMALL
     ",data=ordinary"},
    {2, 0,
     "moe.gemm1:order=block|hopper_wgmma,scale_at=block,mul=*," SMALL
     ",data=ordinary"},
    {2, 0,
     "moe.layer:order=hopper_wgmma|hopper_mma_sync,promote=0|32," ADDED
     "tokens=5,topk=2,experts=3,hidden=80,inter=48,bias=bf16,data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,order=hopper_wgmma,from=f32,promote=0|8," TINY
     ",data=ordinary"},
    {2, 0,
     "moe.layer:order=hopper_wgmma|hopper_mma_sync|ada|blackwell,"
     "scale_at=block,quant=quant.mx,quant_element=e4m3fn|e5m2,"
     "quant_rule=floor,requant=same," SMALL ",data=ordinary"},
    {2, 0,
     "moe.layer:order=blackwell_mx,quant=quant.mx,"
     "quant_element=e4m3fn|e5m2|e2m1,quant_rule=floor,requant=same," SMALL
     ",data=ordinary"},
    {2, 0,
     "moe.layer:order=blackwell_fp4,quant=quant.mx,quant_element=e2m1,"
     "quant_rule=floor,requant=same," SMALL ",data=ordinary"},
    {2, 0,
     "moe.layer:order=ampere|ada|blackwell|cdna1|cdna2|cdna3," TINY
     ",data=ordinary"},
    {2, 0, /* no order declared: between two ends, and the ends themselves */
     "moe.layer:bounds=*,order=any,sum=atomic_bf16|slots,routing_at=acc," HALF
         ADDED "bias=f16,tokens=2,topk=3,experts=3,hidden=32,inter=32,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm1:bounds=*,order=any,stage=*,from=f16,gemm1_out=f16,glu_out=f16,"
     "bias1=acc,bias=f16," TINY ",data=ordinary|corners"},
    {2, 0,
     "moe.gemm2:bounds=*,order=any,from=f16,row_out=f16,out=f16,sum=fma," TINY
     ",data=ordinary|corners"},
    {2, 0,
     "moe.layer:bounds=*,order=any,input_scale=given,requant=same,"
     "quant=quant.static,quant_element=e4m3fn|e5m2,quant_rule=divide," ADDED
         TINY ",bias=f32,data=ordinary"},
    {2, 0,
     "moe.layer:bounds=*,order=any,input_scale=given,requant=same,"
     "quant=quant.nvfp4,quant_element=e2m1,quant_rule=fast|ieee|exact," ADDED
         TINY ",bias=f32,data=ordinary"},
    {2, 0,
     "moe.layer:bounds=*,order=any,routing_at=input,from=bf16|f16," ADDED
     "tokens=3,topk=1,experts=3,hidden=32,inter=32,bias=f32,data=ordinary"},
    {2, 0,
     "moe.layer_routed:profile=MARLIN|TRITON|EMULATION,bounds=*,bias="
     "f32," ROUTED ",data=ordinary"},
    {2, 0, /* from the router's logits on */
     "moe.layer_routed:dialect=softmax_topk|topk_softmax|sigmoid_topk|"
     "trtllm_default|trtllm_llama4|vllm_softmax|vllm_cpu,"
     "top_k=1,logits=bf16|f32,renormalize=0,tokens=5,experts=8,hidden=64,"
     "inter=32,data=orderfree"},
    {2, 0,
     "moe.layer_routed:profile=" KNOWN ",dialect=topk_softmax,top_k=4,"
     "tokens=6,experts=9,hidden=96,inter=64,bias=bf16,data=orderfree"},
    {2, 0,
     "moe.layer_routed:dialect=trtllm_deepseek_v3,top_k=2,n_group=4,"
     "topk_group=2,routed_scaling_factor=2.5,correction=f32|bf16,logits=f32,"
     "tokens=5,experts=16,hidden=64,inter=32,data=orderfree"},
    {2, 0,
     "moe.layer_routed:profile=TRITON|MARLIN,glu_nan=launder|launder_low|"
     "propagate,top_k=1|2,tokens=7,experts=24,hidden=64,inter=32,data=lone"},
    {2, 0, /* a shard of the experts */
     "moe.layer_routed:profile=exact|MARLIN|TRITON,dialect=softmax_topk,"
     "renormalize=*,top_k=3,map=1,global=9,experts=3,tokens=8,hidden=64,"
     "inter=32,data=orderfree"},
    {3, 200,
     "moe.layer:profile=" KNOWN ",tokens=$M,topk=1|2|4|6|8,experts=8|9|32,"
     "hidden=$K,inter=32|64|96|160|208|352,bias=*,data=orderfree"},
    /* Entries that single vendors have (docs/profiles.md). */
    {2, 0, "moe.gemm1:bias=f32,bias1=acc_ftz|behind," TINY ",data=ordinary"},
    {2, 0, "moe.gemm2:bias=f32,bias2=acc_ftz|behind," TINY ",data=ordinary"},
    {2, 0,
     "moe.gemm2:quant=quant.mx,quant_element=e4m3fn,quant_rule=floor,"
     "requant=same,requant_rule=*," NINE ",data=ordinary"},
    {2, 0,
     "moe.gemm2:input_scale=given,quant=quant.static,"
     "quant_element=e4m3fn,quant_rule=divide,requant=same,"
     "requant_rule=same|divide|reciprocal," TINY ",data=ordinary"},
    {2, 0,
     "moe.gemm2:input_scale=given,quant=quant.nvfp4,quant_element=e2m1,"
     "quant_rule=fast,requant=same,"
     "requant_rule=fast|ieee|exact|vllm|trtllm_gen," TINY ",data=ordinary"},
    {2, 0, "moe.gemm2:routing_at=glu,sum=slots," ONE ",data=ordinary"},
    {2, 0,
     "moe.gemm2:routing_at=sum,routing_type=f32,sum=fma_ftz," TINY
     ",data=ordinary"},
    {2, 0,
     "moe.gemm2:routing_at=acc,routing_type=f32,row_out=bf16sat,"
     "sum=by_expert|experts_bf16,absent=refuse," TINY ",data=ordinary"},
    {2, 0, "moe.layer:bias=f32,bias2=acc_ftz|behind," TINY ",data=ordinary"},
    {2, 0,
     "moe.layer:quant=quant.mx,quant_element=e4m3fn,quant_rule=floor,"
     "requant=same,requant_rule=*," NINE ",data=ordinary"},
    {2, 0,
     "moe.layer:input_scale=given,quant=quant.static,"
     "quant_element=e4m3fn,quant_rule=divide,requant=same,"
     "requant_rule=same|divide|reciprocal," TINY ",data=ordinary"},
    {2, 0,
     "moe.layer:input_scale=given,quant=quant.nvfp4,quant_element=e2m1,"
     "quant_rule=fast,requant=same,"
     "requant_rule=fast|ieee|exact|vllm|trtllm_gen," TINY ",data=ordinary"},
    {2, 0, "moe.layer:routing_at=glu,sum=slots," ONE ",data=ordinary"},
    {2, 0,
     "moe.layer:routing_at=sum,routing_type=f32,sum=fma_ftz," TINY
     ",data=ordinary"},
    {2, 0,
     "moe.layer:routing_at=acc,routing_type=f32,row_out=bf16sat,"
     "sum=by_expert|experts_bf16,absent=refuse," TINY ",data=ordinary"},
    {2, 0, "moe.layer:bias=f32,bias1=acc_ftz|behind," TINY ",data=ordinary"},
    ENTRY("bias=f32,bias1=acc_ftz|behind,bias2=acc_ftz|behind"),
    {2, 0,
     "moe.layer_routed:routing_at=glu,sum=slots,tokens=3,top_k=1,experts=4,"
     "hidden=64,inter=64,data=ordinary"},
    ENTRY("routing_at=sum,routing_type=f32,sum=fma_ftz"),
    ENTRY("routing_at=acc,routing_type=f32,sum=by_expert|experts_bf16"),
    ENTRY("quant=quant.mx,quant_element=e4m3fn,quant_rul"
          "e=floor,requant=same,requant_rule=*"),
    ENTRY(
        "input_scale=given,quant=quant.static,quant_element=e4m3fn"
        ",quant_rule=divide,requant=same,requant_rule=same|divide|reciprocal"),
    ENTRY("input_scale=given,quant=quant.nvfp4,quant_element=e2m1,qu"
          "ant_rule=fast,requant=same,requant_rule=fast|ieee|exact|vllm|trtllm_"
          "gen"),
    {0, 0, NULL},
};

const case_family cases_layer_ways = {"layer_ways", fills, grid};
