/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVFP4 layers.  data=orderfree (and every kind that does not say otherwise):
 * hidden states are small integers whose blocks all have one maximum, times 1
 * or 2, so that their E4M3 scales have one mantissa; scales of w13 have two
 * mantissas and four exponents.  Then every partial sum of the first GEMM is a
 * number of at most 24 bits, and every row of w2 has one live column: equality
 * is the verdict whatever the order, and the emulator refuses data that are
 * not like that.  Global scales have 24 bits and differ between experts.
 * data=ordinary has scales of every mantissa, for orders that are declared.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { BLOCK = 16, E4M3_NAN = 0x7f, MANTISSA_BITS = 3 };

/* Integers up to 4 in size, times 1 or 2 by block; one of 4 in each. */
static void fill_blocks(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, BLOCK);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t block = i % cols / BLOCK;
        const uint64_t row = i / cols;
        const int is_top = (i + start + 3 * block + row) % BLOCK == 0;
        const double size = is_top ? 4 : (double)prng_below(rng, 5);
        const double x = ldexp(size, (int)((row + block / 2 + block) % 2));

        fill_put(t, i, prng_below(rng, 2) != 0 ? -x : x);
    }
}

/* Every other token, from the second on, is NaN: no business of the rest. */
static void fill_mates(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_blocks(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (i / row % 2 == 1) {
            tensor_store(t, i, dtype_nan(t->dtype));
        }
    }
}

/* 2^-1 .. 2^2, times 1 or 1.5, coded by position. */
static void fill_window(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 8);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at =
            start + i % blocks * 3 + i / blocks * 2 + i / blocks / 5;
        tensor_store(t, i, ((6 + at % 4) << MANTISSA_BITS) + (at / 4 % 2) * 4);
    }
}

/* The same, and the scales of the expert without a token are NaN. */
static void fill_window_idle(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t experts = t->shape[0];

    fill_window(c, t, rng);
    for (uint64_t i = experts > 1 ? n - n / experts : n; i < n; i++) {
        tensor_store(t, i, E4M3_NAN);
    }
}

/* 64 neighbouring bytes from 2^-4 on, coded by position. */
static void fill_coded(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 61);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 0x18 + (start + i % cols * 7 + i / cols * 13) % 61);
    }
}

static void fill_any_scale(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 0x20 + prng_below(rng, 40));
    }
}

/* Zero, the largest, NaN, subnormals, and scales with a sign. */
static void fill_scale_ends(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint8_t bytes[] = {0x00, 0x01, 0x07, 0x08, 0x38,
                                    0x7e, 0x7f, 0x80, 0xb8, 0xfe};
    const uint64_t n = tensor_elems(t);
    const uint64_t cols = t->shape[t->rank - 1];

    fill_coded(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (i / cols % 4 == 1) {
            tensor_store(t, i, bytes[prng_below(rng, sizeof bytes)]);
        }
    }
}

/* n numbers in [low, 2 low) with 24 bits, all different. */
static void put_globals(host_tensor *t, double low, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const double part = (double)(i % 64) / 64 + fill_uniform(rng) / 64;
        fill_put(t, i, low * (1 + part));
    }
}

static void fill_a1(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    put_globals(t, 24, rng);
}

/* Sums are some hundreds and more: gates on either side of the limits. */
static void fill_alphas(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    put_globals(t, 0x1p-9, rng);
}

/* Of four experts the second and the third leave the range of their scales,
   above and below; those of the fourth are next to nothing. */
static void fill_rare_alphas(const test_case *c, host_tensor *t, prng *rng)
{
    static const double factors[] = {1, 0x1p15, 0x1p-30, 0x1p-100};
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, factors[i % 4] * 0x1p-9 * (1 + fill_uniform(rng)));
    }
}

static int is_raw(const test_case *c)
{
    const char *profile = case_value(c, "profile");
    const char *at = case_value(c, "global_at");

    return strcmp(at, "glu") == 0 ||
           (strcmp(at, "acc") != 0 &&
            strncmp(profile, "FLASHINFER_CUTLASS", 18) != 0);
}

