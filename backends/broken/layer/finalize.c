/* SPDX-License-Identifier: Apache-2.0 */
/* moe.finalize and moe.permute: rows back to tokens, tokens to rows. */
#include "broken.h"

#include <math.h>
#include <string.h>

typedef struct summing {
    const broken *b;
    const mxo_tensor *x;
    const mxo_tensor *weights;
    const mxo_tensor *index;
    const mxo_tensor *ids;
    const mxo_tensor *map;
    int64_t tokens;
    int64_t slots;
    int fused;  /* sum=fma */
    int zeroes; /* absent=zero */
} summing;

static int64_t row_of(const summing *s, int64_t pair)
{
    const broken *b = s->b;

    if (s->map != NULL && !IS(E44)) {
        const int32_t id = broken_load_i32(s->ids, (uint64_t)pair);

        if (id < 0 || broken_load_i32(s->map, (uint64_t)id) < 0) {
            return -1;
        }
    }
    return s->index == NULL ? pair : broken_load_i32(s->index, (uint64_t)pair);
}

static float to_bf16(const broken *b, float x)
{
    const number_format *f = &broken_formats[FORMAT_BF16];
    const uint32_t code = broken_round(f, broken_dd((double)x));

    return isnan(x) ? x : (float)broken_decode(b, f, code);
}

static float weight_of(const summing *s, int64_t pair)
{
    const broken *b = s->b;
    const int64_t n = s->tokens * s->slots;
    const int64_t at = IS(E45) ? (pair + s->slots) % n : pair;
    const float w = s->weights == NULL || IS(E46)
                        ? 1
                        : (float)broken_load(s->weights, (uint64_t)at);

    return IS(E47) || (IS(E47b) && s->slots == 1) ? to_bf16(b, w) : w;
}

static float step(const summing *s, float acc, float w, float x)
{
    const broken *b = s->b;

    if (IS(E48) || (IS(E48b) && s->slots == 1)) {
        w = w * w;
    }
    if (IS(E49) && isnan(x)) {
        x = 0;
    }
    if (s->weights == NULL && !IS(E46)) {
        return broken_add32(acc, x);
    }
    if (s->fused && !IS(E50)) {
        return fmaf(w, x, acc);
    }
    acc = broken_add32(acc, (float)((double)w * (double)x));
    return acc;
}

static float element(const summing *s, int64_t token, int64_t stride,
                     int64_t col)
{
    const broken *b = s->b;
    const int64_t first = token * s->slots;
    float acc = 0;

    for (int64_t k = 0; k < s->slots - (IS(E51) && s->slots > 1); k++) {
        const int64_t pair = first + (IS(E52) ? s->slots - 1 - k : k);
        int64_t row = row_of(s, pair);

        if (row < 0 && IS(E53)) {
            row = 0;
        }
        if (row < 0 && !s->zeroes) {
            continue;
        }
        const float x =
            row < 0 ? 0
                    : (float)broken_load(s->x, (uint64_t)(row * stride + col));

        acc = step(s, acc, weight_of(s, pair), x);
        acc = IS(E54) ? to_bf16(b, acc) : acc;
    }
    return acc;
}

/* Has the token any pair here? */
static int is_there(const summing *s, int64_t token)
{
    for (int64_t k = 0; k < s->slots; k++) {
        if (row_of(s, token * s->slots + k) >= 0) {
            return 1;
        }
    }
    return 0;
}

/* Whether every index is a row of x, or -1, and the map has every id. */
static int has_rows(const summing *s)
{
    const int64_t n = s->index == NULL ? 0 : s->tokens * s->slots;
    const int64_t n_ids = s->map == NULL ? 0 : s->tokens * s->slots;
    int is_good = 1;

    for (int64_t i = 0; i < n_ids; i++) {
        is_good &=
            broken_load_i32(s->ids, (uint64_t)i) < (int64_t)s->map->shape[0];
    }

    for (int64_t i = 0; i < n; i++) {
        const int64_t row = broken_load_i32(s->index, (uint64_t)i);
        is_good &= row >= -1 && row < (int64_t)s->x->shape[0];
    }
    return is_good;
}

