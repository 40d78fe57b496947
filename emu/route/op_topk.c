/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.topk: a router over a batch of tokens, with the two extras that
 * vendors derive from its answer.  docs/ops/route.topk.md
 */
#include "../bounds/route_span.h"
#include "../call.h"

#include <mxoracle/route.h>

#include <string.h>

/* The router of the parameters and shapes; the bias is read separately. */
static mxo_route route_of(const mxo_call *call)
{
    const mxo_tensor *logits = mxo_call_in(call, "logits");
    int dialect = 0;
    mxo_route r = {0};

    while (!mxo_call_is(call, "dialect",
                        mxo_route_name((mxo_route_dialect)dialect))) {
        dialect++;
    }
    r.dialect = (mxo_route_dialect)dialect;
    r.from = mxo_call_format(call, "from");
    r.to = mxo_call_format(call, "to");
    r.bias_from = mxo_call_is(call, "bias", "none")
                      ? MXO_FMT_F32
                      : mxo_call_format(call, "bias");
    r.experts = (uint32_t)logits->shape[1];
    r.top_k = (uint32_t)mxo_call_int(call, "top_k");
    r.groups = (uint32_t)mxo_call_int(call, "n_group");
    r.kept = (uint32_t)mxo_call_int(call, "topk_group");
    r.shared = (uint32_t)mxo_call_int(call, "n_shared");
    r.renormalize = mxo_call_int(call, "renormalize") != 0;
    const double scale = mxo_call_real(call, "routed_scaling_factor");

    memcpy(&r.scale, &scale, sizeof scale);
    return r;
}

static mxo_status shape_error(mxo_text why, const char *sentence)
{
    return mxo_fail(MXO_E_SHAPE, why, "route.topk: %s", sentence);
}

static mxo_status check_shapes(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *logits = mxo_call_in(call, "logits");

    if (logits->rank != 2 || logits->shape[1] > MXO_ROUTE_MAX_EXPERTS) {
        return shape_error(why, "logits are tokens by at most 2048 experts");
    }
    if (!mxo_call_is(call, "bias", "none")) {
        const mxo_tensor *bias = mxo_call_in(call, "bias");

        if (bias->rank != 1 || bias->shape[0] != logits->shape[1]) {
            return shape_error(why, "bias is not one number per expert");
        }
    }
    if (!mxo_call_int(call, "table")) {
        return MXO_OK;
    }
    const mxo_tensor *ids = mxo_call_in(call, "input_ids");
    const mxo_tensor *table = mxo_call_in(call, "tid2eid");

    if (ids->rank != 1 || ids->shape[0] != logits->shape[0]) {
        return shape_error(why, "input_ids is not one id per token");
    }
    if (table->rank != 2 ||
        table->shape[1] != (uint64_t)mxo_call_int(call, "top_k")) {
        return shape_error(why, "a row of tid2eid is not top_k experts");
    }
    return MXO_OK;
}

/* Parameters that a uint32_t could hide. */
static mxo_status check_params(const mxo_call *call, mxo_text why)
{
    static const char *const keys[] = {"top_k", "n_group", "topk_group",
                                       "n_shared"};

    for (int i = 0; i < 4; i++) {
        const int64_t n = mxo_call_int(call, keys[i]);

        if (n < 0 || n > MXO_ROUTE_MAX_EXPERTS) {
            return mxo_fail(MXO_E_PARAM, why,
                            "route.topk: %s=%lld is not 0 .. 2048", keys[i],
                            (long long)n);
        }
    }
    if (mxo_call_is(call, "also", "packed") &&
        !mxo_call_is(call, "to", "bf16")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "route.topk: packed results hold bf16 weights");
    }
    if (mxo_call_int(call, "table") &&
        !mxo_call_is(call, "dialect", "vllm_softplus_sqrt")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "route.topk: only vllm_softplus_sqrt has a table");
    }
    if (mxo_call_int(call, "table") && !mxo_call_is(call, "bias", "none")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "route.topk: a table leaves no room for a bias");
    }
    return MXO_OK;
}

static mxo_status check(const mxo_call *call, mxo_route *r, mxo_text why)
{
    MXO_TRY(check_shapes(call, why));
    MXO_TRY(check_params(call, why));
    *r = route_of(call);
    const char *sentence = mxo_route_check(r);

    return sentence == NULL
               ? MXO_OK
               : mxo_fail(MXO_E_PARAM, why, "route.topk: %s", sentence);
}

