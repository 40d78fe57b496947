/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block of FP4 codes in GGUF: its scale bytes, then runs of as many codes as
 * one scale has, element j of a run beside the one half a run behind it.
 * MXFP4: 1 scale, 32 codes, 17 bytes; NVFP4: 4 scales, 64 codes, 36 bytes.
 */
#ifndef MXO_GGUF_BLOCK_H
#define MXO_GGUF_BLOCK_H

#include <stdint.h>

enum { GGUF_BLOCK_BYTES = 36, GGUF_PAIR_BYTES = 32 }; /* at most */

/* group: elements of a scale, 32 or 16. */
uint64_t gguf_block_elements(uint64_t group);
uint64_t gguf_block_scales(uint64_t group);
uint64_t gguf_block_bytes(uint64_t group);
/* From neighbours in pairs, the first in the low nibble, and back. */
void gguf_block_pack(uint64_t group, const uint8_t *pairs,
                     const uint8_t *scales, uint8_t *block);
void gguf_block_codes(uint64_t group, const uint8_t *block, uint8_t *pairs);

#endif
