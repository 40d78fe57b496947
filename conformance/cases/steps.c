/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where routers and what follows them take another step: scores at a
 * threshold, the last size of a small kernel, factors that shrink, payloads of
 * NaN, counts beyond 8, 15 or 16 bits (data=steps).
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define COUNT(n) (sizeof(n) / sizeof(n)[0])

/* NaN of both signs, signalling ones too, whose payloads grow and shrink, and
   an infinity first. */
static void put_payload(host_tensor *t, uint64_t i, uint64_t e)
{
    const uint64_t sign = e % 16 == 9 ? dtype_sign(t->dtype) : 0;
    const uint64_t unit = t->dtype == MXO_F32 ? 0x10000 : 1;
    const uint64_t first =
        e % 8 == 1 ? dtype_nan(t->dtype) : dtype_infinity(t->dtype) + unit;

    if (e == 2) {
        tensor_store(t, i, dtype_infinity(t->dtype));
    } else if (e % 4 == 1) {
        tensor_store(t, i, sign | (first + unit * (e / 4 * 5 % 8)));
    }
}

/* Tokens by turns: thresholds and their neighbours; NaN by payload; one number
   in 32, the rest below all; sums around 1e-20; numbers of which two are
   beyond binary16; ordinary ones. */
static void fill_step_logits(const test_case *c, host_tensor *t, prng *rng)
{
    static const double at[] = {16, -16, 20, -20, 88, -88, 0, 1};
    const uint64_t experts = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_ordinary(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t e = i % experts;
        switch (i / experts % 6) {
        case 0:
            fill_put(t, i, at[e % 8]);
            tensor_store(t, i, tensor_load(t, i) + e / 8 % 3);
            break;
        case 1:
            put_payload(t, i, e);
            break;
        case 2:
            if (e % 32 != 3) {
                tensor_store(t, i,
                             dtype_sign(t->dtype) | dtype_infinity(t->dtype));
            }
            break;
        case 3:
            fill_put(t, i, 0x1p-68 * (double)(1 + e * 7 % 16));
            break;
        case 4:
            fill_put(t, i, -50000 - 32 * (double)(e % 400));
            break;
        default:
            break;
        }
    }
}

/* Far from the scores, between -2 and -1, and below -10000. */
static void fill_step_bias(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double u = fill_uniform(rng);
        fill_put(t, i,
                 i < 64 && i % 16 == 5 ? 30 + 30 * u
                 : i % 16 == 1         ? -1.5 - 0.25 * u
                                       : -20000 - (double)i);
    }
}

/* Experts 3 and 10 above -1, 2 below it; 9 above -10000, 1 below it: all by a
   sixteenth. */
static void fill_beside_bias(const test_case *c, host_tensor *t, prng *rng)
{
    static const double at[] = {[1] = -10000.0625,
                                [2] = -1.0625,
                                [3] = 0.25,
                                [9] = -9999.9375,
                                [10] = -0.9375};
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const int is_low = i >= COUNT(at) || at[i] == 0;
        fill_put(t, i, is_low ? -20000 - (double)i : at[i]);
    }
}

/* Scores of next to nothing. */
static void fill_beside_logits(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, -30);
    }
}

/* Weights that are subnormal. */
static void fill_faint_logits(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 1 + prng_below(rng, 0x7fffff));
    }
}

/* The last tokens; every third row is of the one behind them, in a slot that
   there is. */
static void fill_step_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const int aiter = strcmp(case_value(c, "ids"), "aiter") == 0;
    const int per_pair = case_number(c, "per_pair") != 0;
    const uint64_t top_k = case_count(c, "top_k", 1);
    const uint64_t tokens = case_dim(c, "sources") / (per_pair ? top_k : 1);
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n && tokens > 0; i++) {
        const uint64_t slot = per_pair || !aiter ? top_k - 1 : 0;
        const uint64_t token = i % 3 == 2 ? tokens : tokens - 1 - i % tokens;

        tensor_store(t, i, aiter ? slot << 24 | token : token * top_k + slot);
    }
}

/* Bytes of two tokens that are a power of two apart differ. */
static void fill_step_bytes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, (i + (i >> 8) * 3 + (i >> 16) * 5) & 0xff);
    }
}

