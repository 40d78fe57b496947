/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations: exponential, sigmoid, silu and gated units, and the ways in
 * which kernels deviate from the formula.
 *
 * "Correctly rounded" means: the real number that the formula gives for the
 * exact inputs, rounded once, to nearest even, subnormals kept.  There is
 * only one such answer, so it is the same on every platform and for every
 * implementation that keeps the promise.  No floating point instruction and
 * no libm takes part in finding it; docs/design/004-exponential.md says how.
 */
#ifndef MXORACLE_ACT_H
#define MXORACLE_ACT_H

#include <mxoracle/format.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Functions of one variable. */
typedef enum mxo_act_fn {
    MXO_ACT_EXP,     /* e^x */
    MXO_ACT_EXP2,    /* 2^x */
    MXO_ACT_TANH,    /* about a hundred times slower than the others */
    MXO_ACT_SIGMOID, /* 1 / (1 + e^-x) */
    MXO_ACT_SILU     /* x * sigmoid(x) */
} mxo_act_fn;

/**
 * @brief fn(x), correctly rounded to a format.
 *
 * Units    x has no sticky bit and at most 53 bits of mantissa: any value of
 *          binary64.  bits (may be NULL) receives the working precision that
 *          decided: 0 for an exact or special result, 64 for the fast tier,
 *          256 and more beside a rounding boundary.
 * Rounds   once, to nearest even; overflow gives infinity (to: bf16, f16,
 *          f32 or f64).
 * NaN      NaN gives the positive quiet NaN, as does silu(-Inf) = -Inf * 0.
 *          exp(-Inf) = +0, sigmoid(-Inf) = +0, sigmoid(+Inf) = 1,
 *          silu(+-0) = +-0, tanh(+-0) = +-0.
 * Threads  pure.
 * Source   numerics 6.1, 6.2.
 */
uint64_t mxo_act_eval(mxo_act_fn fn, mxo_real x, mxo_format to, uint32_t *bits);

/** Operands of G * sigmoid(alpha * G) * (V + beta), each without sticky. */
typedef struct mxo_act_gated {
    mxo_real gate; /* G, after any clamp */
    mxo_real up;   /* V, after any clamp */
    mxo_real alpha;
    mxo_real beta;
} mxo_act_gated;

/**
 * @brief G * sigmoid(alpha * G) * (V + beta), correctly rounded.
 *
 * Units    operands of at most 53 bits of mantissa; bits as in mxo_act_eval.
 * Rounds   once, to nearest even, to bf16, f16, f32 or f64.
 * NaN      any NaN operand, or an invalid operation of the extended reals
 *          (0 * Inf, Inf - Inf) on the way, gives the positive quiet NaN:
 *          G = -Inf with alpha > 0 is -Inf * 0.  V + beta = 0 counts as +0.
 *          A zero has the sign of the product.
 * Threads  pure.
 * Source   numerics 6.1, 6.2.
 */
uint64_t mxo_act_gated_eval(const mxo_act_gated *a, mxo_format to,
                            uint32_t *bits);

/**
 * @brief PyTorch's exp_u20 on AVX-512, bit for bit.
 *
 * Units    binary32 patterns.
 * Map      clamp to [-87.34, 88.72], n = floor(x log2 e + 1/2), polynomial
 *          of degree 5 in x - n ln 2 (one fma per step), scale by 2^n.
 * Rounds   after every step, subnormals kept.
 * NaN      a NaN counts as 88.72, because every comparison with it is false.
 * Threads  pure.
 * Source   activation-vllm 5; pytorch aten/src/ATen/cpu/vec/vec512.
 */
uint32_t mxo_act_exp_u20(uint32_t x);

/**
 * Gated units as kernels compute them; each is a row of emu/act/glu.def.
 * EXACT is the formula G * sigmoid(alpha * G) * (V + beta), rounded once,
 * with G = min(gate, limit) and V = max(min(up, limit), -limit).
 */
typedef enum mxo_glu_dialect {
#define MXO_GLU(id, ...) MXO_GLU_##id,
#include <mxoracle/glu.def>
#undef MXO_GLU
    MXO_N_GLU
} mxo_glu_dialect;

/**
 * Treatment of a NaN by a clamp: it stays (PROPAGATE), or is replaced by the
 * limit (LAUNDER; as C's fmin then fmax), or a NaN gate by the limit
 * and a NaN up by -limit (LAUNDER_LOW; fmax then fmin).  No limit, no clamp.
 */
typedef enum mxo_glu_nan {
    MXO_GLU_NAN_DIALECT,
    MXO_GLU_NAN_LAUNDER,
    MXO_GLU_NAN_LAUNDER_LOW,
    MXO_GLU_NAN_PROPAGATE
} mxo_glu_nan;

/** A gated unit: how, from which format to which, with which constants. */
typedef struct mxo_glu {
    mxo_glu_dialect dialect;
    mxo_glu_nan nan;
    mxo_format from; /* bf16, f16 or f32; EXACT takes f64 too */
    mxo_format to;   /* bf16, f16, f32 or f64 */
    mxo_real alpha;  /* a constant that the dialect lacks is ignored */
    mxo_real beta;
    mxo_real limit;       /* MXO_CLASS_INF: none */
    mxo_real linear_beta; /* of SiTU's up half; not positive or NaN: none */
    mxo_real scale_gate;  /* of trtllm_gen: what gate and up are worth; zero
                             stands for 1 */
    int has_limit;        /* of trtllm_gen: infinity is a limit, not none */
} mxo_glu;

