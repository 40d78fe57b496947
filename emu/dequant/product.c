/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One element times one scale, in every way that dequant.def lists.  The
 * numbers are exact until a row says that something is rounded.
 */
#include "product.h"

#include <string.h>

enum product { IN_F32, IN_BF16, IN_TO, EXACT, BITS, BEHIND_2, BEHIND_119 };
enum flags { CLAMP = 1, E2M1 = 2, DOUBLED = 4, TWICE = 8, CAPPED = 16 };
enum targets { TO_F32 = 1, TO_BF16 = 2, TO_F16 = 4 };

typedef struct rule_row {
    const char *name;
    uint8_t e8m0; /* mxo_e8m0_rule */
    uint8_t product;
    uint8_t flags;
    uint8_t formats;
} rule_row;

static const rule_row rules[] = {
#define MXO_DEQUANT(id, name, e8m0, product, flags, formats, source) \
    {name, MXO_E8M0_##e8m0, product, flags, formats},
#include <mxoracle/dequant.def>
#undef MXO_DEQUANT
};

mxo_dequant_rule mxo_dequant_rule_by_name(const char *name)
{
    int i = 0;

    while (i < MXO_N_DEQUANT_RULES && strcmp(rules[i].name, name) != 0) {
        i++;
    }
    return (mxo_dequant_rule)i;
}

int mxo_dequant_rule_has(mxo_dequant_rule rule, mxo_format element,
                         mxo_format to)
{
    const rule_row *r = &rules[rule];
    int bit = 0;

    if (to == MXO_FMT_F32) {
        bit = TO_F32;
    } else if (to == MXO_FMT_BF16) {
        bit = TO_BF16;
    } else if (to == MXO_FMT_F16) {
        bit = TO_F16;
    }

    return (r->formats & bit) != 0 &&
           ((r->flags & E2M1) == 0 || element == MXO_FMT_E2M1);
}

/* Format that the scale, and where it differs the product, is held in. */
static mxo_format held_in(const rule_row *r, mxo_format to)
{
    switch (r->product) {
    case BEHIND_2: /* exact beside any scale, then rounded */
        return to == MXO_FMT_F16 ? MXO_FMT_BF16 : to;
    case IN_TO:
    case BEHIND_119:
        return to;
    case IN_BF16:
        return to == MXO_FMT_F16 ? to : MXO_FMT_BF16;
    default:
        return MXO_FMT_F32;
    }
}

mxo_real mxo_dequant_element(mxo_format element, uint64_t code)
{
    const mxo_format_spec *f = mxo_format_info(element);
    const int width = f == NULL ? 8 : 1 + f->ebits + f->mbits;

    return mxo_format_decode(element, code & ((1u << width) - 1));
}

int mxo_dequant_behind(mxo_dequant_rule rule)
{
    return rules[rule].product == BEHIND_2     ? 2
           : rules[rule].product == BEHIND_119 ? 119
                                               : 0;
}

/* B12X: no byte is NaN, those above 247 count as it. */
static uint8_t capped(uint8_t scale)
{
    return scale < 247 ? scale : 247;
}

/* And 0 is nothing. */
static mxo_real capped_scale(uint8_t scale)
{
    const int exp = capped(scale) - 127;

    return (mxo_real){scale != 0, exp,
                      scale == 0 ? MXO_CLASS_ZERO : MXO_CLASS_FINITE, 0, 0};
}

mxo_real mxo_dequant_scale(mxo_dequant_rule rule, mxo_format to, uint8_t scale)
{
    const rule_row *r = &rules[rule];

    if (r->product == BEHIND_119) {
        return capped_scale(scale);
    }
    const mxo_format held = held_in(r, to);
    const mxo_e8m0_rule read = (mxo_e8m0_rule)r->e8m0;
    const uint8_t byte = (r->flags & CAPPED) != 0 ? capped(scale) : scale;

    return mxo_format_decode(held, mxo_e8m0_decode(read, held, byte));
}

static uint64_t clamp(mxo_format to, uint64_t pattern)
{
    const mxo_format_spec *f = mxo_format_info(to);
    const mxo_real x = mxo_format_decode(to, pattern);

    return x.cls == MXO_CLASS_INF
               ? (uint64_t)x.neg << (f->ebits + f->mbits) | f->max
               : pattern;
}

uint32_t mxo_dequant_product(mxo_dequant_rule rule, mxo_format to,
                             mxo_real element, mxo_real scale)
{
    const rule_row *r = &rules[rule];
    const mxo_format held = r->product == EXACT ? to : held_in(r, to);
    mxo_real x = mxo_real_mul(element, scale);

    if ((r->flags & TWICE) != 0) { /* half the scale, so that 2^128 is held */
        x.exp++;
    }
    if ((r->flags & DOUBLED) != 0) { /* an integer table: code 8 is 0 */
        x.exp++;
        x.neg = x.cls == MXO_CLASS_ZERO ? 0 : x.neg;
    }
    x.exp -= mxo_dequant_behind(rule);
    uint64_t y = mxo_format_round(held, x);
    if (held != to) {
        y = mxo_format_convert(to, held, y, MXO_TIE_RNE, MXO_NAN_QUIET);
    }
    if (r->product == BEHIND_119 && (y & 0x7fff) == 0) {
        return 0; /* no negative zero */
    }
    return (uint32_t)((r->flags & CLAMP) != 0 ? clamp(to, y) : y);
}

/* The bfloat16 pattern of the element plus the scale's exponent, unchecked. */
static uint32_t add_exponents(uint64_t code, uint8_t scale)
{
    const uint32_t element = (uint32_t)mxo_format_convert(
        MXO_FMT_BF16, MXO_FMT_E2M1, code, MXO_TIE_RNE, MXO_NAN_QUIET);

    if ((element & 0x7fff) == 0) {
        return 0;
    }
    return (element + (((uint32_t)scale - 127) << 7)) & 0xffff;
}

uint32_t mxo_dequant_mx(mxo_dequant_rule rule, mxo_format element,
                        mxo_format to, uint64_t code, uint8_t scale)
{
    if (rules[rule].product == BITS) {
        return add_exponents(code, scale);
    }
    return mxo_dequant_product(rule, to, mxo_dequant_element(element, code),
                               mxo_dequant_scale(rule, to, scale));
}

mxo_dequant_status mxo_dequant_judge(mxo_format to, uint64_t code,
                                     uint8_t scale, uint32_t y)
{
    const mxo_format_spec *f = mxo_format_info(to);
    const mxo_real got = mxo_format_decode(to, y);
    const mxo_real max = mxo_format_decode(to, f->max);
    mxo_real x = mxo_dequant_element(MXO_FMT_E2M1, code);

    if (scale == 255) {
        return MXO_DEQUANT_NAN_SCALE;
    }
    if (x.cls == MXO_CLASS_ZERO) {
        return MXO_DEQUANT_ZERO;
    }
    x = mxo_real_scale(x, scale - 127);
    if (got.cls == MXO_CLASS_INF || got.cls == MXO_CLASS_NAN ||
        mxo_real_cmp_abs(x, max) > 0) {
        return MXO_DEQUANT_OVERFLOW;
    }
    if (got.cls == MXO_CLASS_ZERO) {
        return MXO_DEQUANT_LOST;
    }
    const int exact = got.neg == x.neg && mxo_real_cmp_abs(got, x) == 0;

    if (mxo_format_classify(to, y) == MXO_CODE_SUBNORMAL) {
        return exact ? MXO_DEQUANT_EXACT_SUBNORMAL
                     : MXO_DEQUANT_ROUNDED_SUBNORMAL;
    }
    return exact ? MXO_DEQUANT_EXACT : MXO_DEQUANT_ROUNDED;
}

uint32_t mxo_dequant_group(mxo_format element, mxo_format to, uint64_t code,
                           uint32_t scale)
{
    const mxo_real x = mxo_real_mul(mxo_dequant_element(element, code),
                                    mxo_format_decode(MXO_FMT_F32, scale));

    return (uint32_t)mxo_format_convert(to, MXO_FMT_F32,
                                        mxo_format_round(MXO_FMT_F32, x),
                                        MXO_TIE_RNE, MXO_NAN_QUIET);
}

uint32_t mxo_dequant_nvfp4(mxo_format to, uint64_t code, uint8_t scale,
                           uint32_t global)
{
    const mxo_real element = mxo_dequant_element(MXO_FMT_E2M1, code);
    const mxo_real s = mxo_format_decode(MXO_FMT_E4M3FN, scale & 0x7f);
    const mxo_real g = mxo_format_decode(MXO_FMT_F32, global);

    return (uint32_t)mxo_format_round(
        to, mxo_real_mul(mxo_real_mul(element, s), g));
}
