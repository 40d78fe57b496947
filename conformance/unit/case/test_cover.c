/* SPDX-License-Identifier: Apache-2.0 */
/* Combinations that meet every two, or three, values: told here by counting
   over all axes, in another way than the search. */
#include "case/cover.h"

#include <check.h>

enum { AXES = 6, MOST_ROWS = 400 };

static const uint64_t sizes[AXES] = {7, 3, 2, 5, 1, 4};

typedef struct table {
    uint64_t row[MOST_ROWS][COVER_AXES];
    int n;
} table;

static void fill_table(table *t, int strength, int n_axes)
{
    cover *c = cover_new(strength, n_axes, sizes);

    ck_assert_ptr_nonnull(c);
    t->n = 0;
    while (cover_next(c, t->row[t->n])) {
        for (int i = 0; i < n_axes; i++) {
            ck_assert_uint_lt(t->row[t->n][i], sizes[i]);
        }
        ck_assert_int_lt(++t->n, MOST_ROWS);
    }
    cover_free(c);
}

/* Rows with these values on these axes. */
static int count(const table *t, const int *axis, const uint64_t *value, int n)
{
    int found = 0;

    for (int r = 0; r < t->n; r++) {
        int all = 1;

        for (int i = 0; i < n; i++) {
            all = all && t->row[r][axis[i]] == value[i];
        }
        found += all;
    }
    return found;
}

static void expect_pairs(const table *t, int n_axes)
{
    for (int a = 0; a < n_axes; a++) {
        for (int b = a + 1; b < n_axes; b++) {
            for (uint64_t i = 0; i < sizes[a] * sizes[b]; i++) {
                const int axis[] = {a, b};
                const uint64_t value[] = {i / sizes[b], i % sizes[b]};

                ck_assert_msg(count(t, axis, value, 2) > 0,
                              "axes %d and %d: value %d", a, b, (int)i);
            }
        }
    }
}

START_TEST(two_and_two_are_met_in_few)
{
    static table t;

    for (int n = 2; n <= AXES; n++) {
        fill_table(&t, 2, n);
        expect_pairs(&t, n);
    }
    /* 7 times 5 are the least. */
    ck_assert_int_le(t.n, 40);
}
END_TEST

START_TEST(three_and_three_are_met_in_few)
{
    static table t;

    fill_table(&t, 3, AXES);
    for (int c = 2; c < AXES; c++) {
        for (uint64_t i = 0; i < sizes[0] * sizes[1] * sizes[c]; i++) {
            const int axis[] = {0, 1, c};
            const uint64_t value[] = {i / sizes[c] / sizes[1],
                                      i / sizes[c] % sizes[1], i % sizes[c]};

            ck_assert_msg(count(&t, axis, value, 3) > 0, "axis %d: value %d", c,
                          (int)i);
        }
    }
    expect_pairs(&t, AXES);
    /* 7 times 5 times 4 are the least. */
    ck_assert_int_le(t.n, 170);
}
END_TEST

START_TEST(the_same_each_time)
{
    static table a;
    static table b;

    fill_table(&a, 3, AXES);
    fill_table(&b, 3, AXES);
    ck_assert_int_eq(a.n, b.n);
    for (int r = 0; r < a.n; r++) {
        ck_assert_mem_eq(a.row[r], b.row[r], AXES * sizeof a.row[r][0]);
    }
}
END_TEST

Suite *suite_cover(void);

Suite *suite_cover(void)
{
    Suite *s = suite_create("cover");
    TCase *t = tcase_create("cover");

    tcase_add_test(t, two_and_two_are_met_in_few);
    tcase_add_test(t, three_and_three_are_met_in_few);
    tcase_add_test(t, the_same_each_time);
    suite_add_tcase(s, t);
    return s;
}
