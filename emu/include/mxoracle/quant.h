/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block quantisers: from numbers to codes and scales.
 *
 * A quantiser is data.  One row of mxo_quant_rule says everything in which
 * implementations differ: what a NaN does to the block maximum, how the scale
 * is chosen from it, what the scale byte is at the edges, by which number the
 * elements are multiplied, and how the product becomes a code.  The arithmetic
 * is the same for every row; the rows, each with its source, are in
 * emu/quant/rules.c.
 *
 * Elements enter as binary32 patterns (BF16 and FP16 widen exactly), so that
 * NaN signs and payloads survive where a vendor's code shows them.
 */
#ifndef MXORACLE_QUANT_H
#define MXORACLE_QUANT_H

#include <mxoracle/dequant.h> /* MXO_MX_BLOCK */
#include <mxoracle/format.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Effect of a NaN element on the block maximum. */
typedef enum mxo_amax_nan {
    MXO_AMAX_POISON, /* the maximum is NaN (torch.amax) */
    MXO_AMAX_SKIP,   /* dropped; NaN only if every element is (hmax2, tl.max) */
    MXO_AMAX_ZERO    /* dropped; 0 if every element is (fmax from 0) */
} mxo_amax_nan;

/** The number t whose exponent becomes the scale byte. */
typedef enum mxo_ratio {
    MXO_RATIO_NONE, /* t = amax */
    MXO_RATIO_DIV,  /* t = RN32(amax / max) */
    MXO_RATIO_MUL,  /* t = RN32(amax * RN32(1 / max)) */
    MXO_RATIO_POW2, /* t = RN32(amax * 2^-emax) */
    MXO_RATIO_EXACT /* t = amax / max, not rounded */
} mxo_ratio;

/** From t to a biased exponent; subnormal t has the exponent field 0. */
typedef enum mxo_exponent {
    MXO_EXP_FLOOR, /* the exponent field */
    MXO_EXP_BITS,  /* field, + 1 if any mantissa bit is set */
    MXO_EXP_CEIL,  /* 127 + ceil(log2 t), at least 0 (PTX cvt.rp) */
    MXO_EXP_EVEN,  /* field after rounding t half up to mbits + 1 bits */
    MXO_EXP_HALF   /* field, + 1 from a significand of 1.5 on */
} mxo_exponent;

/** Code of a quotient that is NaN. */
typedef enum mxo_code_nan {
    MXO_NAN_FORMAT,     /* as mxo_format_encode: NaN with its sign, or +max */
    MXO_NAN_POSITIVE,   /* the format's NaN without a sign */
    MXO_NAN_MAX,        /* +largest: fmin(y, max) comes first */
    MXO_NAN_MIN,        /* -largest: fmax(y, -max) comes first */
    MXO_NAN_SIGNED_MAX, /* largest with the NaN's sign */
    MXO_NAN_PLUS_ONES,  /* all bits but the sign: the NaN 7f of FP8 */
    MXO_NAN_ZERO,       /* code 0 */
    MXO_NAN_TORCH_BITS  /* the payload after torch's bit arithmetic */
} mxo_code_nan;

/** Sign of a code whose magnitude is zero. */
typedef enum mxo_code_zero {
    MXO_ZERO_KEEP,    /* the sign of the quotient */
    MXO_ZERO_NONZERO, /* kept unless the binary32 quotient itself is zero */
    MXO_ZERO_DROP     /* never negative */
} mxo_code_zero;

/** How a quotient becomes a code. */
typedef struct mxo_quant_element {
    uint8_t tie;  /* mxo_tie */
    uint8_t sat;  /* 0: overflow and infinity become NaN or infinity */
    uint8_t nan;  /* mxo_code_nan */
    uint8_t zero; /* mxo_code_zero */
} mxo_quant_element;

/** Bits of mxo_quant_rule.flags. */
enum {
    MXO_Q_OFFSET = 1,           /* subtract the element's emax from the byte */
    MXO_Q_ZERO_AT_0 = 2,        /* byte 0 multiplies the elements by 0 */
    MXO_Q_ZERO_AT_254 = 4,      /* byte 254 likewise (2^-127 is flushed) */
    MXO_Q_ZERO_AT_255 = 8,      /* byte 255 likewise (1 / Inf), else by NaN */
    MXO_Q_NAN_AMAX = 16,        /* a NaN amax makes every quotient NaN */
    MXO_Q_FTZ = 32,             /* binary32 steps flush subnormals */
    MXO_Q_NEGATIVE_NAN = 64,    /* Inf * 0 is a NaN with the sign set (x86) */
    MXO_Q_SHORT_TAIL = 128,     /* the last block may be short */
    MXO_Q_RECIPROCAL = 256,     /* float scale: x * RN32(1/s), else RN32(x/s) */
    MXO_Q_ZERO_SCALE_1 = 512,   /* a float scale of 0 becomes 1 */
    MXO_Q_PACK_FULL = 1024,     /* packed scales: FP8 needs groups % 4 == 0 */
    MXO_Q_MINUS_INF_254 = 2048, /* byte 254 multiplies by -Inf */
    MXO_Q_NUMBER_255 = 4096     /* byte 255 multiplies by 2^-128, not NaN */
};

