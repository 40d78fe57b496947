/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.finalize: expert outputs back to tokens.  A token's terms are found
 * through the permutation, or lie side by side as the GEMM left them.
 * docs/ops/moe.finalize.md
 */
#include "finalize.h"

#include "../call.h"

#include <string.h>

typedef struct plan {
    const mxo_tensor *x;
    const mxo_tensor *weight; /* NULL: none */
    const mxo_tensor *index;  /* NULL: the row of a pair is its number */
    const mxo_tensor *ids;    /* with map: absent if map[id] < 0 */
    const mxo_tensor *map;
    mxo_format from;
    mxo_format weight_format;
    mxo_format to;
    mxo_finalize_sum sum;
    int absent_is_zero;
    uint64_t tokens;
    uint64_t top_k;
    uint64_t cols; /* of y */
} plan;

static mxo_status bad_shape(mxo_text why, const char *sentence)
{
    return mxo_fail(MXO_E_SHAPE, why, "moe.finalize: %s", sentence);
}

/* Whether t is absent or a matrix of one number per pair. */
static int per_pair(const plan *p, const mxo_tensor *t)
{
    return t == NULL || (t->rank == 2 && t->shape[0] == p->tokens &&
                         t->shape[1] == p->top_k);
}

static mxo_status check_shapes(const mxo_call *call, const plan *p,
                               mxo_text why)
{
    const int64_t hidden = mxo_call_int(call, "hidden_dim");

    if (p->x->rank != 2) {
        return bad_shape(why, "x is no matrix");
    }
    if (!per_pair(p, p->weight) || !per_pair(p, p->index) ||
        !per_pair(p, p->ids)) {
        return bad_shape(why, "index, topk_ids and weight are not one number "
                              "per token and slot");
    }
    if (p->top_k > MXO_FINALIZE_MAX_SLOTS) {
        return bad_shape(why, "a token has at most 2048 slots");
    }
    if (p->top_k != 0 && p->tokens > INT32_MAX / p->top_k) {
        return bad_shape(why, "tokens times top_k does not fit 31 bits");
    }
    if (p->index == NULL && p->tokens * p->top_k > p->x->shape[0]) {
        return bad_shape(why, "x has fewer rows than there are slots");
    }
    if (p->map != NULL && p->map->rank != 1) {
        return bad_shape(why, "expert_map is no vector");
    }
    if (hidden < 0 || (uint64_t)hidden > p->x->shape[1]) {
        return mxo_fail(MXO_E_PARAM, why,
                        "moe.finalize: hidden_dim=%lld is not 0 .. the %llu "
                        "columns of x",
                        (long long)hidden, (unsigned long long)p->x->shape[1]);
    }
    return MXO_OK;
}

/* The tensor that gives tokens and slots. */
static const mxo_tensor *pairs_of(const plan *p)
{
    return p->index != NULL ? p->index : p->ids != NULL ? p->ids : p->weight;
}

static mxo_status make_plan(const mxo_call *call, plan *p, mxo_text why)
{
    const int64_t slots = mxo_call_int(call, "top_k");
    const int weighted = !mxo_call_is(call, "weight", "none");

    memset(p, 0, sizeof *p);
    p->x = mxo_call_in(call, "x");
    p->from = mxo_call_format(call, "from");
    p->to = mxo_call_format(call, "to");
    p->weight = weighted ? mxo_call_in(call, "topk_weights") : NULL;
    p->weight_format =
        weighted ? mxo_call_format(call, "weight") : MXO_N_FORMATS;
    p->index = mxo_call_is(call, "source", "permuted")
                   ? mxo_call_in(call, "index")
                   : NULL;
    p->absent_is_zero = mxo_call_is(call, "absent", "zero");
    if (mxo_call_int(call, "map")) {
        p->ids = mxo_call_in(call, "topk_ids");
        p->map = mxo_call_in(call, "expert_map");
    }
    while (!mxo_call_is(call, "sum", mxo_finalize_name(p->sum))) {
        p->sum = (mxo_finalize_sum)(p->sum + 1);
    }
    const mxo_tensor *pairs = pairs_of(p);

    if (pairs != NULL && pairs->rank != 2) {
        return bad_shape(why, "one number per token and slot is a matrix");
    }
    if (pairs == NULL &&
        (slots < 1 || p->x->rank == 0 || p->x->shape[0] % (uint64_t)slots)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "moe.finalize: top_k=%lld does not divide the rows "
                        "of x",
                        (long long)slots);
    }
    p->tokens =
        pairs != NULL ? pairs->shape[0] : p->x->shape[0] / (uint64_t)slots;
    p->top_k = pairs != NULL ? pairs->shape[1] : (uint64_t)slots;
    const mxo_status status = check_shapes(call, p, why);
    const uint64_t hidden = (uint64_t)mxo_call_int(call, "hidden_dim");

    p->cols = status != MXO_OK || hidden != 0 ? hidden : p->x->shape[1];
    return status;
}

