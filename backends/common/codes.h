/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes of small and wide formats, element by element, in integers: what the
 * operations format.* do.  C that CUDA C++ and HIP C++ also accept: the CPU
 * backend and the GPU's kernels run these same lines.  Who calls it, and with
 * which numbers: codes_call.h.
 */
#ifndef BACKENDS_CODES_H
#define BACKENDS_CODES_H

#include <stdint.h>
#include <string.h>

/* CODES_CALLED: a function that so many others use that none has a copy. */
#if !defined(CODES_FN)
#define CODES_FN static inline
#define CODES_CALLED static inline
#endif

enum { CODES_NONE, CODES_FINITE_NAN, CODES_FNUZ, CODES_IEEE, CODES_INT8 };
enum { CODES_RNE, CODES_RZ, CODES_RNA, CODES_RNZ, CODES_SR };

/* Constants by which a format is read and written. */
typedef struct codes_format {
    int32_t mbits, bias;
    uint32_t width;   /* bits below the sign */
    uint32_t special; /* codes that are not finite */
    uint64_t max;     /* the largest number's */
} codes_format;

enum { CODES_ZERO, CODES_FINITE, CODES_INFINITE, CODES_NAN };

/* The number (-1)^neg sig 2^exp, if it is one. */
typedef struct codes_real {
    uint64_t sig;
    int32_t exp;
    uint32_t cls, neg;
} codes_real;

typedef enum codes_op {
    CODES_CLASSIFY,
    CODES_CONVERT,
    CODES_DECODE,
    CODES_E8M0_DECODE,
    CODES_E8M0_ENCODE,
    CODES_ENCODE,
    CODES_UE4M3_DECODE,
    CODES_UE4M3_ENCODE
} codes_op;

/* The words of dialect.def and e8m0.def. */
enum {
    CODES_NAN_ABSENT,
    CODES_NAN_OWN,
    CODES_NAN_ONES,
    CODES_NAN_SIGNONES,
    CODES_NAN_MAX,
    CODES_NAN_SIGNMAX,
    CODES_NAN_NUZMAX,
    CODES_NAN_FLIP,
    CODES_NAN_ZERO,
    CODES_NAN_BITS
};
enum {
    CODES_E2M1ONLY = 1,
    CODES_NONEGZERO = 2,
    CODES_ZEROPLUS = 4,
    CODES_NOSAT = 8,
    CODES_FNNAN = 16,
    CODES_EARLY = 32,
    CODES_INFZERO = 64,
    CODES_CUT = 128,
    CODES_SEED = 256,
    CODES_LOG2 = 512
};
enum { CODES_LOW_POWER, CODES_LOW_ZERO };
enum { CODES_HIGH_NAN, CODES_HIGH_SNAN, CODES_HIGH_INF, CODES_HIGH_POWER };
enum { CODES_PLAIN, CODES_HALF, CODES_CAP15, CODES_INVERSE, CODES_SIGNED };
enum {
    CODES_DOWN,
    CODES_UP,
    CODES_CUTLASS,
    CODES_TORCH,
    CODES_ML_DTYPES,
    CODES_DEEPGEMM,
    CODES_OPENVINO
};

typedef struct codes_job {
    const void *in;
    const void *rand; /* binary words of tie=sr */
    void *out;
    uint64_t n;                   /* units of out */
    uint32_t in_bytes, out_bytes; /* of an element; 0: two in a byte */
    codes_format from, to;
    uint32_t op;
    uint32_t tie, sat, bits; /* bits: of the random word */
    uint32_t nan, flags;     /* of a dialect */
    uint32_t ones, positive; /* nan=ones, zero=positive */
    uint32_t low, high, form, rule;
} codes_job;

CODES_FN uint64_t codes_load(const void *p, uint32_t bytes, uint64_t i)
{
    const uint8_t *const at = (const uint8_t *)p;
    uint64_t wide;
    uint32_t word;
    uint16_t half;

    switch (bytes) {
    case 0:
        return at[i / 2] >> (i % 2 * 4) & 15u;
    case 1:
        return at[i];
    case 2:
        memcpy(&half, at + 2 * i, 2);
        return half;
    case 4:
        memcpy(&word, at + 4 * i, 4);
        return word;
    default:
        memcpy(&wide, at + 8 * i, 8);
        return wide;
    }
}

