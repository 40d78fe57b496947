/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.topk for the textbook routers, in binary32 steps taken in double:
 * one operation on two floats, rounded to float, is the float operation.
 */
#include "broken.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EXPERTS = 2048 };

typedef struct router {
    const broken *b;
    int softmax_first;
    int sigmoid;
    int renormalize;
    int experts;
    int top_k;
    int groups;
    int kept;
    float factor;
    const mxo_tensor *bias;
} router;

typedef struct token {
    float x[MAX_EXPERTS];
    float score[MAX_EXPERTS];
    float key[MAX_EXPERTS];
    int gone[MAX_EXPERTS];
} token;

static float mul32(float a, float b)
{
    return (float)((double)a * (double)b);
}

static float div32(float a, float b)
{
    return (float)((double)a / (double)b);
}

static float exp32(float x)
{
    return (float)exp((double)x);
}

/* Order of the bits: +NaN, +Inf .. +0, -0 .. -Inf, -NaN. */
static int64_t rank_of(const broken *b, float x)
{
    int32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if (IS(R30) && x == 0) {
        bits = 0;
    }
    if (IS(R31) && isnan(x)) {
        return INT64_MIN + 1;
    }
    return bits >= 0 ? bits : (int64_t)INT32_MIN - 1 - bits;
}

static int better(const broken *b, float x, float than)
{
    if (IS(R32)) {
        return rank_of(b, x) >= rank_of(b, than);
    }
    if (IS(R33)) {
        return x > than;
    }
    return rank_of(b, x) > rank_of(b, than);
}

static float to_bf16(const broken *b, float x)
{
    const number_format *f = &broken_formats[FORMAT_BF16];
    const uint32_t code = broken_round(f, broken_dd((double)x));

    return (float)broken_decode(b, f, code);
}

/* The first of the best among candidates from first on; -1 if none is left. */
static int best(const broken *b, const float *key, const int *gone, int n)
{
    int at = -1;
    float top = 0;

    for (int i = 0; i < n - (IS(R34) && n > 4); i++) {
        if (IS(R03) && at < 0 && !(key[i] > 0)) {
            continue;
        }
        if (!gone[i] && (at < 0 || better(b, key[i], top))) {
            at = i;
            top = key[i];
        }
    }
    return at;
}

static float sigmoid32(const broken *b, float x)
{
    if (IS(R35)) {
        return (float)(0.5 * (double)tanhf(0.5f * x) + 0.5);
    }
    if (isnan(x)) {
        return x;
    }
    return (float)broken_sigmoid(b, broken_dd((double)x)).hi;
}

/* e^(x - max) / sum over the n numbers of v. */
static void softmax(const broken *b, float *v, int n)
{
    float max = -INFINITY;
    float sum = 0;

    for (int i = 0; i < n; i++) {
        max = v[i] > max ? v[i] : max;
    }
    for (int i = 0; i < n; i++) {
        v[i] = exp32(IS(R36) ? v[i] : broken_add32(v[i], -max));
    }
    for (int i = 0; i < n; i++) {
        sum = broken_add32(sum, v[IS(V26) ? n - 1 - i : i]);
    }
    for (int i = 0; i < n; i++) {
        v[i] = IS(R10) ? mul32(v[i], div32(1, sum)) : div32(v[i], sum);
    }
}

static void scores(const router *r, token *t)
{
    const broken *b = r->b;

    memcpy(t->score, t->x, sizeof t->score);
    if (r->sigmoid) {
        for (int e = 0; e < r->experts; e++) {
            t->score[e] = sigmoid32(b, t->x[e]);
        }
    } else if (r->softmax_first) {
        softmax(b, t->score, r->experts);
    }
    for (int e = 0; e < r->experts; e++) {
        float bias = r->bias == NULL || IS(R38)
                         ? 0
                         : (float)broken_load(r->bias, (uint64_t)e);
        bias = IS(R39) ? to_bf16(b, bias) : bias;
        t->key[e] =
            r->bias == NULL ? t->score[e] : broken_add32(t->score[e], bias);
        if (isnan(t->key[e]) && (r->sigmoid || r->softmax_first)) {
            t->key[e] = copysignf(t->key[e], 1); /* a computed NaN ranks + */
        }
        t->gone[e] = 0;
    }
}

