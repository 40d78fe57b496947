/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantisers.  Block maxima sweep every mantissa step and the whole exponent
 * range; elements sit on midpoints; zero groups, NaN and infinity are met.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Shifts a re-quantiser meets, and a few that leave nothing. */
static void fill_offsets(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, prng_below(rng, prng_below(rng, 4) ? 4 : 12));
    }
}

/* Scale bytes below that of the given exponent, the last one its own. */
static void fill_below_k_max(const test_case *c, host_tensor *t, prng *rng)
{
    const double k_max = case_number(c, "k_max");
    const uint64_t most = k_max == -128 ? 160 : (uint64_t)(k_max + 127);
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i,
                     i + 1 == n ? most : prng_below(rng, most + (most == 0)));
    }
}

/* Scale bytes within what NVFP4 holds without loss. */
static void fill_near_bytes(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        tensor_store(t, i, 110 + prng_below(rng, 18));
    }
}

/* Scale bytes of numbers. */
static void fill_random_below_255(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        tensor_store(t, i, prng_below(rng, 255));
    }
}

/* 61/64: x / s and x * RN32(1/s) part at most midpoints. */
static const double awkward = 0.953125;

static void fill_awkward_scale(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    (void)rng;
    fill_put(t, 0, awkward);
}

/* The scale times a midpoint, so that the exact quotient is a tie. */
static void fill_scaled_ties(const test_case *c, host_tensor *t, prng *rng)
{
    const code_format *f = fill_element(c);
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t low = prng_below(rng, code_last_finite(f));
        const double tie = code_value(f, low) / 2 + code_value(f, low + 1) / 2;
        fill_put(t, i, i % 2 == 0 ? -tie * awkward : tie * awkward);
    }
}

/*
 * Every threshold of a scale rule, and the two numbers on either side: powers
 * of two, the half-up carries, the largest elements of all formats.
 */
static void fill_edges(const test_case *c, host_tensor *t, prng *rng)
{
    static const double edges[] = {1,        1.25,    1.5,     1.75,
                                   1.875,    1.9375,  1.96875, 1.984375,
                                   1.992188, 1.015625};
    const uint64_t n = tensor_elems(t);
    const int wide = dtype_bytes(t->dtype) > 2;
    const uint64_t block = strcmp(t->name, "amax") == 0 ? 1 : 32;
    double edge = 0;

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        if (i % block != 0) { /* the rest of a block stays below */
            fill_put(t, i, edge * (1.5 * fill_uniform(rng) - 0.75));
            continue;
        }
        const int far = wide && prng_below(rng, 4) == 0 ? -128 : 0;
        /* One draw per statement: C leaves the order of arguments open. */
        const double mantissa = edges[prng_below(rng, 10)];
        edge = ldexp(mantissa, (int)prng_below(rng, 40) - 20 + far);
        fill_put(t, i, edge);
        tensor_store(t, i, tensor_load(t, i) + prng_below(rng, 5) - 2);
    }
}

/* Every third row is zeros, every third one value over and over. */
static void fill_few_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t cols = t->shape[t->rank - 1];
    double one = 0;

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t kind = i / cols % 3;
        const double x = (double)prng_below(rng, 5) * 0.75 - 1.5;

        one = i % cols == 0 ? 0.375 + fill_uniform(rng) : one;
        fill_put(t, i, kind == 1 ? 0.0 : kind == 2 ? one : x);
    }
}

/* A maximum above every ordinary number, so that no scale saturates. */
static void fill_maximum(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    fill_put(t, 0, 32 + 32 * fill_uniform(rng));
}

static void fill_e2m1_codes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, i % 16);
    }
}