CODES_FN void codes_store(void *p, uint32_t bytes, uint64_t i, uint64_t code)
{
    uint8_t *const at = (uint8_t *)p + bytes * i;
    const uint32_t word = (uint32_t)code;
    const uint16_t half = (uint16_t)code;

    if (bytes == 1) {
        *at = (uint8_t)code;
    } else if (bytes == 2) {
        memcpy(at, &half, 2);
    } else if (bytes == 4) {
        memcpy(at, &word, 4);
    } else {
        memcpy(at, &code, 8);
    }
}

/* floor(log2 n), n > 0. */
CODES_FN int32_t codes_lg(uint64_t n)
{
    int32_t lg = 0;

    for (int step = 32; step > 0; step /= 2) {
        if (n >> step != 0) {
            n >>= step;
            lg += step;
        }
    }
    return lg;
}

CODES_FN codes_real codes_number(uint64_t sig, int32_t exp, uint32_t neg)
{
    const codes_real x = {
        sig, exp, sig == 0 ? (uint32_t)CODES_ZERO : (uint32_t)CODES_FINITE,
        neg};

    return x;
}

CODES_FN codes_real codes_special(uint32_t cls, uint32_t neg)
{
    const codes_real x = {0, 0, cls, neg};

    return x;
}

CODES_CALLED codes_real codes_read(const codes_format *f, uint64_t code)
{
    const uint64_t one = 1;
    const uint32_t neg = (uint32_t)(code >> f->width & 1);
    const uint64_t magnitude = code & ((one << f->width) - 1);
    const uint64_t part = magnitude & ((one << f->mbits) - 1);
    const uint64_t field = magnitude >> f->mbits;

    if (f->special == CODES_INT8) {
        return codes_number(neg != 0 ? 128 - magnitude : magnitude, -6, neg);
    }
    if (f->special == CODES_FNUZ && neg != 0 && magnitude == 0) {
        return codes_special(CODES_NAN, 1);
    }
    if (magnitude > f->max) {
        return codes_special(f->special == CODES_IEEE && part == 0
                                 ? (uint32_t)CODES_INFINITE
                                 : (uint32_t)CODES_NAN,
                             neg);
    }
    return codes_number(field == 0 ? part : part | one << f->mbits,
                        (field == 0 ? 1 : (int32_t)field) - f->bias - f->mbits,
                        neg);
}

/* Whether the lower `shift` bits of sig, with n above them, round up. */
CODES_FN int codes_goes_up(uint64_t sig, int32_t shift, uint64_t n,
                           uint32_t tie, uint32_t bits, uint32_t rand)
{
    const uint64_t one = 1;

    if (tie == CODES_SR) {
        /* r 2^N and the random word are carried to 2^N */
        const int32_t drop = shift - (int32_t)bits;
        const uint64_t low = shift > 63 ? sig : sig & ((one << shift) - 1);
        const uint64_t r = drop > 63   ? 0
                           : drop >= 0 ? low >> drop
                                       : low << -drop;
        return r + rand >= one << bits;
    }
    if (shift > 63 || tie == CODES_RZ) { /* sig has 53 bits: below a half */
        return 0;
    }
    const uint64_t half = one << (shift - 1);
    const uint64_t low = sig & (2 * half - 1);

    return low > half || (low == half && (tie == CODES_RNA ||
                                          (tie == CODES_RNE && (n & 1) != 0)));
}

/* |x| in units of 2^unit. */
CODES_FN uint64_t codes_quanta(codes_real x, int32_t unit, uint32_t tie,
                               uint32_t bits, uint32_t rand)
{
    const int32_t shift = unit - x.exp;

    if (shift <= 0) {
        return x.sig << -shift;
    }
    const uint64_t n = shift > 63 ? 0 : x.sig >> shift;

    return n + (uint64_t)codes_goes_up(x.sig, shift, n, tie, bits, rand);
}

CODES_FN uint64_t codes_signed(const codes_format *f, uint32_t neg,
                               uint64_t magnitude)
{
    return f->special == CODES_FNUZ && magnitude == 0
               ? 0
               : (uint64_t)neg << f->width | magnitude;
}

