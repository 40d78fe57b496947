/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.sort: pairs of token and slot by expert, as each kernel family wants to
 * be told.  One counting sort finds the order; a layout is how experts are
 * padded and what is written down.  docs/ops/moe.sort.md
 */
#include "moe_sort.h"

#include <stdlib.h>
#include <string.h>

static mxo_status refuse(mxo_status status, mxo_text why, const char *sentence)
{
    return cpu_fail(status, why, "moe.sort on cpu: %s", sentence);
}

int32_t *cpu_sort_out(const sort_job *j, const char *name)
{
    return cpu_data(call_out(j->call, name));
}

void cpu_sort_fill(int32_t *to, uint64_t n, int32_t value)
{
    for (uint64_t i = 0; i < n; i++) {
        to[i] = value;
    }
}

uint64_t cpu_sort_blocks(const sort_job *j, uint64_t rows)
{
    return rows / j->block + (rows % j->block != 0);
}

/* Local number of every expert there is, -1: not here. */
static void number_experts(const sort_job *j, int32_t *local)
{
    const int64_t routed = (int64_t)(j->experts - j->shared);
    int32_t seen = 0;

    for (int64_t e = 0; e < (int64_t)j->experts; e++) {
        const int64_t from_offset = e - j->offset;

        if (e >= routed) { /* shared ones come last, on every rank */
            local[e] =
                (int32_t)(e - routed + (int64_t)j->locals - (int64_t)j->shared);
        } else if (j->kind == SORT_RANGE) {
            const int is_here = from_offset >= 0 &&
                                from_offset < (int64_t)(j->locals - j->shared);
            local[e] = is_here ? (int32_t)from_offset : -1;
        } else if (j->kind == SORT_MAP) {
            local[e] = j->map[e];
        } else if (j->kind == SORT_MASK) {
            local[e] = j->map[e] != 0 ? seen++ : -1;
        } else {
            local[e] = (int32_t)e;
        }
    }
}

/* Pairs by key, each key's in ascending order: start[key] .. start[key + 1].
   key[id] is what an id is sorted by. */
static void sort_pairs(sort_job *j, const int32_t *key)
{
    uint64_t *at = j->start + 1;

    memset(j->start, 0, (j->experts + 2) * sizeof *j->start);
    for (uint64_t i = 0; i < j->used; i++) {
        const int32_t k = j->ids[i] < 0 ? -1 : key[j->ids[i]];
        if (k >= 0) {
            at[k + 1]++;
        }
    }
    for (uint64_t e = 0; e < j->experts; e++) {
        at[e + 1] += at[e];
    }
    /* at[k] moves from the first of k to the first of k + 1. */
    for (uint64_t i = 0; i < j->used; i++) {
        const int32_t k = j->ids[i] < 0 ? -1 : key[j->ids[i]];
        if (k >= 0) {
            j->pair[at[k]++] = (int32_t)i;
        }
    }
}

static mxo_status read_params(sort_job *j, mxo_text why)
{
    static const char *const locals[] = {"all", "range", "map", "mask", NULL};
    const mxo_call *call = j->call;
    const double experts = call_number(call, "num_experts");
    const double block = call_number(call, "block_size");
    const double shared = call_number(call, "n_shared");
    const double offset = call_number(call, "local_expert_offset");
    const double here = call_number(call, "local_num_experts");
    const int is_trtllm = call_is(call, "layout", "trtllm");

    j->kind = (sort_kind)cpu_choice(call, "local", locals);
    if (experts < 1 || block < 1 || experts > INT32_MAX || block > INT32_MAX) {
        return refuse(MXO_E_PARAM, why,
                      "num_experts and block_size are at least 1");
    }
    if (shared < 0 || shared > INT32_MAX ||
        (shared > 0 && (!is_trtllm || j->kind >= SORT_MAP))) {
        return refuse(MXO_E_PARAM, why,
                      "shared experts are trtllm's, and no map knows them");
    }
    if (j->kind == SORT_RANGE &&
        (offset < 0 || here < 0 || offset + here > experts)) {
        return refuse(MXO_E_PARAM, why,
                      "local experts are not among all experts");
    }
    if (call_number(call, "n_rows") >= 0 &&
        !call_is(call, "layout", "triton")) {
        return refuse(MXO_E_PARAM, why, "only layout=triton cuts rows off");
    }
    j->shared = (uint64_t)shared;
    j->experts = (uint64_t)experts + j->shared;
    j->locals = j->kind == SORT_RANGE ? (uint64_t)here + j->shared : j->experts;
    j->offset = (int64_t)offset;
    j->block = (uint64_t)block;
    return MXO_OK;
}

