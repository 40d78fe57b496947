/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What seldom meets: sizes of tiles and their neighbours in two dimensions at
 * once, and data=rare, ordinary numbers but for what few inputs hold.  A kernel
 * that skips an expert without rows, a weight of 0 or a row of zeros has a way
 * of its own for each.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Infinity, a NaN with a payload, -0 and the least number among others. */
static void fill_rare_bias(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = dtype_infinity(t->dtype) == 0 ? 0 : tensor_elems(t);

    fill_ordinary(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t bits[] = {dtype_infinity(t->dtype),
                                 dtype_infinity(t->dtype) |
                                     dtype_sign(t->dtype) | 1,
                                 dtype_sign(t->dtype), 1};
        if (i % 13 >= 9) {
            tensor_store(t, i, bits[i % 13 - 9]);
        }
    }
}

/* Of three rows the second is zero and the third near the least number. */
static void fill_rare_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = dtype_infinity(t->dtype) == 0 ? 0 : tensor_elems(t);

    (dtype_infinity(t->dtype) == 0 ? fill_random : fill_ordinary)(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (i / cols % 3 == 1) {
            tensor_store(t, i, 0);
        } else if (i / cols % 6 == 2) {
            tensor_store(t, i, 1 + prng_below(rng, 100));
        }
    }
}

/* As before; the fourth of six rows has infinities of both signs, the sixth a
   NaN at its end. */
static void fill_rare_operand(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t inf = dtype_infinity(t->dtype);

    fill_rare_rows(c, t, rng);
    for (uint64_t r = 3; inf != 0 && r * cols < tensor_elems(t); r += 6) {
        tensor_store(t, r * cols, inf);
        tensor_store(t, (r + 1) * cols - 1, inf | dtype_sign(t->dtype));
        if ((r + 3) * cols <= tensor_elems(t)) {
            tensor_store(t, (r + 3) * cols - 1, inf | 1);
        }
    }
}

/* Codes of E2M1: of four rows the second is zeros of both signs, and the third
   too, but for its last 32. */
static void fill_rare_codes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n_bytes = t->shape[t->rank - 1];

    fill_random(c, t, rng);
    for (uint64_t i = 0; t->dtype == MXO_U8 && i < t->n_bytes; i++) {
        const uint64_t row = i / n_bytes % 4;

        if (row == 1 || (row == 2 && i % n_bytes + 16 < n_bytes)) {
            t->data[i] &= 0x88;
        }
    }
}

/* Blocks of 32 by turns: zeros below zero; zeros but for the last; zeros but
   for the seventeenth, the first of a second half; zeros of both signs; and
   ordinary ones. */
static void fill_rare_blocks(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_ordinary(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = i % cols % 32;
        const uint64_t kind = (i / cols + i % cols / 32) % 5;

        if (kind == 0) {
            tensor_store(t, i, dtype_sign(t->dtype));
        } else if ((kind == 1 && at != 31) || (kind == 2 && at != 16)) {
            tensor_store(t, i, 0);
        } else if (kind == 3) {
            tensor_store(t, i, at % 2 == 0 ? 0 : dtype_sign(t->dtype));
        }
    }
}

/* An infinity at the start of every third row. */
static void fill_infinite_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = dtype_infinity(t->dtype) == 0 ? 0 : tensor_elems(t);

    fill_ordinary(c, t, rng);
    for (uint64_t i = 0; i < n; i += 3 * cols) {
        tensor_store(t, i, dtype_infinity(t->dtype));
    }
}

/* One scale of 255, in the last block of the last row. */
static void fill_last_nan(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    fill_scale_ordinary(c, t, rng);
    if (n > 0 && t->dtype == MXO_E8M0) {
        tensor_store(t, n - 1, 0xff);
    }
}

/* Tokens of positive weights; of zeros; of negative ones; with a zero first;
   of the least numbers. */
static void fill_rare_weights(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t topk = t->rank == 1 ? 1 : t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_positive(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t kind = i / topk % 5;

        if (kind == 1 || (kind == 3 && i % topk == 0)) {
            tensor_store(t, i, 0);
        } else if (kind == 2) {
            tensor_store(t, i, tensor_load(t, i) | dtype_sign(t->dtype));
        } else if (kind == 4) {
            tensor_store(t, i, 1 + i % 3);
        }
    }
}