/* The scale that gives activations E4M3 scales, raw or real ones. */
static void fill_scale_c(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_act = strcmp(c->schema->info->name, "moe.nvfp4_gemm2") == 0;

    put_globals(t, is_raw(c) && !is_act ? 0x1p-5 : 16, rng);
}

/* As a checkpoint has them: amax / 2688. */
static void fill_checkpoint_scalar(const test_case *c, host_tensor *t,
                                   prng *rng)
{
    const int is_inverse =
        strcmp(case_value(c, "scales"), "compressed_tensors") == 0;
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const double x = ldexp(1 + fill_uniform(rng), -12);
        fill_put(t, i, is_inverse ? 1 / x : x);
    }
}

/* Scales of inputs below the least normal number, or whose inverses are. */
static void fill_faint_scalar(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_inverse =
        strcmp(case_value(c, "scales"), "compressed_tensors") == 0;
    const int is_input = strstr(t->name, "input") != NULL;
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const int e = is_input ? -128 - (int)(i % 3) : (int)(i % 7) - 5;
        const double x = ldexp(1 + fill_uniform(rng), e);
        fill_put(t, i, !is_inverse ? x : is_input ? 0x1p-1 / x : 1 / x);
    }
}

/* The end of every row in turn: a number, NaN, infinities, -0, subnormal. */
static void put_ends(host_tensor *t)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t inf = dtype_infinity(t->dtype);
    const uint64_t sign = dtype_sign(t->dtype);
    const uint64_t bits[] = {dtype_nan(t->dtype), inf | sign, sign,
                             inf | sign | 1,      inf,        1};

    for (uint64_t r = 0; (r + 1) * cols <= tensor_elems(t); r++) {
        if (r % 7 != 0) {
            tensor_store(t, (r + 1) * cols - 1, bits[r % 7 - 1]);
        }
    }
}

static void fill_tail_blocks(const test_case *c, host_tensor *t, prng *rng)
{
    fill_blocks(c, t, rng);
    put_ends(t);
}

static void fill_tail_act(const test_case *c, host_tensor *t, prng *rng)
{
    fill_ordinary(c, t, rng);
    put_ends(t);
}

/* At the end of rows in turn NaN, zeros and scales with a sign; some rows have
   subnormal scales alone, as the order of a sum must not show. */
static void put_scale_ends(host_tensor *t)
{
    static const uint8_t ends[] = {0x7f, 0, 0x80, 0xff, 0xb8, 0x86};
    enum { TURNS = 17, SUBNORMAL = 5 };
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t turn = i / cols % TURNS;
        if (turn < sizeof ends && i % cols + 1 == cols) {
            tensor_store(t, i, ends[turn]);
        } else if (turn == SUBNORMAL) {
            tensor_store(t, i, i % 2 == 0 ? 4 : 6);
        }
    }
}

static void fill_tail_window(const test_case *c, host_tensor *t, prng *rng)
{
    fill_window(c, t, rng);
    put_scale_ends(t);
}

static void fill_tail_coded(const test_case *c, host_tensor *t, prng *rng)
{
    fill_coded(c, t, rng);
    put_scale_ends(t);
}

/* Every fifth token is nowhere, of the others one choice at times. */
static void fill_tail_ids(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t topk = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_distinct_ids(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / topk;
        if (row % 5 == 4 || (row % 5 == 2 && i % topk == row % topk)) {
            tensor_store(t, i, ABSENT);
        }
    }
}

