/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types, rules and dialects at other sizes than small ones: a kernel that is
 * built once for each of them has tails, second tiles and long rows in each.
 */
#include "data/fills.h"

#include <stddef.h>

/* Profiles that take a swigluoai, and those that take a silu alone. */
#define OAI                                                           \
    "exact|MARLIN|BATCHED_MARLIN|TRITON|TRITON_UNFUSED|CPU|EMULATION" \
    "|HUMMING|FLASHINFER_TRTLLM_MXFP4_MXFP8"                          \
    "|FLASHINFER_TRTLLM_MXFP4_BF16|FLASHINFER_CUTLASS_MXFP4_MXFP8"    \
    "|FLASHINFER_CUTLASS_MXFP4_BF16|AITER_MXFP4_BF16|AITER_MXFP4_FP8" \
    "|AITER_MXFP4_MXFP4/flydsl|AITER_TRITON_MXFP4_BF16"               \
    "|B12X_MXFP4_BF16|TRITON/3.5|HUMMING/native|EMULATION/triton"     \
    "|FLASHINFER_CUTLASS_MXFP4_MXFP8/fused"
#define SILU_ALONE                                             \
    "DEEPGEMM_MXFP4|AITER_MXFP4_MXFP4|CK|XPU|B12X_MXFP4_MXFP8" \
    "|DEEPGEMM_MXFP4/unfused|AITER_MXFP4_MXFP4/roundup|XPU/clamp"
#define ALL OAI "|" SILU_ALONE
/* Routers that choose several experts, whatever their number. */
#define ROUTERS                                                          \
    "softmax_topk|topk_softmax|sigmoid_topk|trtllm_default"              \
    "|trtllm_renormalize|trtllm_deepseek_v3|trtllm_renormalize_naive"    \
    "|trtllm_topk|trtllm_sigmoid_renorm|trtllm_minimax2|trtllm_sigmoid"  \
    "|trtllm_topk_sigmoid|vllm_softmax|vllm_sigmoid|vllm_fused_scores"   \
    "|vllm_fused_sigmoid|vllm_torch_softmax|vllm_torch_sigmoid|vllm_cpu" \
    "|triton35_topk_softmax|triton35_softmax_topk|triton37_topk_softmax" \
    "|triton37_softmax_topk"

