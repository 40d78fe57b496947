/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block with a known scale: which number multiplies its elements, and how
 * the product becomes a code.  Multiplying by a power of two is done exactly:
 * a binary32 product differs only below 2^-126, where every element format
 * here rounds to zero anyway.
 */
#include "quant.h"

#define SIGN 0x80000000u
#define MAGNITUDE 0x7fffffffu
#define INFINITE 0x7f800000u
#define QUIET_NAN 0x7fc00000u

static const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};

uint32_t mxo_quant_widen(mxo_format format, uint64_t code)
{
    if (format == MXO_FMT_F32) {
        return (uint32_t)code;
    }
    if (format == MXO_FMT_BF16) {
        return (uint32_t)code << 16;
    }
    if (format == MXO_FMT_F16 && (code & 0x7fff) > 0x7c00) {
        return (uint32_t)((code & 0x8000) << 16 | INFINITE |
                          (code & 0x3ff) << 13);
    }
    return (uint32_t)mxo_format_encode(
        MXO_FMT_F32, mxo_format_decode(format, code), nearest_even);
}

uint32_t mxo_quant_amax_start(const mxo_quant_rule *rule)
{
    return rule->amax_nan == MXO_AMAX_SKIP ? MAGNITUDE : 0;
}

uint32_t mxo_quant_amax(const mxo_quant_rule *rule, uint32_t amax,
                        const uint32_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t magnitude = x[i] & MAGNITUDE;

        if (mxo_f32_is_nan(magnitude) && rule->amax_nan != MXO_AMAX_POISON) {
            continue;
        }
        /* Magnitudes are ordered like their patterns, NaN above infinity. */
        if (magnitude > amax ||
            (mxo_f32_is_nan(amax) && rule->amax_nan == MXO_AMAX_SKIP)) {
            amax = magnitude;
        }
    }
    return amax;
}

static mxo_quant_block block_of(const mxo_quant_rule *rule, mxo_format format)
{
    const mxo_format_spec *f = mxo_format_info(format);
    const int has_nan = f != NULL && f->special != MXO_SPECIAL_NONE;
    mxo_quant_block b = {0};

    b.format = format;
    b.element = has_nan ? rule->fp8 : rule->fp4;
    b.ftz = (rule->flags & MXO_Q_FTZ) != 0;
    b.negative_nan = (rule->flags & MXO_Q_NEGATIVE_NAN) != 0;
    b.fnuz_max = format == MXO_FMT_E4M3FNUZ ? rule->fnuz_max : 0;
    return b;
}

/* 1 if the row multiplies by zero under this byte. */
static int zero_at(const mxo_quant_rule *rule, uint8_t byte)
{
    return (byte == 0 && rule->flags & MXO_Q_ZERO_AT_0) ||
           (byte == 254 && rule->flags & MXO_Q_ZERO_AT_254) ||
           (byte == 255 && rule->flags & MXO_Q_ZERO_AT_255);
}

mxo_quant_block mxo_quant_block_byte(const mxo_quant_rule *rule,
                                     mxo_format element, int tie, uint32_t amax,
                                     uint8_t byte)
{
    mxo_quant_block b = block_of(rule, element);

    if (tie >= 0) {
        b.element.tie = (uint8_t)tie;
    }
    const int nan_amax = mxo_f32_is_nan(amax) && rule->flags & MXO_Q_NAN_AMAX;

    b.step = MXO_STEP_MULTIPLY;
    if (!nan_amax && zero_at(rule, byte)) {
        b.factor = 0;
    } else if (byte == 254 && rule->flags & MXO_Q_MINUS_INF_254) {
        b.factor = INFINITE | SIGN;
    } else if (nan_amax || (byte == 255 && !(rule->flags & MXO_Q_NUMBER_255))) {
        b.factor = QUIET_NAN;
    } else {
        b.step = MXO_STEP_SHIFT;
        b.shift = (int16_t)(127 - byte);
    }
    return b;
}

mxo_quant_block mxo_quant_block_float(const mxo_quant_rule *rule,
                                      mxo_format element, uint32_t amax,
                                      uint32_t *scale)
{
    mxo_quant_block b = block_of(rule, element);

    *scale = mxo_quant_float_scale(rule, element, amax);
    b.step = MXO_STEP_DIVIDE;
    b.factor = *scale;
    if (rule->flags & MXO_Q_RECIPROCAL) {
        b.step = MXO_STEP_MULTIPLY;
        b.factor = mxo_f32_div(0x3f800000u, *scale);
    }
    return b;
}

static mxo_real quotient(const mxo_quant_block *b, uint32_t x)
{
    uint32_t y;

    x = b->ftz ? mxo_f32_ftz(x) : x;
    switch (b->step) {
    case MXO_STEP_MULTIPLY:
        y = mxo_f32_mul(x, b->factor);
        break;
    case MXO_STEP_DIVIDE:
        y = mxo_f32_div(x, b->factor);
        break;
    default:
        return mxo_real_scale(mxo_format_decode(MXO_FMT_F32, x), b->shift);
    }
    return mxo_format_decode(MXO_FMT_F32, b->ftz ? mxo_f32_ftz(y) : y);
}

