/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts.  Every element says where it was: bytes are coded by position, so
 * that any two near each other differ; indices walk over the whole range.
 */
#include "fills.h"

#include <stddef.h>

/* Indices: the ends of the range, every edge of 2^31 and 2^32, and draws. */
static void fill_positions(const test_case *c, host_tensor *t, prng *rng)
{
    static const int64_t edges[] = {
        0,           1,           2147483647,  2147483648,  2147483649,
        4294967295,  4294967296,  4294967297,  -1,          8589934592,
    };
    const uint64_t units = (uint64_t)(case_number(c, "experts") *
                                      case_number(c, "rows") *
                                      case_number(c, "cols"));
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t high = prng_below(rng, 1u << 30);
        const uint64_t low = prng_below(rng, 1u << 30);
        const uint64_t draw = high << 30 | low;
        if (i < sizeof edges / sizeof edges[0]) {
            tensor_store(t, i, (uint64_t)edges[i]);
        } else if (i % 2 == 0 || units == 0) {
            tensor_store(t, i, draw % (2 * units + 64));
        } else {
            tensor_store(t, i, units - 1 - draw % (units < 64 ? units : 64));
        }
    }
}

static const fill_row fills[] = {
    {"layout.apply", "x", "random", fill_random},
    {"layout.apply", "x", "coded", fill_index_coded},
    {"layout.convert", "*", "random", fill_random},
    {"layout.convert", "*", "coded", fill_index_coded},
    {"layout.index", "at", "random", fill_positions},
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    {1, 0,
     "layout.apply:experts=1|3,rows=128|130|31,cols=4|5|90,data=coded"},
    {2, 0,
     "layout.apply:dir=inverse,experts=2,rows=256,cols=8,keep_rows=0|130,"
     "keep_cols=0|5"},
    {2, 0, "layout.apply:dtype=*,experts=2,rows=130,cols=5"},
    {1, 0,
     "layout.convert:conversion=identity|trtllm_gptoss,experts=3,inter=128,"
     "hidden=128,data=coded"},
    {2, 0, "layout.convert:experts=1,inter=128,hidden=384,input_scale=*"},
    {2, 0,
     "layout.convert:conversion=identity,experts=2,inter=32,hidden=96,bias=*,scale=*,"
     "input_scale=*"},
    {1, 0, "layout.index:rows=5760|1,cols=90|1,n=97"},
    {2, 0,
     "layout.index:dir=*,experts=128,rows=65537|131072,cols=511|512,n=997"},
    {0, 0, NULL},
};

const case_family cases_layout = {"layout", fills, grid};
