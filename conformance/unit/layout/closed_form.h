/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts a second time, as the closed formulas of the vendors' code: where
 * element (e, r, c) lies in memory.  Unit suites hold every row of layouts.def
 * against such a table, over shapes on and off the granule.
 */
#ifndef MXO_UNIT_CLOSED_FORM_H
#define MXO_UNIT_CLOSED_FORM_H

#include <check.h>
#include <stddef.h>
#include <stdint.h>

enum { CLOSED_UNDEFINED = -1 };

/* Treatment of an axis that is no multiple of its unit; EVEN is padded,
   but refused if it is odd. */
enum { CLOSED_REFUSED, CLOSED_PADDED, CLOSED_EVEN, CLOSED_NOT_TRIED };

/*
 * p is the padded tensor: experts, rows, columns.  The result counts units
 * (elements; nibbles or bits of a byte, u says which) from the start of
 * memory.  r and c may lie in the padding.
 */
typedef uint64_t closed_at(const uint64_t p[3], uint64_t e, uint64_t r,
                           uint64_t c, uint64_t u);

typedef struct closed_form {
    const char *layout;  /* name, with parameters */
    uint32_t elem_bytes; /* as memory holds them */
    uint32_t units;      /* in an element */
    closed_at *at;
    uint64_t row_unit; /* the granule of rows */
    uint64_t col_unit;
    int rows; /* CLOSED_REFUSED, .. */
    int cols;
    int row_pad; /* the byte, or CLOSED_UNDEFINED */
    int col_pad;
} closed_form;

/* ceil(x / unit) * unit */
uint64_t closed_up(uint64_t x, uint64_t unit);

/*
 * Every unit of every shape lies where the form says, each place is taken
 * once, pads hold what they should, and shapes off an unpadded granule are
 * refused with a sentence.
 */
void closed_form_holds(const closed_form *form);

/* Every layout whose id starts so has one of the n forms. */
void closed_forms_cover(const closed_form *forms, int n, const char *prefix);

#endif
