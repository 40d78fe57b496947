/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legal values that no ordinary call has, beside types, orders, dialects and
 * profiles: data=ends.  Constants of experts that are zero, negative or
 * infinite, pairs that are nowhere, scale bytes of 0 and 254 whose products are
 * numbers again.  And what data=rare shows, where only some of them met it.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* One of four bit patterns after the other. */
static void put_turns(host_tensor *t, const uint32_t bits[4])
{
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, bits[i % 4]);
    }
}

/* None, close to zero, zero, two. */
static void fill_end_limits(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0x7f800000, 0x3e99999a, 0, 0x40000000};

    (void)c;
    (void)rng;
    put_turns(t, bits);
}

/* Negative, zero, close to zero, ordinary. */
static void fill_end_alphas(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0xbfd9999a, 0, 0x3a83126f, 0x3fd9db23};

    (void)c;
    (void)rng;
    put_turns(t, bits);
}

static void fill_end_betas(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0xbf800000, 0x3dcccccd, 0, 0x41200001};

    (void)c;
    (void)rng;
    put_turns(t, bits);
}

/* The second token is nowhere, of every third one choice. */
static void fill_end_ids(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t topk = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_distinct_ids(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / topk;
        if (row == 1 || (row % 3 == 2 && i % topk == row % topk)) {
            tensor_store(t, i, ABSENT);
        }
    }
}

/* The first half of the experts is here; a mask has any number there. */
static void fill_first_half(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const int is_mask = strcmp(case_value(c, "local"), "mask") == 0;

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t here = is_mask ? i + 1 : i;
        tensor_store(t, i, i < (n + 1) / 2 ? here : is_mask ? 0 : ABSENT);
    }
}

/* Is the pair of a combination nowhere?  The second of even tokens. */
static int is_nowhere(const host_tensor *t, uint64_t i)
{
    const uint64_t slots = t->shape[t->rank - 1];

    return i / slots % 2 == 0 && i % slots == (slots > 1);
}

static void fill_end_index(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t rows = case_count(c, "rows", 1);
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, is_nowhere(t, i) ? ABSENT : i % rows);
    }
}

/* Even experts are elsewhere: see dispatch.c's map. */
static void fill_end_pairs(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t experts = case_dim(c, "experts");
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t half = i % (experts / 2 == 0 ? 1 : experts / 2);
        tensor_store(t, i, 2 * half + !is_nowhere(t, i));
    }
}

/* NaN where a pair is nowhere. */
static void fill_end_weights(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    fill_positive(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (is_nowhere(t, i)) {
            tensor_store(t, i, dtype_nan(t->dtype));
        }
    }
}

/* Scale byte of a block of k of the weights. */
static uint64_t end_byte(uint64_t block)
{
    static const uint8_t bytes[] = {0, 127, 254, 1, 253};

    return bytes[block % 5];
}

/* That of the activations brings products back where they can be added. */
static void fill_end_blocks(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[t->rank - 1];
    const int is_weight = t->name[0] == 'w';
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t byte = end_byte(i % blocks);
        tensor_store(t, i, is_weight ? byte : 254 - byte);
    }
}

/* Numbers from 2 to 4 below 2^127, and what brings blocks back, unless they
   have scales of their own. */
static void fill_end_operand(const test_case *c, host_tensor *t, prng *rng)
{
    const int has_scale = strcmp(case_value(c, "a_scale"), "none") != 0;
    const uint64_t k = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    if (t->dtype == MXO_U8) {
        fill_random(c, t, rng);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        const int down = has_scale ? 0 : (int)end_byte(i % k / 32) - 127;
        const double x = 2 + (double)prng_below(rng, 4) / 2;
        fill_put(t, i,
                 ldexp(prng_below(rng, 2) != 0 ? -x : x,
                       down == -127 ? 125 : -down));
    }
}

/* Every pattern of 16 bits that is an end: infinite, NaN, zeros, the least and
   the largest number; of four rows three are ordinary. */
