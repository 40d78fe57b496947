/* SPDX-License-Identifier: Apache-2.0 */
/* moe.permute and moe.finalize: sizes and tensors. */
#include "host/call.h"
#include "host/plans.h"
#include "layer/moe_ops.h"
#include "port/runtime.h"

GPU_ENTRY(moe_permute, permute_args, permute_body(a))
GPU_ENTRY(moe_finalize, finalize_args, finalize_body(a))

enum { MOST_SLOTS = 2048 };

static mxo_status permute_params(const mxo_call *call, permute_args *a,
                                 mxo_text why)
{
    const double top_k = call_number(call, "top_k");
    const double pad = call_number(call, "pad");

    if (!(top_k >= 1 && top_k <= INT32_MAX) || !(pad >= 0 && pad <= 255)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "moe.permute: top_k is at least 1, and pad is a byte");
    }
    a->is_aiter = (uint32_t)call_is(call, "ids", "aiter");
    a->shuffles = (uint32_t)call_is(call, "layout", "aiter");
    a->top_k = (uint64_t)top_k;
    a->pad = (uint32_t)pad;
    return call_flag(call, "per_pair", &a->per_pair, why);
}

static mxo_status permute_tensors(const mxo_call *call, permute_args *a,
                                  mxo_text why)
{
    const mxo_tensor *const x = call_in(call, "x");
    const mxo_tensor *const rows = call_in(call, "rows");
    const mxo_tensor *const valid = call_in(call, "num_valid");

    if (x == NULL || x->rank != 2 || rows == NULL || rows->rank != 1 ||
        (a->is_aiter && (valid == NULL || valid->n_bytes < 4))) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "moe.permute: x is a matrix, rows a vector, num_valid "
                        "a number");
    }
    if (a->per_pair && x->shape[0] % a->top_k != 0) {
        return gpu_fail(MXO_E_PARAM, why,
                        "moe.permute: top_k does not divide the rows");
    }
    a->x = tensor_address(x);
    a->rows = tensor_address(rows);
    a->n_valid = a->is_aiter ? tensor_address(valid) : NULL;
    a->sources = x->shape[0];
    a->bytes = x->shape[1];
    a->n = rows->shape[0];
    a->y_rows = a->shuffles
                    ? (a->n + PERMUTE_ROWS - 1) / PERMUTE_ROWS * PERMUTE_ROWS
                    : a->n;
    a->pitch = a->shuffles
                   ? (a->bytes + PERMUTE_COLS - 1) / PERMUTE_COLS * PERMUTE_COLS
                   : a->bytes;
    const gpu_want want = {MXO_U8, 2, {a->y_rows, a->pitch}};

    return need_shaped(call, 1, "y", &want, &a->y, why);
}

mxo_status plan_permute(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel permute = KERNEL(moe_permute, 0);
    permute_args *const a = PLAN_ARGS(plan, permute_args);
    mxo_status status = permute_params(call, a, why);

    if (status == MXO_OK) {
        status = permute_tensors(call, a, why);
    }
    (void)plan_step(plan, &permute, a->y_rows * a->pitch);
    return status;
}

static uint32_t finalize_type(const mxo_call *call, const char *key)
{
    return call_is(call, key, "f32")   ? (uint32_t)LAYER_F32
           : call_is(call, key, "f16") ? (uint32_t)LAYER_F16
                                       : (uint32_t)LAYER_BF16;
}

static uint32_t finalize_dtype(uint32_t type)
{
    return type == LAYER_F32 ? MXO_F32 : type == LAYER_F16 ? MXO_F16 : MXO_BF16;
}

static mxo_status finalize_sum(const mxo_call *call, finalize_args *a,
                               mxo_text why)
{
    static const char *const sums[] = {"fma",  "add", "typed",    "lanes4",
                                       "vllm", "cpu", "pairwise", "exact"};
    const uint32_t n = sizeof sums / sizeof sums[0];

    while (a->sum < n && !call_is(call, "sum", sums[a->sum])) {
        a->sum++;
    }
    a->from = finalize_type(call, "from");
    a->to = finalize_type(call, "to");
    a->weight = finalize_type(call, "weight");
    a->keeps = (uint32_t)call_is(call, "absent", "zero");
    return a->sum < n
               ? MXO_OK
               : gpu_fail(MXO_E_UNSUPPORTED, why, "moe.finalize on %s: sum=%s",
                          GPU_NAME, call_text(call, "sum"));
}

