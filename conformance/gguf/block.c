/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of GGUF; see block.h. */
#include "block.h"

#include <string.h>

uint64_t gguf_block_elements(uint64_t group)
{
    return group == 32 ? 32 : 64;
}

uint64_t gguf_block_scales(uint64_t group)
{
    return gguf_block_elements(group) / group;
}

uint64_t gguf_block_bytes(uint64_t group)
{
    return gguf_block_scales(group) + gguf_block_elements(group) / 2;
}

static unsigned code_at(const uint8_t *pairs, uint64_t i)
{
    return pairs[i / 2] >> (4 * (i % 2)) & 15U;
}

void gguf_block_pack(uint64_t group, const uint8_t *pairs,
                     const uint8_t *scales, uint8_t *block)
{
    const uint64_t n_scales = gguf_block_scales(group);
    const uint64_t half = group / 2;

    memcpy(block, scales, (size_t)n_scales);
    for (uint64_t i = 0; i < n_scales * half; i++) {
        const uint64_t first = i / half * group + i % half;
        block[n_scales + i] = (uint8_t)(code_at(pairs, first) |
                                        code_at(pairs, first + half) << 4);
    }
}

void gguf_block_codes(uint64_t group, const uint8_t *block, uint8_t *pairs)
{
    const uint64_t half = group / 2;
    const uint8_t *codes = block + gguf_block_scales(group);

    memset(pairs, 0, (size_t)gguf_block_elements(group) / 2);
    for (uint64_t i = 0; i < gguf_block_elements(group); i++) {
        const uint64_t in_run = i % group;
        const uint8_t two = codes[i / group * half + in_run % half];
        const unsigned code = in_run < half ? two & 15U : two >> 4;
        pairs[i / 2] |= (uint8_t)(code << (4 * (i % 2)));
    }
}
