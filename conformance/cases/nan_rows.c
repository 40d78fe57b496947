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
 *
 * And data=tail: one special value at the end of every row, all of them in the
 * last row or the last elements, whatever the seed is.  What stands there goes
 * through a scalar loop, a masked load or a tile of few rows; and in a large
 * call through threads, each of which has flags of its own.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

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

/* Bytes for the tail of a tensor: in turn at the end of each row, and all of
   them along the last. */
static void put_bytes(host_tensor *t, const uint8_t bytes[8])
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t step = cols < 16 ? 1 : cols / 8;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t back = cols - 1 - i % cols;
        if (back == 0 || (i + cols >= n && back % step == 0)) {
            tensor_store(t, i, bytes[(i / cols + back / step) % 8]);
        }
    }
}

/* Offsets whose upper bit is no other offset's. */
static void fill_tail_offsets(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint8_t bytes[] = {0x80, 0, 0x81, 1, 0xff, 0x83, 0x10, 0x82};
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, prng_below(rng, 4));
    }
    put_bytes(t, bytes);
}

/* Scale bytes of MXFP4: the largest that k_max has, the ones below it, the last
   that fits without loss and the next, the least. */
static void fill_tail_exponents(const test_case *c, host_tensor *t, prng *rng)
{
    const uint8_t most = (uint8_t)(case_number(c, "k_max") + 127);
    const uint8_t bytes[] = {most,
                             (uint8_t)(most - 1),
                             0,
                             (uint8_t)(most - 17),
                             (uint8_t)(most - 18),
                             1,
                             most,
                             (uint8_t)(most - 2)};
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, most - 3 - prng_below(rng, 16));
    }
    put_bytes(t, bytes);
}

/* And a block whose maximum is so small that subnormal numbers count. */
static void fill_tail_small(const test_case *c, host_tensor *t, prng *rng)
{
    enum { BLOCK = 32 };
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t n_small = cols >= BLOCK && n >= 2 * cols ? BLOCK : 0;

    fill_tail(c, t, rng);
    for (uint64_t i = 0; i < n_small; i++) {
        fill_put(t, n - 2 * cols + i,
                 i == 0 ? 0x1p-121 : ldexp((double)i, -132));
    }
}

/* Of as many scales as there are rows, as theirs ends; one for all is plain,
   and of FP16 so small that infinity has another scale than the largest number.
 */
static void fill_tail_scales(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_half = strcmp(case_value(c, "from"), "f16") == 0;

    if (tensor_elems(t) > 1) {
        fill_tail(c, t, rng);
    } else if (is_half && tensor_elems(t) == 1) {
        fill_put(t, 0, (1 + fill_uniform(rng)) / 64);
    } else {
        fill_positive(c, t, rng);
    }
}

/* And a row of the least scales, which another scale's product would hide. */
static void fill_tail_faint(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_tail(c, t, rng);
    for (uint64_t i = 0; i < cols && n >= 2 * cols; i++) {
        tensor_store(t, n - 2 * cols + i, i % 3 == 1);
    }
}

/* Codes of a scale, whose format no parameter names. */
static void fill_tail_scale_codes(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint8_t bytes[] = {0x7f, 0x80, 0xff, 1, 0x7e, 0, 0xfe, 0x81};
    const uint64_t n = tensor_elems(t);

    fill_counting(c, t, rng);
    for (uint64_t back = 0; back < n && back < 16; back++) {
        tensor_store(t, n - 1 - back, bytes[(back + n / 4 * 3) % 8]);
    }
}

