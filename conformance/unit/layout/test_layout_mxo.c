/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own layout against what the kernel that reads it is told: rows of a
 * checkpoint, 16 bits for four codes.
 */
#include "closed_form.h"

typedef uint64_t wide;

/* Bits of the word that hold a code's magnitude, low bit first, and sign. */
static const uint8_t bit_of[4][4] = {
    {6, 7, 8, 15}, {3, 4, 5, 12}, {0, 1, 2, 14}, {9, 10, 11, 13}};

/* Bit u of byte c of row r: u / 4 is the byte's code, from the low nibble. */
static wide codes(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide word = ((e * p[1] + r) * p[2] + c) / 2;
    const wide code = c % 2 * 2 + u / 4;

    return word * 16 + bit_of[code][u % 4];
}

static const closed_form forms[] = {
    {"mxo.hopper_codes", 1, 8, codes, 1, 2, CLOSED_NOT_TRIED, CLOSED_REFUSED, 0,
     0},
};

enum { N_FORMS = sizeof forms / sizeof forms[0] };

START_TEST(row_follows_the_formula)
{
    closed_form_holds(&forms[_i]);
}
END_TEST

START_TEST(every_row_has_a_formula_here)
{
    closed_forms_cover(forms, N_FORMS, "mxo.");
}
END_TEST

Suite *suite_layout_mxo(void);

Suite *suite_layout_mxo(void)
{
    Suite *s = suite_create("layout_mxo");
    TCase *t = tcase_create("closed forms");

    tcase_add_loop_test(t, row_follows_the_formula, 0, N_FORMS);
    tcase_add_test(t, every_row_has_a_formula_here);
    suite_add_tcase(s, t);
    return s;
}