static void fill_end_halves(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint16_t bits[] = {0x7c00, 0x7e00, 0,      0x8000,
                                    0x0001, 0x7bff, 0x83ff, 0xfc00};
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_positive(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (i / cols % 4 == 1) {
            tensor_store(t, i, bits[(i / cols / 4 + i) % 8]);
        }
    }
}

/* Scale bytes: ends in every second row, one among others. */
static void fill_end_bytes(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint8_t e8m0[] = {0, 1, 2, 127, 253, 254, 255, 128};
    static const uint8_t e4m3[] = {0x00, 0x01, 0x07, 0x08,
                                   0x7e, 0x7f, 0x80, 0xfe};
    const uint8_t *bytes = t->dtype == MXO_E8M0 ? e8m0 : e4m3;
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_scale_typical(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / cols;
        if (t->dtype != MXO_E8M0) {
            tensor_store(t, i, 0x20 + prng_below(rng, 40));
        }
        if (row % 2 == 1 && i % cols == row / 2 % cols) {
            tensor_store(t, i, bytes[row / 2 % 8]);
        }
    }
}

/* Of row r: a number of eight bits. */
static double part_of(uint64_t row)
{
    return 1 + (double)(row % 128) / 128;
}

/* 5/4 divided by that number. */
static void fill_reciprocals(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, 1.25 / part_of(i));
    }
}

/* Blocks' scales are 1 and 2, as their first elements say; the products of
   others with the row's global scale are the ties 5/4, 5/2 and 5, or next to
   them. */
static void fill_their_ties(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double size =
            i % 16 == 0 ? 4.8 : ldexp(1, (int)prng_below(rng, 3));
        const double x = size * part_of(i / cols) * (double)(1 + i / 16 % 2);

        fill_put(t, i, prng_below(rng, 2) != 0 ? -x : x);
    }
}

/* Scale bytes of a row: ends, whose products are ordinary numbers. */
static void fill_step_scales(const test_case *c, host_tensor *t, prng *rng,
                             const uint8_t bytes[4])
{
    const uint64_t per_row = t->shape[t->rank - 1];
    const uint64_t n = t->dtype == MXO_E8M0 ? tensor_elems(t) : 0;

    fill_scale_ordinary(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, bytes[i / per_row % 4]);
    }
}

static void fill_step_scales_a(const test_case *c, host_tensor *t, prng *rng)
{
    fill_step_scales(c, t, rng, (uint8_t[4]){0, 254, 1, 253});
}

static void fill_step_scales_b(const test_case *c, host_tensor *t, prng *rng)
{
    fill_step_scales(c, t, rng, (uint8_t[4]){254, 0, 252, 3});
}

/* The last row of each eight is a sum of nothing: zeros, to one below zero. */
static void fill_step_rows(const test_case *c, host_tensor *t, prng *rng,
                           uint64_t zero)
{
    const uint64_t per_row = t->rank > 1 ? t->shape[t->rank - 1] : 1;
    const uint64_t n = tensor_elems(t);

    (t->dtype == MXO_U8 ? fill_random : fill_ordinary)(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (i / per_row % 8 == 7) {
            tensor_store(t, i, zero);
        }
    }
}

/* Of bf16, two rows of each eight: a sum just below 2^128; a product of 2^128,
   which another makes less. */
static void fill_step_brim(const test_case *c, host_tensor *t, prng *rng,
                           const double brim[8])
{
    const uint64_t per_row = t->shape[t->rank - 1];
    const uint64_t n = t->dtype == MXO_BF16 ? tensor_elems(t) : 0;

    fill_step_rows(c, t, rng, 0);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / per_row % 8;
        const uint64_t k = i % per_row;
        if (row == 5 || row == 6) {
            fill_put(t, i, k < 4 ? brim[4 * (row - 5) + k] : 0);
        }
    }
}

static void fill_step_a(const test_case *c, host_tensor *t, prng *rng)
{
    fill_step_brim(
        c, t, rng,
        (double[8]){0x1p64, 0x1p56, 0x1p48, 0x1p40, 0x1p64, -0x1p63});
}

