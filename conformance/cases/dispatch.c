/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From experts to rows and back: sorting, permuting, adding up.  Experts
 * without a token, one expert with all of them, pairs that go nowhere, an
 * expert twice in one token; weights that are not exact in bf16.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static uint64_t experts_of(const test_case *c)
{
    return case_count(c, "num_experts", 1) + case_count(c, "n_shared", 0);
}

/* No expert twice in a token: a random start, up or down from there.  The last
   token begins with an expert that is here. */
static void fill_distinct(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t slots = t->shape[1] > 0 ? t->shape[1] : 1;
    const uint64_t experts = experts_of(c);
    const uint64_t n = tensor_elems(t);
    const int is_range = strcmp(case_value(c, "local"), "range") == 0;
    uint64_t start = 0;
    uint64_t stride = 1;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t draw = prng_below(rng, experts);

        start = i % slots == 0 ? draw : start;
        if (is_range && i + slots == n) {
            start = case_count(c, "local_expert_offset", 0);
        }
        stride = i % slots == 0 ? prng_below(rng, 2) : stride;
        tensor_store(
            t, i, (start + i % slots * (stride ? 1 : experts - 1)) % experts);
    }
}

/* Experts from the lower half only, or as many as a token has slots; where ids
   may repeat, some twice in a token. */
static void fill_crowded(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t slots = t->shape[1] > 0 ? t->shape[1] : 1;
    const uint64_t half = (experts_of(c) + 1) / 2;
    const uint64_t few = c->repeats || half > slots ? half : slots;
    const uint64_t n = tensor_elems(t);
    uint64_t start = 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t draw = prng_below(rng, few);

        start = c->repeats || i % slots == 0 ? draw : start + 1;
        tensor_store(t, i, start % few);
    }
}

/* All to one expert, which is not the first, and to its neighbours with their
   other slots; where ids may repeat, every pair to the one.  The last pair goes
   nowhere. */
static void fill_single(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t slots = t->shape[1] > 0 ? t->shape[1] : 1;
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t id = 3 + (c->repeats ? 0 : i % slots);

        tensor_store(t, i, i + 1 < n ? id % experts_of(c) : ABSENT);
    }
}

/* A third of the pairs goes nowhere: of the first token all, of the second and
   of the last none. */
static void fill_holes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    fill_distinct(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t token = i / t->shape[1];
        const int is_kept = token == 1 || token + 1 == t->shape[0];
        const int is_hole = prng_below(rng, 3) == 0 && !is_kept;
        if (is_hole || token == 0) {
            tensor_store(t, i, ABSENT);
        }
    }
}

/* 1/3, 0.2, 0.7 and others that have no short mantissa. */
static void fill_weights(const test_case *c, host_tensor *t, prng *rng)
{
    static const double few[] = {1.0 / 3, 0.2, 0.7, 0.15};
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t draw = prng_below(rng, 6);
        const double u = fill_uniform(rng);

        fill_put(t, i, draw < 4 ? few[draw] : 0.05 + u);
    }
}

/* Wild in every second token: a NaN or an infinity decides a token's whole sum,
   and a call of nothing else would tell little. */
static void fill_wild_weights(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t slots = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t first = n > slots ? 1 : 0;

    fill_weights(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (i / slots % 2 == first) {
            fill_corner(t, i, rng);
        }
    }
}

/* Every second expert is local, in reverse; a mask has a 1 there.  From the
   64th on each bit of the number turns that round: no lower bits of it alone
   tell. */
static void fill_map(const test_case *c, host_tensor *t, prng *rng)
{
    const int mask = strcmp(case_value(c, "local"), "mask") == 0;
    uint64_t behind = 0;

    (void)rng;
    for (uint64_t i = tensor_elems(t); i-- > 0;) {
        const int is_here = fill_is_turned(i) != (i % 2 == 1);

        tensor_store(t, i,
                     mask      ? (uint64_t)is_here
                     : is_here ? behind
                               : ABSENT);
        behind += (uint64_t)is_here;
    }
}