/* More rows than there are, or fewer than none. */
static void fill_step_valid(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t rows = case_dim(c, "rows");

    (void)rng;
    tensor_store(t, 0, rows % 2 == 0 ? rows + 7 : UINT64_C(0xfffffffb));
}

/* Subnormal numbers; of five slots by turns, sums that their last bits decide
   once others have gone. */
static void fill_step_terms(const test_case *c, host_tensor *t, prng *rng)
{
    static const double five[3][5] = {
        {1, 0x1p-60, 0x1p-120, -1, -0x1p-60},
        {1, 0x1p-24, 0x1p-64, 0x1p-130, -0x1p-130},
        {1, 0x1p-24, 0x1p-58, 0x1p-130, -0x1p-130},
    };
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const int is_five = case_count(c, "top_k", 1) == 5;

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / cols;
        fill_put(t, i,
                 is_five ? five[row / 5 % 3][row % 5]
                         : 0x1p-132 * (double)(1 + i % 61));
    }
}

/* Rows by turns: a subnormal result; a sum that cancels but for its last bits;
   operands below the least normal number, far above it, at it; an infinity. */
static void fill_step_a(const test_case *c, host_tensor *t, prng *rng)
{
    static const struct {
        uint64_t k;
        double x;
    } at[6][3] = {
        {{0, 0x1.4p-127}, {1, 0}, {33, 0}},
        {{0, 1}, {1, 0x1p-60}, {33, 0x1p-110}},
        {{0, 0x1p-130}, {1, 0x1p-131}, {33, 0}},
        {{0, 0x1p100}, {1, 0}, {33, 0x1.8p100}},
        {{0, 0x1p-126}, {1, 0x1p-126}, {33, 0}},
        {{0, HUGE_VAL}, {1, 1}, {33, 0}},
    };
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 0);
    }
    for (uint64_t i = 0; cols > 33 && i < n / cols * 3; i++) {
        const uint64_t row = i / 3;
        fill_put(t, row * cols + at[row % 6][i % 3].k, at[row % 6][i % 3].x);
    }
}

static void put_bits(host_tensor *t, const uint32_t *bits, uint64_t of)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t cols = t->rank == 2 ? t->shape[1] : 1;

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, bits[i / cols % of]);
    }
}

static void fill_step_ones(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits = 0x22;

    (void)c;
    (void)rng;
    put_bits(t, &bits, 1);
}

static void fill_step_scale(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {127, 254, 0};

    (void)c;
    (void)rng;
    put_bits(t, bits, COUNT(bits));
}

static void fill_step_added(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0xbf800000, 0x00400000, 0, 0x80000001,
                                    0x7f800000};

    (void)c;
    (void)rng;
    put_bits(t, bits, COUNT(bits));
}

/* Far from 1; of few experts around 2^-105. */
static void fill_step_scalar(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const double unit = case_dim(c, "experts") < 9 ? 0x1p-105 : 0x1p-9;

    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, unit * (1 + fill_uniform(rng)));
    }
}

/* A third of the pairs has no expert, and expert 0 is here. */
static void fill_step_ids(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t experts = case_dim(c, "experts");
    const uint64_t some = experts > 0 ? experts : 1;

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, i % 3 == 1 ? UINT64_C(0xffffffff) : i % some);
    }
}

static void fill_step_map(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    uint64_t before = 0;

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const int is_here = fill_is_turned(i) != (i % 2 == 0);

        tensor_store(t, i, is_here ? before : UINT64_C(0xffffffff));
        before += (uint64_t)is_here;
    }
}

