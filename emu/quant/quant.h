/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of this folder that the public header does not have. */
#ifndef MXO_EMU_QUANT_H
#define MXO_EMU_QUANT_H

#include "../call.h"

#include <mxoracle/quant.h>

/* RN32(amax / max) in the row's spelling, floor and zero rule included. */
uint32_t mxo_quant_float_scale(const mxo_quant_rule *rule, mxo_format element,
                               uint32_t amax);

/* Code of x in an NVFP4 block under this E4M3 byte, whatever made the byte;
   g is the global scale as it is multiplied. */
uint8_t mxo_quant_nvfp4_code(const mxo_nvfp4_rule *rule, uint32_t g,
                             uint8_t byte, uint32_t x);

/* Element i of a tensor as a binary32 pattern. */
uint32_t quant_load(const mxo_tensor *t, uint64_t i);
/* 2^(byte - 127) as a binary32 pattern; 255 is infinite. */
static inline uint32_t quant_power(uint8_t byte)
{
    return byte == 0 ? 0x00400000u : (uint32_t)byte << 23;
}
/* Row of the parameter "rule". */
const mxo_quant_rule *quant_rule(const mxo_call *call);

#endif
