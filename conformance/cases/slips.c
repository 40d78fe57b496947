/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where one slip of a kernel's writer shows and nothing else: an index that is
 * kept in fewer bits, the second run or panel of one parameter alone, and
 * operands that a single step decides (data=slips).
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define COUNT(n) (sizeof(n) / sizeof(n)[0])

static void put_bits(host_tensor *t, const uint32_t *bits, uint64_t of)
{
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, bits[i % of]);
    }
}

static uint64_t cols_of(const host_tensor *t)
{
    return t->shape[t->rank - 1];
}

/* 27 times it is next to a tie of the result's type: rounded to binary32
   first, it is one. */
static void fill_slip_global(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_f16 = strcmp(case_value(c, "to"), "f16") == 0;

    (void)rng;
    tensor_store(t, 0, is_f16 ? 0x3c7812f7 : 0x3c371c72);
}

/* Every second row names a slot behind the last, of a token that exists. */
static void fill_slip_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t slots = case_count(c, "top_k", 1);
    const uint64_t tokens = case_dim(c, "sources") / slots;
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t slot = i % 2 == 0 ? i / 2 % slots : slots;
        tensor_store(t, i, slot << 24 | i % (tokens == 0 ? 1 : tokens));
    }
}

/* Elsewhere is any negative number, and a mask's 1 any but 0. */
static void fill_slip_map(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_mask = strcmp(case_value(c, "local"), "mask") == 0;
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t below = UINT64_C(0xfffffffe) - i;
        const uint64_t here = is_mask ? below : (n - 1 - i) / 2;
        const uint64_t absent = is_mask ? 0 : below;
        tensor_store(t, i, i % 2 == 0 ? absent : here);
    }
}

static void fill_slip_finalize(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i,
                     i % 2 == 0 ? UINT64_C(0xfffffffe) - i : (n - 1 - i) / 2);
    }
}

/* An infinity without a NaN beside it; NaN whose payloads round up, or not. */
static void fill_slip_blocks(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0x7f800000, 0x7fdfffff, 0xff800000,
                                    0xffdfffff, 0x7fcfffff, 0x7fe00000};
    const uint64_t n = tensor_elems(t);

    fill_ordinary(c, t, rng);
    for (uint64_t i = 5; i < n; i += 32) {
        const uint32_t own = bits[i / 32 % COUNT(bits)];
        tensor_store(t, i, own);
    }
}

/* The last of a group is its largest; every fourth group of 32 columns is
   nothing but zeros. */
static void fill_slip_ramp(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = cols_of(t);
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / cols;
        const double rise = (double)row + (double)(i % cols) / 1024;
        const double size = i % 2 == 0 ? 0.3 : 1;
        fill_put(t, i, i % cols / 32 % 4 == 1 ? 0 : size * (1 + rise));
    }
}

/* e^-800 under a product that makes a number of it again. */
static void fill_slip_gate(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = cols_of(t);
    const uint64_t n = tensor_elems(t);

    fill_slip_ramp(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (i / cols % 3 == 2) {
            fill_put(t, i, -800);
        }
    }
}

static void fill_slip_huge(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->rank == 2 ? cols_of(t) : 1;
    const uint64_t n = tensor_elems(t);

    fill_positive(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (i / cols % 3 == 2) {
            fill_put(t, i, 0x1p100);
        }
    }
}

static void fill_slip_scale(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0x7ef00000, 0x7f800000, 0, 0xff800000};

    (void)rng;
    tensor_store(t, 0, bits[case_dim(c, "rows") % 4]);
}

static void fill_slip_limits(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0x7f800000, 0x40e00000, 0x3e99999a};

    (void)c;
    (void)rng;
    put_bits(t, bits, COUNT(bits));
}

/* Rows by turns: a tie of binary32 and one of bfloat16, which a bias decides;
   the least normal number and half of it; a sum beyond all types; a sum that
   loses nothing but in a wide register. */
static void fill_slip_a(const test_case *c, host_tensor *t, prng *rng)
{
    static const struct {
        uint64_t k[3];
        double x[3];
    } rows[] = {
        {{0, 1, 2}, {1, 0x1p-24, 0}},
        {{0, 1, 2}, {1, 0x1p-8, 0}},
        {{0, 32, 33}, {0x1p-126, 0x1.8p-126, -0x1p-126}},
        {{0, 1, 2}, {0x1p127, 0x1.8p127, 0}},
        {{0, 1, 2}, {1, 0x1p-60, -1}},
    };
    const uint64_t cols = cols_of(t);
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 0);
        if (strcmp(case_value(c, "a_scale"), "mx") == 0) {
            tensor_store(t, i, (i * 37 + i / cols) & 0x3f);
        }
    }
    for (uint64_t r = 0; r < n / cols && t->dtype != MXO_E4M3; r++) {
        for (int e = 0; e < 3; e++) {
            const uint64_t at = rows[r % COUNT(rows)].k[e];
            if (at < cols) {
                fill_put(t, r * cols + at, rows[r % COUNT(rows)].x[e]);
            }
        }
    }
}

