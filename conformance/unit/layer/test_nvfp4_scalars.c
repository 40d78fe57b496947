/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars of NVFP4 layers: those of profiles-nvidia 4.1 and 4.5; reciprocals
   by exact fractions. */
#include "unit/emu_call.h"

#include <check.h>
#include <string.h>

/* w1's and w3's scalars of two experts. */
typedef struct scalar_set {
    uint32_t w13[4], in13[4], w2[2], in2[2];
} scalar_set;

static void expect_scalars(const scalar_set *s, const char *params,
                           const uint32_t want[5])
{
    static const char *const names[] = {"a1_gscale", "a2_gscale", "g1_alphas",
                                        "g1_scale_c", "g2_alphas"};
    emu_call c;

    emu_begin(&c, "moe.nvfp4_scalars", params);
    emu_in(&c, "w13_scale_2", MXO_F32, s->w13, 2, 2, 2);
    emu_in(&c, "w2_scale_2", MXO_F32, s->w2, 1, 2);
    emu_in(&c, "w13_input_scale", MXO_F32, s->in13, 2, 2, 2);
    emu_in(&c, "w2_input_scale", MXO_F32, s->in2, 1, 2);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    for (int i = 0; i < 5; i++) {
        uint32_t got;
        memcpy(&got, emu_bytes(&c, names[i]), sizeof got);
        ck_assert_msg(got == want[i], "%s: %s[0]: got %08x want %08x", params,
                      names[i], got, want[i]);
    }
    emu_end(&c);
}

/* The largest activation scale is another expert's, and w3's; w3's weight
   scale is not looked at. */
START_TEST(scalars_are_those_of_the_fact_sheet)
{
    const scalar_set s = {{0x3a378034, 0x7f000000, 0x3f800000, 0x3f800000},
                          {0x3a000000, 0x3a800000, 0x3b000000, 0x3b449ba6},
                          {0x3a902de0, 0x3f800000},
                          {0x3c000000, 0x3ca3d70a}};
    const uint32_t want[5] = {0x43a6aaab, 0x42480000, 0x360cedb9, 0x38dc3371,
                              0x37b88ca4};

    expect_scalars(&s, "scale_c=product", want);
}
END_TEST

START_TEST(product_and_quotient_differ_in_the_last_bit)
{
    const scalar_set s = {{0x3d3ef01c, 0x3f800000, 0x3f800000, 0x3f800000},
                          {0x3b4473c2, 0x3b000000, 0x3b000000, 0x3b000000},
                          {0x3f800000, 0x3f800000},
                          {0x3dc13608, 0x3d000000}};
    /* a1_gscale, a2_gscale: RN(1 / a) */
    uint32_t want[5] = {0x43a6cc82, 0x412998d0, 0x3912862c, 0x3ac22414,
                        0x3dc13608};

    expect_scalars(&s, "scale_c=product", want);
    want[3] = 0x3ac22413;
    expect_scalars(&s, "scale_c=quotient", want);
}
END_TEST

/* compressed-tensors stores the inverse of everything. */
START_TEST(compressed_tensors_scalars_are_turned_over)
{
    const scalar_set s = {{0x44000000, 0x3f800000, 0x3f800000, 0x3f800000},
                          {0x43000000, 0x43800000, 0x44000000, 0x44800000},
                          {0x42000000, 0x3f800000},
                          {0x41000000, 0x41800000}};
    /* a13 = 2^-7, a2 = 2^-3; w1: 2^-9, w2: 2^-5 */
    const uint32_t want[5] = {0x43000000, 0x41000000, 0x37800000, 0x39000000,
                              0x3b800000};

    expect_scalars(&s, "scales=compressed_tensors", want);
}
END_TEST

Suite *suite_nvfp4_scalars(void);
Suite *suite_nvfp4_scalars(void)
{
    Suite *s = suite_create("nvfp4_scalars");
    TCase *t = tcase_create("values");

    tcase_add_test(t, scalars_are_those_of_the_fact_sheet);
    tcase_add_test(t, product_and_quotient_differ_in_the_last_bit);
    tcase_add_test(t, compressed_tensors_scalars_are_turned_over);
    suite_add_tcase(s, t);
    return s;
}
