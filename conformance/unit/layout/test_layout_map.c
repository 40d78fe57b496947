/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notation itself: every construct on a small map whose answer is written
 * out here, every way a row can be malformed, pads, and the arithmetic at
 * sizes no test allocates.
 */
#include <mxoracle/layout.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

static mxo_layout_row row_of(const char *map)
{
    const mxo_layout_row row = {
        "test.row", "any", "keep", "width=4", "half=$width/2", "", map, "", ""};

    return row;
}

static mxo_status bind(mxo_layout *l, const char *map, const char *name,
                       uint64_t rows, uint64_t cols, char why[256])
{
    static mxo_layout_row row;
    const uint64_t extent[3] = {1, rows, cols};

    row = row_of(map);
    why[0] = '\0';
    return mxo_layout_bind(l, &row, name, 1, extent, (mxo_text){why, 256});
}

/* Where each unit of a small tensor goes. */
static void expect(const char *map, uint64_t rows, uint64_t cols,
                   const int *where, uint64_t n)
{
    mxo_layout l;
    char why[256];

    ck_assert_msg(bind(&l, map, "test.row", rows, cols, why) == MXO_OK,
                  "%s: %s", map, why);
    ck_assert_uint_eq(l.n_units, n);
    for (uint64_t i = 0; i < n; i++) {
        ck_assert_msg(mxo_layout_forward(&l, i) == (uint64_t)where[i],
                      "%s: %llu goes to %llu", map, (unsigned long long)i,
                      (unsigned long long)mxo_layout_forward(&l, i));
        ck_assert_msg(mxo_layout_inverse(&l, (uint64_t)where[i]) == i,
                      "%s: back to %llu", map, (unsigned long long)i);
    }
}

START_TEST(digits_are_reordered)
{
    static const int transposed[] = {0, 3, 1, 4, 2, 5};
    static const int pairs[] = {0, 1, 4, 5, 2, 3, 6, 7};

    expect("E R C -> E C R", 3, 2, transposed, 6);
    expect("E R (c:2 d:2) -> E c R d", 2, 4, pairs, 8);
}
END_TEST

START_TEST(tables_store_value_v_as_entry_v)
{
    static const int swapped[] = {2, 3, 0, 1};
    static const int three[] = {2, 0, 1};
    static const int both[] = {3, 2, 0, 1};

    expect("E (h:2 R) C -> E (h[1 0] R) C", 4, 1, swapped, 4);
    expect("E R:3 C -> E R[2 0 1] C", 3, 1, three, 3);
    expect("E a:2 b:2 -> E <a b>[3 2 0 1]", 2, 2, both, 4);
}
END_TEST

START_TEST(nibbles_and_bits_are_little_endian)
{
    static const int nibbles[] = {0, 2, 1, 3};
    static const int bits[] = {7, 6, 5, 4, 3, 2, 1, 0};

    expect("E R C f:2 -> E (R f C)", 1, 2, nibbles, 4);
    expect("E R C f:2 i:4 -> E R <C f i>[7 6 5 4 3 2 1 0]", 1, 1, bits, 8);
}
END_TEST

START_TEST(parameters_come_from_the_name)
{
    mxo_layout l;
    char why[256];

    ck_assert_int_eq(
        bind(&l, "E R (C w:$width) -> E C R w", "test.row/width=6", 2, 12, why),
        MXO_OK);
    ck_assert_uint_eq(mxo_layout_forward(&l, 6), 12);
    ck_assert_int_eq(
        bind(&l, "E R (C w:$half) -> E C R w", "test.row/width=6", 2, 12, why),
        MXO_OK);
    ck_assert_uint_eq(mxo_layout_forward(&l, 3), 6);
    ck_assert_int_eq(bind(&l, "E R C -> E C R", "test.row/depth=6", 2, 12, why),
                     MXO_E_PARAM);
    ck_assert_ptr_nonnull(strstr(why, "no parameter \"depth\""));
    ck_assert_int_eq(bind(&l, "E R C -> E C R", "test.row/width=x", 2, 12, why),
                     MXO_E_PARAM);
}
END_TEST

