/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reciprocal instruction: all 2^23 mantissas against the measurement, as
 * the CRC-32 of the vector nv.rcp_approx_ftz_f32 (difference to the correctly
 * rounded result, two bits each), which is too large to ship.
 */
#include <mxoracle/format.h>

#include <check.h>

enum { MANTISSAS = 1 << 23, PACKED = MANTISSAS / 4 };

/* Correctly rounded 2^47 / significand by long division, ties impossible
   but for the significand 2^23 itself, which divides. */
static uint32_t nearest(uint32_t mantissa)
{
    const uint64_t significand = mantissa + ((uint64_t)1 << 23);
    const uint64_t quotient = ((uint64_t)1 << 47) / significand;
    const uint64_t rest = ((uint64_t)1 << 47) % significand;

    return (uint32_t)(quotient + (2 * rest > significand));
}

/* The instruction's result for 1.mantissa, in units of 2^-24. */
static uint32_t measured(uint32_t mantissa)
{
    const uint32_t y = mxo_rcp_hopper_ftz(0x3f800000 | mantissa);

    return y == 0x3f800000 ? 1u << 24 : (y & 0x7fffff) | 1u << 23;
}

static uint32_t crc_byte(uint32_t crc, uint32_t byte)
{
    crc ^= byte;
    for (int i = 0; i < 8; i++) {
        crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
    }
    return crc;
}

START_TEST(every_mantissa_is_the_measured_one)
{
    uint32_t crc = 0xffffffff;
    unsigned count[4] = {0};

    for (uint32_t i = 0; i < PACKED; i++) {
        uint32_t byte = 0;
        for (uint32_t j = 0; j < 4; j++) {
            const uint32_t m = 4 * i + j;
            const uint32_t delta = (measured(m) - nearest(m)) & 3;
            byte |= delta << (2 * j);
            count[delta]++;
        }
        crc = crc_byte(crc, byte);
    }
    ck_assert_uint_eq(count[0], 7280086);
    ck_assert_uint_eq(count[1], 733799);
    ck_assert_uint_eq(count[2], 0);
    ck_assert_uint_eq(count[3], 374723);
    ck_assert_msg(~crc == 0x57c964e9, "crc 0x%08x", ~crc);
}
END_TEST

START_TEST(the_published_values_come_out)
{
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0x40c00000), 0x3e2aaaab); /* 6 */
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0x43e00000), 0x3b124925); /* 448 */
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0x47600000), 0x37924925); /* 57344 */
}
END_TEST

START_TEST(ftz_flushes_on_both_sides)
{
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0x00000001), 0x7f800000);
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0x807fffff), 0xff800000);
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0x7e800000), 0x00800000);
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0x7e800001), 0x00000000);
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0xff7fffff), 0x80000000);
}
END_TEST

START_TEST(without_ftz_subnormals_are_kept)
{
    ck_assert_uint_eq(mxo_rcp_hopper(0x00200000), 0x7f800000); /* 2^-128 */
    ck_assert_uint_eq(mxo_rcp_hopper(0x00400000), 0x7f000000);
    ck_assert_uint_eq(mxo_rcp_hopper(0x7f000000), 0x00400000);
}
END_TEST

START_TEST(zero_infinity_and_nan)
{
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0x00000000), 0x7f800000);
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0x80000000), 0xff800000);
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0x7f800000), 0x00000000);
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0xff800000), 0x80000000);
    ck_assert_uint_eq(mxo_rcp_hopper_ftz(0xffc00001), 0x7fffffff);
    ck_assert_uint_eq(mxo_rcp_hopper(0x7f800001), 0x7fffffff);
    ck_assert_uint_eq(mxo_rcp_rn(0x7f800001), 0x7fc00000);
}
END_TEST

START_TEST(rn_is_nearest_and_keeps_subnormals)
{
    ck_assert_uint_eq(mxo_rcp_rn(0x40400000), 0x3eaaaaab); /* 3 */
    ck_assert_uint_eq(mxo_rcp_rn(0x7f7fffff), 0x00200000);
    ck_assert_uint_eq(mxo_rcp_rn(0x7e800001), 0x007fffff);
    for (uint32_t m = 0; m < MANTISSAS; m += 9973) {
        const uint32_t y = mxo_rcp_rn(0x3f800000 | m);
        const uint32_t bits =
            y == 0x3f800000 ? 1u << 24 : (y & 0x7fffff) | 1u << 23;
        ck_assert_msg(bits == nearest(m), "mantissa 0x%06x", m);
    }
}
END_TEST

Suite *suite_format_rcp_hopper(void);
Suite *suite_format_rcp_hopper(void)
{
    Suite *s = suite_create("format_rcp_hopper");
    TCase *t = tcase_create("rcp");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_mantissa_is_the_measured_one);
    tcase_add_test(t, the_published_values_come_out);
    tcase_add_test(t, ftz_flushes_on_both_sides);
    tcase_add_test(t, without_ftz_subnormals_are_kept);
    tcase_add_test(t, zero_infinity_and_nan);
    tcase_add_test(t, rn_is_nearest_and_keeps_subnormals);
    suite_add_tcase(s, t);
    return s;
}