mxo_status infer_moe_finalize(const mxo_call *call, mxo_tensor *out_tensor,
                              uint32_t *n_out, mxo_text why)
{
    const char *to = mxo_call_text(call, "to");
    plan p;

    MXO_TRY(make_plan(call, &p, why));
    const uint64_t shape[2] = {p.tokens, p.cols};

    mxo_out(out_tensor, 0, "y", mxo_dtype_by_name(to, strlen(to)), 2, shape);
    *n_out = 1;
    return MXO_OK;
}

/* Row of x of a pair, negative if it has none. */
static int64_t row_of(const plan *p, uint64_t pair)
{
    if (p->map != NULL) {
        const int32_t id = (int32_t)mxo_load(p->ids, pair);

        if (id < 0 || (int32_t)mxo_load(p->map, (uint64_t)id) < 0) {
            return -1;
        }
    }
    return p->index != NULL ? (int32_t)mxo_load(p->index, pair) : (int64_t)pair;
}

/* An index is looked at even where the map leaves the pair out. */
static mxo_status check_data(const plan *p, mxo_text why)
{
    for (uint64_t i = 0; i < p->tokens * p->top_k; i++) {
        const int64_t row =
            p->index != NULL ? (int32_t)mxo_load(p->index, i) : (int64_t)i;

        if (p->map != NULL &&
            (int32_t)mxo_load(p->ids, i) >= (int64_t)p->map->shape[0]) {
            return mxo_fail(MXO_E_PARAM, why,
                            "moe.finalize: topk_ids[%llu,%llu] is not in "
                            "expert_map",
                            (unsigned long long)(i / p->top_k),
                            (unsigned long long)(i % p->top_k));
        }
        if (row < -1 || row >= (int64_t)p->x->shape[0]) {
            return mxo_fail(MXO_E_PARAM, why,
                            "moe.finalize: index[%llu,%llu] = %lld is no row "
                            "of x",
                            (unsigned long long)(i / p->top_k),
                            (unsigned long long)(i % p->top_k), (long long)row);
        }
    }
    return MXO_OK;
}

static uint32_t as_f32(mxo_format from, uint64_t code)
{
    return (uint32_t)mxo_format_convert(MXO_FMT_F32, from, code, MXO_TIE_RNE,
                                        MXO_NAN_QUIET);
}

static uint32_t element(const plan *p, uint64_t token, uint64_t col)
{
    const mxo_finalize_job job = {p->sum, p->to, 0, p->weight != NULL, p->to};
    mxo_finalize_term terms[MXO_FINALIZE_MAX_SLOTS];
    uint32_t n = 0;

    for (uint64_t i = token * p->top_k; i < (token + 1) * p->top_k; i++) {
        const int64_t row = row_of(p, i);

        if (row < 0 && !p->absent_is_zero) {
            continue;
        }
        const uint64_t at = (uint64_t)row * p->x->shape[1] + col;

        terms[n].x = row < 0 ? 0 : as_f32(p->from, mxo_load(p->x, at));
        terms[n].weight = p->weight == NULL ? 0
                                            : as_f32(p->weight_format,
                                                     mxo_load(p->weight, i));
        n++;
    }
    return mxo_finalize(&job, terms, n);
}

mxo_status run_moe_finalize(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *y = mxo_call_out(call, "y");
    plan p;

    MXO_TRY(make_plan(call, &p, why));
    MXO_TRY(check_data(&p, why));
    for (uint64_t t = 0; t < p.tokens; t++) {
        for (uint64_t c = 0; c < p.cols; c++) {
            mxo_store(y, t * p.cols + c, element(&p, t, c));
        }
    }
    return MXO_OK;
}
