/* SPDX-License-Identifier: Apache-2.0 */
/* Sums: without any rounding, and of a token's rows over its experts. */
#include "layer.h"

#include <math.h>

enum { LANES = 4 };

/* One more part: a longer expansion (Shewchuk 1997). */
void broken_exact_keep(exact_sum *s, double x)
{
    int n = 0;

    for (int i = 0; i < s->n; i++) {
        const dd t = broken_sum(s->part[i], x);
        x = t.hi;
        if (t.lo != 0) {
            s->part[n++] = t.lo;
        }
    }
    s->part[n++] = x;
    s->n = n;
}

/* Products of whole fours in four sums, added where no addition rounds; how
   many that are. */
uint64_t broken_exact_products(exact_sum *s, const double *a, const double *w,
                               uint64_t n)
{
    double lane[LANES] = {0};
    double lost[LANES] = {0};
    const uint64_t whole = n / LANES * LANES;

    for (uint64_t k = 0; k < whole; k += LANES) {
        for (uint64_t i = 0; i < LANES; i++) {
            const dd sum = broken_sum(lane[i], a[k + i] * w[k + i]);
            lane[i] = sum.hi;
            lost[i] += fabs(sum.lo);
        }
    }
    for (int i = 0; i < LANES; i++) {
        if (!(lost[i] == 0)) { /* or it is no number */
            return 0;
        }
    }
    for (int i = 0; i < LANES; i++) {
        broken_exact_add(s, lane[i]);
    }
    return whole;
}

/* The nearest double and what is left of the next part: enough to round to
   fewer bits as the whole sum would. */
dd broken_exact_sum(exact_sum *s)
{
    dd top = {0, 0};

    broken_exact_keep(s, s->rest);
    broken_exact_keep(s, s->plain);
    for (int i = s->n - 1; i >= 0 && top.lo == 0; i--) {
        top = broken_sum(top.hi, s->part[i]);
    }
    return top;
}

static double plus(double a, double x)
{
    const float s = (float)a + (float)x;

    return (double)s;
}

/* A sum that is kept in the type of its rows, binary16 or bf16. */
static double in_type(const broken *b, const layer *l, double sum)
{
    return l->two.out->mbits == 10
               ? broken_to(b, &broken_formats[FORMAT_F16], broken_dd(sum))
               : broken_bf16(sum);
}

/* moe_sum: rounded after every step for 2 to 4 terms, else four lanes. */
static double moe_sum(const broken *b, const layer *l, const double *row,
                      const int *there)
{
    double lane[4] = {0, 0, 0, 0};
    double term[LAYER_SLOTS];
    const number_format *type =
        &broken_formats[!IS(MF05) && l->two.out->mbits == 10 ? FORMAT_F16
                                                             : FORMAT_BF16];
    double acc = 0;
    int n = 0;

    for (uint64_t j = 0; j < l->topk; j++) {
        if (there[j]) {
            term[n++] = row[j];
        }
    }
    const int small = n >= 2 && n <= 4;

    for (int j = 0; j < n; j++) {
        lane[j % 4] = plus(lane[j % 4], term[j]);
        acc = plus(acc, term[j]);
        acc = small && !IS(MU02) ? broken_to(b, type, broken_dd(acc)) : acc;
    }
    return small || IS(MU03)
               ? acc
               : plus(plus(plus(lane[0], lane[1]), lane[2]), lane[3]);
}

/* Rounded once, by who stores it. */
static dd real_sum(const broken *b, exact_sum *s)
{
    static const broken faultless;
    const number_format *f = &broken_formats[FORMAT_F32];
    const dd sum = broken_exact_sum(s);

    if (IS(MU06)) {
        return broken_dd(broken_decode(&faultless, f, broken_round(f, sum)));
    }
    return IS(MU07) ? broken_dd(sum.hi) : sum;
}

/* The slots of a token in the order in which they are added. */
static void sum_order(const broken *b, const layer *l, uint64_t t,
                      uint64_t *slot)
{
    const int by_expert = l->sum >= SUM_BY_EXPERT && !IS(MY01);

    for (uint64_t i = 0; i < l->topk; i++) {
        const uint64_t from = IS(MU04) ? l->topk - 1 - i : i;
        const int expert = broken_expert(b, l, t * l->topk + from);
        uint64_t at = i;

        for (; by_expert && at > 0; at--) {
            const int other = broken_expert(b, l, t * l->topk + slot[at - 1]);
            if (IS(MY02) ? other >= expert : other <= expert) {
                break;
            }
            slot[at] = slot[at - 1];
        }
        slot[at] = from;
    }
}

/* One addition to a sum that is not the real one. */
static double add_row(const broken *b, const layer *l, double acc, double row,
                      double weight)
{
    const float w = (float)weight;

    switch (l->sum) {
    case SUM_FMA:
        return (double)fmaf((float)row, w, (float)acc);
    case SUM_FMA_FTZ:
        return IS(MY04)
                   ? (double)fmaf((float)row, w, (float)acc)
                   : broken_flushed((double)fmaf((float)broken_flushed(row),
                                                 (float)broken_flushed(weight),
                                                 (float)acc));
    case SUM_PRODUCT:
        return IS(MY05) ? (double)fmaf((float)row, w, (float)acc)
                        : plus(acc, (double)((float)row * w));
    case SUM_SCATTER:
        if (l->topk == 1 && !IS(MY14)) {
            return row;
        }
        return in_type(b, l, plus(acc, row));
    case SUM_ATOMIC:
        return IS(MY15) && l->topk == 1 ? row : in_type(b, l, plus(acc, row));
    case SUM_EXPERTS_BF16:
        acc = plus(acc, row);
        return IS(MY03) ? acc : in_type(b, l, acc);
    default:
        return plus(acc, row);
    }
}

dd broken_combine(const broken *b, const layer *l, uint64_t t,
                  const double *row, const int *there)
{
    exact_sum exact;
    uint64_t slot[LAYER_SLOTS];
    double acc = 0;

    broken_exact_zero(&exact);
    sum_order(b, l, t, slot);
    if (l->sum == SUM_MOE) {
        return broken_dd(moe_sum(b, l, row, there));
    }
    for (uint64_t i = 0; i < l->topk; i++) {
        const uint64_t j = slot[i];
        const double w =
            l->routing == ROUTING_SUM ? broken_weight(b, l, t, j) : 1;
        const double times = IS(MR06b) ? 1 : IS(MR06) ? w * w : w;
        if (!there[j] && !IS(MS08)) {
            continue;
        }
        broken_exact_add(&exact, row[j] * times);
        acc = add_row(b, l, acc, row[j], times);
        acc = IS(MU01) ? broken_bf16(acc) : acc;
    }
    if (l->sum != SUM_EXACT || IS(MU05)) {
        return broken_dd(acc);
    }
    return isfinite(exact.plain) ? real_sum(b, &exact) : broken_dd(exact.plain);
}
