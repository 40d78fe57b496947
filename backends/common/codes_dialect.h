/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.encode in the dialects of dialect.def: the definition with a few
 * corners bent.  And an element of any of the operations format.*.
 */
#ifndef BACKENDS_CODES_DIALECT_H
#define BACKENDS_CODES_DIALECT_H

#include "codes.h"

/* The rounding adder runs over a NaN's pattern, widened to binary32. */
CODES_FN uint64_t codes_nan_bits(const codes_job *a, uint64_t code)
{
    const uint32_t wide = a->from.mbits == 23 ? (uint32_t)code
                          : a->from.mbits == 7
                              ? (uint32_t)code << 16
                              : (uint32_t)((code & 0x8000) << 16 | 0x7f800000u |
                                           (code & 0x3ff) << 13);
    const uint32_t cut = (uint32_t)(23 - a->to.mbits);
    const uint32_t shifted =
        (wide & 0x7fffffffu) - ((uint32_t)(127 - a->to.bias) << 23);
    const uint32_t sum = shifted + (1u << (cut - 1)) - 1 + (wide >> cut & 1);

    return (uint64_t)(wide >> 31) << a->to.width | (sum >> cut & 0xff);
}

CODES_FN uint64_t codes_dialect_nan(const codes_job *a, uint64_t code,
                                    uint32_t neg)
{
    const int from_f64 = a->from.mbits == 52;
    const uint64_t sign = (uint64_t)neg << a->to.width;

    switch (a->nan) {
    case CODES_NAN_ONES:
        return !from_f64                     ? 0x7f
               : a->to.special == CODES_IEEE ? sign | 0x7e | (code >> 50 & 1)
                                             : sign | 0x7f;
    case CODES_NAN_SIGNONES:
        return sign | 0x7f;
    case CODES_NAN_MAX:
        return a->to.max;
    case CODES_NAN_SIGNMAX:
        return sign | a->to.max;
    case CODES_NAN_NUZMAX:
        return a->sat != 0 ? sign | a->to.max : 0x80;
    case CODES_NAN_FLIP:
        return (uint64_t)(neg ^ 1) << a->to.width;
    case CODES_NAN_ZERO:
        return 0;
    case CODES_NAN_BITS:
        return codes_nan_bits(a, code);
    default:
        return codes_nan(&a->to, neg);
    }
}

/*
 * floor(log2f |x|) where the logarithm is rounded to binary32: below 2^k, k
 * not 0, a number 2^k (1 - j 2^-24) counts as 2^k if j is less than ln 2 times
 * the power of two at or below what lies between k and 0.
 */
CODES_FN int32_t codes_lg_rounded(codes_real x)
{
    const int32_t top = codes_lg(x.sig);
    const int32_t lg = top + x.exp;
    const int32_t k = lg + 1;
    const uint64_t beside = (uint64_t)(uint32_t)(k > 0 ? k - 1 : -k);

    if (beside == 0 || top > 23) {
        return lg;
    }
    const uint64_t j = ((uint64_t)1 << 24) - (x.sig << (23 - top));
    const double reach =
        0x1.62e42fefa39efp-1 * (double)((uint64_t)1 << codes_lg(beside));

    return (double)j < reach ? k : lg;
}

/* Quanta in binary32, to which one half is added; 24 bits of |x| are left. */
CODES_FN codes_real codes_log2(const codes_job *a, codes_real x)
{
    const codes_format f32 = {23, 127, 31, CODES_IEEE, 0x7f7fffffu};
    const int32_t least = 1 - a->to.bias;
    const int32_t lg = codes_lg_rounded(x);
    const int32_t unit = (lg < least ? least : lg) - a->to.mbits;
    const codes_real units = {x.sig, x.exp - unit, CODES_FINITE, 0};
    const uint32_t bits =
        (uint32_t)codes_write(&f32, units, CODES_RNE, 0, 0, 0);
    float quanta;

    memcpy(&quanta, &bits, 4);
    const float above = quanta + 0.5f;
    const float below = quanta - 0.5f;
    uint64_t n = (uint64_t)(a->tie == CODES_RZ ? quanta : above);
    const uint64_t whole = below < 0 ? 1 : (uint64_t)below;

    if (a->tie == CODES_RNE && below >= 0 && (float)whole == below &&
        whole % 2 == 0) {
        n--;
    }
    return codes_number(n, unit, x.neg);
}

