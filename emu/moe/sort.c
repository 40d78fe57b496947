/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.sort: from the experts of each token to the rows of a grouped GEMM.
 * Here are the checks and the walk over pairs; what each vendor's kernel
 * wants to be told is in sort_<layout>.c.  docs/ops/moe.sort.md
 */
#include "sort.h"

static const sort_layout *const layouts[] = {
    &mxo_sort_aiter,  &mxo_sort_deepgemm, &mxo_sort_triton,
    &mxo_sort_trtllm, &mxo_sort_vllm,
};

static const char *const locals[] = {"all", "range", "map", "mask"};

int64_t mxo_sort_local(const sort_plan *p, uint64_t pair)
{
    const int32_t id = (int32_t)mxo_load(p->ids, pair);
    int64_t local = -1;

    if (id < 0) {
        return -1;
    }
    if ((uint64_t)id >= p->num_experts - p->n_shared) {
        return id - (int64_t)(p->num_experts - p->n_local);
    }
    switch (p->local) {
    case SORT_ALL:
        return id;
    case SORT_RANGE:
        local = id - (int64_t)p->offset;
        return local < (int64_t)(p->n_local - p->n_shared) ? local : -1;
    case SORT_MAP:
        return (int32_t)mxo_load(p->map, (uint64_t)id);
    default:
        for (uint64_t e = 0; e <= (uint64_t)id; e++) {
            local += mxo_load(p->map, e) != 0;
        }
        return mxo_load(p->map, (uint64_t)id) != 0 ? local : -1;
    }
}

uint64_t mxo_sort_next(const sort_plan *p, uint64_t e, uint64_t from)
{
    while (from < p->used && mxo_sort_local(p, from) != (int64_t)e) {
        from++;
    }
    return from;
}

uint64_t mxo_sort_blocks(const sort_plan *p, uint64_t rows)
{
    return (rows + p->block - 1) / p->block;
}

void mxo_sort_fill(const mxo_tensor *t, uint32_t code)
{
    for (uint64_t i = 0; i < mxo_tensor_elems(t); i++) {
        mxo_store(t, i, code);
    }
}

static mxo_status check_params(const mxo_call *call, mxo_text why)
{
    static const char *const keys[] = {"num_experts", "block_size"};

    for (int i = 0; i < 2; i++) {
        if (mxo_call_int(call, keys[i]) < 1) {
            return mxo_fail(MXO_E_PARAM, why, "moe.sort: %s is at least 1",
                            keys[i]);
        }
    }
    const int64_t shared = mxo_call_int(call, "n_shared");

    if (shared < 0 || (shared > 0 && !mxo_call_is(call, "layout", "trtllm"))) {
        return mxo_fail(MXO_E_PARAM, why,
                        "moe.sort: only layout=trtllm has shared experts");
    }
    if (shared > 0 && !mxo_call_is(call, "local", "all") &&
        !mxo_call_is(call, "local", "range")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "moe.sort: expert_map does not know shared experts");
    }
    const int64_t offset = mxo_call_int(call, "local_expert_offset");
    const int64_t n_local = mxo_call_int(call, "local_num_experts");

    if (mxo_call_is(call, "local", "range") &&
        (offset < 0 || n_local < 0 ||
         offset + n_local > mxo_call_int(call, "num_experts"))) {
        return mxo_fail(MXO_E_PARAM, why,
                        "moe.sort: local experts %lld .. %lld are not among "
                        "the %lld there are",
                        (long long)offset, (long long)(offset + n_local - 1),
                        (long long)mxo_call_int(call, "num_experts"));
    }
    return MXO_OK;
}

