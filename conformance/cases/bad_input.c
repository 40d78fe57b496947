/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that must be refused before anything is written: data=stray holds one
 * number that points nowhere, the first past the end, among good ones;
 * data=lost has a map whose every entry does.  Who reads what lies there gives
 * an answer, and that is the failure.
 */
#include "data/fills.h"

#include <stddef.h>
#include <string.h>

/* Numbers below end, and end itself in one place. */
static void put_stray(host_tensor *t, uint64_t end, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, end == 0 ? 0 : i % end);
    }
    if (n > 0) {
        tensor_store(t, prng_below(rng, n), end);
    }
}

static void fill_stray_id(const test_case *c, host_tensor *t, prng *rng)
{
    const int has_map = case_value(c, "map")[0] == '1';

    put_stray(t, case_dim(c, has_map ? "global" : "experts"), rng);
}

static void fill_stray_pair(const test_case *c, host_tensor *t, prng *rng)
{
    put_stray(t, case_count(c, "num_experts", 1), rng);
}

static void fill_stray_row(const test_case *c, host_tensor *t, prng *rng)
{
    put_stray(t, case_dim(c, "rows"), rng);
}

static void fill_stray_expert(const test_case *c, host_tensor *t, prng *rng)
{
    put_stray(t, case_dim(c, "experts"), rng);
}

static void fill_stray_word(const test_case *c, host_tensor *t, prng *rng)
{
    put_stray(t, case_dim(c, "vocabulary"), rng);
}

/* Every entry is past the experts there are. */
static void fill_lost(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t end = strcmp(c->schema->info->name, "moe.sort") == 0
                             ? case_count(c, "num_experts", 1)
                             : case_dim(c, "experts");

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, end + i);
    }
}

static const fill_row fills[] = {
    {"moe.layer", "topk_ids", "stray", fill_stray_id},
    {"moe.gemm*", "topk_ids", "stray", fill_stray_id},
    {"moe.layer*", "expert_map", "lost", fill_lost},
    {"moe.gemm*", "expert_map", "lost", fill_lost},
    {"moe.sort", "topk_ids", "stray", fill_stray_pair},
    {"moe.sort", "expert_map", "lost", fill_lost},
    {"moe.finalize", "index", "stray", fill_stray_row},
    {"route.topk", "tid2eid", "stray", fill_stray_expert},
    {"route.topk", "input_ids", "lost", fill_stray_word},
    {NULL, NULL, NULL, NULL},
};

#define SMALL "tokens=3,topk=2,experts=4,hidden=64,inter=64"
static const grid_row grid[] = {
    {1, 0, "moe.layer:profile=exact|MARLIN|TRITON," SMALL ",data=stray"},
    {2, 0, "moe.gemm1:profile=exact|TRITON,stage=*," SMALL ",data=stray"},
    {2, 0, "moe.gemm2:profile=exact|TRITON,stage=*," SMALL ",data=stray"},
    {2, 0,
     "moe.layer:profile=exact|MARLIN|TRITON,map=1,global=9," SMALL
     ",data=stray|lost"},
    {2, 0, "moe.gemm1:map=1,global=9," SMALL ",data=stray|lost"},
    {2, 0,
     "moe.layer_routed:map=1,global=9,tokens=3,top_k=2,experts=4,hidden=64,"
     "inter=64,data=lost"},
    {2, 0, "moe.sort:layout=*,tokens=5,top_k=2,data=stray"},
    {2, 0, "moe.sort:layout=*,local=map,tokens=5,top_k=2,experts=8,data=lost"},
    {2, 0,
     "moe.finalize:source=permuted,tokens=3,slots=2,rows=6,cols=8,data=stray"},
    {2, 0,
     "route.topk:dialect=vllm_softplus_sqrt,table=1,tokens=3,experts=8,"
     "slots=2,vocabulary=5,top_k=2,data=stray|lost"},
    {0, 0, NULL},
};

const case_family cases_bad_input = {"bad_input", fills, grid};
