/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extents that every profile and every kind of conversion meets, not the first
 * of them alone: a K of more than 1024 and of more than 16384, as many rows of
 * weights, one expert for all tokens, more experts than a warp has lanes.  A
 * kernel that is built once for each profile may be wrong there in one of them.
 * And every count of rows from 1 to 64 in each operation that works row by row.
 */
#include "data/fills.h"

#include <stddef.h>

static const fill_row fills[] = {
    {"format.decode", "code", "coded", fill_index_coded},
    {"format.classify", "code", "coded", fill_index_coded},
    {"format.e8m0_decode", "code", "coded", fill_index_coded},
    {NULL, NULL, NULL, NULL},
};

/* Profiles that take a swigluoai as they stand, and those that take a silu
   alone. */
#define OAI                                                               \
    "exact|MARLIN|BATCHED_MARLIN|BATCHED_MARLIN/naive|TRITON|TRITON/3.5"  \
    "|TRITON/split_k|TRITON_UNFUSED|CPU|EMULATION|EMULATION/triton"       \
    "|HUMMING|HUMMING/native|FLASHINFER_TRTLLM_MXFP4_MXFP8"               \
    "|FLASHINFER_TRTLLM_MXFP4_BF16|FLASHINFER_CUTLASS_MXFP4_MXFP8"        \
    "|FLASHINFER_CUTLASS_MXFP4_MXFP8/fused|FLASHINFER_CUTLASS_MXFP4_BF16" \
    "|AITER_MXFP4_BF16|AITER_MXFP4_BF16/split2|AITER_MXFP4_MXFP4/flydsl"  \
    "|AITER_TRITON_MXFP4_BF16|B12X_MXFP4_BF16|B12X_MXFP4_BF16/atomic"
#define SILU                                                  \
    "DEEPGEMM_MXFP4|DEEPGEMM_MXFP4/unfused|AITER_MXFP4_MXFP4" \
    "|AITER_MXFP4_MXFP4/roundup|CK|XPU|XPU/clamp"
#define SILU_UNLIMITED "B12X_MXFP4_MXFP8|B12X_MXFP4_MXFP8/deterministic"
#define SPLIT "HUMMING/streamk,splits=3"
#define GIVEN "AITER_MXFP4_FP8,input_scale=given"
#define HALVES ",activation=silu,rows=halves"
/* Those that no other family asks with many experts. */
#define OAI_SECOND                                                \
    "BATCHED_MARLIN/naive|TRITON/split_k|AITER_MXFP4_BF16/split2" \
    "|B12X_MXFP4_BF16/atomic"

/* Their products are 2^119 times smaller: in order-free data of a long K the
   last live ones weigh nothing. */
#define LOW "B12X_MXFP4_BF16|B12X_MXFP4_BF16/atomic"

#define OF(op, profiles, extents)                 \
    {                                             \
        2, 0, op ":profile=" profiles "," extents \
    }
#define EVERY(op, extents)                                                \
    OF(op, OAI, extents), OF(op, SPLIT, extents), OF(op, GIVEN, extents), \
        OF(op, SILU HALVES, extents),                                     \
        OF(op, SILU_UNLIMITED HALVES ",limit=none", extents)
#define EVERY_GEMM2(extents)                                   \
    OF("moe.gemm2", OAI "|" SILU "|" SILU_UNLIMITED, extents), \
        OF("moe.gemm2", SPLIT, extents), OF("moe.gemm2", GIVEN, extents)
#define SECOND(op, extents)                              \
    OF(op, OAI_SECOND, extents), OF(op, SPLIT, extents), \
        OF(op, "XPU/clamp" HALVES, extents),             \
        OF(op, "B12X_MXFP4_MXFP8/deterministic" HALVES ",limit=none", extents)

#define TWO "tokens=2,topk=1,experts=2,"
#define ONE_EXPERT \
    "tokens=1|67,topk=1,experts=1,hidden=64,inter=32,bias=bf16,data=orderfree"
#define MANY_EXPERTS \
    "tokens=40,topk=1,experts=70,hidden=32,inter=32,data=orderfree"