mxo_status broken_moe_finalize(const broken *b, const mxo_call *call,
                               mxo_text why)
{
    const mxo_tensor *y = call_out(call, "y");
    const int64_t cols = (int64_t)y->shape[1];
    summing s = {
        .b = b,
        .x = call_in(call, "x"),
        .weights = call_in(call, "topk_weights"),
        .index = call_in(call, "index"),
        .ids = call_in(call, "topk_ids"),
        .map = call_in(call, "expert_map"),
        .tokens = (int64_t)y->shape[0],
        .fused = call_is(call, "sum", "fma"),
        .zeroes = call_is(call, "absent", "zero"),
    };
    const mxo_tensor *pairs = s.index != NULL ? s.index : s.weights;

    if (!s.fused && !call_is(call, "sum", "add")) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "sum=fma and sum=add only");
    }
    s.slots = pairs != NULL ? (int64_t)pairs->shape[1]
                            : (int64_t)call_number(call, "top_k");
    if (!IS(E59) && !has_rows(&s)) {
        return broken_fail(MXO_E_PARAM, why, "an index is no row");
    }
    for (int64_t t = 0; t < s.tokens; t++) {
        if (IS(E55) && !is_there(&s, t)) {
            continue;
        }
        for (int64_t c = 0; c < cols; c++) {
            const int64_t stride = IS(E56) ? cols : (int64_t)s.x->shape[1];

            broken_store(b, y, (uint64_t)(t * cols + c),
                         broken_dd((double)element(&s, t, stride, c)));
        }
    }
    return MXO_OK;
}

/* Row of x for row r, or -1 for a pad. */
static int64_t source(const broken *b, const mxo_call *call, int64_t r)
{
    const mxo_tensor *x = call_in(call, "x");
    const mxo_tensor *valid = call_in(call, "num_valid");
    const int64_t top_k = (int64_t)call_number(call, "top_k");
    const int per_pair = call_number(call, "per_pair") != 0;
    const int64_t tokens = (int64_t)x->shape[0] / (per_pair ? top_k : 1);
    const int64_t id = broken_load_i32(call_in(call, "rows"), (uint64_t)r);
    int64_t token = id / top_k;
    int64_t slot = id % top_k;

    if (valid != NULL) {
        token = id & (IS(E60) ? 0xffff : 0xffffff);
        slot = id >> 24;
    }
    if (id < 0 || token >= tokens || (per_pair && slot >= top_k) ||
        (valid != NULL && !IS(E61) && r >= broken_load_i32(valid, 0))) {
        return IS(E62) ? 0 : -1;
    }
    if (IS(E63) && !per_pair && valid == NULL) {
        return id < tokens ? id : tokens - 1;
    }
    return per_pair ? token * top_k + (IS(E64) ? 0 : slot) : token;
}

mxo_status broken_moe_permute(const broken *b, const mxo_call *call,
                              mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const mxo_tensor *y = call_out(call, "y");
    const mxo_tensor *valid = call_in(call, "num_valid");
    const size_t bytes = (size_t)x->shape[1];
    const int pad = IS(E65) ? 0 : (int)call_number(call, "pad");

    if (!call_is(call, "layout", "linear")) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "layout=linear only");
    }
    if (call_number(call, "per_pair") != 0 &&
        x->shape[0] % (uint64_t)call_number(call, "top_k") != 0) {
        return broken_fail(MXO_E_SHAPE, why, "x has no row for every pair");
    }
    if (valid != NULL && broken_elems(valid) == 0) {
        return broken_fail(MXO_E_SHAPE, why, "num_valid is empty");
    }
    for (uint64_t r = 0; r < y->shape[0]; r++) {
        const int64_t from = source(b, call, (int64_t)r);
        uint8_t *to = tensor_address(y) + r * bytes;

        if (from < 0) {
            memset(to, pad, bytes);
        } else {
            memcpy(to, tensor_address(x) + (size_t)from * bytes, bytes);
        }
    }
    return MXO_OK;
}