static void fill_slip_w(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_scaled = strcmp(case_value(c, "a_scale"), "mx") == 0;
    const uint64_t n = tensor_elems(t);

    fill_counting(c, t, rng);
    for (uint64_t i = 0; i < n && !is_scaled; i++) {
        tensor_store(t, i, 0x22);
    }
}

/* Two whose product is no binary32 number, that of the elements is; or 1. */
static void fill_slip_w_scale(const test_case *c, host_tensor *t, prng *rng)
{
    const uint32_t byte =
        strcmp(case_value(c, "a_scale"), "mx") == 0 ? 52 : 127;

    (void)rng;
    put_bits(t, &byte, 1);
}

static void fill_slip_bias(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0x21800000, 0xa1800000, 0x80800000, 0};

    (void)c;
    (void)rng;
    put_bits(t, bits, COUNT(bits));
}

/* Blocks by turns: halves under a scale of 1, and numbers that 127 / amax
   takes to another integer than 1 / (amax / 127). */
static void fill_slip_bytes(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t pair[][2] = {{0x3fbf6a6b, 0x3f3057f6},
                                       {0x3ff25836, 0x3f40bb10},
                                       {0x3fdc5b6c, 0x3ed3ae7f}};
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t b = i / 32 % 4;
        if (b == 0) {
            const double half = (double)(i % 32) - 15.5;
            fill_put(t, i, i % 32 == 0 ? 127 : half);
        } else {
            tensor_store(t, i, pair[b - 1][i % 32 != 0]);
        }
    }
}

/* Zeros below zero, and what becomes one; NaN. */
static void fill_slip_zeros(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    fill_ordinary(c, t, rng);
    for (uint64_t i = 0; i < n; i += 4) {
        fill_put(t, i, i % 8 == 0 ? -0.0 : -0x1p-14);
    }
    for (uint64_t i = 2; i < n; i += 16) {
        tensor_store(t, i, dtype_nan(t->dtype));
    }
}

/* A scale of 2^-10, halfway between E4M3's zero and its least number. */
static void fill_slip_least(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, i == 0 ? 458752 : i % 32 < 16 ? 0.75 : 1);
    }
}

/* A maximum of five quarters of 2^-24. */
static void fill_slip_tiny(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, (double)(i % 32 + 1) * 0x1.4p-29);
    }
}

static void fill_slip_codes(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0x3fffffff, 0xbfffffff, 0x3ffe0000,
                                    0xbffe0000, 0xbfff0000, 0xc0000000};

    (void)c;
    (void)rng;
    put_bits(t, bits, COUNT(bits));
}

static void fill_slip_powers(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0x00600000, 0x005fffff, 0x00600001,
                                    0x00400000, 0x00400001, 0x00c00000,
                                    0x7f7fffff, 0x7f400000};

    (void)c;
    (void)rng;
    put_bits(t, bits, COUNT(bits));
}

/* Where a result is about to leave the normal numbers. */
static void fill_slip_exponents(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, -87.375 + (double)(i % 64) / 128);
    }
}

/* Tokens by turns: scores whose sum is below 1e-20; two NaN of one sign, the
   later with more payload; numbers whose sum depends on its order. */
static void fill_slip_logits(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t experts = cols_of(t);
    const uint64_t n = tensor_elems(t);

    fill_ordinary(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t e = i % experts;
        const uint32_t one = t->dtype == MXO_F32 ? 0x10000 : 1;
        if (i / experts % 3 == 0) {
            fill_put(t, i, -50 + (double)(e * 7 % 16) / 8);
        } else if (i / experts % 3 == 1 && (e == 3 || e == 7)) {
            tensor_store(t, i, dtype_nan(t->dtype) + (e == 7 ? one : 0));
        }
    }
}

/* FP8 times six times its inverse is beyond binary16. */
static void fill_slip_small(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits = 0x38800000;

    (void)c;
    (void)rng;
    put_bits(t, &bits, 1);
}

/* Products of gate and up beyond every type. */
static void fill_slip_alphas(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0x75800000, 0x7f000000};

    (void)c;
    (void)rng;
    put_bits(t, bits, COUNT(bits));
}

