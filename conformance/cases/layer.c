/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole MoE layers and their halves.
 *
 * data=orderfree is exact in binary32 in any order of summation, so that
 * equality is the verdict: hidden states are small integers under scales of
 * four neighbouring powers of two, coded by position; every row of w2 has one
 * live column, and over an expert's rows, in as many stretches as that takes
 * (fill_stretches), every column is live.  Nothing is tame all the same: gate
 * and up straddle the limit, scales differ between neighbours, routing weights
 * have 24 bits, some experts get no token and some tokens share all of theirs.
 * data=thirds is the same with weights such as 1/3, for one slot per token,
 * where nothing hides what was rounded.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The local experts are a stretch of the global ones, in reverse order. */
static void fill_map(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t local = case_dim(c, "experts");
    const uint64_t first = n > local ? prng_below(rng, n - local + 1) : 0;

    for (uint64_t i = 0; i < n; i++) {
        const int is_local = i >= first && i < first + local;
        tensor_store(t, i,
                     is_local ? local - 1 - (i - first)
                              : (uint64_t)INT64_MAX * 2 + 1);
    }
}

/* Integers -4 .. 4, few of them zero. */
static void fill_small(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    if (t->dtype == MXO_U8) { /* quantised already: all codes are small */
        fill_random(c, t, rng);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        const double size = (double)(prng_below(rng, 9) + 1) / 2;
        fill_put(t, i, prng_below(rng, 2) != 0 ? -floor(size) : floor(size));
    }
}

/* Every other token, from the second on, is NaN: no business of the rest. */
static void fill_mates(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_small(c, t, rng);
    for (uint64_t i = 0; t->dtype != MXO_U8 && i < n; i++) {
        if (i / row % 2 == 1) {
            tensor_store(t, i, dtype_nan(t->dtype));
        }
    }
}

static void fill_hidden(const test_case *c, host_tensor *t, prng *rng)
{
    if (t->dtype == MXO_U8) {
        fill_random(c, t, rng);
    } else {
        fill_ordinary(c, t, rng);
    }
}

/* Halves, -6 .. 6, distinct between neighbours, some not exact in bf16. */
static void fill_bias(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 29);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double x = (double)((start + 11 * i) % 29) - 14;
        fill_put(t, i, x * 0.375 + (i % 3 == 2 ? 1.0 / 1024 : 0));
    }
}

/* Four powers of two whose products with |x| of 4 and |w| of 6 make sums of
   the limit's size. */
static void fill_window(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 4);
    int down = 3;

    (void)c;
    for (uint64_t k = blocks; k > 3; k /= 4) {
        down++;
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at =
            start + i % blocks * 3 + i / blocks * 2 + i / blocks / 5;
        tensor_store(t, i, (uint64_t)(127 - down) - at % 4);
    }
}

/* The same, and the scales of the expert without a token are NaN. */
static void poison_last(host_tensor *t)
{
    const uint64_t experts = t->shape[0];
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = experts > 1 ? n - n / experts : n; i < n; i++) {
        tensor_store(t, i, 0xff);
    }
}

static void fill_window_idle(const test_case *c, host_tensor *t, prng *rng)
{
    fill_window(c, t, rng);
    poison_last(t);
}

static void fill_index_idle(const test_case *c, host_tensor *t, prng *rng)
{
    fill_index_coded(c, t, rng);
    poison_last(t);
}

