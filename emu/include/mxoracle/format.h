/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Number formats: what a code means, and which code a real number gets.
 *
 * Everything here is integer arithmetic on exact dyadic numbers; no floating
 * point instruction takes part, so the result cannot depend on compiler,
 * optimisation, rounding mode, flush-to-zero or x87 precision.
 */
#ifndef MXORACLE_FORMAT_H
#define MXORACLE_FORMAT_H

#include <mxoracle/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Every format a code can be in.  The order is that of formats.def. */
typedef enum mxo_format {
    MXO_FMT_E2M1,
    MXO_FMT_E2M3,
    MXO_FMT_E3M2,
    MXO_FMT_E4M3FN,
    MXO_FMT_E4M3FNUZ,
    MXO_FMT_E5M2,
    MXO_FMT_E5M2FNUZ,
    MXO_FMT_BF16,
    MXO_FMT_F16,
    MXO_FMT_F32,
    MXO_FMT_F64,
    MXO_FMT_INT8, /* MXINT8: two's complement, value = code / 64 */
    MXO_N_FORMATS
} mxo_format;

/** Which magnitude codes are special. */
typedef enum mxo_special {
    MXO_SPECIAL_NONE, /* E2M1, E2M3, E3M2: every code is finite */
    MXO_SPECIAL_FN,   /* E4M3: all ones is NaN, no infinity */
    MXO_SPECIAL_FNUZ, /* 80 is the only NaN, no infinity, no -0 */
    MXO_SPECIAL_IEEE  /* exponent all ones: infinity, NaN */
} mxo_special;

/** Geometry of a sign-magnitude float format. */
typedef struct mxo_format_spec {
    const char *name; /* "e4m3fn" */
    uint8_t ebits;
    uint8_t mbits;
    int16_t bias;
    uint8_t special;  /* mxo_special */
    uint64_t max;     /* largest finite magnitude code */
    int16_t emax;     /* floor(log2(largest finite value)) */
} mxo_format_spec;

/** What kind of number a mxo_real is. */
typedef enum mxo_class {
    MXO_CLASS_ZERO,
    MXO_CLASS_FINITE,
    MXO_CLASS_INF,
    MXO_CLASS_NAN
} mxo_class;

/**
 * A real number: (-1)^neg * (mant + s) * 2^exp with s = 0, or 0 < s < 1
 * unknown if sticky is set.  mant is nonzero exactly if cls is FINITE.
 * sticky never crosses a rounding boundary as long as mant keeps at least two
 * bits more than the target format.
 */
typedef struct mxo_real {
    uint64_t mant;
    int32_t exp;
    uint8_t cls; /* mxo_class */
    uint8_t neg;
    uint8_t sticky;
} mxo_real;

/** Rounding rules; see numerics 2.1.  RNZ: nearest, ties toward zero. */
typedef enum mxo_tie {
    MXO_TIE_RNE,
    MXO_TIE_RZ,
    MXO_TIE_RNA,
    MXO_TIE_RNZ,
    MXO_TIE_SR
} mxo_tie;

/** How to round: rule, for SR the number of random bits and the bits. */
typedef struct mxo_rounding {
    uint8_t tie; /* mxo_tie */
    uint8_t sat; /* overflow and infinity become the largest finite code */
    uint8_t bits;
    uint32_t rand;
} mxo_rounding;

/**
 * @brief Geometry of a float format (not INT8, which has none: NULL).
 *
 * Threads  pure.
 * Source   OCP MX v1.0, OFP8 v1.0, IEEE 754; docs/formats.md
 */
const mxo_format_spec *mxo_format_info(mxo_format format);

/**
 * @brief Format of a name such as "e4m3fn"; MXO_N_FORMATS if unknown.
 */
mxo_format mxo_format_by_name(const char *name);

/**
 * @brief The exact value of a code.
 *
 * Units    code is the bit pattern; bits above the format's width must be 0.
 * NaN      class NAN, neg = the sign bit; the payload is lost.
 * Errors   none: every code of every format means something.
 */
mxo_real mxo_format_decode(mxo_format format, uint64_t code);

/**
 * @brief The code of a real number, rounded once.
 *
 * Rounds   by r, on the exact value; overflow is decided after rounding.
 *          RZ never overflows from a finite value.
 * NaN      E4M3 7f, E5M2 7e, IEEE formats quiet with zero payload, each with
 *          the sign; FNUZ 80; formats without NaN +largest (numerics 2.3).
 *          Infinity: largest finite if r.sat, else infinity, else NaN.
 * Zero     keeps its sign, except FNUZ; INT8 has one zero.
 * INT8     RNE of 64*x by r.tie, clamped to -127..127; NaN gives 0.
 */
uint64_t mxo_format_encode(mxo_format format, mxo_real x, mxo_rounding r);

/**
 * @brief floor(log2 |x|) of a FINITE x (sticky does not change it).
 */
int mxo_real_lg(mxo_real x);

/** @brief x * 2^shift, exact. */
mxo_real mxo_real_scale(mxo_real x, int shift);

/** @brief -1, 0, 1: order of |a| and |b|, neither NaN, no sticky. */
int mxo_real_cmp_abs(mxo_real a, mxo_real b);

/**
 * @brief Binary32 arithmetic on bit patterns, each result rounded once to
 *        nearest even, subnormals kept.
 *
 * NaN      any NaN, Inf-Inf, 0*Inf, 0/0, Inf/Inf give 7fc00000.
 * Rounds   fma rounds once; add, mul, div as IEEE 754.
 */
uint32_t mxo_f32_add(uint32_t a, uint32_t b);
uint32_t mxo_f32_sub(uint32_t a, uint32_t b);
uint32_t mxo_f32_mul(uint32_t a, uint32_t b);
uint32_t mxo_f32_div(uint32_t a, uint32_t b);
uint32_t mxo_f32_fma(uint32_t a, uint32_t b, uint32_t c);

/** @brief Subnormal patterns become zero of the same sign (.ftz). */
uint32_t mxo_f32_ftz(uint32_t a);

/** @brief -1, 0, 1 for a<b, a==b, a>b as numbers; 2 if either is NaN. */
int mxo_f32_cmp(uint32_t a, uint32_t b);

/** @brief Binary32 pattern of a binary64 number, rounded to nearest even. */
uint32_t mxo_f32_from_f64(double x);

#ifdef __cplusplus
}
#endif
#endif
