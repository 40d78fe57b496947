/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that stand beside those of other operations: which there are, and
   which cases they stand before. */
#include "case/case_shape.h"
#include "case/grid.h"
#include "data/nearest_legal_shape.h"
#include "judge/other_operation.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <string.h>

static const char *const rows[] = {
#define MXO_OTHER_OPERATION(n, text) text,
#include "judge/other_operation.def"
#undef MXO_OTHER_OPERATION
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* One of each operation, with an answer. */
START_TEST(each_operation_has_a_call_beside_others)
{
    subject emulator;
    char why[256];
    const mxo_text sentence = {why, sizeof why};
    test_case c[N_ROWS];

    ck_assert_int_eq(subject_open(&emulator, mxo_emulator(), 0, sentence),
                     MXO_OK);
    ck_assert_int_eq(N_ROWS, op_count());
    for (int i = 0; i < N_ROWS; i++) {
        tensor_set out = {0};
        ck_assert_msg(case_parse(&c[i], rows[i], sentence) == 0, "%s", why);
        ck_assert_msg(nearest_infer(&emulator, &c[i], &out, sentence) == MXO_OK,
                      "%s: %s", rows[i], why);
        tensor_set_clear(&out);
        for (int k = 0; k < i; k++) {
            ck_assert_ptr_ne(c[k].schema, c[i].schema);
        }
    }
    subject_close(&emulator);
}
END_TEST

/* Bytes of the inputs; UINT64_MAX: the case is none. */
static uint64_t input_bytes(const test_case *c)
{
    uint64_t shape[MXO_MAX_RANK];
    char why[256];
    uint64_t n = 0;
    uint32_t dtype;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        if (!case_has_input(c, i)) {
            continue;
        }
        if (case_input(c, i, &dtype, shape, (mxo_text){why, sizeof why}) != 0) {
            return UINT64_MAX;
        }
        n += tensor_dense_bytes(dtype, c->schema->inputs[i].rank, shape);
    }
    return n;
}

static int row_of(const test_case *c)
{
    const char *const op = c->schema->info->name;
    int i = 0;

    while (strncmp(rows[i], op, strlen(op)) != 0 ||
           rows[i][strlen(op)] != ':') {
        i++;
    }
    return i;
}

/* In the default run. */
START_TEST(each_operation_stands_behind_all_others)
{
    static uint8_t is_behind[N_ROWS][N_ROWS];
    case_list all = {0};
    char why[256];
    const mxo_text sentence = {why, sizeof why};

    ck_assert_int_eq(grid_append(&all, 2, NULL, 0, 1, sentence), 0);
    for (size_t i = 0; i < all.n; i++) {
        int row[OTHER_MOST];
        test_case c;
        ck_assert_int_eq(case_parse(&c, all.item[i].text, sentence), 0);
        const uint64_t n_bytes = input_bytes(&c);
        const int own = row_of(&c);
        if (c.flaw[0] == '\0' && n_bytes != UINT64_MAX) {
            for (int k = other_operation_draw(&c, n_bytes, row); k > 0; k--) {
                is_behind[own][row[k - 1]] = 1;
            }
        }
    }
    for (int own = 0; own < N_ROWS; own++) {
        int n = 0;
        for (int k = 0; k < N_ROWS; k++) {
            n += is_behind[own][k];
        }
        ck_assert_int_eq(is_behind[own][own], 0);
        ck_assert_msg(n == N_ROWS - 1,
                      "%s stands behind %d of the others: raise its number in "
                      "other_operation.def",
                      rows[own], n);
    }
    case_list_clear(&all);
}
END_TEST

Suite *suite_other_operation(void);
Suite *suite_other_operation(void)
{
    Suite *s = suite_create("other_operation");
    TCase *t = tcase_create("other_operation");

    tcase_set_timeout(t, 0); /* a sanitizer takes its time */
    tcase_add_test(t, each_operation_has_a_call_beside_others);
    tcase_add_test(t, each_operation_stands_behind_all_others);
    suite_add_tcase(s, t);
    return s;
}