/** The byte is what the formula gives with exponent field 255. */
#define MXO_Q_FORMULA (-1)

/**
 * One quantiser.  Bytes: nan, inf and carry replace the formula when t is
 * NaN, when it is infinite, and when EVEN rounds a finite t to infinity.
 */
typedef struct mxo_quant_rule {
    const char *name;     /* "flashinfer" */
    uint32_t amax_floor;  /* binary32 pattern; amax is at least this */
    uint32_t ratio_floor; /* same for t, where t becomes a byte */
    uint8_t amax_nan;     /* mxo_amax_nan */
    uint8_t ratio;        /* mxo_ratio */
    uint8_t exponent;     /* mxo_exponent */
    uint8_t low, high;    /* clamp of the byte when t is finite */
    int16_t nan;          /* byte, or MXO_Q_FORMULA */
    int16_t inf;
    int16_t carry;
    uint16_t flags;        /* MXO_Q_* */
    uint8_t pack_pad;      /* byte of missing groups in a packed FP4 word */
    uint8_t fnuz_max;      /* largest E4M3FNUZ code used; 0: all of them */
    mxo_quant_element fp8; /* elements whose format has a NaN */
    mxo_quant_element fp4; /* elements whose format has none */
} mxo_quant_rule;

/** How a block turns an element into the quotient that is encoded. */
typedef enum mxo_quant_step {
    MXO_STEP_SHIFT,    /* x * 2^shift, exactly */
    MXO_STEP_MULTIPLY, /* RN32(x * factor) */
    MXO_STEP_DIVIDE    /* RN32(x / factor) */
} mxo_quant_step;

/** A block whose scale is known: what mxo_quant_code needs per element. */
typedef struct mxo_quant_block {
    mxo_format format;
    uint8_t step; /* mxo_quant_step */
    uint8_t ftz;
    uint8_t negative_nan;
    uint8_t fnuz_max;
    int16_t shift;
    uint32_t factor; /* binary32 */
    mxo_quant_element element;
} mxo_quant_block;

/**
 * @brief The row of a name; NULL if there is none.
 *
 * Map      names are those of the parameter rule in <mxoracle/ops.def>.
 * Threads  pure; the row is constant and lives forever.
 */
const mxo_quant_rule *mxo_quant_rule_by_name(const char *name);

/**
 * @brief Binary32 pattern of a BF16, F16, F32 or 8-bit code, exact.
 *
 * NaN      keeps sign and payload (8-bit formats: the quiet NaN).
 */
uint32_t mxo_quant_widen(mxo_format format, uint64_t code);

/**
 * @brief Block maximum of |x[0]| .. |x[n-1]|, continuing from amax.
 *
 * Map      call with mxo_quant_amax_start(rule) first, then with the result;
 *          the order of the elements does not matter.
 * NaN      by rule->amax_nan.  The sign bit of the result is 0.
 */
uint32_t mxo_quant_amax(const mxo_quant_rule *rule, uint32_t amax,
                        const uint32_t *x, size_t n);

/** @brief The amax of no elements (a NaN pattern if the rule skips NaN). */
uint32_t mxo_quant_amax_start(const mxo_quant_rule *rule);

/**
 * @brief Scale byte of a block maximum.
 *
 * Map      byte = clamp(exponent(t) - offset), t by rule->ratio.
 * Rounds   one or two binary32 steps, as the row says; EXACT none.
 * NaN      rule->nan, rule->inf, rule->carry.
 * Source   OCP MX v1.0 6.3; PTX ISA cvt; docs/ops/quant.scale.md
 */
uint8_t mxo_quant_scale_byte(const mxo_quant_rule *rule, mxo_format element,
                             uint32_t amax);

/**
 * @brief A block under a given scale byte (the byte chosen from amax).
 *
 * Map      quotient = x * 2^(127 - byte), exact; bytes 0, 254 and 255 by
 *          rule->flags.
 * Units    tie is an mxo_tie, or -1 for the row's own.
 * NaN      byte 255 makes every quotient NaN unless MXO_Q_ZERO_AT_255.
 */
mxo_quant_block mxo_quant_block_byte(const mxo_quant_rule *rule,
                                     mxo_format element, int tie, uint32_t amax,
                                     uint8_t byte);

/**
 * @brief A block under a float32 scale: *scale = RN32(amax / max) (or times
 *        the reciprocal), elements divided by it or multiplied by its
 *        rounded reciprocal, as the row says.
 */
mxo_quant_block mxo_quant_block_float(const mxo_quant_rule *rule,
                                      mxo_format element, uint32_t amax,
                                      uint32_t *scale);

/**
 * @brief A block under a scale that was given, for FP8.
 *
 * Map      quotient = RN32(x / scale), or RN32(x * RN32(1 / scale)).
 * Rounds   RNE, saturating.
 * NaN      kept (nan_is_max 0), or +largest (vLLM: fmin comes first).
 * Source   docs/ops/quant.static.md
 */