static const fill_row fills[] = {
    {"moe.nvfp4_scalars", "*", "faint", fill_faint_scalar},
    {"moe.nvfp4_*", "x", "tail", fill_tail_blocks},
    {"moe.nvfp4_*", "act", "tail", fill_tail_act},
    {"moe.nvfp4_*", "w13_scale", "tail", fill_tail_window},
    {"moe.nvfp4_*", "w2_scale", "tail", fill_tail_coded},
    {"moe.nvfp4_*", "topk_ids", "tail", fill_tail_ids},
    {"moe.nvfp4_scalars", "*", "*", fill_checkpoint_scalar},
    {"moe.nvfp4_*", "x", "ordinary", fill_ordinary},
    {"moe.nvfp4_*", "x", "corners", fill_corner_patches},
    {"moe.nvfp4_*", "x", "poisoned", fill_mates},
    {"moe.nvfp4_*", "x", "orderfree", fill_blocks},
    {"moe.nvfp4_*", "x", "*", fill_blocks},
    {"moe.nvfp4_*", "act", "corners", fill_corner_patches},
    {"moe.nvfp4_*", "act", "orderfree", fill_ordinary},
    {"moe.nvfp4_*", "act", "*", fill_ordinary},
    {"moe.nvfp4_*", "w13_scale", "ordinary", fill_any_scale},
    {"moe.nvfp4_*", "w13_scale", "corners", fill_scale_ends},
    {"moe.nvfp4_*", "w13_scale", "poisoned", fill_window_idle},
    {"moe.nvfp4_*", "w13_scale", "*", fill_window},
    {"moe.nvfp4_*", "w2_scale", "ordinary", fill_any_scale},
    {"moe.nvfp4_*", "w2_scale", "corners", fill_scale_ends},
    {"moe.nvfp4_*", "w2_scale", "*", fill_coded},
    {"moe.nvfp4_*", "w13", "*", fill_random},
    {"moe.nvfp4_*", "w2", "ordinary", fill_random},
    {"moe.nvfp4_*", "w2", "corners", fill_random},
    {"moe.nvfp4_*", "w2", "*", fill_one_live},
    {"moe.nvfp4_*", "a1_gscale", "*", fill_a1},
    {"moe.nvfp4_*", "g?_alphas", "rare", fill_rare_alphas},
    {"moe.nvfp4_*", "g1_alphas", "*", fill_alphas},
    {"moe.nvfp4_*", "g2_alphas", "*", fill_alphas},
    {"moe.nvfp4_*", "g1_scale_c", "*", fill_scale_c},
    {"moe.nvfp4_*", "topk_weights", "thirds", fill_thirds},
    {"moe.nvfp4_*", "topk_weights", "*", fill_positive},
    {NULL, NULL, NULL, NULL},
};

#define SMALL "tokens=3,topk=2,experts=4,hidden=64,inter=32"
#define TINY "tokens=3,topk=2,experts=3,hidden=32,inter=16"
#define BOTH "FLASHINFER_TRTLLM_NVFP4|FLASHINFER_CUTLASS_NVFP4"
#define CUTLASS "moe.nvfp4_layer:profile=FLASHINFER_CUTLASS_NVFP4,"
/* Every step a real number rounded once, so that any implementation can have
   it without a table of its own. */
#define PLAIN_FIRST \
    "global_at=acc,quant_rule=exact,glu=exact,gemm1_out=f32|bf16,glu_out=f32,"
#define PLAIN_SECOND "requant_rule=exact,routing_type=f32,row_out=f32|bf16,"

