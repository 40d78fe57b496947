/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated activations.  Gate and up never share a range, so that an exchange
 * shows; values lie just below, at and above either limit; alpha, beta and
 * limit differ per expert and are not the defaults.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Stream of element i of x: 0 the first, 1 the second. */
static int stream_of(const test_case *c, const host_tensor *t, uint64_t i)
{
    const uint64_t cols = t->shape[t->rank - 1];

    if (strcmp(t->name, "x") != 0) {
        return strcmp(t->name, "up") == 0;
    }
    return strcmp(case_value(c, "layout"), "interleaved") == 0
               ? (int)(i % 2)
               : i % cols >= cols / 2;
}

/* First stream in (0.5, 4.5), second in (-9, -1/8): never exchangeable; the
   second's size changes every 64 elements, so that quantised groups do. */
static void fill_disjoint(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const double u = fill_uniform(rng);
        const double down = ldexp(-1 - 8 * u, -(int)(i / 64 * 3 % 4));
        fill_put(t, i, stream_of(c, t, i) ? down : 0.5 + 4 * u);
    }
}

static void fill_limits(const test_case *c, host_tensor *t, prng *rng)
{
    const double limit = case_number(c, "limit");
    const double edge = isfinite(limit) && limit != 0 ? limit : 7;
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        /* Every third stretch stays far below: not all groups are clamped. */
        const int low = i / 64 % 3 == 1;
        const double size = prng_below(rng, 4) == 0 || low
                                ? edge * (0.25 + 2 * fill_uniform(rng))
                                : edge;
        fill_put(t, i,
                 ldexp(prng_below(rng, 2) != 0 ? -size : size, low ? -4 : 0));
        tensor_store(t, i, tensor_load(t, i) + prng_below(rng, 3) - 1);
    }
    (void)c;
}

/* Products far below what a scale's floor lets through, down to zero. */
static void fill_tiny(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const int down = 16 + (int)(i / 64 % 5) * 8;
        const double x = i / 64 % 7 == 6 ? 0 : fill_uniform(rng) * 2 - 1;
        fill_put(t, i, ldexp(x, -down));
    }
}

static void fill_experts(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t experts = case_dim(c, "experts");

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, prng_below(rng, experts > 0 ? experts : 1));
    }
}

/* Rows in any order, some twice, some never. */
static void fill_gather(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t rows = case_dim(c, "rows");

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, prng_below(rng, rows > 0 ? rows : 1));
    }
}

static void fill_alphas(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, 1.3125 + (double)i * 0.15625);
    }
}

static void fill_betas(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, 0.375 + (double)i * 0.28125);
    }
}

static void fill_expert_limits(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, 1.5 + (double)i * 0.71875);
    }
}

