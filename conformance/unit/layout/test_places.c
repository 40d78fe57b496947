/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few bytes of memory against layouts of a tensor that it does not hold:
 * every layout that moves values as they are must be seen there not to fit, so
 * that no tensor is moved for it.
 */
#include "layout/places.h"

#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { E = 2, ROWS = 256, COLS = 512, MOST = 1 << 23 };

static uint8_t logical[E * ROWS * COLS];
static uint8_t memory[MOST];

static void draw(uint8_t *to, size_t n, uint64_t state)
{
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        to[i] = (uint8_t)(state >> 56);
    }
}

/* Bytes of the memory; 0: the layout does not take this tensor. */
static uint64_t memory_bytes(const char *layout)
{
    const uint64_t extent[3] = {E, ROWS, COLS};
    char text[256];
    const mxo_text why = {text, sizeof text};
    mxo_layout l;

    if (mxo_layout_bind(&l, mxo_layout_find(layout), layout, 1, extent, why) !=
        MXO_OK) {
        return 0;
    }
    return l.n_units / l.units;
}

static layout_evidence evidence_of(const char *layout)
{
    layout_evidence e = {.table = mxo_emulator(),
                         .layout = layout,
                         .dtype = MXO_U8,
                         .extent = {E, ROWS, COLS},
                         .logical = logical,
                         .actual = memory,
                         .n_actual = memory_bytes(layout)};

    ck_assert_uint_le(e.n_actual, MOST);
    places_choose(&e);
    return e;
}

START_TEST(bytes_of_another_tensor_do_not_fit)
{
    int n = 0;

    draw(logical, sizeof logical, 1);
    draw(memory, sizeof memory, 2);
    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        const mxo_layout_row *row = mxo_layout_at(i);
        const layout_evidence e = evidence_of(row->id);

        if (e.n_actual == 0 || strcmp(row->values, "keep") != 0) {
            continue;
        }
        n++;
        ck_assert_msg(!places_fit(&e, row->id, logical, NULL),
                      "%s: it fits everywhere looked", row->id);
    }
    ck_assert_int_ge(n, 40);
}
END_TEST

START_TEST(one_wrong_byte_is_looked_at)
{
    draw(logical, sizeof logical, 1);
    memcpy(memory, logical, sizeof logical);
    layout_evidence e = evidence_of("vllm.as_is");

    ck_assert_int_eq(places_fit(&e, "vllm.as_is", logical, NULL), 1);
    e.expected = logical;
    memory[54321] ^= 1;
    places_choose(&e);
    ck_assert_int_eq(places_fit(&e, "vllm.as_is", logical, NULL), 0);
}
END_TEST

Suite *suite_places(void);
Suite *suite_places(void)
{
    Suite *s = suite_create("places");
    TCase *t = tcase_create("places");

    tcase_add_test(t, bytes_of_another_tensor_do_not_fit);
    tcase_add_test(t, one_wrong_byte_is_looked_at);
    suite_add_tcase(s, t);
    return s;
}
