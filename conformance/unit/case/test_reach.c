/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that no grid takes beyond one tile are taken there by reach.c, on one
 * axis and on all at once: legal calls, the same whatever else is asked for.
 */
#include "case/grid.h"
#include "served.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <string.h>

/* Each ended at a smaller extent in all other cases of level 2. */
static const struct {
    const char *op, *key, *value;
    struct {
        const char *dim;
        uint64_t least;
    } at_once[4];
} wanted[] = {
    {"dequant.mx", "rule", "marlin", {{"rows", 66}}},
    {"dequant.mx", "rule", "ggml", {{"cols", 257}}},
    {"layout.apply", "layout", "marlin.scale_a8", {{"cols", 257}}},
    {"act.glu", "from", "f64", {{"cols", 257}}},
    {"moe.nvfp4_gemm2", "from", "f16", {{"hidden", 66}}},
    {"moe.layer_routed", "profile", "MARLIN", {{"inter", 129}}},
    {"dequant.mx", "rule", "marlin", {{"rows", 66}, {"cols", 257}}},
    {"layout.apply",
     "layout",
     "marlin.scale_a8",
     {{"rows", 66}, {"cols", 257}, {"experts", 2}}},
    {"gemm.mx", "acc", "seq", {{"rows", 18}, {"cols", 18}, {"k", 129}}},
    {"moe.gemm1",
     "quant_rule",
     "floor",
     {{"tokens", 18}, {"inter", 18}, {"hidden", 129}, {"experts", 2}}},
    {"route.topk", "dialect", "vllm_cpu", {{"tokens", 66}, {"experts", 257}}},
};

static int goes_as_far(const test_case *c, int at)
{
    for (int i = 0; i < 4 && wanted[at].at_once[i].dim != NULL; i++) {
        if (case_dim(c, wanted[at].at_once[i].dim) <
            wanted[at].at_once[i].least) {
            return 0;
        }
    }
    return 1;
}

enum { N_WANTED = sizeof wanted / sizeof wanted[0] };

static case_list cases_of(const char *op)
{
    char *patterns[] = {(char *)op};
    case_list l = {0};
    char text[400];

    ck_assert_msg(grid_append(&l, 2, patterns, op != NULL, 1,
                              (mxo_text){text, sizeof text}) == 0,
                  "%s", text);
    return l;
}

START_TEST(a_value_goes_beyond_one_tile)
{
    case_list l = cases_of(wanted[_i].op);
    char text[400];
    const mxo_text why = {text, sizeof text};
    int found = 0;
    subject emu;

    ck_assert_int_eq(subject_open(&emu, mxo_emulator(), 0, why), MXO_OK);
    for (size_t i = 0; i < l.n && !found; i++) {
        test_case c;

        ck_assert_msg(case_parse(&c, l.item[i].text, why) == 0, "%s", text);
        found = c.flaw[0] == '\0' &&
                strcmp(case_value(&c, wanted[_i].key), wanted[_i].value) == 0 &&
                goes_as_far(&c, _i) && is_served(&emu, &c);
    }
    subject_close(&emu);
    case_list_clear(&l);
    ck_assert_msg(found, "%s: no legal case with %s=%s", wanted[_i].op,
                  wanted[_i].key, wanted[_i].value);
}
END_TEST

START_TEST(no_other_operation_changes_what_is_asked)
{
    case_list all = cases_of(NULL);
    case_list one = cases_of("dequant.mx");
    size_t n = 0;

    for (size_t i = 0; i < all.n; i++) {
        if (strncmp(all.item[i].text, "dequant.mx:", 11) == 0) {
            ck_assert_uint_lt(n, one.n);
            ck_assert_str_eq(all.item[i].text, one.item[n++].text);
        }
    }
    ck_assert_uint_eq(n, one.n);
    case_list_clear(&all);
    case_list_clear(&one);
}
END_TEST

Suite *suite_reach(void);

Suite *suite_reach(void)
{
    Suite *s = suite_create("reach");
    TCase *t = tcase_create("second tiles");

    tcase_add_loop_test(t, a_value_goes_beyond_one_tile, 0, N_WANTED);
    tcase_add_test(t, no_other_operation_changes_what_is_asked);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
