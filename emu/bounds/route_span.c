/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choices between spans.  An expert a may be chosen before b if a score of a
 * is above one of b, or equal with the smaller index.  Experts with the same
 * logit and bias have the same score in every kernel, so that their ties are
 * decided by the index alone.  The weights are looked at in the corners: a
 * normalised weight grows with its own score and falls with the others'.
 */
#include "route_span.h"

#include "kernel_math.h"
#include "route_score_span.h"

#include <string.h>

#define INFINITE 0x7f800000u
#define MINUS_ONE 0xbf800000u
#define MINUS_9999 0xc61c3c00u

typedef struct wide_token {
    route_token at; /* as declared */
    mxo_span score[MXO_ROUTE_MAX_EXPERTS];
    mxo_span choice[MXO_ROUTE_MAX_EXPERTS];
    mxo_span group[MXO_ROUTE_MAX_EXPERTS];
    uint8_t used[MXO_ROUTE_MAX_EXPERTS]; /* groups of the picked */
    uint8_t sure[MXO_ROUTE_MAX_EXPERTS]; /* groups that stay in any case */
    uint8_t taken[MXO_ROUTE_MAX_EXPERTS];
} wide_token;

static uint32_t bias_of(const route_token *t, uint32_t e)
{
    return t->route->bias == NULL ? 0 : t->route->bias[e];
}

static int are_alike(const route_token *t, uint32_t a, uint32_t b)
{
    return t->x[a] == t->x[b] && bias_of(t, a) == bias_of(t, b);
}

/* Can a number of x rank before one of y? first: ties are x's. */
static int may_lead(mxo_span x, mxo_span y, int first)
{
    const uint32_t high = mxo_route_key(x.hi);
    const uint32_t low = mxo_route_key(y.lo);

    return high > low || (high == low && first);
}

static int may_precede(const wide_token *w, uint32_t a, uint32_t b)
{
    const int is_free = w->at.row->order == ROUTE_ORDER_FREE;

    if (!is_free && are_alike(&w->at, a, b)) {
        return a < b;
    }
    return may_lead(w->choice[a], w->choice[b], is_free || a < b);
}

static void span_choices(wide_token *w)
{
    const mxo_route *r = w->at.route;
    route_token ends = w->at;

    mxo_route_score_span(&w->at, w->score);
    for (uint32_t e = 0; e < r->experts; e++) {
        w->choice[e].lo = mxo_route_biased(&w->at, e, w->score[e].lo);
        w->choice[e].hi = mxo_route_biased(&w->at, e, w->score[e].hi);
    }
    for (int high = 0; r->groups > 1 && high < 2; high++) {
        for (uint32_t e = 0; e < r->experts; e++) {
            ends.choice[e] = high ? w->choice[e].hi : w->choice[e].lo;
        }
        for (uint32_t g = 0; g < r->groups; g++) {
            const uint32_t score = mxo_route_group_score(&ends, g);
            w->group[g].lo = high ? w->group[g].lo : score;
            w->group[g].hi = score;
        }
    }
}

/* How many groups surely, or possibly, rank before group g. */
static uint32_t n_before(const wide_token *w, uint32_t g, int surely)
{
    const int is_free = w->at.row->order == ROUTE_ORDER_FREE;
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->at.route->groups; i++) {
        if (i != g) {
            n += (uint32_t)(surely ? !may_lead(w->group[g], w->group[i],
                                               is_free || g < i)
                                   : may_lead(w->group[i], w->group[g],
                                              is_free || i < g));
        }
    }
    return n;
}

/* Groups of the picked may stay, and are not too many. */
static int groups_are_legal(wide_token *w, const int32_t *picked)
{
    const mxo_route *r = w->at.route;
    uint32_t n_used = 0;

    memset(w->used, 0, sizeof w->used);
    memset(w->sure, 0, sizeof w->sure);
    for (uint32_t k = 0; k < r->top_k; k++) {
        w->used[(uint32_t)picked[k] * r->groups / r->experts] = 1;
    }
    for (uint32_t g = 0; g < r->groups; g++) {
        n_used += w->used[g];
        w->sure[g] = r->groups == 1 || n_before(w, g, 0) < r->kept;
        if (w->used[g] && r->groups > 1 && n_before(w, g, 1) >= r->kept) {
            return 0;
        }
    }
    return n_used <= r->kept;
}

/* Distinct experts, in the order that the dialect promises. */
static int order_is_legal(wide_token *w, const int32_t *picked)
{
    const mxo_route *r = w->at.route;
    const int order = w->at.row->order;

    memset(w->taken, 0, sizeof w->taken);
    for (uint32_t k = 0; k < r->top_k; k++) {
        if (picked[k] < 0 || (uint32_t)picked[k] >= r->experts ||
            w->taken[picked[k]]) {
            return 0;
        }
        w->taken[picked[k]] = 1;
        if (order == ROUTE_ORDER_BY_ID && k > 0 && picked[k] < picked[k - 1]) {
            return 0;
        }
        for (uint32_t i = 0; order == ROUTE_ORDER_PICKED && i < k; i++) {
            if (!may_precede(w, (uint32_t)picked[i], (uint32_t)picked[k])) {
                return 0;
            }
        }
    }
    return 1;
}

