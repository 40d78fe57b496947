/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes at which indices go wrong and nothing else does: tokens beside the
 * tiles of kernels, more experts than a block sorts, tails of K, many choices,
 * ties between experts of different warps.  Every row is as small as the size
 * it is about lets it be.
 */
#include "data/fills.h"

#include <stddef.h>

static const fill_row fills[] = {
    {NULL, NULL, NULL, NULL},
};

#define FLAT "topk=1,experts=2,hidden=32,inter=32,data=orderfree"
/* Every count up to two tiles of 32, then both sides of larger tiles. */
#define COUNTS                                                              \
    "1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23|24|25|26|" \
    "27|28|29|30|31|32|33|34|35|36|37|38|39|40|41|42|43|44|45|46|47|48|49|" \
    "50|51|52|53|54|55|56|57|58|59|60|61|62|63|64"
#define TILES "65|96|127|128|129|255|256|257|511|512|513|1023|1024|1025"
/* Beside the warps, the tiles and the blocks of those who count experts. */
#define EXPERTS "15|16|17|31|32|33|63|64|65|127|129|255|256|257"
#define MANY_ROWS "rows=255|256|257|1023|1024|1025"
/* Profiles that quantise activations; each row has amax of its own. */
#define QUANTISED_OAI                                 \
    "EMULATION|FLASHINFER_TRTLLM_MXFP4_MXFP8|"        \
    "FLASHINFER_CUTLASS_MXFP4_MXFP8|AITER_MXFP4_FP8|" \
    "AITER_MXFP4_MXFP4/flydsl"
#define QUANTISED_SILU                                            \
    "DEEPGEMM_MXFP4|AITER_MXFP4_MXFP4|AITER_MXFP4_MXFP4/roundup|" \
    "B12X_MXFP4_MXFP8"
#define ROWS "17|33|129"
#define ROWS_OF_64 "rows=" ROWS ",cols=64,data=ordinary"
#define LONG_K "2880|3072|4096|7168|8192|16416"
/* More than 16 bits and a grid's second dimension count, and a prime. */
#define BEYOND "65537"
#define PRIME "131"
#define BOTH_NVFP4 "FLASHINFER_TRTLLM_NVFP4|FLASHINFER_CUTLASS_NVFP4"
#define NVFP4_SMALL "hidden=32,inter=16,data=orderfree"
#define NVFP4_FLAT ",topk=1,experts=2," NVFP4_SMALL
/* Beyond the tiles of rows, of columns and of K, and more than one expert. */
#define FEW_AT_ONCE "tokens=300,topk=2,experts=2,hidden=544,inter=544"
#define IN_FLOAT "exact|MARLIN|TRITON|AITER_MXFP4_BF16"
#define NVFP4_AT_ONCE \
    "tokens=34,topk=4,experts=9,hidden=160,inter=160,data=orderfree"
#define MANY_AT_ONCE \
    "tokens=70,topk=9,experts=20,hidden=288,inter=288,data=orderfree"
/* Those that take any experts, with their biases. */
#define CONVERSIONS                                             \
    "aiter_mxfp4_bf16|aiter_mxfp4_bf16_gate_up"                 \
    "|aiter_mxfp4_bf16_situ|aiter_mxfp4_bf16_situ_a8w4"         \
    "|aiter_mxfp4_mxfp4|aiter_triton_mxfp4"                     \
    "|aiter_triton_mxfp4_gate_up|cpu_amx|cutlass_mxfp4_bf16"    \
    "|cutlass_mxfp4_bf16_general|cutlass_mxfp4_bf16_rev0"       \
    "|cutlass_mxfp4_mxfp4|cutlass_mxfp4_mxfp8"                  \
    "|cutlass_mxfp4_mxfp8_general|cutlass_nvfp4|deepgemm"       \
    "|deepgemm_mega|deepgemm_packed|humming|humming/mma=wgmma"  \
    "|identity|marlin|marlin_2025_08|marlin_fp8|mxo_hopper"     \
    "|mxo_hopper_gate_up|triton_blackwell|triton_blackwell_37"  \
    "|triton_blackwell_37_generic|triton_blackwell_generic"     \
    "|triton_cdna4|triton_cdna4_37|triton_cdna4_37_generic"     \
    "|triton_cdna4_gate_up|triton_cdna4_generic|triton_gfx1250" \
    "|triton_gfx1250_gate_up|triton_hopper"                     \
    "|triton_hopper_generic|triton_hopper_pad4"                 \
    "|triton_hopper_pad4_generic|triton_strided"                \
    "|triton_strided_gate_up|triton_strided_generic"            \
    "|trtllm_general"
