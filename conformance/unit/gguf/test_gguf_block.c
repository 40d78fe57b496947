/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of GGUF against two that llama.cpp's converter packed, the first of
 * the vectors ggml.pack_blocks__6x128 and ggml.pack_blocks_nvfp4__5x192.
 */
#include "gguf/block.h"

#include <check.h>
#include <string.h>

typedef struct packed {
    uint64_t group;
    uint8_t pairs[GGUF_PAIR_BYTES];
    uint8_t scales[4];
    uint8_t block[GGUF_BLOCK_BYTES];
} packed;

static const packed vendors[] = {
    {32,
     {0xd2, 0x13, 0xee, 0x45, 0x71, 0xf1, 0x58, 0x11, 0xed, 0x1c, 0x31, 0xbf,
      0x23, 0xd9, 0x3f, 0x6c},
     {0x00},
     {0x00, 0xd2, 0xed, 0xc3, 0x11, 0x1e, 0x3e, 0xf5, 0xb4, 0x31, 0x27, 0x91,
      0xdf, 0xf8, 0x35, 0xc1, 0x61}},
    {16,
     {0x89, 0xe8, 0x88, 0xd4, 0xd7, 0x5b, 0xda, 0xb0, 0xd4, 0x18, 0xd6,
      0x2d, 0x08, 0xbb, 0x69, 0xb4, 0x13, 0x37, 0x6c, 0x70, 0x72, 0x2a,
      0x3b, 0xe8, 0xb3, 0x5e, 0xaa, 0xb4, 0x32, 0x5e, 0x79, 0x38},
     {0x17, 0xe2, 0xc3, 0xe5},
     {0x17, 0x62, 0x43, 0x65, 0x79, 0xd8, 0xb8, 0x5e, 0xa8, 0xd8, 0x04, 0xbd,
      0x84, 0x0d, 0xb8, 0xb1, 0x96, 0x6d, 0x4d, 0xb2, 0x23, 0x71, 0xa7, 0x23,
      0xbc, 0x36, 0x80, 0xe7, 0x23, 0x3b, 0xee, 0x55, 0x9a, 0x7a, 0x84, 0x3b}},
};

START_TEST(a_block_is_the_vendors)
{
    const packed *v = &vendors[_i];
    uint8_t block[GGUF_BLOCK_BYTES] = {0};
    uint8_t pairs[GGUF_PAIR_BYTES] = {0};
    uint8_t unsigned_scales[4];

    for (int i = 0; i < 4; i++) { /* its converter drops the sign of NVFP4's */
        unsigned_scales[i] = v->scales[i] & 0x7f;
    }
    ck_assert_uint_eq(gguf_block_bytes(v->group), v->group == 32 ? 17 : 36);
    ck_assert_uint_eq(gguf_block_elements(v->group), v->group == 32 ? 32 : 64);
    gguf_block_pack(v->group, v->pairs, unsigned_scales, block);
    ck_assert_mem_eq(block, v->block, sizeof block);
    gguf_block_codes(v->group, v->block, pairs);
    ck_assert_mem_eq(pairs, v->pairs, sizeof pairs);
}
END_TEST

Suite *suite_gguf_block(void);

Suite *suite_gguf_block(void)
{
    Suite *s = suite_create("gguf_block");
    TCase *t = tcase_create("blocks");

    tcase_add_loop_test(t, a_block_is_the_vendors, 0,
                        (int)(sizeof vendors / sizeof vendors[0]));
    suite_add_tcase(s, t);
    return s;
}
