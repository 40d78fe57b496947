/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks that the fast path of quant.mx leaves alone, spelled out: what a
 * NaN does to the maximum, the rule's own arithmetic in binary32, the bytes at
 * the edges, the multipliers that are zero or NaN.  Speed does not matter
 * here; one element at a time, read again from memory.
 */
#ifndef GPU_QUANT_RARE_H
#define GPU_QUANT_RARE_H

#include "ops/quant_args.h"
#include "port/device.h"

enum { QUANT_AMAX_POISON, QUANT_AMAX_SKIP, QUANT_AMAX_ZERO };
enum {
    QUANT_FROM_AMAX,
    QUANT_FROM_QUOTIENT, /* amax / max */
    QUANT_FROM_PRODUCT,  /* amax * RN(1 / max) */
    QUANT_FROM_SHIFTED,  /* amax * 2^-emax */
    QUANT_FROM_EXACT     /* amax / max, not rounded */
};
enum {
    QUANT_EXP_FLOOR, /* the exponent field */
    QUANT_EXP_BITS,  /* one more if any mantissa bit is set */
    QUANT_EXP_CEIL,  /* 127 + ceil(log2 t), at least 0 */
    QUANT_EXP_EVEN,  /* after rounding half up to the format's mantissa */
    QUANT_EXP_15     /* one more from a significand of 1.5 on */
};
enum {
    QUANT_NAN_FORMAT, /* the format's, with the sign; or +max */
    QUANT_NAN_MAX,
    QUANT_NAN_SIGNED_MAX,
    QUANT_NAN_ZERO,
    QUANT_NAN_TORCH, /* its payload after torch's bit arithmetic */
    QUANT_NAN_MINUS, /* -max */
    QUANT_NAN_PLUS,  /* the format's without a sign; or +max */
    QUANT_NAN_ONES   /* all bits but the sign */
};
enum { QUANT_ZERO_KEEP, QUANT_ZERO_NONZERO, QUANT_ZERO_DROP };
enum { QUANT_RNE, QUANT_RZ, QUANT_RNA, QUANT_RNZ };
enum {
    QUANT_OFFSET = 1, /* emax comes off the byte */
    QUANT_NULL_0 = 2, /* byte 0 multiplies by zero */
    QUANT_NULL_254 = 4,
    QUANT_NULL_255 = 8,     /* otherwise 255 multiplies by NaN */
    QUANT_NAN_SPREADS = 16, /* a NaN maximum multiplies by NaN */
    QUANT_FTZ = 32,         /* binary32 steps flush subnormals */
    QUANT_NEGATIVE = 64,    /* infinity times 0 is a negative NaN */
    QUANT_TURNED_254 = 128, /* 254 multiplies by minus infinity */
    QUANT_LIVE_255 = 256,   /* 255 multiplies by 2^-128 */
    QUANT_INVERSE = 512,    /* float scale: x * (1 / s), else x / s */
    QUANT_SCALE_1 = 1024,   /* a float scale of 0 becomes 1 */
    QUANT_PACK_FULL = 2048, /* words of FP8 scales have four; E2M1's are
                               filled up with 127 */
    QUANT_END_224 = 4096    /* E4M3FNUZ ends one code below its largest */
};
#define QUANT_FORMULA (-1)
#define QUANT_QUIET 0x7fc00000u

GPU_FN gpu_u128 gpu_zero(void)
{
    const gpu_u128 zero = {{0, 0, 0, 0}};

    return zero;
}

GPU_FN gpu_u128 quant_load(const quant_args *a, int from, uint64_t i)
{
    return from == QUANT_F32 ? gpu_load_u32x4(a->x, i)
                             : gpu_load_u16x8(a->x, i);
}

