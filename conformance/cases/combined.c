/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters together: a fault may need two values of different parameters, or
 * three.  Every two that an operation takes together stand in one case here;
 * every three, where calls are small and their parameters few.
 */
#include "data/fills.h"

#include <stddef.h>

/* Those that say all of an MXFP4 layer. */
#define PROFILES                                                        \
    "exact|MARLIN|BATCHED_MARLIN|TRITON|TRITON_UNFUSED|CPU|EMULATION"   \
    "|HUMMING|DEEPGEMM_MXFP4|FLASHINFER_TRTLLM_MXFP4_MXFP8"             \
    "|FLASHINFER_TRTLLM_MXFP4_BF16|FLASHINFER_CUTLASS_MXFP4_MXFP8"      \
    "|FLASHINFER_CUTLASS_MXFP4_BF16|AITER_MXFP4_BF16|AITER_MXFP4_FP8"   \
    "|AITER_MXFP4_MXFP4|CK|XPU|FLASHINFER_CUTLASS_MXFP4_MXFP8/fused"    \
    "|BATCHED_MARLIN/naive|DEEPGEMM_MXFP4/unfused"                      \
    "|AITER_MXFP4_MXFP4/roundup|AITER_MXFP4_MXFP4/flydsl"               \
    "|AITER_TRITON_MXFP4_BF16|B12X_MXFP4_BF16|B12X_MXFP4_MXFP8"         \
    "|TRITON/split_k|HUMMING/native|XPU/clamp|EMULATION/triton"         \
    "|B12X_MXFP4_BF16/atomic|B12X_MXFP4_MXFP8/deterministic|TRITON/3.5" \
    "|HUMMING/streamk|AITER_MXFP4_BF16/split2"

