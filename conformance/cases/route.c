/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routers.  Logits that tie inside and across groups, rows of one value, both
 * zeros, NaN and infinities of either sign, sigmoids that saturate, rows of
 * neighbours one code apart, rows without a positive number; biases that no
 * bf16 holds and that change the choice.
 */
#include "data/fills.h"

#include <stddef.h>

static uint64_t experts_of(const host_tensor *t)
{
    return t->shape[t->rank - 1] > 0 ? t->shape[t->rank - 1] : 1;
}

/* Bell-shaped within +-8, mantissas of 24 bits. */
static void fill_logits(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        double sum = -2;

        for (int k = 0; k < 4; k++) {
            sum += fill_uniform(rng);
        }
        fill_put(t, i, 4 * sum);
    }
}

static void fill_negative(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, -0.25 - 6 * fill_uniform(rng));
    }
}

/* Five values and both zeros; every third row holds one value only, every
   fourth nothing but zeros. */
static void fill_few(const test_case *c, host_tensor *t, prng *rng)
{
    static const double values[] = {0, -0.0, 1.5, 2.25, -1.5, 0.375, -3};
    const uint64_t n = tensor_elems(t);
    double one = 0;

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / experts_of(t);
        const double x = values[prng_below(rng, row % 4 == 3 ? 2 : 7)];

        one = i % experts_of(t) == 0 ? x : one;
        fill_put(t, i, row % 3 == 2 ? one : x);
    }
}

/* Every score comes again 32 experts further on, in odd rows 48: ties between
   warps, and weights that differ all the same. */
static void fill_apart(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / experts_of(t);
        const uint64_t period = row % 2 != 0 ? 48 : 32;
        const uint64_t step = (i % experts_of(t) * 13 + row * 7) % period;

        fill_put(t, i, (double)step / 8 - 2);
    }
}

/* From 12 to 40 up and down, where a fast tanh is already 1. */
static void fill_saturated(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double size = 12 + 28 * fill_uniform(rng);

        fill_put(t, i, prng_below(rng, 2) != 0 ? size : -size);
    }
}

/* A row of neighbours: the largest is one code above the next. */
static void fill_neighbours(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    uint64_t step = 0;

    fill_logits(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t first = i / experts_of(t) * experts_of(t);

        step = prng_below(rng, 5);
        tensor_store(t, i, tensor_load(t, first) + step);
    }
}

/* Ordinary, but a NaN, an infinity, one below zero or a NaN below zero in
   one place or two of a row; every fifth row holds nothing but infinities. */
static void fill_specials(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t sign = dtype_sign(t->dtype);
    const uint64_t infinity = dtype_infinity(t->dtype);

    fill_logits(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / experts_of(t);
        const uint64_t draw = prng_below(rng, experts_of(t));
        const uint64_t kind = prng_below(rng, 4);
        const uint64_t special =
            (infinity + (row % 5 != 4 && kind < 2)) | (kind % 2 ? sign : 0);

        if (draw < 2 || row % 5 == 4) {
            tensor_store(t, i, special);
        }
    }
}

/* Between -6 and 6, no two of a row alike in 16 bits. */
static void fill_routed(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t experts = t->shape[1];
    const uint64_t n = tensor_elems(t);
    const uint64_t step = experts % 7 == 0 ? 1 : 7;
    uint64_t start = 0;

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        start = i % experts == 0 ? prng_below(rng, experts) : start;
        const double place = (double)((start + step * i) % experts);
        fill_put(t, i, 12 * place / (double)experts - 6 + place / 64);
    }
}

/* One score of every second token is NaN or infinite, in turn. */
static void fill_routed_specials(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t special[] = {0x7fc00000, 0xff800000, 0x7f800000};
    const uint64_t tokens = t->shape[0];

    fill_routed(c, t, rng);
    for (uint64_t row = 0; row < tokens; row += 2) {
        const uint64_t at =
            row * experts_of(t) + prng_below(rng, experts_of(t));
        const uint32_t bits = special[row / 2 % 3];

        tensor_store(t, at, t->dtype == MXO_F32 ? bits : bits >> 16);
    }
}

/* Scores whose sigmoids add up to some 1e-20. */
static void fill_faint(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, -44 - 8 * fill_uniform(rng));
    }
}

/* Within +-1/2, mantissas no bf16 holds; enough to change the choice. */
static void fill_bias(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, fill_uniform(rng) - 0.5);
    }
}

