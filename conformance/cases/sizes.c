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
static const grid_row grid[] = {
    {2, 0, /* tokens beside the tiles of kernels */
     "moe.layer:tokens=64|128|129," FLAT},
    {2, 0, "moe.gemm1:tokens=96|257," FLAT},
    {2, 0, "moe.gemm2:tokens=96|257," FLAT},
    {2, 0, /* a scale per row: a neighbour's is another */
     "moe.layer:profile=FLASHINFER_CUTLASS_MXFP4_MXFP8|DEEPGEMM_MXFP4|"
     "EMULATION,tokens=17|33,topk=1,experts=2,hidden=128,inter=128,"
     "data=ordinary"},
    {2, 0, /* K of 64 k + 32 and 128 k + 64 */
     "moe.layer:profile=exact|TRITON|MARLIN,tokens=3,topk=2,experts=2,"
     "hidden=96|192,inter=224|320,data=orderfree"},
    {2, 0, "gemm.mx:rows=3,cols=5,k=96|160|192|224|320|2880,data=exact"},
    {2, 0, /* more experts than a block sorts, and no multiple of it */
     "moe.sort:layout=*,num_experts=128|300|384,tokens=33,top_k=10,"
     "data=distinct"},
    {2, 0,
     "moe.layer:tokens=5,topk=10,experts=130,hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0, /* ties between experts of different warps */
     "route.topk:dialect=softmax_topk|topk_softmax|sigmoid_topk|"
     "trtllm_default|trtllm_renormalize|trtllm_deepseek_v3|"
     "trtllm_renormalize_naive|trtllm_topk|trtllm_sigmoid_renorm|"
     "trtllm_minimax2|trtllm_sigmoid|trtllm_topk_sigmoid|vllm_softmax|"
     "vllm_sigmoid|vllm_softplus_sqrt|vllm_fused_scores|vllm_fused_sigmoid|"
     "vllm_torch_softmax|vllm_torch_sigmoid|vllm_cpu|triton35_topk_softmax|"
     "triton35_softmax_topk|triton37_topk_softmax|triton37_softmax_topk,"
     "from=bf16,to=bf16,renormalize=1,top_k=8,tokens=4,experts=128,data=few"},
    {0, 0, NULL},
};

const case_family cases_sizes = {"sizes", fills, grid};