/* Every fourth expert from the last one down, all alike: between any two of
   them three have no rows. */
static void fill_spaced_ids(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_sort = op_param_index(c->schema, "num_experts") >= 0;
    const uint64_t experts =
        is_sort ? case_count(c, "num_experts", 0) : case_dim(c, "experts");
    const uint64_t topk = t->shape[t->rank - 1];
    const uint64_t busy = (experts + 3) / 4;
    const uint64_t n = tensor_elems(t);

    if (topk > busy || c->repeats) {
        fill_distinct_ids(c, t, rng);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t j = (i / topk + i % topk) % busy;
        tensor_store(t, i, experts - 1 - 4 * j);
    }
}

/* Tokens whose first choice is the last expert; whose last choice it is; with
   one finite score less than choices; and of scores like others. */
static void fill_rare_logits(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t experts = t->shape[t->rank - 1];
    const uint64_t top_k = case_count(c, "top_k", 1);
    const uint64_t n = tensor_elems(t);

    fill_ordinary(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t kind = i / experts % 4;
        const uint64_t e = i % experts;

        if (kind == 2 && e + 1 >= top_k) {
            tensor_store(t, i, dtype_infinity(t->dtype) | dtype_sign(t->dtype));
        } else if (kind < 2 && e + 1 == experts) {
            fill_put(t, i, kind == 0 ? 90 : 45);
        } else if (kind == 1 && e + 1 < top_k) {
            fill_put(t, i, 50 + (double)e / 2);
        } else if (kind < 3 && e + 1 >= top_k) {
            fill_put(t, i, (double)prng_below(rng, 64) / 2 - 16);
        }
    }
}

/* A scale for everything: below zero, zero, NaN, infinite, -0, the least, by
   the number of rows.  Where NaN makes the whole output NaN it is first: an
   output that is all alike is judged only if it is small. */
static void fill_rare_scale(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0xbebd70a4, 0,          0x7fc00000,
                                    0x7f800000, 0x80000000, 0x00000001};
    const int is_first = strncmp(c->schema->info->name, "dequant.", 8) == 0;
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i,
                     bits[(case_dim(c, "rows") + (is_first ? 1 : 5)) % 6]);
    }
}

/* A scale that somebody gives below zero. */
static void fill_below_zero(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, -0.046630859375);
    }
}

/* The last rows of the source, in order. */
static void fill_last_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t sources = case_dim(c, "sources");
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, n - 1 - i,
                     sources == 0 ? 0 : sources - 1 - i % sources);
    }
}

/* The first group, and every third, is empty. */
static void fill_rare_sizes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, i % 3 == 0 ? 0 : 1 + prng_below(rng, 4));
    }
}

/* One row that counts. */
static void fill_one_valid(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    (void)rng;
    tensor_store(t, 0, 1);
}

