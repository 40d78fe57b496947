/* SPDX-License-Identifier: Apache-2.0 */
/* Faults whose place is known, and what is said about where they are. */
#include "diagnose/diff_location.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20, COLS = 200, TOPK = 2 };

typedef struct scene {
    uint16_t want[ROWS][COLS];
    uint16_t got[ROWS][COLS];
    int32_t ids[ROWS][TOPK];
} scene;

static void begin(scene *s)
{
    memset(s, 0, sizeof *s);
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLS; c++) {
            s->want[r][c] = s->got[r][c] = (uint16_t)(0x3f80 + r + c);
        }
        s->ids[r][0] = r % 5;
        s->ids[r][1] = (r + 1) % 5;
    }
}

static void add(tensor_set *set, const char *name, uint32_t dtype,
                uint64_t cols, const void *data)
{
    const uint64_t shape[2] = {ROWS, cols};
    host_tensor *t;

    ck_assert_int_eq(tensor_set_add(set, name, dtype, 2, shape, &t), MXO_OK);
    memcpy(t->data, data, t->n_bytes);
}

/* The message must be this. */
static void expect(const scene *s, const char *text)
{
    tensor_set want = {0};
    tensor_set got = {0};
    tensor_set in = {0};
    strbuf lines = {NULL, 0, 0};

    add(&want, "y", MXO_BF16, COLS, s->want);
    add(&got, "y", MXO_BF16, COLS, s->got);
    add(&in, "topk_ids", MXO_I32, TOPK, s->ids);
    const op_call call = {"moe.layer", NULL, 0, &in};
    const evidence e = {.call = &call,
                        .want = &want,
                        .got = &got,
                        .rule = compare_rule_for(&call, "x", "y")};

    diff_location_say(&e, &lines);
    ck_assert_msg(strcmp(lines.text, text) == 0, "it says:\n%s", lines.text);
    free(lines.text);
    tensor_set_clear(&want);
    tensor_set_clear(&got);
    tensor_set_clear(&in);
}

START_TEST(one_token)
{
    static scene s;

    begin(&s);
    for (int c = 64; c < 128; c++) {
        s.got[5][c] = 0;
    }
    expect(&s, "wrong: row 5 only; columns 64..127; 1 of 2 tiles of 128 x 128 "
               "[0,0]; 4 of 26 tiles of 16 x 16 [0,4] [0,5] [0,6] [0,7]\n");
}
END_TEST

START_TEST(one_expert)
{
    static scene s;

    begin(&s);
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; (s.ids[r][0] == 3 || s.ids[r][1] == 3) && c < COLS;
             c++) {
            s.got[r][c] ^= 1;
        }
    }
    expect(&s, "wrong: 8 of 20 rows: 2 3 7 8 12 13 ...; all columns\n"
               "expert 3: its rows are wrong, and no others\n");
}
END_TEST

START_TEST(a_tail)
{
    static scene s;

    begin(&s);
    for (int r = 0; r < ROWS; r++) {
        s.got[r][COLS - 1] = 0;
    }
    expect(&s, "wrong: all rows; column 199 only; 1 of 2 tiles of 128 x 128 "
               "[0,1]; 2 of 26 tiles of 16 x 16 [0,12] [1,12]\n");
}
END_TEST

Suite *suite_diff_location(void);
Suite *suite_diff_location(void)
{
    Suite *s = suite_create("diff_location");
    TCase *t = tcase_create("diff_location_say");

    tcase_add_test(t, one_token);
    tcase_add_test(t, one_expert);
    tcase_add_test(t, a_tail);
    suite_add_tcase(s, t);
    return s;
}
