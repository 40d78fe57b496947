/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact dyadic numbers and the one encoding algorithm (numerics 2.1).
 *
 * The magnitude code of a format counts upward with the magnitude, so
 * code = ((E - emin) << mbits) + n serves normals, subnormals, the carry out
 * of the mantissa and the step between the two.
 */
#include <mxoracle/format.h>

#include <string.h>

static const mxo_format_spec spec[] = {
    [MXO_FMT_E2M1] = {"e2m1", 2, 1, 1, MXO_SPECIAL_NONE, 0x7, 2},
    [MXO_FMT_E2M3] = {"e2m3", 2, 3, 1, MXO_SPECIAL_NONE, 0x1f, 2},
    [MXO_FMT_E3M2] = {"e3m2", 3, 2, 3, MXO_SPECIAL_NONE, 0x1f, 4},
    [MXO_FMT_E4M3FN] = {"e4m3fn", 4, 3, 7, MXO_SPECIAL_FN, 0x7e, 8},
    [MXO_FMT_E4M3FNUZ] = {"e4m3fnuz", 4, 3, 8, MXO_SPECIAL_FNUZ, 0x7f, 7},
    [MXO_FMT_E5M2] = {"e5m2", 5, 2, 15, MXO_SPECIAL_IEEE, 0x7b, 15},
    [MXO_FMT_E5M2FNUZ] = {"e5m2fnuz", 5, 2, 16, MXO_SPECIAL_FNUZ, 0x7f, 15},
    [MXO_FMT_BF16] = {"bf16", 8, 7, 127, MXO_SPECIAL_IEEE, 0x7f7f, 127},
    [MXO_FMT_F16] = {"f16", 5, 10, 15, MXO_SPECIAL_IEEE, 0x7bff, 15},
    [MXO_FMT_F32] = {"f32", 8, 23, 127, MXO_SPECIAL_IEEE, 0x7f7fffff, 127},
    [MXO_FMT_F64] = {"f64", 11, 52, 1023, MXO_SPECIAL_IEEE, 0x7fefffffffffffff,
                     1023},
};

const mxo_format_spec *mxo_format_info(mxo_format format)
{
    return format < MXO_FMT_INT8 ? &spec[format] : NULL;
}

mxo_format mxo_format_by_name(const char *name)
{
    for (int f = 0; f < MXO_FMT_INT8; f++) {
        if (strcmp(spec[f].name, name) == 0) {
            return (mxo_format)f;
        }
    }
    return strcmp(name, "int8") == 0 ? MXO_FMT_INT8 : MXO_N_FORMATS;
}

mxo_tie mxo_tie_by_name(const char *name)
{
    static const char *const names[] = {"rne", "rz", "rna", "rnz", "sr"};
    int t = 0;

    while (t < MXO_N_TIES && strcmp(names[t], name) != 0) {
        t++;
    }
    return (mxo_tie)t;
}

static mxo_real decode_int8(uint64_t code)
{
    const int neg = (code & 0x80) != 0;
    const uint64_t magnitude = neg ? 256 - code : code;
    mxo_real x = {magnitude, -6, MXO_CLASS_FINITE, (uint8_t)neg, 0};

    if (magnitude == 0) {
        x.cls = MXO_CLASS_ZERO;
    }
    return x;
}

/* Class of a magnitude code that is above the largest finite one. */
static uint8_t special_class(const mxo_format_spec *f, uint64_t magnitude)
{
    return f->special == MXO_SPECIAL_IEEE && magnitude == f->max + 1
               ? MXO_CLASS_INF
               : MXO_CLASS_NAN;
}

mxo_real mxo_format_decode(mxo_format format, uint64_t code)
{
    if (format == MXO_FMT_INT8) {
        return decode_int8(code);
    }
    const mxo_format_spec *f = &spec[format];
    const int width = f->ebits + f->mbits;
    const uint64_t magnitude = code & (((uint64_t)1 << width) - 1);
    const uint64_t field = magnitude >> f->mbits;
    const uint64_t fraction = magnitude & (((uint64_t)1 << f->mbits) - 1);
    mxo_real x = {0, 0, MXO_CLASS_ZERO, (uint8_t)(code >> width & 1), 0};

    if (f->special == MXO_SPECIAL_FNUZ && magnitude == 0 && x.neg) {
        x.cls = MXO_CLASS_NAN;
        return x;
    }
    if (magnitude > f->max) {
        x.cls = special_class(f, magnitude);
        return x;
    }
    if (magnitude == 0) {
        return x;
    }
    x.cls = MXO_CLASS_FINITE;
    x.mant = field == 0 ? fraction : fraction + ((uint64_t)1 << f->mbits);
    x.exp = (int32_t)(field == 0 ? 1 : field) - f->bias - f->mbits;
    return x;
}

int mxo_real_lg(mxo_real x)
{
    int lg = 0;

    for (int step = 32; step > 0; step /= 2) {
        if (x.mant >> (lg + step) != 0) {
            lg += step;
        }
    }
    return lg + x.exp;
}

mxo_real mxo_real_scale(mxo_real x, int shift)
{
    x.exp += shift;
    return x;
}