static const fill_row fills[] = {
    {"act.glu", "gate", "slips", fill_corner_patches},
    {"act.glu", "up", "slips", fill_corner_patches},
    {"act.glu", "limit", "slips", fill_slip_limits},
    {"act.glu_quant", "gate", "slips", fill_slip_gate},
    {"act.glu_quant", "topk_weight", "slips", fill_slip_huge},
    {"act.glu_quant", "up", "slips", fill_slip_huge},
    {"act.glu_quant", "x", "slips", fill_slip_ramp},
    {"act.unary", "x", "slips", fill_slip_exponents},
    {"dequant.nvfp4", "global_scale", "slips", fill_slip_global},
    {"format.e8m0_encode", "x", "slips", fill_slip_powers},
    {"format.encode", "x", "slips", fill_slip_codes},
    {"gemm.mx", "a", "slips", fill_slip_a},
    {"gemm.mx", "w", "slips", fill_slip_w},
    {"gemm.mx", "?_scale", "slips", fill_slip_w_scale},
    {"gemm.mx", "bias", "slips", fill_slip_bias},
    {"moe.finalize", "expert_map", "slips", fill_slip_finalize},
    {"moe.nvfp4_gemm1", "g1_alphas", "slips", fill_slip_alphas},
    {"moe.nvfp4_gemm1", "x", "slips", fill_ordinary},
    {"moe.permute", "rows", "slips", fill_slip_rows},
    {"moe.sort", "expert_map", "slips", fill_slip_map},
    {"quant.engine", "x", "slips", fill_slip_tiny},
    {"quant.group", "x", "slips", fill_slip_ramp},
    {"quant.mx", "x", "slips", fill_slip_blocks},
    {"quant.nvfp4", "global_scale", "slips", fill_slip_small},
    {"quant.nvfp4_engine", "x", "slips", fill_slip_least},
    {"quant.q8_0", "x", "slips", fill_slip_bytes},
    {"quant.scaled", "x", "slips", fill_slip_zeros},
    {"quant.static", "scale", "slips", fill_slip_scale},
    {"quant.static", "x", "slips", fill_corners},
    {"route.topk", "logits", "slips", fill_slip_logits},
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    {2, 0, "act.glu:rows=65600,cols=1,gather=1,picks=65537,data=disjoint"},
    {2, 0,
     "act.glu:per_expert=limit,tile=1,experts=300,rows=600,cols=8,"
     "data=limits"},
    {2, 0,
     "act.glu:dialect=trtllm_gen|exact,layout=split,per_expert=limit,"
     "experts=5,rows=9,cols=64,data=slips"},
    {2, 0, "act.glu_quant:dialect=*,group=32,rows=3,cols=256,data=slips"},
    {2, 0, "act.unary:fn=exp_u20,n=64,data=slips"},
    {2, 0, "dequant.mx:rows=131085,cols=32,data=indexed"},
    {2, 0, "dequant.nvfp4:to=*,rows=5,cols=208,data=slips"},
    {2, 0, "format.e8m0_encode:rule=*,n=64,data=slips"},
    {2, 0, "format.encode:format=int8,n=64,data=slips"},
    {2, 0, "gemm.mx:rows=2,cols=500,k=32,bias=sum,data=ordinary"},
    {2, 0,
     "gemm.mx:acc=exact,bias=sum,to=f32|bf16,from=f32,rows=773,cols=4,k=64,"
     "data=slips"},
    {2, 0, "gemm.mx:acc=exact,to=bf16,from=f32,rows=10,cols=4,k=64,data=slips"},
    {2, 0,
     "gemm.mx:acc=amx|dpbf16,bias=none|f32,to=f32|bf16,rows=10,cols=4,k=64,"
     "data=slips"},
    {2, 0,
     "gemm.mx:acc=block,from=e4m3fn,a_scale=mx,rows=3,cols=5,k=64,"
     "data=slips"},
    {2, 0,
     "moe.finalize:sum=fma|vllm,slots=9|22,from=f32,to=f32,rows=90,cols=300,"
     "tokens=4,data=ordinary"},
    {2, 0,
     "moe.finalize:sum=exact,slots=12,from=f32,to=f32|bf16,rows=50,cols=8,"
     "tokens=3,data=random"},
    {2, 0,
     "moe.finalize:map=1,experts=8,rows=9,cols=8,tokens=4,slots=2,"
     "data=slips"},
    {2, 0,
     "moe.gemm1:per_expert=all,tokens=20,topk=4,experts=70,hidden=32,inter=8,"
     "data=ordinary"},
    {2, 0,
     "moe.gemm1:stage=gemm,order=streamk_bf16,splits=2,gemm1_out=bf16,"
     "tokens=3,topk=2,experts=3,hidden=80,inter=8,data=ordinary"},
    {2, 0,
     "moe.gemm2:stage=row,order=streamk_bf16,splits=2,row_out=bf16,tokens=3,"
     "topk=2,experts=3,inter=80,hidden=8,data=ordinary"},
    {2, 0,
     "moe.gemm1:glu=aiter_ck,glu_out=bf16sat,limit=none,from=f32,tokens=8,"
     "topk=2,experts=4,hidden=32,inter=32,data=corners"},
    {2, 0,
     "moe.nvfp4_gemm1:order=exact,glu_out=bf16sat,tokens=3,topk=2,experts=4,"
     "hidden=32,inter=16,data=slips"},
    {2, 0,
     "moe.gemm2:sum=by_expert,ids=repeated,routing_at=rounded,row_out=f32,"
     "out=f32,tokens=20,topk=6,experts=4,inter=32,hidden=32,data=ordinary"},
    {2, 0,
     "moe.gemm2:sum=moe_sum,absent=skip,routing_at=rounded,map=1,global=16,"
     "experts=8,topk=12,tokens=40,inter=32,hidden=256,data=ordinary"},
    {2, 0,
     "moe.nvfp4_gemm1:tokens=2,topk=1,experts=2,hidden=16,inter=1040,"
     "data=ordinary"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,tokens=30,topk=4,experts=150,hidden=16,inter="
     "16,"
     "data=ordinary"},
    {2, 0, "moe.permute:ids=pair,sources=70000,row_bytes=3,rows=40,data=rare"},
    {2, 0,
     "moe.permute:ids=aiter,per_pair=1,top_k=2,sources=70,row_bytes=3,rows=40,"
     "data=slips"},
    {2, 0, "moe.sort:layout=aiter,tokens=65541,top_k=1"},
    {2, 0,
     "moe.sort:layout=deepgemm|trtllm,num_experts=600,block_size=128,"
     "tokens=700,top_k=2"},
    {2, 0,
     "moe.sort:layout=vllm,num_experts=65000,block_size=1,tokens=17,top_k=1"},
    {2, 0, "moe.sort:layout=aiter,local=range,tokens=7,top_k=2"},
    {2, 0,
     "moe.sort:layout=*,local=mask,num_experts=9,experts=9,tokens=17,top_k=3,"
     "data=slips"},
    {2, 0, "quant.engine:rule=*,rows=2,cols=64,data=slips"},
    {2, 0,
     "quant.group:rule=deepgemm|deepgemm_mega,group_rows=1|128,"
     "group_cols=32,rows=130,cols=256,data=slips"},
    {2, 0, "quant.mx:rows=131085,cols=32,data=ordinary"},
    {2, 0,
     "quant.mx:sf_layout=linear|8x4,align=128,rows=2,cols=16448,data=ordinary"},
    {2, 0, "quant.mx:sf_layout=aiter,rows=33,cols=1312,data=ordinary"},
    {2, 0,
     "quant.mx:rule=aiter_torch_even|torchao_rceil,element=e2m1|e2m3|e3m2,"
     "from=f32,rows=3,cols=192,data=slips"},
    {2, 0,
     "quant.mx:rule=vllm_torch,element=e5m2|e4m3fn,tie=rz|rne,from=f32,"
     "rows=3,cols=192,data=slips"},
    {2, 0, "quant.nvfp4:gscales=300,rows=300,cols=16,data=ordinary"},
    {2, 0, "quant.nvfp4:from=e4m3,scale=*,rows=2,cols=64,data=slips"},
    {2, 0, "quant.nvfp4_engine:rule=modelopt,rows=2,cols=64,data=slips"},
    {2, 0, "quant.q8_0:rows=2,cols=128,data=slips"},
    {2, 0, "quant.scaled:from=*,scale=*,rows=3,cols=64,data=slips"},
    {2, 0, "quant.static:apply=*,rows=4|5|6|7,cols=64,data=slips"},
    {2, 0,
     "route.topk:dialect=sigmoid_topk|softmax_topk|trtllm_sigmoid_renorm|"
     "trtllm_minimax2|trtllm_topk|vllm_sigmoid,from=*,top_k=8,renormalize=1,"
     "tokens=9,experts=64,data=slips"},
    {2, 0, "route.topk:also=indices,tokens=300,experts=8,data=logits"},
    {2, 0, "route.topk:also=packed,to=bf16,tokens=9,experts=600,data=logits"},
    {2, 0,
     "route.topk:dialect=vllm_fused_sigmoid,bias=bf16|f32,tokens=9,"
     "experts=300,data=logits"},
    {0, 0, NULL},
};

const case_family cases_slips = {"slips", fills, grid};
