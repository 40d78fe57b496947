/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.engine, torchao_*: one number and 31 zeros.  Every expected value was
 * printed by to_mx of torchao 0.18.0 on a CPU (torch 2.15.0).  6 * 2^k and the
 * next numbers up show log2 rounded to binary32; what is beside that is the
 * ends of the range.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <string.h>

typedef struct printed {
    const char *rule;
    uint32_t x;
    int byte;
    int code; /* of the number; -1: block of byte 255, nobody's promise */
} printed;

static const printed table[] = {
    {"floor", 0x40c00001u, 127, 7},  {"floor", 0x7f7fffffu, 252, 7},
    {"floor", 0x7f800000u, 253, 7},  {"floor", 0xff800000u, 253, 15},
    {"floor", 0x7fc00000u, 255, -1}, {"floor", 0x00800000u, 0, 2},
    {"floor", 0x01000000u, 0, 4},    {"ceil", 0x40c00001u, 128, 5},
    {"ceil", 0x7f800000u, 253, 7},   {"ceil", 0x7f7fffffu, 253, 6},
    {"ceil", 0x01c00000u, 2, 5},     {"even", 0x7f800000u, 253, 7},
    {"even", 0x7f7fffffu, 253, 6},   {"even", 0x7fc00000u, 255, -1},
    {"rceil", 0x40c00001u, 128, 5},  {"rceil", 0x42c00001u, 131, 7},
    {"rceil", 0x42c00002u, 131, 7},  {"rceil", 0x42c00003u, 132, 5},
    {"rceil", 0x44c00003u, 135, 7},  {"rceil", 0x44c00004u, 136, 5},
    {"rceil", 0x7f800000u, 254, 7},  {"rceil", 0xff800000u, 254, 15},
    {"rceil", 0x7fc00000u, 255, -1}, {"rceil", 0x01000000u, 0, 0},
    {"rceil", 0x01c00000u, 1, 7},    {"rceil", 0x7f7fffffu, 253, 6},
};

START_TEST(torchao_gives_what_the_release_printed)
{
    const printed *p = &table[_i];
    uint32_t x[32] = {p->x};
    char params[64] = "rule=torchao_";
    emu_call c;

    strncat(params, p->rule, sizeof params - strlen(params) - 1);
    emu_begin(&c, "quant.engine", params);
    emu_in(&c, "x", MXO_F32, x, 2, 1, 32);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    const int byte = emu_bytes(&c, "scale")[0];
    const int code = emu_bytes(&c, "q")[0] & 15;
    ck_assert_msg(byte == p->byte && (p->code < 0 || code == p->code),
                  "%s of %08x: byte %d, code %d", params, (unsigned)p->x, byte,
                  code);
    emu_end(&c);
}
END_TEST

Suite *suite_quant_engine(void);
Suite *suite_quant_engine(void)
{
    Suite *s = suite_create("quant_engine");
    TCase *t = tcase_create("torchao");

    tcase_add_loop_test(t, torchao_gives_what_the_release_printed, 0,
                        (int)(sizeof table / sizeof table[0]));
    suite_add_tcase(s, t);
    return s;
}