static const fill_row fills[] = {
    {"gemm.mx", "a", "steps", fill_step_a},
    {"gemm.mx", "w", "steps", fill_step_ones},
    {"gemm.mx", "w_scale", "steps", fill_step_scale},
    {"gemm.mx", "bias", "steps", fill_step_added},
    {"route.topk", "logits", "steps", fill_step_logits},
    {"route.topk", "bias", "steps", fill_step_bias},
    {"route.topk", "logits", "beside", fill_beside_logits},
    {"route.topk", "bias", "beside", fill_beside_bias},
    {"moe.layer_routed", "logits", "faint", fill_faint_logits},
    {"moe.layer_routed", "x", "faint", fill_ordinary},
    {"moe.layer_routed", "w*_scale", "faint", fill_scale_ordinary},
    {"moe.permute", "rows", "steps", fill_step_rows},
    {"moe.permute", "num_valid", "steps", fill_step_valid},
    {"moe.permute", "x", "steps", fill_step_bytes},
    {"moe.finalize", "topk_ids", "steps", fill_step_ids},
    {"moe.finalize", "expert_map", "steps", fill_step_map},
    {"moe.finalize", "x", "steps", fill_step_terms},
    {"moe.nvfp4_scalars", "*", "steps", fill_step_scalar},
    {NULL, NULL, NULL, NULL},
};

#define BIASED                                                        \
    "softmax_topk|sigmoid_topk|trtllm_deepseek_v3|trtllm_minimax2|"   \
    "vllm_softmax|vllm_sigmoid|vllm_softplus_sqrt|vllm_fused_scores|" \
    "vllm_fused_sigmoid|vllm_torch_softmax|vllm_torch_sigmoid"
#define FUSED "vllm_fused_scores|vllm_fused_sigmoid"
#define HALF_ROWS                                                         \
    "from=f16,gemm1_out=f16,glu_out=f16,routing_at=acc,routing_type=f16," \
    "row_out=f16,sum=moe_sum|cpu|atomic_bf16|experts_bf16,out=f32|bf16,"
