/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers whose experts have alpha, beta and limit of their own.  No two experts
 * share a constant, no constant is a default or a bf16 number, and maps put
 * experts where their global numbers are not: whose constant was taken shows.
 * data=spoilt has one expert whose limit is none at all, so that the call must
 * be refused, whether a token goes there or not.  And scales that are given:
 * one below zero, and those that are missing, of another type or of another
 * shape.
 */
#include "data/fills.h"

#include <stddef.h>

/* first, first + step, ..., each a little above a number with few bits. */
static void fill_steps(host_tensor *t, double first, double step)
{
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, first + (double)i * step + 1.0 / 4096);
    }
}

static void fill_alphas(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    (void)rng;
    fill_steps(t, 1.3125, 0.15625);
}

static void fill_betas(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    (void)rng;
    fill_steps(t, 0.375, 0.28125);
}

static void fill_limits(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    (void)rng;
    fill_steps(t, 1.5, 0.71875);
}

/* One is -1.5, NaN or minus infinity. */
static void fill_spoilt(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint64_t bad[] = {0xbfc00000, 0x7fc00000, 0xff800000};
    const uint64_t n = tensor_elems(t);
    const uint64_t kind = prng_below(rng, 3);

    fill_limits(c, t, rng);
    if (n > 0) {
        tensor_store(t, prng_below(rng, n), bad[kind]);
    }
}

static const fill_row fills[] = {
    {"moe.*", "gemm1_alpha", "*", fill_alphas},
    {"moe.*", "gemm1_beta", "*", fill_betas},
    {"moe.*", "gemm1_clamp_limit", "spoilt", fill_spoilt},
    {"moe.*", "gemm1_clamp_limit", "*", fill_limits},
    {NULL, NULL, NULL, NULL},
};

#define SMALL "tokens=5,topk=3,experts=5,hidden=64,inter=64"
#define SHARD "map=1,global=11,tokens=9,topk=3,experts=4,hidden=64,inter=32"
/* Facts that cubins without public sources leave open. */
#define CUBIN                                                               \
    "weight_rule=ocp,scale_at=weight,order=any,requant=none,bias1=acc,"     \
    "bias2=acc,gemm1_out=f32,glu_out=bf16,routing_at=sum,routing_type=f32," \
    "row_out=f32,sum=fma,out=bf16,absent=skip,"
#define FAULTS(t)                                                          \
    "missing." t "|dtype." t "|flat." t "|short." t "|long." t "|bytes." t \
    "|vast." t
#define FEW "tokens=5,hidden=96,topk=2,experts=3,inter=64"
#define UNFIT                                                               \
    "input_scale=given,quant=quant.static,quant_element=e4m3fn,quant_rule=" \
    "divide,requant=same,tokens=3,experts=4,hidden=64,inter=96,"

