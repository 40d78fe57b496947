/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders that differ from the definition.  All of them are the definition
 * with a few corners bent, so a dialect is a row of dialect.def and this file
 * is the list of corners.
 */
#include <mxoracle/format.h>

#include <string.h>

enum nan_rule {
    NAN_ABSENT,
    NAN_OWN,
    NAN_ONES,
    NAN_SIGNONES,
    NAN_MAX,
    NAN_SIGNMAX,
    NAN_NUZMAX,
    NAN_FLIP,
    NAN_ZERO,
    NAN_BITS
};

enum flags {
    E2M1ONLY = 1,
    NONEGZERO = 2,
    ZEROPLUS = 4,
    NOSAT = 8,
    FNNAN = 16,
    EARLY = 32,
    INFZERO = 64,
    CUT = 128,
    SEED = 256,
    LOG2 = 512
};

typedef struct dialect_row {
    const char *name;
    uint8_t nan[4]; /* by mxo_special: NONE, FN, FNUZ, IEEE */
    uint8_t ties;   /* bit t: rounds by mxo_tie t */
    uint16_t flags;
} dialect_row;

static const dialect_row rows[] = {
#define MXO_DIALECT(id, name, none, fn, fnuz, ieee, ties, flags, source) \
    {name, {NAN_##none, NAN_##fn, NAN_##fnuz, NAN_##ieee}, ties, flags},
#include <mxoracle/dialect.def>
#undef MXO_DIALECT
};

mxo_dialect mxo_dialect_by_name(const char *name)
{
    int i = 0;

    while (i < MXO_N_DIALECTS && strcmp(rows[i].name, name) != 0) {
        i++;
    }
    return (mxo_dialect)i;
}

static int is_small(mxo_format format)
{
    return format < MXO_FMT_BF16 || format == MXO_FMT_INT8;
}

static int has_format(const dialect_row *d, mxo_format to)
{
    if (to == MXO_FMT_INT8) {
        return d == &rows[MXO_DIALECT_MXO];
    }
    if ((d->flags & E2M1ONLY) != 0 && to != MXO_FMT_E2M1) {
        return 0;
    }
    return d->nan[mxo_format_info(to)->special] != NAN_ABSENT;
}

const char *mxo_dialect_refuses(mxo_dialect dialect, mxo_format to,
                                mxo_format from, mxo_rounding r)
{
    const dialect_row *d = &rows[dialect];

    if (!is_small(to) || !has_format(d, to)) {
        return "has no such format";
    }
    if (from == MXO_FMT_F64 && dialect != MXO_DIALECT_MXO &&
        dialect != MXO_DIALECT_CUDA) {
        return "does not take float64";
    }
    if ((d->ties >> r.tie & 1) == 0) {
        return "does not round that way";
    }
    if ((d->flags & NOSAT) != 0 && r.sat && to != MXO_FMT_E2M1 &&
        to != MXO_FMT_E2M3 && to != MXO_FMT_E3M2) {
        return "never saturates";
    }
    if (r.tie == MXO_TIE_SR && (d->flags & SEED) == 0 &&
        (r.bits < 1 || r.bits > 32)) {
        return "needs 1 to 32 random bits";
    }
    return NULL;
}

/* A NaN's pattern widened to binary32, payload kept. */
static uint32_t nan_as_f32(mxo_format from, uint64_t code)
{
    const uint32_t c = (uint32_t)code;

    switch (from) {
    case MXO_FMT_BF16:
        return c << 16;
    case MXO_FMT_F16:
        return (c & 0x8000) << 16 | 0x7f800000 | (c & 0x3ff) << 13;
    default:
        return c;
    }
}

/* torchao adds to the pattern and shifts, and a NaN runs through it too. */
static uint64_t nan_bits(const mxo_format_spec *f, uint32_t x)
{
    const int cut = 23 - f->mbits;
    const uint32_t magnitude = x & 0x7fffffff;
    const uint32_t odd = magnitude >> cut & 1;
    const uint32_t rebias = (uint32_t)(127 - f->bias) << 23;
    const uint32_t sum = magnitude - rebias + ((1u << (cut - 1)) - 1) + odd;

    return (x >> 31) << (f->ebits + f->mbits) | (sum >> cut & 0xff);
}

static uint64_t nan_ones(mxo_format to, mxo_format from, uint64_t code)
{
    if (from != MXO_FMT_F64) {
        return 0x7f;
    }
    const uint64_t sign = code >> 63 << 7;

    return to == MXO_FMT_E5M2 ? sign | 0x7e | (code >> 50 & 1) : sign | 0x7f;
}

static uint64_t encode_nan(const dialect_row *d, mxo_format to, mxo_format from,
                           uint64_t code, mxo_rounding r)
{
    const mxo_format_spec *f = mxo_format_info(to);
    const mxo_real x = mxo_format_decode(from, code);
    const uint64_t sign = (uint64_t)x.neg << (f->ebits + f->mbits);

    switch (d->nan[f->special]) {
    case NAN_ONES:
        return nan_ones(to, from, code);
    case NAN_SIGNONES:
        return sign | 0x7f;
    case NAN_MAX:
        return f->max;
    case NAN_SIGNMAX:
        return sign | f->max;
    case NAN_NUZMAX:
        return r.sat ? sign | f->max : 0x80;
    case NAN_FLIP:
        return sign ^ (uint64_t)1 << (f->ebits + f->mbits);
    case NAN_ZERO:
        return 0;
    case NAN_BITS:
        return nan_bits(f, nan_as_f32(from, code));
    default:
        return mxo_format_encode(to, x, r);
    }
}

/* |x| < 1 loses its bits below 2^-23, as a shift without a sticky bit does. */
static mxo_real cut_subnormal(mxo_real x)
{
    const int shift = -23 - x.exp;

    if (x.cls != MXO_CLASS_FINITE || mxo_real_lg(x) >= 0 || shift <= 0) {
        return x;
    }
    x.mant = shift > 63 ? 0 : x.mant >> shift;
    x.exp = -23;
    x.cls = x.mant == 0 ? MXO_CLASS_ZERO : MXO_CLASS_FINITE;
    return x;
}

/*
 * floor(log2f(|x|)): the rounded logarithm reaches the integer k above for
 * x = 2^k (1 - j 2^-24) as long as j / ln 2 stays below half the spacing of
 * binary32 beside k, which is j < 2^p ln 2 with 2^p the binade of that side.
 */
static int lg_by_log2f(mxo_real x)
{
    static const uint8_t reach[] = {0, 1, 2, 5, 11, 22, 44, 88};
    const int lg = mxo_real_lg(x);
    const int k = lg + 1;
    const uint64_t beside = (uint64_t)(k > 0 ? k - 1 : -k);
    const mxo_real side = {beside, 0, MXO_CLASS_FINITE, 0, 0};
    const int width = lg - x.exp; /* bits of mant below the leading one */

    if (beside == 0 || width > 23) {
        return lg;
    }
    const uint64_t mant = x.mant << (23 - width);
    const uint64_t j = ((uint64_t)1 << 24) - mant;
    return j <= reach[mxo_real_lg(side)] ? k : lg;
}

/* |x| in quanta as a binary32 number, rounded as microxcaling rounds it. */
static uint64_t microxcaling_round(uint32_t quanta, uint8_t tie)
{
    const uint32_t half = 0x3f000000;
    const uint32_t sum = tie == MXO_TIE_RZ ? quanta : mxo_f32_add(quanta, half);
    const mxo_real s = mxo_format_decode(MXO_FMT_F32, sum);
    /* At most 2^(mbits + 1): the exponent of a 24-bit mantissa is negative. */
    const uint64_t n = s.exp < -63 ? 0 : s.mant >> -s.exp;
    const uint32_t below = mxo_f32_sub(quanta, half);
    const mxo_real b = mxo_format_decode(MXO_FMT_F32, below);
    /* quanta - 0.5 an even integer, tested on the rounded difference */
    const int even_below =
        !b.neg && (b.cls == MXO_CLASS_ZERO ||
                   (b.exp < 0 && b.exp > -24 &&
                    (b.mant & (((uint64_t)2 << -b.exp) - 1)) == 0));

    return tie == MXO_TIE_RNE && even_below ? n - 1 : n;
}

static uint64_t encode_microxcaling(mxo_format to, mxo_real x, mxo_rounding r)
{
    const mxo_format_spec *f = mxo_format_info(to);

    if (x.cls != MXO_CLASS_FINITE) {
        return mxo_format_encode(to, x, r);
    }
    const int emin = 1 - f->bias;
    const int lg = lg_by_log2f(x);
    const int quantum = (lg > emin ? lg : emin) - f->mbits;
    const uint32_t quanta =
        (uint32_t)mxo_format_round(MXO_FMT_F32, mxo_real_scale(x, -quantum)) &
        0x7fffffff;
    const uint64_t n = microxcaling_round(quanta, r.tie);
    const mxo_real y = {n, quantum, n == 0 ? MXO_CLASS_ZERO : MXO_CLASS_FINITE,
                        x.neg, 0};
    return mxo_format_encode(to, y, r);
}

static int is_above_largest(mxo_format to, mxo_real x)
{
    const mxo_real max = mxo_format_decode(to, mxo_format_info(to)->max);

    return x.cls == MXO_CLASS_FINITE && mxo_real_cmp_abs(x, max) > 0;
}

/* The random bits that count, and how many there are. */
static mxo_rounding draw(const dialect_row *d, mxo_format to, mxo_rounding r)
{
    if (r.tie == MXO_TIE_SR && (d->flags & SEED) != 0) {
        r.bits = (uint8_t)(23 - mxo_format_info(to)->mbits);
        r.rand >>= 32 - r.bits;
    } else if (r.bits < 32) {
        r.rand &= ((uint32_t)1 << r.bits) - 1;
    }
    return r;
}

static mxo_real bend_input(const dialect_row *d, mxo_format to, mxo_real x,
                           mxo_rounding r)
{
    if ((d->flags & CUT) != 0) {
        x = cut_subnormal(x);
    }
    if ((d->flags & EARLY) != 0 && !r.sat && is_above_largest(to, x)) {
        x.cls = MXO_CLASS_INF;
    }
    if (((d->flags & ZEROPLUS) != 0 && x.cls == MXO_CLASS_ZERO) ||
        ((d->flags & INFZERO) != 0 && x.cls == MXO_CLASS_INF)) {
        x.cls = MXO_CLASS_ZERO;
        x.neg = 0;
    }
    return x;
}

uint64_t mxo_dialect_encode(mxo_dialect dialect, mxo_format to, mxo_format from,
                            uint64_t code, mxo_rounding r)
{
    const dialect_row *d = &rows[dialect];
    mxo_real x = mxo_format_decode(from, code);

    if (to == MXO_FMT_INT8) {
        return mxo_format_encode(to, x, draw(d, to, r));
    }
    if (x.cls == MXO_CLASS_NAN) {
        return encode_nan(d, to, from, code, r);
    }
    r = draw(d, to, r);
    if ((d->flags & FNNAN) != 0 && to == MXO_FMT_E4M3FN) {
        r.sat = 0;
    }
    x = bend_input(d, to, x, r);
    const uint64_t y = (d->flags & LOG2) != 0 ? encode_microxcaling(to, x, r)
                                              : mxo_format_encode(to, x, r);
    return (d->flags & NONEGZERO) != 0 && y == 8 ? 0 : y;
}
