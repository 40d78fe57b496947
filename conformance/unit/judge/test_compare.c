/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of comparison, one claim each. */
#include "judge/compare.h"

#include <check.h>
#include <string.h>

static compare_rule rule(rule_kind kind, uint64_t limit)
{
    const compare_rule r = {"*", "*", "*", "", "", kind, limit, "", "", ""};

    return r;
}

START_TEST(bits_tell_every_pattern_apart)
{
    const compare_rule r = rule(RULE_BITS, 0);

    for (unsigned a = 0; a < 256; a++) {
        for (unsigned b = 0; b < 256; b++) {
            ck_assert_msg(compare_codes(&r, MXO_E4M3, a, b) == (a == b),
                          "%02x %02x", a, b);
        }
    }
    ck_assert(!compare_codes(&r, MXO_BF16, 0x7fc0, 0x7fc1));
    ck_assert(!compare_codes(&r, MXO_F32, 0x80000000u, 0));
}
END_TEST

START_TEST(exact_nan_frees_nan_and_nothing_else)
{
    const compare_rule r = rule(RULE_EXACT_NAN, 0);

    ck_assert(compare_codes(&r, MXO_BF16, 0x7fc0, 0xff81));
    ck_assert(!compare_codes(&r, MXO_BF16, 0x7fc0, 0x7f80));
    ck_assert(!compare_codes(&r, MXO_BF16, 0x7f80, 0x7fc0));
    ck_assert(!compare_codes(&r, MXO_BF16, 0x0000, 0x8000));
    ck_assert(!compare_codes(&r, MXO_BF16, 0x3f80, 0x3f81));
    ck_assert(compare_codes(&r, MXO_E4M3, 0x7f, 0xff));
    ck_assert(!compare_codes(&r, MXO_E4M3, 0x7e, 0x7f));
    ck_assert(!compare_codes(&r, MXO_U8, 0x7f, 0xff));
    ck_assert(!compare_codes(&r, MXO_E4M3FNUZ, 0x00, 0x80));
}
END_TEST

START_TEST(ulp_counts_steps_across_zero)
{
    const compare_rule one = rule(RULE_ULP, 1);
    const compare_rule two = rule(RULE_ULP, 2);

    ck_assert(compare_codes(&one, MXO_F32, 0x3f800000, 0x3f800001));
    ck_assert(!compare_codes(&one, MXO_F32, 0x3f800000, 0x3f800002));
    ck_assert(compare_codes(&two, MXO_F32, 0x3f800000, 0x3f800002));
    ck_assert(compare_codes(&one, MXO_F32, 0, 0x80000000u));
    ck_assert(!compare_codes(&one, MXO_F32, 0x00000001, 0x80000001u));
    ck_assert(compare_codes(&one, MXO_F32, 0x7f7fffff, 0x7f800000));
    ck_assert(!compare_codes(&two, MXO_F32, 0x7f800000, 0x7f800001));
    ck_assert(compare_codes(&one, MXO_F64, UINT64_C(1) << 63, 0));
}
END_TEST

static void make(tensor_set *set, const char *name, const char *bytes,
                 host_tensor **t)
{
    const uint64_t shape[] = {2, 4};

    ck_assert_int_eq(tensor_set_add(set, name, MXO_U8, 2, shape, t), MXO_OK);
    memcpy((*t)->data, bytes, 8);
}

START_TEST(differences_are_counted_and_placed)
{
    const compare_rule r = rule(RULE_BITS, 0);
    tensor_set set = {0};
    host_tensor *a;
    host_tensor *b;
    host_tensor *m;

    make(&set, "a", "12345678", &a);
    make(&set, "b", "1x34y678", &b);
    make(&set, "m", "\1\0\1\1\1\1\1\1", &m);
    comparison c = compare_tensors(&r, a, b, NULL);

    ck_assert_uint_eq(c.n_total, 8);
    ck_assert_uint_eq(c.n_diff, 2);
    ck_assert_uint_eq(c.first, 1);
    ck_assert_uint_eq(c.last, 4);
    c = compare_tensors(&r, a, b, m);
    ck_assert_uint_eq(c.n_diff, 1);
    ck_assert_uint_eq(c.first, 4);
    ck_assert_uint_eq(compare_tensors(&r, a, a, NULL).n_diff, 0);
    tensor_set_clear(&set);
}
END_TEST

/* The name of the rule for an output of a call with one parameter. */
static const char *named(const char *op, const char *output, const char *key,
                         const char *value)
{
    static char text[32];
    const mxo_param param = {key, value, 0};
    const op_call call = {op, &param, 1, NULL};

    return compare_rule_name(compare_rule_for(&call, "cpu", output), text,
                             sizeof text);
}

START_TEST(without_a_row_the_rule_is_bits)
{
    ck_assert_str_eq(named("quant.mx", "q", "", ""), "bits");
    ck_assert_str_eq(named("quant.mx", "scale", "", ""), "bits");
    ck_assert_str_eq(named("dequant.mx", "y", "", ""), "exact_nan");
}
END_TEST

START_TEST(a_row_holds_under_the_values_it_lists)
{
    ck_assert_str_eq(named("format.convert", "y", "nan", "quiet"), "exact_nan");
    ck_assert_str_eq(named("format.convert", "y", "nan", "ones"), "bits");
    ck_assert_str_eq(named("format.decode", "y", "nan", "ones"), "bits");
    ck_assert_str_eq(named("format.e8m0_decode", "y", "rule", "ocp"),
                     "exact_nan");
    ck_assert_str_eq(named("format.e8m0_decode", "y", "rule", "aiter"), "bits");
    ck_assert_str_eq(named("format.convert", "y", "to", "quiet"), "bits");
}
END_TEST

Suite *suite_compare(void);
Suite *suite_compare(void)
{
    Suite *s = suite_create("compare");
    TCase *t = tcase_create("compare");

    tcase_add_test(t, bits_tell_every_pattern_apart);
    tcase_add_test(t, exact_nan_frees_nan_and_nothing_else);
    tcase_add_test(t, ulp_counts_steps_across_zero);
    tcase_add_test(t, differences_are_counted_and_placed);
    tcase_add_test(t, without_a_row_the_rule_is_bits);
    tcase_add_test(t, a_row_holds_under_the_values_it_lists);
    suite_add_tcase(s, t);
    return s;
}