#define MANY_SLOTS "tokens=2,topk=40,experts=48,hidden=32,inter=32,"

/* Conversions that take any block of 32 by 32, and those of larger tiles. */
#define SMALL_TILES                                                 \
    "identity|cpu_amx|deepgemm|humming|mxo_hopper|triton_blackwell" \
    "|triton_hopper|triton_strided|triton_cdna4_37"
#define LARGE_TILES                                             \
    "marlin|trtllm_gptoss|cutlass_mxfp4_mxfp8|aiter_mxfp4_bf16" \
    "|aiter_mxfp4_mxfp4"
#define PACKED "deepgemm.mn_major_tma_aligned_packed_ue8m0,dtype=f32"
#define K_GROUPED "deepgemm.k_grouped_packed_ue8m0,dtype=f32"

/* Around what llama.cpp's product and a GPU's take at once, in each order. */
#define TILES                                                              \
    "1|2|3|4|5|6|7|8|9|12|15|16|17|24|31|32|33|48|63|64|65|96|127|128|129" \
    "|255|256|257"
#define ENDS "1|2|3|7|15|17|31|33|63|65|127"
#define Q8_0(extents)                                           \
    {2, 0, "gemm.q8_0:order=*," extents ",data=random"},        \
    {                                                           \
        2, 0, "gemm.q8_0:weights=nvfp4," extents ",data=random" \
    }

/* Hidden sizes that kernels are compiled for, and numbers of experts; and rows
   between a block's and 65,536. */
#define HIDDEN "2048|2880|3072|4096|5120|6144|7168"
#define EXPERTS "8|16|32|64|128|256|384|512"
#define ROWS "rows=1030,cols="
#define SOME "profile=exact|MARLIN|TRITON,"
#define MODEL_SIZES "2880|3072|4096|7168"
#define PROMPT "tokens=480|2048,topk=2,experts=36|60,"
#define ROUTED "top_k=1,"
/* One profile of each backend with a swigluoai. */
#define BACKENDS                                                       \
    "MARLIN|TRITON|CPU|EMULATION|HUMMING|FLASHINFER_TRTLLM_MXFP4_BF16" \
    "|FLASHINFER_TRTLLM_MXFP4_MXFP8|FLASHINFER_CUTLASS_MXFP4_BF16"     \
    "|AITER_MXFP4_BF16|AITER_TRITON_MXFP4_BF16|B12X_MXFP4_BF16"
/* A remainder of whatever tile is one of them. */
#define COUNTS                                                             \
    "1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23|24|25|26" \
    "|27|28|29|30|31|32|33|34|35|36|37|38|39|40|41|42|43|44|45|46|47|48"   \
    "|49|50|51|52|53|54|55|56|57|58|59|60|61|62|63|64|96|128|129|256|1025"
#define COUNTED(op, extents)                 \
    {                                        \
        2, 0, op ":" extents ",rows=" COUNTS \
    }

