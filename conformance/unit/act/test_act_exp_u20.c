/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exp_u20 step by step (activation-vllm 5) at its edges; all 8192 vectors are
 * judged with the others.
 */
#include <mxoracle/act.h>

#include <check.h>

typedef struct claim {
    uint32_t x;
    uint32_t y;
} claim;

static const claim claims[] = {
    {0x00000000, 0x3f800000}, /* n = 0, r = 0, p = 1, 1 * 2^-1 * 2 */
    {0x80000000, 0x3f800000}, {0x00000001, 0x3f800000},
    {0xff800000, 0x00000000}, /* the bottom is decided by the unclamped x */
    {0xc2aeac51, 0x00000000}, {0xff7fffff, 0x00000000},
};

START_TEST(edge)
{
    const claim *c = &claims[_i];

    ck_assert_msg(mxo_act_exp_u20(c->x) == c->y, "%08x: %08x, want %08x",
                  (unsigned)c->x, (unsigned)mxo_act_exp_u20(c->x),
                  (unsigned)c->y);
}
END_TEST

START_TEST(nan_and_infinity_count_as_the_top)
{
    const uint32_t top = mxo_act_exp_u20(0x42b17218);

    ck_assert_uint_eq(mxo_act_exp_u20(0x7f800000), top);
    ck_assert_uint_eq(mxo_act_exp_u20(0x7fc00000), top);
    ck_assert_uint_eq(mxo_act_exp_u20(0xffc00000), top);
}
END_TEST

START_TEST(it_stays_near_the_exponential)
{
    /* Twenty bits: |x| from 2^-10 to 64, both signs. */
    for (uint32_t x = 0x3a800000; x < 0x42800000; x += 0x00034567) {
        for (int neg = 0; neg < 2; neg++) {
            const uint32_t s = x | (uint32_t)neg << 31;
            const int64_t y = mxo_act_exp_u20(s);
            const int64_t e = (int64_t)mxo_act_eval(
                MXO_ACT_EXP, mxo_format_decode(MXO_FMT_F32, s), MXO_FMT_F32,
                NULL);
            ck_assert_msg(y - e <= 16 && e - y <= 16, "%08x: %lld codes",
                          (unsigned)s, (long long)(y - e));
        }
    }
}
END_TEST

Suite *suite_act_exp_u20(void);
Suite *suite_act_exp_u20(void)
{
    Suite *s = suite_create("act_exp_u20");
    TCase *t = tcase_create("exp_u20");

    tcase_add_loop_test(t, edge, 0, (int)(sizeof claims / sizeof claims[0]));
    tcase_add_test(t, nan_and_infinity_count_as_the_top);
    tcase_add_test(t, it_stays_near_the_exponential);
    suite_add_tcase(s, t);
    return s;
}
