/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that must be refused whatever their numbers are: sizes and parameters
 * that contradict each other, and the rows of case/invalid_calls.def.  Outputs
 * are given all the same, of the shapes that a good call beside it would have.
 */
#include "data/fills.h"

#include <stddef.h>

static const fill_row fills[] = {
    {NULL, NULL, NULL, NULL},
};

#define ROUTE "route.topk:tokens=3,experts=8,"
#define GROUPS                                                 \
    "route.topk:dialect=trtllm_deepseek_v3|vllm_fused_scores|" \
    "vllm_fused_sigmoid,tokens=3,experts=8,top_k=2,"
#define ROUTED "moe.layer_routed:tokens=3,experts=4,hidden=64,inter=96,"
#define SORT "moe.sort:tokens=5,top_k=2,"
#define SORTS "moe.sort:layout=*,tokens=5,top_k=2,"
#define PERMUTE "moe.permute:sources=4,row_bytes=16,rows=8,"
#define FINALIZE "moe.finalize:cols=8,"
#define LAYER "moe.layer:tokens=3,experts=4,hidden=64,inter=96,topk=2"
#define FIRST "moe.gemm1:tokens=3,experts=4,hidden=64,inter=96,topk=2"
#define SECOND "moe.gemm2:tokens=3,experts=4,hidden=64,inter=96,topk=2"
/* Rounds to codes by a rule, both of which are to be named. */
#define QUANT ",quant=quant.mx|quant.group|quant.qdq"
#define APPLY "layout.apply:experts=1,rows=128,cols=8"
#define GROUPED "layout.grouped:experts=1,rows=256,cols=4,n=2"

#define NVFP4_FIRST \
    "moe.nvfp4_gemm1:tokens=7,topk=3,hidden=64,experts=5,inter=32"
#define NVFP4_SECOND \
    "moe.nvfp4_gemm2:tokens=7,topk=3,inter=64,experts=5,hidden=48"
#define NVFP4_LAYER \
    "moe.nvfp4_layer:tokens=7,topk=3,hidden=64,experts=5,inter=32"

/* Faults of a tensor of one axis, of more, or of a memory whose shape is a
   layout's. */
#define VECTOR(t)                                                          \
    "missing." t "|dtype." t "|flat." t "|short." t "|long." t "|bytes." t \
    "|vast." t
#define TENSOR(t) VECTOR(t) "|turned." t
#define MEMORY(t) "missing." t "|bytes." t "|vast." t
#define KINDS(t) MEMORY(t) "|dtype." t
/* Of a vector whose length is nobody else's. */
#define MAP                                                                 \
    "missing.expert_map|dtype.expert_map|flat.expert_map|bytes.expert_map|" \
    "vast.expert_map"
#define GIVEN                                                                \
    ",input_scale=given,quant=quant.static,quant_element=e4m3fn,quant_rule=" \
    "divide"

