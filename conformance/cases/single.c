/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of one token or two, which kernels do by ways of their own: a block
 * may have some rows of each of the tokens' experts, of some for both tokens at
 * once, codes may be widened under another exponent and activations lifted to
 * make that good.  And extents of one, or of nothing: of no K the bias is left.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>

/* Integers -4 .. 4 but 0, times a power of two. */
static void fill_times(host_tensor *t, prng *rng, int power)
{
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const double size = (double)(prng_below(rng, 4) + 1);
        fill_put(t, i, ldexp(prng_below(rng, 2) != 0 ? -size : size, power));
    }
}

/* All far below what their layer's weights are. */
static void fill_faint(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    fill_times(t, rng, -113);
}

/* All far above. */
static void fill_vast(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    fill_times(t, rng, 57);
}

/* One scale everywhere, 1/8. */
static void fill_eighth(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 124);
    }
}

/* Some rows have the least scale, and some a NaN among others. */
static void fill_ends(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_index_coded(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / blocks;

        if (row % 5 == 1) {
            tensor_store(t, i, 0);
        } else if (row % 11 == 3 && i % blocks == row % blocks) {
            tensor_store(t, i, 0xff);
        }
    }
}

static const fill_row fills[] = {
    {"moe.layer", "x", "faint", fill_faint},
    {"moe.layer", "x", "vast", fill_vast},
    {"moe.layer", "w13_scale", "faint", fill_eighth},
    {"moe.layer", "w13_scale", "vast", fill_eighth},
    {"moe.layer", "w2", "faint", fill_one_live},
    {"moe.layer", "w2", "vast", fill_one_live},
    {"moe.layer", "w2_scale", "faint", fill_index_coded},
    {"moe.layer", "w2_scale", "vast", fill_ends},
    {NULL, NULL, NULL, NULL},
};

/* Profiles with a bias in front of the activation, and those without. */
#define OAI                                                               \
    "exact|MARLIN|BATCHED_MARLIN|BATCHED_MARLIN/naive|TRITON|TRITON/3.5"  \
    "|TRITON/split_k|TRITON_UNFUSED|CPU|EMULATION|EMULATION/triton"       \
    "|HUMMING|HUMMING/native|FLASHINFER_TRTLLM_MXFP4_MXFP8"               \
    "|FLASHINFER_TRTLLM_MXFP4_BF16|FLASHINFER_CUTLASS_MXFP4_MXFP8"        \
    "|FLASHINFER_CUTLASS_MXFP4_MXFP8/fused|FLASHINFER_CUTLASS_MXFP4_BF16" \
    "|AITER_MXFP4_BF16|AITER_MXFP4_BF16/split2|AITER_TRITON_MXFP4_BF16"
#define SPLIT "HUMMING/streamk,splits=3"
#define GIVEN "AITER_MXFP4_FP8,input_scale=given"
#define SILU "CK|XPU|XPU/clamp"
#define OAI_BARE "AITER_MXFP4_MXFP4/flydsl|B12X_MXFP4_BF16"
#define SILU_BARE "DEEPGEMM_MXFP4|AITER_MXFP4_MXFP4"
#define HALVES ",activation=silu,rows=halves"
#define BARE_UNLIMITED "B12X_MXFP4_MXFP8" HALVES ",limit=none"
#define EACH(op, extents)                            \
    {2, 0, op ":profile=" OAI "," extents},          \
        {2, 0, op ":profile=" SPLIT "," extents},    \
        {2, 0, op ":profile=" GIVEN "," extents},    \
    {                                                \
        2, 0, op ":profile=" SILU HALVES "," extents \
    }
#define EACH_BARE(op, extents)                               \
    {2, 0, op ":profile=" OAI_BARE "," extents},             \
        {2, 0, op ":profile=" SILU_BARE HALVES "," extents}, \
    {                                                        \
        2, 0, op ":profile=" BARE_UNLIMITED "," extents      \
    }
#define EACH_SECOND(extents)                                      \
    {2, 0,                                                        \
     "moe.gemm2:profile=" OAI "|" SILU "|" OAI_BARE "|" SILU_BARE \
     "|B12X_MXFP4_MXFP8," extents},                               \
        {2, 0, "moe.gemm2:profile=" SPLIT "," extents},           \
    {                                                             \
        2, 0, "moe.gemm2:profile=" GIVEN "," extents              \
    }
#define FEW "tokens=3,topk=2,experts=3,"
#define BIASED ",bias=bf16,data=ordinary"

