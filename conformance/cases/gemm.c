/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products.  The sharpest data need no tolerance: in "exact" every
 * product is a multiple of one unit and the sums stay below 2^24 of it; in
 * "sweep" each row of activations has one live column, the next row the next
 * one, and every scale byte is coded by its place.  There every legal order
 * gives the same bits (bugs 3, numerics 9.2).
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* E2M1 codes, two per byte: every pattern is an ordinary number. */
static int is_packed(const host_tensor *t)
{
    return t->dtype == MXO_U8;
}

static void fill_bell(const test_case *c, host_tensor *t, prng *rng)
{
    (is_packed(t) ? fill_random : fill_ordinary)(c, t, rng);
}

/* Over 40 binades; one in 1024 is any pattern, NaN and infinity included. */
static void fill_wide(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = is_packed(t) ? 0 : tensor_elems(t);

    fill_random(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const int exponent = (int)prng_below(rng, 40) - 20;
        const double x = 2 * fill_uniform(rng) - 1;
        if (prng_below(rng, 1024) != 0) {
            fill_put(t, i, ldexp(x, exponent));
        }
    }
}

/* Halves up to 4. */
static void fill_halves(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    if (is_packed(t)) {
        fill_random(c, t, rng);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, (double)prng_below(rng, 17) / 2 - 4);
    }
}

static void fill_near_scales(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 126 + prng_below(rng, 3));
    }
}

/* Row r of the activations is zero but for column r modulo k. */
static void fill_one_column(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[1];
    const uint64_t k = case_dim(c, "k");
    const uint64_t start = prng_below(rng, k == 0 ? 1 : k);

    memset(t->data, 0, (size_t)t->n_bytes);
    for (uint64_t r = 0; r < t->shape[0] && k > 0; r++) {
        const uint64_t at = (start + r) % k;
        const double value = r % 2 == 0 ? 1.5 : -2;
        if (cols == k) {
            fill_put(t, r * cols + at, value);
        } else { /* E2M1: 1.5 is code 3, -2 is code c */
            const uint64_t code = r % 2 == 0 ? 0x3 : 0xc;
            tensor_store(t, r * cols + at / 2, code << (4 * (at % 2)));
        }
    }
}

/* No code is zero: what is left out must show. */
static void fill_nonzero_codes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        if (t->dtype == MXO_U8 &&
            strcmp(case_value(c, "element"), "e2m1") == 0) {
            const uint64_t low = 1 + prng_below(rng, 7);
            const uint64_t high = 1 + prng_below(rng, 7);
            const uint64_t signs = prng_below(rng, 4);
            tensor_store(t, i,
                         low | high << 4 | (signs & 1) << 3 | (signs & 2) << 6);
        } else {
            const double x = (double)(1 + prng_below(rng, 6)) / 2;
            fill_put(t, i, prng_below(rng, 2) != 0 ? x : -x);
        }
    }
}

/* 16 bytes around 1, coded by place: no two neighbours are equal or next. */
static void fill_coded_scales(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 16);

    (void)c;
    for (uint64_t i = 0; i < n && cols > 0; i++) {
        const uint64_t code = (start + i % cols * 7 + i / cols * 5) % 16;
        tensor_store(t, i, 120 + code);
    }
}

/* Distinct multiples of 1/64, none of them zero. */
static void fill_dyadic(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 61);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double x = (double)(1 + (start + i * 37) % 127) / 64;
        fill_put(t, i, i % 3 == 1 ? -x : x);
    }
}

static const fill_row fills[] = {
    {"gemm.mx", "?_scale", "exact", fill_near_scales},
    {"gemm.mx", "a_scale", "sweep", fill_near_scales},
    {"gemm.mx", "w_scale", "sweep", fill_coded_scales},
    {"gemm.mx", "?_scale", "typical", fill_scale_typical},
    {"gemm.mx", "?_scale", "wide", fill_random},
    {"gemm.mx", "?_scale", "indexed", fill_index_coded},
    {"gemm.q8_0", "a_scale", "random", fill_positive},
    {"gemm.q8_0", "w_scale", "random", fill_scale_typical},
    {"gemm.q8_0", "*", "random", fill_random},
    {"gemm.mx", "?_scale", "ordinary", fill_scale_ordinary},
    {"gemm.mx", "a", "sweep", fill_one_column},
    {"gemm.mx", "w", "sweep", fill_nonzero_codes},
    {"gemm.mx", "bias", "exact", fill_dyadic},
    {"gemm.mx", "bias", "sweep", fill_dyadic},
    {"gemm.mx", "bias", "*", fill_ordinary},
    {"gemm.mx", "a", "ties", fill_tie_operands},
    {"gemm.mx", "w", "ties", fill_tie_codes},
    {"gemm.mx", "w_scale", "ties", fill_tie_scales},
    {"gemm.mx", "*", "exact", fill_halves},
    {"gemm.mx", "*", "typical", fill_normal},
    {"gemm.mx", "*", "wide", fill_wide},
    {"gemm.mx", "*", "*", fill_bell},
    {NULL, NULL, NULL, NULL},
};