static const grid_row grid[] = {
    {2, 0,
     "route.topk:dialect=*,from=*,top_k=8,tokens=6,experts=64,data=steps"},
    {2, 0,
     "route.topk:dialect=" BIASED ",bias=f32,from=f32|f16,renormalize=*,"
     "routed_scaling_factor=0|0.3,top_k=1|8,tokens=6,experts=64,data=steps"},
    {2, 0,
     "route.topk:dialect=vllm_softmax|vllm_sigmoid,bias=f32,top_k=8,"
     "tokens=2,experts=640,data=steps"},
    {2, 0,
     "route.topk:dialect=vllm_softmax|vllm_sigmoid|vllm_softplus_sqrt,bias=f32,"
     "from=f32,renormalize=*,top_k=7,tokens=2,experts=32|64,data=beside"},
    {2, 0,
     "route.topk:dialect=vllm_softmax|vllm_sigmoid,bias=f32,from=f32,"
     "renormalize=*,top_k=7,tokens=2,experts=60|640,data=beside"},
    {2, 0,
     "moe.layer_routed:dialect=trtllm_topk|vllm_fused_scores,top_k=1,"
     "renormalize=0,logits=f32,tokens=5,experts=8,hidden=32,inter=32,"
     "routing_type=f32,row_out=f32,out=f32,data=faint"},
    {2, 0, /* rows of one type, sums of theirs, outputs of another */
     "moe.layer:" HALF_ROWS "bias=f16,bias_type=f16,topk=3|5,tokens=5,"
     "experts=5,hidden=64,inter=96,data=ordinary"},
    {2, 0,
     "moe.layer_routed:" HALF_ROWS "bias=f16,bias_type=f16,top_k=3,tokens=5,"
     "experts=5,hidden=64,inter=96,data=ordinary"},
    {2, 0, /* the last sizes of a small kernel, and the first of another */
     "route.topk:dialect=" FUSED ",bias=f32,from=bf16,renormalize=1,"
     "routed_scaling_factor=2.7,top_k=8|22,tokens=6,experts=512|520,"
     "data=logits"},
    {2, 0,
     "route.topk:dialect=" FUSED ",bias=f32,from=bf16,renormalize=1,"
     "routed_scaling_factor=2.7,n_group=8|16,topk_group=3|4|5|8,top_k=8,"
     "tokens=6,experts=256,data=logits"},
    {2, 0,
     "route.topk:dialect=vllm_fused_scores,bias=f32,from=f32|f16,n_group=1|16,"
     "topk_group=1|8,top_k=9,tokens=6,experts=256,data=steps"},
    {2, 0, /* more choices than a warp has lanes, ids beyond a byte */
     "route.topk:dialect=*,from=f32,top_k=40,tokens=1,experts=300,"
     "data=logits"},
    {2, 0, "route.topk:also=indices,top_k=2,tokens=1030,experts=2,data=few"},
    {2, 0,
     "route.topk:dialect=trtllm_topk|vllm_fused_scores|vllm_cpu,also=packed,"
     "to=bf16,from=bf16,top_k=2,tokens=5,experts=8,data=negative"},
    {2, 0,
     "route.topk:dialect=vllm_softplus_sqrt,table=1,top_k=1,slots=1,"
     "tokens=60,experts=4,vocabulary=70000,data=logits"},
    {2, 0,
     "route.topk:dialect=trtllm_deepseek_v3,n_group=4,topk_group=2,"
     "n_shared=1|2,routed_scaling_factor=0.3,top_k=3,tokens=4,experts=32,"
     "also=none|packed,to=bf16,data=logits"},
    {2, 0,
     "moe.sort:local=range,local_expert_offset=0|2,local_num_experts=3,"
     "n_shared=0|1|2,block_size=4|512,tokens=13,top_k=3"},
    {2, 0,
     "moe.sort:layout=*,local=mask,num_experts=600,experts=600,block_size=16,"
     "tokens=20,top_k=2"},
    {2, 0,
     "moe.sort:layout=triton,n_rows=1|3,num_experts=16,tokens=5,top_k=6|9"},
    {2, 0, "moe.sort:layout=*,block_size=512,tokens=40,top_k=2"},
    {2, 0, "moe.sort:layout=*,block_size=1|16,tokens=4200,top_k=1,data=single"},
    {2, 0, "moe.sort:layout=triton,num_experts=60000,tokens=9,top_k=1"},
    {2, 0, "moe.sort:layout=aiter,num_experts=130,tokens=3,top_k=70|127"},
    {2, 0,
     "moe.permute:ids=aiter,per_pair=1,top_k=20|127,sources=2540,"
     "row_bytes=5,rows=40"},
    {2, 0,
     "moe.permute:ids=aiter,top_k=1,sources=1100000,row_bytes=1,rows=40,"
     "data=steps"},
    {2, 0,
     "moe.permute:ids=aiter,layout=*,top_k=1,sources=9,row_bytes=24,"
     "rows=40|41|64|65,pad=127,data=steps"},
    {2, 0,
     "moe.permute:ids=*,per_pair=*,top_k=3,sources=9,row_bytes=8,rows=20,"
     "data=steps"},
    {2, 0,
     "moe.finalize:sum=*,from=f32,to=f32,weight=none|f32,slots=1|3,rows=9,"
     "cols=8,tokens=4,data=steps"},
    {2, 0,
     "moe.finalize:sum=exact,source=pairs,from=f32,to=*,weight=none,top_k=5,"
     "rows=30,cols=8,data=steps"},
    {2, 0, "moe.finalize:slots=300,rows=300,cols=8,tokens=1,data=ordinary"},
    {2, 0,
     "moe.finalize:sum=fma|vllm,source=pairs,map=1,absent=*,experts=4,rows=15,"
     "cols=8,tokens=5,slots=3,data=steps"},
    {2, 0,
     "moe.finalize:sum=pairwise,slots=17|31|37,from=f32,to=f32,rows=40,cols=8,"
     "tokens=2,data=ordinary"},
    {2, 0,
     "moe.nvfp4_scalars:scales=*,scale_c=*,projections=2,experts=3|300,"
     "data=steps"},
    {2, 0,
     "gemm.mx:from=f32|bf16,acc=exact|seq|dpbf16|amx,bias=none|sum|f32,"
     "to=f32|bf16|f16,rows=12,cols=16,k=64,data=steps"},
    {2, 0, "gemm.mx:rows=1,cols=1000|65540,k=32,bias=sum,data=ordinary"},
    {2, 0, "gemm.mx:acc=split,splits=9|16,rows=2,cols=5,k=640,data=ordinary"},
    {0, 0, NULL},
};

const case_family cases_steps = {"steps", fills, grid};
