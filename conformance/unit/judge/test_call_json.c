/* SPDX-License-Identifier: Apache-2.0 */
/* A call that crosses to the subject's process arrives as it was sent. */
#include "exec/call_json.h"

#include <check.h>
#include <math.h>
#include <string.h>

static void at_eight(const mxo_tensor *t, json_t *o)
{
    (void)t;
    (void)json_object_set_new(o, "offset", json_u64(8));
}

/* The number that the subject sees for a parameter of this text. */
static double number_seen(const char *text)
{
    const mxo_param param = {"alpha", text, 0};
    mxo_call call = {0};
    json_t *object = json_object();
    read_call r;

    call.op = "act.glu";
    call.params = &param;
    call.n_params = 1;
    call_to_json(&call, at_eight, object);
    ck_assert_int_eq(call_from_json(&r, object), 0);
    ck_assert_str_eq(r.params[0].text, text);
    const double x = r.params[0].number;
    json_decref(object);
    return x;
}

START_TEST(numbers_arrive_as_numbers)
{
    ck_assert(number_seen("1.702") == 1.702);
    ck_assert(number_seen("4.9e-324") == 4.9e-324);
    ck_assert(signbit(number_seen("-0")));
    ck_assert(isinf(number_seen("-inf")));
    /* A value that a backend has to refuse must not become 0. */
    ck_assert(isnan(number_seen("nan")));
}
END_TEST

START_TEST(words_have_the_number_0)
{
    static const char *const words[] = {"none", "bf16", "", "7x", "profile"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        ck_assert_msg(number_seen(words[i]) == 0, "%s", words[i]);
    }
}
END_TEST

START_TEST(extents_keep_all_64_bits)
{
    mxo_tensor t = {0};
    mxo_call call = {0};
    json_t *object = json_object();
    read_call r;

    t.name = "x";
    t.dtype = MXO_U8;
    t.rank = 2;
    t.shape[0] = UINT64_MAX;
    t.shape[1] = UINT64_C(1) << 63;
    t.n_bytes = INT64_MAX;
    call.op = "layout.index";
    call.in = &t;
    call.n_in = 1;
    call_to_json(&call, at_eight, object);
    ck_assert_int_eq(call_from_json(&r, object), 0);
    ck_assert(r.in[0].shape[0] == UINT64_MAX);
    ck_assert(r.in[0].shape[1] == UINT64_C(1) << 63);
    ck_assert(r.in[0].n_bytes == INT64_MAX && r.in[0].offset == 8);
    json_decref(object);
}
END_TEST

Suite *suite_call_json(void);
Suite *suite_call_json(void)
{
    Suite *s = suite_create("call_json");
    TCase *t = tcase_create("call_json");

    tcase_add_test(t, numbers_arrive_as_numbers);
    tcase_add_test(t, words_have_the_number_0);
    tcase_add_test(t, extents_keep_all_64_bits);
    suite_add_tcase(s, t);
    return s;
}
