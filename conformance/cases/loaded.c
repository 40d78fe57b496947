/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers whose weights are as a loader has laid them out: data of the layers,
 * which ../fill_loaded.h sends through a conversion.
 */
#include "data/fills.h"

#include <stddef.h>

static const fill_row fills[] = {
    {NULL, NULL, NULL, NULL},
};

#define SMALL "topk=2,experts=4,hidden=64,inter=96"
#define BLOCKS "topk=2,experts=2,hidden=128,inter=128"
#define LOADED "conversion=mxo_hopper," SMALL
#define MIXED "conversion=mxo_hopper_gate_up,rows=halves," SMALL
/* Loaders that leave gates and ups for one kernel, and some that widen. */
#define VENDORS                                                              \
    "cutlass_mxfp4_bf16|cutlass_mxfp4_bf16/revision=1|cutlass_mxfp4_mxfp8|"  \
    "aiter_mxfp4_bf16|cpu_amx|deepgemm|humming/mma=wgmma|marlin|marlin_fp8|" \
    "triton_blackwell|triton_cdna4|triton_hopper|trtllm_gptoss"
#define TENSORS(w) \
    "missing." w "|dtype." w "|short." w "|long." w "|bytes." w "|flat." w

static const grid_row grid[] = {
    {1, 0,
     "moe.layer:" LOADED ",profile=exact|TRITON,tokens=1|5,bias=bf16,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:" LOADED ",profile=exact|MARLIN|TRITON,tokens=0|1|2|5|33,"
     "bias=none|bf16,data=orderfree"},
    {2, 0,
     "moe.layer:" LOADED ",profile=MARLIN|TRITON,tokens=1|2|33,bias=bf16,"
     "data=typical"},
    {2, 0,
     "moe.layer:" MIXED ",profile=exact|MARLIN|TRITON,tokens=1|2|33,"
     "bias=none|bf16,data=orderfree|ordinary"},
    {2, 0, /* one token has its own way in some kernels: many rows and blocks */
     "moe.layer:conversion=mxo_hopper,profile=TRITON,tokens=1,topk=4,"
     "experts=5,hidden=288,inter=160,bias=bf16,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:conversion=mxo_hopper,profile=TRITON,map=1,global=9,tokens=5,"
     "topk=3,experts=4,hidden=64,inter=32,data=orderfree"},
    {2, 0,
     "moe.layer:conversion=mxo_hopper|mxo_hopper_gate_up,profile=TRITON,"
     "tokens=3,topk=2,experts=3,hidden=32,inter=32,data=corners"},
    {2, 0,
     "moe.gemm1:" LOADED ",profile=exact|MARLIN|TRITON,stage=*,tokens=1|5,"
     "bias=none|bf16,data=orderfree"},
    {2, 0,
     "moe.gemm1:" MIXED ",profile=exact|TRITON,stage=*,tokens=5,bias=bf16,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm2:" LOADED ",profile=exact|MARLIN|TRITON,stage=*,tokens=1|5,"
     "bias=none|bf16,data=orderfree"},
    {2, 0, /* odd rows */
     "moe.gemm1:conversion=mxo_hopper,profile=exact|TRITON,stage=*,tokens=3,"
     "topk=2,experts=3,hidden=64,inter=20|33,bias=bf16,data=orderfree"},
    {2, 0,
     "moe.gemm1:conversion=mxo_hopper_gate_up,rows=halves,profile=TRITON,"
     "stage=act,tokens=3,topk=2,experts=3,hidden=64,inter=5|20,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:conversion=mxo_hopper,profile=exact|TRITON,stage=*,tokens=3,"
     "topk=2,experts=3,hidden=35|72,inter=64,bias=bf16,data=orderfree"},
    {2, 0, /* a last block of scales that is half full */
     "moe.layer:conversion=mxo_hopper,tokens=3,topk=2,experts=4,"
     "hidden=48,inter=64"},
    {2, 0,
     "moe.layer:conversion=mxo_hopper,tokens=3,topk=2,experts=4,"
     "hidden=64,inter=48"},
    {2, 0,
     "moe.layer_routed:conversion=mxo_hopper,profile=TRITON,top_k=2,tokens=5,"
     "experts=4,hidden=64,inter=96,bias=bf16,data=orderfree"},
    {2, 0,
     "moe.layer_routed:conversion=mxo_hopper_gate_up,rows=halves,top_k=2,"
     "tokens=3,experts=4,hidden=64,inter=96,data=ordinary"},
    {2, 0, /* a stack that is padded once, behind the last expert */
     "moe.layer:conversion=aiter_mxfp4_bf16_situ|aiter_mxfp4_bf16_situ_a8w4,"
     "profile=TRITON,rows=halves,tokens=5,topk=2,experts=3,hidden=128,"
     "inter=128,bias=bf16,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:conversion=" VENDORS ",profile=TRITON,tokens=1," BLOCKS
     ",bias=bf16,data=orderfree"},
    {2, 0,
     "moe.layer:conversion=aiter_mxfp4_bf16_gate_up|aiter_mxfp4_mxfp4|"
     "trtllm_general,rows=halves,profile=exact,tokens=1," BLOCKS
     ",bias=none|bf16,data=orderfree"},
    {2, 0,
     "moe.layer:conversion=deepgemm|triton_cdna4,profile=TRITON,tokens=2,"
     "topk=1,experts=2,hidden=64,inter=64,bias=bf16,data=orderfree"},
    {2, 0, /* pads that nobody defines */
     "moe.layer:conversion=aiter_mxfp4_bf16|triton_cdna4|triton_blackwell,"
     "profile=MARLIN,tokens=2,topk=1,experts=2,hidden=384,inter=128,"
     "bias=bf16,data=ordinary"},
    {2, 0,
     "moe.gemm1:conversion=marlin|triton_hopper,profile=MARLIN,stage=act,"
     "tokens=3," BLOCKS ",bias=bf16,data=orderfree"},
    {2, 0,
     "moe.gemm2:conversion=marlin|triton_hopper,profile=MARLIN,tokens=3," BLOCKS
     ",bias=bf16,data=orderfree"},
    {2, 0, /* codes that come in fours */
     "moe.layer:conversion=mxo_hopper|mxo_hopper_gate_up,rows=halves,tokens=3,"
     "topk=2,experts=4,hidden=34,inter=64"},
    {2, 0,
     "moe.layer:conversion=mxo_hopper,tokens=3,topk=2,experts=4,hidden=64,"
     "inter=34"},
    {2, 0, /* no such conversion, or none for this layer */
     "moe.layer:conversion=mxo_hoper|mxo_hopper/rev=1|mxo_hopper.w13,"
     "tokens=3," SMALL},
    {2, 0, "moe.layer:" LOADED ",tokens=3,bias=f32|f16"},
    {2, 0,
     "moe.layer:conversion=trtllm_gptoss|cutlass_mxfp4_bf16,tokens=3," SMALL
     ",bias=bf16"},
    {2, 0, "moe.layer:conversion=cutlass_mxfp4_bf16,tokens=3," BLOCKS},
    {2, 0,
     "moe.layer:" LOADED ",tokens=3,bias=bf16,flaw=" TENSORS("w13") "|" TENSORS(
         "w2_scale") "|" TENSORS("w13_bias") "|value.conversion"},
    {3, 0,
     "moe.layer:conversion=mxo_hopper,profile=TRITON,tokens=1,topk=4,"
     "experts=4,hidden=2880,inter=2880,bias=bf16,data=typical"},
    {0, 0, NULL},
};

const case_family cases_loaded = {"loaded", fills, grid};
