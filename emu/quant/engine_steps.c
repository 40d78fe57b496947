/* SPDX-License-Identifier: Apache-2.0 */
/* See engine.h. */
#include "engine.h"

#define MAGNITUDE 0x7fffffffu
#define INFINITE 0x7f800000u

static const mxo_rounding saturating = {MXO_TIE_RNE, 1, 0, 0};

uint32_t engine_round(mxo_format type, uint32_t x)
{
    return (uint32_t)mxo_format_convert(
        MXO_FMT_F32, type,
        mxo_format_convert(type, MXO_FMT_F32, x, MXO_TIE_RNE, MXO_NAN_QUIET),
        MXO_TIE_RNE, MXO_NAN_QUIET);
}

/* Two roundings are one: binary32 has more than twice the bits. */
uint32_t engine_divide(mxo_format type, uint32_t a, uint32_t b)
{
    return engine_round(type, mxo_f32_div(a, b));
}

uint32_t engine_amax(const uint32_t *x, size_t n)
{
    uint32_t amax = 0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t a = x[i] & MAGNITUDE;
        amax = a <= INFINITE && a > amax ? a : amax;
    }
    return amax;
}

/* |value(code) * unit - v| in binary32; a NaN pattern is above all others. */
static uint32_t distance(uint8_t code, uint32_t unit, uint32_t v)
{
    const uint32_t value =
        code == 8
            ? 0
            : (uint32_t)mxo_format_convert(MXO_FMT_F32, MXO_FMT_E2M1, code,
                                           MXO_TIE_RNE, MXO_NAN_QUIET);

    return mxo_f32_sub(mxo_f32_mul(value, unit), v) & MAGNITUDE;
}

uint8_t engine_scan(uint32_t unit, uint32_t v)
{
    uint32_t least = distance(0, unit, v);
    uint8_t best = 0;

    for (uint8_t code = 1; code < 16 && least <= INFINITE; code++) {
        const uint32_t d = distance(code, unit, v);
        if (d < least) {
            least = d;
            best = code;
        }
    }
    return best;
}

uint8_t engine_e2m1(uint32_t v, mxo_tie tie)
{
    const mxo_rounding r = {(uint8_t)tie, 1, 0, 0};

    return (uint8_t)mxo_format_encode(MXO_FMT_E2M1,
                                      mxo_format_decode(MXO_FMT_F32, v), r);
}

uint8_t engine_e4m3(uint32_t v)
{
    return (uint8_t)mxo_format_encode(
        MXO_FMT_E4M3FN, mxo_format_decode(MXO_FMT_F32, v), saturating);
}

uint32_t engine_e4m3_value(uint8_t code)
{
    return (uint32_t)mxo_format_convert(MXO_FMT_F32, MXO_FMT_E4M3FN, code,
                                        MXO_TIE_RNE, MXO_NAN_QUIET);
}

/* (int)(x * 512 + 0.5) for x below 2^-6, at most 7. */
static uint8_t subnormal(uint32_t x)
{
    const uint32_t y = mxo_f32_add(mxo_f32_mul(x, 0x44000000u), 0x3f000000u);
    uint8_t m = 0;

    while (m < 7 && mxo_f32_cmp(y, mxo_f32_from_f64((double)(m + 1))) >= 0) {
        m++;
    }
    return m;
}

uint8_t engine_ue4m3(uint32_t x)
{
    const int is_positive = x - 1 < INFINITE; /* 1 .. 7f800000 */
    const int e = (int)(x >> 23) - 127 + 7;

    if (!is_positive) {
        return 0;
    }
    if (e <= 0) {
        return subnormal(x);
    }
    const uint32_t up = (x >> 20 & 7) + (x >> 19 & 1);
    const uint32_t field = (uint32_t)e + (up >> 3);

    return field >= 15 ? 0x7e : (uint8_t)(field << 3 | (up & 7));
}

uint32_t engine_ue4m3_half(uint8_t byte)
{
    if (byte == 0 || byte == 0x7f) {
        return 0;
    }
    const uint32_t e = byte >> 3 & 15;
    const uint32_t m = byte & 7;
    const mxo_real value = {
        e == 0 ? m : 8 + m, e == 0 ? -10 : (int)e - 11,
        e == 0 && m == 0 ? MXO_CLASS_ZERO : MXO_CLASS_FINITE, 0, 0};

    return (uint32_t)mxo_format_round(MXO_FMT_F32, value);
}