/* |x| < 1 without its bits below 2^-23. */
CODES_FN codes_real codes_cut(codes_real x)
{
    const int32_t shift = -23 - x.exp;

    if (x.cls != CODES_FINITE || codes_lg(x.sig) + x.exp >= 0 || shift <= 0) {
        return x;
    }
    return codes_number(shift > 63 ? 0 : x.sig >> shift, -23, x.neg);
}

/* |x| beyond the largest number: by exponents, then with leading bits aligned
 */
CODES_FN int codes_above(const codes_format *f, codes_real x)
{
    const codes_real max = codes_read(f, f->max);
    const int32_t lg = codes_lg(x.sig);
    const int32_t lg_max = codes_lg(max.sig);
    const int32_t ahead = lg + x.exp - (lg_max + max.exp);

    return ahead > 0 ||
           (ahead == 0 && x.sig << (63 - lg) > max.sig << (63 - lg_max));
}

/* x after the dialect's preparation. */
CODES_FN codes_real codes_bent(const codes_job *a, codes_real x, uint32_t sat)
{
    const uint32_t flags = a->flags;
    const int early = (flags & CODES_EARLY) != 0 && sat == 0;

    x = (flags & CODES_CUT) != 0 ? codes_cut(x) : x;
    if (early && x.cls == CODES_FINITE && codes_above(&a->to, x)) {
        x = codes_special(CODES_INFINITE, x.neg);
    }
    if (((flags & CODES_ZEROPLUS) != 0 && x.cls == CODES_ZERO) ||
        ((flags & CODES_INFZERO) != 0 && x.cls == CODES_INFINITE)) {
        x = codes_number(0, 0, 0);
    }
    return (flags & CODES_LOG2) != 0 && x.cls == CODES_FINITE ? codes_log2(a, x)
                                                              : x;
}

/* The random bits that count, and how many. */
CODES_FN uint32_t codes_drawn(const codes_job *a, uint64_t i, uint32_t *bits)
{
    const uint32_t word =
        a->tie == CODES_SR ? (uint32_t)codes_load(a->rand, 4, i) : 0;

    *bits = a->bits;
    if ((a->flags & CODES_SEED) != 0) {
        *bits = (uint32_t)(23 - a->to.mbits);
        return word >> (32 - *bits);
    }
    return *bits < 32 ? word & ((1u << *bits) - 1) : word;
}

CODES_FN uint64_t codes_encode(const codes_job *a, uint64_t i)
{
    const uint64_t code = codes_load(a->in, a->in_bytes, i);
    const codes_real x = codes_read(&a->from, code);
    const int no_sat =
        (a->flags & CODES_FNNAN) != 0 && a->to.special == CODES_FINITE_NAN;
    const uint32_t sat = no_sat ? 0 : a->sat;
    uint32_t bits;
    const uint32_t rand = codes_drawn(a, i, &bits);

    if (x.cls == CODES_NAN && a->to.special != CODES_INT8) {
        return codes_dialect_nan(a, code, x.neg);
    }
    const uint64_t y =
        codes_write(&a->to, codes_bent(a, x, sat), a->tie, sat, bits, rand);

    return (a->flags & CODES_NONEGZERO) != 0 && y == 8 ? 0 : y;
}

CODES_FN uint64_t codes_one(const codes_job *a, uint64_t i)
{
    const uint64_t x = codes_load(a->in, a->in_bytes, i);

    switch (a->op) {
    case CODES_CLASSIFY:
        return codes_classify(a, x);
    case CODES_CONVERT:
        return codes_wide(a, codes_read(&a->from, x), a->tie);
    case CODES_DECODE:
        return codes_decode(a, x);
    case CODES_E8M0_DECODE:
        return codes_e8m0_decode(a, (uint32_t)x);
    case CODES_E8M0_ENCODE:
        return codes_e8m0_encode(a, (uint32_t)x << (a->in_bytes == 2 ? 16 : 0));
    case CODES_UE4M3_DECODE:
        return codes_ue4m3_decode(a, (uint32_t)x);
    case CODES_UE4M3_ENCODE:
        return codes_ue4m3_encode((uint32_t)x);
    default:
        return codes_encode(a, i);
    }
}

/* Unit i of the output: an element, or a byte of two. */
CODES_FN void codes_put(const codes_job *a, uint64_t i)
{
    if (a->out_bytes == 0) {
        ((uint8_t *)a->out)[i] =
            (uint8_t)(codes_one(a, 2 * i) | codes_one(a, 2 * i + 1) << 4);
    } else {
        codes_store(a->out, a->out_bytes, i, codes_one(a, i));
    }
}

#endif