static const grid_row grid[] = {
    {1, 0, "moe.nvfp4_layer:" SMALL ",data=orderfree"},
    {1, 0, "moe.nvfp4_gemm1:" SMALL ",data=orderfree"},
    {1, 0, "moe.nvfp4_gemm2:" SMALL ",data=orderfree"},
    {1, 0, "moe.nvfp4_scalars:experts=5,projections=2"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH
     ",tokens=1|6|17,topk=1|3,experts=5,hidden=96,"
     "inter=64,data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:profile=*,activation=silu|swiglu,tokens=8,topk=2,experts="
     "5,hidden=64,inter=32,"
     "data=rare"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,stage=*,activation=silu|swiglu,tokens=8,topk=2,"
     "experts=5,hidden=64,"
     "inter=32,data=rare"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,tokens=8,topk=2,experts=5,hidden=64,inter=32,"
     "data=rare"},
    {2, 0, /* sizes off 32, and one block */
     "moe.nvfp4_layer:profile=" BOTH
     ",tokens=2|5,topk=2,experts=3,hidden=16|48,"
     "inter=16|80,data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH
     ",activation=swiglu|silu,limit=none|3,rows=*,"
     "tokens=4,topk=2,experts=3,hidden=64,inter=32,data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH
     ",activation=swiglu,alpha=1.25,beta=0.5,limit=2,"
     "tokens=4,topk=2,experts=3,hidden=64,inter=32,data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH ",from=f16," SMALL ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH
     ",tokens=7,topk=1,experts=4,hidden=64,inter=32,"
     "data=thirds"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH ",tokens=1|5,topk=2,experts=4,hidden=64,"
     "inter=32,data=poisoned"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH
     ",tokens=9,topk=2,experts=1|4,hidden=64,inter=32,"
     "data=crowd,ids=repeated"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH
     ",map=1,global=9,experts=3,tokens=8,topk=3,"
     "hidden=64,inter=32,data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH
     ",order=exact|seq,tokens=5,topk=2,experts=4,"
     "hidden=96,inter=64,data=ordinary"},
    {2, 0,
     "moe.nvfp4_layer:profile=" BOTH ",order=exact,tokens=24,topk=2,experts=4,"
     "hidden=64,inter=64,data=corners"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=" BOTH ",stage=*,order=exact,rows=*," SMALL
     ",data=orderfree|ordinary|corners"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=FLASHINFER_CUTLASS_NVFP4,stage=*,quant_rule=*,"
     "gemm1_out=*," SMALL ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm1:profile=FLASHINFER_CUTLASS_NVFP4,order=exact,glu=exact|"
     "cutlass_swiglu|aiter_silu|vllm_silu|vllm_swigluoai,glu_out=*," SMALL
     ",data=ordinary"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=" BOTH ",stage=*,from=*,order=exact|seq," SMALL
     ",data=ordinary"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=" BOTH ",stage=row,requant_rule=*," SMALL
     ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=" BOTH ",row_out=*," SMALL ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:sum=fma|fma_ftz|product|exact,routing_type=*,tokens=3,"
     "topk=5,experts=6,"
     "hidden=48,inter=32,data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:sum=fma|fma_ftz|product|exact,out=*," SMALL
     ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:stage=row,order=exact,tokens=24,topk=2,experts=4,"
     "hidden=48,inter=64,data=corners"},
    {2, 0, /* one step declared at a time */
     CUTLASS "glu=*," TINY ",data=orderfree"},
    {2, 0, CUTLASS "quant_rule=*," TINY ",data=orderfree"},
    {2, 0, CUTLASS "requant_rule=*," TINY ",data=orderfree"},
    {2, 0, CUTLASS "gemm1_out=*," TINY ",data=orderfree"},
    {2, 0, CUTLASS "glu_out=*," TINY ",data=orderfree"},
    {2, 0, /* weights in binary32, or inside the second GEMM's epilogue */
     "moe.nvfp4_layer:profile=FLASHINFER_TRTLLM_NVFP4/modular|"
     "FLASHINFER_CUTLASS_NVFP4/fused,tokens=6,topk=1|3,experts=5,hidden=96,"
     "inter=64,data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:order=exact," PLAIN_FIRST PLAIN_SECOND
     "routing_at=acc,sum=atomic_bf16|scatter_bf16,out=bf16,tokens=24,"
     "topk=1|2,experts=4,hidden=64,inter=64,data=ordinary|corners"},
    {2, 0, CUTLASS "routing_at=acc|sum,sum=exact," TINY ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:order=exact,routing_at=acc,"
     "sum=atomic_bf16|scatter_bf16,tokens=3,topk=1,experts=3,hidden=32,"
     "inter=16,data=ordinary"},
    {2, 0, "moe.nvfp4_gemm2:routing_at=sum," TINY ",data=orderfree"},
    {2, 0, CUTLASS "routing_type=*," TINY ",data=orderfree"},
    {2, 0, CUTLASS "row_out=*," TINY ",data=orderfree"},
    {2, 0, CUTLASS "sum=fma|fma_ftz|product|exact," TINY ",data=orderfree"},
    {2, 0, CUTLASS "out=*," TINY ",data=orderfree"},
    {2, 0, CUTLASS "absent=*," TINY ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:global_at=glu,glu=trtllm_gen,order=any," TINY
     ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm1:from=f16,global_at=glu,glu=trtllm_gen,order=any," TINY
     ",data=orderfree"},
    {2, 0, "moe.nvfp4_gemm1:map=1,global=7,order=seq," TINY ",data=ordinary"},
    {2, 0,
     "moe.nvfp4_gemm2:map=1,global=7,stage=*,absent=skip|zero," TINY
     ",data=orderfree"},
    {2, 0, "moe.nvfp4_gemm2:order=any,absent=*," TINY ",data=orderfree"},
    {2, 0, /* trtllm-gen's steps behind a plain quantiser */
     "moe.nvfp4_layer:quant_rule=exact,activation=*,limit=none|3,"
     "rows=halves|up_first,tokens=5,topk=2,experts=4,hidden=64,inter=64,"
     "data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:quant_rule=exact,order=exact,activation=*,tokens=24,"
     "topk=2,experts=4,hidden=64,inter=64,data=ordinary|corners"},
    {2, 0, /* plain steps: see above */
     "moe.nvfp4_layer:" PLAIN_FIRST PLAIN_SECOND
     "sum=product,out=f32,activation=*,limit=none|3," SMALL ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_layer:order=exact," PLAIN_FIRST PLAIN_SECOND
     "sum=product,out=f32,tokens=5,topk=2,experts=4,hidden=96,inter=64,"
     "data=ordinary"},
    {2, 0,
     "moe.nvfp4_gemm1:" PLAIN_FIRST "stage=*,rows=*,activation=*," SMALL
     ",data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:" PLAIN_SECOND "stage=*,sum=product," SMALL
     ",data=orderfree"},
    {2, 0, "moe.nvfp4_scalars:scales=*,scale_c=*,experts=1|64,projections=2"},
    {2, 0,
     "moe.nvfp4_scalars:scales=*,scale_c=*,experts=9,projections=2,"
     "data=faint"},
    /* special values of each profile, behind a first tile */
    {2, 0,
     "moe.nvfp4_gemm1:profile=*,activation=*,tokens=20,topk=2,experts=11,"
     "hidden=272,inter=16,data=tail"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,tokens=20,topk=2,experts=11,inter=272,"
     "hidden=32,data=tail"},
    {2, 0,
     "moe.nvfp4_gemm2:sum=*,absent=skip|zero,tokens=37,topk=3,experts=300,"
     "inter=32,hidden=32,data=tail"},
    {2, 0,
     "moe.nvfp4_layer:profile=*,activation=*,tokens=20,topk=2,experts=11,"
     "hidden=80,inter=48,data=tail"},
    {2, 0, "moe.nvfp4_scalars:experts=5,projections=0|1|3"},
    {2, 0, "moe.nvfp4_scalars:experts=0,projections=2"},
    {2, 0, /* rows in FP16 and one rounding behind them */
     "moe.nvfp4_gemm2:sum=exact,row_out=f16,out=bf16|f16|f32,tokens=5,"
     "topk=3|7,experts=9,inter=32,hidden=32,data=orderfree"},
    {2, 0, /* ids beyond a byte */
     "moe.nvfp4_gemm1:profile=*,tokens=24,topk=4,experts=300,hidden=32,"
     "inter=16,data=orderfree"},
    {2, 0,
     "moe.nvfp4_gemm2:profile=*,tokens=24,topk=4,experts=300,inter=32,"
     "hidden=32,data=orderfree"},
    {3, 0,
     "moe.nvfp4_layer:profile=*,tokens=9|33,topk=1|4,experts=9,hidden=128|160,"
     "inter=64|128,data=orderfree"},
    {0, 0, NULL},
};

const case_family cases_nvfp4 = {"nvfp4", fills, grid};