START_TEST(pads_hold_what_the_row_says)
{
    mxo_layout l;
    char why[256];
    uint64_t src;
    uint8_t byte = 1;

    ck_assert_int_eq(bind(&l, "E (R a:2)^4=7f (C b:2)^=? -> E R C a b",
                          "test.row", 3, 3, why),
                     MXO_OK);
    ck_assert_uint_eq(l.padded[1], 4);
    ck_assert_uint_eq(l.padded[2], 4);
    const uint64_t row_pad = mxo_layout_forward(&l, 3 * 4 + 1);
    const uint64_t col_pad = mxo_layout_forward(&l, 1 * 4 + 3);
    const uint64_t both = mxo_layout_forward(&l, 3 * 4 + 3);

    ck_assert_int_eq(mxo_layout_content_at(&l, row_pad, &src, &byte),
                     MXO_LAYOUT_PAD);
    ck_assert_uint_eq(byte, 0x7f);
    ck_assert_int_eq(mxo_layout_content_at(&l, col_pad, &src, &byte),
                     MXO_LAYOUT_UNDEFINED);
    ck_assert_int_eq(mxo_layout_content_at(&l, both, &src, &byte),
                     MXO_LAYOUT_UNDEFINED);
    ck_assert_int_eq(mxo_layout_content_at(
                         &l, mxo_layout_forward(&l, 2 * 4 + 2), &src, &byte),
                     MXO_LAYOUT_LIVE);
    ck_assert_uint_eq(src, 2 * 3 + 2);
    ck_assert_uint_eq(mxo_layout_padded_index(&l, src), 2 * 4 + 2);
}
END_TEST

START_TEST(a_pad_of_two_axes_is_the_first_ones)
{
    mxo_layout l;
    char why[256];
    uint64_t src;
    uint8_t byte = 0;

    ck_assert_int_eq(bind(&l, "E (R a:2)^4=7f (C b:2)^=01 -> E R C a b",
                          "test.row", 3, 3, why),
                     MXO_OK);
    ck_assert_int_eq(mxo_layout_content_at(
                         &l, mxo_layout_forward(&l, 3 * 4 + 3), &src, &byte),
                     MXO_LAYOUT_PAD);
    ck_assert_uint_eq(byte, 0x7f);
    ck_assert_int_eq(mxo_layout_content_at(
                         &l, mxo_layout_forward(&l, 1 * 4 + 3), &src, &byte),
                     MXO_LAYOUT_PAD);
    ck_assert_uint_eq(byte, 0x01);
}
END_TEST

/* Two experts of three rows, padded behind the last one alone. */
START_TEST(a_stack_is_padded_once)
{
    static const uint64_t extent[3] = {2, 3, 1};
    static const uint64_t to[] = {0, 2, 4, 6, 1, 3};
    const mxo_layout_row row = row_of("* (r:2 R)^8=7f C -> R r C");
    mxo_layout l;
    char why[256];
    uint64_t src;
    uint8_t byte = 0;

    ck_assert_int_eq(
        mxo_layout_bind(&l, &row, "test.row", 1, extent, (mxo_text){why, 256}),
        MXO_OK);
    ck_assert_uint_eq(l.n_units, 8);
    ck_assert_uint_eq(l.padded[0], 1);
    ck_assert_uint_eq(l.padded[1], 8);
    for (uint64_t i = 0; i < 6; i++) {
        ck_assert_uint_eq(
            mxo_layout_forward(&l, mxo_layout_padded_index(&l, i)), to[i]);
        ck_assert_int_eq(mxo_layout_content_at(&l, to[i], &src, &byte),
                         MXO_LAYOUT_LIVE);
        ck_assert_uint_eq(src, i);
    }
    ck_assert_int_eq(mxo_layout_content_at(&l, 7, &src, &byte), MXO_LAYOUT_PAD);
    ck_assert_uint_eq(byte, 0x7f);
}
END_TEST

START_TEST(malformed_rows_are_refused)
{
    static const char *const maps[] = {
        "",
        "E R -> E R",
        "E R C",
        "E R C -> E R",
        "E R C -> E R C C",
        "E R C -> E R X",
        "E (R S) C -> E R S C",
        "E (R r:0) C -> E R r C",
        "E (R r:2 C -> E R r C",
        "E R C -> E (R C",
        "E h:2 C -> E h[1 1] C",
        "E h:2 C -> E h[1 2] C",
        "E h:2 C -> E h[1] C",
        "E h:2 C -> E h[1 0 C",
        "E R C f:3 -> E R C f",
        "E R C f:2 i:8 -> E R C f i",
        "E R C^=g0 -> E R C",
        "E R C^$depth -> E R C",
        "E R C -> E (R C) )",
        "E R C f:2 -> E f (R C) E",
        "R R C -> R R C",
        "* E R C -> E R C",
        "* R -> R",
        "R * C -> R C",
        "* (R r:4) C -> R r C",
    };
    mxo_layout l;
    char why[256];

    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        ck_assert_msg(bind(&l, maps[i], "test.row", 2, 2, why) != MXO_OK,
                      "\"%s\" was taken", maps[i]);
        ck_assert_msg(why[0] != '\0', "\"%s\" without a word", maps[i]);
    }
}
END_TEST