/* The bias and the rows of the table, which only run() may look at. */
static mxo_status check_data(const mxo_call *call, mxo_route *r, uint32_t *bias,
                             mxo_text why)
{
    if (!mxo_call_is(call, "bias", "none")) {
        const mxo_tensor *t = mxo_call_in(call, "bias");

        for (uint32_t e = 0; e < r->experts; e++) {
            bias[e] = (uint32_t)mxo_format_convert(
                MXO_FMT_F32, mxo_call_format(call, "bias"), mxo_load(t, e),
                MXO_TIE_RNE, MXO_NAN_QUIET);
        }
        r->bias = bias;
        const char *sentence = mxo_route_check(r);

        return sentence == NULL
                   ? MXO_OK
                   : mxo_fail(MXO_E_PARAM, why, "route.topk: %s", sentence);
    }
    if (!mxo_call_int(call, "table")) {
        return MXO_OK;
    }
    const mxo_tensor *ids = mxo_call_in(call, "input_ids");
    const mxo_tensor *table = mxo_call_in(call, "tid2eid");

    for (uint64_t t = 0; t < ids->shape[0]; t++) {
        if (mxo_load(ids, t) >= table->shape[0]) {
            return mxo_fail(MXO_E_PARAM, why,
                            "route.topk: input_ids[%llu] is not in the table",
                            (unsigned long long)t);
        }
    }
    for (uint64_t i = 0; i < mxo_tensor_elems(table); i++) {
        if (mxo_load(table, i) >= r->experts) {
            return mxo_fail(MXO_E_PARAM, why,
                            "route.topk: element %llu of tid2eid is no expert",
                            (unsigned long long)i);
        }
    }
    return MXO_OK;
}

/* topk_ids becomes what picked justifies; the weights become two ends. */
static mxo_status infer_bounds(const mxo_call *call, mxo_tensor *out_tensor,
                               uint32_t *n_out, const uint64_t shape[2],
                               uint32_t dtype, mxo_text why)
{
    const mxo_tensor *picked = mxo_call_in(call, "picked");

    if (picked->rank != 2 || picked->shape[0] != shape[0] ||
        picked->shape[1] != shape[1]) {
        return shape_error(why, "picked is not the ids of every token");
    }
    mxo_out(out_tensor, 1, "weights_lo", dtype, 2, shape);
    mxo_out(out_tensor, 2, "weights_hi", dtype, 2, shape);
    *n_out = 3;
    if (mxo_call_is(call, "also", "packed")) {
        mxo_out(out_tensor, 3, "packed_lo", MXO_I32, 2, shape);
        mxo_out(out_tensor, 4, "packed_hi", MXO_I32, 2, shape);
        *n_out = 5;
    }
    return MXO_OK;
}

mxo_status infer_route_topk(const mxo_call *call, mxo_tensor *out_tensor,
                            uint32_t *n_out, mxo_text why)
{
    const char *to = mxo_call_text(call, "to");
    mxo_route r;

    MXO_TRY(check(call, &r, why));
    const uint64_t tokens = mxo_call_in(call, "logits")->shape[0];
    const uint64_t shape[2] = {tokens, r.top_k + r.shared};
    const uint32_t dtype = mxo_dtype_by_name(to, strlen(to));

    if (tokens > INT32_MAX / shape[1]) {
        return shape_error(why, "tokens times top_k does not fit 31 bits");
    }
    mxo_out(out_tensor, 0, "topk_ids", MXO_I32, 2, shape);
    if (mxo_call_int(call, "bounds")) {
        return infer_bounds(call, out_tensor, n_out, shape, dtype, why);
    }
    mxo_out(out_tensor, 1, "topk_weights", dtype, 2, shape);
    *n_out = 2;
    if (mxo_call_is(call, "also", "indices")) {
        mxo_out(out_tensor, (*n_out)++, "token_expert_indices", MXO_I32, 2,
                shape);
    } else if (mxo_call_is(call, "also", "packed")) {
        mxo_out(out_tensor, (*n_out)++, "packed", MXO_I32, 2, shape);
    }
    return MXO_OK;
}

