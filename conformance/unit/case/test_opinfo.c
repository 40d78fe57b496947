/* SPDX-License-Identifier: Apache-2.0 */
/* The notation of mxo_op_info, legal and not. */
#include "case/opinfo.h"

#include <check.h>
#include <string.h>

static const mxo_op_info sample = {
    "sample.op",
    "a sample",
    {"element:e2m1|e4m3fn=e2m1 group:int=32 alpha:real=1.702 ",
     "limit:real?=none on:bool=0"},
    "x:$element[rows,2*cols] q:u8[rows,cols/pack]?on=1 s:f32[cols/32,4] "
    "e:i32[rows/group]",
    "y",
};

static int parse(op_schema *s, const char *params, const char *in)
{
    const mxo_op_info info = {"bad.op", "", {params}, in, "y"};
    char why[256] = "";
    const int status = op_schema_parse(s, &info, (mxo_text){why, sizeof why});

    ck_assert_msg((status == 0) == (why[0] == '\0'), "%s | %s: \"%s\"", params,
                  in, why);
    return status;
}

START_TEST(parameters_have_kind_domain_and_default)
{
    static const param_kind kinds[] = {PARAM_CHOICE, PARAM_INT, PARAM_REAL,
                                       PARAM_REAL_OR_NONE, PARAM_BOOL};
    static const char *const standards[] = {"e2m1", "32", "1.702", "none", "0"};
    char why[256];
    op_schema s;

    ck_assert_int_eq(op_schema_parse(&s, &sample, (mxo_text){why, 256}), 0);
    ck_assert_int_eq(s.n_params, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_msg(s.params[i].kind == kinds[i], "%s", s.params[i].key);
        ck_assert_str_eq(s.params[i].standard, standards[i]);
    }
    ck_assert(span_lists(s.params[0].choices, "e4m3fn"));
    ck_assert(!span_lists(s.params[0].choices, "e4m3"));
}
END_TEST

START_TEST(inputs_have_extents_and_conditions)
{
    char why[256];
    op_schema s;

    ck_assert_int_eq(op_schema_parse(&s, &sample, (mxo_text){why, 256}), 0);
    ck_assert_int_eq(s.n_inputs, 4);
    ck_assert_int_eq(s.n_dims, 2);
    ck_assert_uint_eq(s.inputs[0].shape[1].multiple, 2);
    ck_assert_int_eq(s.inputs[0].when, -1);
    ck_assert_int_eq(s.inputs[1].shape[1].pack, 1);
    ck_assert_int_eq(s.inputs[1].when, op_param_index(&s, "on"));
    ck_assert(span_lists(s.inputs[1].values, "1"));
    ck_assert_uint_eq(s.inputs[2].shape[0].divisor, 32);
    ck_assert_int_eq(s.inputs[2].shape[1].dim, -1);
    ck_assert_uint_eq(s.inputs[2].shape[1].multiple, 4);
    ck_assert_int_eq(s.inputs[3].shape[0].by, op_param_index(&s, "group"));
}
END_TEST

START_TEST(bad_descriptions_are_refused)
{
    op_schema s;

    ck_assert_int_eq(parse(&s, "", "x:f32[n]"), 0);
    ck_assert_int_eq(parse(&s, "a:b|c=d", ""), -1);
    ck_assert_int_eq(parse(&s, "a:int", ""), -1);
    ck_assert_int_eq(parse(&s, "a:int=", ""), -1);
    ck_assert_int_eq(parse(&s, "", "x:f32[n"), -1);
    ck_assert_int_eq(parse(&s, "", "x:f32[a*b]"), -1);
    ck_assert_int_eq(parse(&s, "", "x:f32[n/0]"), -1);
    ck_assert_int_eq(parse(&s, "", "x:f32[n/m]"), -1);
    ck_assert_int_eq(parse(&s, "", "x:$no[n]"), -1);
    ck_assert_int_eq(parse(&s, "", "x:f32[n]?no=1"), -1);
    ck_assert_int_eq(parse(&s, "", "x:f32[a,b,c,d,e,f,g]"), -1);
}
END_TEST

START_TEST(every_operation_of_the_emulator_is_described)
{
    ck_assert_int_gt(op_count(), 20);
    for (int i = 0; i < op_count(); i++) {
        const op_schema *s = op_at(i);
        ck_assert_msg(s->n_inputs > 0, "%s", s->info->name);
        ck_assert_msg(op_by_name(s->info->name) == s, "%s", s->info->name);
    }
    ck_assert_ptr_null(op_by_name("quant.mxx"));
}
END_TEST

Suite *suite_opinfo(void);
Suite *suite_opinfo(void)
{
    Suite *s = suite_create("opinfo");
    TCase *t = tcase_create("opinfo");

    tcase_add_test(t, parameters_have_kind_domain_and_default);
    tcase_add_test(t, inputs_have_extents_and_conditions);
    tcase_add_test(t, bad_descriptions_are_refused);
    tcase_add_test(t, every_operation_of_the_emulator_is_described);
    suite_add_tcase(s, t);
    return s;
}
