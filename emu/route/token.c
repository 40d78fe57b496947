/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A router from end to end: score, choose, weigh, for one token at a time.
 * The rows of route.def say how; nothing here knows a vendor.
 */
#include "../bounds/kernel_math.h"
#include "route.h"

#include <mxoracle/quant.h>

#include <stddef.h>

static const route_row rows[] = {
#define MXO_ROUTE(id, name, score, clean, bias, pick, groups, weight, norm, \
                  when, order, kernel, source)                              \
    {name,                                                                  \
     ROUTE_SCORE_##score,                                                   \
     ROUTE_CLEAN_##clean,                                                   \
     ROUTE_BIAS_##bias,                                                     \
     ROUTE_PICK_##pick,                                                     \
     ROUTE_GROUPS_##groups,                                                 \
     ROUTE_WEIGHT_##weight,                                                 \
     ROUTE_NORM_##norm,                                                     \
     ROUTE_WHEN_##when,                                                     \
     ROUTE_ORDER_##order,                                                   \
     KERNEL_##kernel},
#include <mxoracle/route.def>
#undef MXO_ROUTE
};

const route_row *mxo_route_row(mxo_route_dialect dialect)
{
    return &rows[dialect];
}

const char *mxo_route_name(mxo_route_dialect dialect)
{
    return dialect < MXO_N_ROUTES ? rows[dialect].name : NULL;
}

static const char *check_groups(const mxo_route *r, const route_row *row)
{
    const int grouped = r->groups > 1;

    if (r->groups < 1 || r->kept < 1 || r->kept > r->groups) {
        return "topk_group is 1 .. groups";
    }
    if (grouped && row->groups == ROUTE_GROUPS_NONE) {
        return "this dialect has no groups of experts";
    }
    if (r->experts % r->groups != 0) {
        return "the groups do not divide the experts";
    }
    const int two = row->groups == ROUTE_GROUPS_TOP2 || r->bias != NULL;

    if ((grouped || mxo_route_is_general(r)) && two &&
        r->experts / r->groups < 2) {
        return "a group has fewer than the two experts its score needs";
    }
    if (r->top_k > r->experts / r->groups * r->kept) {
        return "top_k is more than the experts of the groups that stay";
    }
    if (r->shared > 0 && (row->bias != ROUTE_BIAS_GROUPED_BF16 || !grouped)) {
        return "fused shared experts exist in grouped trtllm_deepseek_v3 only";
    }
    return NULL;
}

/* Does the row multiply by the scaling factor? */
static int has_scale(const route_row *row)
{
    return row->norm != ROUTE_NORM_NONE && row->norm != ROUTE_NORM_SOFTMAX &&
           row->norm != ROUTE_NORM_MAX_EPS && row->norm != ROUTE_NORM_TYPED;
}

static const char *check_numbers(const mxo_route *r, const route_row *row)
{
    if ((r->scale & 0x7ff0000000000000u) == 0x7ff0000000000000u) {
        return "the scaling factor is not a finite number";
    }
    if (r->scale != 0x3ff0000000000000u && !has_scale(row)) {
        return "this dialect has no scaling factor";
    }
    if (r->bias != NULL && row->bias == ROUTE_BIAS_NONE) {
        return "this dialect has no correction bias";
    }
    for (uint32_t e = 0; r->bias != NULL && e < r->experts; e++) {
        if ((r->bias[e] & 0x7fffffff) > 0x7f800000) {
            return "the correction bias holds a NaN";
        }
    }
    return NULL;
}

const char *mxo_route_check(const mxo_route *r)
{
    const route_row *row = mxo_route_row(r->dialect);

    if (r->experts < 1 || r->experts > MXO_ROUTE_MAX_EXPERTS) {
        return "there are 1 .. 2048 experts";
    }
    if (r->top_k < 1 || r->top_k > r->experts) {
        return "top_k is 1 .. experts";
    }
    const char *sentence = check_groups(r, row);

    sentence = sentence == NULL ? mxo_route_beyond(r) : sentence;
    return sentence != NULL ? sentence : check_numbers(r, row);
}

uint32_t mxo_route_store(const mxo_route *r, uint32_t w)
{
    return (uint32_t)mxo_format_convert(r->to, MXO_FMT_F32, w, MXO_TIE_RNE,
                                        MXO_NAN_QUIET);
}

/* Exact.  Of a NaN the sign is kept, which ranks, and the payload where that
   ranks too. */
static uint32_t widen(const route_row *row, mxo_format from, uint32_t code)
{
    const uint32_t x = mxo_quant_widen(from, code);
    const int is_nan = (x & 0x7fffffff) > 0x7f800000;

    return is_nan && row->pick != ROUTE_PICK_BITS
               ? (x & 0x80000000u) | 0x7fc00000u
               : x;
}

void mxo_route_load(route_token *t, const mxo_route *r, const uint32_t *logits)
{
    t->route = r;
    t->row = mxo_route_row(r->dialect);
    t->general = mxo_route_is_general(r);
    t->failed = 0;
    for (uint32_t e = 0; e < r->experts; e++) {
        t->x[e] = widen(t->row, r->from, logits[e]);
        t->out[e] = 0;
    }
}

void mxo_route_token(const mxo_route *r, const uint32_t *logits,
                     const int32_t *given, int32_t *ids, uint32_t *weights)
{
    route_token t;

    mxo_route_load(&t, r, logits);
    mxo_route_score(&t);
    mxo_route_pick(&t, ids);
    for (uint32_t i = 0; given != NULL && i < r->top_k; i++) {
        ids[i] = given[i];
    }
    mxo_route_weigh(&t, ids);
    for (uint32_t i = 0; i < r->top_k; i++) {
        weights[i] = mxo_route_store(r, t.w[i]);
    }
    for (uint32_t i = 0; i < r->shared; i++) {
        ids[r->top_k + i] = (int32_t)(r->experts + i);
        weights[r->top_k + i] = mxo_route_store(r, 0x3f800000);
    }
}
