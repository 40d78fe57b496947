/* SPDX-License-Identifier: Apache-2.0 */
/* Experts of tokens: distinct, unless the case says ids=repeated. */
#include "case/case_text.h"
#include "data/fill.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static char sentence[512];
static const mxo_text why = {sentence, sizeof sentence};

/* Has any token of the case an expert twice? */
static int repeats(const char *text)
{
    tensor_set in = {0};
    int found = 0;
    test_case c;

    ck_assert_msg(case_parse(&c, text, why) == 0, "%s", sentence);
    ck_assert_msg(fill_inputs(&c, 1, &in, why) == 0, "%s", sentence);
    const host_tensor *t = tensor_set_find(&in, "topk_ids");
    const uint64_t slots = t->shape[1];
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        for (uint64_t k = i - i % slots; k < i; k++) {
            const uint64_t id = tensor_load(t, i);
            found |= id == tensor_load(t, k) && id != 0xffffffff;
        }
    }
    tensor_set_clear(&in);
    return found;
}

START_TEST(ids_of_a_token_differ_unless_the_case_says_otherwise)
{
    static const char *const layers[] = {"orderfree", "crowd", "poisoned",
                                         "ordinary", "thin"};
    static const char *const sorts[] = {"distinct", "crowded", "single",
                                        "holes", "holes"};
    char text[256];

    for (int i = 0; i < 5; i++) {
        for (int again = 0; again < 2; again++) {
            const char *ids = again ? ",ids=repeated" : "";
            (void)snprintf(text, sizeof text,
                           "moe.layer:tokens=9,topk=4,experts=6,hidden=32,"
                           "inter=32,data=%s%s",
                           layers[i], ids);
            ck_assert_msg(repeats(text) == again, "%s", text);
            (void)snprintf(text, sizeof text,
                           "moe.sort:tokens=40,top_k=4,num_experts=8,data=%s%s",
                           sorts[i], i == 1 || i == 2 ? ids : "");
            ck_assert_msg(repeats(text) == (again && (i == 1 || i == 2)), "%s",
                          text);
        }
    }
}
END_TEST

/* No expert can be idle where a token needs them all; under a map it may need
   more than are here. */
START_TEST(ids_differ_among_as_many_experts_as_slots)
{
    const char *const kinds[] = {"crowd", "poisoned", "orderfree"};
    char text[256];

    for (int i = 0; i < 3; i++) {
        (void)snprintf(text, sizeof text,
                       "moe.layer:tokens=5,topk=3,experts=3,hidden=32,"
                       "inter=32,data=%s",
                       kinds[i]);
        ck_assert_msg(!repeats(text), "%s", text);
        (void)snprintf(text, sizeof text,
                       "moe.layer:tokens=5,topk=3,experts=2,global=4,hidden=32,"
                       "inter=32,map=1,data=%s",
                       kinds[i]);
        ck_assert_msg(!repeats(text), "%s", text);
    }
}
END_TEST

/* A layer that must be refused, and is asked all the same. */
START_TEST(a_map_of_no_experts_can_be_filled)
{
    static const char *const kinds[] = {"crowd", "lone", "random", "stray"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        tensor_set in = {0};
        char text[160];
        test_case c;
        (void)snprintf(text, sizeof text,
                       "moe.layer:tokens=2,hidden=32,topk=2,global=0,"
                       "experts=1,inter=32,map=1,data=%s",
                       kinds[i]);
        ck_assert_msg(case_parse(&c, text, why) == 0, "%s", sentence);
        ck_assert_msg(fill_inputs(&c, 1, &in, why) == 0, "%s", sentence);
        tensor_set_clear(&in);
    }
}
END_TEST

START_TEST(more_ids_than_experts_must_be_said)
{
    test_case c;

    ck_assert_int_ne(case_parse(&c,
                                "moe.layer:tokens=1,topk=3,experts=2,"
                                "hidden=32,inter=32",
                                why),
                     0);
    ck_assert_ptr_nonnull(strstr(sentence, "need ids=repeated"));
    ck_assert_int_eq(case_parse(&c,
                                "moe.layer:tokens=1,topk=3,experts=2,"
                                "hidden=32,inter=32,ids=repeated",
                                why),
                     0);
    ck_assert_int_ne(
        case_parse(&c, "quant.mx:rows=1,cols=32,ids=repeated", why), 0);
}
END_TEST

/* Of 195 pairs the even experts share all but one each of every fourth. */
START_TEST(thin_ids_leave_odd_experts_one_row_or_none)
{
    static const int least[8] = {40, 1, 40, 0, 40, 1, 40, 0};
    static const int most[8] = {60, 1, 60, 0, 60, 1, 60, 0};

    for (int topk = 1; topk <= 3; topk += 2) {
        tensor_set in = {0};
        int rows[8] = {0};
        char text[160];
        test_case c;
        (void)snprintf(text, sizeof text,
                       "moe.layer:tokens=%d,topk=%d,experts=8,hidden=32,"
                       "inter=32,data=thin",
                       195 / topk, topk);
        ck_assert_msg(case_parse(&c, text, why) == 0, "%s", sentence);
        ck_assert_msg(fill_inputs(&c, 1, &in, why) == 0, "%s", sentence);
        const host_tensor *t = tensor_set_find(&in, "topk_ids");
        for (uint64_t i = 0; i < tensor_elems(t); i++) {
            rows[tensor_load(t, i) % 8]++;
        }
        for (int e = 0; e < 8; e++) {
            ck_assert_msg(rows[e] >= least[e] && rows[e] <= most[e],
                          "%s: %d rows of %d", text, rows[e], e);
        }
        tensor_set_clear(&in);
    }
}
END_TEST

Suite *suite_fill_ids(void);
Suite *suite_fill_ids(void)
{
    Suite *s = suite_create("fill_ids");
    TCase *t = tcase_create("fill_ids");

    tcase_add_test(t, ids_of_a_token_differ_unless_the_case_says_otherwise);
    tcase_add_test(t, ids_differ_among_as_many_experts_as_slots);
    tcase_add_test(t, thin_ids_leave_odd_experts_one_row_or_none);
    tcase_add_test(t, a_map_of_no_experts_can_be_filled);
    tcase_add_test(t, more_ids_than_experts_must_be_said);
    suite_add_tcase(s, t);
    return s;
}