static const fill_row fills[] = {
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    {2, GRID_PAIRS, /* gemm.mx: many rows, then many columns and a long K */
     "gemm.mx:from=*,a_scale=*,element=*,w_scale=*,acc=*,bias=none|sum,"
     "bias_type=*,to=f32|bf16|f16,rows=1|18|66,cols=9|34,k=32|96,"
     "data=ordinary"},
    {2, GRID_PAIRS,
     "gemm.mx:from=*,a_scale=*,element=*,w_scale=*,acc=f32|seq|block|exact,"
     "bias=*,bias_type=*,to=f32|bf16|f16,rows=1|2,cols=8|72,k=544,"
     "data=ordinary"},
    {2, GRID_PAIRS,
     "gemm.mx:acc=split,splits=1|4|9,bias=none|sum,to=f32|bf16,rows=9,cols=40,"
     "k=32|288,data=ordinary"},
    {2, GRID_PAIRS,
     "gemm.mx:acc=seq|pairwise|block|dpbf16|amx|wgmma|tc25|tc13,to=f32|bf16,"
     "rows=9|17,cols=40,k=32|160,data=ordinary"},
    {2, 0, "gemm.mx:rows=128,cols=128,k=128,data=ordinary"},
    {2, 0, "gemm.q8_0:order=*,rows=1|17,k=160,cols=13|72"},
    {2, 0, "gemm.q8_0:weights=nvfp4,rows=1|17,k=64|320,cols=13|72"},
    {2, GRID_PAIRS,
     "quant.mx:element=*,from=*,rows=1|129,cols=32|64,data=ordinary"},
    {2, GRID_PAIRS,
     "quant.mx:element=*,from=*,rows=1|2,cols=1056,data=ordinary"},
    {2, GRID_PAIRS,
     "quant.mx:element=*,from=*,axis=0,rows=32|96,cols=64|160,data=ordinary"},
    {2, GRID_PAIRS,
     "quant.mx:rule=*,from=*,rows=1|33,cols=32|288,data=ordinary"},
    {2, GRID_PAIRS,
     "quant.mx:element=e2m1|e4m3fn,from=*,sf_layout=linear|128x4|8x4|aiter|"
     "aiter_linear,rows=129|257|260,cols=288|352,data=ordinary"},
    {2, GRID_PAIRS,
     "quant.mx:element=e2m1|e4m3fn,from=*,sf_layout=aiter_a16w4|"
     "aiter_a16w4_gate_up,rows=32|288,cols=256|768,data=ordinary"},
    {2, GRID_PAIRS,
     "quant.mx:element=e2m1,from=*,q_layout=aiter_16x16|aiter_16x16_gate_up,"
     "rows=96|128,cols=512,data=ordinary"},
    {2, GRID_PAIRS,
     "quant.group:rule=*,element=*,from=*,scale=*,group_rows=1,"
     "group_cols=32|128,pow2=1,rows=1|69,cols=128|1152,data=ordinary"},
    {2, GRID_PAIRS,
     "quant.group:rule=*,element=*,from=*,group_rows=1,group_cols=32|128,"
     "rows=1|69,cols=128|1056,data=ordinary"},
    {2, GRID_PAIRS,
     "quant.group:rule=aiter_token|aiter_tensor,element=*,from=*,"
     "group_rows=0|1,group_cols=0,rows=1|69,cols=31|1056,data=ordinary"},
    {2, GRID_PAIRS,
     "dequant.group:element=*,to=*,zero=*,group_rows=1|2|64,"
     "group_cols=32|128,rows=64|192,cols=128|640,data=ordinary"},
    {2, GRID_PAIRS,
     "dequant.mx:element=*,to=*,rows=1|65|129,cols=32|544,data=indexed"},
    {2, GRID_PAIRS,
     "quant.static:element=*,from=*,apply=*,rows=1|65,cols=7|1031,"
     "data=ordinary"},
    {2, GRID_PAIRS,
     "quant.nvfp4:from=*,math=*,sf_layout=*,scale=*,rows=1|129|257,"
     "cols=16|80|208,data=ordinary"},
    {2, GRID_PAIRS, "quant.qdq:rule=*,from=*,rows=1|65,cols=32|65|544"},
    {2, GRID_PAIRS,
     "quant.engine:rule=*,element=*,from=*,rows=1|3,cols=32|160|544,"
     "data=ordinary"},
    {2, GRID_PAIRS,
     "quant.nvfp4_engine:rule=*,from=*,rows=1|5,cols=64|320|1088,"
     "data=ordinary"},
    {2, 0, "quant.q8_0:rows=1|5,cols=32|160|544,data=ordinary"},
    {2, GRID_PAIRS,
     "quant.scaled:from=*,scale=*,rows=1|5,cols=32|160|544,data=ordinary"},
    {2, GRID_PAIRS, "quant.requant:container=*,rows=1|5,cols=32|160|544"},
    {2, 0, "quant.mxfp4_to_nvfp4:rows=1|5,cols=32|160|288,data=near"},
    {2, GRID_PAIRS, "dequant.nvfp4_engine:rule=*,to=*,rows=1|65,cols=64|320"},
    {2, GRID_PAIRS,
     "act.glu:dialect=*,layout=*,order=*,from=*,to=*,rows=1|65,cols=9|33,"
     "data=disjoint"},
    {2, GRID_PAIRS,
     "act.glu:dialect=*,layout=*,from=bf16|f16|f32,to=bf16|f16|f32,rows=1|2,"
     "cols=513,data=disjoint"},
    {2, GRID_PAIRS,
     "act.glu:dialect=exact|trtllm|triton|vllm_swigluoai,per_expert=limit|all,"
     "tile=1|16|128,gather=1,layout=*,experts=3|130,rows=256,picks=70|300,"
     "cols=9,data=limits"},
    {2, GRID_PAIRS,
     "act.glu_quant:dialect=*,from=*,group=32,limit=none|7,scale=*,"
     "rows=1|5|69,cols=160|224|1056,data=disjoint"},
    {2, GRID_PAIRS,
     "moe.sort:layout=*,num_experts=1|2|300,block_size=1|16|128|256,"
     "tokens=1|5|130,top_k=1,data=random"},
    {2, GRID_PAIRS,
     "moe.sort:layout=*,num_experts=130,block_size=16|128,local=range,"
     "local_expert_offset=1|65,local_num_experts=1|65,tokens=70,top_k=4,"
     "data=distinct"},
    {2, 0,
     "moe.sort:layout=*,num_experts=3,block_size=16|128,tokens=4099,top_k=1,"
     "data=random"},
    {2, GRID_PAIRS,
     "moe.sort:layout=*,num_experts=130,local=map|mask,experts=130,"
     "tokens=70|1030,top_k=8,data=distinct"},
    {2, 0, "moe.sort:layout=*,num_experts=40,tokens=3,top_k=32,data=distinct"},
    {2, 0,
     "moe.sort:layout=*,num_experts=9,n_shared=1|2,tokens=65,top_k=3,"
     "data=distinct"},
    {2, GRID_PAIRS,
     "route.topk:dialect=" ROUTERS ",from=*,to=*,renormalize=*,top_k=4,"
     "tokens=33,experts=40,data=logits"},
    {2, GRID_PAIRS,
     "route.topk:dialect=" ROUTERS ",from=*,to=*,renormalize=*,top_k=4,"
     "tokens=1,experts=136,data=logits"},
    {2, GRID_PAIRS,
     "route.topk:dialect=" ROUTERS ",from=*,to=*,renormalize=*,top_k=8,"
     "tokens=3,experts=8,data=logits"},
    {2, GRID_PAIRS,
     "route.topk:dialect=trtllm_llama4,from=*,to=*,top_k=1,"
     "tokens=1|35,experts=40|128,data=logits"},
    {2, GRID_PAIRS,
     "route.topk:dialect=vllm_softplus_sqrt,from=*,to=*,renormalize=*,top_k=4,"
     "tokens=1|33,experts=64|192,data=logits"},
    {2, GRID_PAIRS,
     "route.topk:dialect=vllm_softplus_sqrt,from=*,to=*,table=1,top_k=4,"
     "slots=4,vocabulary=11|300,experts=256,tokens=70,data=logits"},
    {2, GRID_PAIRS,
     "route.topk:dialect=sigmoid_topk|softmax_topk|trtllm_deepseek_v3|"
     "trtllm_minimax2|vllm_softmax|vllm_sigmoid|vllm_fused_scores|"
     "vllm_fused_sigmoid|vllm_torch_softmax|vllm_torch_sigmoid,"
     "bias=f32|bf16,from=*,to=*,also=*,top_k=4,tokens=3|35,experts=40|160,"
     "data=logits"},
    {2, GRID_PAIRS,
     "route.topk:dialect=trtllm_deepseek_v3,n_group=8,topk_group=4,"
     "n_shared=0|1,from=*,to=*,top_k=8,tokens=5|35,experts=256,bias=f32,"
     "data=logits"},
    {2, GRID_PAIRS,
     "moe.finalize:sum=*,from=*,weight=*,to=*,hidden_dim=0|67,rows=50,"
     "cols=71|1031,tokens=5,slots=1|3|9,data=ordinary"},
    {2, GRID_PAIRS,
     "moe.finalize:sum=*,from=*,weight=f32|bf16|f16,to=*,source=pairs,"
     "hidden_dim=0|67,rows=15,cols=71|1031,tokens=5,slots=3,data=ordinary"},
    {2, GRID_PAIRS,
     "moe.finalize:sum=*,from=*,weight=none,to=*,source=pairs,top_k=3,"
     "rows=15,cols=71|1031,data=ordinary"},
    {2, GRID_PAIRS,
     "moe.finalize:sum=*,from=*,weight=*,to=*,rows=610,cols=8,tokens=67,"
     "slots=2|9,data=ordinary"},
    {2, GRID_PAIRS,
     "moe.permute:ids=pair,top_k=1|6|8,per_pair=*,pad=0|255,layout=*,"
     "sources=70,row_bytes=18|32|300|4100,rows=1|70|300"},
    {2, GRID_PAIRS,
     "moe.permute:ids=aiter,top_k=6|8,per_pair=*,pad=0|255,layout=*,"
     "sources=70,row_bytes=18|32|300|4096,rows=300,one=1"},
    {2, GRID_PAIRS,
     "moe.permute:top_k=1|8,layout=*,sources=140,row_bytes=16|36,rows=1030"},
    {2, GRID_PAIRS, /* layers: the tokens and experts of each profile */
     "moe.gemm1:from=bf16|f16,stage=*,rows=*,bias=none|bf16,profile=" OAI
     ",tokens=40|130,topk=1,experts=4|70,hidden=32,inter=8,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.gemm1:from=bf16|f16,activation=silu,stage=*,rows=*,"
     "profile=" SILU_ALONE
     ",tokens=40|130,topk=1,experts=4|70,hidden=32,inter=8,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.gemm2:from=bf16|f16,stage=*,bias=none|bf16,profile=" ALL
     ",tokens=40|130,topk=1,experts=4|70,inter=32,hidden=32,data=orderfree"},
    {2, 0,
     "moe.layer:profile=" OAI
     ",tokens=33,topk=1,experts=66,hidden=32,inter=32,data=orderfree"},
    {2, 0,
     "moe.layer:activation=silu,rows=halves,profile=" SILU_ALONE
     ",tokens=33,topk=1,experts=66,hidden=32,inter=32,data=orderfree"},
    {2, 0, /* their long rows, and many columns */
     "moe.gemm1:profile=" OAI ",tokens=1,topk=5,experts=6,hidden=544,inter=8,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm1:profile=" OAI ",tokens=1,topk=1,experts=3,hidden=32,inter=264,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:profile=" ALL ",tokens=1,topk=5,experts=6,inter=544,hidden=8,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm2:profile=" ALL ",tokens=1,topk=1,experts=3,inter=32,hidden=544,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:profile=" OAI ",tokens=1,topk=1,experts=3,hidden=544,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:profile=" OAI ",tokens=1,topk=1,experts=3,hidden=32,inter=288,"
     "data=ordinary"},
    {2, 0, /* experts that are elsewhere, and a tile of tokens */
     "moe.gemm1:map=1,profile=" OAI ",tokens=20,topk=2,global=13,experts=9,"
     "hidden=32,inter=8,data=orderfree"},
    {2, 0,
     "moe.gemm2:map=1,profile=" ALL ",tokens=20,topk=2,global=13,experts=9,"
     "inter=32,hidden=32,data=orderfree"},
    {2, 0,
     "moe.layer:map=1,profile=" OAI ",tokens=20,topk=2,global=13,experts=9,"
     "hidden=32,inter=32,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.layer_routed:dialect=softmax_topk|topk_softmax|sigmoid_topk,"
     "logits=*,renormalize=*,top_k=2|6,profile=exact|MARLIN|TRITON,from=*,"
     "tokens=1|20|66,global=40,hidden=32,experts=40,inter=32,data=ordinary"},
    {2, GRID_PAIRS,
     "moe.nvfp4_layer:profile=*,from=bf16|f16,activation=*,rows=*,"
     "tokens=40|130,topk=1,hidden=32,experts=9|70,inter=16,one=1,"
     "data=orderfree"},
    {2, GRID_PAIRS,
     "moe.nvfp4_layer:profile=*,activation=*,rows=*,tokens=1|2,topk=1|9,"
     "hidden=32|288,experts=9,inter=16|144,one=1,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.nvfp4_gemm1:profile=*,stage=*,from=bf16|f16,activation=*,rows=*,"
     "tokens=40|130,topk=1,hidden=32|48,experts=9|70,inter=16,one=1,"
     "data=orderfree"},
    {2, GRID_PAIRS,
     "moe.nvfp4_gemm1:profile=*,stage=*,activation=*,rows=*,tokens=1|2,"
     "topk=1|9,hidden=32|288,experts=9,inter=16|144,one=1,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.nvfp4_gemm2:profile=*,from=*,stage=*,tokens=40|130,topk=1,"
     "inter=32|48,experts=9|70,hidden=16,data=orderfree"},
    {2, GRID_PAIRS,
     "moe.nvfp4_gemm2:profile=*,stage=*,tokens=1|2,topk=1|9,inter=32|144,"
     "experts=9,hidden=144,data=orderfree"},
    {2, 0, /* as their defaults have it */
     "moe.gemm1:profile=" OAI ",tokens=40,topk=1,experts=70,hidden=32,inter=8,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:profile=" ALL ",tokens=40,topk=1,experts=70,inter=32,hidden=32,"
     "data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,tokens=1,topk=1,inter=288,experts=3,hidden=288,"
     "data=orderfree"},
    {2, 0, /* a full expert beside an empty one */
     "moe.gemm1:profile=" OAI ",tokens=66,topk=1,experts=3,hidden=32,inter=8,"
     "data=crowd"},
    {2, 0,
     "moe.gemm2:profile=" ALL ",tokens=66,topk=1,experts=3,inter=32,hidden=32,"
     "data=crowd"},
    {2, 0,
     "moe.gemm1:activation=silu,rows=halves,profile=" SILU_ALONE
     ",tokens=1,topk=1,experts=3,hidden=544,inter=8,data=orderfree"},
    {2, 0,
     "moe.gemm1:activation=silu,rows=halves,profile=" SILU_ALONE
     ",tokens=1,topk=5,experts=6,hidden=32,inter=264,data=orderfree"},
    {2, 0,
     "moe.gemm1:activation=silu,rows=halves,map=1,profile=" SILU_ALONE
     ",tokens=20,topk=2,global=13,experts=9,hidden=32,inter=8,data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,map=1,tokens=20,topk=2,global=13,experts=9,"
     "hidden=48,inter=16,one=1,data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,map=1,tokens=20,topk=2,inter=32,global=13,"
     "experts=9,hidden=32,data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:profile=*,map=1,tokens=20,topk=2,global=13,experts=9,"
     "hidden=32,inter=16,one=1,data=orderfree"},
    {2, 0,
     "moe.sort:layout=*,num_experts=300,block_size=128,tokens=130,top_k=2,"
     "data=distinct"},
    {2, 0, /* one row, or three, of long products */
     "gemm.mx:bias=none|sum,rows=1|3,cols=260,k=544,data=ordinary"},
    {2, 0,
     "gemm.mx:bias=none|sum,to=bf16,rows=1|3,cols=17,k=2080,data=ordinary"},
    {2, GRID_PAIRS,
     "gemm.mx:element=*,w_scale=*,a_scale=*,rows=17,cols=3,k=288,"
     "data=ordinary"},
    {2, GRID_PAIRS,
     "gemm.mx:acc=tc25|tc13|pairwise|dpbf16|amx|wgmma|seq|block,bias=sum,"
     "to=f32|bf16,rows=2,cols=9,k=288,data=ordinary"},
    {2, 0,
     "quant.group:scale=*,pow2=1,group_rows=1,group_cols=32,rows=133,cols=128,"
     "data=ordinary"},
    {2, GRID_PAIRS,
     "route.topk:dialect=trtllm_llama4,from=*,to=*,top_k=1,tokens=4,experts=16,"
     "data=specials|corners"},
    {0, 0, NULL},
};

const case_family cases_crossed = {"crossed", fills, grid};