/** @brief Name of a dialect in case text ("vllm_silu"); NULL past the last. */
const char *mxo_glu_name(mxo_glu_dialect dialect);

/**
 * @brief The sentence that says why a unit cannot be evaluated, or NULL.
 *
 * Errors   EXACT alone takes from = f64; no constant is NaN; aiter_triton knows
 *          beta = 0 and beta = 1 only; a limit is not negative; scale_gate is
 *          positive and finite, or zero.
 * Threads  pure.
 */
const char *mxo_glu_check(const mxo_glu *unit);

/**
 * @brief One output of a gated unit.
 *
 * Units    gate and up are codes of unit->from, the result of unit->to.
 * Needs    mxo_glu_check(unit) == NULL.
 * Rounds   EXACT: once.  Others: where the row says, exponentials and
 *          sigmoids correctly rounded to binary32 unless the kernel's own
 *          recipe is known bit for bit (cpu_*: exp_u20).
 * NaN      unit->nan for the clamp; any NaN out is the positive quiet NaN.
 * Threads  pure.
 * Source   per row: emu/include/mxoracle/glu.def; docs/ops/act.glu.md.
 */
uint64_t mxo_act_glu(const mxo_glu *unit, uint64_t gate, uint64_t up);

/** Kernels that quantise what their gated unit gives; see mxo_glu_quant_y. */
typedef enum mxo_glu_quant_dialect {
    MXO_GLUQ_VLLM_PACKED,   /* silu_mul_quant_fp8_packed */
    MXO_GLUQ_VLLM_COLMAJOR, /* silu_mul_per_token_group_quant_fp8_colmajor */
    MXO_GLUQ_DEEPGEMM_MEGA, /* mega-MoE, epilogue of the first GEMM */
    MXO_N_GLUQ
} mxo_glu_quant_dialect;

/** A gated unit with FP8 (E4M3) group quantisation behind it. */
typedef struct mxo_glu_quant {
    mxo_glu_quant_dialect dialect;
    mxo_format from; /* bf16 or f32 */
    mxo_real limit;  /* MXO_CLASS_INF: none */
    uint8_t pow2;    /* scales are powers of two; only vllm_colmajor may not */
} mxo_glu_quant;

/** @brief Name of a dialect in case text; NULL past the last. */
const char *mxo_glu_quant_name(mxo_glu_quant_dialect dialect);

/** @brief Format of the y that mxo_glu_quant_y returns. */
mxo_format mxo_glu_quant_y_format(const mxo_glu_quant *unit);

/**
 * @brief The number that is quantised, before it is.
 *
 * Units    gate and up are codes of unit->from; topk_weight is a binary32
 *          pattern and only DEEPGEMM_MEGA looks at it.
 * Map      VLLM_PACKED: (g / (1 + e^-g)) * u in binary32, rounded to bf16.
 *          VLLM_COLMAJOR: as the dialect VLLM_SILU_CLAMP of mxo_act_glu.
 *          DEEPGEMM_MEGA: gate, up and limit rounded to bf16, clamped, then
 *          g * sigmoid(g) * u * topk_weight, correctly rounded to binary64
 *          (the kernel's exponential is approximate, and the published
 *          reference is in binary64).
 * NaN      the clamps replace a NaN gate by limit, a NaN up by -limit.
 * Threads  pure.
 * Source   activation-vllm 4.1, 4.2; layouts-deepgemm 6.
 */
uint64_t mxo_glu_quant_y(const mxo_glu_quant *unit, uint64_t gate, uint64_t up,
                         uint32_t topk_weight);

/**
 * @brief The larger of amax and |y|: start with 0, one call per element.
 *
 * Units    amax: binary32 pattern; y: code of mxo_glu_quant_y_format.
 * NaN      is skipped.
 */
uint32_t mxo_glu_quant_amax(const mxo_glu_quant *unit, uint32_t amax,
                            uint64_t y);

/**
 * @brief The scale of a group, as a binary32 pattern.
 *
 * Map      VLLM_PACKED: 2^ceil(log2 max(amax / 448, 1e-10));
 *          VLLM_COLMAJOR: s = max(amax, 1e-10) * RN32(1/448), 2^ceil(log2 s)
 *          if pow2; DEEPGEMM_MEGA: s = amax * RN32(1/448), 2^ceil(log2 s) by
 *          exponent arithmetic, 0 for s = 0.
 * NaN      amax is never NaN; infinite amax gives an infinite scale.
 * Threads  pure.
 */
uint32_t mxo_glu_quant_scale(const mxo_glu_quant *unit, uint32_t amax);

/**
 * @brief Exponent byte of a power-of-two scale: 0 for 0, 255 for infinity.
 */
uint8_t mxo_glu_quant_scale_byte(uint32_t scale);

/**
 * @brief E4M3 code of y / scale, saturating at 448, to nearest even.
 *
 * NaN      a NaN y, and Inf / Inf, give 7f.  DEEPGEMM_MEGA multiplies by
 *          2^(127 - byte), so scale 0 means 2^127 and infinity 2^-128.
 * Threads  pure.
 */
uint8_t mxo_glu_quant_code(const mxo_glu_quant *unit, uint64_t y,
                           uint32_t scale);

#ifdef __cplusplus
}
#endif
#endif