static const fill_row fills[] = {
    {"moe.gemm1", "x", "cancel", fill_cancelling},
    {"moe.gemm2", "act", "cancel", fill_cancelling},
    {"moe.gemm1", "w13", "cancel", fill_twins},
    {"moe.gemm2", "w2", "cancel", fill_twins},
    {"moe.gemm?", "*_scale", "cancel", fill_scale_twins},
    {"moe.layer", "topk_ids", "crowd", fill_one_expert},
    {"moe.layer", "topk_ids", "thin", fill_thin_ids},
    {"moe.gemm?", "topk_ids", "thin", fill_thin_ids},
    {"moe.layer", "topk_ids", "poisoned", fill_idle_ids},
    {"moe.layer", "x", "poisoned", fill_mates},
    {"moe.layer", "w13_scale", "poisoned", fill_window_idle},
    {"moe.layer", "w2", "poisoned", fill_one_live},
    {"moe.layer", "w2_scale", "poisoned", fill_index_idle},
    {"moe.gemm*", "topk_ids", "crowd", fill_one_expert},
    {"moe.nvfp4_*", "topk_ids", "crowd", fill_one_expert},
    {"moe.nvfp4_*", "topk_ids", "poisoned", fill_idle_ids},
    {"moe.[gln]*", "topk_ids", "*", fill_distinct_ids},
    {"moe.[gln]*", "expert_map", "*", fill_map},
    {"moe.layer", "topk_weights", "corners", fill_corners},
    {"moe.layer", "topk_weights", "thirds", fill_thirds},
    {"moe.layer", "topk_weights", "ties", fill_tie_weights},
    {"moe.gemm2", "topk_weights", "ties", fill_tie_weights},
    {"moe.layer", "w2_bias", "ties", fill_tie_rows},
    {"moe.gemm2", "w2_bias", "ties", fill_tie_rows},
    {"moe.layer", "w2", "ties", fill_tie_live},
    {"moe.gemm2", "w2", "ties", fill_tie_live},
    {"moe.layer", "x", "ties", fill_small},
    {"moe.layer", "w13_scale", "ties", fill_window},
    {"moe.gemm2", "topk_weights", "thirds", fill_thirds},
    {"moe.layer", "topk_weights", "*", fill_positive},
    {"moe.gemm2", "topk_weights", "*", fill_positive},
    {"moe.layer*", "x", "orderfree", fill_small},
    {"moe.layer", "x", "thirds", fill_small},
    {"moe.layer*", "x", "crowd", fill_small},
    {"moe.gemm1", "x", "orderfree", fill_small},
    {"moe.gemm1", "x", "crowd", fill_small},
    {"moe.layer*", "w13_scale", "orderfree", fill_window},
    {"moe.layer", "w13_scale", "thirds", fill_window},
    {"moe.layer*", "w13_scale", "crowd", fill_window},
    {"moe.gemm1", "w13_scale", "orderfree", fill_window},
    {"moe.gemm1", "w13_scale", "crowd", fill_window},
    {"moe.layer", "x", "thin", fill_small},
    {"moe.gemm1", "x", "thin", fill_small},
    {"moe.gemm2", "act", "thin", fill_ordinary},
    {"moe.layer", "w13_scale", "thin", fill_window},
    {"moe.gemm1", "w13_scale", "thin", fill_window},
    {"moe.layer", "w2", "thin", fill_one_live},
    {"moe.gemm2", "w2", "thin", fill_one_live},
    {"moe.layer", "w2_scale", "thin", fill_index_coded},
    {"moe.gemm2", "w2_scale", "thin", fill_index_coded},
    {"moe.layer*", "x_scale", "orderfree", fill_window},
    {"moe.layer", "x_scale", "thirds", fill_window},
    {"moe.gemm1", "x_scale", "orderfree", fill_window},
    {"moe.layer*", "w2", "orderfree", fill_one_live},
    {"moe.layer", "w2", "thirds", fill_one_live},
    {"moe.layer*", "w2", "crowd", fill_one_live},
    {"moe.gemm2", "w2", "orderfree", fill_one_live},
    {"moe.gemm2", "w2", "thirds", fill_one_live},
    {"moe.layer*", "w2_scale", "orderfree", fill_index_coded},
    {"moe.layer", "w2_scale", "thirds", fill_index_coded},
    {"moe.layer*", "w2_scale", "crowd", fill_index_coded},
    {"moe.gemm2", "w2_scale", "orderfree", fill_index_coded},
    {"moe.gemm2", "w2_scale", "thirds", fill_index_coded},
    {"moe.*", "w13_bias", "*", fill_bias},
    {"moe.*", "w2_bias", "*", fill_bias},
    {"moe.gemm2", "act", "orderfree", fill_ordinary},
    {"moe.gemm2", "act", "thirds", fill_ordinary},
    {"moe.gemm2", "act", "ordinary", fill_ordinary},
    {"moe.layer*", "x", "ordinary", fill_hidden},
    {"moe.gemm1", "x", "ordinary", fill_hidden},
    {"moe.layer*", "w13_scale", "ordinary", fill_scale_ordinary},
    {"moe.layer*", "w2_scale", "ordinary", fill_scale_ordinary},
    {"moe.layer*", "x_scale", "ordinary", fill_scale_ordinary},
    {"moe.gemm1", "w13_scale", "ordinary", fill_scale_ordinary},
    {"moe.gemm1", "x_scale", "ordinary", fill_scale_ordinary},
    {"moe.gemm2", "w2_scale", "ordinary", fill_scale_ordinary},
    /* all scale bytes would leave nothing but NaN: corners has them, singly */
    {"moe.layer*", "x", "random", fill_hidden},
    {"moe.gemm1", "x", "random", fill_hidden},
    {"moe.gemm2", "act", "random", fill_ordinary},
    {"moe.*", "w13_scale", "random", fill_scale_ordinary},
    {"moe.*", "w2_scale", "random", fill_scale_ordinary},
    {"moe.*", "x_scale", "random", fill_scale_ordinary},
    {"moe.layer*", "x", "typical", fill_normal},
    {"moe.gemm1", "x", "typical", fill_normal},
    {"moe.gemm2", "act", "typical", fill_normal},
    {"moe.*", "*_scale", "typical", fill_scale_typical},
    {"moe.layer*", "x", "corners", fill_hidden},
    {"moe.gemm1", "x", "corners", fill_hidden},
    {"moe.gemm2", "act", "corners", fill_corner_patches},
    {"moe.gemm1", "w13_scale", "corners", fill_scale_corners},
    {"moe.gemm2", "w2_scale", "corners", fill_scale_corners},
    {"moe.layer*", "w13_scale", "corners", fill_scale_ordinary},
    {"moe.layer*", "w2_scale", "corners", fill_scale_corners},
    {NULL, NULL, NULL, NULL},
};

