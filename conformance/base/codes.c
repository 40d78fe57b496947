/* SPDX-License-Identifier: Apache-2.0 */
/* Number formats by their geometry; see codes.h. */
#include "codes.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const code_format code_formats[CODE_FORMATS] = {
    [CODE_E2M1] = {"e2m1", 4, 1, 1, 'n'},
    [CODE_E2M3] = {"e2m3", 6, 3, 1, 'n'},
    [CODE_E3M2] = {"e3m2", 6, 2, 3, 'n'},
    [CODE_E4M3] = {"e4m3", 8, 3, 7, 'f'},
    [CODE_E4M3FN] = {"e4m3fn", 8, 3, 7, 'f'},
    [CODE_E4M3FNUZ] = {"e4m3fnuz", 8, 3, 8, 'z'},
    [CODE_E5M2] = {"e5m2", 8, 2, 15, 'i'},
    [CODE_E5M2FNUZ] = {"e5m2fnuz", 8, 2, 16, 'z'},
    [CODE_F16] = {"f16", 16, 10, 15, 'i'},
    [CODE_BF16] = {"bf16", 16, 7, 127, 'i'},
    [CODE_F32] = {"f32", 32, 23, 127, 'i'},
    [CODE_F64] = {"f64", 64, 52, 1023, 'i'},
    [CODE_E8M0] = {"e8m0", 8, 0, 127, 'e'},
    [CODE_INT8] = {"int8", 8, 6, 0, '8'},
};

const code_format *code_format_by_name(const char *name)
{
    for (size_t i = 0; i < CODE_FORMATS; i++) {
        if (strcmp(code_formats[i].name, name) == 0) {
            return &code_formats[i];
        }
    }
    return NULL;
}

double code_scaled(double x, int exponent)
{
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;

    if (exponent < -1022 || exponent > 1023) {
        return ldexp(x, exponent);
    }
    memcpy(&power, &bits, sizeof power);
    return x * power;
}

static uint64_t sign_bit(const code_format *f)
{
    return UINT64_C(1) << (f->bits - 1);
}

uint64_t code_last_finite(const code_format *f)
{
    const uint64_t all = sign_bit(f) - 1;

    if (f->special == 'f') {
        return all - 1;
    }
    return f->special == 'i' ? (all >> f->mbits << f->mbits) - 1 : all;
}

int code_is_nan(const code_format *f, uint64_t code)
{
    switch (f->special) {
    case 'e':
        return code == 0xff;
    case 'z':
        return code == sign_bit(f);
    case 'f':
        return (code & (sign_bit(f) - 1)) > code_last_finite(f);
    case 'i':
        return (code & (sign_bit(f) - 1)) > code_last_finite(f) + 1;
    default:
        return 0;
    }
}

/* Of a finite magnitude code. */
static double magnitude_value(const code_format *f, uint64_t magnitude)
{
    const uint64_t one = UINT64_C(1) << f->mbits;
    const int exponent = (int)(magnitude >> f->mbits);
    const uint64_t hidden = exponent == 0 ? 0 : one;

    return code_scaled((double)((magnitude & (one - 1)) | hidden),
                       (exponent == 0 ? 1 : exponent) - f->bias - f->mbits);
}

double code_value(const code_format *f, uint64_t code)
{
    const uint64_t magnitude = code & (sign_bit(f) - 1);
    double value;

    if (code_is_nan(f, code)) {
        return (double)NAN;
    }
    if (f->special == 'e') {
        return code_scaled(1, (int)code - 127);
    }
    if (f->special == '8') {
        return ldexp((double)(int8_t)code, -f->mbits);
    }
    value = magnitude > code_last_finite(f) ? (double)INFINITY
                                            : magnitude_value(f, magnitude);
    return (code & sign_bit(f)) != 0 ? -value : value;
}

uint64_t code_nearest(const code_format *f, double x)
{
    const uint64_t one = UINT64_C(1) << 52;
    const int least = 1 - f->bias; /* exponent of subnormals */
    const uint64_t last = code_last_finite(f);
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    const uint64_t negative = bits >> 63 != 0 ? sign_bit(f) : 0;
    const int field = (int)(bits >> 52 & 0x7ff);
    const int own = (field == 0 ? 1 : field) - 1023;
    const int e = own < least ? least : own;
    const int shift = 52 - f->mbits + e - own;
    const uint64_t mantissa = (bits & (one - 1)) | (field == 0 ? 0 : one);
    /* The hidden bit of a normal number supplies the missing 1. */
    uint64_t magnitude = (uint64_t)(e - least) << f->mbits;

    if (shift <= 54) { /* above, it is less than half of the least code */
        magnitude += mantissa >> shift;
    }
    if (shift > 0 && shift <= 54) {
        const uint64_t half = UINT64_C(1) << (shift - 1);
        const uint64_t rest = mantissa & (2 * half - 1);
        magnitude += rest > half || (rest == half && magnitude % 2 == 1);
    }
    magnitude = magnitude > last ? last : magnitude;
    return magnitude == 0 && f->special == 'z' ? 0 : negative | magnitude;
}
