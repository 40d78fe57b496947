/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dequantisers.  Scales are coded by position so that a neighbour's scale is
 * never the right one; the table operation meets all 16 x 256 products.
 */
#include "data/fills.h"

#include <stddef.h>

/* Distinct float32 scales, none a power of two. */
static void fill_distinct(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 97);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double step = (double)((start + 31 * i) % 997);
        fill_put(t, i, 0.25 + (step + 1) / 256 + 1.0 / 4096);
    }
}

static const fill_row fills[] = {
    {"dequant.mx_table", "*", "random", fill_counting},
    {"dequant.*", "scale", "indexed", fill_index_coded},
    {"dequant.mx", "q", "highbits", fill_random},
    {"dequant.mx", "scale", "corners", fill_scale_corners},
    {"dequant.mx", "scale", "ordinary", fill_scale_ordinary},
    {"dequant.group", "scale", "ordinary", fill_distinct},
    {"dequant.group", "scale", "corners", fill_corners},
    {"dequant.nvfp4", "scale", "corners", fill_corners},
    {"dequant.nvfp4", "scale", "ordinary", fill_ordinary},
    {"dequant.nvfp4", "global_scale", "*", fill_positive},
    {"dequant.nvfp4_engine", "scale", "ordinary", fill_ordinary},
    {"dequant.nvfp4_engine", "global_scale", "*", fill_positive},
    {NULL, NULL, NULL, NULL},
};

#define MX_ELEMENTS "e2m1|e2m3|e3m2|e4m3fn|e5m2"
#define MX_RULES                                                              \
    "shift|triton_subnormal|ggml|transformers|triton35_torch|triton36_torch|" \
    "triton35_"                                                               \
    "kernel|triton36_kernel|"                                                 \
    "triton_matmul|quark_hip|quark_triton|vllm_cpu|marlin|vllm_mxfp8|ldexp|"  \
    "ocp_bf16|xpu|humming|b12x|b12x_mx"

static const grid_row grid[] = {
    {1, 0, "dequant.mx:rows=3,cols=96,data=indexed"},
    {1, 0, "dequant.mx_table:codes=16,scales=256"},
    {2, 0, "dequant.mx_table:codes=16,scales=256,rule=*,to=*"},
    {2, 0,
     "dequant.mx:element=" MX_ELEMENTS ",to=*,rows=5,cols=160,"
     "data=random|indexed|corners|ordinary"},
    {2, 0,
     "dequant.mx:rule=" MX_RULES ",to=*,rows=4,cols=192,"
     "data=random|indexed|corners"},
    {2, 0, /* a scale that rounds, and one that does not */
     "dequant.mx:element=e4m3fn|e5m2,rule=" MX_RULES ",to=*,rows=3,cols=96,"
     "data=random|corners"},
    {2, 144,
     "dequant.mx:element=e2m1,to=*,rows=$M,cols=$K,"
     "data=random|indexed"},
    {2, 72,
     "dequant.mx:element=e4m3fn|e5m2|e3m2|e2m3,to=*,rows=$M,cols=$K,"
     "data=random|indexed"},
    {2, 0,
     "dequant.mx:element=e4m3fnuz|e5m2fnuz|int8,to=*,rows=5,cols=160,"
     "data=random|indexed"},
    {2, 0,
     "dequant.mx:element=e2m1|e4m3fn,zero=positive,rows=5,cols=160,"
     "data=random|indexed"},
    {3, 0, "dequant.mx:rows=$MALL,cols=64,data=indexed"},
    {3, 0,
     "dequant.mx:rows=3,cols=$KALL,element=" MX_ELEMENTS
     ",data=random|indexed"},
    {3, 400,
     "dequant.mx:element=*,to=*,rule=*,rows=$M,cols=$K,"
     "data=random|indexed|corners|ordinary"},
    {1, 0, "dequant.group:rows=2,cols=256,data=ordinary"},
    {2, 0,
     "dequant.group:element=e4m3fn|e5m2|e4m3fnuz|e2m1,to=*,rows=5,"
     "cols=384,data=random|ordinary|corners"},
    {2, 0,
     "dequant.group:group_rows=128|1,group_cols=128|32,rows=130,"
     "cols=256,data=ordinary"},
    {2, 0, /* one static scale for the whole tensor */
     "dequant.group:element=e4m3fn|e4m3fnuz|e2m1,group_rows=0,group_cols=0,"
     "to=*,rows=5,cols=96,data=ordinary"},
    {2, 72,
     "dequant.group:element=e4m3fn|e5m2,zero=*,group_cols=32|64|128,"
     "to=*,rows=$M,cols=$K,data=random|ordinary"},
    {2, 0,
     "dequant.group:element=e2m3|e3m2|e5m2fnuz,to=*,zero=*,rows=5,cols=384,"
     "data=random|ordinary"},
    {3, 200,
     "dequant.group:element=*,to=*,zero=*,group_rows=1|32|128,"
     "group_cols=32|64|128,rows=$M,cols=$K,"
     "data=random|ordinary"},
    {1, 0,
     "dequant.nvfp4_engine:rule=*,to=*,rows=3,cols=64,data=random|ordinary"},
    {1, 0, "dequant.nvfp4:rows=3,cols=64,data=ordinary"},
    {2, 0,
     "dequant.nvfp4:to=*,rows=7,cols=208|464|720,"
     "data=random|ordinary|corners"},
    {2, 72, "dequant.nvfp4:to=*,rows=$M,cols=$K,data=random|ordinary"},
    {3, 100,
     "dequant.nvfp4:to=*,rows=$M,cols=$K,"
     "data=random|ordinary|corners"},
    {0, 0, NULL},
};

const case_family cases_dequant = {"dequant", fills, grid};
