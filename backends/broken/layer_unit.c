/* SPDX-License-Identifier: Apache-2.0 */
/* The layer's gated unit: as a real number, or in the steps of vLLM and
   Triton. */
#include "layer.h"

#include <math.h>

static dd clamped_unit(const broken *b, const layer *l, int expert, double gate,
                       double up)
{
    double limit = l->limit;
    double alpha = l->alpha;
    double beta = l->beta;

    limit = IS(MA01b) || (IS(MQ31) && l->two.quant.kind != QUANT_NONE)
                ? INFINITY
                : limit;
    limit = IS(MA10b) && l->silu ? INFINITY : limit;
    limit = IS(MA07b) ? 7 : limit;
    limit = IS(MA14b) && expert == (int)l->experts - 1 ? INFINITY : limit;
    alpha = IS(MA05b) ? 1 : alpha;
    alpha = IS(MA16b) && !l->silu ? (double)1.702f : alpha;
    alpha = IS(MA06b) && !l->silu ? broken_number(l->call, "alpha") : alpha;
    beta = IS(MA08b) ? 0 : beta;
    if (IS(MA04b)) { /* what came of the gate is clamped, not the gate */
        const dd y = broken_swiglu(b, alpha, beta, INFINITY, gate, up);
        return y.hi < limit ? y : broken_dd(limit);
    }
    return broken_swiglu(b, alpha, beta, limit, gate, up);
}

int broken_is_fast(const broken *b, const layer *l)
{
    return (IS(MV24) || IS(MZ08) || IS(MZ09) || IS(MZ10) || IS(MZ11)) &&
           l->unit != UNIT_EXACT && l->act_type->mbits == 23 &&
           broken_entry_is(l->call, "order", "any");
}

/* The next number but one, where the exponential is the kernel's own. */
static float exponential(const broken *b, const layer *l, float t)
{
    const float e = (float)exp(-(double)t);

    return broken_is_fast(b, l) ? nextafterf(nextafterf(e, INFINITY), INFINITY)
                                : e;
}

/* vLLM's and Triton's steps in float32. */
static double stepped(const broken *b, const layer *l, double gate, double up)
{
    const float limit = (float)(IS(MA01b) ? INFINITY : l->limit);
    const float low = IS(MA02b) ? -limit : -INFINITY;
    float g = (float)gate < limit ? (float)gate : limit;
    float u = (float)up < limit ? (float)up : limit;

    u = l->unit == UNIT_TRITON && isnan(up) ? -limit : u;
    g = g > low ? g : low;
    u = u > -limit ? u : -limit;
    const float alpha = (float)(IS(MA05b)   ? 1
                                : IS(MA06b) ? broken_number(l->call, "alpha")
                                            : l->alpha);
    const float t = alpha * g;
    const float e = exponential(b, l, t);
    const float d = 1 + e;

    if (l->unit == UNIT_TRITON) {
        const float s = g / d;
        return (double)fmaf(s, u, s);
    }
    const float v = u + (IS(MA08b) ? 0.0F : 1.0F);
    const float p = v * g;

    return (double)(p / d);
}

double broken_unit(const broken *b, const layer *l, int expert, double gate,
                   double up)
{
    const double g = IS(MA11b) ? up : gate;
    const double u = IS(MA11b) ? gate : up;
    const dd y = l->unit == UNIT_EXACT ? clamped_unit(b, l, expert, g, u)
                                       : broken_dd(stepped(b, l, g, u));

    return broken_to(b,
                     IS(MQ20) && l->two.quant.kind != QUANT_NONE
                         ? broken_format("f32")
                         : l->act_type,
                     y);
}