static const fill_row fills[] = {
    {"quant.nvfp4", "global_scale", "*", fill_positive},
    {"quant.static", "scale", "ties", fill_awkward_scale},
    {"quant.static", "scale", "*", fill_positive},
    {"quant.static", "x", "ties", fill_scaled_ties},
    {"quant.requant", "q", "ends", fill_random},
    {"quant.requant", "offset", "ends", fill_counting},
    {"quant.requant", "offset", "random", fill_offsets},
    {"quant.requant_table", "code", "*", fill_e2m1_codes},
    {"quant.requant_table", "offset", "*", fill_counting},
    {"quant.scale", "amax", "random", fill_amax},
    {"quant.scale", "amax", "corners", fill_corners},
    {"quant.scale", "amax", "edges", fill_edges},
    {"quant.mx", "x", "edges", fill_edges},
    {"quant.mx_exponent", "amax", "random", fill_amax},
    {"quant.mx_exponent", "amax", "corners", fill_corners},
    {"quant.mx_exponent", "amax", "edges", fill_edges},
    {"quant.mxfp4_to_nvfp4", "q", "random", fill_random},
    {"quant.mxfp4_to_nvfp4", "q", "near", fill_random},
    {"quant.mxfp4_to_nvfp4", "q", "ends", fill_random},
    {"quant.mxfp4_to_nvfp4", "scale", "ends", fill_below_k_max},
    {"quant.mxfp4_to_nvfp4", "scale", "near", fill_near_bytes},
    {"quant.mxfp4_to_nvfp4", "scale", "random", fill_random_below_255},
    {"quant.nvfp4_engine", "global_scale", "ordinary", fill_maximum},
    {"quant.nvfp4_engine", "global_scale", "*", fill_positive},
    {"quant.scaled", "global_scale", "*", fill_positive},
    {"quant.scaled", "scale", "*", fill_positive},
    {"quant.*", "x", "ordinary", fill_ordinary},
    {"quant.*", "x", "few", fill_few_rows},
    {"quant.*", "x", "ties", fill_ties},
    {"quant.*", "x", "amax", fill_amax},
    {"quant.*", "x", "corners", fill_corner_patches},
    {"quant.*", "x", "random", fill_random_patches},
    {NULL, NULL, NULL, NULL},
};

#define MX_ELEMENTS "e2m1|e2m3|e3m2|e4m3fn|e5m2"
#define PLAIN_RULES "floor|ceil|rceil|even"
#define TRITON_RULES                                                     \
    "triton35_up|triton35_down|triton35_kernel_up|triton35_kernel_down|" \
    "triton36_up|triton36_down"
#define VENDOR_RULES                                                         \
    TRITON_RULES                                                             \
    "|aiter_torch_rounddown|aiter_torch_roundup|aiter_torch_even|"           \
    "aiter_torch_ceil|aiter_hip_rounddown|aiter_hip_roundup|aiter_hip_even|" \
    "aiter_hip_ceil"