static const fill_row fills[] = {
    {"act.glu", "row", "*", fill_gather},
    {"act.glu", "expert", "*", fill_experts},
    {"act.glu", "alpha", "*", fill_alphas},
    {"act.glu", "beta", "*", fill_betas},
    {"act.glu", "limit", "*", fill_expert_limits},
    {"act.glu_quant", "topk_weight", "*", fill_positive},
    {"act.glu*", "*", "disjoint", fill_disjoint},
    {"act.glu*", "*", "limits", fill_limits},
    {"act.glu*", "*", "tiny", fill_tiny},
    {"act.glu*", "*", "ordinary", fill_ordinary},
    {"act.glu*", "*", "corners", fill_corners},
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    {1, 0, "act.glu:rows=3,cols=40,data=disjoint|limits"},
    {2, 0,
     "act.glu:dialect=*,layout=interleaved|halves|split,rows=3,cols=65,"
     "data=disjoint|limits|corners"},
    {2, 0,
     "act.glu:dialect=exact|triton|trtllm|vllm_swigluoai,"
     "order=up_gate,rows=3,cols=65,data=disjoint"},
    {2, 0,
     "act.glu:dialect=exact,from=bf16|f16|f32,to=bf16|f16|f32,"
     "layout=*,rows=3,cols=33,data=random|ordinary|limits"},
    {2, 0,
     "act.glu:dialect=exact,alpha=1|1.702|-0.5|2.25,beta=0|1|0.5,"
     "limit=none|0|7|1.25|inf,rows=2,cols=48,data=limits"},
    {2, 0,
     "act.glu:dialect=*,limit=none|2.5,alpha=1|2.25,beta=0|0.5,rows=2,"
     "cols=48,data=ordinary"},
    {2, 0, "act.glu:dialect=exact,nan=*,rows=3,cols=64,data=random|corners"},
    {2, 0,
     "act.glu:dialect=exact|trtllm,per_expert=limit|all,"
     "experts=5,rows=18,tile=1|6,cols=33,data=limits|disjoint"},
    {2, 0,
     "act.glu:dialect=exact,gather=1,layout=halves|interleaved,rows=9,"
     "picks=14,cols=33,data=disjoint"},
    {2, 72,
     "act.glu:dialect=exact,layout=*,rows=$M,cols=$N,"
     "data=disjoint|limits|ordinary"},
    {2, 0, /* no bf16 holds these parameters */
     "act.glu:dialect=exact,from=*,to=*,alpha=1.618034,beta=0.3333333,"
     "limit=6.7890625,rows=3,cols=65,data=limits|ordinary"},
    {2, 0, /* 0 and less mean that there is no limit */
     "act.glu:dialect=vllm_swiglu_limit,layout=halves,limit=0|-7,rows=3,"
     "cols=65,data=limits|ordinary"},
    {2, 0, "act.glu:dialect=exact,from=*,to=*,rows=3,cols=65,data=tiny"},
    {2, 0, /* NaN and infinities with a limit and without */
     "act.glu:dialect=trtllm_gen|cutlass_swiglu|aiter_ck|aiter_hip|"
     "flydsl_swiglu|vllm_clamp_oai,from=f32,to=f32|bf16,limit=none|7,rows=3,"
     "cols=65,data=corners|limits|ordinary"},
    {2, 0, /* infinity is a limit here, and not none */
     "act.glu:dialect=trtllm_gen,from=f32,to=f32,limit=inf,rows=3,cols=65,"
     "data=corners"},
    {2, 0,
     "act.glu:dialect=*,from=f32,to=f32|bf16,limit=none,rows=3,cols=65,"
     "data=corners"},
    {2, 0, /* -0 is a limit, and the clamps compare with it */
     "act.glu:dialect=exact|triton|triton_torch|aiter|aiter_triton|"
     "gpt_oss_torch|trtllm,nan=*,beta=0|1,limit=-0,from=f32,to=f32|f64,rows=3,"
     "cols=9,data=limits|corners"},
    {2, 0,
     "act.glu_quant:dialect=*,from=*,limit=-0,group=32,rows=5,cols=64,"
     "data=corners|ordinary"},
    {2, 0, /* an infinite alpha: the sigmoid is 1 or 0, and halves are ties */
     "act.glu:dialect=exact,from=*,to=*,alpha=inf|-inf,beta=0,limit=none,"
     "rows=3,cols=33,data=ordinary|verges"},
    {2, 0, "act.unary:fn=silu_alpha,to=*,alpha=inf|-inf|1e39,n=46,data=verges"},
    {2, 0, /* a parameter that the function does not have */
     "act.unary:fn=exp|tanh|silu|exp_u20,to=*,alpha=nan,n=33,data=ordinary"},
    {2, 0, /* an infinite beta of ups goes through the steps; NaN is none */
     "act.glu:dialect=situ|situ_vllm|situ_aiter|situ_flashinfer|situ_mega|"
     "situ_b12x,linear_beta=inf|1e39|nan,from=f32,to=f32|bf16,rows=5,cols=9,"
     "data=ordinary|corners"},
    {2, 0, /* what is zero in binary32 stands for 1 */
     "act.glu:dialect=trtllm_gen,from=f32,to=f32,scale_gate=0|1e-46|1e-40,"
     "rows=3,cols=9,data=ordinary"},
    {2, 0, /* a factor of gate and up, as NVFP4 layers have it */
     "act.glu:dialect=trtllm_gen,from=f32,to=f32,scale_gate=0.0037|3,alpha=1,"
     "beta=0|0.5,limit=none|7,rows=3,cols=65,data=ordinary"},
    {2, 0,
     "act.glu:dialect=situ|situ_vllm|situ_aiter|situ_flashinfer|situ_mega|"
     "situ_b12x,beta=4,linear_beta=25|none,limit=none|2.5,rows=3,cols=65,"
     "data=ordinary|corners|tiny"},
    {2, 0, /* binary32 hides no step, and no short number is the limit */
     "act.glu:dialect=*,from=f32,to=f32,alpha=1.618034,linear_beta=25,"
     "limit=6.7890625,rows=3,cols=65,data=ordinary|limits|tiny|corners"},
    {2, 0,
     "act.glu:dialect=*,alpha=1.618034,linear_beta=25,limit=6.7890625,rows=3,"
     "cols=65,data=limits"},
    {2, 0, /* the ends of what the kernels' own exponentials give */
     "act.glu:bounds=1,dialect=triton|trtllm|vllm_silu,rows=3,cols=65,"
     "data=ordinary"},
    {2, 0, /* from numbers that are wide, halved or neither */
     "act.glu:dialect=exact,from=f64,to=*,limit=none|7|inf,nan=*,rows=3,"
     "cols=65,data=corners|random|limits"},
    {2, 0,
     "act.glu:dialect=exact,from=f64,to=f64|f32,alpha=0|-1.7|1e300,"
     "beta=0|1e300,limit=none|7|1e300,rows=3,cols=33,data=corners|ordinary"},
    {2, 0,
     "act.glu:dialect=*,from=f16,to=f16|bf16|f32,limit=none|7,rows=3,cols=65,"
     "data=corners|ordinary|tiny"},
    {2, 0, /* by steps of binary64, or widened */
     "act.glu:dialect=*,from=f16|f32,to=f64,limit=none|7,alpha=1.618034,"
     "rows=3,cols=65,data=limits"},
    {2, 0, /* e^700 is a number, e^742 none; binary32 has no 6.7 */
     "act.glu:dialect=triton|triton_torch|aiter|aiter_triton|gpt_oss_torch,"
     "from=f32,to=f64,limit=6.7,alpha=1.618034|100|106,rows=3,cols=65,"
     "data=corners|limits"},
    {2, 0,
     "act.glu:dialect=aiter|aiter_triton,to=f64,beta=0|1|-0,nan=*,limit=7,"
     "rows=3,cols=65,data=limits"},
    {2, 0,
     "act.glu:dialect=exact,from=f64|f32|f16,to=f64|f32|f16,"
     "per_expert=limit|all,experts=3,rows=6,cols=17,data=corners|ordinary"},
    {3, 600,
     "act.glu:dialect=*,layout=*,order=*,from=*,to=*,nan=*,"
     "limit=none|7|1.25|inf,alpha=1|1.702,beta=0|1,rows=$M,"
     "cols=$N,data=*"},
    {1, 0, "act.glu_quant:rows=2,cols=256,data=disjoint"},
    {2, 0,
     "act.glu_quant:dialect=vllm_packed|vllm_colmajor,from=*,"
     "limit=none|7|10,scale=f32|e8m0,rows=5,cols=256,"
     "data=disjoint|limits|ordinary|corners"},
    {2, 0,
     "act.glu_quant:dialect=vllm_packed|vllm_colmajor,from=*,limit=none|7,"
     "rows=5,cols=256,data=tiny"},
    {2, 0,
     "act.glu_quant:dialect=vllm_colmajor,pow2=0,scale=f32,rows=5,cols=256,"
     "data=ordinary|disjoint"},
    {2, 0,
     "act.glu_quant:dialect=vllm_packed,scale=packed|packed_mn,rows=5,"
     "cols=512,data=disjoint|ordinary"},
    {2, 0,
     "act.glu_quant:dialect=deepgemm_mega,from=*,group=32|128,"
     "limit=none|10,rows=5,cols=256,data=disjoint|limits|ordinary"},
    {2, 0, /* NaN, infinities and sigmoids that vanish */
     "act.glu_quant:dialect=deepgemm_mega,from=*,limit=none|10,rows=5,"
     "cols=256,data=corners|tiny|random"},
    {3, 100,
     "act.glu_quant:dialect=*,from=*,group=32|64|128,"
     "limit=none|7|10,pow2=*,scale=*,rows=$M,cols=256|512|1408,"
     "data=disjoint|limits|ordinary|corners"},
    {0, 0, NULL},
};

const case_family cases_act = {"act", fills, grid};
