/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of one token or two, which kernels do by ways of their own: a block
 * may have some rows of each of the tokens' experts, of some for both tokens at
 * once, codes may be widened under another exponent and activations lifted to
 * make that good.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>

/* Integers -4 .. 4 but 0, times a power of two. */
static void fill_times(host_tensor *t, prng *rng, int power)
{
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const double size = (double)(prng_below(rng, 4) + 1);
        fill_put(t, i, ldexp(prng_below(rng, 2) != 0 ? -size : size, power));
    }
}

/* All far below what their layer's weights are. */
static void fill_faint(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    fill_times(t, rng, -113);
}

/* All far above. */
static void fill_vast(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    fill_times(t, rng, 57);
}

/* One scale everywhere, 1/8. */
static void fill_eighth(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 124);
    }
}

/* Some rows have the least scale, and some a NaN among others. */
static void fill_ends(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_index_coded(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / blocks;

        if (row % 5 == 1) {
            tensor_store(t, i, 0);
        } else if (row % 11 == 3 && i % blocks == row % blocks) {
            tensor_store(t, i, 0xff);
        }
    }
}

static const fill_row fills[] = {
    {"moe.layer", "x", "faint", fill_faint},
    {"moe.layer", "x", "vast", fill_vast},
    {"moe.layer", "w13_scale", "faint", fill_eighth},
    {"moe.layer", "w13_scale", "vast", fill_eighth},
    {"moe.layer", "w2", "faint", fill_one_live},
    {"moe.layer", "w2", "vast", fill_one_live},
    {"moe.layer", "w2_scale", "faint", fill_index_coded},
    {"moe.layer", "w2_scale", "vast", fill_ends},
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    {2, 0,
     "moe.layer:profile=MARLIN|TRITON|TRITON_UNFUSED,tokens=1,topk=1|3|8,"
     "experts=9,hidden=288,inter=160,bias=f32,data=orderfree|ordinary"},
    {2, 0, /* gates apart from ups, and experts elsewhere */
     "moe.layer:profile=TRITON,rows=halves,tokens=1,topk=2|4,experts=9,"
     "hidden=160,inter=288,bias=bf16,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:profile=MARLIN|TRITON,map=1,global=12,tokens=1,topk=4|6,"
     "experts=5,hidden=160,inter=288,bias=bf16,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:profile=exact|MARLIN|TRITON,tokens=1|2,topk=2,experts=4,"
     "hidden=160,inter=96,data=faint|vast"},
    {2, 0, /* codes in another order */
     "moe.layer:conversion=mxo_hopper,profile=MARLIN|TRITON,tokens=1|3,"
     "topk=1|3,experts=9,hidden=288,inter=160,bias=bf16,"
     "data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:conversion=mxo_hopper|mxo_hopper_gate_up,rows=halves,"
     "profile=TRITON,tokens=1,topk=4,experts=9,hidden=160,inter=288,bias=bf16,"
     "data=orderfree"},
    {2, 0, /* two tokens, whose experts are the same, some, or few */
     "moe.layer:profile=MARLIN|TRITON|TRITON_UNFUSED,tokens=2,topk=3|8,"
     "experts=10|33,hidden=160,inter=96,bias=f32,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:profile=TRITON,rows=halves,tokens=2,topk=4|8,experts=9,"
     "hidden=160,inter=96,bias=bf16,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:profile=MARLIN|TRITON,map=1,global=20,tokens=2,topk=6|8,"
     "experts=9,hidden=160,inter=96,bias=bf16,data=orderfree|ordinary"},
    {2, 0,
     "moe.layer:conversion=mxo_hopper,profile=MARLIN|TRITON,tokens=2,"
     "topk=3|8,experts=10,hidden=160,inter=96,bias=bf16,"
     "data=orderfree|ordinary"},
    {2, 0, /* and where there are many blocks */
     "moe.layer:profile=TRITON,rows=interleaved|halves,tokens=1|2,topk=2,"
     "experts=3,hidden=2144,inter=1088,bias=f32,data=orderfree|faint"},
    {2, 0,
     "moe.layer:profile=TRITON,tokens=2,topk=8,experts=14,hidden=2144,"
     "inter=1088,bias=f32,data=orderfree"},
    {0, 0, NULL},
};

const case_family cases_single = {"single", fills, grid};
