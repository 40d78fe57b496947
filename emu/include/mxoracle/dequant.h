/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From element codes and scales back to numbers.
 *
 * In binary32 and bfloat16 an MXFP4 product is exact unless it overflows, so
 * implementations can only differ in scale bytes 0, 254 and 255 and, in
 * binary16, in what they round first.  Each way is a row of dequant.def.
 */
#ifndef MXORACLE_DEQUANT_H
#define MXORACLE_DEQUANT_H

#include <mxoracle/format.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MXO_MX_BLOCK = 32, MXO_NVFP4_BLOCK = 16 };

/** Whose product of element and scale byte; rows in <mxoracle/dequant.def>. */
typedef enum mxo_dequant_rule {
#define MXO_DEQUANT(id, name, e8m0, product, flags, formats, source) \
    MXO_DEQUANT_##id,
#include <mxoracle/dequant.def>
#undef MXO_DEQUANT
    MXO_N_DEQUANT_RULES
} mxo_dequant_rule;

/** @brief Rule of a name such as "ocp"; MXO_N_DEQUANT_RULES if unknown. */
mxo_dequant_rule mxo_dequant_rule_by_name(const char *name);

/** @brief 1 if the rule says what an element times a byte is in format to. */
int mxo_dequant_rule_has(mxo_dequant_rule rule, mxo_format element,
                         mxo_format to);

/**
 * @brief One element times one scale byte.
 *
 * Units    code is an element code; bits above its width are ignored.
 * Map      ocp: value(code) * 2^(scale - 127)
 * Needs    mxo_dequant_rule_has(rule, element, to).
 * Rounds   ocp: once, nearest even, overflow to infinity; others by their row.
 * NaN      quiet and positive; ocp: scale 255, or a NaN element.
 * Source   numerics 5.2, layouts-triton 6.3, layouts-vllm 4.8, 5.5, 9, 10.1;
 *          docs/ops/dequant.mx.md
 */
uint32_t mxo_dequant_mx(mxo_dequant_rule rule, mxo_format element,
                        mxo_format to, uint64_t code, uint8_t scale);

/**
 * @brief Binary places by which operands of the rule are too small: what a
 *        sum of products with them is multiplied by afterwards; usually 0.
 */
int mxo_dequant_behind(mxo_dequant_rule rule);

/** Outcome of one product; the numbers are those of dequant.mx_table. */
typedef enum mxo_dequant_status {
    MXO_DEQUANT_EXACT,
    MXO_DEQUANT_EXACT_SUBNORMAL,
    MXO_DEQUANT_ROUNDED,
    MXO_DEQUANT_LOST, /* a value other than zero became zero */
    MXO_DEQUANT_OVERFLOW,
    MXO_DEQUANT_NAN_SCALE,
    MXO_DEQUANT_ZERO,
    MXO_DEQUANT_ROUNDED_SUBNORMAL
} mxo_dequant_status;

/**
 * @brief Compare a pattern y of format to with the exact E2M1 product.
 *
 * Map      scale 255 NAN_SCALE; value 0 ZERO; y infinite or NaN, or the
 *          product beyond the largest finite number, OVERFLOW; y zero LOST;
 *          else exact or rounded, normal or subnormal by y.
 * Source   numerics 5.2, 10; docs/ops/dequant.mx_table.md
 */
mxo_dequant_status mxo_dequant_judge(mxo_format to, uint64_t code,
                                     uint8_t scale, uint32_t y);

/**
 * @brief One element times a binary32 scale.
 *
 * Units    scale is a binary32 pattern.
 * Map      RN_to(RN32(value(code) * scale))
 * Rounds   the product once to binary32, that once more to BF16 or F16.
 * NaN      quiet and positive.
 * Source   layouts-deepgemm 2; docs/ops/dequant.group.md
 */
uint32_t mxo_dequant_group(mxo_format element, mxo_format to, uint64_t code,
                           uint32_t scale);

/**
 * @brief One NVFP4 element.
 *
 * Units    scale is an E4M3 code, global a binary32 pattern (multiplied).
 * Map      E2M1(code) * |E4M3(scale)| * global
 * Rounds   the product of three once.
 * NaN      quiet and positive, if scale or global is NaN, or 0 * infinity.
 * Source   numerics 1; docs/ops/dequant.nvfp4.md
 */
uint32_t mxo_dequant_nvfp4(mxo_format to, uint64_t code, uint8_t scale,
                           uint32_t global);

#ifdef __cplusplus
}
#endif
#endif