CODES_FN uint64_t codes_nan(const codes_format *f, uint32_t neg)
{
    const uint64_t one = 1;

    switch (f->special) {
    case CODES_NONE:
        return f->max;
    case CODES_FNUZ:
        return one << f->width;
    case CODES_FINITE_NAN:
        return codes_signed(f, neg, f->max + 1);
    default:
        return codes_signed(f, neg, (f->max + 1) | one << (f->mbits - 1));
    }
}

/* Code of a number beyond the largest. */
CODES_FN uint64_t codes_beyond(const codes_format *f, uint32_t neg,
                               uint32_t sat)
{
    return sat != 0 || f->special == CODES_NONE ? codes_signed(f, neg, f->max)
           : f->special == CODES_IEEE ? codes_signed(f, neg, f->max + 1)
                                      : codes_nan(f, neg);
}

CODES_FN uint64_t codes_int8(codes_real x, uint32_t tie, uint32_t bits,
                             uint32_t rand)
{
    const int large = x.cls == CODES_INFINITE ||
                      (x.cls == CODES_FINITE && codes_lg(x.sig) + x.exp > 0);
    uint64_t n = large                   ? 127
                 : x.cls == CODES_FINITE ? codes_quanta(x, -6, tie, bits, rand)
                                         : 0;

    n = n > 127 ? 127 : n;
    return x.neg != 0 ? (256 - n) & 255 : n;
}

CODES_CALLED uint64_t codes_write(const codes_format *f, codes_real x,
                                  uint32_t tie, uint32_t sat, uint32_t bits,
                                  uint32_t rand)
{
    const int32_t least = 1 - f->bias;

    if (f->special == CODES_INT8) {
        return codes_int8(x, tie, bits, rand);
    }
    if (x.cls == CODES_NAN) {
        return codes_nan(f, x.neg);
    }
    if (x.cls != CODES_FINITE) {
        return x.cls == CODES_ZERO ? codes_signed(f, x.neg, 0)
                                   : codes_beyond(f, x.neg, sat);
    }
    const int32_t lg = codes_lg(x.sig) + x.exp;
    const int32_t e = lg < least ? least : lg;
    const uint64_t above = (uint64_t)(uint32_t)(e - least);
    const uint64_t code =
        above > f->max >> f->mbits
            ? UINT64_MAX
            : (above << f->mbits) +
                  codes_quanta(x, e - f->mbits, tie, bits, rand);

    return code <= f->max    ? codes_signed(f, x.neg, code)
           : tie == CODES_RZ ? codes_signed(f, x.neg, f->max)
                             : codes_beyond(f, x.neg, sat);
}

/* A number, rounded once into a wide format, or the NaN that is asked for. */
CODES_FN uint64_t codes_wide(const codes_job *a, codes_real x, uint32_t tie)
{
    const uint64_t one = 1;

    if (x.cls == CODES_NAN) {
        return a->ones != 0 ? (one << a->to.width) - 1 : codes_nan(&a->to, 0);
    }
    return codes_write(&a->to, x, tie, 0, 0, 0);
}

CODES_FN uint64_t codes_decode(const codes_job *a, uint64_t code)
{
    codes_real x = codes_read(&a->from, code);

    if (x.cls == CODES_ZERO && a->positive != 0) {
        x.neg = 0;
    }
    return codes_wide(a, x, CODES_RNE);
}

CODES_FN uint64_t codes_classify(const codes_job *a, uint64_t code)
{
    const codes_real x = codes_read(&a->from, code);

    if (x.cls != CODES_FINITE) {
        return x.cls == CODES_ZERO ? 0 : x.cls == CODES_INFINITE ? 3 : 4;
    }
    return a->from.special == CODES_INT8 ||
                   codes_lg(x.sig) + x.exp >= 1 - a->from.bias
               ? 2
               : 1;
}

/* A scale byte that is neither end. */
CODES_FN codes_real codes_power(const codes_job *a, int32_t s)
{
    int32_t e = a->form == CODES_INVERSE ? 127 - s : s - 127;

    if (a->form == CODES_SIGNED) {
        e = s < 128 ? s : s - 256;
    } else if (a->form == CODES_HALF) {
        e = s - 128;
    }
    return codes_number(
        1, a->form == CODES_CAP15 && a->to.bias == 15 && e > 15 ? 15 : e, 0);
}

