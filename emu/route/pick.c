/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice: groups that stay, then the top k.  Ties go to the smaller
 * index in every dialect; what differs is where NaN ranks and how a chosen
 * expert is taken out.
 */
#include "route.h"

enum { BLANKED = (int)0xc61c4000, MINUS_ONE = (int)0xbf800000 };

/* The largest key of n candidates, the first of equals; n if all are out. */
static uint32_t best_key(const uint32_t *v, const uint8_t *out, uint32_t n)
{
    uint32_t best = n;

    for (uint32_t i = 0; i < n; i++) {
        if (!out[i] &&
            (best == n || mxo_route_key(v[i]) > mxo_route_key(v[best]))) {
            best = i;
        }
    }
    return best;
}

/* Sum of the two largest choices of a group, or the largest alone. */
static uint32_t group_score(route_token *t, uint32_t first, uint32_t size,
                            int two)
{
    const uint32_t *v = t->choice + first;
    uint8_t *out = t->out + first;
    const uint32_t a = best_key(v, out, size);

    if (!two) {
        return v[a];
    }
    out[a] = 1;
    const uint32_t b = best_key(v, out, size);

    out[a] = 0;
    return mxo_route_choice(t, mxo_f32_add(v[a], v[b]));
}

uint32_t mxo_route_group_score(route_token *t, uint32_t group)
{
    const uint32_t size = t->route->experts / t->route->groups;
    const int two =
        t->row->groups == ROUTE_GROUPS_TOP2 || t->route->bias != NULL;

    return group_score(t, group * size, size, two);
}

/* Experts of groups that do not stay are out. */
static void keep_groups(route_token *t)
{
    const mxo_route *r = t->route;
    uint32_t score[MXO_ROUTE_MAX_EXPERTS] = {0};
    uint8_t stays[MXO_ROUTE_MAX_EXPERTS] = {0};

    for (uint32_t g = 0; g < r->groups; g++) {
        score[g] = mxo_route_group_score(t, g);
    }
    for (uint32_t i = 0; i < r->kept; i++) {
        const uint32_t g = best_key(score, stays, r->groups);

        stays[g] = 1;
        t->failed = t->general && score[g] == 0xff800000u;
    }
    for (uint32_t e = 0; e < r->experts; e++) {
        t->out[e] = !stays[e * r->groups / r->experts];
    }
}

static void pick_keys(route_token *t, int32_t *ids)
{
    for (uint32_t k = 0; k < t->route->top_k; k++) {
        const uint32_t e = best_key(t->choice, t->out, t->route->experts);

        t->out[e] = 1;
        ids[k] = (int32_t)e;
    }
}

/*
 * vLLM's warps: the first of the largest, which then counts as -10000.  What
 * is below that from the start is therefore chosen twice.
 */
static void pick_blanking(route_token *t, int32_t *ids)
{
    for (uint32_t k = 0; k < t->route->top_k; k++) {
        uint32_t best = 0;

        for (uint32_t e = 1; e < t->route->experts; e++) {
            if (mxo_f32_cmp(t->choice[e], t->choice[best]) == 1) {
                best = e;
            }
        }
        t->choice[best] = (uint32_t)BLANKED;
        ids[k] = (int32_t)best;
    }
}

/* vLLM's block kernel: starts from expert 0 with -1, skips chosen experts. */
static void pick_from_minus_one(route_token *t, int32_t *ids)
{
    for (uint32_t k = 0; k < t->route->top_k; k++) {
        uint32_t best = 0;
        uint32_t value = (uint32_t)MINUS_ONE;

        for (uint32_t e = 0; e < t->route->experts; e++) {
            if (!t->out[e] && mxo_f32_cmp(t->choice[e], value) == 1) {
                best = e;
                value = t->choice[e];
            }
        }
        t->out[best] = 1;
        ids[k] = (int32_t)best;
    }
}

int mxo_route_is_general(const mxo_route *r)
{
    const uint32_t size = r->experts / r->groups;
    const int single = r->groups == 1 && r->kept == 1 && r->experts <= 512 &&
                       (r->top_k <= 8 || r->top_k == 22);
    const int grouped = r->groups > 1 && r->experts <= 256 && size <= 32 &&
                        size * r->kept <= 128 && r->top_k <= 8 && r->kept <= 4;

    return mxo_route_row(r->dialect)->pick == ROUTE_PICK_FUSED && !single &&
           !grouped;
}

static int is_block(const mxo_route *r)
{
    return !mxo_route_is_warp(r->experts);
}

static void sort_by_id(int32_t *ids, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        const int32_t id = ids[i];
        uint32_t at = i;

        while (at > 0 && ids[at - 1] > id) {
            ids[at] = ids[at - 1];
            at--;
        }
        ids[at] = id;
    }
}

void mxo_route_pick(route_token *t, int32_t *ids)
{
    const mxo_route *r = t->route;

    for (uint32_t e = 0; e < r->experts; e++) {
        t->out[e] = 0;
    }
    t->failed = 0;
    if (r->groups > 1 || t->general) {
        keep_groups(t);
    }
    if (t->failed) {
        for (uint32_t k = 0; k < r->top_k; k++) {
            ids[k] = (int32_t)k;
        }
    } else if (t->row->pick != ROUTE_PICK_BLANK) {
        pick_keys(t, ids);
    } else if (is_block(r)) {
        pick_from_minus_one(t, ids);
    } else {
        pick_blanking(t, ids);
    }
    if (t->row->order == ROUTE_ORDER_BY_ID) {
        sort_by_id(ids, r->top_k);
    }
}
