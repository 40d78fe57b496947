/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No extent is too small for any kind of data: calls of each operation and kind
 * with every extent in turn of 0, 1, 2 and 3.  What is written beside a tensor
 * a sanitizer tells.
 */
#include "case/case_text.h"
#include "case/grid.h"
#include "data/fill.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { ENOUGH = 3, LARGEST = 1 << 18 /* bytes */, MOST_KINDS = 4096 };

typedef struct kind {
    const op_schema *op;
    char data[OP_WORD];
    int n_asked;
} kind;

static char sentence[512];
static const mxo_text why = {sentence, sizeof sentence};

static kind *kind_of(const test_case *c)
{
    static kind kinds[MOST_KINDS];
    int i = 0;

    while (kinds[i].op != NULL &&
           (kinds[i].op != c->schema || strcmp(kinds[i].data, c->data) != 0)) {
        i++;
        ck_assert_int_lt(i, MOST_KINDS);
    }
    kinds[i].op = c->schema;
    (void)snprintf(kinds[i].data, sizeof kinds[i].data, "%s", c->data);
    return &kinds[i];
}

/* 1 if such a call can be said and is small. */
static int fill_with(const test_case *c, const char *dim, int extent)
{
    test_case other = *c;
    tensor_set in = {0};
    char text[16];

    (void)snprintf(text, sizeof text, "%d", extent);
    if (case_set(&other, dim, text, why) != 0 || fill_bytes(&other) > LARGEST) {
        return 0;
    }
    (void)fill_inputs(&other, 1, &in,
                      why); /* a loader may have no such shape */
    tensor_set_clear(&in);
    return 1;
}

static int fill_small(const test_case *c)
{
    int n = 0;

    for (int i = 0; i < c->schema->n_dims; i++) {
        for (int extent = 0; extent <= 3; extent++) {
            n += fill_with(c, c->schema->dims[i], extent);
        }
    }
    return n;
}

START_TEST(no_extent_is_too_small)
{
    static char all[] = "*";
    char *const patterns[] = {all};
    case_list cases = {0};
    test_case c;
    int n = 0;

    ck_assert_msg(grid_append(&cases, 2, patterns, 1, 1, why) == 0, "%s",
                  sentence);
    for (size_t i = 0; i < cases.n; i++) {
        ck_assert_int_eq(case_parse(&c, cases.item[i].text, why), 0);
        kind *k = kind_of(&c);
        if (k->n_asked < ENOUGH) {
            const int n_filled = fill_small(&c);
            k->n_asked += n_filled > 0;
            n += n_filled;
        }
    }
    ck_assert_int_gt(n, 5000);
    case_list_clear(&cases);
}
END_TEST

Suite *suite_fill_extents(void);
Suite *suite_fill_extents(void)
{
    Suite *s = suite_create("fill_extents");
    TCase *t = tcase_create("fill_extents");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, no_extent_is_too_small);
    suite_add_tcase(s, t);
    return s;
}