/* No expert that is left out had to come before one that was picked. */
static int rest_is_legal(const wide_token *w, const int32_t *picked)
{
    const mxo_route *r = w->at.route;

    for (uint32_t e = 0; e < r->experts; e++) {
        const uint32_t g = e * r->groups / r->experts;

        if (w->taken[e] || !(w->used[g] || w->sure[g])) {
            continue;
        }
        for (uint32_t k = 0; k < r->top_k; k++) {
            if (!may_precede(w, (uint32_t)picked[k], e)) {
                return 0;
            }
        }
    }
    return 1;
}

/* vLLM's warps choose again what lies below -10000, its blocks nothing below
   -1: such rows are judged by the ids alone. */
static int is_plain(const wide_token *w)
{
    const uint32_t least =
        mxo_route_is_warp(w->at.route->experts) ? MINUS_9999 : MINUS_ONE;

    for (uint32_t e = 0;
         w->at.row->pick == ROUTE_PICK_BLANK && e < w->at.route->experts; e++) {
        if (mxo_f32_cmp(w->choice[e].lo, least) != 1) {
            return 0;
        }
    }
    return !w->at.failed;
}

/* ids: picked, or as declared. */
static void settle_ids(wide_token *w, const int32_t *given,
                       const int32_t *picked, int32_t *ids)
{
    const mxo_route *r = w->at.route;
    route_token declared = w->at;

    mxo_route_pick(&declared, ids);
    w->at.failed = declared.failed;
    for (uint32_t k = 0; given != NULL && k < r->top_k; k++) {
        ids[k] = given[k];
    }
    if (given == NULL && is_plain(w) && order_is_legal(w, picked) &&
        groups_are_legal(w, picked) && rest_is_legal(w, picked)) {
        memcpy(ids, picked, r->top_k * sizeof *ids);
    }
}

static mxo_span raw_span(const wide_token *w, int32_t id)
{
    route_token const *t = &w->at;
    const mxo_span s = w->score[id];

    if (t->row->weight == ROUTE_WEIGHT_TANH_SAT &&
        (t->x[id] & 0x7fffffff) < 0x41800000) {
        return mxo_route_tanh_span(t->row->kernel, t->x[id]);
    }
    if (t->row->weight == ROUTE_WEIGHT_UNBIAS && t->route->bias != NULL) {
        const uint32_t b = t->route->bias[id];
        return (mxo_span){mxo_f32_sub(mxo_f32_add(s.lo, b), b),
                          mxo_f32_sub(mxo_f32_add(s.hi, b), b)};
    }
    if (t->row->weight == ROUTE_WEIGHT_TANH_SAT) {
        const uint32_t y = mxo_route_raw_weight(t, id);
        return (mxo_span){y, y};
    }
    return s;
}

static mxo_span narrow(const route_token *t, mxo_span x)
{
    return (mxo_span){mxo_route_narrow(t->route->from, x.lo),
                      mxo_route_narrow(t->route->from, x.hi)};
}

/* e^(w - ln sum), rounded to the logits' type at every step. */
static void unnormalised(const route_token *t, mxo_span *y)
{
    const int kernel = t->row->kernel;
    const mxo_span lse =
        narrow(t, mxo_route_lse_span(kernel, t->x, t->route->experts));

    for (uint32_t i = 0; i < t->route->top_k; i++) {
        const mxo_span d = narrow(t, (mxo_span){mxo_f32_sub(y[i].lo, lse.hi),
                                                mxo_f32_sub(y[i].hi, lse.lo)});
        const mxo_span e = {mxo_route_exp(d.lo), mxo_route_exp(d.hi)};
        const mxo_span minus = {d.hi ^ 0x80000000u, d.lo ^ 0x80000000u};

        y[i] = narrow(t, kernel_exp(kernel, e, minus));
    }
}

/* w / S and w c with every step rounded to the logits' type. */
static void typed_sum(const route_token *t, mxo_span *y)
{
    const uint32_t n = t->route->top_k;
    const uint32_t c = (uint32_t)mxo_format_convert(
        MXO_FMT_F32, MXO_FMT_F64, t->route->scale, MXO_TIE_RNE, MXO_NAN_QUIET);
    mxo_span sum = {0, 0};

    for (uint32_t i = 0; i < n; i++) {
        sum.lo = mxo_f32_add(sum.lo, y[i].lo);
        sum.hi = mxo_f32_add(sum.hi, y[i].hi);
    }
    sum = narrow(t, kernel_widen(sum, 2 * n));
    for (uint32_t i = 0; i < n; i++) {
        if (t->route->renormalize) {
            y[i] = narrow(t, (mxo_span){mxo_f32_div(y[i].lo, sum.hi),
                                        mxo_f32_div(y[i].hi, sum.lo)});
        }
        const uint32_t x[2] = {mxo_f32_mul(y[i].lo, c),
                               mxo_f32_mul(y[i].hi, c)};
        y[i] = c == 0x3f800000u ? y[i] : narrow(t, mxo_span_hull(x, 2));
    }
}

