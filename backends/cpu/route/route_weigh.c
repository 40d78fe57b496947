/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of the chosen; see route_norm in route.h. */
#include "act/act.h"
#include "act/exact.h"
#include "number.h"
#include "route.h"

#include <math.h>

static const float epsilon = 1e-20f;

static float sum_of(const route_token *t)
{
    float sum = 0;

    for (int i = 0; i < t->p->top_k; i++) {
        sum = sum + t->w[i];
    }
    return sum;
}

static float positive(float sum)
{
    return sum > 0 ? sum : 1;
}

static void over_k(route_token *t)
{
    const int n = t->p->top_k;
    const float most = cpu_route_largest(t->w, n);

    for (int i = 0; i < n; i++) {
        t->w[i] = cpu_route_exp(t->w[i] - most);
    }
    const float sum = sum_of(t);

    for (int i = 0; i < n; i++) {
        t->w[i] = t->w[i] / sum;
    }
}

/* c (w / by), a product that is left out if c is 1; torch has the type of the
   logits throughout. */
static void divide(route_token *t, int divides, float sum)
{
    const int is_torch = (t->p->row->flags & ROUTE_TORCH) != 0;
    const uint32_t type = is_torch ? t->p->from : MXO_F32;
    const float by = cpu_route_through(type, sum);
    const float c = (float)t->p->scale;

    for (int i = 0; i < t->p->top_k; i++) {
        if (divides) {
            t->w[i] = cpu_route_through(type, t->w[i] / by);
        }
        if (c != 1) {
            t->w[i] = cpu_route_through(type, t->w[i] * c);
        }
    }
}

static void scaled(route_token *t)
{
    const float c = (float)t->p->scale;
    const float by = sum_of(t) + epsilon;

    for (int i = 0; i < t->p->top_k; i++) {
        const float product = t->w[i] * c;
        t->w[i] = product / by;
    }
}

static void times(route_token *t, float factor)
{
    for (int i = 0; i < t->p->top_k; i++) {
        t->w[i] = t->w[i] * factor;
    }
}

/* vLLM's fused router: a product and a quotient in double, each rounded to
   float; its general kernel has one factor. */
static void fused(route_token *t, int divides)
{
    const float sum = sum_of(t);
    const double by = (double)sum + 1e-20;

    if (t->p->general) {
        const float c = (float)t->p->scale;
        const float below = epsilon + sum;
        times(t, divides ? c / below : c);
        return;
    }
    for (int i = 0; i < t->p->top_k; i++) {
        const double product = (double)t->w[i] * t->p->scale;
        t->w[i] = (float)product;
        if (divides) {
            const double quotient = (double)t->w[i] / by;
            t->w[i] = (float)quotient;
        }
    }
}

/* e^(w - ln of the sum over all experts), in the type of the logits. */
static void over_all(route_token *t)
{
    const route_plan *p = t->p;
    const float most = cpu_route_largest(t->x, p->experts);
    float sum = 0;

    for (int e = 0; e < p->experts; e++) {
        sum = sum + cpu_route_exp(t->x[e] - most);
    }
    const float ln_sum = cpu_route_through(p->from, most + cpu_ln_one(sum));

    for (int i = 0; i < p->top_k; i++) {
        const float power = cpu_route_through(p->from, t->w[i] - ln_sum);
        t->w[i] = cpu_route_through(p->from, cpu_route_exp(power));
    }
}

static void typed(route_token *t, int over_chosen)
{
    if (!over_chosen) {
        over_all(t);
        return;
    }
    over_k(t);
    for (int i = 0; i < t->p->top_k; i++) {
        t->w[i] = cpu_route_through(t->p->from, t->w[i]);
    }
}

static void normalise(route_token *t)
{
    const route_plan *p = t->p;
    const int divides = p->renormalize || (p->row->flags & ROUTE_ALWAYS) != 0;
    const float sum = sum_of(t);

    switch (p->row->norm) {
    case ROUTE_OVER_K:
        over_k(t);
        break;
    case ROUTE_OVER_SUM:
        divide(t, divides, sum);
        break;
    case ROUTE_OVER_POSITIVE:
        divide(t, divides, positive(sum));
        break;
    case ROUTE_AT_LEAST:
        divide(t, divides, sum < epsilon ? epsilon : sum);
        break;
    case ROUTE_SCALED:
        scaled(t);
        break;
    case ROUTE_FACTOR:
        times(t, divides ? (float)p->scale / positive(sum) : (float)p->scale);
        break;
    case ROUTE_FUSED:
        fused(t, divides);
        break;
    case ROUTE_TYPED:
        typed(t, divides);
        break;
    default:
        break;
    }
}

static float raw_weight(const route_token *t, int e)
{
    const unsigned flags = t->p->row->flags;

    if ((flags & ROUTE_WEIGH_LOGIT) != 0) {
        return cpu_route_saturated(t->x[e]);
    }
    if ((flags & ROUTE_UNBIAS) != 0 && t->p->bias != NULL) {
        const float sum = t->score[e] + t->p->bias[e];
        return sum - t->p->bias[e];
    }
    return t->score[e];
}

void cpu_route_weigh(route_token *t)
{
    const int n = t->p->top_k;

    for (int i = 0; i < n; i++) {
        t->w[i] = t->failed ? 1.0f / (float)n : raw_weight(t, t->id[i]);
    }
    if (!t->failed) {
        normalise(t);
    }
}