/* Rows of x in any order, some twice; a fifth goes nowhere. */
static void fill_index(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t rows = case_dim(c, "rows");

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = prng_below(rng, rows > 0 ? rows : 1);
        const uint64_t draw = prng_below(rng, 5);

        tensor_store(t, i, draw == 0 || rows == 0 ? ABSENT : row);
    }
}

/* The ids of experts a map knows, and none. */
static void fill_mapped_ids(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t experts = case_dim(c, "experts");

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, prng_below(rng, experts > 0 ? experts : 1));
    }
}

/* Pairs or AITER's words, a fourth of them pads. */
static void fill_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const int aiter = strcmp(case_value(c, "ids"), "aiter") == 0;
    const int per_pair = case_number(c, "per_pair") != 0;
    const uint64_t top_k = case_count(c, "top_k", 1);
    const uint64_t sources = case_dim(c, "sources");
    const uint64_t tokens = per_pair ? sources / top_k : sources;
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t token = prng_below(rng, tokens > 0 ? tokens : 1);
        const uint64_t slot = prng_below(rng, top_k);
        const int pad = prng_below(rng, 4) == 0;

        uint64_t row = pad ? tokens * top_k : token * top_k + slot;

        row = pad && slot == 0 ? ABSENT : row;
        if (aiter) {
            row = pad ? top_k << 24 | tokens : slot << 24 | token;
        }
        tensor_store(t, i, row);
    }
}

/* All but the last three rows. */
static void fill_num_valid(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t rows = case_dim(c, "rows");

    (void)rng;
    tensor_store(t, 0, rows > 3 ? rows - 3 : 0);
}

/* Bytes that spell their row and column. */
static void fill_spelled(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t cols = t->shape[t->rank - 1];

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, (i / cols * 37 + i % cols + 1) & 0xff);
    }
}

static const fill_row fills[] = {
    {"moe.sort", "topk_weights", "*", fill_weights},
    {"moe.sort", "expert_map", "*", fill_map},
    {"moe.sort", "topk_ids", "crowded", fill_crowded},
    {"moe.sort", "topk_ids", "single", fill_single},
    {"moe.sort", "topk_ids", "holes", fill_holes},
    {"moe.sort", "topk_ids", "distinct", fill_distinct},
    {"moe.sort", "topk_ids", "*", fill_distinct},
    {"moe.finalize", "index", "*", fill_index},
    {"moe.finalize", "topk_ids", "*", fill_mapped_ids},
    {"moe.finalize", "expert_map", "*", fill_map},
    {"moe.finalize", "topk_weights", "corners", fill_wild_weights},
    {"moe.finalize", "topk_weights", "tail", fill_tail},
    {"moe.finalize", "topk_weights", "thirds", fill_thirds},
    {"moe.finalize", "topk_weights", "ties", fill_tie_weights},
    {"moe.finalize", "x", "ties", fill_tie_rows},
    {"moe.finalize", "topk_weights", "*", fill_weights},
    {"moe.finalize", "x", "ordinary", fill_ordinary},
    {"moe.finalize", "x", "thirds", fill_ordinary},
    {"moe.finalize", "x", "corners", fill_corner_patches},
    {"moe.permute", "rows", "*", fill_rows},
    {"moe.permute", "num_valid", "*", fill_num_valid},
    {"moe.permute", "x", "spelled", fill_spelled},
    {NULL, NULL, NULL, NULL},
};