CODES_FN uint64_t codes_e8m0_decode(const codes_job *a, uint32_t s)
{
    const uint32_t nan = a->form == CODES_SIGNED ? 128 : 255;
    const int caps = a->form == CODES_CAP15 && a->to.bias == 15;

    if (s == nan && a->high != CODES_HIGH_POWER && !caps) {
        return a->high == CODES_HIGH_SNAN
                   ? 0x7f800001u
                   : codes_wide(a,
                                codes_special(a->high == CODES_HIGH_INF
                                                  ? (uint32_t)CODES_INFINITE
                                                  : (uint32_t)CODES_NAN,
                                              0),
                                CODES_RNE);
    }
    return codes_wide(a,
                      s == 0 && a->low == CODES_LOW_ZERO
                          ? codes_number(0, 0, 0)
                          : codes_power(a, (int32_t)s),
                      CODES_RNE);
}

/* The byte at or above |x|; field 0 has no leading bit: 2^-127 is 400000. */
CODES_FN uint32_t codes_e8m0_up(uint32_t magnitude)
{
    return magnitude < 0x800000u
               ? magnitude > 0x400000u
               : (magnitude >> 23) + ((magnitude & 0x7fffffu) != 0);
}

CODES_FN uint32_t codes_e8m0_near(uint32_t magnitude)
{
    const uint32_t field = magnitude >> 23;
    const uint32_t up = field > 0 ? magnitude >> 22 & 1 : magnitude > 0x400000u;

    return field == 255 ? 255 : field + up;
}

CODES_FN uint32_t codes_e8m0_encode(const codes_job *a, uint32_t x)
{
    const uint32_t magnitude = x & 0x7fffffffu;
    const uint32_t infinity = 0x7f800000u;
    uint32_t s;

    switch (a->rule) {
    case CODES_TORCH:
        return codes_e8m0_near(magnitude);
    case CODES_OPENVINO: /* ties to an even byte; rounded as an integer */
        if (magnitude > infinity || x >> 31 != 0) {
            return x >> 31 != 0 ? 0 : 255;
        }
        s = magnitude < 0x800000u ? magnitude > 0x600000u
                                  : (x + 0x3fffffu + (x >> 23 & 1)) >> 23;
        return s > 254 ? 254 : s;
    case CODES_ML_DTYPES:
        return x - 1 < infinity - 1 ? codes_e8m0_near(magnitude) : 255;
    case CODES_DEEPGEMM:
        s = (magnitude >> 23) + ((magnitude & 0x7fffffu) != 0);
        return s < 1 ? 1 : s > 254 ? 254 : s;
    default:
        break;
    }
    if (magnitude >= infinity) {
        return magnitude == infinity && a->rule != CODES_CUTLASS && a->sat != 0
                   ? 254
                   : 255;
    }
    s = a->rule == CODES_DOWN ? magnitude >> 23 : codes_e8m0_up(magnitude);
    return s == 255 && (a->sat != 0 || a->rule == CODES_CUTLASS) ? 254 : s;
}

/* ggml's scale: half of its value; 00 and 7f are 0. */
CODES_FN uint64_t codes_ue4m3_decode(const codes_job *a, uint32_t byte)
{
    const uint32_t e = byte >> 3 & 15;
    const uint32_t m = byte & 7;

    return byte == 0x7f
               ? 0
               : codes_write(&a->to,
                             codes_number(e == 0 ? m : 8 + m,
                                          e == 0 ? -10 : (int32_t)e - 11, 0),
                             CODES_RNE, 0, 0, 0);
}

CODES_FN uint32_t codes_ue4m3_encode(uint32_t x)
{
    const uint32_t infinity = 0x7f800000u;
    float y;

    if (x - 1 >= infinity) { /* 0, NaN and all that is negative */
        return 0;
    }
    if (x < 121u << 23) { /* below 2^-6 */
        memcpy(&y, &x, 4);
        y = y * 512.0f;
        y = y + 0.5f;
        return y >= 7 ? 7 : (uint32_t)y;
    }
    const uint32_t code = ((x >> 19) + 1) / 2 - (120u << 3);

    return code >= 15u << 3 ? 0x7e : code;
}

#endif