static float group_score(const router *r, token *t, int g)
{
    const broken *b = r->b;
    const int size = r->experts / r->groups;
    const size_t start = (size_t)g * (size_t)size;
    float *key = &t->key[start];
    int *gone = &t->gone[start];
    const int first = best(b, key, gone, size);

    if (first < 0 || r->bias == NULL || IS(R40)) {
        return first < 0 ? -INFINITY : key[first];
    }
    gone[first] = 1;
    const int second = best(b, key, gone, size);

    gone[first] = 0;
    return second < 0 ? key[first] : broken_add32(key[first], key[second]);
}

static void drop_groups(const router *r, token *t)
{
    const broken *b = r->b;
    float score[MAX_EXPERTS] = {0};
    int stays[MAX_EXPERTS] = {0};

    if (r->groups < 2 || IS(R41)) {
        return;
    }
    for (int g = 0; g < r->groups; g++) {
        score[g] = group_score(r, t, g);
    }
    for (int i = 0; i < r->kept; i++) {
        const int g = best(b, score, stays, r->groups);

        if (g >= 0) {
            stays[g] = 1;
        }
    }
    for (int e = 0; e < r->experts; e++) {
        t->gone[e] =
            !stays[IS(R42) ? e % r->groups : e * r->groups / r->experts];
    }
}

