/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of element and scale byte with its two decodings taken out, so
 * that a loop can do them once per call and once per block.
 */
#ifndef MXO_EMU_DEQUANT_PRODUCT_H
#define MXO_EMU_DEQUANT_PRODUCT_H

#include <mxoracle/dequant.h>

/* The exact value of an element code, bits above its width ignored. */
mxo_real mxo_dequant_element(mxo_format element, uint64_t code);

/* The number that the rule reads the byte as, in the rule's own format. */
mxo_real mxo_dequant_scale(mxo_dequant_rule rule, mxo_format to, uint8_t scale);

/* A decoded element times a decoded scale, as a pattern of to. */
uint32_t mxo_dequant_product(mxo_dequant_rule rule, mxo_format to,
                             mxo_real element, mxo_real scale);

#endif
