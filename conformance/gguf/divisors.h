/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compressed-tensors keeps divisors where GGUF keeps factors, and 1/x does not
 * always come back in binary32: our own files tell the divisors besides, eight
 * hexadecimal digits each, in the order of layer_global_name().
 */
#ifndef MXO_GGUF_DIVISORS_H
#define MXO_GGUF_DIVISORS_H

#include "convert/layers.h"

/* RN(1/x) of binary32's bits. */
uint32_t gguf_reciprocal(uint32_t bits);
/* Owned by the caller; NULL without memory. */
char *gguf_divisors(const moe_layer *l);
/* Divisor i of a text; 0, which is none, if there are not n well-formed ones.
 */
uint32_t gguf_divisor(const char *text, uint64_t n, uint64_t i);

#endif