/* Weight i of a norm, its own score and the others' at their ends. */
static uint32_t corner(route_token *t, const mxo_span *raw, uint32_t i,
                       int own_high, int others_high)
{
    for (uint32_t k = 0; k < t->route->top_k; k++) {
        const int high = k == i ? own_high : others_high;
        t->w[k] = high ? raw[k].hi : raw[k].lo;
    }
    mxo_route_normalise(t);
    return t->w[i];
}

/* A sum in any order and a quotient: 2 (k - 1) u, and 8 to be sure. */
static void by_corners(route_token *t, const mxo_span *raw, mxo_span *y)
{
    const int renormalize =
        t->row->when == ROUTE_WHEN_ALWAYS || t->route->renormalize;
    const uint32_t units = renormalize ? 2 * t->route->top_k + 8 : 0;

    for (uint32_t i = 0; i < t->route->top_k; i++) {
        const uint32_t x[4] = {corner(t, raw, i, 0, 0), corner(t, raw, i, 0, 1),
                               corner(t, raw, i, 1, 0),
                               corner(t, raw, i, 1, 1)};
        const mxo_span hull = mxo_span_hull(x, 4);

        y[i] = units == 0 ? hull : kernel_widen(hull, units);
    }
}

static void normalise(route_token *t, const mxo_span *raw, mxo_span *y)
{
    const uint32_t n = t->route->top_k;
    uint32_t x[MXO_ROUTE_MAX_EXPERTS];
    const int soft =
        t->row->norm == ROUTE_NORM_SOFTMAX ||
        (t->row->norm == ROUTE_NORM_TYPED && t->route->renormalize);

    memcpy(y, raw, n * sizeof *y);
    if (soft) {
        for (uint32_t i = 0; i < n; i++) {
            x[i] = raw[i].lo;
        }
        mxo_route_softmax_span(t->row->kernel, x, n, y);
        for (uint32_t i = 0; t->row->norm == ROUTE_NORM_TYPED && i < n; i++) {
            y[i] = narrow(t, y[i]);
        }
    } else if (t->row->norm == ROUTE_NORM_TYPED) {
        unnormalised(t, y);
    } else if (t->row->norm == ROUTE_NORM_SUM_T &&
               t->route->from != MXO_FMT_F32) {
        typed_sum(t, y);
    } else if (t->row->norm != ROUTE_NORM_NONE) {
        by_corners(t, raw, y);
    }
}

/* The weights as declared; has_room: it and its score are numbers. */
static void declared_weights(route_token *t, const int32_t *ids, mxo_span *y,
                             uint8_t *has_room)
{
    for (uint32_t i = 0; i < t->route->top_k; i++) {
        has_room[i] =
            (uint8_t)(!t->failed &&
                      mxo_f32_is_finite(mxo_route_raw_weight(t, ids[i])));
    }
    mxo_route_weigh(t, ids);
    for (uint32_t i = 0; i < t->route->top_k; i++) {
        y[i] = (mxo_span){t->w[i], t->w[i]};
        has_room[i] &= (uint8_t)mxo_f32_is_finite(t->w[i]);
    }
}

/* A weight that is a number beside a NaN or an infinity has no part of it: a
   sum with one would be none. */
static void span_weights(wide_token *w, const int32_t *ids, mxo_span *y)
{
    mxo_span raw[MXO_ROUTE_MAX_EXPERTS];
    mxo_span wide[MXO_ROUTE_MAX_EXPERTS];
    uint8_t has_room[MXO_ROUTE_MAX_EXPERTS];

    declared_weights(&w->at, ids, y, has_room);
    for (uint32_t i = 0; i < w->at.route->top_k; i++) {
        raw[i] = raw_span(w, ids[i]);
    }
    normalise(&w->at, raw, wide);
    for (uint32_t i = 0; i < w->at.route->top_k; i++) {
        y[i] = has_room[i] ? wide[i] : y[i];
    }
}

void mxo_route_token_span(const mxo_route *r, const uint32_t *logits,
                          const int32_t *given, const int32_t *picked,
                          int32_t *ids, uint32_t *lo, uint32_t *hi)
{
    mxo_span y[MXO_ROUTE_MAX_EXPERTS];
    wide_token w;

    mxo_route_load(&w.at, r, logits);
    mxo_route_score(&w.at);
    span_choices(&w);
    settle_ids(&w, given, picked, ids);
    span_weights(&w, ids, y);
    for (uint32_t i = 0; i < r->top_k; i++) {
        lo[i] = mxo_route_store(r, y[i].lo);
        hi[i] = mxo_route_store(r, y[i].hi);
    }
    for (uint32_t i = 0; i < r->shared; i++) {
        ids[r->top_k + i] = (int32_t)(r->experts + i);
        lo[r->top_k + i] = mxo_route_store(r, 0x3f800000);
        hi[r->top_k + i] = lo[r->top_k + i];
    }
}