static const grid_row grid[] = {
    /* of no K */
    {2, 0,
     "gemm.mx:acc=exact|f32|tc25|tc13|seq,bias=sum|to,to=f32|bf16,rows=3,"
     "k=0,cols=9,data=ordinary"},
    {2, 0,
     "gemm.mx:acc=pairwise|split|block|dpbf16|amx,bias=f32|to,to=f32|bf16,"
     "rows=3,k=0,cols=9,data=ordinary"},
    {2, 0, "gemm.mx:acc=wgmma,bias=sum|to,rows=3,k=0,cols=9,data=ordinary"},
    {2, 0,
     "gemm.mx:from=e4m3fn|e2m1,a_scale=mx,sums=1,bias=sum,rows=3,k=0,cols=9,"
     "data=ordinary"},
    EACH("moe.gemm1", FEW "hidden=0,inter=8" BIASED),
    EACH("moe.layer", FEW "hidden=32,inter=0" BIASED),
    EACH_SECOND(FEW "inter=0,hidden=8" BIASED),
    {2, 0,
     "moe.gemm1:stage=gemm,profile=exact|TRITON,map=1,global=5," FEW
     "hidden=0,inter=8" BIASED},
    /* of one column */
    EACH("moe.gemm1", FEW "hidden=32,inter=1" BIASED),
    EACH_BARE("moe.gemm1", FEW "hidden=32,inter=1,data=ordinary"),
    EACH_SECOND(FEW "inter=32,hidden=1" BIASED),
    {2, 0,
     "moe.layer_routed:profile=exact|TRITON,tokens=3,top_k=2,experts=3,"
     "hidden=32,inter=0" BIASED},
    {2, 0, /* of one expert */
     "moe.layer_routed:profile=exact|TRITON,tokens=3,top_k=1,experts=1,"
     "hidden=32,inter=32" BIASED},
    {2, 0,
     "moe.nvfp4_layer:profile=FLASHINFER_TRTLLM_NVFP4"
     "|FLASHINFER_CUTLASS_NVFP4,tokens=3,topk=1,experts=1,hidden=32,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:profile=MARLIN|TRITON|TRITON_UNFUSED,tokens=1,topk=1|3|8,"
     "experts=9,hidden=288,inter=160,bias=f32,data=orderfree|ordinary"},
    {2, 0, /* gates apart from ups, and experts elsewhere */
     "moe.layer:profile=TRITON,rows=halves,tokens=1,topk=2|4,experts=9,"
     "hidden=160,inter=288,bias=bf16,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:profile=MARLIN|TRITON,map=1,global=12,tokens=1,topk=4|6,"
     "experts=5,hidden=160,inter=288,bias=bf16,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:profile=exact|MARLIN|TRITON,tokens=1|2,topk=2,experts=4,"
     "hidden=160,inter=96,data=faint|vast"},
    {2, 0, /* codes in another order */
     "moe.layer:conversion=mxo_hopper,profile=MARLIN|TRITON,tokens=1|3,"
     "topk=1|3,experts=9,hidden=288,inter=160,bias=bf16,"
     "data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:conversion=mxo_hopper|mxo_hopper_gate_up,rows=halves,"
     "profile=TRITON,tokens=1,topk=4,experts=9,hidden=160,inter=288,bias=bf16,"
     "data=orderfree"},
    {2, 0, /* two tokens, whose experts are the same, some, or few */
     "moe.layer:profile=MARLIN|TRITON|TRITON_UNFUSED,tokens=2,topk=3|8,"
     "experts=10|33,hidden=160,inter=96,bias=f32,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:profile=TRITON,rows=halves,tokens=2,topk=4|8,experts=9,"
     "hidden=160,inter=96,bias=bf16,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:profile=MARLIN|TRITON,map=1,global=20,tokens=2,topk=6|8,"
     "experts=9,hidden=160,inter=96,bias=bf16,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:conversion=mxo_hopper,profile=MARLIN|TRITON,tokens=2,"
     "topk=3|8,experts=10,hidden=160,inter=96,bias=bf16,"
     "data=orderfree|ordinary"},
    {2, 0, /* and where there are many blocks */
     "moe.layer:profile=TRITON,rows=interleaved|halves,tokens=1|2,topk=2,"
     "experts=3,hidden=2144,inter=1088,bias=f32,data=orderfree|faint"},
    {2, 0,
     "moe.layer:profile=TRITON,tokens=2,topk=8,experts=14,hidden=2144,"
     "inter=1088,bias=f32,data=orderfree"},
    {0, 0, NULL},
};

const case_family cases_single = {"single", fills, grid};
