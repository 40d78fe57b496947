/* SPDX-License-Identifier: Apache-2.0 */
/* The table of quantisers: every name ops.def offers has a sane row. */
#include <mxoracle/mxoracle.h>
#include <mxoracle/quant.h>

#include <check.h>
#include <string.h>

static const mxo_op_info *info_of(const char *op)
{
    const mxo_op_info *info = mxo_emulator()->op_info;

    while (strcmp(info->name, op) != 0) {
        info++;
    }
    return info;
}

static void expect_sane(const char *name)
{
    const mxo_quant_rule *r = mxo_quant_rule_by_name(name);

    ck_assert_msg(r != NULL, "no row %s", name);
    ck_assert_msg(strcmp(r->name, name) == 0, "row %s is %s", name, r->name);
    ck_assert_msg(r->low <= r->high && r->high >= 254, "%s: clamp", name);
    ck_assert_msg(r->nan >= MXO_Q_FORMULA && r->nan <= 255, "%s: nan", name);
    ck_assert_msg(r->inf >= MXO_Q_FORMULA && r->inf <= 255, "%s: inf", name);
    ck_assert_msg(r->exponent != MXO_EXP_EVEN || r->carry != 0, "%s: carry",
                  name);
    ck_assert_msg(r->fp4.tie != MXO_TIE_SR && r->fp8.tie != MXO_TIE_SR,
                  "%s: no random bits here", name);
}

static const char *const ops[] = {"quant.mx", "quant.scale", "quant.group"};

START_TEST(every_rule_of_the_parameter_has_a_row)
{
    const char *at = strstr(info_of(ops[_i])->params[0], "rule:");
    char name[64];

    ck_assert_ptr_nonnull(at);
    at += strlen("rule:");
    while (*at != '=') {
        const size_t len = strcspn(at, "|=");

        ck_assert_uint_lt(len, sizeof name);
        memcpy(name, at, len);
        name[len] = '\0';
        expect_sane(name);
        at += len + (at[len] == '|');
    }
}
END_TEST

START_TEST(an_unknown_rule_has_no_row)
{
    ck_assert_ptr_null(mxo_quant_rule_by_name("rceil_mul"));
    ck_assert_ptr_null(mxo_quant_rule_by_name(""));
}
END_TEST

Suite *suite_quant_rules(void);
Suite *suite_quant_rules(void)
{
    Suite *s = suite_create("quant_rules");
    TCase *t = tcase_create("mxo_quant_rule_by_name");

    tcase_add_loop_test(t, every_rule_of_the_parameter_has_a_row, 0, 3);
    tcase_add_test(t, an_unknown_rule_has_no_row);
    suite_add_tcase(s, t);
    return s;
}