mxo_quant_block mxo_quant_block_static(mxo_format element, int reciprocal,
                                       int nan_is_max, uint32_t scale);

/**
 * @brief The code of one element of a block.
 *
 * Rounds   the quotient once, by the element's tie rule; overflow is decided
 *          after rounding (mxo_format_encode).
 * NaN      a NaN element keeps its own sign; a NaN made by a NaN scale is
 *          positive; Inf * 0 and 0 / 0 by MXO_Q_NEGATIVE_NAN.
 */
uint8_t mxo_quant_code(const mxo_quant_block *block, uint32_t x);

/**
 * @brief Quantise one MX block: amax, byte, codes.
 *
 * Shapes   codes, x: [n], one code per byte; n <= 32 unless the caller wants
 *          another block size.
 * Errors   none: every pattern means something.
 * Source   OCP MX v1.0 6.3; docs/ops/quant.mx.md
 */
uint8_t mxo_quant_mx(const mxo_quant_rule *rule, mxo_format element, int tie,
                     uint8_t *codes, const uint32_t *x, size_t n);

/** How an NVFP4 block is computed. */
typedef enum mxo_nvfp4_math {
    MXO_NVFP4_FAST,      /* FlashInfer's default: approximate reciprocals */
    MXO_NVFP4_IEEE,      /* FLASHINFER_DISABLE_FP4_QUANT_FAST_MATH=1 */
    MXO_NVFP4_EXACT,     /* real numbers, rounded once each */
    MXO_NVFP4_VLLM,      /* vLLM's own kernel: as FAST, but the stored scale is
                            tested, and only reciprocals flush */
    MXO_NVFP4_TRTLLM_GEN /* behind trtllm-gen's activation */
} mxo_nvfp4_math;

/** An NVFP4 quantiser (and FlashInfer's MXFP4 from E4M3). */
typedef struct mxo_nvfp4_rule {
    uint8_t math;       /* mxo_nvfp4_math */
    uint8_t rcp_hopper; /* rcp.approx.ftz of an H200; 0: correctly rounded */
    uint8_t inverted;   /* the global scale given is its reciprocal */
    uint8_t e8m0;       /* blocks of 32 under E8M0, else 16 under E4M3 */
    uint8_t from_e4m3;  /* the input was E4M3: the kernel's other branch */
} mxo_nvfp4_rule;

/**
 * @brief Quantise one NVFP4 block; returns the scale byte.
 *
 * Shapes   codes, x: [n], n <= 32.
 * Map      fast  s = g*(amax*R), o = rcp(dec(sf)*rcp(g)), R = RN32(1/6)
 *          ieee  s = amax*(g*R), o = min(1/(dec(sf)*(1/g)), FLT_MAX)
 *          exact s = g*amax/6,   o = g/dec(sf), reals
 *          vllm  as fast, o = 0 where dec(sf) is 0
 *          trtllm_gen  s = (amax*g)*R, code = E2M1((x*rcp(dec(sf)))*g)
 *          sf = E4M3(s), code = E2M1(x*o), o = 0 where amax is 0.
 * Rounds   every binary32 step RNE with subnormals flushed; exact: only
 *          the two encodings round.
 * NaN      dropped from amax unless all are NaN; a NaN product is +6.
 * Source   FlashInfer quantization_utils.cuh;
 *          docs/ops/quant.nvfp4.md
 */
uint8_t mxo_quant_nvfp4(const mxo_nvfp4_rule *rule, uint32_t global_scale,
                        uint8_t *codes, const uint32_t *x, size_t n);

/**
 * @brief Scale byte of amd-quark's HIP kernel, from the block maximum.
 *
 * Map      2^(k - 2) where amax rounds half up to 2^k at one mantissa bit;
 *          254 if it rounds to zero or infinity in the type wide.
 * Source   docs/ops/quant.qdq.md
 */
uint8_t mxo_quant_quark_hip_byte(mxo_format wide, uint32_t amax);

/**
 * @brief Code of amd-quark's HIP kernel: E2M1 of RN16(x / RN16(scale)).
 *
 * NaN      a NaN counts as 6 with its sign.
 */
uint8_t mxo_quant_quark_hip_code(mxo_format wide, uint8_t byte, uint32_t x);

/**
 * @brief value(code) * RN16(2^(byte-127)) rounded to the type wide.
 *
 * NaN      0 * Inf is NaN (fp16 scales of 2^16 and more are infinite).
 */
uint64_t mxo_quant_qdq_value(mxo_format wide, uint8_t code, uint8_t byte,
                             int zero_is_0);

/**
 * @brief E2M1 code divided by 2^offset and rounded again, ties away.
 *
 * Map      code 8 (-0) becomes 0; other negatives keep their sign, so a
 *          negative value that rounds to zero is code 8.
 * Source   Humming process_mxfp4.cuh; docs/ops/quant.requant.md
 */
uint8_t mxo_quant_requant(uint8_t code, uint8_t offset);

#ifdef __cplusplus
}
#endif
#endif
