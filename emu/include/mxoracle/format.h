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

/** Every format that a code can have. */
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

/** Magnitude codes that are not finite numbers. */
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
    uint8_t special; /* mxo_special */
    uint64_t max;    /* largest finite magnitude code */
    int16_t emax;    /* floor(log2(largest finite value)) */
} mxo_format_spec;

/** Class of a mxo_real. */
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
    MXO_TIE_SR,
    MXO_N_TIES
} mxo_tie;

/** @brief Rule of a name such as "rne"; MXO_N_TIES if unknown. */
mxo_tie mxo_tie_by_name(const char *name);

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

/** @brief Whether the binary32 pattern is a NaN. */
static inline int mxo_f32_is_nan(uint32_t x)
{
    return (x & 0x7fffffffu) > 0x7f800000u;
}

/** @brief Whether the binary32 pattern is neither infinite nor a NaN. */
static inline int mxo_f32_is_finite(uint32_t x)
{
    return (x & 0x7f800000u) != 0x7f800000u;
}
uint32_t mxo_f32_sub(uint32_t a, uint32_t b);
uint32_t mxo_f32_mul(uint32_t a, uint32_t b);
uint32_t mxo_f32_div(uint32_t a, uint32_t b);
uint32_t mxo_f32_fma(uint32_t a, uint32_t b, uint32_t c);

/**
 * @brief a + x rounded once to nearest even: an fma whose product is given.
 *
 * Needs    x has at most 63 bits and no sticky.
 * NaN      7fc00000.
 */
uint32_t mxo_f32_add_real(uint32_t a, mxo_real x);

/** @brief Subnormal patterns become zero of the same sign (.ftz). */
uint32_t mxo_f32_ftz(uint32_t a);

/** @brief -1, 0, 1 for a<b, a==b, a>b as numbers; 2 if either is NaN. */
int mxo_f32_cmp(uint32_t a, uint32_t b);

/** @brief Binary32 pattern of a binary64 number, rounded to nearest even. */
uint32_t mxo_f32_from_f64(double x);

/** @brief a * b without rounding; needs at most 64 product bits, no sticky. */
mxo_real mxo_real_mul(mxo_real a, mxo_real b);

/** Class of a code, numbered as by format.classify. */
typedef enum mxo_code_class {
    MXO_CODE_ZERO,
    MXO_CODE_SUBNORMAL,
    MXO_CODE_NORMAL,
    MXO_CODE_INF,
    MXO_CODE_NAN
} mxo_code_class;

/**
 * @brief Class of a code; INT8 has only ZERO and NORMAL.
 *
 * Units    bits above the format's width are ignored.
 * Source   numerics 1; docs/ops/format.classify.md
 */
mxo_code_class mxo_format_classify(mxo_format format, uint64_t code);

/** How a NaN is written into BF16, FP16, FP32 or FP64. */
typedef enum mxo_nan {
    MXO_NAN_QUIET, /* positive, only the top mantissa bit: 7fc00000 */
    MXO_NAN_ONES   /* all bits but the sign: 7fffffff (NVIDIA's) */
} mxo_nan;

/**
 * @brief A code of one format as the nearest code of a wide one.
 *
 * Needs    to is BF16, F16, F32 or F64; bits above from's width are ignored.
 * Rounds   once, by tie; overflow gives infinity except for RZ.
 * NaN      any NaN becomes the one pattern that nan names.
 * Source   numerics 1, 5.1; docs/ops/format.convert.md
 */
uint64_t mxo_format_convert(mxo_format to, mxo_format from, uint64_t code,
                            mxo_tie tie, mxo_nan nan);

/** @brief x rounded once, nearest even, to a wide format; NaN is QUIET. */
uint64_t mxo_format_round(mxo_format to, mxo_real x);

/**
 * How a scale byte is read.  The rows with their sources are in
 * <mxoracle/e8m0.def>, which also gives the names.
 */
typedef enum mxo_e8m0_rule {
#define MXO_E8M0(id, name, low, high, form, formats, source) MXO_E8M0_##id,
#include <mxoracle/e8m0.def>
#undef MXO_E8M0
    MXO_N_E8M0_RULES
} mxo_e8m0_rule;

/** @brief Rule of a name such as "ocp"; MXO_N_E8M0_RULES if unknown. */
mxo_e8m0_rule mxo_e8m0_rule_by_name(const char *name);

/** @brief 1 if the rule says what a byte is in format to. */
int mxo_e8m0_rule_has(mxo_e8m0_rule rule, mxo_format to);

