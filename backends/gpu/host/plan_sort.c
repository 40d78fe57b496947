/* SPDX-License-Identifier: Apache-2.0 */
/* moe.sort: parameters, tensors, and the sizes of what a layout writes. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/moe_sort.h"
#include "port/runtime.h"

GPU_ENTRY(moe_sort, sort_args, sort_body(a))

#define SORT_MATRIX UINT64_MAX /* a number for each pair: tokens by slots */

static mxo_status sort_refuse(mxo_status status, mxo_text why,
                              const char *sentence)
{
    return gpu_fail(status, why, "moe.sort on %s: %s", GPU_NAME, sentence);
}

static uint32_t sort_word(const mxo_call *call, const char *key,
                          const char *const *words)
{
    uint32_t i = 0;

    while (words[i + 1] != NULL && !call_is(call, key, words[i])) {
        i++;
    }
    return i;
}

static mxo_status sort_params(const mxo_call *call, sort_args *a, mxo_text why)
{
    static const char *const kinds[] = {"all", "range", "map", "mask", NULL};
    static const char *const layouts[] = {"aiter",  "deepgemm", "triton",
                                          "trtllm", "vllm",     NULL};
    const double experts = call_number(call, "num_experts");
    const double block = call_number(call, "block_size");
    const double shared = call_number(call, "n_shared");
    const double offset = call_number(call, "local_expert_offset");
    const double here = call_number(call, "local_num_experts");

    a->kind = sort_word(call, "local", kinds);
    a->layout = sort_word(call, "layout", layouts);
    if (experts < 1 || block < 1 || experts > INT32_MAX || block > INT32_MAX) {
        return sort_refuse(MXO_E_PARAM, why,
                           "num_experts and block_size are at least 1");
    }
    if (shared < 0 || shared > INT32_MAX ||
        (shared > 0 && (a->layout != SORT_TRTLLM || a->kind >= SORT_MAP))) {
        return sort_refuse(
            MXO_E_PARAM, why,
            "shared experts are trtllm's, and no map knows them");
    }
    if (a->kind == SORT_RANGE &&
        (offset < 0 || here < 0 || offset + here > experts)) {
        return sort_refuse(MXO_E_PARAM, why,
                           "local experts are not among all experts");
    }
    if (call_number(call, "n_rows") >= 0 && a->layout != SORT_TRITON) {
        return sort_refuse(MXO_E_PARAM, why,
                           "only layout=triton cuts rows off");
    }
    a->shared = (uint64_t)shared;
    a->experts = (uint64_t)experts + a->shared;
    a->locals = a->kind == SORT_RANGE ? (uint64_t)here + a->shared : a->experts;
    a->offset = (int64_t)offset;
    a->block = (uint64_t)block;
    return a->layout == SORT_TRITON && (a->block < 16 || a->experts > 0x10000)
               ? sort_refuse(MXO_E_PARAM, why,
                             "triton has blocks from 16 up and 16 bits for an "
                             "expert")
               : MXO_OK;
}

static mxo_status sort_tensors(const mxo_call *call, sort_args *a, mxo_text why)
{
    const mxo_tensor *const ids = call_in(call, "topk_ids");
    const double rows = call_number(call, "n_rows");
    uint8_t *at = NULL;
    mxo_status status = MXO_OK;

    if (ids == NULL || ids->rank != 2 ||
        (ids->shape[1] != 0 && ids->shape[0] > INT32_MAX / ids->shape[1])) {
        return sort_refuse(MXO_E_SHAPE, why,
                           "topk_ids is no matrix of 31 bits");
    }
    const gpu_want weights = {MXO_F32, 2, {ids->shape[0], ids->shape[1]}};
    const gpu_want map = want_vector(MXO_I32, a->experts);

    if (a->layout == SORT_AITER || a->layout == SORT_TRITON) {
        status = need_shaped(call, 0, "topk_weights", &weights, &at, why);
        a->weights = at;
    }
    if (status == MXO_OK && a->kind >= SORT_MAP) {
        status = need_shaped(call, 0, "expert_map", &map, &at, why);
        a->map = at;
    }
    a->ids = tensor_address(ids);
    a->tokens = ids->shape[0];
    a->slots = ids->shape[1];
    a->used = rows >= 0 && rows < (double)a->tokens ? (uint64_t)rows * a->slots
                                                    : a->tokens * a->slots;
    return status;
}

