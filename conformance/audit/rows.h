/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the rows of w13, told by the block scales: gates and ups have
 * scales of different sizes in most models, so that one way of cutting the
 * rows in two makes two groups that differ, and the other does not.
 */
#ifndef MXO_AUDIT_ROWS_H
#define MXO_AUDIT_ROWS_H

#include "convert/layers.h"

/*
 * Squares of Welch's t between the means of two groups of rows; a row's number
 * is the mean of its scale exponents over columns and experts.
 *
 * Told: a cut with t2 >= 64, while the other has t2 < 16.  Rows in random order
 * reach |t| = 8 once in 10^12 layers at 128 rows, so that all layers of a
 * model together tell nothing by chance; |t| < 4 costs one true answer in
 * 10^4.  Rows sorted by size would look like halves: the quarters of each half
 * must not differ either (t2 < 16).
 */
typedef struct row_evidence {
    double parity;  /* even rows against odd ones */
    double halves;  /* first half against second */
    double quarter; /* within a half: the larger of both */
    row_order order;
} row_evidence;

/* Of a layer with fused tensors; -1 without memory. */
int rows_tell(const moe_layer *l, row_evidence *e);

#endif