static const fill_row fills[] = {
    {"act.glu", "alpha", "specials", fill_rare_constants},
    {"act.glu", "beta", "specials", fill_rare_constants},
    {"act.glu", "limit", "specials", fill_rare_constants},
    {"act.glu", "x", "specials", fill_ordinary},
    {"act.glu_quant", "topk_weight", "specials", fill_signed_weights},
    {"act.glu_quant", "*", "specials", fill_ordinary},
    {"gemm.mx", "w", "specials", fill_tail},
    {"gemm.mx", "a", "specials", fill_ordinary},
    {"gemm.mx", "?_scale", "specials", fill_scale_ordinary},
    {"moe.layer", "x", "specials", fill_rare_operand},
    {"moe.layer*", "x_scale", "specials", fill_end_scales},
    {"moe.gemm1", "x_scale", "specials", fill_end_scales},
    {"moe.*", "*_input_scale", "specials", fill_below_zero},
    {"moe.layer", "w*_scale", "specials", fill_scale_ordinary},
    {"moe.gemm1", "w*_scale", "specials", fill_scale_ordinary},
    {"moe.layer*", "w13_bias", "specials", fill_expert_biases},
    {"moe.layer*", "w2_bias", "specials", fill_expert_biases},
    {"moe.layer_routed", "correction_bias", "specials", fill_ordinary},
    {"moe.nvfp4_*", "topk_weights", "specials", fill_signed_weights},
    {"moe.permute", "num_valid", "specials", fill_one_valid},
    {"moe.permute", "x", "specials", fill_random},
    {"moe.sort", "topk_weights", "specials", fill_signed_weights},
    {"quant.scaled", "x", "specials", fill_ordinary},
    {"quant.scaled", "scale", "specials", fill_tail},
    {"quant.scaled", "global_scale", "specials", fill_rare_scale},
    {"act.glu_quant", "gate", "rare", fill_rare_rows},
    {"act.glu_quant", "up", "rare", fill_ordinary},
    {"act.glu_quant", "topk_weight", "rare", fill_rare_weights},
    {"dequant.nvfp4*", "global_scale", "rare", fill_rare_scale},
    {"gemm.mx", "a", "rare", fill_rare_operand},
    {"gemm.mx", "?_scale", "rare", fill_last_nan},
    {"gemm.mx", "w", "rare", fill_rare_codes},
    {"gemm.mx", "bias", "rare", fill_rare_bias},
    {"layout.groups", "sizes", "rare", fill_rare_sizes},
    {"moe.finalize", "x", "rare", fill_infinite_rows},
    {"moe.finalize", "topk_weights", "rare", fill_rare_weights},
    {"moe.permute", "rows", "rare", fill_last_rows},
    {"moe.sort", "topk_ids", "rare", fill_spaced_ids},
    {"moe.gemm?", "topk_ids", "rare", fill_spaced_ids},
    {"moe.layer", "topk_ids", "rare", fill_spaced_ids},
    {"moe.gemm?", "topk_weights", "rare", fill_rare_weights},
    {"moe.layer", "topk_weights", "rare", fill_rare_weights},
    {"moe.gemm1", "x", "rare", fill_rare_rows},
    {"moe.gemm2", "act", "rare", fill_rare_rows},
    {"moe.layer", "x", "rare", fill_rare_rows},
    {"moe.gemm?", "w*_scale", "rare", fill_scale_ordinary},
    {"moe.layer", "w*_scale", "rare", fill_scale_ordinary},
    {"moe.gemm?", "w*_bias", "rare", fill_rare_bias},
    {"moe.layer", "w2_bias", "rare", fill_rare_bias},
    {"quant.engine", "x", "rare", fill_rare_blocks},
    {"quant.group", "x", "rare", fill_rare_rows},
    {"quant.mx", "x", "rare", fill_rare_blocks},
    {"quant.nvfp4_engine", "x", "rare", fill_rare_blocks},
    {"quant.qdq", "x", "rare", fill_rare_blocks},
    {"quant.static", "scale", "rare", fill_rare_scale},
    {"quant.static", "x", "rare", fill_ordinary},
    {"quant.nvfp4", "global_scale", "rare", fill_rare_scale},
    {"quant.nvfp4", "x", "rare", fill_rare_rows},
    {"route.topk", "logits", "rare", fill_rare_logits},
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    {2, GRID_PAIRS,
     "gemm.mx:rows=3|64,k=64|288,cols=1|17|71|128,to=f32|bf16,"
     "data=ordinary|exact"},
    {2, 0, "gemm.mx:rows=64,k=64,cols=128,data=ordinary"},
    {2, GRID_PAIRS,
     "gemm.mx:from=bf16|f16|f32|e4m3fn,a_scale=*,acc=f32|block,bias=none|sum,"
     "bias_type=*,to=f32|bf16|f16,rows=7,k=96,cols=27,data=rare"},
    {2, 0,
     "quant.mx:from=f32,element=e2m1|e4m3fn,rows=2,cols=16416,data=ordinary"},
    {2, 0, "quant.mx:rows=257,cols=64|96,data=ordinary"},
    {2, GRID_PAIRS, "quant.mx:element=*,from=*,rows=2,cols=160,data=rare"},
    {2, GRID_PAIRS, "quant.mx:rule=*,from=*,rows=2,cols=160,data=rare"},
    {2, GRID_PAIRS,
     "quant.engine:rule=*,element=*,from=*,rows=2,cols=160,data=rare"},
    {2, GRID_PAIRS,
     "quant.nvfp4_engine:rule=*,from=*,rows=2,cols=320,data=rare"},
    {2, GRID_PAIRS, "quant.qdq:rule=*,from=*,rows=2,cols=160,data=rare"},
    {2, GRID_PAIRS,
     "quant.group:rule=deepgemm|vllm_group|aiter_token,element=e4m3fn,"
     "from=f32|bf16,group_rows=1|128,group_cols=128,pow2=*,rows=1|129,"
     "cols=257,data=ordinary|rare"},
    {2, 0,
     "dequant.group:element=e4m3fn,group_rows=1|128,group_cols=128,rows=129,"
     "cols=257,data=ordinary"},
    {2, 0,
     "quant.static:element=e4m3fn|e5m2,apply=*,rows=1|2|3|4|5|6,cols=5,"
     "data=rare"},
    {2, 0, "quant.static:rows=1,cols=1,data=ordinary"},
    {2, 0, "dequant.nvfp4:to=*,rows=1|2|3|4|5|6,cols=16,data=rare"},
    {2, 0, "quant.nvfp4:math=exact|ieee,rows=3|128,cols=16,data=ordinary"},
    {2, 0, "quant.nvfp4:math=*,rows=1|2|4|5|6,cols=48,data=rare"},
    {2, 0, "quant.nvfp4:math=*,rows=3,cols=16,data=rare"},
    {2, 0,
     "act.glu:dialect=exact|trtllm|triton,from=f16,alpha=-1.7,rows=3,"
     "cols=1|65,data=limits"},
    {2, 0,
     "act.glu:dialect=exact,layout=*,rows=1|2,cols=1024|1025,data=disjoint"},
    {2, GRID_PAIRS,
     "act.glu_quant:dialect=*,from=*,group=32|128,limit=none|7,scale=*,"
     "rows=1|7,cols=256,data=rare"},
    {2, 0, "act.unary:fn=*,n=1|15,data=ordinary"},
    {2, 0, "format.encode:format=*,from=f32,n=1,data=corners"},
    {2, 0, "route.topk:from=*,experts=33|129|257,top_k=2|8,tokens=8,data=rare"},
    {2, 0, "route.topk:experts=16,top_k=16,tokens=3,data=logits"},
    {2, GRID_PAIRS,
     "moe.sort:layout=*,num_experts=10|1025,block_size=1|4|16,top_k=1|2,"
     "tokens=1|70,data=rare"},
    {2, 0, "moe.sort:layout=*,num_experts=17,top_k=8,tokens=1,data=distinct"},
    {2, 0,
     "moe.permute:sources=300,row_bytes=15|31|33,rows=5|128|256,data=rare"},
    {2, 0, "moe.permute:sources=3,row_bytes=65537,rows=4,data=spelled"},
    {2, GRID_PAIRS,
     "moe.finalize:sum=*,from=*,weight=*,to=*,rows=40,cols=1|15,tokens=10,"
     "slots=1|3,data=rare"},
    {2, 0, "layout.groups:align=1|128,total=20480,n=9|130,data=rare"},
    {2, 0,
     "layout.apply:layout=flashinfer.128x4|flashinfer.8x4,experts=3|9,"
     "rows=129,cols=4|5,data=coded"},
    {2, 0, /* three experts without rows between any two that have some */
     "moe.gemm1:tokens=70,topk=2,experts=13,hidden=64,inter=32,bias=*,"
     "data=rare"},
    {2, 0,
     "moe.gemm2:tokens=70,topk=2,experts=13,inter=64,hidden=32,bias=*,"
     "data=rare"},
    {2, 0,
     "moe.layer:tokens=70,topk=2,experts=13,hidden=64,inter=32,"
     "bias=none|f32,profile=exact|MARLIN|TRITON|EMULATION|HUMMING,data=rare"},
    {2, 0,
     "moe.gemm2:tokens=300,topk=1,experts=4,inter=32,hidden=32,data=thin"},
    {2, 0,
     "moe.layer:tokens=300,topk=1,experts=4,hidden=32,inter=32,data=thin"},
    {2, 0, /* many rows and an odd number of blocks, or of choices */
     "moe.gemm1:tokens=65,topk=5|7,experts=9,hidden=160|288,inter=32,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm2:tokens=65,topk=5|7,experts=9,inter=160|288,hidden=32,"
     "data=orderfree"},
    {2, 0,
     "moe.layer:tokens=65,topk=5,experts=9,hidden=160|288,inter=160,"
     "data=orderfree"},
    {2, 0,
     "moe.gemm1:tokens=1,topk=8,experts=9,hidden=64,inter=32,data=orderfree"},
    {2, 0,
     "moe.gemm2:tokens=1,topk=8,experts=9,inter=64,hidden=32,data=orderfree"},
    {2, 0,
     "moe.layer:tokens=3,topk=2,experts=384,hidden=32,inter=32,"
     "data=orderfree"},
    {2, GRID_PAIRS, /* constants that no model has */
     "moe.gemm1:tokens=5,topk=2,experts=4,hidden=64,inter=32,alpha=-1.7|1,"
     "beta=-0.3|1,limit=none|inf|7,data=ordinary|corners"},
    {2, GRID_PAIRS,
     "moe.layer:tokens=5,topk=2,experts=4,hidden=64,inter=32,alpha=-1.7|1,"
     "beta=-0.3|1,limit=none|inf|7,data=ordinary"},
    {2, 0, /* its sign comes back behind the sum */
     "moe.layer:input_scale=given,quant=quant.static,quant_element=e4m3fn,"
     "quant_rule=divide|reciprocal,requant=same,bias=f32,bias1=acc,bias2=acc,"
     "tokens=5,topk=3,experts=5,hidden=64,inter=64,data=specials"},
    {2, 0, /* special numbers where others are, and weights below zero */
     "act.glu:dialect=*,per_expert=all|limit,rows=13,cols=24,"
     "experts=7,data=specials"},
    {2, 0,
     "act.glu_quant:dialect=deepgemm_mega,from=*,scale=*,rows=33,cols=256,"
     "data=specials"},
    {2, 0,
     "gemm.mx:element=bf16|f16|f32|e4m3fn|e5m2,from=bf16,rows=5,k=96,cols=27,"
     "data=specials"},
    {2, 0,
     "moe.layer:from=*,profile=exact|MARLIN|TRITON,tokens=17,topk=2,experts=5,"
     "hidden=64,inter=32,data=specials"},
    {2, 0,
     "moe.gemm1:from=e2m1,tokens=17,topk=2,experts=5,hidden=64,inter=32,"
     "data=specials"},
    {2, 0,
     "moe.layer:bias=bf16|f16|f32,profile=exact|MARLIN|TRITON|EMULATION|"
     "HUMMING,"
     "tokens=17,topk=2,experts=5,hidden=64,inter=32,data=specials"},
    {2, 0,
     "moe.layer_routed:dialect=trtllm_deepseek_v3,correction=*,tokens=9,"
     "top_k=2,experts=8,hidden=64,inter=32,data=specials"},
    {2, 0,
     "moe.layer_routed:bias=bf16|f16|f32,profile=exact|MARLIN|TRITON,tokens=17,"
     "top_k=2,experts=5,hidden=64,inter=32,data=specials"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,stage=*,tokens=35,topk=3,experts=5,inter=64,"
     "hidden=32,data=specials"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,from=bf16|f16,tokens=9,topk=2,experts=5,"
     "inter=64,hidden=32,data=tail"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,from=f16,tokens=15,topk=2,experts=5,hidden=64,"
     "inter=32,data=tail"},
    {2, 0,
     "moe.nvfp4_layer:profile=*,from=*,tokens=35,topk=3,experts=5,hidden=64,"
     "inter=32,data=specials"},
    {2, 0,
     "moe.nvfp4_layer:profile=*,from=f16,tokens=15,topk=3,experts=5,hidden=64,"
     "inter=32,data=tail"},
    {2, 0,
     "moe.permute:ids=aiter,per_pair=*,sources=5,row_bytes=33,rows=9,top_k=2,"
     "data=specials"},
    {2, 0,
     "moe.sort:layout=aiter|triton,num_experts=9,tokens=33,top_k=3,"
     "data=specials"},
    {2, 0, "quant.scaled:scale=bf16,from=*,rows=3|6,cols=288,data=specials"},
    {2, 0, "quant.scaled:scale=e4m3,from=*,rows=1|4|6,cols=288,data=specials"},
    {0, 0, NULL},
};

const case_family cases_rare = {"rare", fills, grid};