/* Ids and maps point to experts, or nowhere. */
static mxo_status sort_check_data(const mxo_call *call, const sort_args *a,
                                  mxo_text why)
{
    const uint64_t pairs = a->tokens * a->slots;
    const uint64_t most = pairs > a->experts ? pairs : a->experts;
    int32_t *const n = (int32_t *)malloc((size_t)(4 * most + 1));
    mxo_status status = n == NULL ? sort_refuse(MXO_E_NOMEM, why, "no memory")
                                  : call_fetch(call, n, a->ids, 4 * pairs, why);

    for (uint64_t i = 0; i < pairs && status == MXO_OK; i++) {
        if (n[i] < -1 || n[i] >= (int64_t)a->experts) {
            status = sort_refuse(MXO_E_PARAM, why,
                                 "an id is neither an expert nor -1");
        }
    }
    if (status == MXO_OK && a->kind == SORT_MAP) {
        status = call_fetch(call, n, a->map, 4 * a->experts, why);
        for (uint64_t i = 0; i < a->experts && status == MXO_OK; i++) {
            if (n[i] < -1 || n[i] >= (int64_t)a->experts) {
                status = sort_refuse(MXO_E_PARAM, why,
                                     "expert_map points to no expert, and not "
                                     "to -1");
            }
        }
    }
    free(n);
    return status;
}

/* An output of a layout: its length, and what nobody writes. */
typedef struct sort_want {
    const char *name;
    uint32_t dtype;
    uint64_t n;
    uint32_t fill;
} sort_want;

static uint64_t sort_blocks_of(const sort_args *a, uint64_t rows)
{
    return (rows + a->block - 1) / a->block;
}

static int sort_trtllm(const sort_args *a, sort_want *w)
{
    const uint64_t pairs = a->tokens * a->slots;
    const uint64_t full = a->experts < pairs ? a->experts : pairs;
    const uint64_t tiles = full + (pairs - full) / a->block;
    const uint32_t none = UINT32_MAX;
    const sort_want want[] = {
        {"expanded_idx_to_permuted_idx", MXO_I32, SORT_MATRIX, none},
        {"permuted_idx_to_expanded_idx", MXO_I32, tiles * a->block, none},
        {"cta_idx_xy_to_batch_idx", MXO_I32, tiles, none},
        {"cta_idx_xy_to_mn_limit", MXO_I32, tiles, none},
        {"num_non_exiting_ctas", MXO_I32, 1, 0},
        {"total_num_padded_tokens", MXO_I32, 1, 0}};

    memcpy(w, want, sizeof want);
    return tiles > INT32_MAX / a->block ? -1 : 6;
}

static int sort_aiter(const sort_args *a, sort_want *w)
{
    const uint64_t room = a->tokens * a->slots + a->experts * a->block;
    const uint64_t rows = room > a->slots ? room - a->slots : 0;
    const sort_want want[] = {
        {"sorted_ids", MXO_I32, rows, (uint32_t)(a->slots << 24 | a->tokens)},
        {"sorted_weights", MXO_F32, rows, 0},
        {"sorted_expert_ids", MXO_I32, sort_blocks_of(a, rows), UINT32_MAX},
        {"num_valid", MXO_I32, 2, 0}};

    memcpy(w, want, sizeof want);
    return a->tokens >> 24 != 0 || a->slots >= 128 || a->slots > a->experts ||
                   room > INT32_MAX
               ? -1
               : 4;
}

static int sort_vllm(const sort_args *a, sort_want *w)
{
    const uint64_t pairs = a->tokens * a->slots;
    const uint64_t most = pairs + a->experts * (a->block - 1);
    const uint64_t few = pairs * a->block;
    const uint64_t rows = pairs < a->experts && few < most ? few : most;
    const sort_want want[] = {
        {"sorted_token_ids", MXO_I32, rows, (uint32_t)pairs},
        {"expert_ids", MXO_I32, sort_blocks_of(a, rows), UINT32_MAX},
        {"num_tokens_post_padded", MXO_I32, 1, 0}};

    memcpy(w, want, sizeof want);
    return most > INT32_MAX ? -1 : 3;
}