GPU_FN int quant_is_nan(uint32_t bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

/* Binary32 pattern of an element; a NaN keeps its sign and payload. */
GPU_FN uint32_t quant_widen(int from, uint32_t code)
{
    if (from == QUANT_F32) {
        return code;
    }
    if (from == QUANT_BF16) {
        return code << 16;
    }
    const uint32_t sign = (code & 0x8000u) << 16;
    const uint32_t m = code & 0x7fffu;

    if (m >= 0x7c00u) {
        return sign | 0x7f800000u | (m & 0x3ffu) << 13;
    }
    return sign | gpu_bits(gpu_float(m << 13) * 0x1p112f);
}

GPU_FN uint32_t quant_pattern(int from, gpu_u128 x, int j)
{
    return from == QUANT_F32
               ? x.w[j]
               : quant_widen(from, x.w[j >> 1] >> 16 * (j & 1) & 0xffffu);
}

/* A block's maximum under the rule for NaN, from 1 + the largest magnitude
   that is a number, 0 if none is. */
GPU_FN uint32_t quant_amax_of(const quant_args *a, uint32_t numbers,
                              uint32_t any_nan)
{
    if (any_nan && a->rule.amax_nan == QUANT_AMAX_POISON) {
        return QUANT_QUIET;
    }
    if (numbers == 0) {
        return a->rule.amax_nan == QUANT_AMAX_SKIP ? QUANT_QUIET : 0;
    }
    return numbers - 1;
}

/* The block's maximum under the rule for NaN; every lane takes part. */
GPU_FN uint32_t quant_rare_amax(const quant_args *a, int from, gpu_u128 x)
{
    uint32_t numbers = 0; /* 1 + the largest magnitude that is a number */
    uint32_t any_nan = 0;

    GPU_UNROLL
    for (int j = 0; j < QUANT_PER_LANE(from); j++) {
        const uint32_t m = quant_pattern(from, x, j) & 0x7fffffffu;
        any_nan |= (uint32_t)quant_is_nan(m);
        numbers = quant_is_nan(m) ? numbers : gpu_max(numbers, m + 1);
    }
    GPU_UNROLL
    for (int s = 1; s < QUANT_LANES(from); s *= 2) {
        numbers = gpu_max(numbers, gpu_shfl_xor(numbers, s));
        any_nan |= gpu_shfl_xor(any_nan, s);
    }
    return quant_amax_of(a, numbers, any_nan);
}

GPU_FN uint32_t quant_flush(const quant_args *a, uint32_t bits)
{
    return (a->rule.flags & QUANT_FTZ) != 0 && (bits & 0x7f800000u) == 0
               ? bits & 0x80000000u
               : bits;
}

/* t, the number whose exponent becomes the byte. */
GPU_FN uint32_t quant_ratio(const quant_args *a, uint32_t amax)
{
    const float max = a->f.max_value;

    if (quant_is_nan(amax)) {
        return QUANT_QUIET;
    }
    switch (a->rule.from) {
    case QUANT_FROM_QUOTIENT:
        return gpu_bits(gpu_float(amax) / max);
    case QUANT_FROM_PRODUCT:
        amax = quant_flush(a, amax);
        return quant_flush(a, gpu_bits(gpu_float(amax) * (1.0f / max)));
    case QUANT_FROM_SHIFTED:
        return gpu_bits(gpu_float(amax) * gpu_float((127 - a->f.emax) << 23));
    default:
        return quant_flush(a, amax);
    }
}

/* 127 + ceil(log2(amax / max)) without rounding; amax > 0 is a number. */
GPU_FN int quant_exact_ceil(const quant_args *a, uint32_t amax)
{
    /* Times 2^32 a subnormal is normal, and nothing else is of interest. */
    const int small = amax < 0x20000000u;
    const uint32_t t = small ? gpu_bits(gpu_float(amax) * 0x1p32f) : amax;
    const uint32_t max_bits = gpu_bits(a->f.max_value);
    const int field = (int)(t >> 23) - (small ? 32 : 0);
    const int above = (t & 0x7fffffu) > (max_bits & 0x7fffffu);
    const int e = field - (int)(max_bits >> 23) + 127 + above;

    return amax == 0 || e < 0 ? 0 : e;
}

GPU_FN int quant_exponent(const quant_args *a, uint32_t t)
{
    const uint32_t field = t >> 23;
    const uint32_t mantissa = t & 0x7fffffu;

    switch (a->rule.exponent) {
    case QUANT_EXP_BITS:
        return (int)(field + (mantissa != 0));
    case QUANT_EXP_CEIL:
        return (int)(field + (mantissa > (field == 0 ? 0x400000u : 0u)));
    case QUANT_EXP_15:
        return (int)((t + (1u << 22)) >> 23);
    case QUANT_EXP_EVEN:
        return (int)((t + (1u << (22 - a->f.mbits))) >> 23);
    default:
        return (int)field;
    }
}

GPU_FN uint32_t quant_clamp(const quant_args *a, int byte)
{
    byte = byte < (int)a->rule.low ? (int)a->rule.low : byte;
    return (uint32_t)(byte > (int)a->rule.high ? (int)a->rule.high : byte);
}

GPU_FN uint32_t quant_rare_byte(const quant_args *a, uint32_t amax)
{
    const int offset = (a->rule.flags & QUANT_OFFSET) != 0 ? (int)a->f.emax : 0;
    const uint32_t t = gpu_max(
        quant_ratio(a, gpu_max(amax, a->rule.amax_floor)), a->rule.ratio_floor);
    int given;

    if (t > 0x7f800000u) {
        given = a->rule.nan;
    } else if (t == 0x7f800000u) {
        given = a->rule.inf;
    } else {
        const int e = a->rule.from == QUANT_FROM_EXACT
                          ? quant_exact_ceil(a, amax)
                          : quant_exponent(a, t);
        if (e != 255 || a->rule.exponent != QUANT_EXP_EVEN) {
            return quant_clamp(a, e - offset);
        }
        given = a->rule.carry;
    }
    return given == QUANT_FORMULA ? quant_clamp(a, 255 - offset)
                                  : (uint32_t)given;
}

/* Sign rules and FNUZ, on a magnitude code; nonzero: the quotient is not 0. */
GPU_FN uint32_t quant_signed(const quant_args *a, uint32_t code,
                             uint32_t negative, int nonzero)
{
    const uint32_t sign = negative << a->f.width;

    if (a->f.fnuz && code > a->f.max) {
        return 1u << a->f.width; /* NaN */
    }
    if (code == 0 && (a->f.fnuz || a->rule.zero == QUANT_ZERO_DROP ||
                      (a->rule.zero == QUANT_ZERO_NONZERO && !nonzero))) {
        return 0;
    }
    return code | sign;
}

/* A NaN that the rule leaves to the format. */
GPU_FN int quant_nan_is_own(const quant_args *a)
{
    return a->rule.code_nan == QUANT_NAN_FORMAT ||
           a->rule.code_nan == QUANT_NAN_TORCH ||
           a->rule.code_nan == QUANT_NAN_PLUS ||
           a->rule.code_nan == QUANT_NAN_ONES;
}

/* Two's complement, without a NaN. */
GPU_FN int quant_is_int8(const quant_format *f)
{
    return f->mbits == 6;
}

/* Code of a NaN quotient with this pattern. */
GPU_FN uint32_t quant_nan(const quant_args *a, uint32_t nan)
{
    const uint32_t sign = (nan >> 31) << a->f.width;
    const uint32_t drop = 23 - a->f.mbits;

    switch (quant_is_int8(&a->f) && quant_nan_is_own(a) ? QUANT_NAN_ZERO
                                                        : a->rule.code_nan) {
    case QUANT_NAN_ZERO:
        return 0;
    case QUANT_NAN_MAX:
        return a->f.max;
    case QUANT_NAN_SIGNED_MAX:
        return a->f.max | sign;
    case QUANT_NAN_MINUS:
        return a->f.max | 1u << a->f.width;
    case QUANT_NAN_ONES:
        return (1u << a->f.width) - 1;
    case QUANT_NAN_PLUS:
        return a->f.nan == 0 ? a->f.max : a->f.nan;
    case QUANT_NAN_TORCH:
        nan = (nan & 0x7fffffffu) | 0x400000u;
        return ((nan - ((126 - a->f.emin) << 23) + (1u << (drop - 1)) - 1 +
                 (nan >> drop & 1)) >>
                    drop &
                255) |
               sign;
    default:
        return a->f.nan == 0 ? a->f.max
               : a->f.fnuz   ? a->f.nan
                             : a->f.nan | sign;
    }
}

/* Does m * 2^e round to zero in binary32? */
GPU_FN int quant_vanishes(uint32_t m, int e)
{
    const int lg = e + gpu_lg(m);

    return lg < -150 || (lg == -150 && (m & (m - 1)) == 0);
}

/* Is a number that is rest of 2 * half above a code rounded up? */
GPU_FN uint32_t quant_goes_up(uint32_t tie, uint32_t rest, uint32_t half,
                              uint32_t is_odd)
{
    if (tie == QUANT_RZ || rest < half) {
        return 0;
    }
    return rest > half || tie == QUANT_RNA || (tie != QUANT_RNZ && is_odd != 0);
}

/* The nonzero number x * 2^(127 - byte), rounded by the tie rule. */
GPU_FN uint32_t quant_number(const quant_args *a, uint32_t x, uint32_t byte)
{
    const uint32_t field = x >> 23 & 255;
    const uint32_t m = (x & 0x7fffffu) | (field == 0 ? 0 : 0x800000u);
    const int e = (int)(field == 0 ? 1 : field) - 150 + 127 - (int)byte;
    const int emin = -(int)a->f.emin;
    const int lg = e + gpu_lg(m);
    const int unit = (lg < emin ? emin : lg) - (int)a->f.mbits;
    const int drop = unit - e;
    uint32_t n = 0;

    if (drop <= 0) {
        n = m << -drop;
    } else if (drop <= 25) { /* beyond, m is less than half a unit */
        const uint32_t half = 1u << (drop - 1);
        const uint32_t rest = m & (2 * half - 1);
        n = m >> drop;
        n += quant_goes_up(a->rule.tie, rest, half, n & 1);
    }
    const uint32_t code =
        ((uint32_t)(unit + (int)a->f.mbits - emin) << a->f.mbits) + n;
    return quant_signed(a, code < a->limit ? code : a->limit, x >> 31,
                        !quant_vanishes(m, e));
}

GPU_FN uint32_t quant_rare_code(const quant_args *a, uint32_t x, uint32_t amax,
                                uint32_t byte)
{
    const uint32_t flags = a->rule.flags;
    const int null = (byte == 0 && (flags & QUANT_NULL_0) != 0) ||
                     (byte == 254 && (flags & QUANT_NULL_254) != 0) ||
                     (byte == 255 && (flags & QUANT_NULL_255) != 0);
    const int spreads = quant_is_nan(amax) && (flags & QUANT_NAN_SPREADS) != 0;

    x = quant_flush(a, x);
    if (quant_is_nan(x)) {
        return quant_nan(a, x);
    }
    if (spreads || (byte == 255 && !null && (flags & QUANT_LIVE_255) == 0)) {
        return quant_nan(a, QUANT_QUIET);
    }
    if (null) {
        if ((x & 0x7fffffffu) == 0x7f800000u) {
            const uint32_t sign = flags & QUANT_NEGATIVE ? 0x80000000u : 0;
            return quant_nan(a, QUANT_QUIET | sign);
        }
        return quant_signed(a, 0, x >> 31, 0);
    }
    if (byte == 254 && (flags & QUANT_TURNED_254) != 0) {
        return (x & 0x7fffffffu) == 0
                   ? quant_nan(a, QUANT_QUIET)
                   : quant_signed(a, a->f.max, x >> 31 ^ 1, 1);
    }
    if ((x & 0x7fffffffu) == 0x7f800000u) {
        return quant_signed(a, a->rule.sat ? a->f.max : a->f.inf, x >> 31, 1);
    }
    return (x & 0x7fffffffu) == 0 ? quant_signed(a, 0, x >> 31, 0)
                                  : quant_number(a, x, byte);
}

/* Codes of vector i, element by element. */
GPU_FN quant_codes quant_rare_vector(const quant_args *a, int from, int packed,
                                     uint64_t i, uint32_t amax, uint32_t byte)
{
    const int per_lane = QUANT_PER_LANE(from);
    const uint32_t bits = packed ? 4 : 8;
    uint64_t all = 0;
    quant_codes c;

    GPU_LOOP
    for (int j = 0; j < per_lane; j++) {
        const uint64_t at = i * (uint64_t)per_lane + (uint64_t)j;
        const uint32_t x = from == QUANT_F32
                               ? gpu_load_u32(a->x, at)
                               : quant_widen(from, gpu_load_u16(a->x, at));
        const uint32_t code = quant_rare_code(a, x, amax, byte);
        all |= (uint64_t)(code & ((1u << bits) - 1)) << (bits * (uint32_t)j);
    }
    c.w[0] = (uint32_t)all;
    c.w[1] = (uint32_t)(all >> 32);
    return c;
}

#endif