static const fill_row fills[] = {
    {"quant.*", "x", "void", fill_nan_rows},
    {"route.topk", "logits", "void", fill_nan_tokens},
    {"act.glu*", "*", "tail", fill_tail},
    {"act.unary", "x", "tail", fill_tail},
    {"format.decode", "code", "tail", fill_tail_codes},
    {"format.encode", "x", "tail", fill_tail},
    {"format.convert", "x", "tail", fill_tail},
    {"format.classify", "code", "tail", fill_tail_codes},
    {"format.e8m0_decode", "code", "tail", fill_tail},
    {"format.e8m0_encode", "x", "tail", fill_tail},
    {"format.ue4m3", "code", "tail", fill_tail_scale_codes},
    {"format.ue4m3", "x", "tail", fill_tail},
    {"math.*", "x", "tail", fill_tail},
    {"quant.q8_0", "x", "tail", fill_tail_small},
    {"quant.nvfp4", "global_scale", "tail", fill_tail_scales},
    {"quant.*", "x", "tail", fill_tail},
    {"quant.requant", "offset", "tail", fill_tail_offsets},
    {"quant.mxfp4_to_nvfp4", "scale", "tail", fill_tail_exponents},
    {"dequant.group", "q", "tail", fill_counting},
    {"dequant.*", "scale", "tail", fill_tail},
    {"gemm.q8_0", "w_scale", "tail", fill_tail_faint},
    {"gemm.q8_0", "?_scale", "tail", fill_tail},
    {"moe.finalize", "x", "tail", fill_tail},
    {"moe.gemm1", "x", "tail", fill_tail},
    {"moe.gemm1", "w13_scale", "tail", fill_scale_ordinary},
    {NULL, NULL, NULL, NULL},
};

