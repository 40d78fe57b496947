/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Humming's folded scales: every code and offset against a comparison of
 * distances in integers (value * 2^-d in units of 2^-17), and both containers.
 */
#include "unit/emu_call.h"

#include <mxoracle/quant.h>

#include <check.h>
#include <string.h>

static const int halves[8] = {0, 1, 2, 3, 4, 6, 8, 12};

/* lo <= v < hi: hi if hi - v <= v - lo, unless v is lo itself. */
static int second_way(int code, int d)
{
    const int v = halves[code & 7] << (15 - d); /* units of 2^-16 halves */
    int lo = 0;

    if (code == 8) {
        return 0;
    }
    while (lo < 7 && halves[lo + 1] << 15 <= v) {
        lo++;
    }
    const int low = halves[lo] << 15;
    const int high = lo < 7 ? halves[lo + 1] << 15 : 0;
    const int up = lo < 7 && v != low && high - v <= v - low;

    return (lo + up) | (code & 8);
}

START_TEST(every_code_and_offset_agrees_with_the_distances)
{
    for (int code = 0; code < 16; code++) {
        for (int d = 0; d < 16; d++) {
            const int got = mxo_quant_requant((uint8_t)code, (uint8_t)d);

            ck_assert_msg(got == second_way(code, d),
                          "code %d offset %d: got %d want %d", code, d, got,
                          second_way(code, d));
        }
    }
}
END_TEST

/* By hand: 6/2 = 3, 3/2 = 1.5, 1.5/2 = .75 goes up to 1. */
START_TEST(halving_twice_is_not_quartering)
{
    ck_assert_int_eq(mxo_quant_requant(7, 1), 5);
    ck_assert_int_eq(mxo_quant_requant(3, 1), 2);
    ck_assert_int_eq(mxo_quant_requant(9, 2), 8); /* -0.125 */
    ck_assert_int_eq(mxo_quant_requant(8, 0), 0);
}
END_TEST

START_TEST(both_containers_hold_the_same_codes)
{
    uint8_t bytes[32];
    uint32_t words[8];
    const uint8_t offset[2] = {1, 3};
    emu_call a;
    emu_call b;

    for (unsigned i = 0; i < 32; i++) {
        bytes[i] = (uint8_t)(i * 37 + 5);
    }
    for (unsigned i = 0; i < 8; i++) {
        words[i] = (uint32_t)bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 |
                   (uint32_t)bytes[4 * i + 2] << 16 |
                   (uint32_t)bytes[4 * i + 3] << 24;
    }
    emu_begin(&a, "quant.requant", "");
    emu_in(&a, "q", MXO_U8, bytes, 2, 1, 32);
    emu_in(&a, "offset", MXO_U8, offset, 2, 1, 2);
    ck_assert_int_eq(emu_run(&a), MXO_OK);
    emu_begin(&b, "quant.requant", "container=i32");
    emu_in(&b, "q", MXO_I32, words, 2, 1, 8);
    emu_in(&b, "offset", MXO_U8, offset, 2, 1, 2);
    ck_assert_int_eq(emu_run(&b), MXO_OK);
    for (unsigned i = 0; i < 32; i++) {
        uint32_t word;

        memcpy(&word, emu_bytes(&b, "y") + i / 4 * 4, 4);
        ck_assert_msg(emu_bytes(&a, "y")[i] == (word >> (8 * (i % 4)) & 0xff),
                      "byte %u", i);
    }
    ck_assert_int_eq(emu_bytes(&a, "y")[0], second_way(5, 1));
    emu_end(&a);
    emu_end(&b);
}
END_TEST

START_TEST(offsets_must_fit)
{
    const uint8_t q[32] = {0};
    emu_call c;

    emu_begin(&c, "quant.requant", "");
    emu_in(&c, "q", MXO_U8, q, 1, 32);
    emu_in(&c, "offset", MXO_U8, q, 1, 1);
    emu_refuses(&c, MXO_E_SHAPE, "do not fit");
}
END_TEST

START_TEST(the_table_is_offset_by_code)
{
    const uint8_t code[3] = {7, 9, 8};
    const uint8_t offset[2] = {0, 1};
    static const uint8_t want[6] = {7, 9, 0, 5, 9, 0};
    const uint8_t bad[1] = {16};
    emu_call c;

    emu_begin(&c, "quant.requant_table", "");
    emu_in(&c, "code", MXO_U8, code, 1, 3);
    emu_in(&c, "offset", MXO_U8, offset, 1, 2);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_mem_eq(emu_bytes(&c, "y"), want, 6);
    emu_end(&c);
    emu_begin(&c, "quant.requant_table", "");
    emu_in(&c, "code", MXO_U8, bad, 1, 1);
    emu_in(&c, "offset", MXO_U8, offset, 1, 2);
    emu_refuses(&c, MXO_E_SHAPE, "not an E2M1 code");
}
END_TEST

Suite *suite_quant_requant(void);
Suite *suite_quant_requant(void)
{
    Suite *s = suite_create("quant_requant");
    TCase *t = tcase_create("quant.requant");

    tcase_add_test(t, every_code_and_offset_agrees_with_the_distances);
    tcase_add_test(t, halving_twice_is_not_quartering);
    tcase_add_test(t, both_containers_hold_the_same_codes);
    tcase_add_test(t, offsets_must_fit);
    tcase_add_test(t, the_table_is_offset_by_code);
    suite_add_tcase(s, t);
    return s;
}
