/* SPDX-License-Identifier: Apache-2.0 */
/* Six layouts as index formulas, for plant_layout_faults. */
#ifndef MXO_PLANTED_LAYOUTS_H
#define MXO_PLANTED_LAYOUTS_H

enum { N_LAYOUTS = 6 };

/* Where nibble f of a byte goes, counted in nibbles; whole bytes have f 0. */
typedef struct layout {
    const char *name;
    const char *other; /* the layout that is mistaken for it */
    int (*at)(int r, int c, int f, int rows, int cols);
    int (*at_other)(int r, int c, int f, int rows, int cols);
    int rows, cols; /* of the tensor */
    int row_granule, col_granule;
    int nibbles;
    int tile;  /* bytes of memory that belong together */
    int inner; /* the tile is inner rows of tile / inner bytes */
} layout;

extern const layout layouts[N_LAYOUTS];

int up(int n, int granule); /* to a multiple */

#endif