int mxo_real_cmp_abs(mxo_real a, mxo_real b)
{
    if (a.cls != MXO_CLASS_FINITE || b.cls != MXO_CLASS_FINITE) {
        return (a.cls > b.cls) - (a.cls < b.cls);
    }
    const int la = mxo_real_lg(a);
    const int lb = mxo_real_lg(b);

    if (la != lb) {
        return la < lb ? -1 : 1;
    }
    /* Equal leading bits: align both to bit 63 and compare. */
    const uint64_t ma = a.mant << (63 - (la - a.exp));
    const uint64_t mb = b.mant << (63 - (lb - b.exp));
    return (ma > mb) - (ma < mb);
}

/* 1 if the fraction r = low/2^shift (+ sticky) rounds the integer n up. */
static int rounds_up(uint64_t n, uint64_t mant, int shift, int sticky,
                     mxo_rounding r)
{
    if (shift <= 0) {
        return 0; /* exact, or sticky far below half a quantum */
    }
    const uint64_t low =
        shift > 63 ? mant : mant & (((uint64_t)1 << shift) - 1);
    const uint64_t half = shift > 64 ? 0 : (uint64_t)1 << (shift - 1);
    const int over = half != 0 && (low > half || (low == half && sticky));
    const int tie = half != 0 && low == half && !sticky;

    switch (r.tie) {
    case MXO_TIE_RNE:
        return over || (tie && (n & 1));
    case MXO_TIE_RNA:
        return over || tie;
    case MXO_TIE_RNZ:
        return over;
    case MXO_TIE_SR: {
        /* r + R/2^N >= 1  <=>  floor(r * 2^N) + R >= 2^N */
        const int drop = shift - r.bits;
        const uint64_t top = drop > 63   ? 0
                             : drop >= 0 ? low >> drop
                                         : low << -drop;
        return top + r.rand >= (uint64_t)1 << r.bits;
    }
    default:
        return 0;
    }
}

/* |x| / 2^quantum as an integer, rounded by r. */
static uint64_t round_to_quantum(mxo_real x, int quantum, mxo_rounding r)
{
    const int shift = quantum - x.exp;
    const uint64_t n = shift <= 0   ? x.mant << -shift
                       : shift > 63 ? 0
                                    : x.mant >> shift;

    return n + (uint64_t)rounds_up(n, x.mant, shift, x.sticky, r);
}

static uint64_t encode_int8(mxo_real x, mxo_rounding r)
{
    uint64_t n = 0;

    if (x.cls == MXO_CLASS_INF ||
        (x.cls == MXO_CLASS_FINITE && mxo_real_lg(x) >= 1)) {
        n = 127;
    } else if (x.cls == MXO_CLASS_FINITE) {
        n = round_to_quantum(x, -6, r);
    }
    n = n > 127 ? 127 : n;
    return x.neg ? (256 - n) & 0xff : n;
}

static uint64_t with_sign(const mxo_format_spec *f, int neg, uint64_t magnitude)
{
    if (f->special == MXO_SPECIAL_FNUZ && magnitude == 0) {
        return 0;
    }
    return (uint64_t)neg << (f->ebits + f->mbits) | magnitude;
}

static uint64_t encode_nan(const mxo_format_spec *f, int neg)
{
    switch (f->special) {
    case MXO_SPECIAL_NONE:
        return f->max;
    case MXO_SPECIAL_FNUZ:
        return (uint64_t)1 << (f->ebits + f->mbits);
    case MXO_SPECIAL_FN:
        return with_sign(f, neg, f->max + 1);
    default: /* quiet: the top mantissa bit */
        return with_sign(f, neg, (f->max + 1) | (uint64_t)1 << (f->mbits - 1));
    }
}

static uint64_t encode_overflow(const mxo_format_spec *f, int neg, int sat)
{
    if (sat || f->special == MXO_SPECIAL_NONE) {
        return with_sign(f, neg, f->max);
    }
    if (f->special == MXO_SPECIAL_IEEE) {
        return with_sign(f, neg, f->max + 1);
    }
    return encode_nan(f, neg);
}

uint64_t mxo_format_encode(mxo_format format, mxo_real x, mxo_rounding r)
{
    if (format == MXO_FMT_INT8) {
        return encode_int8(x, r);
    }
    const mxo_format_spec *f = &spec[format];
    const int emin = 1 - f->bias;

    switch (x.cls) {
    case MXO_CLASS_NAN:
        return encode_nan(f, x.neg);
    case MXO_CLASS_INF:
        return encode_overflow(f, x.neg, r.sat);
    case MXO_CLASS_ZERO:
        return with_sign(f, x.neg, 0);
    default:
        break;
    }
    const int lg = mxo_real_lg(x);
    const int e = lg > emin ? lg : emin;

    if (e > f->emax + 1) {
        return r.tie == MXO_TIE_RZ ? with_sign(f, x.neg, f->max)
                                   : encode_overflow(f, x.neg, r.sat);
    }
    const uint64_t n = round_to_quantum(x, e - f->mbits, r);
    const uint64_t magnitude = ((uint64_t)(e - emin) << f->mbits) + n;

    if (magnitude <= f->max) {
        return with_sign(f, x.neg, magnitude);
    }
    return r.tie == MXO_TIE_RZ ? with_sign(f, x.neg, f->max)
                               : encode_overflow(f, x.neg, r.sat);
}