static const grid_row grid[] = {
    {1, 0, "moe.finalize:tokens=3,slots=4,rows=14,cols=40,data=ordinary"},
    {2, 0,
     "moe.finalize:sum=*,from=*,to=*,weight=*,tokens=4,slots=5,top_k=5,"
     "rows=22,cols=20,data=ordinary"},
    {2, 0,
     "moe.finalize:sum=*,from=*,source=pairs,tokens=4,slots=2|4|5,rows=32,"
     "cols=12,absent=*,data=ordinary"},
    {2, 0,
     "moe.finalize:sum=*,from=*,to=*,source=pairs,weight=none,"
     "top_k=2|3|4|5|8,rows=120,cols=12,data=ordinary"},
    {2, 0,
     "moe.finalize:sum=fma|vllm,source=pairs,map=1,absent=*,tokens=5,slots=3,"
     "rows=15,cols=24,experts=6,top_k=3,data=ordinary|corners"},
    {2, 0,
     "moe.finalize:sum=*,hidden_dim=17,tokens=6,slots=4,rows=25,cols=24,"
     "data=ordinary|corners"},
    {2, 0, /* double rounding gives the other code */
     "moe.finalize:sum=*,from=f32,to=bf16|f16,source=pairs,tokens=12,"
     "slots=1|2|3,rows=36,cols=20,data=ties"},
    {2, 0, /* one slot: the weight's rounding and the row's, no sum */
     "moe.finalize:sum=*,from=bf16|f32,weight=f32|bf16|f16,source=*,tokens=7,"
     "slots=1,top_k=1,rows=7,cols=20,data=thirds|corners"},
    {2, 0, /* -0 that another number is added to is 0 */
     "moe.finalize:sum=*,from=*,weight=*,tokens=12,slots=1|3,rows=40,cols=9,"
     "data=corners"},
    {2, 0, "moe.finalize:tokens=33,slots=1|9,rows=40,cols=8,data=ordinary"},
    {3, 100,
     "moe.finalize:sum=*,from=*,to=*,weight=f32|bf16|f16,tokens=$M,"
     "slots=1|2|4|8,rows=300,cols=$N,data=ordinary|corners|random"},
    {1, 0, "moe.permute:top_k=4,sources=8,row_bytes=24,rows=33,data=spelled"},
    {2, 0,
     "moe.permute:ids=*,top_k=1|3,per_pair=*,pad=0|127,layout=*,sources=9,"
     "row_bytes=13,rows=9|33,data=spelled"},
    {2, 0, /* more tokens than 16 bits hold */
     "moe.permute:ids=aiter,sources=70000,row_bytes=3,rows=40,data=spelled"},
    {1, 0, "moe.sort:layout=*,tokens=9,top_k=3,data=distinct"},
    {2, 0,
     "moe.sort:layout=*,local=all|range,num_experts=8,"
     "local_expert_offset=2,local_num_experts=3,block_size=16|32,"
     "tokens=5|40,top_k=3,data=distinct|crowded|holes|single"},
    {2, 0,
     "moe.sort:layout=*,local=map|mask,num_experts=8,experts=8,"
     "block_size=16|32,tokens=5|40,top_k=3,"
     "data=distinct|crowded|holes|single"},
    {2, 0,
     "moe.sort:layout=*,num_experts=32|5,tokens=1|2|33,top_k=1|4,"
     "block_size=16|64,data=distinct|crowded"},
    {2, 0,
     "moe.sort:layout=triton,n_rows=3|19|40,block_size=16|128,tokens=24,"
     "top_k=2,data=distinct|holes"},
    {2, 0,
     "moe.sort:layout=trtllm,n_shared=2,local=all|range,block_size=8,"
     "local_expert_offset=4,local_num_experts=4,tokens=13,top_k=3,"
     "data=distinct|crowded"},
    {2, 0, /* an expert twice in a token's choice */
     "moe.sort:layout=*,num_experts=8|3,tokens=5|40,top_k=3,"
     "data=crowded|single,ids=repeated"},
    {3, 120,
     "moe.sort:layout=*,num_experts=8|32|128,block_size=16|32|64|128,"
     "tokens=$M,top_k=1|2|4|8,data=distinct|crowded|holes|single"},
    {0, 0, NULL},
};

const case_family cases_dispatch = {"dispatch", fills, grid};