static const grid_row grid[] = {
    /* a long K */
    EVERY("moe.gemm1", TWO "hidden=2080|16416,inter=4,data=orderfree"),
    EVERY_GEMM2(TWO "hidden=8,inter=2080|16416,data=ordinary"),
    EVERY("moe.layer", TWO "hidden=2080,inter=32,data=orderfree"),
    EVERY("moe.layer", TWO "hidden=32,inter=1056,data=ordinary"),
    OF("moe.gemm1", LOW,
       TWO "hidden=2080|16416,inter=4,stage=gemm,data=ordinary"),
    OF("moe.gemm1", LOW,
       TWO "hidden=2080|16416,inter=4,stage=gemm,data=brink|thin"),
    OF("moe.gemm2", LOW, TWO "hidden=8,inter=2080|16416,stage=row,data=brink"),
    OF("moe.gemm1", LOW, TWO "hidden=2080,inter=4,data=ordinary"),
    OF("moe.layer", LOW, TWO "hidden=2080,inter=8,data=ordinary"),
    OF("moe.layer", LOW, TWO "hidden=8,inter=2080,data=ordinary"),
    /* many rows of weights */
    EVERY("moe.gemm1",
          "tokens=1,topk=1,experts=2,hidden=32,inter=1032,data=orderfree"),
    EVERY_GEMM2(
        "tokens=1,topk=1,experts=2,hidden=1032,inter=32,data=orderfree"),
    OF("moe.gemm1", "exact", TWO "hidden=32,inter=16392,data=orderfree"),
    OF("moe.gemm2", "exact", TWO "hidden=32776,inter=32,data=orderfree"),
    /* one expert, with one row and with more than a tile of 64 */
    EVERY("moe.gemm1", ONE_EXPERT),
    EVERY_GEMM2(ONE_EXPERT),
    EVERY("moe.layer", ONE_EXPERT),
    SECOND("moe.gemm1", MANY_EXPERTS),
    SECOND("moe.layer", MANY_EXPERTS),
    OF("moe.gemm2", OAI_SECOND "|B12X_MXFP4_MXFP8/deterministic", MANY_EXPERTS),
    OF("moe.gemm2", SPLIT, MANY_EXPERTS),
    /* a token with more slots than a warp has lanes, also where binary64 does
       not hold its sum; and more columns than 16 bits count */
    EVERY("moe.layer", MANY_SLOTS "data=orderfree"),
    EVERY_GEMM2(MANY_SLOTS "data=orderfree"),
    {2, 0,
     "moe.gemm2:routing_at=acc,sum=slots|moe_sum|cpu|atomic_bf16|exact,"
     "row_out=bf16," MANY_SLOTS "data=ordinary"},
    {2, 0,
     "moe.gemm2:routing_at=sum,sum=fma|product|exact,row_out=f32,out=bf16|"
     "f32," MANY_SLOTS "data=ordinary|rare"},
    {2, 0,
     "moe.finalize:sum=*,tokens=1,slots=2,rows=3,cols=65552,data=ordinary"},
    /* conversions of many experts, of long rows and of many */
    {2, 0,
     "layout.convert:conversion=" SMALL_TILES
     ",experts=33,inter=32,hidden=32,data=coded"},
    {2, 0,
     "layout.convert:conversion=" SMALL_TILES
     ",experts=1,inter=32,hidden=1056,data=coded"},
    {2, 0,
     "layout.convert:conversion=identity,experts=1000,inter=32,hidden=32,"
     "input_scale=1,data=random"},
    {2, 0,
     "layout.convert:conversion=" SMALL_TILES
     ",experts=1,inter=1056,hidden=32,data=coded"},
    {2, 0,
     "layout.convert:conversion=" LARGE_TILES
     ",experts=9,inter=128,hidden=256,data=coded"},
    {2, 0,
     "layout.convert:conversion=" LARGE_TILES
     ",experts=1,inter=128,hidden=1280,data=coded"},
    {2, 0,
     "layout.convert:conversion=" LARGE_TILES
     ",experts=1,inter=1152,hidden=256,data=coded"},
    Q8_0("rows=" TILES ",cols=8,k=64"),
    Q8_0("rows=1,cols=" TILES ",k=64"),
    Q8_0("rows=3,cols=5,k=128|192|256|320|448|512|576|960|1024|1088|4160"),
    {2, 0,
     "gemm.q8_0:order=*,rows=3,cols=5,k=32|96|160|224|288|480|544|992|1056,"
     "data=random"},
    /* functions of one number, tables and maps: ends of vectors, many */
    {2, 0, "format.classify:n=" ENDS},
    {2, 0, "format.decode:n=" ENDS},
    {2, 0, "format.convert:n=" ENDS},
    {2, 0, "format.ue4m3:n=" ENDS},
    {2, 0, "math.rcp:mode=*,n=" ENDS},
    {2, 0, "math.lg2:n=" ENDS "|66000,data=ordinary"},
    {2, 0, "quant.mx_exponent:n=" ENDS},
    /* more than 16 bits count */
    {2, 0, "format.decode:format=e4m3fn,n=65793,data=coded"},
    {2, 0, "format.decode:format=e2m1,packed=1,n=65793,data=coded"},
    {2, 0, "format.classify:n=65793,data=coded"},
    {2, 0, "format.e8m0_decode:n=65793,data=coded"},
    {2, 0, "format.e8m0_encode:from=bf16,n=65793,data=powers"},
    {2, 0, "format.encode:format=e4m3fn,from=bf16,n=65793,data=ordinary"},
    {2, 0, "quant.qdq:rule=*,rows=65600,cols=32,data=ordinary"},
    {2, 0, "quant.mxfp4_to_nvfp4:rows=65600,cols=32,data=near"},
    {2, 0, "quant.qdq:rows=1,cols=2097216,data=ordinary"},
    {2, 0, "quant.requant:rows=1,cols=2097216"},
    {2, 0, "quant.mxfp4_to_nvfp4:rows=1,cols=2097216,data=near"},
    {2, 0, "dequant.group:group_cols=1,rows=1,cols=65600,data=random"},
    {2, 0, "dequant.nvfp4:rows=1,cols=1048640"},
    {2, 0,
     "route.topk:dialect=vllm_softmax,also=indices,top_k=2,tokens=65537,"
     "experts=8,data=apart"},
    /* rows of quantisers and back that are longer than a model's, and more of
       them than one axis of a GPU's grid has blocks */
    {2, 0, "dequant.group:rows=3,cols=16416,group_cols=32|128,data=ordinary"},
    {2, 0, "dequant.nvfp4:rows=3,cols=7168|16432,data=ordinary"},
    {2, 0, "dequant.nvfp4_engine:rule=*,rows=3,cols=7168|16448,data=random"},
    {2, 0, "quant.engine:rule=*,rows=1,cols=7168|16416,data=ordinary"},
    {2, 0, "quant.mxfp4_to_nvfp4:lossless=0|1,rows=3,cols=16416,data=near"},
    {2, 0, "quant.nvfp4:from=bf16|f16|f32,rows=3,cols=7168,data=ordinary"},
    {2, 0,
     "quant.nvfp4:sf_layout=*,math=fast|ieee,rows=3,cols=16448,data=ordinary"},
    {2, 0, "quant.qdq:rule=*,rows=3,cols=7168|16416,data=ordinary"},
    {2, 0, "quant.requant:rows=3,cols=7168|16416,data=random"},
    {2, 0, "quant.group:rows=65600,cols=32,group_cols=32,data=ordinary"},
    {2, 0, "quant.group:rule=*,rows=1025,cols=128,data=ordinary"},
    {2, 0,
     "quant.group:scale=packed|packed_mn,pow2=1,rows=261|1029,cols=128,"
     "group_cols=32,data=ordinary"},
    {2, 0, "quant.static:apply=*,rows=65600,cols=3,data=ordinary"},
    {2, 0, "quant.scaled:rows=65600,cols=32,data=ordinary"},
    {2, 0, "quant.q8_0:rows=1025,cols=32,data=ordinary"},
    {2, 0, "quant.q8_0:rows=65537,cols=32,data=random"},
    {2, 0, "quant.nvfp4_engine:rule=modelopt,rows=65537,cols=16,data=ordinary"},
    {2, 0, "act.glu_quant:dialect=*,rows=1025,cols=256,data=ordinary"},
    {2, 0, "act.glu_quant:group=4,rows=65537,cols=4,data=ordinary"},
    {2, 0, "dequant.mx_table:codes=66000,scales=1"},
    {2, 0, "dequant.mx_table:codes=1,scales=66000"},
    {2, 0, "quant.requant_table:codes=66000,offsets=1"},
    {2, 0, "quant.requant_table:codes=3,offsets=66000"},
    /* products */
    {2, 0, "gemm.q8_0:rows=65540,cols=1,k=64,data=random"},
    {2, 0, "gemm.q8_0:order=*,rows=1,cols=65540,k=64,data=random"},
    {2, 0,
     "gemm.mx:acc=wgmma,from=bf16|f16,rows=2,cols=3,k=2880|7168,"
     "data=ordinary"},
    {2, 0,
     "mma.chain:type=bf16|f16|e4m3fn,promote=64|128,rows=2,k=7168,cols=3,"
     "data=random"},
    /* many tokens of a layer that none of the others has */
    {2, 0,
     "moe.nvfp4_gemm1:tokens=4099,topk=1,hidden=16,experts=2,inter=16,"
     "data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:tokens=4099,topk=1,hidden=16,experts=2,inter=16,"
     "data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:tokens=4099,topk=1,hidden=16,experts=2,inter=16,"
     "data=orderfree"},
    {2, 0,
     "moe.layer_routed:tokens=4099,hidden=32,experts=8,inter=32,top_k=1,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:tokens=65539,topk=1,hidden=4,experts=2,inter=2,"
     "data=orderfree"},
    {2, 0,
     "moe.layer_routed:tokens=65539,top_k=1,hidden=4,experts=2,inter=2,"
     "data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm1:tokens=65539,topk=1,hidden=16,experts=2,inter=1,"
     "data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:order=exact,tokens=65539,topk=1,hidden=1,experts=2,"
     "inter=16,data=ordinary"},
    {2, 0, /* its smallest rows cost six times as much */
     "moe.nvfp4_layer:tokens=16387,topk=1,hidden=16,experts=2,inter=16,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm1:tokens=65537,topk=1,hidden=32,experts=2,inter=4,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:tokens=65537,topk=1,hidden=4,experts=2,inter=32,"
     "data=ordinary"},
    {2, 0, "moe.sort:layout=*,num_experts=3,tokens=65537,top_k=1"},
    {2, 0, "layout.index:n=" ENDS "|1025|66000,rows=1,cols=90"},
    {2, 0, "layout.groups:n=" ENDS "|1025|66000"},
    {2, 0, "layout.groups:align=1|4,total=1500,n=300,data=few"},
    {2, 0, "layout.groups:align=1,total=1031|1087|2111,n=9"},
    {2, 0, "layout.tp_pad:n=1|63|300|1030,ranks=1|7|33|65"},
    {2, 0, "layout.tp_pad:n=3,ranks=1030|2111"},
    {2, 0, "dequant.mx_table:codes=3|7|63|300,scales=1|7|63|256|300"},
    {2, 0, "dequant.mx_table:codes=3,scales=1030|2111"},
    {2, 0, "dequant.mx_table:codes=1030|2111,scales=3"},
    {2, 0, "quant.requant_table:codes=3|7|63|300,offsets=1|7|63|256|300"},
    {2, 0, "quant.requant_table:codes=3,offsets=1030|2111"},
    {2, 0, "quant.requant_table:codes=1030|2111,offsets=3"},
    {2, 0,
     "layout.record:record=ggml.q8_0,codes=i8,scale=f16,experts=1,"
     "rows=1030|2111,cols=32,groups=1"},
    {2, 0,
     "layout.record:record=ggml.q8_0,codes=i8,scale=f16,experts=1,"
     "rows=3,cols=33760,groups=1055"},
    {2, 0,
     "layout.record:record=ggml.q8_0,codes=i8,scale=f16,experts=1|300,"
     "rows=33,cols=288,groups=9"},
    /* many rows, long ones, many groups */
    {2, 0, "layout.grouped:experts=1,rows=1025,cols=5,n=4,data=powers"},
    {2, 0, "layout.grouped:experts=1,rows=37,cols=16,n=129,data=powers"},
    {2, 0, "layout.grouped:experts=1,rows=37,cols=1056,n=4,data=powers"},
    {2, 0,
     "layout.grouped:layout=" PACKED
     ",rule=in_place,ends_align=32,experts=1,rows=2080,cols=4,n=33,"
     "data=powers"},
    {2, 0,
     "layout.grouped:layout=" PACKED
     ",rule=repeat,gran=128,align=1,blocks=2176,experts=2,rows=17,cols=4,"
     "data=powers"},
    {2, 0,
     "layout.grouped:layout=" K_GROUPED
     ",align=4,gran=32,experts=1,rows=1029,cols=8,n=33,data=powers"},
    {2, 0,
     "layout.grouped:layout=vllm.as_is,dtype=u8,rule=compact,gran=3,align=8,"
     "experts=1,rows=4099,cols=1,n=9,data=powers"},
    {2, 0,
     "layout.grouped:layout=vllm.as_is,dtype=u8,rule=repeat,gran=2,experts=1,"
     "rows=65601,cols=1,data=powers"},
    {2, 0,
     "layout.grouped:layout=vllm.as_is,dtype=u8,align=8,experts=1,rows=9,"
     "cols=4099,n=3,data=powers"},
    {2, 0,
     "layout.grouped:layout=vllm.as_is,dtype=u8,align=1|8,experts=1,rows=320,"
     "cols=3,n=300,data=few"},
    {2, 0,
     "layout.grouped:layout=vllm.as_is,dtype=u8,rule=repeat,gran=2|7,"
     "experts=9,rows=4,cols=9,data=powers"},
    /* as models have them */
    {2, 0, "act.glu:layout=interleaved|halves,rows=2,cols=" HIDDEN},
    {2, 0, "act.glu_quant:rows=2,cols=" HIDDEN},
    {2, 0, "dequant.mx:element=e2m1|e4m3fn,rows=2,cols=" HIDDEN},
    {2, 0, "dequant.group:rows=2,cols=" HIDDEN},
    {2, 0, "dequant.nvfp4:rows=2,cols=" HIDDEN},
    {2, 0, "dequant.nvfp4_engine:rows=2,cols=" HIDDEN},
    {2, 0, "quant.mx:element=e2m1|e4m3fn,rows=2,cols=" HIDDEN},
    {2, 0, "quant.group:rows=2,cols=" HIDDEN},
    {2, 0, "quant.nvfp4:rows=2,cols=" HIDDEN},
    {2, 0, "quant.nvfp4_engine:rows=2,cols=" HIDDEN},
    {2, 0, "quant.engine:rows=2,cols=" HIDDEN},
    {2, 0, "quant.qdq:rows=2,cols=" HIDDEN},
    {2, 0, "quant.requant:rows=2,cols=" HIDDEN},
    {2, 0, "quant.static:rows=2,cols=" HIDDEN},
    {2, 0, "quant.scaled:rows=2,cols=" HIDDEN},
    {2, 0, "quant.q8_0:rows=2,cols=" HIDDEN},
    {2, 0, "quant.mxfp4_to_nvfp4:rows=2,cols=" HIDDEN},
    {2, 0, "gemm.mx:rows=1,k=32,cols=" HIDDEN},
    {2, 0, "gemm.mx:rows=1,cols=2,k=2048|5120|6144,data=exact"},
    {2, 0, "gemm.q8_0:rows=1,k=64,cols=" HIDDEN},
    {2, 0, "gemm.q8_0:rows=1,cols=2,k=2048|5120|6144"},
    {2, 0, "moe.permute:sources=3,rows=4,row_bytes=" HIDDEN},
    {2, 0, "moe.finalize:tokens=2,slots=2,rows=4,cols=" HIDDEN},
    {2, 0, "moe.gemm1:" SOME TWO "hidden=32,data=orderfree,inter=" HIDDEN},
    {2, 0,
     "moe.gemm1:" SOME TWO "hidden=2048|5120|6144,inter=4,data=orderfree"},
    {2, 0, "moe.gemm2:" SOME TWO "inter=32,data=ordinary,hidden=" HIDDEN},
    {2, 0, "moe.gemm2:" SOME TWO "inter=2048|5120|6144,hidden=8,data=ordinary"},
    {2, 0, "moe.layer:" SOME TWO "hidden=32,data=ordinary,inter=" HIDDEN},
    {2, 0, "moe.layer:" SOME TWO "inter=32,data=ordinary,hidden=" HIDDEN},
    {2, 0,
     "moe.gemm1:" SOME "tokens=2,topk=2,hidden=32,inter=4,data=orderfree,"
     "experts=" EXPERTS},
    {2, 0,
     "moe.gemm2:" SOME "tokens=2,topk=2,hidden=8,inter=32,data=ordinary,"
     "experts=" EXPERTS},
    {2, 0,
     "moe.layer:" SOME "tokens=2,topk=2,hidden=32,inter=32,data=ordinary,"
     "experts=" EXPERTS},
    {2, 0,
     "moe.nvfp4_gemm1:tokens=2,topk=2,hidden=32,inter=16,experts=" EXPERTS},
    {2, 0,
     "moe.nvfp4_gemm2:tokens=2,topk=2,hidden=16,inter=32,experts=" EXPERTS},
    {2, 0,
     "moe.nvfp4_layer:tokens=2,topk=2,hidden=32,inter=16,experts=" EXPERTS},
    {2, 0, "moe.nvfp4_scalars:projections=2,experts=" EXPERTS},
    {2, 0, "moe.sort:layout=*,tokens=9,top_k=2,num_experts=" EXPERTS},
    {2, 0,
     "moe.finalize:map=1,tokens=3,slots=2,rows=6,cols=8,experts=" EXPERTS},
    {2, 0, "act.glu:" ROWS "2"},
    {2, 0, "act.glu:gather=1,picks=1030,rows=5,cols=2"},
    {2, 0, "dequant.group:" ROWS "128"},
    {2, 0, "dequant.nvfp4:" ROWS "16"},
    {2, 0, "dequant.nvfp4_engine:" ROWS "64"},
    {2, 0, "quant.engine:" ROWS "32"},
    {2, 0, "quant.nvfp4:" ROWS "16"},
    {2, 0, "quant.qdq:" ROWS "32"},
    {2, 0, "quant.requant:" ROWS "32"},
    {2, 0, "quant.scaled:" ROWS "32"},
    {2, 0, "quant.static:" ROWS "2"},
    {2, 0, "moe.finalize:tokens=1030,slots=2,rows=2060,cols=8"},
    {2, 0, "mma.chain:rows=1030,cols=1,k=32"},
    {2, 0, "format.classify:n=1030"},
    {2, 0, "format.decode:n=1030"},
    {2, 0, "format.e8m0_decode:n=1030"},
    {2, 0, "format.ue4m3:n=1030"},
    {2, 0, "quant.mx_exponent:n=1030"},
    /* every count of rows, where an operation works row by row */
    COUNTED("act.glu", "cols=32"),
    COUNTED("act.glu_quant", "cols=256"),
    COUNTED("dequant.group", "cols=128"),
    COUNTED("dequant.mx", "cols=32"),
    COUNTED("dequant.nvfp4", "cols=16"),
    COUNTED("dequant.nvfp4_engine", "cols=64"),
    COUNTED("gemm.mx", "k=32,cols=9"),
    COUNTED("gemm.q8_0", "k=64,cols=3"),
    COUNTED("quant.engine", "cols=32"),
    COUNTED("quant.group", "cols=128"),
    COUNTED("quant.mx", "cols=32"),
    COUNTED("quant.mxfp4_to_nvfp4", "cols=32"),
    COUNTED("quant.nvfp4", "cols=16"),
    COUNTED("quant.nvfp4_engine", "cols=64"),
    COUNTED("quant.q8_0", "cols=32"),
    COUNTED("quant.qdq", "cols=32"),
    COUNTED("quant.requant", "cols=32"),
    COUNTED("quant.scaled", "cols=32"),
    COUNTED("quant.static", "cols=9"),
    /* sizes and experts of models */
    {2, 0, "gemm.mx:rows=2,cols=3,k=256|384|768|1408|1536,data=ordinary"},
    {2, 0, "gemm.mx:rows=2,k=32,cols=192|256|258|512|1026"},
    {2, 0,
     "layout.convert:conversion=" SMALL_TILES
     ",experts=128|384,inter=32,hidden=32,data=coded"},
    {2, 0,
     "layout.convert:conversion=" SMALL_TILES
     ",experts=2,inter=32,hidden=" MODEL_SIZES ",data=coded"},
    {2, 0,
     "layout.convert:conversion=" SMALL_TILES ",experts=2,inter=" MODEL_SIZES
     ",hidden=32,data=coded"},
    {2, 0,
     "layout.convert:conversion=" LARGE_TILES
     ",experts=128,inter=128,hidden=256,data=coded"},
    {2, 0,
     "layout.convert:conversion=" LARGE_TILES
     ",experts=1,inter=128,hidden=3072|4096|7168,data=coded"},
    {2, 0,
     "layout.convert:conversion=" LARGE_TILES
     ",experts=1,inter=3072|4096|7168,hidden=256,data=coded"},
    {2, 0, "layout.apply:experts=128|384,rows=9,cols=4,data=coded"},
    {2, 0,
     "layout.grouped:layout=vllm.as_is,dtype=u8,align=8,experts=1,"
     "rows=9,n=3,data=powers,cols=" MODEL_SIZES},
    {2, 0,
     "act.glu:per_expert=limit,rows=9,cols=8,data=limits,"
     "experts=128|384"},
    {2, 0,
     "moe.nvfp4_layer:tokens=1,topk=1,experts=2,hidden=16,"
     "data=ordinary,inter=" MODEL_SIZES},
    {2, 0,
     "moe.layer_routed:tokens=1,top_k=1,experts=2,hidden=32,"
     "data=ordinary,inter=" MODEL_SIZES},
    /* a size that is promised beside each profile, not the first alone */
    EVERY("moe.layer_routed",
          ROUTED "tokens=17,experts=5,hidden=32,inter=32,data=orderfree"),
    OF("moe.layer_routed", BACKENDS,
       ROUTED "tokens=33|129,experts=5,hidden=32,inter=32,data=orderfree"),
    EVERY("moe.layer_routed",
          ROUTED "tokens=2,experts=128|384,hidden=32,inter=32,data=orderfree"),
    EVERY("moe.layer_routed",
          ROUTED "tokens=1,experts=2,hidden=2880|7168,inter=32,data=ordinary"),
    /* tokens of a long prompt, and experts of models that are no power of two
     */
    {2, 0, "moe.sort:layout=*,tokens=480|2048,top_k=2,num_experts=36|60"},
    {2, 0, "moe.gemm1:" SOME PROMPT "hidden=32,inter=4,data=orderfree"},
    {2, 0, "moe.gemm2:" SOME PROMPT "hidden=8,inter=32,data=ordinary"},
    {2, 0, "moe.layer:" SOME PROMPT "hidden=32,inter=32,data=orderfree"},
    {2, 0,
     "moe.layer_routed:" ROUTED
     "tokens=480|2048,experts=36|60,hidden=32,inter=32,data=orderfree"},
    {2, 0, "moe.nvfp4_gemm1:" PROMPT "hidden=16,inter=16,data=orderfree"},
    {2, 0, "moe.nvfp4_gemm2:" PROMPT "hidden=16,inter=16,data=orderfree"},
    {2, 0, "moe.nvfp4_layer:" PROMPT "hidden=16,inter=16,data=orderfree"},
    {2, 0, "moe.finalize:tokens=480|2048,slots=2,rows=60,cols=8"},
    {2, 0,
     "moe.finalize:map=1,tokens=480|2048,slots=2,rows=60,cols=8,"
     "experts=36|60"},
    {2, 0, "moe.permute:sources=480|2048,rows=60,row_bytes=32"},
    {2, 0, "route.topk:tokens=480|2048,experts=36|60,top_k=2"},
    {2, 0, "route.topk:dialect=*,tokens=9,experts=36|60,top_k=1|4"},
    /* more than 2^25 codes of one tensor */
    {2, 0, "dequant.mx:rows=1,cols=33554496,data=random"},
    {2, 0, "quant.mx:rows=1,cols=33554496,data=ordinary"},
    {2, 0,
     "layout.convert:conversion=identity,experts=1,inter=64,"
     "hidden=262176,data=random"},
    {2, 0, /* more than 65,536 blocks of 16 rows */
     "moe.sort:layout=triton,num_experts=2,tokens=1048600,top_k=1"},
    {0, 0, NULL},
};

const case_family cases_extents = {"extents", fills, grid};