#define ROWS "rows=4,cols=64,data=void"
#define FEW "67|71|75"
#define SHORT "rows=47,"
#define MANY "rows=4099,"
#define LONG "1331|1335|1339|1343|1347|1351|1355|1359"
#define WIDE "rows=8,cols=800"
#define TAIL "data=tail"
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
    /* short vectors, short last tiles of rows */
    {2, 0, "act.unary:fn=*,to=*,n=" FEW "," TAIL},
    {2, 0, "act.glu:dialect=*,from=*,to=f32|bf16,rows=31,cols=35," TAIL},
    {2, 0, "act.glu_quant:dialect=*,from=*,group=32," SHORT "cols=96," TAIL},
    {2, 0,
     "format.decode:format=e4m3fn|e4m3fnuz|e5m2|e5m2fnuz,to=*,n=" FEW "," TAIL},
    {2, 0, "format.encode:format=*,from=*,n=" FEW "," TAIL},
    {2, 0, "format.convert:from=*,to=bf16|f16,n=" FEW "," TAIL},
    {2, 0, "format.convert:from=f64,to=f32,n=" FEW "," TAIL},
    {2, 0, "math.lg2:ftz=*,n=" FEW "," TAIL},
    {2, 0, "math.rcp:mode=*,n=" FEW "," TAIL},
    {2, 0, "quant.mx:rule=*,element=e2m1|e4m3fn," SHORT "cols=288," TAIL},
    {2, 0,
     "quant.group:rule=*,element=*,group_cols=32," SHORT "cols=288," TAIL},
    {2, 0, "quant.group:from=*,pow2=*,group_cols=32," SHORT "cols=299," TAIL},
    {2, 0,
     "quant.group:rule=aiter_token,element=*,group_cols=0," SHORT
     "cols=299," TAIL},
    {2, 0, "quant.nvfp4:from=*,math=*," SHORT "cols=272," TAIL},
    {2, 0, "quant.nvfp4:scale=e8m0," SHORT "cols=288," TAIL},
    {2, 0, "quant.nvfp4:from=*,math=*,rcp=*,gscales=47," SHORT "cols=64," TAIL},
    {2, 0, "quant.nvfp4:from=*,math=*,gscales=51,rows=51,cols=64," TAIL},
    {2, 0, "quant.nvfp4:math=*,inverted=*,gscales=55,rows=55,cols=64," TAIL},
    {2, 0, "quant.engine:rule=*," SHORT "cols=288," TAIL},
    {2, 0, "quant.engine:rule=*,from=bf16|f16," SHORT "cols=96," TAIL},
    {2, 0, "quant.engine:rule=*,element=e4m3fn," SHORT "cols=288," TAIL},
    {2, 0, "quant.nvfp4_engine:rule=*,from=*," SHORT "cols=192," TAIL},
    {2, 0,
     "quant.static:element=*,from=*,apply=*,nan=*," SHORT "cols=67," TAIL},
    {2, 0, "quant.scaled:from=*,scale=*," SHORT "cols=288," TAIL},
    {2, 0, "quant.qdq:rule=*,from=*," SHORT "cols=288," TAIL},
    {2, 0, "quant.q8_0:" SHORT "cols=288," TAIL},
    {2, 0, "dequant.mx:element=*,to=*," SHORT "cols=1184," TAIL},
    {2, 0, "dequant.group:element=*,to=*,group_cols=2," SHORT "cols=74," TAIL},
    {2, 0, "dequant.nvfp4:to=*," SHORT "cols=592," TAIL},
    {2, 0, "dequant.nvfp4_engine:rule=*,to=*," SHORT "cols=704," TAIL},
    {2, 0, "gemm.q8_0:order=*,weights=*,rows=47,k=704,cols=47," TAIL},
    {2, 0,
     "moe.finalize:sum=*,from=*,to=*,tokens=15,slots=9,rows=143,cols=19," TAIL},
    {2, 0, "moe.finalize:weight=*,tokens=47,slots=9,rows=431,cols=19," TAIL},
    /* beyond a second tile, and every special value at the end */
    {2, GRID_PAIRS,
     "format.decode:format=e4m3fn|e4m3fnuz|e5m2|e5m2fnuz,to=*,n=" LONG
     "," TAIL},
    {2, GRID_PAIRS, "format.encode:format=*,from=*,n=" LONG "," TAIL},
    {2, GRID_PAIRS, "format.convert:from=*,to=bf16|f16,tie=*,n=" LONG "," TAIL},
    {2, 0, "format.classify:format=e4m3fn|e5m2,n=" LONG "," TAIL},
    {2, GRID_PAIRS, "format.classify:format=*,n=" FEW "|" LONG "," TAIL},
    {2, GRID_PAIRS, "format.e8m0_decode:rule=*,to=*,n=" LONG "," TAIL},
    {2, GRID_PAIRS, "format.e8m0_encode:rule=*,from=*,sat=*,n=" LONG "," TAIL},
    {2, 0, "format.ue4m3:dir=*,n=" LONG "," TAIL},
    {2, 0, "math.lg2:ftz=*,n=" LONG "," TAIL},
    {2, GRID_PAIRS, "math.rcp:mode=*,n=" LONG "," TAIL},
    {2, 0, "quant.q8_0:rows=68|132,cols=96," TAIL},
    {2, 0, "quant.q8_0:" WIDE "," TAIL},
    {2, 0, "quant.engine:rule=*," WIDE "," TAIL},
    {2, GRID_PAIRS,
     "quant.engine:rule=*,from=*,element=*,rows=68,cols=96," TAIL},
    {2, 0,
     "quant.nvfp4_engine:rule=ggml|ggml_cuda|mlx|mlx_global,from=*,rows=8,"
     "cols=832," TAIL},
    {2, 0, "quant.nvfp4:from=*,math=*,rows=68,cols=96," TAIL},
    {2, 0, "quant.nvfp4:from=*," WIDE "," TAIL},
    {2, 0, "quant.scaled:from=*,scale=*," WIDE "," TAIL},
    {2, 0, "quant.scaled:from=*,scale=*,rows=68,cols=96," TAIL},
    {2, GRID_PAIRS,
     "quant.static:element=*,from=*,apply=*,nan=*,rows=8,cols=867," TAIL},
    {2, 0, "quant.requant:container=*,rows=36,cols=608," TAIL},
    {2, 0, "quant.mxfp4_to_nvfp4:k_max=127|0|-100,rows=38,cols=608," TAIL},
    {2, 0, "quant.mxfp4_to_nvfp4:k_max=127,rows=9,cols=8480," TAIL},
    {2, 0,
     "dequant.group:element=e2m1,to=*,group_cols=2,rows=68,cols=290," TAIL},
    {2, 0, "act.glu_quant:dialect=*,from=*,group=32,rows=68,cols=96," TAIL},
    {2, 0, "act.glu_quant:dialect=*,from=*,group=32,rows=8,cols=544," TAIL},
    {2, 0, "gemm.q8_0:order=*,weights=*,rows=9,k=1280,cols=132," TAIL},
    {2, 0, "gemm.q8_0:weights=*,rows=68,k=64,cols=17," TAIL},
    {2, GRID_PAIRS,
     "moe.finalize:sum=*,from=*,to=*,weight=f32|bf16|f16,tokens=68,slots=5,"
     "rows=1100,cols=43," TAIL},
    /* and in large calls, at sizes that take another way */
    {2, 0, "act.unary:fn=*,n=4103|16391," TAIL},
    {2, 0, "act.unary:to=f32|bf16,n=65543," TAIL},
    {2, 0, "act.unary:fn=exp,to=bf16,n=262151," TAIL},
    {2, 0, "act.glu:dialect=exact|triton|trtllm,rows=1027,cols=64," TAIL},
    {2, 0,
     "act.glu_quant:dialect=vllm_packed|vllm_colmajor,group=32,rows=1027,cols="
     "64," TAIL},
    {2, 0, "format.convert:from=*,to=bf16|f16,n=65543|262151," TAIL},
    {2, 0, "quant.mx:element=e2m1|e4m3fn," MANY "cols=64," TAIL},
    {2, 0, "quant.group:rule=*,group_cols=32,rows=1027,cols=64," TAIL},
    {2, 0, "quant.group:group_cols=32," MANY "cols=64," TAIL},
    {2, 0, "quant.nvfp4:from=*," MANY "cols=64," TAIL},
    {2, 0, "quant.nvfp4:math=fast|vllm,gscales=4099," MANY "cols=64," TAIL},
    {2, 0, "quant.engine:rule=*,rows=259,cols=64," TAIL},
    {2, 0, "quant.engine:rule=torchao_even," MANY "cols=64," TAIL},
    {2, 0, "quant.nvfp4_engine:rule=*,rows=259,cols=64," TAIL},
    {2, 0, "quant.nvfp4_engine:rule=modelopt," MANY "cols=64," TAIL},
    {2, 0, "quant.static:element=*,apply=*," MANY "cols=64," TAIL},
    {2, 0, "quant.qdq:rule=*,from=*," MANY "cols=64," TAIL},
    {2, 0, "quant.scaled:scale=*," MANY "cols=64," TAIL},
    {2, 0, "dequant.group:to=*,group_cols=2," MANY "cols=128," TAIL},
    {2, 0, "dequant.mx:to=*," MANY "cols=2048," TAIL},
    {2, 0, "moe.gemm1:tokens=4099,topk=1,hidden=64,experts=2,inter=4," TAIL},
    {2, 0,
     "moe.nvfp4_gemm2:tokens=4099,topk=1,inter=64,experts=2,hidden=64," TAIL},
    /* pairs that are nowhere behind a first tile, in every order of a sum */
    {2, GRID_PAIRS,
     "moe.finalize:sum=*,source=*,absent=*,map=1,from=f32,to=f32,experts=300,"
     "rows=340,tokens=68,slots=5,cols=43,data=steps|ends"},
    {2, 0, "moe.sort:layout=*,num_experts=300,tokens=20,top_k=20,data=holes"},
    {2, 0,
     "moe.sort:layout=*,local=map|mask,num_experts=600,experts=600,tokens=68,"
     "top_k=5,data=distinct"},
    {0, 0, NULL},
};

const case_family cases_nan_rows = {"nan_rows", fills, grid};
