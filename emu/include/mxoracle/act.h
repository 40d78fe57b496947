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
uint64_t mxo_act_eval(mxo_act_fn fn, mxo_real x, mxo_format to,
                      uint32_t *bits);

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
 * What a clamp makes of a NaN: leaves it (PROPAGATE), or replaces it by the
 * limit (LAUNDER; as C's fmin then fmax), or replaces a NaN gate by the limit
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
    mxo_real alpha;  /* what a dialect has no use for is ignored */
    mxo_real beta;
    mxo_real limit; /* MXO_CLASS_INF: none */
} mxo_glu;

/** @brief Name of a dialect in case text ("vllm_silu"); NULL past the last. */
const char *mxo_glu_name(mxo_glu_dialect dialect);

/**
 * @brief The sentence that says why a unit cannot be evaluated, or NULL.
 *
 * Errors   EXACT alone takes from = f64 or a NaN constant; aiter_triton knows
 *          beta = 0 and beta = 1 only; a limit is not negative.
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

#ifdef __cplusplus
}
#endif
#endif
