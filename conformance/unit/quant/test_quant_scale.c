/* SPDX-License-Identifier: Apache-2.0 */
/* quant.scale as an operation: one byte per maximum, the shape kept. */
#include "unit/emu_call.h"

#include <check.h>

START_TEST(every_maximum_gets_its_byte_and_the_shape_is_kept)
{
    const float amax[4] = {7.0f, 6.0f, 0.0f, -7.0f}; /* the sign is ignored */
    static const uint8_t want[4] = {128, 127, 0, 128};
    emu_call c;

    emu_begin(&c, "quant.scale", "rule=rceil");
    emu_in(&c, "amax", MXO_F32, amax, 2, 2, 2);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "scale")->rank, 2);
    ck_assert_uint_eq(emu_out(&c, "scale")->dtype, MXO_E8M0);
    ck_assert_mem_eq(emu_bytes(&c, "scale"), want, 4);
    emu_end(&c);
}
END_TEST

START_TEST(an_unknown_rule_is_refused)
{
    const float amax = 1.0f;
    emu_call c;

    emu_begin(&c, "quant.scale", "rule=nearest");
    emu_in(&c, "amax", MXO_F32, &amax, 1, 1);
    emu_refuses(&c, MXO_E_PARAM, "rule=nearest");
}
END_TEST

Suite *suite_quant_scale(void);
Suite *suite_quant_scale(void)
{
    Suite *s = suite_create("quant_scale");
    TCase *t = tcase_create("quant.scale");

    tcase_add_test(t, every_maximum_gets_its_byte_and_the_shape_is_kept);
    tcase_add_test(t, an_unknown_rule_is_refused);
    suite_add_tcase(s, t);
    return s;
}
