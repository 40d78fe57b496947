/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of nothing but NaN between ordinary ones: maxima that drop a NaN have
 * nothing left, choices have no score.  Only rules whose answer a vendor's
 * vector, a cited text or this project's own definition gives.  Left out,
 * because no source says what a whole block of NaN gives: of quant.mx
 * aiter_hip_*, aiter_dynamic, aiter_flydsl, b12x_mxfp8, triton35_kernel_*,
 * vllm_torch, vllm_torch_ceil and vllm_cuda; quant.group with rules whose
 * maximum and clamp are a compiler's (deepgemm_mega, vllm_group_mul);
 * quant.nvfp4 with math=vllm or E4M3 input; engines but ggml, gguf_py,
 * modelopt and torchao; quant.q8_0; the kernel of vLLM's fused router for few
 * experts.
 */
#include "data/fills.h"

#include <stddef.h>

/* Every third row, from the second on. */
static void spoil_rows(host_tensor *t)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t cols = t->shape[t->rank - 1];

    for (uint64_t i = 0; i < n; i++) {
        if (i / cols % 3 == 1) {
            tensor_store(t, i, dtype_nan(t->dtype));
        }
    }
}

static void fill_nan_rows(const test_case *c, host_tensor *t, prng *rng)
{
    fill_ordinary(c, t, rng);
    spoil_rows(t);
}

static void fill_nan_tokens(const test_case *c, host_tensor *t, prng *rng)
{
    fill_normal(c, t, rng);
    spoil_rows(t);
}

static const fill_row fills[] = {
    {"quant.*", "x", "void", fill_nan_rows},
    {"route.topk", "logits", "void", fill_nan_tokens},
    {NULL, NULL, NULL, NULL},
};

#define ROWS "rows=4,cols=64,data=void"
static const grid_row grid[] = {
    {2, 0, /* byte 255: numerics 3.3, engines 6.4; its codes are nobody's */
     "quant.mx:element=e2m1|e4m3fn,rule=floor|ceil|rceil|even|rceil_div|"
     "rceil_exact|floor_div|floor_mul|floor_nooffset|torchao_rceil," ROWS},
    {2, 0, /* layouts-aiter 8.2: byte 255, codes 3 */
     "quant.mx:element=e2m1|e4m3fn,rule=aiter_torch_rounddown|"
     "aiter_torch_roundup|aiter_torch_even|aiter_torch_ceil," ROWS},
    {2, 0, /* layouts-flashinfer 5.1, 5.2, and vectors */
     "quant.mx:element=e2m1|e4m3fn,rule=flashinfer,from=bf16|f16," ROWS},
    {2, 0, /* layouts-triton 6.1, and a vector */
     "quant.mx:element=e2m1|e4m3fn,rule=triton35_up|triton35_down|"
     "triton36_up|triton36_down,from=f32," ROWS},
    {2, 0, /* engines 3.2; layouts-vllm 10.2 */
     "quant.mx:element=e2m1,rule=ggml|quark_triton," ROWS},
    {2, 0, /* profiles-nvidia 2.2 */
     "quant.mx:element=e4m3fn,rule=trtllm_gen,from=f32," ROWS},
    {2, 0, /* layouts-deepgemm 2 */
     "quant.group:rule=deepgemm,element=e4m3fn|e2m1,pow2=*,group_cols="
     "32," ROWS},
    {2, 0, /* fmaxf and fminf of per_token_group_quant.cu */
     "quant.group:rule=vllm_group,element=e4m3fn,pow2=*,group_cols=32," ROWS},
    {2, 0, /* torch's maximum and quotient */
     "quant.group:rule=aiter_token,element=e4m3fn,group_cols=0," ROWS},
    {2, 0, /* layouts-flashinfer 5.3, and vectors */
     "quant.nvfp4:math=fast|ieee|exact,from=bf16|f16," ROWS},
    {2, 0, /* profiles-nvidia 4.3 */
     "quant.nvfp4:from=f32,math=trtllm_gen," ROWS},
    {2, 0, /* layouts-vllm 10, and vectors */
     "quant.qdq:from=*,rule=*," ROWS},
    {2, 0, /* engines 3.2, 6.4 */
     "quant.engine:rule=ggml|gguf_py|modelopt|torchao_ceil|torchao_even|"
     "torchao_floor|torchao_rceil," ROWS},
    {2, 0, /* engines 3.4 */
     "quant.nvfp4_engine:rule=ggml|modelopt," ROWS},
    {2, 0, "quant.static:element=*,nan=*," ROWS},
    {2, 0, /* equal keys, so the first experts; weights NaN, or 0 in vLLM's */
     "route.topk:dialect=softmax_topk|topk_softmax|sigmoid_topk|"
     "trtllm_default|trtllm_renormalize|trtllm_deepseek_v3|"
     "trtllm_renormalize_naive|trtllm_topk|trtllm_sigmoid_renorm|"
     "trtllm_minimax2|trtllm_sigmoid|trtllm_topk_sigmoid|vllm_softmax|"
     "vllm_sigmoid|vllm_softplus_sqrt|vllm_torch_softmax|vllm_torch_sigmoid|"
     "vllm_cpu|triton35_topk_softmax|triton35_softmax_topk|"
     "triton37_topk_softmax|triton37_softmax_topk,from=bf16|f32,top_k=3,"
     "renormalize=1,tokens=4,experts=32,data=void"},
    {2, 0,
     "route.topk:dialect=trtllm_llama4,to=bf16,top_k=1,tokens=4,experts=32,"
     "data=void"},
    {2, 0, /* activation-vllm 8.4: no candidate, so weights of 1 / k */
     "route.topk:dialect=vllm_fused_scores|vllm_fused_sigmoid,bias=f32,"
     "top_k=9,n_group=1|4,tokens=4,experts=64,data=void"},
    {0, 0, NULL},
};

const case_family cases_nan_rows = {"nan_rows", fills, grid};