static void fill_step_b(const test_case *c, host_tensor *t, prng *rng)
{
    fill_step_brim(c, t, rng,
                   (double[8]){0x1.fep63, 0x1.fep63, 0x1.fep63, 0x1.fep63,
                               0x1p64, 0x1p64});
}

static void fill_step_sums(const test_case *c, host_tensor *t, prng *rng)
{
    fill_step_rows(c, t, rng, UINT64_C(1) << (8 * dtype_bytes(t->dtype) - 1));
}

static const fill_row fills[] = {
    {"act.glu", "limit", "ends", fill_end_limits},
    {"act.glu", "alpha", "ends", fill_end_alphas},
    {"act.glu", "beta", "ends", fill_end_betas},
    {"moe.[gln]*", "topk_ids", "ends", fill_end_ids},
    {"moe.*", "gemm1_clamp_limit", "ends", fill_end_limits},
    {"moe.*", "gemm1_alpha", "ends", fill_end_alphas},
    {"moe.*", "gemm1_beta", "ends", fill_end_betas},
    {"moe.gemm1", "x", "ends", fill_ordinary},
    {"moe.gemm2", "act", "ends", fill_ordinary},
    {"moe.layer", "x", "ends", fill_ordinary},
    {"moe.[gl][ea]*", "w*_scale", "ends", fill_scale_ordinary},
    {"act.glu", "x", "ends", fill_ordinary},
    {"moe.finalize", "index", "ends", fill_end_index},
    {"moe.finalize", "topk_ids", "ends", fill_end_pairs},
    {"moe.finalize", "topk_weights", "ends", fill_end_weights},
    {"moe.finalize", "x", "ends", fill_ordinary},
    {"moe.sort", "expert_map", "ends", fill_first_half},
    {"gemm.mx", "?_scale", "ends", fill_end_blocks},
    {"gemm.mx", "a", "ends", fill_end_operand},
    {"gemm.mx", "w", "ends", fill_random},
    {"gemm.mx", "bias", "ends", fill_ordinary},
    {"gemm.q8_0", "a_scale", "ends", fill_end_halves},
    {"gemm.q8_0", "w_scale", "ends", fill_end_bytes},
    {"gemm.q8_0", "*", "ends", fill_random},
    {"mma.*", "a_scale", "ends", fill_step_scales_a},
    {"mma.*", "b_scale", "ends", fill_step_scales_b},
    {"mma.*", "c", "ends", fill_step_sums},
    {"mma.*", "a", "ends", fill_step_a},
    {"mma.*", "b", "ends", fill_step_b},
    {"dequant.nvfp4_engine", "scale", "ends", fill_end_bytes},
    {"quant.nvfp4", "x", "ends", fill_their_ties},
    {"quant.nvfp4", "global_scale", "ends", fill_reciprocals},
    {NULL, NULL, NULL, NULL},
};

/* As crossed.c has them. */
#define PROFILES                                                             \
    "exact|MARLIN|BATCHED_MARLIN|TRITON|TRITON_UNFUSED|CPU|EMULATION"        \
    "|HUMMING|FLASHINFER_TRTLLM_MXFP4_MXFP8|FLASHINFER_TRTLLM_MXFP4_BF16"    \
    "|FLASHINFER_CUTLASS_MXFP4_MXFP8|FLASHINFER_CUTLASS_MXFP4_BF16"          \
    "|AITER_MXFP4_BF16|AITER_MXFP4_MXFP4/flydsl|AITER_TRITON_MXFP4_BF16"     \
    "|B12X_MXFP4_BF16|TRITON/3.5|HUMMING/native|EMULATION/triton"            \
    "|FLASHINFER_CUTLASS_MXFP4_MXFP8/fused|DEEPGEMM_MXFP4|AITER_MXFP4_MXFP4" \
    "|CK|XPU|B12X_MXFP4_MXFP8|DEEPGEMM_MXFP4/unfused"                        \
    "|AITER_MXFP4_MXFP4/roundup|XPU/clamp"
