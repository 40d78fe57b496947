/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a code to a wide float, and what a code is.  One rounding, one NaN
 * pattern: the sign and payload of a NaN mean nothing anywhere here.
 */
#include <mxoracle/format.h>

static uint64_t nan_pattern(mxo_format to, mxo_nan nan)
{
    const mxo_format_spec *f = mxo_format_info(to);
    const int width = f->ebits + f->mbits;

    if (nan == MXO_NAN_ONES) {
        return ((uint64_t)1 << width) - 1;
    }
    return f->max + 1 + ((uint64_t)1 << (f->mbits - 1));
}

static uint64_t write(mxo_format to, mxo_real x, mxo_tie tie, mxo_nan nan)
{
    const mxo_rounding r = {(uint8_t)tie, 0, 0, 0};

    return x.cls == MXO_CLASS_NAN ? nan_pattern(to, nan)
                                  : mxo_format_encode(to, x, r);
}

uint64_t mxo_format_round(mxo_format to, mxo_real x)
{
    return write(to, x, MXO_TIE_RNE, MXO_NAN_QUIET);
}

static int code_bits(mxo_format format)
{
    const mxo_format_spec *f = mxo_format_info(format);

    return f == NULL ? 8 : 1 + f->ebits + f->mbits;
}

static uint64_t own_bits(mxo_format format, uint64_t code)
{
    const int bits = code_bits(format);

    return bits == 64 ? code : code & (((uint64_t)1 << bits) - 1);
}

uint64_t mxo_format_convert(mxo_format to, mxo_format from, uint64_t code,
                            mxo_tie tie, mxo_nan nan)
{
    return write(to, mxo_format_decode(from, own_bits(from, code)), tie, nan);
}

mxo_code_class mxo_format_classify(mxo_format format, uint64_t code)
{
    const mxo_real x = mxo_format_decode(format, own_bits(format, code));

    switch (x.cls) {
    case MXO_CLASS_ZERO:
        return MXO_CODE_ZERO;
    case MXO_CLASS_INF:
        return MXO_CODE_INF;
    case MXO_CLASS_NAN:
        return MXO_CODE_NAN;
    default:
        break;
    }
    const mxo_format_spec *f = mxo_format_info(format);

    return f == NULL || mxo_real_lg(x) >= 1 - f->bias ? MXO_CODE_NORMAL
                                                      : MXO_CODE_SUBNORMAL;
}