#define GEMM_TYPES "from=bf16|f16|f32|e4m3fn|e5m2"

static const grid_row grid[] = {
    {1, 0, "gemm.q8_0:order=*,rows=2,cols=5,k=96,data=random"},
    {1, 0, "gemm.q8_0:weights=nvfp4,rows=2,cols=5,k=128,data=random"},
    {1, 0, "gemm.mx:rows=5,cols=33,k=96,data=exact|ordinary"},
    {1, 0, "gemm.mx:acc=f32,to=bf16,rows=96,cols=33,k=96,data=sweep"},
    {2, 0,
     "gemm.mx:from=*,a_scale=*,element=*,w_scale=*,acc=block|seq|f32,sums=1,"
     "rows=2,cols=5,k=96,data=ordinary"},
    {2, 0,
     "gemm.mx:" GEMM_TYPES ",sums=*,rows=5,cols=19,k=160,"
     "data=exact|ordinary|wide|indexed|typical"},
    {2, 0,
     "gemm.mx:from=e2m1|e4m3fn|e5m2,a_scale=mx,sums=*,rows=5,cols=19,k=160,"
     "data=exact|ordinary|wide|indexed"},
    {2, 0,
     "gemm.mx:from=bf16|f16|f32|e4m3fn,element=e4m3fn|e5m2|bf16|f16|f32,"
     "w_scale=none|mx,rows=4,cols=9,k=96,data=exact|ordinary"},
    {2, 0,
     "gemm.mx:acc=exact|f32|tc25|tc13|seq|block,bias=*,bias_type=*,"
     "to=bf16|f32,rows=3,cols=9,k=64,data=exact|ordinary"},
    {2, 0,
     "gemm.mx:acc=seq|pairwise|split|block|dpbf16|amx,mul=*,"
     "bias=none|f32|to,to=f32|bf16|f16,rows=4,cols=7,k=96|160,"
     "data=ordinary|wide"},
    {2, 0,
     "gemm.mx:from=bf16|f16,acc=wgmma,bias=none|sum|to,to=f32|bf16,rows=4,"
     "cols=7,k=96|160,data=ordinary|wide"},
    {2, 0,
     "gemm.mx:acc=split,splits=2|3|4|7,mul=*,rows=4,cols=7,k=416,"
     "data=ordinary"},
    {2, 0,
     "gemm.mx:acc=exact|f32,to=f32|bf16|f16|f64,bias=none|sum|f32,rows=7,"
     "cols=17,k=128,data=ordinary"},
    /* Next to a tie: a sum that is rounded twice goes the other way. */
    {2, 0,
     "gemm.mx:from=bf16|f16|f32,acc=exact|f32,to=bf16|f16|f32,rows=8,cols=30,"
     "k=64,data=ties"},
    /* One live column per row of activations: every column has its row. */
    {2, 0,
     "gemm.mx:acc=exact|f32,to=bf16|f32,bias=none|sum,rows=416,cols=97,"
     "k=416,data=sweep"},
    {2, 0,
     "gemm.mx:from=e4m3fn|e2m1,a_scale=mx,acc=f32,to=bf16,rows=160,cols=65,"
     "k=160,data=sweep"},
    {2, 48,
     "gemm.mx:acc=exact|f32,to=bf16|f32,bias=none|sum|f32|to,rows=$M,"
     "cols=1|2|5|33|63|64|65|130,k=96|224|416,data=exact|ordinary"},
    {2, 0, "gemm.mx:acc=f32,to=bf16,rows=2,cols=5,k=2880,data=exact|ordinary"},
    /* Weights beyond 64 KiB, more than 256 rows of them. */
    {2, 0, "gemm.mx:acc=f32,to=bf16,rows=2,cols=700,k=224,data=exact"},
    /* A few rows of many: 10 % and 18 % of them. */
    {2, 0, "gemm.mx:acc=f32,to=bf16|f32,rows=100,cols=65,k=96,data=ordinary"},
    {3, 0, "gemm.mx:acc=f32,to=bf16,rows=$MALL,cols=33,k=64,data=exact"},
    {3, 0, "gemm.mx:acc=f32,to=bf16,rows=3,cols=33,k=$KALL,data=exact"},
    {3, 300,
     "gemm.mx:from=*,a_scale=*,element=*,w_scale=*,acc=exact|f32|seq|block,"
     "mul=*,bias=*,bias_type=*,to=*,rows=$M,cols=$N,k=$K,"
     "data=exact|ordinary|wide|indexed"},
    {0, 0, NULL},
};

const case_family cases_gemm = {"gemm", fills, grid};