#define ROUTERS                                                          \
    "softmax_topk|topk_softmax|sigmoid_topk|trtllm_default"              \
    "|trtllm_renormalize|trtllm_deepseek_v3|trtllm_renormalize_naive"    \
    "|trtllm_topk|trtllm_sigmoid_renorm|trtllm_minimax2|trtllm_sigmoid"  \
    "|trtllm_topk_sigmoid|vllm_softmax|vllm_sigmoid|vllm_fused_scores"   \
    "|vllm_fused_sigmoid|vllm_torch_softmax|vllm_torch_sigmoid|vllm_cpu" \
    "|triton35_topk_softmax|triton35_softmax_topk|triton37_topk_softmax" \
    "|triton37_softmax_topk"

static const grid_row grid[] = {
    {2, 0, /* a column whose weights are zero is its bias alone */
     "gemm.mx:acc=exact|f32|tc25|tc13|seq|pairwise|split|block|dpbf16|amx,"
     "bias=sum|f32|to,bias_type=*,to=*,rows=3,k=64,cols=5,"
     "data=rare"},
    {2, 0, "gemm.mx:acc=f32|tc25|tc13,rows=7,k=544|1056,cols=5,data=rare"},
    {2, 0,
     "gemm.mx:from=bf16|f32,acc=exact|f32|tc25|tc13|block|seq,to=f32|bf16,"
     "rows=5,k=160,cols=9,data=ends"},
    {2, 0,
     "gemm.mx:from=bf16|e4m3fn|e2m1,a_scale=mx,acc=exact|f32|tc25|tc13|block,"
     "to=f32|bf16,rows=5,k=160,cols=9,data=ends"},
    {2, 0, "gemm.q8_0:order=*,rows=9|33,k=96,cols=81|129,data=ends"},
    {2, 0, "gemm.q8_0:weights=nvfp4,rows=9|33,k=64,cols=81|129,data=ends"},
    {2, 0,
     "mma.step:unit=blackwell_mx,type=e4m3fn|e5m2|e2m1,scale=e8m0,rows=32,"
     "k=64,data=ends"},
    {2, 0,
     "mma.step:unit=blackwell_fp4,type=e2m1,scale=e8m0|ue4m3,rows=32,k=64,"
     "data=ends"},
    {2, 0,
     "mma.step:unit=hopper_wgmma|ampere|blackwell|cdna1|cdna2|cdna3,"
     "type=f16|bf16,rows=32,k=32,data=ends"},
    {2, 0,
     "quant.nvfp4:from=bf16|f16,math=fast|ieee|vllm|exact,rcp=*,"
     "gscales=128,rows=128,cols=32,data=ends"},
    {2, GRID_PAIRS,
     "quant.nvfp4:math=fast|vllm,rcp=*,sf_layout=*,gscales=128,"
     "rows=128,cols=32,data=ends"},
    {2, GRID_PAIRS, "quant.mx:rule=*,axis=0,rows=65,cols=5,data=ordinary"},
    {2, 0,
     "quant.group:scale=f32|packed,pow2=1,group_rows=1,group_cols=128,"
     "rows=257,cols=384,data=ordinary"},
    {2, 0, "dequant.nvfp4:rows=257,cols=48,data=ordinary"},
    {2, 0, "dequant.group:rows=257,cols=128,data=ordinary"},
    {2, 0, "dequant.nvfp4_engine:rule=*,to=*,rows=17|257,cols=64,data=ends"},
    {2, 0,
     "dequant.nvfp4_engine:rule=mlx_global|compressed_tensors|modelopt,"
     "to=*,rows=1|2|3|4|5|6,cols=16,data=rare"},
    {2, 0, "act.glu_quant:dialect=*,group=32,rows=257,cols=64,data=ordinary"},
    {2, 0, "act.glu:dialect=*,limit=0|-1,rows=3,cols=9,data=ordinary"},
    {2, 0,
     "act.glu:dialect=exact|trtllm|triton|vllm_swigluoai,"
     "per_expert=limit|all,experts=5,rows=9,cols=17,data=ends"},
    {2, 0,
     "route.topk:dialect=" ROUTERS
     ",from=*,experts=72|130,top_k=4,tokens=8,data=rare"},
    {2, 0,
     "route.topk:dialect=vllm_softplus_sqrt,from=*,experts=192|320|576,"
     "top_k=4,tokens=8,data=rare"},
    {2, 0,
     "route.topk:dialect=trtllm_llama4,from=*,experts=72|100,top_k=1,"
     "tokens=8,data=rare"},
    {2, 0,
     "moe.sort:layout=*,local=range,local_expert_offset=0,"
     "local_num_experts=5,num_experts=9,tokens=17,top_k=3,"
     "data=distinct"},
    {2, 0,
     "moe.sort:layout=*,local=map|mask,num_experts=9,experts=9,"
     "tokens=17,top_k=3,data=ends"},
    {2, GRID_PAIRS,
     "moe.finalize:sum=*,weight=f32|bf16|f16,source=*,absent=*,map=1,from=*,"
     "to=*,experts=6,rows=12,tokens=4,slots=1|3,cols=17,data=ends"},
    {2, GRID_PAIRS,
     "moe.finalize:sum=*,weight=f32|bf16|f16,absent=*,from=*,"
     "to=*,rows=12,tokens=4,slots=1|3,cols=17,data=ends"},
    {2, GRID_PAIRS,
     "moe.gemm1:profile=" PROFILES
     ",activation=*,per_expert=none|all|limit,tokens=5,topk=3,experts=5,"
     "hidden=32,inter=32,data=ends"},
    {2, GRID_PAIRS,
     "moe.gemm2:profile=" PROFILES
     ",tokens=5,topk=3,experts=5,inter=32,hidden=32,data=ends"},
    {2, GRID_PAIRS,
     "moe.layer:profile=" PROFILES
     ",activation=*,per_expert=none|all,tokens=5,topk=3,experts=5,"
     "hidden=32,inter=32,data=ends"},
    {2, 0,
     "moe.nvfp4_layer:profile=*,tokens=7,topk=3,experts=5,hidden=64,"
     "inter=32,data=ends"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,stage=*,tokens=7,topk=3,experts=5,"
     "hidden=64,inter=32,data=ends"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,stage=*,tokens=7,topk=3,experts=5,"
     "inter=64,hidden=32,data=ends"},
    {2, GRID_PAIRS, /* biases and types of each profile */
     "moe.gemm1:profile=" PROFILES
     ",activation=*,rows=*,from=bf16|f16|f32,bias=*,stage=*,tokens=5,topk=2,"
     "experts=5,hidden=32,inter=32,data=rare"},
    {2, GRID_PAIRS,
     "moe.gemm2:profile=" PROFILES
     ",from=bf16|f16|f32,bias=*,stage=*,tokens=5,topk=2,experts=5,inter=32,"
     "hidden=32,data=rare"},
    {2, GRID_PAIRS,
     "moe.layer:profile=" PROFILES
     ",activation=*,rows=*,from=bf16|f16,bias=*,tokens=5,topk=2,experts=5,"
     "hidden=32,inter=32,data=rare"},
    {2, GRID_PAIRS, /* more than a tile of rows for one expert */
     "moe.gemm1:profile=" PROFILES
     ",activation=*,tokens=130,topk=1,experts=3,hidden=32,inter=8,data=crowd"},
    {2, GRID_PAIRS,
     "moe.gemm2:profile=" PROFILES
     ",tokens=130,topk=1,experts=3,inter=32,hidden=16,data=crowd"},
    {2, GRID_PAIRS,
     "moe.gemm2:profile=" PROFILES
     ",ids=repeated,tokens=5,topk=3,experts=3,inter=32,hidden=32,"
     "data=orderfree"},
    {2, 0, /* global numbers beyond a byte */
     "moe.gemm1:map=1,tokens=40,topk=8,global=600,experts=300,hidden=32,"
     "inter=8,data=orderfree"},
    {2, 0,
     "moe.gemm2:map=1,tokens=40,topk=8,global=600,experts=300,inter=32,"
     "hidden=32,data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:map=1,tokens=40,topk=8,global=600,experts=300,"
     "hidden=32,inter=16,data=orderfree"},
    {0, 0, NULL},
};

const case_family cases_ends = {"ends", fills, grid};