static mxo_status check_shapes(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *ids = mxo_call_in(call, "topk_ids");
    const mxo_tensor *weights = mxo_call_in(call, "topk_weights");
    const mxo_tensor *map = mxo_call_in(call, "expert_map");

    if (ids->rank != 2) {
        return mxo_fail(MXO_E_SHAPE, why, "moe.sort: topk_ids is no matrix");
    }
    if (ids->shape[1] != 0 && ids->shape[0] > INT32_MAX / ids->shape[1]) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "moe.sort: tokens times top_k does not fit 31 bits");
    }
    if (weights != NULL &&
        (weights->rank != 2 || weights->shape[0] != ids->shape[0] ||
         weights->shape[1] != ids->shape[1])) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "moe.sort: topk_weights is not shaped like topk_ids");
    }
    if (map != NULL &&
        (map->rank != 1 ||
         map->shape[0] != (uint64_t)mxo_call_int(call, "num_experts"))) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "moe.sort: expert_map is not one number per expert");
    }
    return MXO_OK;
}

static mxo_status make_plan(const mxo_call *call, sort_plan *p, mxo_text why)
{
    MXO_TRY(check_params(call, why));
    MXO_TRY(check_shapes(call, why));
    const int64_t rows = mxo_call_int(call, "n_rows");

    p->ids = mxo_call_in(call, "topk_ids");
    p->map = mxo_call_in(call, "expert_map");
    p->local = (sort_local)mxo_call_choice(call, "local", locals, 4);
    p->tokens = p->ids->shape[0];
    p->top_k = p->ids->shape[1];
    p->pairs = p->tokens * p->top_k;
    p->used = p->pairs;
    p->n_shared = (uint64_t)mxo_call_int(call, "n_shared");
    p->num_experts = (uint64_t)mxo_call_int(call, "num_experts") + p->n_shared;
    p->n_local =
        p->local == SORT_RANGE
            ? (uint64_t)mxo_call_int(call, "local_num_experts") + p->n_shared
            : p->num_experts;
    p->offset = (uint64_t)mxo_call_int(call, "local_expert_offset");
    p->block = (uint64_t)mxo_call_int(call, "block_size");
    if (rows >= 0 && !mxo_call_is(call, "layout", "triton")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "moe.sort: only layout=triton cuts rows off");
    }
    if (rows >= 0 && (uint64_t)rows < p->tokens) {
        p->used = (uint64_t)rows * p->top_k;
    }
    return MXO_OK;
}

static const sort_layout *layout_of(const mxo_call *call)
{
    unsigned i = 0;

    while (!mxo_call_is(call, "layout", layouts[i]->name)) {
        i++;
    }
    return layouts[i];
}

mxo_status infer_moe_sort(const mxo_call *call, mxo_tensor *out_tensor,
                          uint32_t *n_out, mxo_text why)
{
    sort_plan p;

    MXO_TRY(make_plan(call, &p, why));
    return layout_of(call)->infer(&p, out_tensor, n_out, why);
}

/* Ids and maps point to experts, or nowhere. */
static mxo_status check_data(const sort_plan *p, mxo_text why)
{
    for (uint64_t i = 0; i < p->pairs; i++) {
        const int32_t id = (int32_t)mxo_load(p->ids, i);

        if (id < -1 || id >= (int64_t)p->num_experts) {
            return mxo_fail(MXO_E_PARAM, why,
                            "moe.sort: topk_ids[%llu,%llu] = %ld is neither "
                            "an expert nor -1",
                            (unsigned long long)(i / p->top_k),
                            (unsigned long long)(i % p->top_k), (long)id);
        }
    }
    for (uint64_t e = 0; p->local == SORT_MAP && e < p->num_experts; e++) {
        const int32_t local = (int32_t)mxo_load(p->map, e);

        if (local < -1 || local >= (int64_t)p->num_experts) {
            return mxo_fail(MXO_E_PARAM, why,
                            "moe.sort: expert_map[%llu] = %ld is neither an "
                            "expert nor -1",
                            (unsigned long long)e, (long)local);
        }
    }
    return MXO_OK;
}

mxo_status run_moe_sort(const mxo_call *call, mxo_text why)
{
    sort_plan p;

    MXO_TRY(make_plan(call, &p, why));
    MXO_TRY(check_data(&p, why));
    layout_of(call)->run(&p, call);
    return MXO_OK;
}