#define KNOWN "exact|MARLIN|TRITON|TRITON_UNFUSED|EMULATION|CPU"
#define DECLARED_GEMM "weight_rule=ocp,scale_at=weight,order=any,quant=none,"
#define DECLARED_FIRST \
    "bias_type=f32,bias1=acc,gemm1_out=f32,glu=exact,glu_out=bf16,"
#define DECLARED_SECOND                                                 \
    "requant=none,bias_type=f32,bias2=acc,routing_at=acc,routing_type=" \
    "f32,row_out=bf16,sum=slots,out=bf16,absent=skip,"
#define DECLARED                                                      \
    DECLARED_GEMM "requant=none,bias2=acc,routing_at=acc,"            \
                  "routing_type=f32,row_out=bf16,sum=slots,out=bf16," \
                  "absent=skip," DECLARED_FIRST
#define TINY "tokens=2,topk=2,experts=3,hidden=32,inter=32"
#define SMALL "tokens=3,topk=2,experts=4,hidden=64,inter=64"
/* For rules whose scale lets the largest element overflow to NaN: a row may go
   as a whole, but never all of them. */
#define NINE "tokens=9,topk=2,experts=3,hidden=32,inter=32"
#define TYPES "profile|f32|bf16"
#define OUTS "profile|f32|bf16|down"
static const grid_row grid[] = {
    {1, 0,
     "moe.layer:tokens=5,topk=2,experts=5,hidden=96,inter=64,bias=f32,"
     "data=orderfree"},
    {1, 0, "moe.gemm1:" SMALL ",data=orderfree"},
    {1, 0, "moe.gemm2:" SMALL ",data=orderfree"},
    {2, 0, /* every profile whose entries are known, as it stands */
     "moe.layer:profile=" KNOWN ",tokens=6,topk=2|5,experts=6,hidden=96,"
     "inter=64,bias=none|bf16,data=orderfree"},
    {2, 0,
     "moe.layer:profile=" KNOWN ",tokens=5,topk=1|4,experts=4,hidden=32,"
     "inter=96,bias=f32,data=orderfree"},
    {2, 0, /* numbers in which an exponential of the kernel's own shows */
     "moe.layer:profile=MARLIN|TRITON,glu_out=f32,row_out=f32,sum=slots,"
     "out=f32,tokens=5,topk=2,experts=4,hidden=64,inter=96,bias=f32,"
     "data=orderfree"},
    {2, 0, /* no order declared means: not on data that depend on it */
     "moe.layer:profile=exact|CPU,tokens=5,topk=1|4,experts=4,hidden=32,"
     "inter=96,bias=f32,data=ordinary"},
    {2, 0, /* no order declared: every order there is lies between two ends */
     "moe.layer:profile=MARLIN|TRITON|TRITON_UNFUSED|EMULATION,tokens=5,"
     "topk=1|4,experts=4,hidden=96,inter=64,bias=none|f32,data=ordinary"},
    {2, 0,
     "moe.layer:profile=MARLIN|EMULATION,activation=silu,rows=halves,"
     "limit=none|10,tokens=4,topk=2,experts=3,hidden=80,inter=72,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm1:profile=MARLIN|TRITON,stage=*," SMALL ",bias=bf16,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm2:profile=MARLIN|TRITON,stage=*," SMALL ",bias=bf16,"
     "data=ordinary"},
    {2, 0, /* the ends themselves */
     "moe.layer:bounds=1|open,profile=MARLIN|TRITON|EMULATION," TINY
     ",bias=bf16,data=ordinary"},
    {2, 0,
     "moe.layer:bounds=1,order=any,requant=same,quant=quant.mx,"
     "quant_element=e4m3fn,quant_rule=flashinfer,gemm1_out=*," SMALL
     ",data=ordinary"},
    {2, 0,
     "moe.layer:bounds=1,scale_at=block,order=block32," SMALL ",data=ordinary"},
    {2, 0,
     "moe.layer:bounds=1,order=any,sum=atomic_bf16,routing_at=acc,"
     "row_out=bf16,tokens=3,topk=4,experts=5,hidden=64,inter=64,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm1:bounds=1|open,order=any,bias1=acc,stage=*,glu=*," TINY
     ",bias=f32,data=ordinary|corners"},
    {2, 0,
     "moe.gemm2:bounds=1,order=any,bias2=acc,stage=*," TINY
     ",bias=f32,data=ordinary|corners"},
    {2, 0,
     "moe.layer:profile=exact|MARLIN|TRITON_UNFUSED|EMULATION|CPU,"
     "activation=silu,rows=halves,limit=none|10,tokens=5,topk=2,experts=4,"
     "hidden=64,inter=96,bias=f32,data=orderfree"},
    {2, 0, /* every profile, what is unknown declared by the case */
     "moe.layer:profile=*," DECLARED TINY ",bias=bf16,data=orderfree"},
    {2, 0,
     "moe.gemm1:profile=*," DECLARED_GEMM DECLARED_FIRST TINY
     ",bias=f32,data=orderfree"},
    {2, 0,
     "moe.gemm2:profile=*," DECLARED_GEMM DECLARED_SECOND TINY
     ",bias=f32,data=orderfree"},
    {2, 0, /* a token must not depend on other tokens */
     "moe.layer:profile=exact|MARLIN|TRITON,tokens=1|4|17,topk=1|2,"
     "experts=4,hidden=64,inter=32,bias=none|f32,data=poisoned"},
    {2, 0, /* sizes off the block, the tile and the pair of tiles */
     "moe.layer:profile=exact|MARLIN,tokens=1|17|33,topk=2,experts=3,"
     "hidden=32|80,inter=48|72,bias=f32,data=orderfree"},
    {2, 0,
     "moe.layer:profile=exact|TRITON,tokens=0|1|7,topk=1|3,experts=9,"
     "hidden=64,inter=32,data=orderfree|crowd"},
    {2, 0,
     "moe.layer:profile=exact|TRITON,tokens=0|1|7,topk=1,experts=1,"
     "hidden=64,inter=32,data=orderfree|crowd"},
    {2, 0, /* an expert twice in a token's choice */
     "moe.layer:profile=exact|MARLIN|TRITON,tokens=1|7,topk=3,experts=1|9,"
     "hidden=64,inter=32,data=orderfree|crowd,ids=repeated"},
    {2, 0,
     "moe.gemm1:tokens=7,topk=3,experts=4,hidden=64,inter=32,data=orderfree,"
     "ids=repeated"},
    {2, 0,
     "moe.gemm2:tokens=7,topk=3,experts=4,hidden=64,inter=32,data=orderfree,"
     "ids=repeated"},
    {2, 0, /* experts that live elsewhere */
     "moe.layer:profile=exact|MARLIN|TRITON,map=1,global=9,experts=3,"
     "tokens=8,topk=3,hidden=64,inter=32,bias=f32,data=orderfree"},
    {2, 0, /* whose constants are they? */
     "moe.layer:profile=MARLIN|TRITON|TRITON_UNFUSED|EMULATION,alpha=1.25,"
     "limit=3," SMALL ",data=orderfree"},
    {2, 0, /* some tokens have none of theirs here */
     "moe.layer:profile=exact|TRITON,map=1,global=9,experts=2,tokens=9,"
     "topk=2,hidden=32,inter=32,data=orderfree"},
    {2, 0, "moe.layer:from=f32|e2m1," TINY ",bias=f32,data=orderfree"},
    {2, 0,
     "moe.gemm1:from=*,stage=*,rows=*,activation=*," TINY
     ",bias=f32,data=orderfree"},
    {2, 0, "moe.gemm1:stage=*,bias=*," TINY ",data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,from=bf16|f32,gemm1_out=*,tokens=5,topk=2,"
     "experts=3,hidden=32|228,inter=19,data=cancel"},
    {2, 0,
     "moe.gemm2:stage=row,from=bf16|f32,row_out=*,tokens=5,topk=2,"
     "experts=3,hidden=35,inter=226,data=cancel"},
    {2, 0,
     "moe.gemm2:routing_at=sum,sum=fma|product|exact,out=*,tokens=3,topk=5,"
     "experts=6,hidden=64,inter=32,data=ordinary"},
    {2, 0,
     "moe.gemm2:order=exact,routing_at=acc,sum=slots|moe_sum|exact,"
     "tokens=3,topk=5,experts=6,hidden=64,inter=32,data=ordinary"},
    {2, 0, "moe.gemm1:stage=gemm,weight_rule=*," TINY ",data=ordinary|corners"},
    {2, 0, "moe.gemm2:stage=row,weight_rule=*," TINY ",data=ordinary|corners"},
    {2, 0, "moe.layer:weight_rule=*," TINY ",data=orderfree"},
    {2, 0,
     "moe.gemm1:stage=gemm,scale_at=block,order=block32,"
     "weight_rule=shift|ocp," SMALL ",data=orderfree|ordinary"},
    {2, 0, "moe.gemm2:order=any," TINY ",data=orderfree"},
    {2, 0, "moe.gemm2:scale_at=block,order=block32," SMALL ",data=ordinary"},
    {2, 0, /* products beyond the range, of blocks with other signs */
     "moe.gemm2:stage=row,scale_at=block,order=block32|block,mul=fma|round,"
     "row_out=f32,tokens=5,topk=1,experts=2,hidden=48,inter=80,data=corners"},
    {2, 0, "moe.layer:scale_at=block,order=block32," SMALL ",data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,order=cpu|avx512|amx|exact,bias=f32,"
     "bias1=none|acc|rounded,gemm1_out=" OUTS "," TINY ",data=ordinary"},
    {2, 0, "moe.gemm1:stage=gemm,order=any," TINY ",data=orderfree"},
    {2, 0, /* five slots: four partial sums, and nothing hides them */
     "moe.layer:routing_at=acc,row_out=f32,sum=moe_sum,out=f32,tokens=6,"
     "topk=5,experts=6,hidden=96,inter=64,data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,order=cpu|avx512|amx|exact,bias=f32,bias1=order,"
     "bias_type=" TYPES ",tokens=9,topk=2,experts=2,hidden=96,inter=32,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm2:stage=row,order=cpu|avx512|amx|exact,bias=bf16,"
     "bias2=none|acc|rounded,row_out=" OUTS "," TINY ",data=ordinary"},
    {2, 0,
     "moe.gemm2:stage=row,order=cpu|exact,bias=f32,bias2=order,bias_type=" TYPES
     "," TINY ",data=ordinary"},
    {2, 0,
     "moe.layer:order=cpu|avx512|amx|exact,bias=f32,bias1=none|rounded,"
     "bias2=none|rounded,bias_type=" TYPES "," TINY ",data=ordinary"},
    {2, 0,
     "moe.layer:order=amx|avx512,bias=f32,bias1=order,bias2=order," SMALL
     ",data=ordinary"},
    {2, 0,
     "moe.gemm1:glu=*,alpha=1.25,beta=0|1,limit=5,glu_out=" TYPES
     "|bf16sat," TINY ",data=orderfree"},
    {2, 0,
     "moe.layer:glu=*,alpha=1.25,beta=1,limit=5,glu_out=" TYPES "|bf16sat," TINY
     ",data=orderfree"},
    {2, 0,
     "moe.layer:profile=TRITON|MARLIN,glu_nan=launder|launder_low|propagate,"
     "tokens=7,topk=2,experts=24,hidden=64,inter=32,data=poisoned|lone"},
    {2, 0,
     "moe.gemm1:glu=exact|triton,glu_nan=launder|launder_low|propagate,limit="
     "7," TINY ",data=lone"},
    {2, 0,
     "moe.gemm1:stage=gemm,quant=quant.mx,quant_element=e2m1,quant_rule=*," TINY
     ",data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,quant=quant.mx,quant_element=e4m3fn|e5m2,"
     "quant_rule=floor|even," TINY ",data=ordinary"},
    {2, 0,
     "moe.gemm2:requant=same,quant=quant.mx,quant_element=e2m1|e5m2,"
     "quant_rule=floor," TINY ",data=ordinary"},
    {2, 0,
     "moe.layer:requant=same,quant=quant.mx,quant_element=e2m1|e5m2,"
     "quant_rule=floor," TINY ",data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,quant=quant.group,quant_element=e4m3fn,"
     "quant_rule=vllm_group|deepgemm,quant_group=32|64|128,tokens=3,"
     "topk=2,experts=3,hidden=160,inter=32,data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,quant=quant.qdq,quant_element=e2m1,"
     "quant_rule=quark_hip|quark_triton," TINY ",data=ordinary"},
    {2, 0,
     "moe.gemm2:requant=same,quant=quant.mx,quant_element=e4m3fn,"
     "quant_rule=*," NINE ",data=ordinary"},
    {2, 0,
     "moe.gemm2:requant=same,quant=quant.group,quant_element=e4m3fn,"
     "quant_rule=vllm_group,quant_group=32|64|128,tokens=3,topk=2,experts=3,"
     "hidden=32,inter=160,data=ordinary"},
    {2, 0,
     "moe.gemm2:requant=same,quant=quant.qdq,quant_element=e2m1,"
     "quant_rule=quark_hip|quark_triton," TINY ",data=ordinary"},
    {2, 0,
     "moe.layer:requant=same,quant=quant.mx,quant_element=e4m3fn,"
     "quant_rule=*," NINE ",data=ordinary"},
    {2, 0,
     "moe.layer:requant=same|none,quant=quant.group,quant_element=e4m3fn,"
     "quant_rule=vllm_group,quant_group=32|64|128," TINY ",data=ordinary"},
    {2, 0,
     "moe.layer:requant=same,quant=quant.qdq,quant_element=e2m1,"
     "quant_rule=quark_hip|quark_triton," TINY ",data=ordinary"},
    {2, 0,
     "moe.gemm2:stage=*,from=*,routing_at=acc|rounded,routing_type=" TYPES ","
     "sum=slots|moe_sum,row_out=" OUTS "," TINY ",data=orderfree"},
    {2, 0,
     "moe.gemm2:routing_at=acc|rounded,sum=slots|moe_sum|cpu|atomic_bf16|"
     "exact,out=" TYPES
     ",row_out=bf16,tokens=3,topk=3,experts=4,hidden=64,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:routing_at=sum,routing_type=" TYPES ",row_out=" OUTS
     ",sum=fma|product|"
     "exact,out=" TYPES ",tokens=3,topk=5,experts=6,hidden=64,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:sum=fma,map=1,global=7,absent=skip|zero,tokens=5,topk=3,"
     "experts=3,hidden=32,inter=32,data=orderfree"},
    {2, 0, /* absent slots are no terms, which vLLM's order counts */
     "moe.gemm2:routing_at=acc,sum=moe_sum|cpu,row_out=bf16,map=1,global=7,"
     "absent=skip|zero,tokens=9,topk=1|2|5,experts=3,hidden=32,inter=32,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm1:map=1,global=7,tokens=5,topk=3,experts=3,hidden=32,"
     "inter=32,data=orderfree"},
    {2, 0,
     "moe.layer:routing_at=acc|rounded,routing_type=" TYPES ",row_out=" OUTS
     ",sum=slots|"
     "moe_sum|cpu|atomic_bf16|scatter_bf16,out=" TYPES "," TINY
     ",data=orderfree"},
    {2, 0,
     "moe.layer:routing_at=sum,sum=fma|product|exact,gemm1_out=" OUTS ",rows=*,"
     "absent=skip|zero,map=1,global=5," TINY ",data=orderfree"},
    {2, 0, "moe.layer:" SMALL ",data=corners"},
    {0, 0, NULL},
};

const case_family cases_layer = {"layer", fills, grid};