/* The same, and every third one far below what a chosen expert gets. */
static void fill_bias_low(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    fill_bias(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (prng_below(rng, 3) != 0) {
            fill_put(t, i, -20000 - (double)i);
        }
    }
}

/* Indices below a dimension. */
static void fill_below(const test_case *c, host_tensor *t, prng *rng,
                       const char *dim)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t bound = case_dim(c, dim);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, prng_below(rng, bound > 0 ? bound : 1));
    }
}

static void fill_input_ids(const test_case *c, host_tensor *t, prng *rng)
{
    fill_below(c, t, rng, "vocabulary");
}

static void fill_table(const test_case *c, host_tensor *t, prng *rng)
{
    fill_below(c, t, rng, "experts");
}

/* A possible choice of a kernel: distinct experts, the last ones first. */
static void fill_picked(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t experts = case_dim(c, "experts");
    const uint64_t slots = case_dim(c, "chosen");

    (void)rng;
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        tensor_store(t, i,
                     experts == 0 ? 0 : experts - 1 - i % slots % experts);
    }
}

static const fill_row fills[] = {
    {"route.topk", "picked", "*", fill_picked},
    {"route.topk", "input_ids", "*", fill_input_ids},
    {"route.topk", "tid2eid", "*", fill_table},
    {"route.topk", "bias", "lowbias", fill_bias_low},
    {"route.topk", "bias", "*", fill_bias},
    {"route.topk", "logits", "logits", fill_logits},
    {"route.topk", "logits", "lowbias", fill_logits},
    {"route.topk", "logits", "negative", fill_negative},
    {"route.topk", "logits", "few", fill_few},
    {"route.topk", "logits", "apart", fill_apart},
    {"route.topk", "logits", "saturated", fill_saturated},
    {"route.topk", "logits", "neighbours", fill_neighbours},
    {"route.topk", "logits", "specials", fill_specials},
    {"route.topk", "logits", "faint", fill_faint},
    {"moe.layer_routed", "logits", "specials", fill_routed_specials},
    {"moe.layer_routed", "logits", "*", fill_routed},
    {"moe.layer_routed", "x", "specials", fill_ordinary},
    {"moe.layer_routed", "w*_scale", "specials", fill_scale_ordinary},
    {"route.topk", "logits", "corners", fill_corners},
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    {1, 0, "route.topk:tokens=3,experts=32,data=logits|few"},
    {2, 0,
     "route.topk:dialect=softmax_topk|topk_softmax|sigmoid_topk,from=*,to=*,"
     "renormalize=*,tokens=5,experts=32,data=logits"},
    {2, 0,
     "route.topk:dialect=softmax_topk|topk_softmax|sigmoid_topk|"
     "trtllm_default|trtllm_renormalize|trtllm_deepseek_v3|"
     "trtllm_renormalize_naive|trtllm_topk|trtllm_sigmoid_renorm|"
     "trtllm_minimax2|trtllm_sigmoid|trtllm_topk_sigmoid|vllm_softmax|"
     "vllm_sigmoid|vllm_softplus_sqrt|vllm_fused_scores|vllm_fused_sigmoid|"
     "vllm_torch_softmax|vllm_torch_sigmoid|vllm_cpu|triton35_topk_softmax|"
     "triton35_softmax_topk|triton37_topk_softmax|triton37_softmax_topk,"
     "from=bf16,to=bf16,renormalize=1,top_k=3,tokens=5,experts=16,"
     "data=logits|few|specials|negative"},
    {2, 0,
     "route.topk:dialect=softmax_topk|topk_softmax|sigmoid_topk|"
     "vllm_softmax|vllm_sigmoid|vllm_fused_sigmoid|"
     "vllm_torch_sigmoid|trtllm_sigmoid|trtllm_renormalize|vllm_cpu,"
     "from=f32,top_k=4,tokens=4,experts=20,"
     "data=logits|neighbours|saturated|specials"},
    {2, 0, /* vLLM has no kernel for 20 experts, nor for 24 */
     "route.topk:dialect=vllm_softplus_sqrt,from=f32,top_k=4,tokens=4,"
     "experts=32|192,data=logits|neighbours|saturated|specials"},
    {2, 0,
     "route.topk:dialect=vllm_softplus_sqrt,bias=f32,renormalize=*,"
     "routed_scaling_factor=2.5,from=f32,tokens=5,experts=32|64,"
     "data=logits|few|lowbias"},
    {2, 0,
     "route.topk:dialect=vllm_fused_sigmoid|trtllm_sigmoid_renorm,from=f32,"
     "renormalize=*,top_k=2|4,tokens=5,experts=128,"
     "data=saturated|specials|negative|few"},
    {2, 0, /* each of them where all of them choose the same one */
     "route.topk:dialect=*,top_k=1,from=f32,to=bf16|f32,tokens=9,experts=24,"
     "data=logits"},
    {2, 0,
     "route.topk:dialect=trtllm_llama4,top_k=1,to=bf16,from=*,tokens=9,"
     "experts=16,data=logits|few|saturated"},
    {2, 0,
     "route.topk:dialect=softmax_topk|sigmoid_topk|trtllm_deepseek_v3|"
     "vllm_fused_scores|vllm_fused_sigmoid|vllm_torch_softmax|"
     "vllm_torch_sigmoid,bias=none|f32|bf16,n_group=4,topk_group=2,top_k=3,"
     "renormalize=1,routed_scaling_factor=2.5,tokens=5,experts=32,"
     "data=logits|few"},
    {2, 0,
     "route.topk:dialect=softmax_topk|sigmoid_topk|trtllm_deepseek_v3|"
     "trtllm_minimax2|vllm_softmax|vllm_sigmoid|"
     "vllm_fused_sigmoid|vllm_torch_sigmoid,bias=f32,renormalize=*,"
     "routed_scaling_factor=2.5,from=f32,tokens=5,experts=24,"
     "data=logits|few|lowbias"},
    {2, 0, /* vLLM's warps and blocks add, and blank, in different ways */
     "route.topk:dialect=vllm_softmax|vllm_sigmoid,bias=f32,"
     "from=bf16|f32,tokens=2,experts=1|2|8|64|60|192|320|512,top_k=1,"
     "data=logits|lowbias"},
    {2, 0, /* the general kernel of vLLM's fused router */
     "route.topk:dialect=vllm_fused_scores|vllm_fused_sigmoid,bias=f32,"
     "from=*,top_k=9,n_group=1|4,renormalize=*,routed_scaling_factor=2.5,"
     "tokens=5,experts=64,data=logits|few|specials"},
    {2, 0,
     "route.topk:dialect=trtllm_deepseek_v3,n_group=4,topk_group=2,"
     "n_shared=2,top_k=3,to=bf16,bias=f32,tokens=4,experts=32,"
     "also=none|packed,data=logits"},
    {2, 0,
     "route.topk:dialect=vllm_softmax|softmax_topk,also=indices,tokens=7,"
     "experts=8,data=logits"},
    {2, 0,
     "route.topk:dialect=vllm_softplus_sqrt,table=1,top_k=4,slots=4,"
     "renormalize=*,routed_scaling_factor=1.5,tokens=6,experts=16,"
     "vocabulary=11,data=logits"},
    {2, 0, "route.topk:top_k=8|1,tokens=1|33,experts=8,data=logits"},
    {2, 0, "route.topk:top_k=2,tokens=1024|1025,experts=8,data=logits"},
    {2, 0, /* more choices than experts above -10000, or above -1 */
     "route.topk:dialect=vllm_softmax|vllm_sigmoid|vllm_softplus_sqrt,bias=f32,"
     "from=f32,top_k=8,tokens=3,experts=16|24,data=lowbias"},
    {2, 0, /* biases that are one bf16 decide between neighbours */
     "route.topk:dialect=trtllm_deepseek_v3,bias=f32,from=f32,top_k=8,"
     "n_group=1|4,topk_group=1,tokens=3,experts=256,data=neighbours"},
    {2, 0, /* sigmoids that add up to zero */
     "route.topk:dialect=trtllm_deepseek_v3|trtllm_minimax2|"
     "trtllm_sigmoid_renorm,renormalize=1,from=f32,top_k=2,tokens=16,"
     "experts=2,data=saturated"},
    {2, 0, /* a factor that binary32 does not have */
     "route.topk:dialect=vllm_fused_scores|vllm_fused_sigmoid,renormalize=*,"
     "routed_scaling_factor=2.7,from=f32,bias=f32,top_k=4,tokens=5,experts=32,"
     "data=logits"},
    {2, 0, /* what keeps a sum from zero is as large as the sum */
     "route.topk:dialect=sigmoid_topk|trtllm_deepseek_v3|trtllm_sigmoid_renorm|"
     "trtllm_minimax2|vllm_sigmoid|vllm_fused_sigmoid|vllm_torch_sigmoid,"
     "renormalize=1,from=f32,to=f32,top_k=2,tokens=9,experts=32,data=faint"},
    {2, 0, /* groups whose scores are NaN or infinite */
     "route.topk:dialect=trtllm_deepseek_v3|vllm_fused_sigmoid|"
     "vllm_torch_softmax|vllm_torch_sigmoid,from=*,n_group=4,topk_group=2,"
     "top_k=3,tokens=16,experts=32,data=specials"},
    {2, 0,
     "route.topk:dialect=vllm_cpu,from=bf16|f16,to=f32,renormalize=*,top_k=4,"
     "tokens=5,experts=24,data=logits"},
    {2, 0, /* a kernel's limits, and one more: emu/route/limits.def */
     "route.topk:dialect=trtllm_default|trtllm_topk|trtllm_sigmoid_renorm|"
     "trtllm_sigmoid,top_k=8|9,tokens=2,experts=256|257,data=logits"},
    {2, 0,
     "route.topk:dialect=trtllm_renormalize|trtllm_renormalize_naive,"
     "top_k=32|33,tokens=2,experts=96|2048,data=logits"},
    {2, 0,
     "route.topk:dialect=trtllm_llama4,top_k=1|2,tokens=2,experts=128|129,"
     "data=logits"},
    {2, 0,
     "route.topk:dialect=trtllm_deepseek_v3,n_group=8|16,topk_group=4|5,"
     "top_k=3,tokens=2,experts=64,data=logits"},
    {2, 0, /* a limit that grows with the experts */
     "route.topk:dialect=trtllm_deepseek_v3,n_group=4,topk_group=2,"
     "top_k=8|9|22|23,tokens=2,experts=384|388,data=logits"},
    {2, 0, /* limits that only groups have */
     "route.topk:dialect=trtllm_deepseek_v3,top_k=9|23,tokens=2,experts=256,"
     "data=logits"},
    {2, 0,
     "route.topk:dialect=trtllm_deepseek_v3,n_group=4,topk_group=1,"
     "top_k=3|4,tokens=2,experts=16,data=logits"},
    {2, 0,
     "route.topk:dialect=vllm_softplus_sqrt,top_k=2,tokens=2,"
     "experts=2|3|60|64|128|160|191|192|255|256|300|320|512|575|576|640|1024,"
     "data=logits"},
    {2, 0,
     "route.topk:dialect=vllm_fused_scores|vllm_fused_sigmoid,bias=f32,"
     "n_group=32|64,topk_group=3,top_k=3,tokens=2,experts=128,data=logits"},
    {2, 0,
     "route.topk:dialect=vllm_fused_scores|vllm_fused_sigmoid,bias=f32,"
     "top_k=32|33|40,tokens=2,experts=128,data=logits"},
    {2, 0,
     "moe.layer_routed:dialect=vllm_softplus_sqrt,top_k=2,tokens=3,"
     "experts=8|12,hidden=32,inter=32,data=orderfree"},
    {2, 0, /* biases and factors of other routers */
     "moe.layer_routed:dialect=sigmoid_topk|softmax_topk|vllm_softmax|"
     "vllm_sigmoid|vllm_fused_sigmoid|vllm_torch_sigmoid,correction=f32|bf16,"
     "routed_scaling_factor=1|2.7|-2.5,top_k=3,logits=f32,tokens=5,experts=32,"
     "hidden=32,inter=32,data=orderfree"},
    {2, 0, /* logits that are no numbers */
     "moe.layer_routed:dialect=softmax_topk|topk_softmax|sigmoid_topk|"
     "trtllm_deepseek_v3|vllm_softmax|vllm_sigmoid,top_k=3,logits=f32|bf16,"
     "tokens=16,experts=32,hidden=32,inter=32,data=specials"},
    {2, 0, /* a factor that binary32 does not have */
     "moe.layer_routed:dialect=vllm_fused_scores|vllm_fused_sigmoid,"
     "correction=f32,routed_scaling_factor=2.7,renormalize=*,top_k=3,"
     "logits=f32,tokens=5,experts=32,hidden=32,inter=32,routing_type=f32,"
     "row_out=f32,out=f32,data=ordinary"},
    {2, 0, /* the ends of what the kernels' own exponentials give */
     "route.topk:bounds=1,dialect=softmax_topk|sigmoid_topk|vllm_cpu,"
     "chosen=4,tokens=3,experts=24,data=logits"},
    {3, 300,
     "route.topk:dialect=*,from=*,to=*,renormalize=*,top_k=1|2|4|8,"
     "tokens=$M,experts=8|32|60|128|256,data=*"},
    {0, 0, NULL},
};

const case_family cases_route = {"route", fills, grid};
