/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far cases go: the largest extent of each dimension together with each
 * value of a parameter that is not its default.  Grids cross extents with
 * defaults, and values with small extents; a kernel that is built once for each
 * value may be wrong in its second tile for one of them, or in a tile that is
 * the second one of rows and of columns at once.
 */
#ifndef MXO_REACH_H
#define MXO_REACH_H

#include "grid.h"

/* Extents that every value meets, where some case of its operation goes as far:
   of an input's last axis, and of all others; first all of them in one case,
   then what no case has.  They are beyond one tile.  Of a whole layer, which
   costs more, they are less, and so they are of all extents of a product at
   once; values of a layer's steps are left to its halves. */
enum {
    REACH_COLUMNS = 257,
    REACH_ROWS = 66,
    REACH_LAYER_COLUMNS = 129,
    REACH_LAYER_ROWS = 18
};

reach *reach_new(void);
void reach_free(reach *r);
/* A case that the list has got as its item `at`. */
void reach_note(reach *r, const test_case *c, size_t at);
/* Append what they do not reach: small ones of them, with multiples of their
   extents, as what divides these divides multiples. */
void reach_append(reach *r, case_list *l);

#endif
