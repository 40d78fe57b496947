/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.sort by counting: a histogram, a prefix sum over whole blocks, then
 * every pair takes the next row of its expert.
 */
#include "broken.h"

#include <stdlib.h>
#include <string.h>

/* Experts of a block of threads that sorts: Z37. */
enum { SORTED_AT_ONCE = 256 };

typedef struct sorting {
    const broken *b;
    const mxo_call *call;
    const mxo_tensor *ids;
    const mxo_tensor *map;
    int64_t top_k;
    int64_t pairs;
    int64_t used;
    int64_t experts;
    int64_t n_local;
    int64_t offset;
    int64_t block;
    int range;
    int64_t *count; /* rows of each local expert */
    int64_t *first; /* and where they start */
} sorting;

static void put(const sorting *s, const char *name, int64_t i, int64_t value)
{
    const int32_t v = (int32_t)value;

    memcpy(tensor_address(call_out(s->call, name)) + 4 * i, &v, 4);
}

static void fill(const sorting *s, const char *name, int64_t value)
{
    const mxo_tensor *t = call_out(s->call, name);

    for (int64_t i = 0; i < (int64_t)broken_elems(t); i++) {
        put(s, name, i, value);
    }
}

static int64_t local_of(const sorting *s, int64_t pair)
{
    const broken *b = s->b;
    int64_t id = broken_load_i32(s->ids, (uint64_t)pair);

    if (id < 0) {
        return IS(E04) ? 0 : -1;
    }
    if (s->map != NULL) {
        return IS(E02) ? id : broken_load_i32(s->map, (uint64_t)id);
    }
    if (s->range) {
        id -= IS(E20) ? 0 : s->offset;
        id -= IS(E01) ? s->offset : 0;
        return id < s->n_local - IS(E12) ? id : -1;
    }
    return id;
}

static int64_t blocks(const sorting *s, int64_t rows)
{
    const broken *b = s->b;

    return IS(E21) ? rows / s->block : (rows + s->block - 1) / s->block;
}

/* Local expert of a pair that takes part, or -1. */
static int64_t taking_part(const sorting *s, int64_t pair)
{
    const broken *b = s->b;
    const int64_t e = local_of(s, pair);

    if (e < 0 || e >= s->experts - IS(E06) || (IS(E05) && pair >= s->top_k)) {
        return -1;
    }
    return IS(Z37) && s->experts == SORTED_AT_ONCE + 1 && e == SORTED_AT_ONCE
               ? 0
               : e;
}

static void count(const sorting *s, int gaps)
{
    int64_t row = 0;

    memset(s->count, 0, (size_t)s->experts * sizeof s->count[0]);
    for (int64_t i = 0; i < s->used; i++) {
        const int64_t e = taking_part(s, i);

        if (e >= 0) {
            s->count[e]++;
        }
    }
    for (int64_t e = 0; e < s->experts; e++) {
        s->first[e] = row;
        row += gaps ? blocks(s, s->count[e]) * s->block : s->count[e];
    }
}

/* Last pair first where that is asked: the same rows. */
static int64_t place(const sorting *s, int64_t *next, int64_t i, int64_t *pair)
{
    const broken *b = s->b;

    *pair = IS(V16) ? s->used - 1 - i : i;
    const int64_t e = taking_part(s, *pair);

    if (e < 0) {
        return -1;
    }
    return s->first[e] +
           (IS(V16) || IS(V29) ? s->count[e] - 1 - next[e]++ : next[e]++);
}

static void sort_trtllm(const sorting *s, int64_t *next)
{
    const broken *b = s->b;
    int64_t tiles = 0;
    int64_t pair;

    fill(s, "expanded_idx_to_permuted_idx", IS(E22) ? 0 : -1);
    fill(s, "permuted_idx_to_expanded_idx", IS(E08) ? 1 : -1);
    fill(s, "cta_idx_xy_to_batch_idx", -1);
    fill(s, "cta_idx_xy_to_mn_limit", -1);
    for (int64_t i = 0; i < s->used; i++) {
        const int64_t row = place(s, next, i, &pair);

        if (row >= 0) {
            put(s, "expanded_idx_to_permuted_idx", pair, row);
            put(s, "permuted_idx_to_expanded_idx", row,
                IS(E23) ? pair / s->top_k : pair);
        }
    }
    for (int64_t e = 0; e < s->experts; e++) {
        const int64_t end = s->first[e] + s->count[e];

        for (int64_t k = 0; k < blocks(s, s->count[e]); k++, tiles++) {
            const int64_t full = (tiles + 1) * s->block;

            put(s, "cta_idx_xy_to_batch_idx", tiles,
                e + (IS(E24) ? s->offset : 0));
            put(s, "cta_idx_xy_to_mn_limit", tiles,
                full < end || IS(E25) ? full : end);
        }
    }
    put(s, "num_non_exiting_ctas", 0, tiles + IS(E26));
    put(s, "total_num_padded_tokens", 0, IS(E27) ? s->used : tiles * s->block);
}

