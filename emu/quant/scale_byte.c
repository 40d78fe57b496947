/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the block maximum to the scale: the two formulas in which all scale
 * rules are points.  byte = clamp(exponent(t) - offset) with t = amax / max
 * in one of five spellings; or the quotient itself as a float32 scale.
 */
#include "quant.h"

#define MAGNITUDE 0x7fffffffu
#define INFINITE 0x7f800000u

static const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};

static mxo_real real32(uint32_t a)
{
    return mxo_format_decode(MXO_FMT_F32, a);
}

static uint32_t round32(mxo_real x)
{
    return (uint32_t)mxo_format_encode(MXO_FMT_F32, x, nearest_even);
}

/* Largest value, its exponent and the mantissa bits of an element format. */
typedef struct geometry {
    mxo_real max;
    int emax;
    int mbits;
} geometry;

static geometry geometry_of(const mxo_quant_rule *rule, mxo_format element)
{
    const mxo_format_spec *f = mxo_format_info(element);

    if (f == NULL) { /* MXINT8: 127 / 64, a sign and six fraction bits */
        return (geometry){mxo_format_decode(element, 0x7f), 0, 6};
    }
    const int cut = element == MXO_FMT_E4M3FNUZ && rule->fnuz_max != 0;

    return (geometry){mxo_format_decode(element, cut ? rule->fnuz_max : f->max),
                      f->emax, f->mbits};
}

static uint32_t flush(const mxo_quant_rule *rule, uint32_t a)
{
    return rule->flags & MXO_Q_FTZ ? mxo_f32_ftz(a) : a;
}

/* t of every ratio but EXACT, one binary32 rounding. */
static uint32_t ratio(const mxo_quant_rule *rule, const geometry *g,
                      uint32_t amax)
{
    const uint32_t max = round32(g->max); /* exact */

    switch (rule->ratio) {
    case MXO_RATIO_DIV:
        return mxo_f32_div(amax, max);
    case MXO_RATIO_MUL:
        amax = mxo_f32_mul(flush(rule, amax), mxo_f32_div(0x3f800000u, max));
        return flush(rule, amax);
    case MXO_RATIO_POW2:
        return round32(mxo_real_scale(real32(amax), -g->emax));
    default:
        return amax;
    }
}

/* 127 + ceil(log2(amax / max)), at least 0, nothing rounded. */
static int exact_ceil(const geometry *g, uint32_t amax)
{
    const mxo_real a = real32(amax);

    if (a.cls != MXO_CLASS_FINITE) {
        return 0;
    }
    const int k = mxo_real_lg(a) - mxo_real_lg(g->max);
    const int up = mxo_real_cmp_abs(a, mxo_real_scale(g->max, k)) > 0;

    return 127 + k + up < 0 ? 0 : 127 + k + up;
}

/* Biased exponent of a finite t >= 0. */
static int exponent(const mxo_quant_rule *rule, int mbits, uint32_t t)
{
    const uint32_t field = t >> 23;
    const uint32_t mantissa = t & 0x7fffffu;

    switch (rule->exponent) {
    case MXO_EXP_BITS:
        return (int)(field + (mantissa != 0));
    case MXO_EXP_CEIL: /* a subnormal up to 2^-127 stays 0 */
        return (int)(field + (mantissa > (field == 0 ? 0x400000u : 0u)));
    case MXO_EXP_HALF:
        return (int)((t + (1u << 22)) >> 23);
    case MXO_EXP_EVEN:
        return (int)((t + (1u << (22 - mbits))) >> 23);
    default:
        return (int)field;
    }
}

static uint8_t clamp(const mxo_quant_rule *rule, int byte)
{
    if (byte < rule->low) {
        return rule->low;
    }
    return byte > rule->high ? rule->high : (uint8_t)byte;
}

/* A byte given by the row, or the formula at exponent field 255. */
static uint8_t special(const mxo_quant_rule *rule, int byte, int offset)
{
    return byte == MXO_Q_FORMULA ? clamp(rule, 255 - offset) : (uint8_t)byte;
}

static uint32_t at_least(uint32_t a, uint32_t floor)
{
    return a < floor ? floor : a; /* NaN patterns are above every number */
}

uint8_t mxo_quant_scale_byte(const mxo_quant_rule *rule, mxo_format element,
                             uint32_t amax)
{
    const geometry g = geometry_of(rule, element);
    const int offset = rule->flags & MXO_Q_OFFSET ? g.emax : 0;

    amax = at_least(amax & MAGNITUDE, rule->amax_floor);
    const uint32_t t = at_least(ratio(rule, &g, amax), rule->ratio_floor);

    if (t > INFINITE) {
        return special(rule, rule->nan, offset);
    }
    if (t == INFINITE) {
        return special(rule, rule->inf, offset);
    }
    const int e = rule->ratio == MXO_RATIO_EXACT ? exact_ceil(&g, amax)
                                                 : exponent(rule, g.mbits, t);

    if (e == 255 && rule->exponent >= MXO_EXP_EVEN) {
        return special(rule, rule->carry, offset);
    }
    return clamp(rule, e - offset);
}

uint32_t mxo_quant_float_scale(const mxo_quant_rule *rule, mxo_format element,
                               uint32_t amax)
{
    const geometry g = geometry_of(rule, element);
    const uint32_t t =
        ratio(rule, &g, at_least(amax & MAGNITUDE, rule->amax_floor));

    return t == 0 && rule->flags & MXO_Q_ZERO_SCALE_1 ? 0x3f800000u : t;
}
