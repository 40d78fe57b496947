/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that the quantisers of other engines share. */
#ifndef MXO_EMU_QUANT_ENGINE_H
#define MXO_EMU_QUANT_ENGINE_H

#include "quant.h"

/* A binary32 pattern rounded to a type and widened again. */
uint32_t engine_round(mxo_format type, uint32_t x);
/* RN(a / b) in a type, of binary32 patterns. */
uint32_t engine_divide(mxo_format type, uint32_t a, uint32_t b);
/* Largest |x|; a NaN never wins. */
uint32_t engine_amax(const uint32_t *x, size_t n);
/* The first E2M1 code whose value times unit has the least binary32 distance
   to v; code 8 is +0. */
uint8_t engine_scan(uint32_t unit, uint32_t v);
/* E2M1 of a binary32 pattern, nearest even, saturating; NaN as the format. */
uint8_t engine_e2m1(uint32_t v, mxo_tie tie);
/* E4M3 of a positive number, nearest even, saturating; and its value. */
uint8_t engine_e4m3(uint32_t v);
uint32_t engine_e4m3_value(uint8_t code);
/* ggml's unsigned E4M3 of the CPU: byte of a number, and half a byte's value.
 */
uint8_t engine_ue4m3(uint32_t x);
uint32_t engine_ue4m3_half(uint8_t byte);

#endif