#define SERVED                                                      \
    "exact|MARLIN|BATCHED_MARLIN|TRITON|TRITON_UNFUSED|HUMMING"     \
    "|FLASHINFER_TRTLLM_MXFP4_BF16|FLASHINFER_TRTLLM_MXFP4_MXFP8"   \
    "|FLASHINFER_CUTLASS_MXFP4_BF16|FLASHINFER_CUTLASS_MXFP4_MXFP8" \
    "|AITER_MXFP4_BF16|AITER_TRITON_MXFP4_BF16|B12X_MXFP4_BF16"
#define EVEN_OR_NOT "rows=256|141,cols=512|544,data=ordinary"
#define WIDE "rows=520,cols=1056,data=ordinary"

static const grid_row grid[] = {
    {2, 0, /* tokens beside the tiles of kernels */
     "moe.layer:tokens=" COUNTS "|" TILES "," FLAT},
    {2, 0,
     "moe.gemm1:tokens=" COUNTS "|" TILES ",topk=1,experts=2,hidden=32,"
     "inter=8,data=orderfree"},
    {2, 0,
     "moe.gemm2:tokens=" COUNTS "|" TILES ",topk=1,experts=2,hidden=32,"
     "inter=32,data=orderfree"},
    {2, 0,
     "moe.finalize:tokens=" COUNTS "|" TILES ",slots=2,rows=300,cols=8,"
     "data=ordinary"},
    {2, 0,
     "moe.sort:layout=*,num_experts=8,tokens=" COUNTS "|" TILES
     ",top_k=2,data=distinct"},
    {2, 0,
     "moe.gemm1:stage=gemm,quant=quant.mx,quant_element=e2m1,"
     "quant_rule=floor,tokens=17|33|129,topk=1,experts=2,hidden=64,inter=8,"
     "data=ordinary"},
    {2, 0, "gemm.mx:acc=f32,to=f32,rows=3,cols=5,k=" LONG_K ",data=exact"},
    {2, 0, /* a scale per row: a neighbour's is another */
     "moe.gemm1:profile=" QUANTISED_OAI ",tokens=17|33|129,topk=1,experts=2,"
     "hidden=128,inter=8,data=ordinary"},
    {2, 0,
     "moe.gemm1:profile=" QUANTISED_SILU ",activation=silu,rows=halves,"
     "tokens=17|33|129,topk=1,experts=2,hidden=128,inter=8,data=ordinary"},
    {2, 0,
     "moe.gemm2:profile=" QUANTISED_OAI "|" QUANTISED_SILU
     ",tokens=17|33|129,topk=1,experts=2,"
     "hidden=32,inter=128,data=ordinary"},
    {2, 0,
     "moe.layer:profile=FLASHINFER_CUTLASS_MXFP4_MXFP8|DEEPGEMM_MXFP4|"
     "EMULATION,tokens=17|33|129,topk=1,experts=2,hidden=128,inter=128,"
     "data=ordinary"},
    {2, 0,
     "moe.nvfp4_layer:profile=*,tokens=33|129,topk=1,experts=2,hidden=32,"
     "inter=16,data=orderfree"},
    {2, 0, /* every step a real number rounded once */
     "moe.nvfp4_layer:global_at=acc,quant_rule=exact,glu=exact,gemm1_out=f32,"
     "glu_out=f32,requant_rule=exact,routing_type=f32,row_out=f32,sum=product,"
     "out=f32,tokens=" ROWS ",topk=1,experts=2,hidden=32,inter=16,"
     "data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,tokens=" ROWS ",topk=1,experts=2,hidden=32,"
     "inter=16,data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,tokens=" ROWS ",topk=1,experts=2,hidden=32,"
     "inter=16,data=orderfree"},
    {2, 0, /* quantisers beside the tiles of their rows: each row has scales of
              its own */
     "quant.mx:element=e2m1|e4m3fn," ROWS_OF_64},
    {2, 0, "quant.mx:element=e2m1|e4m3fn,cols=32,data=ordinary," MANY_ROWS},
    {2, 0, "dequant.mx:element=e2m1|e4m3fn,cols=32,data=indexed," MANY_ROWS},
    {2, 0, "quant.group:group_cols=32," ROWS_OF_64},
    {2, 0, "quant.group:rule=vllm_group|aiter_token,group_cols=0," ROWS_OF_64},
    {2, 0, "quant.nvfp4:" ROWS_OF_64},
    {2, 0, "quant.nvfp4_engine:rule=*," ROWS_OF_64},
    {2, 0, "quant.engine:rule=*," ROWS_OF_64},
    {2, 0, "quant.qdq:rule=*," ROWS_OF_64},
    {2, 0, "quant.q8_0:" ROWS_OF_64},
    {2, 0, "quant.scaled:scale=*," ROWS_OF_64},
    {2, 0, "quant.static:" ROWS_OF_64},
    {2, 0, "quant.requant:rows=" ROWS ",cols=64"},
    {2, 0, "quant.mxfp4_to_nvfp4:rows=" ROWS ",cols=64,data=near"},
    {2, 0,
     "act.glu_quant:dialect=*,group=32,rows=" ROWS ",cols=64,data=disjoint"},
    {2, 0, /* K of 64 k + 32 and 128 k + 64 */
     "moe.layer:profile=exact|TRITON|MARLIN,tokens=3,topk=2,experts=2,"
     "hidden=96|192,inter=224|320,data=orderfree"},
    {2, 0, "gemm.mx:rows=3,cols=5,k=96|160|192|224|320|" LONG_K ",data=exact"},
    {2, 0, /* a short last block, whose pads are not in its maximum */
     "moe.gemm1:stage=gemm,quant=quant.mx,quant_element=e2m1,"
     "quant_rule=floor,tokens=3,topk=1,experts=2,hidden=48|80,inter=8,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm2:requant=same,quant=quant.mx,quant_element=e2m1,"
     "quant_rule=floor,tokens=3,topk=1,experts=2,hidden=8,inter=48|80,"
     "data=ordinary"},
    {2, 0, /* K of models, few columns */
     "moe.gemm1:tokens=3,topk=1,experts=2,hidden=" LONG_K ",inter=4,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:tokens=3,topk=1,experts=2,inter=" LONG_K ",hidden=8,"
     "data=ordinary"},
    {2, 0, /* the same behind a tile of many tokens */
     "moe.layer:tokens=40,topk=1,experts=2,hidden=8192|16416,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:tokens=40,topk=1,experts=2,hidden=32,inter=8192|16416,"
     "data=orderfree"},
    {2, 0, /* more experts than a block sorts, and no multiple of it */
     "moe.sort:layout=*,num_experts=128|300|384,tokens=33,top_k=10,"
     "data=distinct"},
    {2, 0, /* so many tokens that the last expert has some */
     "moe.sort:layout=*,num_experts=" EXPERTS ",tokens=41,top_k=10,"
     "data=distinct"},
    {2, 0,
     "moe.finalize:map=1,experts=" EXPERTS ",tokens=17,slots=3,rows=51,"
     "cols=8,data=ordinary"},
    {2, 0,
     "moe.layer:tokens=17,topk=10,experts=" EXPERTS ",hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:tokens=5,topk=10,experts=128|130|384,hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0, /* more than 256 rows for one expert */
     "moe.layer:tokens=257|300,topk=1,experts=2,hidden=32,inter=32,"
     "data=crowd"},
    {2, 0, /* one row, or none, between experts of 32 and of 64 */
     "moe.layer:tokens=99|195,topk=1,experts=5,hidden=32,inter=32,data=thin"},
    {2, 0, "moe.layer:tokens=99,topk=2,experts=5,hidden=32,inter=32,data=thin"},
    {2, 0,
     "moe.gemm1:tokens=99|195,topk=1,experts=5,hidden=32,inter=8,data=thin"},
    {2, 0,
     "moe.gemm2:tokens=99|195,topk=1,experts=5,hidden=32,inter=32,data=thin"},
    {2, 0, /* 4 k + 3 columns of scales behind a tile of tokens */
     "moe.layer:profile=exact|TRITON|MARLIN,tokens=17|33,topk=1,experts=2,"
     "hidden=96,inter=224,data=orderfree"},
    {2, 0,
     "moe.gemm1:profile=exact|" QUANTISED_OAI ",tokens=17,topk=1,experts=2,"
     "hidden=96,inter=8,data=ordinary"},
    {2, 0,
     "moe.gemm2:profile=exact|" QUANTISED_OAI ",tokens=17,topk=1,experts=2,"
     "hidden=32,inter=224,data=ordinary"},
    {2, 0, /* more rows than 4096, of as many tokens and of fewer */
     "moe.layer:tokens=4099," FLAT},
    {2, 0,
     "moe.layer:tokens=1025,topk=4,experts=5,hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm1:tokens=4099,topk=1,experts=2,hidden=32,inter=8,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:tokens=4099,topk=1,experts=2,hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0, /* rows of K that are too long for one stage of shared memory */
     "moe.layer:profile=TRITON,glu_nan=launder,bias=f32,tokens=2,topk=2,"
     "experts=3,hidden=7168,inter=64,data=orderfree"},
    {2, 0,
     "moe.layer:profile=TRITON,glu_nan=launder,bias=f32,tokens=8,topk=2,"
     "experts=3,hidden=7168,inter=32,data=orderfree"},
    {2, 0,
     "moe.layer:profile=TRITON,glu_nan=launder,bias=f32,rows=halves,tokens=1,"
     "topk=2,experts=3,hidden=12288,inter=32,data=orderfree"},
    {2, 0, /* more than 8 experts for a token */
     "moe.gemm1:tokens=17,topk=10,experts=16,hidden=32,inter=8,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:tokens=17,topk=10,experts=16,hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0, /* tokens that meet weights beyond 2^25 codes */
     "moe.gemm1:tokens=4,topk=4,experts=1152,hidden=512,inter=36,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm2:tokens=4,topk=4,experts=1024,inter=64,hidden=640,"
     "data=ordinary"},
    {2, 0, /* and beyond 2^29 */
     "moe.gemm1:tokens=8,topk=4,experts=20000,hidden=512,inter=32,"
     "data=ordinary"},
    {3, 0, /* 2^29 and 2^31 */
     "moe.gemm1:tokens=4,topk=4,experts=16384|65536,hidden=512,inter=32,"
     "data=ordinary"},
    {2, 0, /* more rows than 16 bits count */
     "dequant.mx:rows=" BEYOND ",cols=32,data=indexed"},
    {2, 0, "quant.mx:element=e2m1,rows=" BEYOND ",cols=32,data=ordinary"},
    {2, 0, "gemm.mx:acc=f32,to=f32,rows=" BEYOND ",cols=1,k=32,data=exact"},
    {2, 0, "gemm.mx:acc=f32,to=f32,rows=1,cols=" BEYOND ",k=32,data=exact"},
    {2, 0, "act.glu:rows=" BEYOND ",cols=4,data=disjoint"},
    {2, 0,
     "moe.finalize:tokens=" BEYOND ",slots=1,rows=65539,cols=8,data=ordinary"},
    {2, 0,
     "moe.permute:top_k=1,sources=" BEYOND ",row_bytes=1,rows=65539,"
     "data=spelled"},
    {2, 0,
     "route.topk:dialect=softmax_topk,from=bf16,to=bf16,renormalize=1,"
     "top_k=2,tokens=" BEYOND ",experts=8,data=apart"},
    {2, 0, /* so many choices of experts */
     "moe.sort:layout=*,num_experts=16,tokens=8209,top_k=8,data=distinct"},
    {2, 0, /* so many columns, and 4 k + 3 of scales */
     "dequant.mx:rows=3,cols=32864,data=indexed"},
    {2, 0, "quant.mx:element=e2m1,rows=3,cols=32864,data=ordinary"},
    {2, 0, "gemm.mx:acc=f32,to=f32,rows=3,cols=5,k=65632,data=exact"},
    {2, 0, "act.glu:rows=2,cols=32800,data=disjoint"},
    {2, 0, "moe.finalize:tokens=3,slots=2,rows=7,cols=8224,data=ordinary"},
    {2, 0, /* a prime beyond the tiles */
     "gemm.mx:acc=f32,to=f32,rows=" PRIME ",cols=5,k=32,data=exact"},
    {2, 0, "act.glu:rows=" PRIME ",cols=8,data=disjoint"},
    {2, 0, /* and as many choices as there are experts */
     "route.topk:dialect=softmax_topk|topk_softmax,from=bf16,to=bf16,"
     "renormalize=1,top_k=11,tokens=" PRIME ",experts=11,data=apart"},
    {2, 0, /* odd numbers of choices beyond a vector */
     "moe.sort:layout=*,num_experts=33,tokens=7,top_k=9|11|13|15|16,"
     "data=distinct"},
    {2, 0,
     "moe.finalize:tokens=3,slots=9|11|13|15|16,rows=50,cols=8,"
     "data=ordinary"},
    {2, 0, /* ties between experts of different warps */
     "route.topk:dialect=softmax_topk|topk_softmax|sigmoid_topk|"
     "trtllm_default|trtllm_renormalize|trtllm_deepseek_v3|"
     "trtllm_renormalize_naive|trtllm_topk|trtllm_sigmoid_renorm|"
     "trtllm_minimax2|trtllm_sigmoid|trtllm_topk_sigmoid|vllm_softmax|"
     "vllm_sigmoid|vllm_softplus_sqrt|vllm_fused_scores|vllm_fused_sigmoid|"
     "vllm_torch_softmax|vllm_torch_sigmoid|vllm_cpu|triton35_topk_softmax|"
     "triton35_softmax_topk|triton37_topk_softmax|triton37_softmax_topk,"
     "from=bf16,to=bf16,renormalize=1,top_k=8,tokens=4,experts=128,data=apart"},
    {2, 0, /* it chooses one expert */
     "route.topk:dialect=trtllm_llama4,from=bf16,to=bf16,top_k=1,tokens=4,"
     "experts=128,data=apart"},
    {2, 0, /* NVFP4: tokens beside tiles, K and columns of models */
     "moe.nvfp4_layer:tokens=" COUNTS "|" TILES NVFP4_FLAT},
    {2, 0, "moe.nvfp4_gemm1:tokens=" COUNTS "|" TILES NVFP4_FLAT},
    {2, 0, "moe.nvfp4_gemm2:tokens=" COUNTS "|" TILES NVFP4_FLAT},
    {2, 0,
     "moe.nvfp4_layer:profile=*,tokens=3,topk=1,experts=2,hidden=" LONG_K
     ",inter=16,data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH_NVFP4 ",order=exact,tokens=3,topk=1,"
     "experts=2,hidden=32,inter=2048|7168,data=ordinary"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,tokens=3,topk=1,experts=2,hidden=" LONG_K
     ",inter=16,data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,tokens=3,topk=1,experts=2,hidden=32,"
     "inter=" LONG_K ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,tokens=3,topk=1,experts=2,hidden=" LONG_K
     ",inter=16,data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=" BOTH_NVFP4 ",order=exact|seq,tokens=3,topk=1,"
     "experts=2,hidden=16,inter=" LONG_K ",data=ordinary"},
    {2, 0, /* its choices, and experts beside the warps of those who count */
     "moe.nvfp4_layer:profile=*,tokens=5,topk=4|6|8|10,experts="
     "12," NVFP4_SMALL},
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,tokens=5,topk=4|6|8|10,experts="
     "12," NVFP4_SMALL},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,tokens=5,topk=4|6|8|10,experts="
     "12," NVFP4_SMALL},
    {2, 0,
     "moe.nvfp4_layer:profile=*,tokens=17,topk=10,experts=" EXPERTS
     "," NVFP4_SMALL},
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,tokens=17,topk=10,experts=" EXPERTS
     "," NVFP4_SMALL},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,tokens=17,topk=10,experts=" EXPERTS
     "," NVFP4_SMALL},
    {2, 0, "moe.nvfp4_gemm1:profile=*,tokens=3,topk=1,experts=1," NVFP4_SMALL},
    {2, 0, "moe.nvfp4_gemm2:profile=*,tokens=3,topk=1,experts=1," NVFP4_SMALL},
    {2, 0, /* layers that route by themselves, to one expert: its weight is 1
              in whatever order a softmax adds */
     "moe.layer_routed:tokens=17,top_k=1,experts=" EXPERTS
     ",hidden=32,inter=32,data=orderfree"},
    {2, 0,
     "moe.layer_routed:tokens=" TILES ",top_k=1,experts=8,hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.layer_routed:tokens=" COUNTS ",top_k=1,experts=8,hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.layer_routed:tokens=3,top_k=1,experts=128|384,hidden=32,inter=32,"
     "data=orderfree"},
    {2, GRID_PAIRS, /* more choices than eight */
     "moe.layer_routed:dialect=*,logits=*,top_k=9|10|16,renormalize=*,"
     "profile=exact|MARLIN|TRITON,tokens=3,hidden=32,experts=16|128,inter=32,"
     "data=ordinary"},
    {2, 0, /* routers alone */
     "route.topk:tokens=" COUNTS "|" TILES ",experts=16,top_k=2"},
    {2, 0, "route.topk:dialect=*,tokens=96|129,experts=16,top_k=1|9"},
    {2, 0,
     "moe.layer_routed:tokens=3,top_k=1,experts=12,hidden=" LONG_K
     ",inter=32,data=orderfree"},
    {2, 0,
     "moe.layer_routed:tokens=3,top_k=1,experts=4,hidden=32,"
     "inter=2880|7168,data=ordinary"},
    {2, 0, /* blocks of engines: K, rows and columns of models */
     "gemm.q8_0:rows=3,cols=5,k=" LONG_K},
    {2, 0, "gemm.q8_0:rows=" TILES ",cols=5,k=64"},
    {2, 0, "gemm.q8_0:rows=3,cols=" TILES ",k=64"},
    {2, 0,
     "quant.nvfp4_engine:rule=*,rows=1023|1024|1025,cols=32,data=ordinary"},
    {2, 0, "quant.nvfp4_engine:rule=*,rows=3,cols=" LONG_K ",data=ordinary"},
    {2, 0, /* all extents beyond tiles at once: few experts, then many */
     "moe.gemm1:profile=exact|MARLIN|TRITON," FEW_AT_ONCE ",data=orderfree"},
    {2, 0, "moe.gemm2:profile=exact|MARLIN," FEW_AT_ONCE ",data=ordinary"},
    {2, 0, "moe.layer:" FEW_AT_ONCE ",data=orderfree"},
    {2, 0, "moe.gemm1:profile=" IN_FLOAT "," MANY_AT_ONCE},
    {2, 0, "moe.gemm2:profile=" IN_FLOAT "," MANY_AT_ONCE},
    {2, 0, "moe.layer:profile=" IN_FLOAT "," MANY_AT_ONCE},
    {2, 0,
     "moe.layer_routed:top_k=1,experts=20,tokens=300,hidden=288,inter=288,"
     "data=orderfree"},
    {2, 0, "moe.nvfp4_gemm1:profile=" BOTH_NVFP4 "," NVFP4_AT_ONCE},
    {2, 0, "moe.nvfp4_gemm2:profile=" BOTH_NVFP4 "," NVFP4_AT_ONCE},
    {2, 0, "moe.nvfp4_layer:profile=" BOTH_NVFP4 "," NVFP4_AT_ONCE},
    {2, 0,
     "moe.finalize:rows=600,cols=520,tokens=70,slots=9,sum=*,data="
     "ordinary"},
    {2, 0,
     "moe.finalize:rows=600,cols=520,tokens=70,slots=9,experts=20,sum=*,"
     "map=1,absent=zero,data=ordinary"},
    {2, 0,
     "moe.finalize:rows=630,cols=520,tokens=70,slots=9,sum=vllm,"
     "source=pairs,top_k=9,data=ordinary"},
    {2, 0,
     "moe.permute:sources=300,row_bytes=1040,rows=2700,ids=*,top_k=9,"
     "per_pair=*"},
    {2, 0,
     "moe.sort:layout=*,tokens=600,top_k=10,num_experts=160,block_size=256,"
     "data=distinct"},
    {2, 0, "route.topk:dialect=*,tokens=300,experts=288,top_k=9,data=logits"},
    {2, 0,
     "route.topk:dialect=vllm_softplus_sqrt,table=1,tokens=130,experts=288,"
     "vocabulary=300,slots=9,top_k=9,data=logits"},
    {2, 0, "layout.grouped:experts=1,rows=300,cols=288,n=5,data=powers"},
    {2, 0, "gemm.mx:rows=130,cols=520,k=1056,data=ordinary"},
    {2, 0, "gemm.q8_0:rows=66,cols=260,k=544,data=random"},
    {2, 0, "act.glu:rows=300,cols=544,data=ordinary"},
    {2, 0,
     "act.glu:rows=300,cols=288,experts=20,per_expert=limit|all,data=ordinary"},
    {2, 0, "act.glu_quant:" WIDE},
    {2, 0, "dequant.group:" WIDE},
    {2, 0, "dequant.nvfp4:" WIDE},
    {2, 0, "dequant.nvfp4_engine:" WIDE},
    {2, 0, "quant.engine:" WIDE},
    {2, 0, "quant.group:" WIDE},
    {2, 0, "quant.mx:" WIDE},
    {2, 0, "quant.mxfp4_to_nvfp4:" WIDE},
    {2, 0, "quant.nvfp4:" WIDE},
    {2, 0, "quant.nvfp4_engine:" WIDE},
    {2, 0, "quant.q8_0:" WIDE},
    {2, 0, "quant.qdq:" WIDE},
    {2, 0, "quant.requant:" WIDE},
    {2, 0, "quant.scaled:" WIDE},
    {2, 0, "quant.static:" WIDE},
    {2, 0,
     "layout.convert:conversion=" CONVERSIONS
     ",experts=2,inter=512,hidden=512,data=coded"},
    {2, 0,
     "layout.convert:conversion=trtllm_nvfp4,scale=e4m3,group=16,bias=0,"
     "experts=2,inter=512,hidden=512,data=coded"},
    {2, 0,
     "layout.convert:conversion=identity,experts=20,inter=256,hidden=320"},
    /* whole tiles on one axis and a short one at the end of another */
    {2, 0, "gemm.mx:rows=256|141,cols=256|149,k=256|160,data=ordinary"},
    {2, 0, "gemm.q8_0:rows=128|77,cols=256|149,k=256|160,data=random"},
    {2, GRID_TRIPLES,
     "moe.gemm1:profile=" SERVED ",tokens=64|45,topk=1,experts=1,"
     "hidden=256|288,inter=256|144,data=orderfree"},
    {2, GRID_TRIPLES,
     "moe.gemm2:profile=" SERVED ",tokens=64|45,topk=1,experts=1,"
     "hidden=256|144,inter=256|288,data=ordinary"},
    {2, GRID_TRIPLES,
     "moe.layer:profile=" IN_FLOAT ",tokens=64|45,topk=1,experts=1,"
     "hidden=256|288,inter=256|288,data=orderfree"},
    {2, GRID_TRIPLES,
     "moe.nvfp4_gemm1:profile=" BOTH_NVFP4 ",tokens=64|45,topk=1,experts=1,"
     "hidden=256|144,inter=128|80,data=orderfree"},
    {2, GRID_TRIPLES,
     "moe.nvfp4_gemm2:profile=" BOTH_NVFP4 ",tokens=64|45,topk=1,experts=1,"
     "hidden=256|144,inter=128|80,data=orderfree"},
    {2, 0, "route.topk:dialect=*,tokens=64|45,experts=256|144,data=logits"},
    {2, 0,
     "moe.sort:layout=*,tokens=256|141,top_k=4,num_experts=128|77,data="
     "distinct"},
    {2, 0,
     "moe.permute:sources=256,row_bytes=512|301,rows=256|141,ids=*,top_k=2"},
    {2, 0,
     "moe.finalize:rows=1100,cols=512|277,tokens=256|141,slots=4,sum=*,data="
     "ordinary"},
    {2, 0, "act.glu:rows=256|141,cols=512|277,data=ordinary"},
    {2, 0, "act.glu_quant:" EVEN_OR_NOT},
    {2, 0, "dequant.group:" EVEN_OR_NOT},
    {2, 0, "dequant.mx:" EVEN_OR_NOT},
    {2, 0, "dequant.nvfp4:" EVEN_OR_NOT},
    {2, 0, "dequant.nvfp4_engine:" EVEN_OR_NOT},
    {2, 0, "quant.engine:" EVEN_OR_NOT},
    {2, 0, "quant.group:" EVEN_OR_NOT},
    {2, 0, "quant.mx:" EVEN_OR_NOT},
    {2, 0, "quant.mxfp4_to_nvfp4:" EVEN_OR_NOT},
    {2, 0, "quant.nvfp4:" EVEN_OR_NOT},
    {2, 0, "quant.nvfp4_engine:" EVEN_OR_NOT},
    {2, 0, "quant.q8_0:" EVEN_OR_NOT},
    {2, 0, "quant.qdq:" EVEN_OR_NOT},
    {2, 0, "quant.requant:" EVEN_OR_NOT},
    {2, 0, "quant.scaled:" EVEN_OR_NOT},
    {2, 0, "quant.static:" EVEN_OR_NOT},
    {2, 0,
     "layout.convert:conversion=identity|cpu_amx|deepgemm|humming|mxo_hopper"
     "|triton_blackwell|triton_hopper|triton_strided|triton_cdna4_37,"
     "experts=2,inter=512|544,hidden=512|544,data=coded"},
    {2, 0, "mma.chain:rows=32|21,cols=64|37,k=64|96"},
    {0, 0, NULL},
};

const case_family cases_sizes = {"sizes", fills, grid};