static const grid_row grid[] = {
    {1, 0, "moe.layer:per_expert=all," SMALL ",bias=f32,data=orderfree"},
    {2, 0, "moe.layer:per_expert=alpha|beta|limit," SMALL ",data=orderfree"},
    {2, 0, "moe.gemm1:per_expert=*,stage=*,rows=*," SMALL ",data=orderfree"},
    {2, 0, "moe.layer:per_expert=all," SHARD ",bias=f32,data=orderfree"},
    {2, 0, "moe.gemm1:per_expert=all," SHARD ",data=orderfree"},
    {2, 0,
     "moe.layer_routed:per_expert=alpha|beta|limit|all,top_k=3,tokens=5,"
     "experts=5,hidden=64,"
     "inter=64,data=orderfree"},
    {2, 0,
     "moe.layer_routed:per_expert=all,top_k=3,map=1,global=9,tokens=9,"
     "experts=4,hidden=64,inter=32,data=orderfree"},
    {2, 0, /* silu has a limit alone */
     "moe.layer:profile=exact|MARLIN|TRITON_UNFUSED,activation=silu,"
     "rows=halves,limit=none|10,per_expert=limit," SMALL ",data=orderfree"},
    {2, 0, /* those whose profile leaves them to the model's config */
     "moe.layer:profile=TRITON_UNFUSED|CPU,per_expert=alpha|limit," SMALL
     ",bias=bf16,data=orderfree"},
    {2, 0, /* a pointer that is null stands for alpha 1, beta 0, no limit */
     "moe.layer:profile=FLASHINFER_TRTLLM_MXFP4_BF16," CUBIN
     "alpha=1,beta=0,limit=none,per_expert=alpha|beta|limit|all," SMALL
     ",bias=f32,data=orderfree"},
    {2, 0,
     "moe.layer:profile=FLASHINFER_TRTLLM_MXFP4_BF16," CUBIN
     "activation=silu,per_expert=limit," SHARD ",data=orderfree"},
    {2, 0, /* more tokens than a tile has, all of one expert */
     "moe.layer:per_expert=all,tokens=40,topk=2,experts=3,hidden=32,inter=40,"
     "data=orderfree|crowd"},
    {2, 0,
     "moe.layer:profile=TRITON_UNFUSED,per_expert=alpha|limit," SMALL
     ",data=ordinary"},
    {2, 0, /* the ends of what every order gives */
     "moe.layer:bounds=1,order=any,bias1=acc,bias2=acc,per_expert=all,"
     "bias=f32,tokens=2,topk=2,experts=3,hidden=32,inter=32,data=ordinary"},
    {1, 0, "moe.layer:per_expert=limit|all," SMALL ",data=spoilt"},
    {2, 0, "moe.gemm1:per_expert=limit|all," SMALL ",data=spoilt"},
    {2, 0,
     "moe.layer_routed:per_expert=limit,top_k=3,tokens=5,experts=5,hidden=64,"
     "inter=64,data=spoilt"},
    {2, 0, /* there is no constant to replace */
     "moe.layer:profile=MARLIN|TRITON,per_expert=alpha|beta|limit|all," SMALL
     ",data=orderfree"},
    {2, 0,
     "moe.gemm1:activation=silu,per_expert=alpha|beta|all," SMALL
     ",data=orderfree"},
    {2, 0, /* what is not read may be no number */
     "moe.layer:profile=MARLIN|TRITON|FLASHINFER_CUTLASS_MXFP4_BF16,alpha=nan,"
     "beta=nan,limit=nan," FEW},
    {2, 0, "moe.layer:profile=TRITON_UNFUSED|CPU,beta=nan," FEW},
    {2, 0,
     "moe.layer:profile=exact|MARLIN|TRITON_UNFUSED,activation=silu,alpha=nan,"
     "beta=nan," FEW},
    {2, 0, "moe.layer:profile=MARLIN,activation=silu,limit=-1," FEW},
    {2, 0, /* what is read may not be */
     "moe.layer:profile=TRITON_UNFUSED|exact,alpha=nan," FEW},
    {2, 0, "moe.layer:profile=MARLIN,activation=silu,limit=nan," FEW},
    {2, 0, "act.glu:dialect=vllm_silu|xpu_clamp|situ,limit=nan,rows=3,cols=64"},
    {2, 0, /* FP16 between the halves, whose largest number is 65504 */
     "moe.layer:profile=MARLIN,glu_out=f16," FEW ",data=ties|corners"},
    {2, 0,
     "moe.layer:weight_rule=b12x_mx,from=f16,glu_out=f16," FEW ",data=corners"},
    {2, 0, "moe.gemm2:weight_rule=b12x_mx,from=f16," FEW ",data=corners"},
    {2, 0,
     "moe.layer:" UNFIT
     "topk=2,flaw=" FAULTS("w13_input_scale") "|" FAULTS("w2_input_scale")},
    {2, 0,
     "moe.layer_routed:" UNFIT
     "top_k=2,flaw=" FAULTS("w13_input_scale") "|" FAULTS("w2_input_scale")},
    {0, 0, NULL},
};

const case_family cases_constants = {"constants", fills, grid};
