/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu to binary64 as the vendors' references have it on double tensors:
 * every operation in binary64, none of them fused (layouts-triton 7,
 * layouts-aiter 10.1, profiles-other 5, numerics 6.3).
 */
#include "quant/act_steps.h"

#include <math.h>

enum { TAIL_PLUS, TAIL_ADDED };

static const struct {
    const char *name;
    glu_nan nan;
    int divides; /* g / (1 + e), not g * (1 / (1 + e)) */
    int tail;
    int is_two_way; /* beta 0: s * u */
} dialects[] = {
    {"triton", GLU_NAN_LOW, 1, TAIL_ADDED, 0},
    {"triton_torch", GLU_NAN_THROUGH, 0, TAIL_PLUS, 0},
    {"aiter", GLU_NAN_THROUGH, 0, TAIL_PLUS, 1},
    {"aiter_triton", GLU_NAN_HIGH, 1, TAIL_ADDED, 1},
    {"gpt_oss_torch", GLU_NAN_THROUGH, 0, TAIL_PLUS, 0},
};

enum { N_DIALECTS = sizeof dialects / sizeof dialects[0] };

int broken_wide_of(const mxo_call *call)
{
    for (int i = 0; i < N_DIALECTS; i++) {
        if (call_is(call, "dialect", dialects[i].name)) {
            return i;
        }
    }
    return -1;
}

/* e^x to 2^-100; above e^-690 only: below, 1 + e^x is 1. */
static double power(const broken *b, double x)
{
    if (IS(A94)) {
        return (double)expf((float)x);
    }
    if (isnan(x) || isinf(x)) {
        return x < 0 ? 0 : x;
    }
    if (x <= 0) {
        return x < -690 ? 0 : broken_exp_minus(broken_dd(-x)).hi;
    }
    if (x > 710) {
        return INFINITY;
    }
    const dd half =
        broken_div(broken_dd(1), broken_exp_minus(broken_dd(x / 2)));

    return broken_mul(half, half).hi;
}

static double clamp(const glu_wide *w, glu_nan nan, double x, int is_up)
{
    if (isinf(w->limit)) {
        return x;
    }
    if (isnan(x)) {
        return nan == GLU_NAN_THROUGH        ? x
               : nan == GLU_NAN_LOW && is_up ? -w->limit
                                             : w->limit;
    }
    return x > w->limit ? w->limit : is_up && x < -w->limit ? -w->limit : x;
}

dd broken_wide(const broken *b, int dialect, const glu_wide *given)
{
    const glu_nan nan = IS(A101)                        ? GLU_NAN_HIGH
                        : given->nan == GLU_NAN_DIALECT ? dialects[dialect].nan
                                                        : given->nan;
    const double g = clamp(given, nan, given->gate, 0);
    const double v = clamp(given, nan, given->up, 1);
    const double t = given->alpha * g;
    const double sum = 1 + power(b, -t);
    const double s = dialects[dialect].divides ? g / sum : g * (1 / sum);
    const int is_plain =
        dialects[dialect].is_two_way && given->beta == 0 && !IS(A102);
    const double product = s * v;

    if (is_plain) {
        return broken_dd(product);
    }
    if (dialects[dialect].tail == TAIL_ADDED) {
        return broken_dd(IS(A99) ? fma(s, v, s) : product + s);
    }
    return broken_dd(s * (v + 1));
}
