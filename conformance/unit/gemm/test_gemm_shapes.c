/* SPDX-License-Identifier: Apache-2.0 */
/* Products that a case is compared with, counted by hand. */
#include "bench/gemm.h"

#include <check.h>
#include <stdlib.h>

static gemm_shape *shape;

static size_t shapes(const char *text, uint64_t repeats)
{
    tensor_set in = {0};
    char why[256];
    const mxo_text room = {why, sizeof why};
    test_case c;

    ck_assert_msg(case_parse(&c, text, room) == 0, "%s", why);
    ck_assert_msg(fill_inputs(&c, 1, &in, room) == 0, "%s", why);
    const size_t n = gemm_shapes_of(&c, &in, repeats, &shape);
    tensor_set_clear(&in);
    return n;
}

static void expect(size_t i, uint64_t m, uint64_t n, uint64_t k)
{
    ck_assert_uint_eq(shape[i].m, m);
    ck_assert_uint_eq(shape[i].n, n);
    ck_assert_uint_eq(shape[i].k, k);
}

START_TEST(a_layer_has_two_products_per_expert)
{
    ck_assert_uint_eq(
        shapes("moe.layer:tokens=5,topk=2,experts=2,hidden=64,inter=96", 1), 4);
    expect(0, 5, 192, 64);
    expect(1, 5, 192, 64);
    expect(2, 5, 64, 96);
    expect(3, 5, 64, 96);
    free(shape);
}
END_TEST

/* One token takes one of three experts. */
START_TEST(an_expert_without_tokens_has_no_product)
{
    ck_assert_uint_eq(
        shapes("moe.layer:tokens=1,topk=1,experts=3,hidden=32,inter=64", 1), 2);
    expect(0, 1, 128, 32);
    expect(1, 1, 32, 64);
    free(shape);
}
END_TEST

START_TEST(half_a_layer_has_one_product_per_expert)
{
    ck_assert_uint_eq(
        shapes("moe.gemm1:tokens=1,topk=1,experts=1,hidden=32,inter=64", 1), 1);
    expect(0, 1, 128, 32);
    free(shape);
    ck_assert_uint_eq(
        shapes("moe.gemm2:tokens=1,topk=1,experts=1,hidden=32,inter=64", 1), 1);
    expect(0, 1, 32, 64);
    free(shape);
}
END_TEST

START_TEST(a_plain_product_grows_by_rows)
{
    ck_assert_uint_eq(shapes("gemm.mx:rows=3,cols=5,k=64", 7), 1);
    expect(0, 21, 5, 64);
    free(shape);
}
END_TEST

START_TEST(what_does_not_say_who_gets_tokens_has_none)
{
    ck_assert_uint_eq(shapes("moe.layer_routed:tokens=2,top_k=1,experts=3,"
                             "hidden=32,inter=32",
                             1),
                      0);
    free(shape);
    ck_assert_uint_eq(shapes("dequant.mx:rows=2,cols=32", 1), 0);
    free(shape);
}
END_TEST

Suite *suite_gemm_shapes(void);

Suite *suite_gemm_shapes(void)
{
    Suite *s = suite_create("gemm_shapes");
    TCase *layers = tcase_create("layers");
    TCase *others = tcase_create("others");

    tcase_add_test(layers, a_layer_has_two_products_per_expert);
    tcase_add_test(layers, an_expert_without_tokens_has_no_product);
    tcase_add_test(layers, half_a_layer_has_one_product_per_expert);
    tcase_add_test(others, a_plain_product_grows_by_rows);
    tcase_add_test(others, what_does_not_say_who_gets_tokens_has_none);
    suite_add_tcase(s, layers);
    suite_add_tcase(s, others);
    return s;
}