static const fill_row fills[] = {
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    {2, GRID_TRIPLES,
     "act.glu:dialect=*,layout=*,order=*,from=bf16|f16|f32,to=bf16|f16|f32,"
     "nan=*,rows=3,cols=9,data=corners|limits"},
    {2, GRID_PAIRS,
     "act.glu:dialect=exact|trtllm|triton|vllm_swigluoai,per_expert=limit|all,"
     "tile=1|6,gather=1,layout=*,order=*,from=*,to=*,experts=5,rows=18,"
     "picks=14,cols=9,data=limits|disjoint"},
    {2, GRID_TRIPLES,
     "act.glu_quant:dialect=*,from=*,group=32|64|128,limit=none|7,scale=*,"
     "rows=7,cols=256,data=disjoint|limits"},
    {2, GRID_TRIPLES,
     "act.unary:fn=*,alpha=1|1.702,to=*,ftz=*,n=64,data=ordinary|corners"},
    {2, 0, /* beside the ends of a lane's runs */
     "act.glu:dialect=exact,layout=*,rows=2,cols=255|256|257|511|513|1025,"
     "data=disjoint"},
    {2, 0, /* no multiple of 128, behind several */
     "gemm.mx:acc=f32|seq|pairwise|block|dpbf16|amx|tc25|tc13,rows=2,"
     "k=544|1056|2208,cols=3,data=ordinary"},
    {2, 0,
     "gemm.mx:acc=split,splits=2|3,rows=2,k=544|1056|2208,cols=3,"
     "data=ordinary"},
    {2, GRID_PAIRS,
     "dequant.group:element=*,to=*,zero=*,group_rows=1|2|64,"
     "group_cols=32|128,rows=64,cols=128,data=ordinary|corners"},
    {2, GRID_TRIPLES,
     "dequant.mx:element=*,to=*,zero=*,rows=5,cols=64,data=indexed|corners"},
    {2, 0, "dequant.mx_table:rule=*,to=*,codes=16,scales=256,data=indexed"},
    {2, GRID_TRIPLES,
     "format.encode:format=*,from=*,tie=rne|rz|rna|rnz,sat=*,n=64,"
     "data=ties|corners"},
    {2, GRID_PAIRS,
     "format.encode:format=*,from=*,tie=sr,bits=2|8|13,sat=*,n=64,"
     "data=ties|corners"},
    {2, GRID_TRIPLES,
     "gemm.mx:from=*,a_scale=*,element=*,w_scale=*,acc=*,"
     "bias=*,bias_type=*,to=f32|bf16|f16,rows=3,k=160,cols=5,data=ordinary"},
    {2, 0, "gemm.q8_0:weights=*,order=*,rows=3,k=96,cols=13|16"},
    {2, GRID_PAIRS,
     "quant.mx:element=*,from=*,rule=*,tie=*,rows=3,cols=64,"
     "data=ordinary|corners"},
    {2, GRID_PAIRS,
     "quant.mx:element=*,from=*,axis=0,rows=64,cols=5,data=ordinary"},
    {2, GRID_PAIRS,
     "layout.apply:layout=vllm.as_is|vllm.swap_every_two_rows|"
     "vllm.reorder_w1w3_to_w3w1|vllm.cutlass_deinterleave_swap|"
     "vllm.aiter_deinterleave_w13|vllm.trtllm_stack_w3w1,dtype=*,dir=*,"
     "experts=1|3,rows=32,cols=16"},
    {2, GRID_PAIRS,
     "layout.convert:conversion=identity|marlin|triton_hopper|"
     "cutlass_mxfp4_bf16_general|aiter_triton_mxfp4,bias=*,experts=1|3,"
     "inter=128,hidden=256,data=random|coded"},
    {2, 0,
     "layout.record:record=ggml.mxfp4|quark.mxfp4_17|ggml.mxfp4_x4|"
     "ggml.mxfp4_x8|ggml.ik_mxfp4_r8,experts=3,rows=16,cols=48,groups=3"},
    {2, 0,
     "layout.record:record=ggml.nvfp4|ggml.cuda_nvfp4,scale=e4m3,experts=3,"
     "rows=3,cols=128,groups=16"},
    {2, 0,
     "layout.record:record=ggml.q8_0,codes=i8,scale=f16,experts=3,rows=3,"
     "cols=96,groups=3"},
    {2, 0,
     "layout.record:record=ggml.cuda_mxfp4,experts=3,rows=3,cols=160,"
     "groups=10"},
    {2, GRID_TRIPLES,
     "quant.mx:element=e2m1|e4m3fn,from=*,sf_layout=*,sf_batch=*,align=32|128,"
     "rows=32,cols=256,data=ordinary"},
    {2, GRID_TRIPLES,
     "quant.group:element=*,from=*,rule=*,pow2=1,scale=*,rows=7,cols=512,"
     "data=ordinary|corners"},
    {2, GRID_TRIPLES,
     "quant.static:element=*,from=*,apply=*,nan=*,rows=3,cols=17,"
     "data=ordinary|corners"},
    {2, GRID_TRIPLES,
     "quant.nvfp4:from=bf16|f16|f32,scale=e4m3,math=fast|ieee|exact|vllm,"
     "rcp=*,inverted=*,global=1,sf_layout=*,rows=9,cols=64,gscales=1,"
     "data=ordinary|corners"},
    {2, GRID_TRIPLES,
     "quant.nvfp4:from=bf16|f16|f32,scale=e8m0,math=fast|ieee,rcp=*,"
     "inverted=*,global=1,sf_layout=*,rows=9,cols=64,gscales=1,"
     "data=ordinary|corners"},
    {2, GRID_PAIRS,
     "quant.nvfp4:from=e4m3,scale=*,math=fast,rcp=*,inverted=*,global=1,"
     "sf_layout=*,rows=9,cols=64,gscales=1,data=ordinary|corners"},
    {2, GRID_PAIRS,
     "quant.nvfp4_engine:rule=*,from=*,rows=3,cols=64,data=ordinary|corners"},
    /* No columns: what is told of a whole row or tensor is there. */
    {2, 0, "quant.nvfp4_engine:rule=ggml_cuda|modelopt,rows=3,cols=0"},
    {2, 0, "quant.mxfp4_to_nvfp4:rows=3,cols=0"},
    {2, GRID_TRIPLES,
     "quant.qdq:from=*,rule=*,rows=3,cols=64,data=corners|ordinary"},
    {2, GRID_PAIRS,
     "quant.engine:rule=*,element=*,from=*,rows=3,cols=64,"
     "data=ordinary|corners"},
    {2, GRID_TRIPLES,
     "moe.finalize:sum=*,from=*,weight=f32|bf16|f16,to=*,source=permuted,map=1,"
     "absent=*,hidden_dim=0|13,rows=35,cols=20,tokens=5,slots=7,experts=9,"
     "data=ordinary|ties"},
    {2, GRID_TRIPLES,
     "moe.finalize:sum=*,from=*,weight=f32|bf16|f16,to=*,source=pairs,"
     "hidden_dim=0|13,rows=35,cols=20,tokens=5,slots=7,data=ordinary|ties"},
    {2, GRID_TRIPLES,
     "moe.permute:ids=pair,top_k=3,per_pair=*,pad=0|7,layout=*,sources=12,"
     "row_bytes=20|32|68|257,rows=37"},
    {2, GRID_TRIPLES,
     "moe.permute:ids=aiter,top_k=3,per_pair=*,pad=0|7,layout=*,sources=12,"
     "row_bytes=20|32|68|257,rows=37,one=1"},
    {2, GRID_TRIPLES,
     "moe.sort:layout=*,num_experts=9|40,block_size=16|32|64,local=all,"
     "tokens=33,top_k=3,data=distinct|random"},
    {2, GRID_TRIPLES,
     "moe.sort:layout=*,num_experts=9,block_size=16|32|64,local=map|mask,"
     "experts=9,tokens=33,top_k=3,data=distinct|random"},
    {2, GRID_TRIPLES,
     "moe.sort:layout=*,num_experts=40,block_size=16|32|64,local=map|mask,"
     "experts=40,tokens=33,top_k=3,data=distinct|random"},
    {2, GRID_TRIPLES,
     "route.topk:dialect=*,from=*,to=*,top_k=1|2|7|8,renormalize=*,tokens=5,"
     "experts=40,data=logits|few"},
    {2, GRID_TRIPLES,
     "route.topk:dialect=sigmoid_topk|trtllm_deepseek_v3|trtllm_minimax2|"
     "vllm_fused_scores|vllm_fused_sigmoid|vllm_sigmoid|vllm_softmax|"
     "vllm_torch_sigmoid|vllm_torch_softmax,from=*,to=*,renormalize=*,"
     "routed_scaling_factor=2.5,tokens=5,experts=40,data=logits|few"},
    {2, GRID_PAIRS,
     "moe.gemm1:from=bf16|f16|f32,stage=*,activation=*,rows=*,limit=none|7,"
     "per_expert=none|limit,bias=*,map=1,profile=" PROFILES ",tokens=5,"
     "hidden=64,topk=1|2|3|4|7|8,global=9,experts=8,inter=32,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.gemm2:from=bf16|f16,stage=*,bias=*,map=1,profile=" PROFILES ","
     "absent=skip|zero,tokens=5,inter=64,topk=1|2|3|4|7|8,global=9,experts=8,"
     "hidden=32,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.layer:from=bf16|f16|f32,activation=*,rows=*,bias=*,map=1,"
     "profile=" PROFILES ",absent=skip|zero,per_expert=none|limit,"
     "limit=none|7,tokens=5,hidden=64,inter=64,topk=1|2|3|4|7|8,global=9,"
     "experts=8,data=orderfree"},
    {2, GRID_PAIRS, /* constants of each expert */
     "moe.layer:from=bf16|f16|f32,rows=*,bias=*,map=1,"
     "profile=exact|TRITON|FLASHINFER_TRTLLM_MXFP4_BF16|"
     "FLASHINFER_CUTLASS_MXFP4_BF16,per_expert=*,limit=none|7,tokens=33,"
     "hidden=64,inter=64,topk=2|3,global=9,experts=8,data=orderfree"},
    {2, GRID_PAIRS, /* a scale of the input that is given */
     "moe.gemm1:from=bf16|f16|f32,stage=*,rows=*,bias=*,map=1,"
     "profile=AITER_MXFP4_FP8,input_scale=given,tokens=5,hidden=64,"
     "topk=2|7,global=9,experts=8,inter=32,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.gemm2:from=bf16|f16,stage=*,bias=*,map=1,profile=AITER_MXFP4_FP8,"
     "absent=skip|zero,input_scale=given,tokens=5,inter=64,topk=2|7,"
     "global=9,experts=8,hidden=32,data=orderfree"},
    {2, GRID_PAIRS, /* activations that are quantised already */
     "moe.layer:from=e2m1,activation=*,rows=*,bias=*,map=1,"
     "profile=exact|MARLIN|TRITON|CK|XPU|HUMMING|AITER_MXFP4_BF16,tokens=5,"
     "hidden=64,inter=64,topk=2|3,global=9,experts=8,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.gemm2:sum=fma|product|exact,routing_at=sum,routing_type=*,from=*,"
     "bias=*,map=1,absent=skip|zero,tokens=5,inter=64,topk=2|7,global=9,"
     "experts=8,hidden=32,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.gemm2:sum=slots|by_expert|moe_sum|exact,routing_at=acc|rounded,"
     "routing_type=*,from=*,bias=*,map=1,absent=skip|zero,tokens=5,inter=64,"
     "topk=2|7,global=9,experts=8,hidden=32,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.layer_routed:dialect=*,logits=*,top_k=1|2|7|8,renormalize=*,"
     "correction=none,profile=exact|MARLIN|TRITON,bias=*,from=*,tokens=5,"
     "global=16,hidden=64,experts=16,inter=64,data=ordinary"},
    {2, GRID_PAIRS,
     "moe.nvfp4_layer:profile=*,map=1,from=*,activation=*,rows=*,"
     "quant_rule=*,requant_rule=*,routing_type=*,out=*,tokens=5,topk=2|7,"
     "global=9,hidden=64,experts=7,inter=32,one=1,data=orderfree"},
    {2, 0,
     "moe.sort:layout=triton,num_experts=9|40|130,n_rows=0|7|33,"
     "block_size=16|64,tokens=33,top_k=3,data=distinct"},
    {2, 0, "quant.requant:container=*,rows=3,cols=64,data=*"},
    {2, GRID_TRIPLES,
     "route.topk:dialect=trtllm_deepseek_v3,from=*,to=*,top_k=3|4,n_group=4,"
     "topk_group=1|2|4,n_shared=0|2,bias=f32|bf16,also=none|packed,experts=32,"
     "tokens=4,data=logits"},
    {2, GRID_TRIPLES,
     "route.topk:dialect=vllm_softplus_sqrt,from=*,to=*,table=1,renormalize=*,"
     "routed_scaling_factor=1|1.5,top_k=4,slots=4,vocabulary=11,experts=16,"
     "tokens=6,data=logits"},
    {2, GRID_PAIRS,
     "moe.layer_routed:dialect=trtllm_deepseek_v3,logits=*,n_group=4,"
     "topk_group=1|2,correction=f32|bf16,top_k=2|4,"
     "profile=exact|MARLIN|TRITON|CPU,bias=*,from=*,tokens=5,global=16,"
     "hidden=64,experts=16,inter=64,data=ordinary"},
    {2, GRID_PAIRS,
     "moe.nvfp4_gemm1:profile=*,map=1,stage=*,from=*,activation=*,rows=*,"
     "quant_rule=*,gemm1_out=*,tokens=5,topk=2|7,global=9,"
     "hidden=64,experts=7,inter=32,one=1,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.nvfp4_gemm2:profile=*,map=1,from=*,stage=*,requant_rule=*,"
     "routing_type=*,row_out=*,out=*,absent=skip|zero,tokens=5,topk=2|7,"
     "inter=32,global=9,experts=7,hidden=32,data=orderfree"},
    {2, GRID_PAIRS,
     "gemm.mx:from=*,a_scale=*,element=*,w_scale=*,bias=*,bias_type=*,to=f64,"
     "sums=*,rows=3,k=160,cols=5,data=ordinary"},
    {2, 0, /* more experts than a block, and no multiple of it */
     "moe.gemm1:tokens=9,hidden=32,topk=3,experts=33|65|100|130|257,inter=8,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:tokens=9,topk=3,inter=32,experts=33|65|100|130|257,hidden=8,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:tokens=9,hidden=32,topk=3,experts=33|65|100|130|257,inter=32,"
     "data=orderfree"},
    {2, 0,
     "quant.mx:element=e2m1,from=*,sf_layout=linear|aiter_a16w4_gate_up,"
     "q_layout=aiter_16x16|aiter_16x16_gate_up,rows=64,cols=256,"
     "data=ordinary"},
    {2, GRID_PAIRS, /* magnitudes beside a bias that is none of theirs */
     "gemm.mx:acc=f32|seq|block,sums=1,bias=*,bias_type=*,to=f32|bf16,"
     "a_scale=*,rows=3,k=96,cols=5,data=ordinary"},
    {0, 0, NULL},
};

const case_family cases_combined = {"combined", fills, grid};
