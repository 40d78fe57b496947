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

/* -NaN, -Inf .. -0, +0 .. +Inf, +NaN. */
static uint32_t key_of(float x)
{
    const uint32_t u = cpu_bits32(x);

    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

/* The first of the largest among n that are not out; -1: none. */
static int best_of(const float *x, const uint8_t *out, int n)
{
    uint32_t most = 0;
    int best = -1;

    for (int i = 0; i < n; i++) {
        const uint32_t key = key_of(x[i]);

        if (!out[i] && (best < 0 || key > most)) {
            most = key;
            best = i;
        }
    }
    return best;
}

static float score_group(route_token *t, int first, int size, int two)
{
    uint8_t *out = t->out + first;
    const float *x = t->choice + first;
    const int a = best_of(x, out, size);

    if (!two) {
        return x[a];
    }
    out[a] = 1;
    const int b = best_of(x, out, size);

    out[a] = 0;
    const float sum = x[a] + x[b];

    return cpu_route_through(t->p->choice_type, sum);
}

/* Experts of groups that do not stay are out. */
static void keep_groups(route_token *t)
{
    const route_plan *p = t->p;
    const int size = p->experts / p->groups;
    const int two = (p->row->flags & ROUTE_TWO) != 0 || p->bias != NULL;
    float score[ROUTE_MOST];
    uint8_t stays[ROUTE_MOST] = {0};

    for (int g = 0; g < p->groups; g++) {
        score[g] = score_group(t, g * size, size, two);
    }
    for (int i = 0; i < p->kept; i++) {
        const int g = best_of(score, stays, p->groups);

        stays[g] = 1;
        t->failed = p->general && score[g] == -INFINITY;
    }
    for (int e = 0; e < p->experts; e++) {
        t->out[e] = !stays[e / size];
    }
}

static void by_key(route_token *t)
{
    for (int k = 0; k < t->p->top_k; k++) {
        t->id[k] = best_of(t->choice, t->out, t->p->experts);
        t->out[t->id[k]] = 1;
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
    const int has_warp =
        p->row->score == ROUTE_SOFTPLUS || cpu_route_is_warp(p->experts);

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
