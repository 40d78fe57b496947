/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix instructions, bit for bit: what one output element becomes when a
 * tensor core adds a few products to an accumulator.  Vendors document none
 * of it; Hopper was measured, the others are models (numerics 8).
 */
#ifndef MXORACLE_MMA_H
#define MXORACLE_MMA_H

#include <mxoracle/format.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Operand types; TF32 is a float32 whose low 13 bits are ignored. */
typedef enum mxo_mma_type {
    MXO_MMA_BF16,
    MXO_MMA_F16,
    MXO_MMA_TF32,
    MXO_MMA_E4M3FN,
    MXO_MMA_E5M2,
    MXO_MMA_E4M3FNUZ,
    MXO_MMA_E5M2FNUZ,
    MXO_MMA_E2M3,
    MXO_MMA_E3M2,
    MXO_MMA_E2M1,
    MXO_MMA_N_TYPES
} mxo_mma_type;

/** @brief Type of a name such as "tf32"; MXO_MMA_N_TYPES if unknown. */
mxo_mma_type mxo_mma_type_by_name(const char *name);

/** How the products of a step become one number. */
typedef enum mxo_mma_kind {
    MXO_MMA_FUSED,    /* all cut at one place, summed, cut (numerics 8.1) */
    MXO_MMA_HALVES,   /* two FP16 steps and a binary32 addition */
    MXO_MMA_GROUPS,   /* exact sums of 16, then FUSED (numerics 8.2) */
    MXO_MMA_TREE,     /* binary32 pairs of pairs, then the accumulator */
    MXO_MMA_TREE_FTZ, /* the same without subnormals */
    MXO_MMA_FLOORED,  /* cut, summed, floored beside the accumulator */
    MXO_MMA_PARITY    /* even and odd k apart, then FLOORED */
} mxo_mma_kind;

/** One row of <mxoracle/mma.def>. */
typedef struct mxo_mma {
    const char *unit;
    uint8_t type; /* mxo_mma_type */
    uint8_t kind; /* mxo_mma_kind */
    uint8_t step;
    uint8_t fraction;
    uint8_t mantissa;
} mxo_mma;

/** Mantissa bits of a row whose accumulator is binary16. */
enum { MXO_MMA_HALF = 10 };

/** @brief The row of a unit and type with a binary32 accumulator, or with one
 * in binary16; NULL if it has no such operands. */
const mxo_mma *mxo_mma_find(const char *unit, mxo_mma_type type);
const mxo_mma *mxo_mma_find_half(const char *unit, mxo_mma_type type);

/**
 * Operands of one step, one code per entry.  Scales are added exponents:
 * a number's scale byte is scale[i / group], NULL for none; ue4m3 says that
 * bytes are E4M3 without sign instead of E8M0 (GROUPS only).
 */
typedef struct mxo_mma_operand {
    const uint32_t *code;
    const uint8_t *scale;
    uint32_t group;
    uint8_t ue4m3;
} mxo_mma_operand;

/**
 * @brief One step: c plus m->step products.
 *
 * Units    a binary32 pattern in and out; of a binary16 number in and out if
 *          m->mantissa is MXO_MMA_HALF.
 * Map      FUSED: E = max(-133, exponents of nonzero products and of c), an
 *          exponent being the sum of the operands' own, not normalised; all
 *          cut toward zero to multiples of 2^(E - F); summed.
 * Rounds   FUSED, GROUPS: toward zero, 2^128 and beyond to infinity; 13
 *          mantissa bits leave the low 10 bits zero; to binary16, and all
 *          others, to nearest even.
 * NaN      7fffffff for a NaN, Inf * 0, infinities of both signs.
 * Zero     FUSED, GROUPS: a zero result is +0.
 * Source   hopper-measured 1, 2; numerics 8; docs/ops/mma.step.md
 */
uint32_t mxo_mma_step(const mxo_mma *m, mxo_mma_operand a, mxo_mma_operand b,
                      uint32_t c);

#ifdef __cplusplus
}
#endif
#endif
