/* SPDX-License-Identifier: Apache-2.0 */
/* The layer's gated unit: as a real number, or in the steps of vLLM and
   Triton. */
#include "layer.h"

#include <math.h>

/* Whether the mutant applies no limit to these. */
static int is_free(const broken *b, double gate, double up)
{
    return IS(MA01b) || (IS(MN02) && gate == (double)INFINITY) ||
           (IS(MN03) && up == -(double)INFINITY);
}

static dd clamped_unit(const broken *b, const layer_constants *own, double gate,
                       double up)
{
    const double limit = is_free(b, gate, up) ? INFINITY : own->limit;

    if (IS(MA04b)) { /* the activated gate is clamped, not the gate */
        const dd y =
            broken_swiglu(b, own->alpha, own->beta, INFINITY, gate, up);
        return y.hi < limit ? y : broken_dd(limit);
    }
    return broken_swiglu(b, own->alpha, own->beta, limit, gate, up);
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

int broken_knows_nan(const mxo_call *call, int is_exact)
{
    return !call_is(call, "glu_nan", "propagate") &&
           !(is_exact && (call_is(call, "glu_nan", "launder") ||
                          call_is(call, "glu_nan", "launder_low")));
}

/* A NaN up becomes -limit and not the limit. */
static int sinks_nan(const broken *b, const layer *l)
{
    const int is_low = call_is(l->call, "glu_nan", "launder_low");
    const int is_high = call_is(l->call, "glu_nan", "launder");

    return (is_low || is_high) && !IS(MA17b) ? is_low : l->unit == UNIT_TRITON;
}

/* vLLM's and Triton's steps in float32. */
static double stepped(const broken *b, const layer *l,
                      const layer_constants *own, double gate, double up)
{
    const float limit = (float)(is_free(b, gate, up) ? INFINITY : own->limit);
    const float low = IS(MA02b) ? -limit : -INFINITY;
    float g = (float)gate < limit ? (float)gate : limit;
    float u = (float)up < limit ? (float)up : limit;

    u = sinks_nan(b, l) && isnan(up) ? -limit : u;
    g = g > low ? g : low;
    u = u > -limit ? u : -limit;
    const float t = (float)own->alpha * g;
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

/* MN07, MN09: a BF16 activation whose ties go away from zero; without
   subnormals.  The number as far beyond y as x is before it is a BF16 number
   only if y lies halfway. */
static double rounded_wrong(const broken *b, dd y, double x)
{
    const double other = 2 * y.hi - x;
    const int is_tie = y.lo == 0 && other != x && broken_bf16(other) == other;

    if (IS(MN07) && is_tie && fabs(other) > fabs(x)) {
        return other;
    }
    return IS(MN09) && fabs(x) < 0x1p-126 ? 0 : x;
}

/* The largest bf16 number in place of infinity. */
static double saturated(double x)
{
    return isinf(x) ? copysign(0x1.fep127, x) : x;
}

static layer_constants constants_of(const broken *b, const layer *l,
                                    uint64_t slot, int expert)
{
    layer_constants own = broken_constants(b, l, slot, expert);

#define BROKEN_LAYER_UNIT
#include "../values.def"
#undef BROKEN_LAYER_UNIT
    return own;
}

double broken_unit(const broken *b, const layer *l, uint64_t slot, int expert,
                   double gate, double up)
{
    const layer_constants own = constants_of(b, l, slot, expert);
    const double g = IS(MA11b) ? up : gate;
    const double u = IS(MA11b) ? gate : up;
    const dd y = l->unit == UNIT_EXACT ? clamped_unit(b, &own, g, u)
                                       : broken_dd(stepped(b, l, &own, g, u));
    const int is_wide = IS(MQ20) && l->two.quant.kind != QUANT_NONE;
    const double x =
        l->act_kind == ROUND_PLAIN
            ? broken_to(b, is_wide ? broken_format_of(MXO_F32) : l->act_type, y)
            : saturated(broken_to(b, l->act_type, y));
    const double z = l->act_type->mbits == 7 ? rounded_wrong(b, y, x) : x;

    if (l->routing != ROUTING_GLU) {
        return z;
    }
    const dd weighed =
        broken_dd((double)(float)(z * broken_weight(b, l, slot / l->topk,
                                                    slot % l->topk)));

    return IS(MR13) ? weighed.hi : broken_to(b, l->act_type, weighed);
}