static int sort_triton(const sort_args *a, sort_want *w)
{
    const uint64_t pairs = a->tokens * a->slots;
    const uint64_t tiles =
        pairs <= a->experts ? pairs : a->experts + (pairs - a->experts) / 16;
    const uint32_t none = UINT32_MAX;
    const sort_want want[] = {{"gather_src", MXO_I32, pairs, none},
                              {"gather_dst", MXO_I32, pairs, none},
                              {"gate_scal", MXO_F32, pairs, 0},
                              {"expt_hist", MXO_I32, a->experts, 0},
                              {"token_offs_raw", MXO_I32, a->experts + 1, 0},
                              {"token_offs_pad", MXO_I32, a->experts + 1, 0},
                              {"block_pid_map", MXO_I32, tiles, none}};

    memcpy(w, want, sizeof want);
    return 7;
}

static int sort_deepgemm(const sort_args *a, sort_want *w)
{
    const uint64_t most = a->tokens * a->slots + a->experts * (a->block - 1);
    const uint64_t rows = sort_blocks_of(a, most) * a->block;
    const sort_want want[] = {{"inv_perm", MXO_I32, SORT_MATRIX, UINT32_MAX},
                              {"expert_ids", MXO_I32, rows, UINT32_MAX},
                              {"psum", MXO_I32, a->experts, 0}};

    memcpy(w, want, sizeof want);
    return rows > INT32_MAX ? -1 : 3;
}

static mxo_status sort_outputs(const mxo_call *call, sort_args *a, mxo_text why)
{
    sort_want want[SORT_OUTPUTS];
    int n;

    if (a->layout == SORT_TRTLLM) {
        n = sort_trtllm(a, want);
    } else if (a->layout == SORT_AITER) {
        n = sort_aiter(a, want);
    } else if (a->layout == SORT_VLLM) {
        n = sort_vllm(a, want);
    } else if (a->layout == SORT_DEEPGEMM) {
        n = sort_deepgemm(a, want);
    } else {
        n = sort_triton(a, want);
    }
    mxo_status status = MXO_OK;

    if (n < 0) {
        return sort_refuse(MXO_E_SHAPE, why,
                           "the padded rows or the tokens, slots and experts "
                           "are too many for this layout");
    }
    for (int i = 0; i < n && status == MXO_OK; i++) {
        const int is_matrix = want[i].n == SORT_MATRIX;
        const gpu_want pairs = {want[i].dtype, 2, {a->tokens, a->slots}};
        const gpu_want list = want_vector(want[i].dtype, want[i].n);
        uint8_t *at = NULL;
        status = need_shaped(call, 1, want[i].name, is_matrix ? &pairs : &list,
                             &at, why);
        a->out[i].to = at;
        a->out[i].n = is_matrix ? a->tokens * a->slots : want[i].n;
        a->out[i].fill = want[i].fill;
    }
    return status;
}

mxo_status plan_sort(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(moe_sort, 1);
    sort_args *const a = PLAN_ARGS(plan, sort_args);
    MXO_TRY(sort_params(call, a, why));

    MXO_TRY(sort_tensors(call, a, why));
    MXO_TRY(sort_outputs(call, a, why));
    if (!call_is_captured(call)) {
        MXO_TRY(sort_check_data(call, a, why));
    }
    const uint64_t part = 4 * (a->experts + 1);

    MXO_TRY(
        scratch_need(plan->scratch, 3 * part + 4 * a->tokens * a->slots, why));
    uint8_t *const room = (uint8_t *)plan->scratch->p;

    a->local = room;
    a->start = room + part;
    a->tile = room + 2 * part;
    a->pair = room + 3 * part;
    plan->kernel = &kernel;
    plan->blocks = 1;
    return MXO_OK;
}