/* The answers of token t, and what is made from them. */
static void store(const mxo_call *call, uint64_t t, uint64_t slots,
                  const int32_t *ids, const uint32_t *weights)
{
    const mxo_tensor *indices = mxo_call_out(call, "token_expert_indices");
    const mxo_tensor *packed = mxo_call_out(call, "packed");
    const uint64_t tokens = mxo_call_in(call, "logits")->shape[0];

    for (uint64_t k = 0; k < slots; k++) {
        const uint64_t at = t * slots + k;

        mxo_store(mxo_call_out(call, "topk_ids"), at, (uint32_t)ids[k]);
        mxo_store(mxo_call_out(call, "topk_weights"), at, weights[k]);
        if (indices != NULL) {
            mxo_store(indices, at, k * tokens + t);
        }
        if (packed != NULL) {
            mxo_store(packed, at, (uint32_t)ids[k] << 16 | weights[k]);
        }
    }
}

static void store_bounds(const mxo_call *call, uint64_t t, uint64_t slots,
                         const int32_t *ids, const uint32_t *const ends[2])
{
    const mxo_tensor *packed[2] = {mxo_call_out(call, "packed_lo"),
                                   mxo_call_out(call, "packed_hi")};
    const mxo_tensor *weights[2] = {mxo_call_out(call, "weights_lo"),
                                    mxo_call_out(call, "weights_hi")};

    for (uint64_t k = 0; k < slots; k++) {
        const uint64_t at = t * slots + k;
        const uint32_t id = (uint32_t)ids[k] << 16;
        /* Codes of negative weights fall as the weights grow. */
        const int turned = ends[0][k] > ends[1][k];

        mxo_store(mxo_call_out(call, "topk_ids"), at, (uint32_t)ids[k]);
        for (int i = 0; i < 2; i++) {
            mxo_store(weights[i], at, ends[i][k]);
            if (packed[i] != NULL) {
                mxo_store(packed[i], at, id | ends[turned ? 1 - i : i][k]);
            }
        }
    }
}

/* One token under bounds: row and given are what its choice is made of. */
static void run_bounds(const mxo_call *call, const mxo_route *r, uint64_t t,
                       const uint32_t *row, const int32_t *given)
{
    const mxo_tensor *picked = mxo_call_in(call, "picked");
    const uint64_t slots = r->top_k + r->shared;
    uint32_t lo[2 * MXO_ROUTE_MAX_EXPERTS];
    uint32_t hi[2 * MXO_ROUTE_MAX_EXPERTS];
    int32_t ids[2 * MXO_ROUTE_MAX_EXPERTS];
    int32_t theirs[2 * MXO_ROUTE_MAX_EXPERTS];

    for (uint64_t k = 0; k < slots; k++) {
        theirs[k] = (int32_t)mxo_load(picked, t * slots + k);
    }
    mxo_route_token_span(r, row, given, theirs, ids, lo, hi);
    store_bounds(call, t, slots, ids, (const uint32_t *[2]){lo, hi});
}

mxo_status run_route_topk(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *logits = mxo_call_in(call, "logits");
    const mxo_tensor *table = mxo_call_in(call, "tid2eid");
    uint32_t bias[MXO_ROUTE_MAX_EXPERTS];
    uint32_t row[MXO_ROUTE_MAX_EXPERTS];
    uint32_t weights[2 * MXO_ROUTE_MAX_EXPERTS];
    int32_t ids[2 * MXO_ROUTE_MAX_EXPERTS];
    int32_t given[MXO_ROUTE_MAX_EXPERTS];
    mxo_route r;

    MXO_TRY(check(call, &r, why));
    MXO_TRY(check_data(call, &r, bias, why));
    for (uint64_t t = 0; t < logits->shape[0]; t++) {
        for (uint32_t e = 0; e < r.experts; e++) {
            row[e] = (uint32_t)mxo_load(logits, t * r.experts + e);
        }
        for (uint32_t k = 0; table != NULL && k < r.top_k; k++) {
            const uint64_t id = mxo_load(mxo_call_in(call, "input_ids"), t);

            given[k] = (int32_t)mxo_load(table, id * r.top_k + k);
        }
        if (mxo_call_int(call, "bounds")) {
            run_bounds(call, &r, t, row, table != NULL ? given : NULL);
            continue;
        }
        mxo_route_token(&r, row, table != NULL ? given : NULL, ids, weights);
        store(call, t, r.top_k + r.shared, ids, weights);
    }
    return MXO_OK;
}
