/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scale bytes in both directions.  What a byte means is OCP's to say; what
 * software does with bytes 0 and 255 differs in ways that show up in weights,
 * so each reading is a row of e8m0.def.
 */
#include <mxoracle/format.h>

#include <string.h>

enum low { LOW_POWER, LOW_ZERO };
enum high { HIGH_NAN, HIGH_SNAN, HIGH_INF, HIGH_POWER };
enum form { FORM_PLAIN, FORM_HALF, FORM_CAP15, FORM_INVERSE, FORM_SIGNED };

typedef struct rule_row {
    const char *name;
    uint8_t low;
    uint8_t high;
    uint8_t form;
    uint8_t formats;
} rule_row;

static const rule_row rules[] = {
#define MXO_E8M0(id, name, low, high, form, formats, source) \
    {name, LOW_##low, HIGH_##high, FORM_##form, formats},
#include <mxoracle/e8m0.def>
#undef MXO_E8M0
};

mxo_e8m0_rule mxo_e8m0_rule_by_name(const char *name)
{
    int i = 0;

    while (i < MXO_N_E8M0_RULES && strcmp(rules[i].name, name) != 0) {
        i++;
    }
    return (mxo_e8m0_rule)i;
}

int mxo_e8m0_rule_has(mxo_e8m0_rule rule, mxo_format to)
{
    int bit = 0;

    if (to == MXO_FMT_F32) {
        bit = 1;
    } else if (to == MXO_FMT_BF16) {
        bit = 2;
    } else if (to == MXO_FMT_F16) {
        bit = 4;
    }

    return (rules[rule].formats & bit) != 0;
}

static mxo_real power_of_two(int exponent)
{
    const mxo_real x = {1, exponent, MXO_CLASS_FINITE, 0, 0};

    return x;
}

static mxo_real of_class(mxo_class cls)
{
    const mxo_real x = {0, 0, (uint8_t)cls, 0, 0};

    return x;
}

/* Byte 255 of the unsigned readings. */
static mxo_real top_byte(const rule_row *r)
{
    switch (r->high) {
    case HIGH_INF:
        return of_class(MXO_CLASS_INF);
    case HIGH_POWER:
        return power_of_two(r->form == FORM_HALF ? 127 : 128);
    default:
        return of_class(MXO_CLASS_NAN);
    }
}

static mxo_real decode(const rule_row *r, uint8_t s)
{
    if (r->form == FORM_SIGNED) {
        return s == 0x80 ? of_class(MXO_CLASS_NAN)
                         : power_of_two(s < 0x80 ? s : s - 256);
    }
    if (s == 255) {
        return top_byte(r);
    }
    if (s == 0 && r->low == LOW_ZERO) {
        return of_class(MXO_CLASS_ZERO);
    }
    switch (r->form) {
    case FORM_HALF:
        return power_of_two(s - 128);
    case FORM_INVERSE:
        return power_of_two(127 - s);
    default:
        return power_of_two(s - 127);
    }
}

uint32_t mxo_e8m0_decode(mxo_e8m0_rule rule, mxo_format to, uint8_t code)
{
    const rule_row *r = &rules[rule];

    if (r->form == FORM_CAP15 && to == MXO_FMT_F16 && code > 127 + 15) {
        return (uint32_t)mxo_format_round(to, power_of_two(15));
    }
    if (r->high == HIGH_SNAN && code == 255) {
        return 0x7f800001;
    }
    return (uint32_t)mxo_format_round(to, decode(r, code));
}

/* Floor (up = 0) or ceiling of log2 |x|, as a byte clamped from below. */
static int log2_byte(mxo_real x, int up)
{
    const int exact = (x.mant & (x.mant - 1)) == 0;
    const int s = mxo_real_lg(x) + 127 + (up && !exact);

    return s < 0 ? 0 : s;
}

static int encode_directed(mxo_real x, int up, int sat, int infinity)
{
    if (x.cls == MXO_CLASS_NAN) {
        return 255;
    }
    if (x.cls == MXO_CLASS_INF) {
        return infinity;
    }
    const int s = x.cls == MXO_CLASS_ZERO ? 0 : log2_byte(x, up);
    return s == 255 && sat ? 254 : s;
}

/*
 * Nearest power of two, ties up: the exponent field, plus one if the top
 * mantissa bit is set.  The field 0 has no hidden bit, so there the top bit
 * alone is 2^-127 itself, and anything above it becomes 1.
 */
static int encode_nearest(uint32_t x)
{
    const int field = (int)(x >> 23 & 0xff);
    const int top = (x >> 22 & 1) != 0;
    const int rest = (x & 0x3fffff) != 0;

    return field == 255 ? 255 : field + (top && (field > 0 || rest));
}

static int encode_ml_dtypes(uint32_t x)
{
    const mxo_real v = mxo_format_decode(MXO_FMT_F32, x);

    if (v.cls != MXO_CLASS_FINITE || v.neg) {
        return 255;
    }
    return encode_nearest(x);
}

static int encode_deepgemm(uint32_t x)
{
    const int s = (int)(x >> 23 & 0xff) + ((x & 0x7fffff) != 0);

    return s < 1 ? 1 : s > 254 ? 254 : s;
}

/* Ties to an even byte: 1.5 goes to 2 and 3 to 2.  What has a sign is byte 0,
   a NaN, too. */
static int encode_openvino(uint32_t x)
{
    const uint32_t field = x >> 23 & 0xff;
    const uint32_t rest = x & 0x7fffff;
    const uint32_t half = field == 0 ? 0x600000 : 0x400000;

    if (x >> 31 != 0) {
        return 0;
    }
    if (x > 0x7f800000) {
        return 255;
    }
    const uint32_t s =
        field + (rest > half || (rest == half && field % 2 != 0));

    return s > 254 ? 254 : (int)s;
}

uint8_t mxo_e8m0_encode(mxo_e8m0_round rule, uint32_t x, int sat)
{
    const mxo_real v = mxo_format_decode(MXO_FMT_F32, x);

    switch (rule) {
    case MXO_E8M0_RZ:
        return (uint8_t)encode_directed(v, 0, sat, sat ? 254 : 255);
    case MXO_E8M0_RP:
        return (uint8_t)encode_directed(v, 1, sat, sat ? 254 : 255);
    case MXO_E8M0_CUTLASS:
        return (uint8_t)encode_directed(v, 1, 1, 255);
    case MXO_E8M0_TORCH:
        return (uint8_t)encode_nearest(x);
    case MXO_E8M0_ML_DTYPES:
        return (uint8_t)encode_ml_dtypes(x);
    case MXO_E8M0_TO_EVEN:
        return (uint8_t)encode_openvino(x);
    default:
        return (uint8_t)encode_deepgemm(x);
    }
}
