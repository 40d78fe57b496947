/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders of scales and codes: the examples of the sources, each map against
 * a walk in storage order (the second derivation), and bijection.
 */
#include "quant/layout.h"

#include <check.h>
#include <string.h>

static uint64_t offset(const quant_layout *l, uint64_t rows, uint64_t cols,
                       uint64_t r, uint64_t c)
{
    char why[256] = "";
    quant_place at;

    ck_assert_msg(quant_place_bind(&at, l, rows, cols,
                                   (mxo_text){why, sizeof why}) == MXO_OK,
                  "%s", why);
    return quant_place_at(&at, r, c);
}

static void expect_at(const char *name, uint64_t rows, uint64_t cols,
                      uint64_t r, uint64_t c, uint64_t want)
{
    const uint64_t got = offset(quant_sf_layout(name), rows, cols, r, c);

    ck_assert_msg(got == want, "%s (%u,%u) of [%u,%u]: got %u want %u", name,
                  (unsigned)r, (unsigned)c, (unsigned)rows, (unsigned)cols,
                  (unsigned)got, (unsigned)want);
}

START_TEST(the_examples_of_the_sources_hold)
{
    expect_at("128x4", 128, 8, 1, 0, 16);
    expect_at("128x4", 128, 8, 0, 1, 1);
    expect_at("128x4", 128, 8, 32, 0, 4);
    expect_at("128x4", 128, 8, 31, 3, 499);
    expect_at("128x4", 128, 8, 127, 3, 511);
    expect_at("128x4", 128, 8, 0, 4, 512);
    expect_at("aiter", 256, 8, 16, 0, 1);
    expect_at("aiter", 256, 8, 0, 4, 2);
    expect_at("aiter", 256, 8, 1, 0, 4);
    expect_at("aiter", 256, 8, 0, 1, 64);
    expect_at("aiter", 256, 8, 17, 6, 135);
    expect_at("aiter", 512, 16, 33, 9, 836);
    expect_at("aiter", 512, 16, 299, 11, 5100);
}
END_TEST

/* AITER shuffle.py: byte offsets, and where rows go. */
START_TEST(the_code_examples_of_the_sources_hold)
{
    const quant_layout *q = quant_q_layout("aiter_16x16");
    const quant_layout *gu = quant_q_layout("aiter_16x16_gate_up");

    ck_assert_uint_eq(offset(q, 32, 64, 1, 0), 16);
    ck_assert_uint_eq(offset(q, 32, 64, 0, 16), 256);
    ck_assert_uint_eq(offset(q, 32, 64, 3, 20), 308);
    ck_assert_uint_eq(offset(q, 32, 64, 17, 33), 1553);
    /* I = 32: 16 -> 32, 20 -> 36, 32 -> 16, 37 -> 21, 48 -> 48 */
    ck_assert_uint_eq(offset(gu, 64, 64, 20, 0), offset(q, 64, 64, 36, 0));
    ck_assert_uint_eq(offset(gu, 64, 64, 37, 5), offset(q, 64, 64, 21, 5));
    ck_assert_uint_eq(offset(gu, 64, 64, 48, 1), offset(q, 64, 64, 48, 1));
}
END_TEST

/* Walk the storage of 128x4: tiles, then q = 0..31, then q+32*j, then c. */
START_TEST(the_128x4_walk_meets_every_scale_once)
{
    uint64_t at = 0;

    for (uint64_t rt = 0; rt < 2; rt++) {
        for (uint64_t ct = 0; ct < 3; ct++) {
            for (uint64_t i = 0; i < 512; i++, at++) {
                expect_at("128x4", 256, 12, rt * 128 + i / 4 % 4 * 32 + i / 16,
                          ct * 4 + i % 4, at);
            }
        }
    }
}
END_TEST

START_TEST(the_8x4_walk_meets_every_scale_once)
{
    uint64_t at = 0;

    for (uint64_t rt = 0; rt < 3; rt++) {
        for (uint64_t ct = 0; ct < 2; ct++) {
            for (uint64_t i = 0; i < 32; i++, at++) {
                expect_at("8x4", 24, 8, rt * 8 + i / 4, ct * 4 + i % 4, at);
            }
        }
    }
}
END_TEST

static const char *const names[] = {"linear",
                                    "128x4",
                                    "8x4",
                                    "aiter_linear",
                                    "aiter",
                                    "aiter_a16w4",
                                    "aiter_a16w4_gate_up"};

START_TEST(every_scale_order_is_a_bijection)
{
    const quant_layout *l = quant_sf_layout(names[_i]);
    const uint64_t rows = quant_layout_rows(l, 256);
    const uint64_t cols = quant_layout_cols(l, 8);
    uint8_t seen[2048] = {0};

    ck_assert_str_eq(l->name, names[_i]);
    ck_assert_uint_eq(rows * cols, sizeof seen);
    for (uint64_t i = 0; i < rows * cols; i++) {
        const uint64_t at = offset(l, rows, cols, i / cols, i % cols);

        ck_assert_msg(at < sizeof seen && !seen[at], "%s: %u twice", names[_i],
                      (unsigned)at);
        seen[at] = 1;
    }
}
END_TEST

START_TEST(padded_shapes_are_flat_where_the_vendor_is)
{
    uint64_t shape[2];

    ck_assert_uint_eq(
        quant_layout_shape(quant_sf_layout("128x4"), 130, 5, shape), 1);
    ck_assert_uint_eq(shape[0], 256 * 8);
    ck_assert_uint_eq(quant_layout_shape(quant_sf_layout("8x4"), 9, 3, shape),
                      1);
    ck_assert_uint_eq(shape[0], 16 * 4);
    ck_assert_uint_eq(
        quant_layout_shape(quant_sf_layout("aiter"), 48, 4, shape), 2);
    ck_assert_uint_eq(shape[0], 256);
    ck_assert_uint_eq(shape[1], 8);
}
END_TEST

START_TEST(unfit_sizes_are_refused_in_a_sentence)
{
    char text[200] = "";
    const mxo_text why = {text, sizeof text};
    const quant_layout *l = quant_sf_layout("aiter_a16w4");

    ck_assert_int_eq(quant_layout_check(l, 33, 8, "scale", why), MXO_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(text, "multiples of 32"));
    ck_assert_int_eq(quant_layout_check(l, 32, 7, "scale", why), MXO_E_SHAPE);
    ck_assert_int_eq(quant_layout_check(l, 32, 8, "scale", why), MXO_OK);
}
END_TEST

Suite *suite_quant_layout(void);
Suite *suite_quant_layout(void)
{
    Suite *s = suite_create("quant_layout");
    TCase *t = tcase_create("quant_place_at");
    TCase *shape = tcase_create("quant_layout_shape");

    tcase_add_test(t, the_examples_of_the_sources_hold);
    tcase_add_test(t, the_code_examples_of_the_sources_hold);
    tcase_add_test(t, the_128x4_walk_meets_every_scale_once);
    tcase_add_test(t, the_8x4_walk_meets_every_scale_once);
    tcase_add_loop_test(t, every_scale_order_is_a_bijection, 0, 7);
    tcase_add_test(shape, padded_shapes_are_flat_where_the_vendor_is);
    tcase_add_test(shape, unfit_sizes_are_refused_in_a_sentence);
    suite_add_tcase(s, t);
    suite_add_tcase(s, shape);
    return s;
}