START_TEST(a_shape_off_the_granule_is_refused_in_words)
{
    mxo_layout l;
    char why[256];

    ck_assert_int_eq(
        bind(&l, "E (R r:16) C -> E R C r", "test.row", 70, 1, why),
        MXO_E_SHAPE);
    ck_assert_ptr_nonnull(strstr(why, "rows = 70 is no multiple of 16"));
}
END_TEST

START_TEST(every_row_of_the_table_binds_at_its_granule)
{
    char why[400];
    mxo_layout l;

    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        const mxo_layout_row *row = mxo_layout_at(i);
        const uint64_t extent[3] = {2, 1536, 1536};
        const uint32_t bytes =
            strstr(row->bits, "8") == row->bits || strcmp(row->bits, "any") == 0
                ? 1
            : strstr(row->bits, "16") == row->bits ? 2
                                                   : 4;
        const mxo_status status = mxo_layout_bind(&l, row, row->id, bytes,
                                                  extent, (mxo_text){why, 400});
        ck_assert_msg(status != MXO_E_PARAM, "%s", why);
        ck_assert_msg(i == 0 || strcmp(mxo_layout_at(i - 1)->id, row->id) < 0,
                      "%s is out of order", row->id);
    }
}
END_TEST

/* Whether the expert is the outermost digit, and a dimension of three. */
static int keeps_experts_apart(const mxo_layout *l)
{
    const mxo_layout_term *t = &l->term[0];

    return t->n == 1 && !t->mapped && t->size == l->extent[0] &&
           l->digit[t->first].src == l->n_dense / l->extent[0] &&
           (l->rank != 3 || l->shape[0] == l->extent[0]);
}

/* The layer brings its weights back an expert at a time: rows of a stack are
   neighbours, wherever they go. */
START_TEST(every_row_keeps_experts_apart)
{
    mxo_layout l;
    char why[400];
    int n = 0;

    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        const mxo_layout_row *row = mxo_layout_at(i);
        for (uint32_t bytes = 1; bytes <= 4; bytes *= 2) {
            const uint64_t extent[3] = {2, 1536, 1536};
            if (mxo_layout_bind(&l, row, row->id, bytes, extent,
                                (mxo_text){why, 400}) == MXO_OK) {
                ck_assert_msg(row->map[0] == '*' || keeps_experts_apart(&l),
                              "%s", row->id);
                n++;
            }
        }
    }
    ck_assert_int_gt(n, 100);
    ck_assert_int_eq(bind(&l, "E R C -> R E C", "test.row", 3, 2, why), MXO_OK);
    ck_assert(!keeps_experts_apart(&l));
}
END_TEST

START_TEST(positions_beyond_32_bits_are_exact)
{
    const uint64_t extent[3] = {128, 131072, 512};
    mxo_layout l;
    char why[256];

    ck_assert_int_eq(mxo_layout_bind(&l, mxo_layout_find("flashinfer.128x4"),
                                     "flashinfer.128x4", 1, extent,
                                     (mxo_text){why, 256}),
                     MXO_OK);
    /* off(r, c) of the vendor's kernel, expert by expert */
    const uint64_t e = 100;
    const uint64_t r = 77777;
    const uint64_t c = 333;
    const uint64_t off = ((r / 128) * 128 + c / 4) * 512 + r % 32 * 16 +
                         r % 128 / 32 * 4 + c % 4;
    const uint64_t src = (e * 131072 + r) * 512 + c;

    ck_assert_uint_eq(mxo_layout_forward(&l, src), e * 131072 * 512 + off);
    ck_assert_uint_eq(mxo_layout_inverse(&l, e * 131072 * 512 + off), src);
}
END_TEST

Suite *suite_layout_map(void);
Suite *suite_layout_map(void)
{
    Suite *s = suite_create("layout_map");
    TCase *t = tcase_create("notation");

    tcase_add_test(t, digits_are_reordered);
    tcase_add_test(t, tables_store_value_v_as_entry_v);
    tcase_add_test(t, nibbles_and_bits_are_little_endian);
    tcase_add_test(t, parameters_come_from_the_name);
    tcase_add_test(t, pads_hold_what_the_row_says);
    tcase_add_test(t, a_pad_of_two_axes_is_the_first_ones);
    tcase_add_test(t, a_stack_is_padded_once);
    tcase_add_test(t, malformed_rows_are_refused);
    tcase_add_test(t, a_shape_off_the_granule_is_refused_in_words);
    tcase_add_test(t, every_row_of_the_table_binds_at_its_granule);
    tcase_add_test(t, every_row_keeps_experts_apart);
    tcase_add_test(t, positions_beyond_32_bits_are_exact);
    suite_add_tcase(s, t);
    return s;
}