static const grid_row grid[] = {
    {1, 0, "quant.mx:rows=3,cols=96,data=ordinary|ties"},
    {1, 0, "quant.mx:element=e4m3fn,rows=3,cols=96,data=ordinary"},
    {2, 0,
     "quant.mx:element=" MX_ELEMENTS ",rule=" PLAIN_RULES
     ",from=*,rows=5,cols=160,data=random|ordinary|ties|amax|corners"},
    {2, 0,
     "quant.mx:element=e2m1,rule=floor|even,tie=rne|rna|rnz|rz,rows=4,"
     "cols=128,data=ties"},
    {2, 0,
     "quant.mx:element=e2m1|e4m3fn|e5m2,rule=" VENDOR_RULES
     ",rows=5,cols=128,data=ties|amax|corners"},
    {2, 0,
     "quant.mx:element=e2m1,rule=aiter_dynamic|vllm_torch|"
     "vllm_torch_ceil|vllm_cuda|torchao_rceil|ggml|quark_triton|flashinfer,"
     "rows=5,cols=128,"
     "data=random|ordinary|ties|amax|corners"},
    {2, 0,
     "quant.mx:element=e4m3fn,rule=flashinfer|vllm_torch|"
     "vllm_torch_ceil|torchao_rceil,rows=5,cols=128,"
     "data=random|ordinary|ties|amax|corners"},
    {2, 0, /* binary32, as it comes out of an activation */
     "quant.mx:element=e4m3fn,rule=trtllm_gen|aiter_flydsl|b12x_mxfp8,"
     "from=f32|bf16,rows=5,cols=128,data=random|ordinary|ties|amax|corners"},
    {2, 0,
     "quant.mx:element=e2m1,rule=aiter_flydsl,from=f32|bf16,rows=5,cols=128,"
     "data=ordinary|ties|amax"},
    {2, 0,
     "quant.mx:element=e2m1|e4m3fn,rule=flashinfer,"
     "sf_layout=linear|128x4|8x4,rows=9|130,cols=192,data=amax"},
    {2, 144,
     "quant.mx:element=e2m1|e4m3fn,rule=floor|rceil|even,from=bf16|f16,"
     "rows=$M,cols=$K,data=ordinary|amax|ties|random"},
    {2, 0,
     "quant.mx:element=e2m1|e4m3fn|e5m2|int8,rule=" PLAIN_RULES ",from=*,"
     "rows=33,cols=160,data=edges"},
    {2, 0, /* emax 0: amax up to 2^127 reaches byte 254 */
     "quant.mx:element=int8,rule=" PLAIN_RULES ",from=*,rows=17,cols=160,"
     "data=amax|ties"},
    {2, 0, "quant.mx:element=e2m1|e4m3fn,axis=0,rows=64,cols=40,data=ties"},
    {2, 0, "quant.mx:rows=2,cols=48|464|720"},
    {2, 0, /* a last block of few elements; 36, 44: words that end in it */
     "quant.mx:element=e2m1|e4m3fn|e5m2,rule=aiter_dynamic|" TRITON_RULES
     ",from=*,rows=5,cols=2|36|44|70|158,data=ordinary|amax"},
    {2, 0, /* one that lies across lanes, of a row whose axis is the first */
     "quant.mx:element=e2m1|e4m3fn,rule=aiter_dynamic|triton36_up,axis=0,"
     "rows=70,cols=40,data=ordinary"},
    {2, 0, /* rows with more room than elements */
     "quant.mx:element=e2m1|e4m3fn|int8,rule=floor|flashinfer|rceil,"
     "align=64|128|256,rows=5,cols=96|160,data=ordinary"},
    {2, 0,
     "quant.mx:element=e2m1|e4m3fn,rule=flashinfer,sf_layout=128x4|8x4,"
     "align=128|256,rows=9|130,cols=96|160,data=ordinary"},
    {2, 0,
     "quant.mx:rule=triton36_up|aiter_dynamic,align=128,rows=5,cols=70|158,"
     "data=ordinary"},
    {2, 0,
     "quant.mx:element=e4m3fnuz|e5m2fnuz,rule=" PLAIN_RULES ",from=*,rows=5,"
     "cols=160,data=ordinary|ties|amax"},
    {2, 0,
     "quant.mx:element=e2m1|e4m3fn|int8,rule=rceil_div|rceil_exact|floor_div|"
     "floor_mul|floor_nooffset,from=*,rows=5,cols=160,data=edges|amax"},
    {2, 0, /* one mantissa of 2^23 tells these rules */
     "quant.mx:element=e4m3fn|int8,rule=rceil_div|rceil_exact|floor_div|"
     "floor_mul|torchao_rceil,from=f32,rows=67,cols=160,data=edges"},
    {2, 0,
     "quant.mx:element=e2m1,sf_layout=aiter_linear|aiter|aiter_a16w4|"
     "aiter_a16w4_gate_up,q_layout=*,sf_batch=*,rows=64,cols=256,data=amax"},
    {3, 0, "quant.mx:rows=$MALL,cols=64,data=amax"},
    {3, 0,
     "quant.mx:element=e2m1|e4m3fn,rows=3,cols=$KALL,"
     "data=ordinary|ties"},
    {1, 0, "quant.engine:rule=*,from=*,rows=3,cols=96,data=ordinary|ties|amax"},
    {2, 0, "quant.engine:rule=*,from=*,rows=5,cols=128,data=random|corners"},
    {2, 0,
     "quant.engine:rule=mlx,element=e4m3fn,from=*,rows=5,cols=128,"
     "data=ordinary|ties|amax"},
    {1, 0,
     "quant.nvfp4_engine:rule=*,from=*,rows=3,cols=64,data=ordinary|ties"},
    {2, 0, "quant.nvfp4_engine:rule=*,rows=3,cols=160,data=random|corners"},
    {1, 0,
     "quant.mxfp4_to_nvfp4:lossless=*,rows=5,cols=96,k_max=127,data=random"},
    {2, 0, "quant.mxfp4_to_nvfp4:lossless=*,rows=3,cols=64,data=near"},
    {2, 0,
     "quant.mxfp4_to_nvfp4:k_max=-127|-126|-120|-117|-111|-110|-109|126,"
     "rows=3,cols=96,data=ends"},
    {2, 0, "quant.mxfp4_to_nvfp4:rows=4200,cols=32,data=ends"},
    {1, 0,
     "quant.scaled:from=*,scale=*,rows=3,cols=96,data=ordinary|ties|random"},
    {1, 0, "quant.mx_exponent:n=257,element=*,data=random|corners|edges"},
    {1, 0, "quant.q8_0:rows=3,cols=96,data=ordinary|ties|amax"},
    {3, 400,
     "quant.mx:element=*,from=*,rule=*,tie=*,sf_layout=*,rows=$M,"
     "cols=$K,data=random|ordinary|ties|amax|corners"},
    {1, 0, "quant.group:rows=2,cols=256,data=ordinary"},
    {2, 0, /* zeros under every rule for a scale of 0 */
     "quant.group:rule=*,element=e4m3fn|e2m1,pow2=*,group_cols=32,rows=6,"
     "cols=128,data=few"},
    {2, 0,
     "quant.group:element=e4m3fn|e2m1,from=*,pow2=*,rows=5,cols=256,"
     "data=random|ordinary|ties|amax|corners"},
    {2, 0,
     "quant.group:rule=vllm_group,scale=f32|e8m0|packed|packed_mn,"
     "pow2=*,rows=5,cols=512,data=ordinary|amax"},
    {2, 0,
     "quant.group:rule=deepgemm,scale=f32|packed,pow2=1,rows=5,"
     "cols=512,data=ordinary|amax"},
    {2, 0,
     "quant.group:rule=aiter_token,element=e4m3fn|e4m3fnuz,"
     "group_cols=0,rows=7,cols=128,data=ordinary|amax|corners|few"},
    {2, 0,
     "quant.group:rule=aiter_tensor,element=e4m3fn|e4m3fnuz,"
     "group_rows=0,group_cols=0,rows=5,cols=192,data=ordinary|ties"},
    {2, 0, /* an empty tensor has its one scale */
     "quant.group:rule=*,group_rows=0,group_cols=0,rows=3,cols=0"},
    {2, 0,
     "quant.group:scale=packed|packed_mn,element=e2m1,pow2=1,group_rows=0,"
     "group_cols=0,rows=0,cols=64"},
    {2, 0,
     "quant.group:group_rows=128,group_cols=128,rows=130,cols=256,"
     "data=ordinary|amax"},
    {2, 72,
     "quant.group:element=e4m3fn,pow2=*,rows=$M,cols=$K,"
     "data=ordinary|amax|random"},
    {2, 0,
     "quant.group:element=e5m2,from=*,rows=5,cols=256,data=ordinary|ties"},
    {2, 0,
     "quant.group:rule=deepgemm_mega|vllm_group_mul,pow2=*,rows=5,cols=256,"
     "data=ordinary|amax"},
    {3, 300,
     "quant.group:element=*,from=*,rule=*,pow2=*,scale=*,"
     "group_cols=32|64|128,rows=$M,cols=$K,"
     "data=random|ordinary|ties|amax|corners"},
    {3, 100,
     "quant.group:element=*,from=*,rule=*,scale=*,group_cols=0,rows=$M,"
     "cols=$K,data=ordinary|ties"},
    {1, 0, "quant.nvfp4:rows=3,cols=64,data=ordinary"},
    {2, 0,
     "quant.nvfp4:from=*,math=*,rows=5,cols=128,"
     "data=random|ordinary|ties|amax|corners"},
    {2, 0, "quant.nvfp4:rows=3,cols=464|720,data=ordinary"},
    {2, 0, /* a global scale for each row */
     "quant.nvfp4:math=fast|ieee|vllm|exact,gscales=5,rows=5,cols=64,"
     "data=ordinary"},
    {2, 0, /* scales below what E4M3 has */
     "quant.nvfp4:from=*,math=exact|vllm,rows=33,cols=128,"
     "data=random|amax|few"},
    {2, 0,
     "quant.nvfp4:from=f32,math=trtllm_gen,rows=5,cols=128,"
     "data=random|ordinary|ties|amax|corners"},
    {2, 0, "quant.nvfp4:sf_layout=*,rcp=*,rows=9|130,cols=192,data=ordinary"},
    {2, 72,
     "quant.nvfp4:from=bf16|f16,rows=$M,cols=$K,"
     "data=ordinary|amax|ties"},
    {2, 0, "quant.nvfp4:scale=*,inverted=*,rows=5,cols=128,data=ordinary|amax"},
    {2, 0, "quant.nvfp4:scale=*,global=0,rows=5,cols=128,data=ordinary|amax"},
    {3, 300,
     "quant.nvfp4:from=*,scale=*,math=*,rcp=*,inverted=*,sf_layout=*,"
     "rows=$M,cols=$K,data=random|ordinary|ties|amax"},
    {3, 50,
     "quant.nvfp4:from=*,scale=*,math=*,rcp=*,global=0,rows=$M,cols=$K,"
     "data=ordinary"},
    {2, 0,
     "quant.qdq:from=*,rule=*,rows=5,cols=160,"
     "data=random|ordinary|ties|amax|corners"},
    {2, 48, "quant.qdq:from=*,rule=*,rows=$M,cols=$K,data=ordinary|ties"},
    {2, 0, "quant.requant:container=*,rows=6,cols=192"},
    {2, 0, "quant.requant:rows=5,cols=160"},
    {2, 0, "quant.requant:container=*,rows=16,cols=512,data=ends"},
    {2, 36, "quant.requant:rows=$M,cols=$K"},
    {1, 0, "quant.requant_table:codes=16,offsets=16"},
    {1, 0, "quant.scale:n=1024"},
    {2, 0, "quant.scale:element=*,rule=*,n=1021"},
    {2, 0, "quant.scale:element=*,rule=*,n=1021,data=corners|edges"},
    {3, 0, "quant.scale:element=*,rule=*,n=65521,data=random|corners|edges"},
    {2, 0,
     "quant.static:element=*,from=*,apply=*,rows=3,cols=96,"
     "data=random|ordinary|corners"},
    {2, 0,
     "quant.static:element=*,from=f32|f16,apply=*,rows=3,cols=96,data=ties"},
    {2, 0, "quant.static:element=*,nan=*,rows=3,cols=96,data=random|corners"},
    {2, 48,
     "quant.static:element=*,from=*,apply=*,rows=$M,cols=$K,"
     "data=ordinary"},
    {0, 0, NULL},
};

const case_family cases_quant = {"quant", fills, grid};