static void sort_aiter(const sorting *s, int64_t *next)
{
    const broken *b = s->b;
    const mxo_tensor *weights = call_in(s->call, "topk_weights");
    uint8_t *to = tensor_address(call_out(s->call, "sorted_weights"));
    const int64_t tokens = (int64_t)s->ids->shape[0];
    const int64_t slots = (int64_t)s->ids->shape[1];
    int64_t rows = 0;
    int64_t pair;

    fill(s, "sorted_ids", IS(E08) ? 0 : slots << 24 | tokens);
    fill(s, "sorted_weights", 0);
    fill(s, "sorted_expert_ids", -1);
    for (int64_t i = 0; i < s->used; i++) {
        const int64_t row = place(s, next, i, &pair);

        if (row >= 0) {
            const int shift = IS(E28) ? 16 : 24;

            put(s, "sorted_ids", row,
                pair % s->top_k << shift | pair / s->top_k);
            memcpy(to + 4 * row,
                   tensor_address(weights) +
                       4 * (IS(E10) ? row % s->pairs : pair),
                   4);
        }
    }
    for (int64_t e = 0; e < s->experts; e++) {
        for (int64_t k = 0; k < blocks(s, s->count[e]); k++) {
            put(s, "sorted_expert_ids", rows / s->block, IS(E29) ? e + 1 : e);
            rows += s->block;
        }
    }
    put(s, "num_valid", 0, IS(E27) ? s->used : rows);
    put(s, "num_valid", 1, IS(E30) ? s->pairs : tokens);
}

static void sort_triton(const sorting *s, int64_t *next)
{
    const broken *b = s->b;
    const mxo_tensor *weights = call_in(s->call, "topk_weights");
    uint8_t *to = tensor_address(call_out(s->call, "gate_scal"));
    int64_t tiles = 0;
    int64_t row = 0;
    int64_t pair;

    fill(s, "gather_src", -1);
    fill(s, "gather_dst", -1);
    fill(s, "gate_scal", 0);
    fill(s, "block_pid_map", IS(E31) ? 0 : -1);
    for (int64_t i = 0; i < s->used; i++) {
        row = place(s, next, i, &pair);
        if (row >= 0) {
            put(s, "gather_src", IS(E32) ? pair : row, IS(E32) ? row : pair);
            put(s, "gather_dst", pair, row);
            memcpy(to + 4 * row,
                   tensor_address(weights) + 4 * (IS(E10) ? row : pair), 4);
        }
    }
    row = 0;
    for (int64_t e = 0; e < s->experts; e++) {
        if (!IS(E09) || s->count[e] > 0) {
            put(s, "expt_hist", e, s->count[e]);
        }
        put(s, "token_offs_raw", e, row);
        put(s, "token_offs_pad", e, tiles);
        for (int64_t k = 0; k < blocks(s, s->count[e]); k++) {
            put(s, "block_pid_map", tiles++,
                IS(E33) ? e << 16 | k : k << 16 | e);
        }
        row += s->count[e];
    }
    put(s, "token_offs_raw", s->experts, row);
    put(s, "token_offs_pad", s->experts, tiles);
}

static mxo_status run(const broken *b, const mxo_call *call, mxo_text why)
{
    const int triton = call_is(call, "layout", "triton");
    const double rows = call_number(call, "n_rows");
    sorting s = {
        .b = b,
        .call = call,
        .ids = call_in(call, "topk_ids"),
        .map = call_in(call, "expert_map"),
        .experts = (int64_t)call_number(call, "num_experts"),
        .n_local = (int64_t)call_number(call, "local_num_experts"),
        .offset = (int64_t)call_number(call, "local_expert_offset"),
        .block = (int64_t)call_number(call, "block_size"),
        .range = call_is(call, "local", "range"),
    };

    s.top_k = s.ids->shape[1] > 0 ? (int64_t)s.ids->shape[1] : 1;
    s.pairs = (int64_t)broken_elems(s.ids);
    s.used = rows >= 0 && rows * (double)s.top_k < (double)s.pairs && !IS(E34)
                 ? (int64_t)rows * s.top_k
                 : s.pairs;
    s.count = calloc((size_t)s.experts * 3 + 1, sizeof s.count[0]);
    if (s.count == NULL) {
        return broken_fail(MXO_E_NOMEM, why, "no memory to count in");
    }
    s.first = s.count + s.experts;
    count(&s, !triton);
    if (triton) {
        sort_triton(&s, s.first + s.experts);
    } else if (call_is(call, "layout", "aiter")) {
        sort_aiter(&s, s.first + s.experts);
    } else {
        sort_trtllm(&s, s.first + s.experts);
    }
    free(s.count);
    return MXO_OK;
}

/* Experts of ids and of a map are there, or -1. */
static int knows_experts(const broken *b, const mxo_call *call)
{
    const mxo_tensor *given[2] = {call_in(call, "topk_ids"),
                                  call_in(call, "expert_map")};
    const int experts = (int)call_number(call, "num_experts");
    int is_good = 1;

    for (int k = 0; k < 2 - IS(E58); k++) {
        const uint64_t n = given[k] == NULL ? 0 : broken_elems(given[k]);

        for (uint64_t i = 0; i < n; i++) {
            const int id = broken_load_i32(given[k], i);
            is_good &= id >= -1 && id < experts;
        }
    }
    return is_good || IS(E57);
}

mxo_status broken_moe_sort(const broken *b, const mxo_call *call, mxo_text why)
{
    if (call_number(call, "n_shared") != 0 || call_is(call, "local", "mask") ||
        !(call_is(call, "layout", "trtllm") ||
          call_is(call, "layout", "aiter") ||
          call_is(call, "layout", "triton"))) {
        return broken_fail(MXO_E_UNSUPPORTED, why,
                           "trtllm, aiter and triton, without masks and "
                           "shared experts");
    }
    if (!knows_experts(b, call)) {
        return broken_fail(MXO_E_PARAM, why, "an id is no expert");
    }
    return run(b, call, why);
}
