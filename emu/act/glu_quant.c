/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated units with FP8 group quantisation behind them: which unit, which
 * scale, which division.  The kernels differ in small steps (a division or a
 * multiplication by a rounded reciprocal, a floor before or after it), and
 * each of them shows in some code.
 */
#include "f64.h"

#include <mxoracle/act.h>

#define F32_1E_MINUS_10 0x2edbe6ffu
#define F32_448 0x43e00000u
#define F32_BY_448 0x3b124925u /* 1/448 to nearest */
#define F32_INFINITY 0x7f800000u

static const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};
static const mxo_rounding saturating = {MXO_TIE_RNE, 1, 0, 0};

typedef struct rule {
    const char *name;
    uint8_t unit;        /* mxo_glu_dialect; MEGA: the exact product */
    uint8_t y;           /* mxo_format; MXO_N_FORMATS: that of the input */
    uint8_t floor_first; /* the floor of 1e-10 before the 1/448, or after */
    uint8_t has_floor;
    uint8_t reciprocal; /* multiply by RN32(1/448) instead of dividing */
    uint8_t by_byte;    /* multiply y by 2^(127 - byte) instead of dividing */
} rule;

static const rule rules[] = {
    [MXO_GLUQ_VLLM_PACKED] = {"vllm_packed", MXO_GLU_VLLM_PACKED, MXO_FMT_BF16,
                              0, 1, 0, 0},
    [MXO_GLUQ_VLLM_COLMAJOR] = {"vllm_colmajor", MXO_GLU_VLLM_SILU_CLAMP,
                                MXO_N_FORMATS, 1, 1, 1, 0},
    [MXO_GLUQ_DEEPGEMM_MEGA] = {"deepgemm_mega", MXO_GLU_DEEPGEMM_MEGA,
                                MXO_FMT_F64, 0, 0, 1, 1},
};

const char *mxo_glu_quant_name(mxo_glu_quant_dialect dialect)
{
    return dialect < MXO_N_GLUQ ? rules[dialect].name : NULL;
}

mxo_format mxo_glu_quant_y_format(const mxo_glu_quant *unit)
{
    const mxo_format y = (mxo_format)rules[unit->dialect].y;

    return y == MXO_N_FORMATS ? unit->from : y;
}

static mxo_real to_bf16(mxo_real x)
{
    return mxo_format_decode(MXO_FMT_BF16,
                             mxo_format_encode(MXO_FMT_BF16, x, nearest_even));
}

/* min(x, bound), max(x, -bound) if both; a NaN becomes the bound. */
static mxo_real clamp(mxo_real x, mxo_real bound, int both)
{
    if (bound.cls == MXO_CLASS_INF) {
        return x;
    }
    if (x.cls == MXO_CLASS_NAN) {
        bound.neg ^= (uint8_t)both;
        return bound;
    }
    if ((x.neg && !both) || mxo_real_cmp_abs(x, bound) <= 0) {
        return x;
    }
    bound.neg ^= x.neg; /* a limit may be -0 */
    return bound;
}

static uint64_t f64_of(mxo_real x)
{
    return mxo_format_encode(MXO_FMT_F64, x, nearest_even);
}

/* g * sigmoid(g) * (u * weight); u * weight has 32 bits and is exact. */
static uint64_t mega(const mxo_glu_quant *unit, uint64_t gate, uint64_t up,
                     uint32_t weight)
{
    const mxo_real one = {1, 0, MXO_CLASS_FINITE, 0, 0};
    const mxo_real zero = {0, 0, MXO_CLASS_ZERO, 0, 0};
    const mxo_real limit = to_bf16(unit->limit);
    const mxo_real g =
        clamp(to_bf16(mxo_format_decode(unit->from, gate)), limit, 0);
    const mxo_real u =
        clamp(to_bf16(mxo_format_decode(unit->from, up)), limit, 1);
    const mxo_real w = mxo_format_decode(MXO_FMT_F32, weight);
    const uint64_t product = mxo_f64_mul(f64_of(u), f64_of(w));
    const mxo_act_gated a = {g, mxo_format_decode(MXO_FMT_F64, product), one,
                             zero};

    return mxo_act_gated_eval(&a, MXO_FMT_F64, NULL);
}

uint64_t mxo_glu_quant_y(const mxo_glu_quant *unit, uint64_t gate, uint64_t up,
                         uint32_t topk_weight)
{
    const mxo_real one = {1, 0, MXO_CLASS_FINITE, 0, 0};
    const mxo_glu steps = {
        .dialect = (mxo_glu_dialect)rules[unit->dialect].unit,
        .nan = MXO_GLU_NAN_LAUNDER_LOW,
        .from = unit->from,
        .to = mxo_glu_quant_y_format(unit),
        .alpha = one,
        .beta = one,
        .limit = unit->limit,
    };

    if (unit->dialect == MXO_GLUQ_DEEPGEMM_MEGA) {
        return mega(unit, gate, up, topk_weight);
    }
    return mxo_act_glu(&steps, gate, up);
}

static uint32_t y_f32(const mxo_glu_quant *unit, uint64_t y)
{
    const mxo_real x = mxo_format_decode(mxo_glu_quant_y_format(unit), y);

    return (uint32_t)mxo_format_encode(MXO_FMT_F32, x, nearest_even);
}

uint32_t mxo_glu_quant_amax(const mxo_glu_quant *unit, uint32_t amax,
                            uint64_t y)
{
    const uint32_t magnitude = y_f32(unit, y) & 0x7fffffffu;

    return magnitude > F32_INFINITY || magnitude < amax ? amax : magnitude;
}

static uint32_t at_least(uint32_t x, uint32_t floor)
{
    return x < floor ? floor : x; /* neither is negative */
}

/* The smallest normal power of two that is not below s; 0 for 0. */
static uint32_t power_up(uint32_t s)
{
    const uint32_t exponent = (s >> 23) + ((s & 0x7fffffu) != 0);

    return exponent << 23;
}

uint32_t mxo_glu_quant_scale(const mxo_glu_quant *unit, uint32_t amax)
{
    const rule *r = &rules[unit->dialect];
    uint32_t s = amax;

    if (r->has_floor && r->floor_first) {
        s = at_least(s, F32_1E_MINUS_10);
    }
    s = r->reciprocal ? mxo_f32_mul(s, F32_BY_448) : mxo_f32_div(s, F32_448);
    if (r->has_floor && !r->floor_first) {
        s = at_least(s, F32_1E_MINUS_10);
    }
    return unit->pow2 ? power_up(s) : s;
}

uint8_t mxo_glu_quant_scale_byte(uint32_t scale)
{
    return (uint8_t)(scale >> 23);
}

uint8_t mxo_glu_quant_code(const mxo_glu_quant *unit, uint64_t y,
                           uint32_t scale)
{
    const int byte = mxo_glu_quant_scale_byte(scale);
    mxo_real x = mxo_format_decode(MXO_FMT_F32, y_f32(unit, y));

    if (rules[unit->dialect].by_byte) {
        x = mxo_real_scale(x, 127 - byte);
    } else {
        x = mxo_format_decode(MXO_FMT_F32, mxo_f32_div(y_f32(unit, y), scale));
    }
    x.neg = x.cls == MXO_CLASS_NAN ? 0 : x.neg;
    return (uint8_t)mxo_format_encode(MXO_FMT_E4M3FN, x, saturating);
}