/*
 * torch's float to FP4/FP6 arithmetic sends a NaN through the branch for
 * normal numbers: rebias the exponent, add just under half a quantum and the
 * odd bit, shift.  What is left of the payload is the code.
 */
static uint8_t torch_nan_bits(const mxo_format_spec *f, uint32_t nan)
{
    const int drop = 23 - f->mbits;
    const uint32_t odd = (nan & MAGNITUDE) >> drop & 1;
    const uint32_t rebias = (uint32_t)(127 - f->bias) << 23;
    const uint32_t sum =
        (nan & MAGNITUDE) - rebias + (((uint32_t)1 << (drop - 1)) - 1) + odd;
    const uint32_t sign = (nan >> 31) << (f->ebits + f->mbits);

    return (uint8_t)((sum >> drop & 0xff) | sign);
}

static uint8_t encode_nan(const mxo_quant_block *b, uint32_t nan)
{
    const mxo_format_spec *f = mxo_format_info(b->format);
    mxo_real x = {0, 0, MXO_CLASS_NAN, (uint8_t)(nan >> 31), 0};
    const mxo_rounding saturate = {MXO_TIE_RNE, 1, 0, 0};

    switch (b->element.nan) {
    case MXO_NAN_ZERO:
        return 0;
    case MXO_NAN_TORCH_BITS:
        if (f != NULL) {
            return torch_nan_bits(f, nan | 0x400000u);
        }
        break;
    case MXO_NAN_POSITIVE:
        x.neg = 0;
        break;
    case MXO_NAN_MAX:
    case MXO_NAN_MIN:
        x.neg = b->element.nan == MXO_NAN_MIN;
        x.cls = MXO_CLASS_INF;
        break;
    case MXO_NAN_PLUS_ONES:
        if (f != NULL) {
            return (uint8_t)((1u << (f->ebits + f->mbits)) - 1);
        }
        break;
    case MXO_NAN_SIGNED_MAX:
        x.cls = MXO_CLASS_INF;
        break;
    default:
        break;
    }
    return (uint8_t)mxo_format_encode(b->format, x, saturate);
}

/* Whether y is zero after one rounding to binary32. */
static int rounds_to_zero(mxo_real y)
{
    const uint64_t bits = mxo_format_encode(MXO_FMT_F32, y, nearest_even);

    return (bits & MAGNITUDE) == 0;
}

static uint8_t sign_of_zero(const mxo_quant_block *b, mxo_real y, uint8_t code)
{
    const mxo_format_spec *f = mxo_format_info(b->format);
    const unsigned sign = f == NULL ? 0 : 1u << (f->ebits + f->mbits);

    if (code != sign || b->element.zero == MXO_ZERO_KEEP) {
        return code;
    }
    if (b->element.zero == MXO_ZERO_NONZERO && !rounds_to_zero(y)) {
        return code;
    }
    return 0;
}

/* vLLM bounds E4M3FNUZ by 224, one code below the largest. */
static uint8_t bounded(const mxo_quant_block *b, uint8_t code)
{
    if (b->fnuz_max != 0 && (code & 0x7f) > b->fnuz_max) {
        return (uint8_t)((code & 0x80) | b->fnuz_max);
    }
    return code;
}

uint8_t mxo_quant_code(const mxo_quant_block *block, uint32_t x)
{
    const mxo_quant_element *e = &block->element;
    const mxo_rounding r = {e->tie, e->sat, 0, 0};

    if (mxo_f32_is_nan(x)) {
        return bounded(block, encode_nan(block, x));
    }
    const mxo_real y = quotient(block, x);

    if (y.cls == MXO_CLASS_NAN) {
        /* A NaN scale hands on its positive NaN; else the step made one. */
        const int born = block->negative_nan && !mxo_f32_is_nan(block->factor);
        const uint32_t nan = born ? QUIET_NAN | SIGN : QUIET_NAN;

        return bounded(block, encode_nan(block, nan));
    }
    const uint8_t code = (uint8_t)mxo_format_encode(block->format, y, r);

    return bounded(block, sign_of_zero(block, y, code));
}

uint8_t mxo_quant_mx(const mxo_quant_rule *rule, mxo_format element, int tie,
                     uint8_t *codes, const uint32_t *x, size_t n)
{
    const uint32_t amax =
        mxo_quant_amax(rule, mxo_quant_amax_start(rule), x, n);
    const uint8_t byte = mxo_quant_scale_byte(rule, element, amax);
    const mxo_quant_block b =
        mxo_quant_block_byte(rule, element, tie, amax, byte);

    for (size_t i = 0; i < n; i++) {
        codes[i] = mxo_quant_code(&b, x[i]);
    }
    return byte;
}
