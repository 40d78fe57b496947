/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.topk: the router of ../../router.h with this backend's exponentials,
 * hyperbolic tangents and logarithms; tokens are split among threads.
 */
#include "route_math.h"

#include "../../common/router_choose.h"
#include "../../common/router_read.h"

#include <stdlib.h>

/* A call with its data. */
typedef struct route_job {
    route_plan p;
    const uint8_t *logits;
    const int32_t *input; /* NULL: experts are chosen */
    const int32_t *table;
    int32_t *ids;
    uint8_t *weights;
    int32_t *indices; /* NULL: not wanted */
    int32_t *packed;
    int failed;
} route_job;

/* One token's numbers. */
typedef struct route_space {
    float x[ROUTE_MOST];
    uint32_t score[ROUTE_MOST];
    uint32_t choice[ROUTE_MOST];
    uint32_t out[ROUTE_MOST];
    uint32_t group[ROUTE_MOST];
    uint32_t id[ROUTE_MOST];
    float w[ROUTE_MOST];
} route_space;

static void *data_of(const mxo_tensor *t)
{
    return t == NULL ? NULL : cpu_data(t);
}

/* Input ids are of the vocabulary, and the table's of the experts. */
static mxo_status check_table(const mxo_call *call, const route_call *r,
                              mxo_text why)
{
    if (r->table == NULL) {
        return MXO_OK;
    }
    const uint64_t words = r->table->shape[0];

    MXO_TRY(route_below(call, data_of(r->input), r->plan.tokens, words,
                        "an input id is not in the table", why));
    return route_below(call, data_of(r->table), words * r->plan.top_k,
                       r->plan.experts, "the table names no expert", why);
}

/* A binary16 NaN with its payload, which instructions may not keep. */
static float nan_of(uint16_t half)
{
    return cpu_float((uint32_t)(half & 0x8000u) << 16 | 0x7f800000u |
                     (uint32_t)(half & 0x3ffu) << 13);
}

/* Numbers of a token; a NaN keeps its sign, which ranks, and its payload only
   where that ranks too. */
static void load(const route_job *j, uint64_t token, float *x)
{
    const size_t n = j->p.experts;
    const uint32_t dtype = route_dtype(j->p.from);
    const uint8_t *row = j->logits + token * n * cpu_dtype_bytes(dtype);

    cpu_widen(dtype, row, (uint32_t)n, x);
    for (size_t e = 0; e < n; e++) {
        const uint32_t sign = cpu_bits32(x[e]) & 0x80000000u;
        uint16_t half;

        if (x[e] == x[e]) {
            continue;
        }
        memcpy(&half, row + 2 * e, sizeof half);
        if ((j->p.flags & ROUTE_PAYLOADS) == 0) {
            x[e] = cpu_float(sign | 0x7fc00000u);
        } else if (j->p.from == ROUTE_F16) {
            x[e] = nan_of(half);
        }
    }
}

/* Shared experts come behind the others and weigh 1. */
static void store(const route_job *j, uint64_t token, const route_token *t)
{
    const uint32_t slots = j->p.top_k + j->p.shared;

    for (uint32_t k = 0; k < slots; k++) {
        const uint64_t at = token * slots + k;
        const int is_chosen = k < j->p.top_k;
        const float w = route_through(ROUTE_F32, is_chosen ? t->w[k] : 1.0f);
        const uint16_t half =
            j->p.to == ROUTE_F16 ? cpu_f16_of(w) : cpu_bf16_of(w);
        const uint32_t id =
            is_chosen ? t->id[k] : j->p.experts + k - j->p.top_k;

        j->ids[at] = (int32_t)id;
        if (j->p.to == ROUTE_F32) {
            memcpy(j->weights + 4 * at, &w, sizeof w);
        } else {
            memcpy(j->weights + 2 * at, &half, sizeof half);
        }
        if (j->indices != NULL) {
            j->indices[at] = (int32_t)(k * j->p.tokens + token);
        }
        if (j->packed != NULL) {
            j->packed[at] = (int32_t)(id << 16 | half);
        }
    }
}

static void route_span(void *arg, uint64_t begin, uint64_t end)
{
    route_job *j = arg;
    route_space *s = malloc(sizeof *s);

    if (s == NULL) {
        cpu_set_flag(&j->failed);
        return;
    }
    route_token t = {.p = &j->p,
                     .logits = s->x,
                     .score = s->score,
                     .choice = s->choice,
                     .out = s->out,
                     .group = s->group,
                     .id = s->id,
                     .w = s->w};

    for (uint64_t token = begin; token < end; token++) {
        load(j, token, s->x);
        route_score(&t);
        route_choose(&t);
        for (uint32_t k = 0; j->table != NULL && k < j->p.top_k; k++) {
            const size_t row = (size_t)j->input[token] * j->p.top_k;
            t.id[k] = (uint32_t)j->table[row + k];
        }
        route_weigh(&t);
        store(j, token, &t);
    }
    free(s);
}

mxo_status cpu_route_topk(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    float bias[ROUTE_MOST];
    route_call r;

    MXO_TRY(cpu_known(call,
                      "dialect from to top_k renormalize routed_scaling_factor "
                      "n_group topk_group n_shared bias table also bounds",
                      why));
    MXO_TRY(route_read(call, &r, why));
    MXO_TRY(check_table(call, &r, why));
    if (r.bias != NULL) {
        MXO_TRY(
            route_take_bias(call, data_of(r.bias), r.plan.experts, bias, why));
        r.plan.bias = bias;
    }
    route_job j = {.p = r.plan,
                   .logits = data_of(r.logits),
                   .input = data_of(r.input),
                   .table = data_of(r.table),
                   .ids = data_of(r.ids),
                   .weights = data_of(r.weights),
                   .indices = data_of(r.indices),
                   .packed = data_of(r.packed)};

    cpu_split(ctx, r.plan.tokens, 1, route_span, &j);
    cpu_name_kernel(ctx, "route_topk", cpu_threads(ctx, r.plan.tokens, 1));
    return j.failed ? cpu_fail(MXO_E_NOMEM, why, "no memory for a token")
                    : MXO_OK;
}