/**
 * @brief Scale byte to a pattern of BF16, F16 or F32.
 *
 * Needs    mxo_e8m0_rule_has(rule, to).
 * Rounds   the power of two once to to, nearest even (only F16 rounds).
 * NaN      quiet and positive; rule AITER has the pattern 7f800001.
 * Source   numerics 3.1; docs/ops/format.e8m0_decode.md
 */
uint32_t mxo_e8m0_decode(mxo_e8m0_rule rule, mxo_format to, uint8_t code);

/** How a number becomes a scale byte (numerics 3.2). */
typedef enum mxo_e8m0_round {
    MXO_E8M0_RZ,        /* floor; PTX cvt.rz */
    MXO_E8M0_RP,        /* ceiling; PTX cvt.rp */
    MXO_E8M0_CUTLASS,   /* ceiling, saturates, infinity is 255 */
    MXO_E8M0_TORCH,     /* nearest, ties up; torch float8_e8m0fnu */
    MXO_E8M0_ML_DTYPES, /* nearest, ties up; zero and negatives are 255 */
    MXO_E8M0_DEEPGEMM,  /* ceiling within 1..254 */
    MXO_E8M0_TO_EVEN,   /* nearest, ties to an even byte, at most 254 */
    MXO_N_E8M0_ROUNDS
} mxo_e8m0_round;

/**
 * @brief Binary32 pattern to scale byte.
 *
 * Units    x is a binary32 pattern; its sign is ignored except by ML_DTYPES.
 * Map      RZ floor(log2 |x|) + 127, RP its ceiling, both at least 0
 * Rounds   sat (RZ and RP only): what would be 255 is 254 except a NaN.
 * NaN      255; DEEPGEMM 254.
 * Source   numerics 3.2, layouts-vllm 9, layouts-deepgemm 1.1;
 *          docs/ops/format.e8m0_encode.md
 */
uint8_t mxo_e8m0_encode(mxo_e8m0_round rule, uint32_t x, int sat);

/**
 * Whose encoder into a small format.  The rows with their sources are in
 * <mxoracle/dialect.def>, which also gives the names.
 */
typedef enum mxo_dialect {
#define MXO_DIALECT(id, name, none, fn, fnuz, ieee, ties, flags, source) \
    MXO_DIALECT_##id,
#include <mxoracle/dialect.def>
#undef MXO_DIALECT
    MXO_N_DIALECTS
} mxo_dialect;

/** @brief Dialect of a name such as "cuda"; MXO_N_DIALECTS if unknown. */
mxo_dialect mxo_dialect_by_name(const char *name);

/**
 * @brief NULL if the dialect encodes into the format under this rounding,
 *        else a few words on why not ("has no e5m2").
 */
const char *mxo_dialect_refuses(mxo_dialect dialect, mxo_format to,
                                mxo_format from, mxo_rounding r);

/**
 * @brief The code that an implementation gives to a number.
 *
 * Units    code is a pattern of from (F32, BF16, F16, F64).
 * Needs    mxo_dialect_refuses() is NULL.
 * Rounds   by r; for SR only the low r.bits bits of r.rand count, except HIP
 *          and HIP_HOST, which use its top 23 - mbits bits as their seed.
 * NaN      by dialect: numerics 2.3.
 * Source   numerics 2.2, 2.3; docs/ops/format.encode.md
 */
uint64_t mxo_dialect_encode(mxo_dialect dialect, mxo_format to, mxo_format from,
                            uint64_t code, mxo_rounding r);

/**
 * @brief The H200's rcp.approx.ftz.f32, bit for bit.
 *
 * Units    binary32 patterns.
 * Map      x = +-1.m * 2^e gives the correctly rounded reciprocal plus the
 *          measured -1, 0 or +1 unit in the last place of mantissa m.
 * Rounds   subnormal x counts as zero; a subnormal result is zero.
 * NaN      7fffffff.
 * Source   hopper-measured 4; docs/ops/math.rcp.md
 */
uint32_t mxo_rcp_hopper_ftz(uint32_t x);

/**
 * @brief The H200's rcp.approx.f32: as above with subnormals kept.
 *
 * Rounds   the 24-bit result once more if it is subnormal, nearest even.
 */
uint32_t mxo_rcp_hopper(uint32_t x);

/**
 * @brief log2(x), correctly rounded.
 *
 * Units    binary32 patterns.
 * NaN      7fc00000 for a NaN or x < 0; -Inf for zeros.
 * Source   docs/ops/math.lg2.md
 */
uint32_t mxo_lg2_rn(uint32_t x);

/** @brief 1/x, correctly rounded, subnormals kept; NaN is 7fc00000. */
uint32_t mxo_rcp_rn(uint32_t x);

#ifdef __cplusplus
}
#endif
#endif