/* One number for each pair, where the call has them. */
static mxo_status finalize_pairs_of(const mxo_call *call, finalize_args *a,
                                    uint64_t tokens, mxo_text why)
{
    const mxo_tensor *const map = call_in(call, "expert_map");
    const gpu_want ids = {MXO_I32, 2, {tokens, a->slots}};
    const gpu_want weights = {finalize_dtype(a->weight), 2, {tokens, a->slots}};
    uint8_t *at[3] = {NULL, NULL, NULL};
    uint32_t has_map = 0;
    MXO_TRY(call_flag(call, "map", &has_map, why));

    if (call_is(call, "source", "permuted")) {
        MXO_TRY(need_shaped(call, 0, "index", &ids, &at[0], why));
    }
    if (has_map) {
        MXO_TRY(need_shaped(call, 0, "topk_ids", &ids, &at[1], why));
    }
    if (!call_is(call, "weight", "none")) {
        MXO_TRY(need_shaped(call, 0, "topk_weights", &weights, &at[2], why));
    }
    if (has_map && (map == NULL || map->rank != 1)) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "moe.finalize: expert_map is a "
                        "vector");
    }
    a->index = at[0];
    a->ids = at[1];
    a->weights = at[2];
    a->map = has_map ? tensor_address(map) : NULL;
    return MXO_OK;
}

/* The host looks at the few numbers that must lead somewhere. */
static mxo_status finalize_check(const mxo_call *call, const finalize_args *a,
                                 uint64_t pairs, uint64_t rows,
                                 uint64_t experts, mxo_text why)
{
    int32_t *const n = (int32_t *)malloc((size_t)(4 * pairs + 1));
    mxo_status status =
        n == NULL ? gpu_fail(MXO_E_NOMEM, why, "no memory") : MXO_OK;

    if (status == MXO_OK && a->map != NULL) {
        status = call_fetch(call, n, a->ids, 4 * pairs, why);
        for (uint64_t i = 0; i < pairs && status == MXO_OK; i++) {
            if (n[i] >= 0 && (uint64_t)n[i] >= experts) {
                status = gpu_fail(MXO_E_PARAM, why,
                                  "moe.finalize: an id is not in expert_map");
            }
        }
    }
    if (status == MXO_OK && a->index != NULL) {
        status = call_fetch(call, n, a->index, 4 * pairs, why);
        for (uint64_t i = 0; i < pairs && status == MXO_OK; i++) {
            if (n[i] < -1 || (n[i] >= 0 && (uint64_t)n[i] >= rows)) {
                status = gpu_fail(MXO_E_PARAM, why,
                                  "moe.finalize: an index is no row of x");
            }
        }
    }
    free(n);
    return status;
}

static mxo_status finalize_shapes(const mxo_call *call, finalize_args *a,
                                  mxo_text why)
{
    static const char *const names[] = {"index", "topk_ids", "topk_weights"};
    const mxo_tensor *const x = call_in(call, "x");
    const mxo_tensor *const y = call_out(call, "y");
    const double hidden = call_number(call, "hidden_dim");
    const mxo_tensor *pairs = NULL;

    for (int i = 0; i < 3 && pairs == NULL; i++) {
        pairs = call_in(call, names[i]);
    }
    if (x == NULL || y == NULL || x->rank != 2 || y->rank != 2 ||
        (pairs != NULL && pairs->rank != 2)) {
        return gpu_fail(MXO_E_SHAPE, why, "moe.finalize: tensors are matrices");
    }
    const uint64_t tokens = y->shape[0];
    const uint64_t slots =
        pairs != NULL ? pairs->shape[1] : (uint64_t)call_number(call, "top_k");
    const mxo_tensor *const map = call_in(call, "expert_map");

    a->x_cols = x->shape[1];
    a->cols = hidden > 0 ? (uint64_t)hidden : a->x_cols;
    if (slots > MOST_SLOTS ||
        (slots != 0 && tokens > (uint64_t)INT32_MAX / slots) ||
        (call_is(call, "source", "pairs") && x->shape[0] < tokens * slots)) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "moe.finalize: too many slots, or too few rows");
    }
    if (hidden < 0 || a->cols > a->x_cols ||
        (pairs == NULL && (slots == 0 || x->shape[0] != tokens * slots))) {
        return gpu_fail(MXO_E_PARAM, why,
                        "moe.finalize: hidden_dim is not in x, or top_k does "
                        "not divide its rows");
    }
    const gpu_want want = {finalize_dtype(a->to), 2, {tokens, a->cols}};
    uint8_t *at = NULL;
    MXO_TRY(need_shaped(call, 1, "y", &want, &at, why));

    a->x = tensor_address(x);
    a->y = at;
    a->slots = (uint32_t)slots;
    a->outputs = tokens * a->cols;
    MXO_TRY(finalize_pairs_of(call, a, tokens, why));
    return !call_is_captured(call)
               ? finalize_check(call, a, tokens * slots, x->shape[0],
                                map == NULL ? 0 : map->shape[0], why)
               : MXO_OK;
}

mxo_status plan_finalize(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel finalize = KERNEL(moe_finalize, 0);
    finalize_args *const a = PLAN_ARGS(plan, finalize_args);
    mxo_status status = finalize_sum(call, a, why);

    if (status == MXO_OK) {
        status = finalize_shapes(call, a, why);
    }
    (void)plan_step(plan, &finalize, a->outputs);
    return status;
}
