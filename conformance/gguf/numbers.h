/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Global scales as checkpoints have them and as GGUF does: ModelOpt's are its
 * factors, compressed-tensors' divisors, MLX's largest magnitudes.  What has
 * no way back from a factor in binary32 our own files tell besides, eight
 * hexadecimal digits for each expert, projection and kind of scale.
 */
#ifndef MXO_GGUF_NUMBERS_H
#define MXO_GGUF_NUMBERS_H

#include "convert/layers.h"

/* Of the weights alone, or of the input, too. */
uint64_t gguf_kinds(const global_style *s);
/* Is a number of this style, told besides its factor? */
int gguf_is_told(const global_style *s);
/* The factor in GGUF of a checkpoint's number; both are binary32's bits. */
uint32_t gguf_factor_of(const global_style *s, uint32_t bits);
/* Bits of the number of expert e, as the checkpoint has it. */
uint32_t gguf_bits_of(const moe_layer *l, uint64_t e, int projection, int kind);
/* All numbers of a layer; owned by the caller; NULL without memory. */
char *gguf_numbers(const moe_layer *l);
/* Number i of such a text; 0, which is none, if there are not n well-formed
   ones. */
uint32_t gguf_number(const char *text, uint64_t n, uint64_t i);

#endif
