/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice.  Keys are compared as integers that grow with the number, NaN
 * at both ends; vLLM's own kernels compare numbers.  The first of equals wins
 * everywhere.
 */
#include "number.h"
#include "route.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -NaN, -Inf .. -0, +0 .. +Inf, +NaN. */
static uint32_t key_of(float x)
{
    const uint32_t u = cpu_bits32(x);

    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

/* The larger of two is the better candidate: the key, then the lower index. */
static uint64_t rank_of(float x, int index)
{
    return (uint64_t)key_of(x) << 32 | (UINT32_MAX - (uint32_t)index);
}

static int index_of(uint64_t rank)
{
    return (int)(UINT32_MAX - (uint32_t)rank);
}

/* A group's two best in one pass: their sum, or the best alone. */
static float score_group(const route_token *t, int first, int size, int two)
{
    uint64_t most = 0;
    uint64_t next = 0;

    for (int e = first; e < first + size; e++) {
        const uint64_t rank = rank_of(t->choice[e], e);
        const uint64_t lower = rank < most ? rank : most;

        next = next < lower ? lower : next;
        most = most < rank ? rank : most;
    }
    const float best = t->choice[index_of(most)];

    return two ? cpu_route_through(t->p->choice_type,
                                   best + t->choice[index_of(next)])
               : best;
}

/* A group stays if fewer than `kept` are better; the others' experts are out.
   With the last to stay at -Inf the token fails. */
static void keep_groups(route_token *t)
{
    const route_plan *p = t->p;
    const int size = p->experts / p->groups;
    const int two = (p->row->flags & ROUTE_TWO) != 0 || p->bias != NULL;
    float score[ROUTE_MOST];

    for (int g = 0; g < p->groups; g++) {
        score[g] = score_group(t, g * size, size, two);
    }
    for (int g = 0; g < p->groups; g++) {
        int better = 0;

        for (int h = 0; h < p->groups; h++) {
            better += rank_of(score[h], h) > rank_of(score[g], g);
        }
        memset(t->out + g * size, better >= p->kept, (size_t)size);
        t->failed |=
            p->general && better == p->kept - 1 && score[g] == -INFINITY;
    }
}

/* The k best so far are held in order; a candidate is let in from below. */
static void by_key(route_token *t)
{
    const int k = t->p->top_k;
    uint64_t held[ROUTE_MOST] = {0};

    for (int e = 0; e < t->p->experts; e++) {
        const uint64_t rank = t->out[e] ? 0 : rank_of(t->choice[e], e);
        int at = k;

        while (at > 0 && held[at - 1] < rank) {
            at--;
        }
        if (at < k) {
            memmove(held + at + 1, held + at,
                    (size_t)(k - 1 - at) * sizeof held[0]);
            held[at] = rank;
        }
    }
    for (int i = 0; i < k; i++) {
        t->id[i] = index_of(held[i]);
    }
}

/* Who was chosen counts as -10000, so what lies below is chosen twice. */
static void by_value(route_token *t)
{
    for (int k = 0; k < t->p->top_k; k++) {
        int best = 0;

        for (int e = 1; e < t->p->experts; e++) {
            best = t->choice[e] > t->choice[best] ? e : best;
        }
        t->id[k] = best;
        t->choice[best] = -10000;
    }
}

/* The search starts with expert 0 and -1; who was chosen is passed over. */
static void by_value_from_minus_1(route_token *t)
{
    for (int k = 0; k < t->p->top_k; k++) {
        float most = -1;
        int best = 0;

        for (int e = 0; e < t->p->experts; e++) {
            if (!t->out[e] && t->choice[e] > most) {
                most = t->choice[e];
                best = e;
            }
        }
        t->id[k] = best;
        t->out[best] = 1;
    }
}

static int compare_ids(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

void cpu_route_choose(route_token *t)
{
    const route_plan *p = t->p;
    const int has_warp = cpu_route_is_warp(p->experts);

    for (int e = 0; e < p->experts; e++) {
        t->out[e] = 0;
    }
    t->failed = 0;
    if (p->groups > 1 || p->general) {
        keep_groups(t);
    }
    if (t->failed) {
        for (int k = 0; k < p->top_k; k++) {
            t->id[k] = k;
        }
    } else if ((p->row->flags & ROUTE_BY_VALUE) == 0) {
        by_key(t);
    } else if (has_warp) {
        by_value(t);
    } else {
        by_value_from_minus_1(t);
    }
    if ((p->row->flags & ROUTE_BY_ID) != 0) {
        qsort(t->id, (size_t)p->top_k, sizeof t->id[0], compare_ids);
    }
}