static mxo_status read_tensors(sort_job *j, mxo_text why)
{
    const mxo_tensor *ids = call_in(j->call, "topk_ids");
    const mxo_tensor *map = call_in(j->call, "expert_map");
    const mxo_tensor *weights = call_in(j->call, "topk_weights");
    const uint64_t experts[1] = {j->experts};
    const double rows = call_number(j->call, "n_rows");

    if (ids == NULL || ids->rank != 2 ||
        (ids->shape[1] != 0 && ids->shape[0] > INT32_MAX / ids->shape[1])) {
        return refuse(MXO_E_SHAPE, why, "topk_ids is no matrix of 31 bits");
    }
    MXO_TRY(cpu_want(ids, "topk_ids", MXO_I32, 2, ids->shape, why));
    if (weights != NULL) {
        MXO_TRY(cpu_want(weights, "topk_weights", MXO_F32, 2, ids->shape, why));
    }
    if (j->kind >= SORT_MAP) {
        MXO_TRY(cpu_want(map, "expert_map", MXO_I32, 1, experts, why));
    }
    j->ids = cpu_data(ids);
    j->map = j->kind >= SORT_MAP ? cpu_data(map) : NULL;
    j->weights = weights == NULL ? NULL : cpu_data(weights);
    j->tokens = ids->shape[0];
    j->slots = ids->shape[1];
    j->pairs = j->tokens * j->slots;
    j->used = rows >= 0 && rows < (double)j->tokens ? (uint64_t)rows * j->slots
                                                    : j->pairs;
    return MXO_OK;
}

/* Ids and maps point to experts, or nowhere. */
static mxo_status check_data(const sort_job *j, mxo_text why)
{
    for (uint64_t i = 0; i < j->pairs; i++) {
        if (j->ids[i] < -1 || j->ids[i] >= (int64_t)j->experts) {
            return refuse(MXO_E_PARAM, why,
                          "an id is neither an expert nor -1");
        }
    }
    for (uint64_t e = 0; j->kind == SORT_MAP && e < j->experts; e++) {
        if (j->map[e] < -1 || j->map[e] >= (int64_t)j->experts) {
            return refuse(MXO_E_PARAM, why,
                          "expert_map points to no expert, and not to -1");
        }
    }
    return MXO_OK;
}

static mxo_status run_layout(sort_job *j, const sort_layout *layout,
                             mxo_text why)
{
    int32_t *own = malloc(j->experts * sizeof *own);

    j->local = malloc(j->experts * sizeof *j->local);
    j->start = malloc((j->experts + 2) * sizeof *j->start);
    j->pair = malloc((j->pairs + 1) * sizeof *j->pair);
    const int good =
        own != NULL && j->local != NULL && j->start != NULL && j->pair != NULL;

    if (good) {
        number_experts(j, j->local);
        for (uint64_t e = 0; e < j->experts; e++) {
            own[e] = (int32_t)e;
        }
        sort_pairs(j, layout->keeps_all ? own : j->local);
        layout->run(j);
    }
    free(own);
    free(j->local);
    free(j->start);
    free(j->pair);
    return good ? MXO_OK : cpu_fail(MXO_E_NOMEM, why, "no memory for pairs");
}

mxo_status cpu_moe_sort(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    sort_job j = {.call = call};
    const sort_layout *layout = cpu_sort_layout(call_text(call, "layout"));

    MXO_TRY(cpu_known(call,
                      "layout num_experts block_size local local_expert_offset "
                      "local_num_experts n_shared n_rows",
                      why));
    if (layout == NULL) {
        return refuse(MXO_E_UNSUPPORTED, why, "no such layout");
    }
    MXO_TRY(read_params(&j, why));
    MXO_TRY(read_tensors(&j, why));
    MXO_TRY(layout->check(&j, why));
    MXO_TRY(check_data(&j, why));
    MXO_TRY(run_layout(&j, layout, why));
    cpu_name_kernel(ctx, "moe_sort", 1);
    return MXO_OK;
}