static const grid_row grid[] = {
    {1, 0, ROUTE "top_k=-1|0|9|2147483647"},
    {2, 0, "route.topk:dialect=*,tokens=3,experts=8,top_k=9"},
    {2, 0, GROUPS "n_group=0|-1|3|9"},
    {2, 0, GROUPS "n_group=4,topk_group=0|-1|5"},
    {2, 0, ROUTE "top_k=2,n_shared=-1"},
    {2, 0, ROUTE "top_k=2,routed_scaling_factor=nan|inf"},
    {2, 0, "route.topk:tokens=3,experts=0,top_k=2"},
    {2, 0, ROUTED "top_k=-1|0|5|2147483647"},
    {2, 0, ROUTED "top_k=2,n_group=0|3"},
    {2, 0, ROUTED "top_k=2,n_group=2,topk_group=0|3"},
    {2, 0, SORTS "num_experts=0|-1"},
    {2, 0, SORTS "block_size=0|-16"},
    {2, 0, SORTS "n_shared=-1"},
    {2, 0, SORT "layout=trtllm|aiter|vllm|deepgemm,n_rows=4"},
    {2, 0, SORT "layout=triton,block_size=3"},
    {2, 0, SORT "local=range,local_expert_offset=-1|7|8,local_num_experts=2"},
    {2, 0, SORT "local=range,local_num_experts=-1|9"},
    {2, 0, SORTS "local=map,experts=7"},
    {2, 0, PERMUTE "top_k=0|-1"},
    {2, 0, PERMUTE "pad=-1|256"},
    {2, 0, FINALIZE "rows=6,tokens=3,slots=2,hidden_dim=-1|9"},
    {2, 0, "moe.finalize:sum=*,cols=1,rows=6,tokens=3,slots=2,hidden_dim=-1"},
    {2, 0, FINALIZE "source=pairs,rows=5,tokens=3,slots=2"},
    {2, 0, FINALIZE "source=pairs,weight=none,rows=5,top_k=2|0|-1"},
    {2, 0, "quant.group:rows=4,cols=256,group_cols=-1"},
    {2, 0, "quant.group:rows=4,cols=256,group_rows=-1"},
    {2, 0, "quant.mx:rows=4,cols=33|48|65"},
    {2, 0, "quant.mx:rows=33,cols=64,axis=0"},
    {2, 0, "quant.mx:rows=4,cols=64,align=0|-32|48"},
    {2, 0, "quant.mx:rows=4,cols=64,axis=2|-3"},
    {2, 0, "quant.nvfp4:rows=4,cols=17|24"},
    {2, 0, "quant.qdq:rows=4,cols=33|48"},
    {2, 0, "dequant.mx:rows=4,cols=64,axis=0|2|-3"},
    {2, 0, "dequant.group:rows=4,cols=256,group_cols=-1"},
    {2, 0, "dequant.group:rows=4,cols=256,group_rows=-1"},
    {2, 0, "gemm.mx:rows=3,cols=5,k=64,acc=split,splits=0|-1"},
    {2, 0, "gemm.mx:rows=3,cols=5,k=64,splits=2"},
    {2, 0, FIRST ",order=split,splits=0|-1"},
    {2, 0, FIRST ",promote=-1"},
    {2, 0, FIRST ",order=exact|seq|pairwise|any,splits=3"},
    {2, 0, SECOND ",order=seq,splits=2"},
    {2, 0, LAYER ",splits=2"},
    {2, 0, FIRST ",order=seq|split|any,promote=32"},
    {2, 0, SECOND ",promote=32"},
    {2, 0, LAYER ",promote=32"},
    {2, 0, FIRST ",bias=bf16,bias1=order,order=pairwise|split|any"},
    {2, 0, SECOND ",bias=bf16,bias2=order,order=pairwise|split|any"},
    {2, 0, FIRST ",order=streamk_bf16"},
    {2, 0, SECOND ",order=streamk_bf16"},
    {2, 0, LAYER ",sum=slots|moe_sum|cpu|atomic_bf16|by_expert|experts_bf16"},
    {2, 0, LAYER ",routing_at=acc|rounded,sum=fma|fma_ftz|product"},
    {2, 0, SECOND ",routing_at=acc,sum=product"},
    {2, 0, FIRST ",limit=-1|nan"},
    {2, 0, FIRST ",hblocks=1|3"},
    {2, 0, SECOND ",iblocks=1|2|4"},
    {2, 0, LAYER ",hblocks=1|3"},
    {2, 0, LAYER ",iblocks=1|2|4"},
    {1, 0, LAYER ",limit=-1|nan"},
    {2, 0, LAYER ",routing_at=input"},
    {2, 0, LAYER ",order=split,splits=0|-1"},
    {2, 0, LAYER ",from=e2m1,hblocks=1"},
    {2, 0, FIRST QUANT},
    {2, 0, FIRST QUANT ",quant_rule=floor"},
    {2, 0, FIRST QUANT ",quant_element=e2m1"},
    {2, 0, SECOND ",requant=same" QUANT ",quant_rule=floor"},
    {2, 0, SECOND ",requant=same" QUANT ",quant_element=e2m1"},
    {2, 0,
     SECOND ",requant=same,quant=quant.static,quant_element=e4m3fn,"
            "quant_rule=divide"},
    {2, 0, LAYER QUANT ",quant_rule=floor"},
    {2, 0,
     FIRST ",quant=quant.static,input_scale=given,quant_element=e2m1,"
           "quant_rule=divide|reciprocal"},
    {2, 0, "moe.gemm1:tokens=3,experts=4,hidden=64,inter=64,topk=0"},
    {2, 0, "moe.gemm1:tokens=3,experts=0,hidden=64,inter=64,topk=2"},
    {2, 0, "moe.gemm2:tokens=3,experts=4,hidden=64,inter=64,topk=0"},
    {2, 0, "moe.gemm2:tokens=3,experts=0,hidden=64,inter=64,topk=2"},
    {1, 0, "moe.layer:tokens=3,experts=4,hidden=64,inter=64,topk=0"},
    {2, 0, "moe.layer:tokens=3,experts=0,hidden=64,inter=64,topk=2"},
    {2, 0, "mma.chain:rows=2,cols=3,k=64,promote=-1|3"},
    {2, 0, "mma.chain:rows=2,cols=3,k=64,scale=e8m0|ue4m3"},
    {2, 0, "mma.chain:rows=2,cols=3,k=17"},
    {2, 0, "mma.step:rows=2,k=17"},
    {2, 0, APPLY ",layout=no_such_layout"},
    {2, 0, APPLY ",keep_rows=-1"},
    {2, 0, APPLY ",dir=inverse,keep_rows=129|-1"},
    {2, 0, APPLY ",dir=inverse,keep_cols=9|-1"},
    {2, 0, "layout.convert:experts=1,inter=128,hidden=128,conversion=no_such"},
    {2, 0, "layout.groups:n=3,align=0|-1"},
    {2, 0, "layout.groups:n=3,total=-1"},
    {2, 0, GROUPED ",align=0|-1"},
    {2, 0, GROUPED ",gran=0|-1"},
    {2, 0, GROUPED ",blocks=-1"},
    {2, 0, "layout.index:n=4,elem_bytes=0|-1|9"},
    {2, 0, "layout.index:n=4,experts=-1"},
    {2, 0, "layout.index:n=4,rows=-1"},
    {2, 0, "layout.index:n=4,cols=-1"},
    {2, 0, "act.glu:rows=2,cols=32,limit=-1|nan"},
    {2, 0,
     "act.glu:dialect=trtllm_gen,to=*,rows=2,cols=32,scale_gate=-1|nan|inf|"
     "1e39"},
    {2, 0, "act.unary:fn=silu_alpha,to=*,n=33,alpha=nan"},
    {2, 0, "act.glu:rows=3,cols=32,tile=0|-1,per_expert=none|limit"},
    {2, 0, "act.glu:rows=2,cols=32,alpha=nan"},
    {2, 0, "act.glu:rows=2,cols=32,beta=nan"},
    {2, 0, "act.glu:rows=2,cols=32,gather=1,picks=3,alpha=nan"},
    {2, 0, "act.glu:rows=2,cols=32,gather=1,picks=3,beta=nan"},
    {2, 0, LAYER ",alpha=nan"},
    {2, 0, LAYER ",per_expert=beta,alpha=nan"},
    {2, 0, FIRST ",beta=nan"},
    {2, 0, FIRST ",per_expert=alpha,beta=nan"},
    {2, 0, "act.glu_quant:rows=2,cols=128,group=0|-128|48"},
    {2, 0, "format.encode:n=9,tie=sr,bits=0|-1|40"},
    {2, 0, "format.encode:n=9,packed=1"},
    {2, 0, "format.decode:n=9,format=e4m3fn,packed=1"},

    {1, 0, LAYER ",flaw=" TENSOR("x") "|" TENSOR("y") "|unknown"},
    {2, 0,
     LAYER ",profile=exact|MARLIN|TRITON,flaw=" TENSOR("topk_ids") "|" TENSOR(
         "w13") "|" TENSOR("w13_scale") "|" TENSOR("topk_weights")},
    {2, 0,
     LAYER ",profile=exact|MARLIN|TRITON,flaw=" TENSOR("w2") "|" TENSOR(
         "w2_scale") "|" TENSOR("y") "|" TENSOR("x")},
    {2, 0,
     LAYER ",bias=f32,map=1,global=9,flaw=missing.expert_map|"
           "dtype.expert_map|flat.expert_map|bytes.expert_map|vast.expert_"
           "map|" TENSOR("w13_bias") "|" TENSOR("w2_bias")},
    {2, 0,
     LAYER ",per_expert=all,flaw=" VECTOR("gemm1_alpha") "|" VECTOR(
         "gemm1_beta") "|" VECTOR("gemm1_clamp_limit") "|unset.per_expert|"
                                                       "value.per_expert"},
    {2, 0, FIRST ",per_expert=limit,stage=*,flaw=" VECTOR("gemm1_clamp_limit")},
    {2, 0,
     ROUTED "top_k=2,per_expert=all,flaw=" VECTOR("gemm1_alpha") "|" VECTOR(
         "gemm1_beta") "|" VECTOR("gemm1_clamp_limit")},
    {2, 0, LAYER ",from=e2m1,flaw=" TENSOR("x") "|" TENSOR("x_scale")},
    {2, 0,
     LAYER ",flaw=odd.inter|odd.hidden|unset.profile|unset.limit|unset.alpha|"
           "unset.activation|value.profile|value.sum|value.activation"},
    {2, 0,
     FIRST ",flaw=" TENSOR("x") "|" TENSOR("topk_ids") "|" TENSOR(
         "w13") "|" TENSOR("w13_scale") "|unknown|odd.hidden|missing.y|"
                                        "flat.y|turned.y|vast.y|bytes.y"},
    {2, 0,
     SECOND ",flaw=" TENSOR("act") "|" TENSOR("topk_ids") "|" TENSOR(
         "topk_weights") "|unknown|odd.inter|missing.y|flat.y|vast.y|bytes.y"},
    {2, 0, SECOND ",flaw=" TENSOR("w2") "|" TENSOR("w2_scale")},
    {2, 0,
     ROUTED "top_k=2,flaw=" TENSOR("logits") "|" TENSOR("x") "|" TENSOR(
         "w13") "|" TENSOR("w13_scale") "|unknown|odd.inter|odd.hidden"},
    {2, 0,
     ROUTED "top_k=2,flaw=" TENSOR("w2") "|" TENSOR("w2_scale") "|" TENSOR(
         "y") "|unset.top_k"},
    {2, 0,
     ROUTE "top_k=2,flaw=" TENSOR("logits") "|" TENSOR("topk_ids") "|" TENSOR(
         "topk_weights") "|unset.top_k|unset.dialect|value.dialect|unknown"},
    {2, 0, SORT "flaw=" KINDS("topk_ids") "|flat.topk_ids|unknown"},
    {2, 0, SORT "local=map,experts=8,flaw=" VECTOR("expert_map")},
    {2, 0, SORT "layout=triton|aiter,flaw=" TENSOR("topk_weights")},
    {2, 0,
     SORT "flaw=unset.block_size|unset.num_experts|unset.layout|value.layout|"
          "value.num_experts"},
    {2, 0,
     FINALIZE "rows=6,tokens=3,slots=2,flaw=" KINDS("x") "|flat.x|" TENSOR(
         "index") "|" TENSOR("topk_weights") "|" TENSOR("y") "|unknown"},
    {2, 0,
     FINALIZE "rows=6,tokens=3,slots=2,flaw=unset.sum|unset.hidden_dim|"
              "unset.map|value.sum|value.map"},
    {2, 0,
     FINALIZE "rows=6,tokens=3,slots=2,map=1,experts=4,flaw=" TENSOR(
         "topk_ids") "|" KINDS("expert_map")},
    {2, 0,
     PERMUTE "flaw=" KINDS("x") "|flat.x|" VECTOR("rows") "|" TENSOR(
         "y") "|unset.top_k|unset.pad|value.top_k|value.per_pair|unknown"},
    {2, 0,
     "quant.mx:rows=4,cols=64,flaw=" TENSOR("x") "|" TENSOR("q") "|" TENSOR(
         "scale") "|odd.cols|off.cols|unset.rule|unset.from|value.rule|"
                  "unset.axis|unknown"},
    {2, 0,
     "quant.group:rows=4,cols=256,flaw=" TENSOR("x") "|" TENSOR("q") "|" MEMORY(
         "scale") "|unknown"},
    {2, 0,
     "quant.qdq:rows=4,cols=64,flaw=" TENSOR("x") "|" TENSOR("y") "|" TENSOR(
         "q") "|" TENSOR("scale") "|unknown"},
    {2, 0,
     "quant.static:rows=4,cols=64,flaw=" TENSOR("x") "|" KINDS(
         "scale") "|short.scale|long.scale|" TENSOR("q") "|unknown"},
    {2, 0,
     "quant.nvfp4:rows=4,cols=64,flaw=" TENSOR("x") "|" KINDS(
         "global_scale") "|" TENSOR("q") "|" VECTOR("scale") "|value.global|"
                                                             "value.inverted|"
                                                             "unknown"},
    {2, 0,
     "quant.requant:rows=4,cols=64,flaw=" TENSOR("q") "|" KINDS(
         "offset") "|short.offset|long.offset|" TENSOR("y") "|unknown"},
    {2, 0,
     "quant.scale:n=64,flaw=" KINDS("amax") "|flat.amax|" MEMORY(
         "scale") "|unknown"},
    {2, 0,
     "dequant.mx:rows=4,cols=64,element=e2m1|e4m3fn,flaw=" TENSOR(
         "q") "|" TENSOR("scale") "|" TENSOR("y") "|unknown"},
    {2, 0,
     "dequant.mx:rows=4,cols=64,flaw=unset.to|unset.rule|unset.axis|"
     "value.element|value.rule|value.axis"},
    {2, 0,
     "dequant.group:rows=4,cols=256,flaw=" TENSOR("q") "|" TENSOR(
         "scale") "|" TENSOR("y") "|unknown"},
    {2, 0,
     "dequant.nvfp4:rows=4,cols=64,flaw=" TENSOR("q") "|" VECTOR(
         "scale") "|" KINDS("global_scale") "|" TENSOR("y") "|unknown"},
    {1, 0,
     "gemm.mx:rows=3,cols=5,k=64,bias=f32,flaw=" TENSOR("a") "|" TENSOR(
         "w") "|" TENSOR("w_scale") "|" VECTOR("bias") "|" TENSOR("y")},
    {2, 0,
     "gemm.mx:rows=3,cols=5,k=64,flaw=odd.k|unset.from|unset.acc|"
     "unset.splits|value.from|value.acc|value.to|unknown"},
    {2, 0,
     "gemm.mx:rows=3,cols=5,k=64,from=e2m1,a_scale=mx,flaw=" TENSOR(
         "a") "|" TENSOR("a_scale")},
    {2, 0,
     "mma.chain:rows=2,cols=3,k=64,flaw=" TENSOR("a") "|" TENSOR(
         "b") "|" TENSOR("c") "|" TENSOR("d") "|unknown"},
    {2, 0,
     "mma.step:rows=2,k=16,flaw=" TENSOR("a") "|" TENSOR("b") "|" VECTOR(
         "c") "|" VECTOR("d") "|unknown"},
    {2, 0,
     APPLY ",flaw=" KINDS("x") "|flat.x|" MEMORY("y") "|" KINDS(
         "valid") "|unset.layout|unset.dir|value.layout|value.dir|unknown"},
    {2, 0,
     GROUPED ",flaw=" KINDS("x") "|flat.x|" KINDS("groups") "|" MEMORY(
         "y") "|" KINDS("valid") "|unknown"},
    {2, 0,
     "layout.groups:n=3,flaw=" KINDS("sizes") "|flat.sizes|" VECTOR(
         "index") "|" VECTOR("ends") "|unknown"},
    {2, 0,
     "layout.index:n=4,flaw=" VECTOR("at") "|" VECTOR("to") "|" VECTOR(
         "sizes") "|unknown"},
    {2, 0,
     "layout.convert:experts=2,inter=128,hidden=256,flaw=" TENSOR(
         "w13") "|" TENSOR("w13_scale") "|" TENSOR("w13_bias") "|unknown"},
    {2, 0,
     "layout.convert:experts=2,inter=128,hidden=256,flaw=" TENSOR(
         "w2") "|" TENSOR("w2_scale") "|" TENSOR("w2_bias")},
    {2, 0,
     "act.glu:rows=2,cols=32,flaw=" TENSOR("x") "|" TENSOR(
         "y") "|unset.alpha|unset.limit|value.dialect|value.to|value.gather|"
              "unknown"},
    {2, 0,
     "act.glu:layout=split,rows=2,cols=32,flaw=" TENSOR("gate") "|" TENSOR(
         "up")},
    {2, 0,
     "act.glu:rows=2,cols=32,gather=1,picks=3,per_expert=all,experts=2,"
     "flaw=" VECTOR("row") "|" KINDS("expert") "|" VECTOR("limit") "|" VECTOR(
         "alpha") "|" VECTOR("beta")},
    {2, 0,
     "act.glu_quant:rows=2,cols=128,flaw=" KINDS("x") "|" MEMORY(
         "q") "|" MEMORY("scale") "|unknown"},
    {2, 0, "act.unary:n=64,flaw=" VECTOR("x") "|" VECTOR("y") "|unknown"},
    {2, 0,
     "format.encode:n=64,flaw=" VECTOR("x") "|" VECTOR(
         "code") "|value.format|unset.tie|unset.sat|unknown"},
    {2, 0,
     "format.decode:n=64,flaw=" VECTOR("code") "|" VECTOR("y") "|unknown"},
    {2, 0,
     "format.e8m0_decode:n=64,flaw=" VECTOR("code") "|" VECTOR("y") "|unknown"},
    {2, 0, "format.convert:n=64,flaw=" VECTOR("x") "|" VECTOR("y") "|unknown"},
    {2, 0, "math.rcp:n=64,flaw=" VECTOR("x") "|" VECTOR("y") "|unknown"},
    {2, 0,
     "format.classify:n=64,flaw=" VECTOR("code") "|" VECTOR(
         "class") "|unknown"},
    {2, 0,
     "format.e8m0_encode:n=64,flaw=" VECTOR("x") "|" VECTOR("code") "|unknown"},
    {2, 0, "format.ue4m3:n=64,flaw=" VECTOR("code") "|" VECTOR("y") "|unknown"},
    {2, 0, "math.lg2:n=64,flaw=" VECTOR("x") "|" VECTOR("y") "|unknown"},
    {2, 0,
     "layout.tp_pad:n=7,ranks=3,flaw=" VECTOR("dim") "|" VECTOR(
         "tp") "|unknown"},
    {2, 0,
     "layout.record:experts=3,rows=16,cols=48,groups=3,flaw=" KINDS(
         "codes") "|" KINDS("scale") "|flat.codes|flat.scale|unknown"},
    {2, 0,
     "quant.mx_exponent:n=64,flaw=" VECTOR("amax") "|" VECTOR("y") "|unknown"},
    {2, 0,
     "quant.requant_table:codes=16,offsets=16,flaw=" KINDS("code") "|" KINDS(
         "offset") "|unknown"},
    {2, 0,
     "dequant.mx_table:codes=16,scales=8,flaw=" KINDS("code") "|" KINDS(
         "scale") "|unknown"},
    {2, 0,
     "quant.q8_0:rows=3,cols=64,flaw=" TENSOR("x") "|" TENSOR("q") "|" TENSOR(
         "scale") "|odd.cols|off.cols|unknown"},
    {2, 0,
     "quant.scaled:rows=3,cols=64,scale=bf16|e4m3,flaw=" TENSOR("x") "|" TENSOR(
         "scale") "|" TENSOR("q") "|odd.cols|off.cols|unknown"},
    {2, 0,
     "quant.engine:rows=3,cols=64,flaw=" TENSOR("x") "|" TENSOR("q") "|" TENSOR(
         "scale") "|odd.cols|off.cols|value.rule|unknown"},
    {2, 0,
     "quant.nvfp4_engine:rule=mlx_global|ggml_cuda,rows=3,cols=64,"
     "flaw=" TENSOR("x") "|" TENSOR("q") "|" TENSOR(
         "scale") "|odd.cols|off.cols|value.rule|unknown"},
    {2, 0,
     "quant.nvfp4_engine:rule=mlx_global,rows=3,cols=64,flaw=" KINDS(
         "global_scale")},
    {2, 0,
     "quant.nvfp4_engine:rule=ggml_cuda,rows=3,cols=64,flaw=" VECTOR("global")},
    {2, 0,
     "quant.mxfp4_to_nvfp4:rows=3,cols=64,flaw=" TENSOR("q") "|" TENSOR(
         "scale") "|odd.cols|off.cols|" KINDS("global") "|" KINDS("blocks") "|u"
                                                                            "nk"
                                                                            "no"
                                                                            "w"
                                                                            "n"},
    {2, 0,
     "dequant.nvfp4_engine:rule=ggml|modelopt,rows=3,cols=64,flaw=" TENSOR(
         "q") "|" TENSOR("scale") "|" TENSOR("y") "|value.rule|unknown"},
    {2, 0,
     "dequant.nvfp4_engine:rule=modelopt,rows=3,cols=64,flaw=" KINDS(
         "global_scale")},
    {2, 0,
     "gemm.q8_0:weights=mxfp4|nvfp4,rows=3,k=128,cols=5,flaw=" TENSOR("a") "|" TENSOR(
         "a_scale") "|" TENSOR("w") "|" TENSOR("w_scale") "|" TENSOR("y") "|odd"
                                                                          ".k|"
                                                                          "off."
                                                                          "k|"
                                                                          "unkn"
                                                                          "ow"
                                                                          "n"},
    {2, 0,
     "moe.nvfp4_scalars:experts=5,projections=2,flaw=" TENSOR("w13_scale_2") "|" VECTOR(
         "w2_scale_2") "|" TENSOR("w13_input_scale") "|" VECTOR("w2_input_"
                                                                "scale") "|unkn"
                                                                         "own"},
    {2, 0,
     NVFP4_FIRST ",flaw=" TENSOR("x") "|" TENSOR("topk_ids") "|" TENSOR(
         "w13") "|" TENSOR("w13_scale") "|unknown|odd.hidden"},
    {2, 0,
     NVFP4_FIRST
     ",flaw=" KINDS("a1_gscale") "|" VECTOR("g1_alphas") "|" TENSOR("y")},
    {2, 0,
     NVFP4_SECOND ",flaw=" TENSOR("act") "|" TENSOR("topk_ids") "|" TENSOR(
         "topk_weights") "|unknown|odd.inter"},
    {2, 0,
     NVFP4_SECOND ",flaw=" TENSOR("w2") "|" TENSOR("w2_scale") "|" VECTOR(
         "g1_scale_c") "|" VECTOR("g2_alphas") "|" TENSOR("y")},
    {2, 0,
     NVFP4_LAYER ",flaw=" TENSOR("x") "|" TENSOR("w2_scale") "|" TENSOR(
         "topk_weights") "|" VECTOR("g2_alphas") "|" TENSOR("y") "|unknown|odd."
                                                                 "inter|odd."
                                                                 "hidden"},
    {2, 0, /* parameters beyond what the call can have */
     "layout.tp_pad:n=7,ranks=3,block=0|65537"},
    {2, 0, "layout.tp_pad:n=7,ranks=3,align=0|65537"},
    {2, 0, "act.glu:rows=3,cols=32,bounds=1"},
    {2, 0, "act.glu_quant:rows=3,cols=256,limit=-1"},
    {2, 0, "quant.mxfp4_to_nvfp4:rows=3,cols=64,k_max=-1|4096"},
    {2, 0,
     "layout.grouped:experts=1,rows=8,cols=64,n=2,layout=marlin.weight,data="
     "powers"},
    {2, 0, SORT "layout=aiter|deepgemm|trtllm|vllm,block_size=2147483647"},
    {2, 0, "moe.sort:tokens=5,top_k=128,layout=aiter,num_experts=256"},
    {2, 0, "mma.chain:rows=4,cols=4,k=64,promote=3"},
    {2, 0, "mma.chain:rows=4,cols=4,k=64,acc=f16,promote=64"},
    {2, 0,
     "moe.gemm1:tokens=3,topk=1,experts=2,hidden=64,inter=32,"
     "order=hopper_wgmma,promote=3"},
    /* records that codes and scales do not share, or that nobody has */
    {2, 0, "layout.record:experts=3,rows=16,cols=48,groups=0|2|4"},
    {2, 0, "layout.record:experts=3,rows=16,cols=47,groups=3"},
    {2, 0,
     "layout.record:record=ggml.mxfp4_x4|ggml.mxfp4_x8|ggml.ik_mxfp4_r8,"
     "experts=3,rows=17,cols=48,groups=3"},
    {2, 0,
     "layout.record:record=ggml.q8_0,codes=i8,scale=f16,experts=3,rows=4,"
     "cols=96,groups=2|6"},
    {2, 0,
     "layout.record:record=ggml.nvfp4,scale=e4m3,experts=3,rows=4,cols=96,"
     "groups=11"},
    {2, 0,
     "layout.record:record=ggml|ggml.mxfp4_codes|ggml.mxfp4/none=1|mxo.hopper|"
     "triton.hopper,experts=3,rows=16,cols=48,groups=3"},
    {2, 0, "layout.record:scale=f16,experts=3,rows=16,cols=48,groups=3"},
    {2, 0, /* elements of another size, parameters of another layout */
     APPLY ",layout=marlin.scale,dtype=bf16|f32"},
    {2, 0, APPLY ",layout=ggml.q8_0_scale|deepgemm.transpose_sf_for_utccp"},
    {2, 0, APPLY ",layout=marlin.scale/none=1|aiter.shuffle_weight/out=32"},
    {2, 0,
     "layout.convert:conversion=humming/none=1,experts=1,inter=64,hidden=128"},
    {2, 0, /* tensors that few calls have */
     "act.glu_quant:dialect=deepgemm_mega,rows=3,cols=256,flaw=" TENSOR(
         "gate") "|" TENSOR("up") "|" VECTOR("topk_weight")},
    {2, 0,
     "format.encode:n=64,tie=sr,flaw=short.rand|long.rand|" KINDS("rand")},
    {2, 0,
     "layout.convert:conversion=identity,experts=2,inter=32,hidden=96,"
     "input_scale=1,flaw=" KINDS("w13_input_scale") "|" KINDS(
         "w2_input_scale")},
    {2, 0, FIRST ",map=1,global=9,flaw=" MAP},
    {2, 0, SECOND ",map=1,global=9,flaw=" MAP},
    {2, 0, ROUTED "top_k=2,map=1,global=9,flaw=" MAP},
    {2, 0, NVFP4_FIRST ",map=1,global=9,flaw=" MAP},
    {2, 0, NVFP4_SECOND ",map=1,global=9,flaw=" MAP},
    {2, 0, NVFP4_LAYER ",map=1,global=9,flaw=" MAP},
    {2, 0,
     FIRST
     ",per_expert=all,flaw=" VECTOR("gemm1_alpha") "|" VECTOR("gemm1_beta")},
    {2, 0, FIRST ",bias=bf16,flaw=" TENSOR("w13_bias")},
    {2, 0, SECOND ",bias=bf16,flaw=" TENSOR("w2_bias")},
    {2, 0,
     ROUTED "top_k=2,bias=bf16,flaw=" TENSOR("w13_bias") "|" TENSOR("w2_bias")},
    {2, 0, FIRST ",from=e2m1,flaw=" TENSOR("x_scale")},
    {2, 0,
     ROUTED "dialect=trtllm_deepseek_v3,top_k=2,correction=f32,flaw=" VECTOR(
         "correction_bias")},
    {2, 0, ROUTED "top_k=2,from=e2m1,flaw=" TENSOR("x_scale")},
    {2, 0,
     FIRST GIVEN ",flaw=missing.w13_input_scale|dtype.w13_input_scale|"
                 "short.w13_input_scale|long.w13_input_scale"},
    {2, 0,
     SECOND GIVEN ",flaw=missing.w2_input_scale|dtype.w2_input_scale|"
                  "short.w2_input_scale|long.w2_input_scale"},
    {2, 0,
     NVFP4_LAYER
     ",flaw=" TENSOR("topk_ids") "|" TENSOR("w13") "|" TENSOR("w13_scale") "|" VECTOR(
         "a1_gscale") "|" VECTOR("g1_alphas") "|" TENSOR("w2") "|" VECTOR("g1_"
                                                                          "scal"
                                                                          "e_"
                                                                          "c")},
    {2, 0,
     "moe.permute:ids=aiter,sources=4,row_bytes=16,rows=8,top_k=2,flaw=missing"
     ".num_valid|dtype.num_valid|bytes.num_valid|short.num_valid"},
    {2, 0,
     "quant.scaled:rows=3,cols=64,scale=e4m3,flaw=short.global_scale|"
     "long.global_scale|" KINDS("global_scale")},
    {2, 0,
     "route.topk:dialect=vllm_softmax,bias=f32,tokens=3,experts=8,top_k=2,"
     "flaw=" VECTOR("bias")},
    {2, 0,
     "route.topk:dialect=vllm_softplus_sqrt,table=1,tokens=3,experts=8,"
     "slots=2,vocabulary=5,top_k=2,flaw=" VECTOR("input_ids") "|" KINDS(
         "tid2eid")},
    {0, 0, NULL},
};

const case_family cases_bad_call = {"bad_call", fills, grid};