/* A stable insertion sort of all experts instead of k searches. */
static void choose_by_sorting(const router *r, const token *t, int *ids)
{
    int order[MAX_EXPERTS] = {0};
    int n = 0;

    for (int e = 0; e < r->experts; e++) {
        int at = n;

        if (t->gone[e]) {
            continue;
        }
        while (at > 0 && better(r->b, t->key[e], t->key[order[at - 1]])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = e;
        n++;
    }
    memcpy(ids, order, (size_t)r->top_k * sizeof ids[0]);
}

static int ascending(const void *a, const void *c)
{
    return *(const int *)a - *(const int *)c;
}

static void choose(const router *r, token *t, int *ids)
{
    const broken *b = r->b;

    drop_groups(r, t);
    if (IS(V15) || IS(MV20)) {
        choose_by_sorting(r, t, ids);
        return;
    }
    for (int k = 0; k < r->top_k; k++) {
        const int e = best(b, t->key, t->gone, r->experts);

        ids[k] = e < 0 ? 0 : e;
        t->gone[ids[k]] = 1;
    }
    if (IS(R43)) {
        qsort(ids, (size_t)r->top_k, sizeof ids[0], ascending);
    }
}

static float sum_of(const router *r, const token *t, const float *w)
{
    const broken *b = r->b;
    const int n = IS(R44) ? r->experts : r->top_k;
    float sum = 0;

    for (int k = IS(R45); k < n; k++) {
        sum = broken_add32(sum, IS(R44) ? t->score[k] : w[k]);
    }
    return sum;
}

static void weigh(const router *r, const token *t, const int *ids, float *w)
{
    const broken *b = r->b;
    const int logits = !r->sigmoid && !r->softmax_first;
    const int divide = (r->renormalize || IS(R01)) && !IS(R01b) && !logits;
    float factor = IS(R06) ? 1 : r->factor;

    factor = IS(R06b) ? mul32(factor, factor) : factor;
    for (int k = 0; k < r->top_k; k++) {
        w[k] = IS(R09) ? t->key[ids[k]] : t->score[ids[k]];
    }
    if ((logits && !IS(R02)) || (IS(R02b) && r->softmax_first)) {
        for (int k = 0; k < r->top_k; k++) {
            w[k] = t->x[ids[k]];
        }
        softmax(b, w, r->top_k);
        return;
    }
    const float sum = sum_of(r, t, w);

    for (int k = 0; k < r->top_k; k++) {
        if (divide) {
            w[k] = IS(R10) ? mul32(w[k], div32(1, sum)) : div32(w[k], sum);
        }
        w[k] = factor == 1 ? w[k] : mul32(w[k], factor);
    }
}

/* bf16 pairs taken for float32, as many as there are. */
static float misread(const mxo_tensor *logits, uint64_t i)
{
    const uint64_t words = logits->n_bytes / 4;
    float x = 0;

    if (words > 0) {
        memcpy(&x, tensor_address(logits) + 4 * (i % words), 4);
    }
    return x;
}

static void read_row(const router *r, const mxo_tensor *logits, uint64_t row,
                     token *t)
{
    const broken *b = r->b;

    for (int e = 0; e < r->experts; e++) {
        const uint64_t i = row * (uint64_t)r->experts + (uint64_t)e;
        uint32_t bits;

        t->x[e] = IS(R04) && logits->dtype == MXO_BF16
                      ? misread(logits, i)
                      : (float)broken_load(logits, i);
        if (isnan(t->x[e])) { /* the sign ranks, and a double may lose it */
            const uint8_t *at = tensor_address(logits);
            const int neg = logits->dtype == MXO_F32 ? at[4 * i + 3] >> 7
                                                     : at[2 * i + 1] >> 7;
            bits = neg ? 0xffc00000u : 0x7fc00000u;
            memcpy(&t->x[e], &bits, sizeof bits);
        }
    }
}

static void write_row(const router *r, const mxo_call *call, uint64_t row,
                      const int *ids, const float *w)
{
    const broken *b = r->b;
    const uint64_t k = (uint64_t)r->top_k;
    int32_t *to = (int32_t *)(void *)tensor_address(call_out(call, "topk_ids"));
    const mxo_tensor *weights = call_out(call, "topk_weights");
    const mxo_tensor *indices = call_out(call, "token_expert_indices");
    const uint64_t tokens = call_in(call, "logits")->shape[0];

    for (uint64_t i = 0; i < k; i++) {
        const float x = IS(R05) ? to_bf16(b, w[i]) : w[i];
        const int32_t index =
            (int32_t)(IS(R46) ? row * k + i : i * tokens + row);

        to[row * k + i] = ids[i];
        broken_store(b, weights, row * k + i, broken_dd((double)x));
        if (indices != NULL) {
            memcpy(tensor_address(indices) + 4 * (row * k + i), &index, 4);
        }
    }
}

static int make_router(const broken *b, const mxo_call *call, router *r)
{
    const char *dialect = call_text(call, "dialect");

    r->b = b;
    r->softmax_first = strcmp(dialect, "softmax_topk") == 0;
    r->sigmoid = strcmp(dialect, "sigmoid_topk") == 0;
    r->renormalize = call_number(call, "renormalize") != 0;
    r->experts = (int)call_in(call, "logits")->shape[1];
    r->top_k = (int)call_number(call, "top_k");
    r->groups = (int)fmax(call_number(call, "n_group"), 1);
    r->kept = (int)call_number(call, "topk_group");
    r->factor = (float)call_number(call, "routed_scaling_factor");
    r->bias = call_in(call, "bias");
    return (r->softmax_first || r->sigmoid ||
            strcmp(dialect, "topk_softmax") == 0) &&
           r->experts <= MAX_EXPERTS && !call_is(call, "also", "packed");
}

mxo_status broken_route_topk(const broken *b, const mxo_call *call,
                             mxo_text why)
{
    const mxo_tensor *logits = call_in(call, "logits");
    token t = {0};
    float w[MAX_EXPERTS] = {0};
    int ids[MAX_EXPERTS] = {0};
    router r;

    if (!make_router(b, call, &r)) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "textbook routers only");
    }
    for (uint64_t row = 0; row < logits->shape[0]; row++) {
        read_row(&r, logits, IS(R47) ? 0 : IS(R48) ? row % 1024 : row, &t);
        scores(&r, &t);
        choose(&r, &t, ids);
        weigh(&r, &t, ids, w);
        write_row(&r, call, row, ids, w);
    }
    return MXO_OK;
}
