/* SPDX-License-Identifier: Apache-2.0 */
/* What the faults of planted.def do beside placing an element elsewhere. */
#ifndef PLANTED_MISTAKE_H
#define PLANTED_MISTAKE_H

#include "place.h"

enum {
    MISTAKE_NONE,
    MISTAKE_TAIL_ROWS,
    MISTAKE_TAIL_COLS,
    MISTAKE_PAD_VALUE,
    MISTAKE_PAD_MISSING,
    MISTAKE_INVERSE, /* the placing is wrong on the way back only */
    MISTAKE_ROW_16,
    MISTAKE_COL_16,
    MISTAKE_STRIDE,
    MISTAKE_LAST_PAIR,
    MISTAKE_FIRST,
    MISTAKE_HIGH_NIBBLE,
    MISTAKE_WIDE,
    MISTAKE_MANY,
    MISTAKE_ODD_ROWS,
    MISTAKE_REMAINDER,
    MISTAKE_KEEP,
    MISTAKE_NAN_LOST,
    MISTAKE_INPUT,
    MISTAKE_BEYOND,
    MISTAKE_AT_16,  /* the index of an element in the image of its expert */
    MISTAKE_EIGHTS, /* experts that no group of eight holds are left out */
    MISTAKE_EXPERT_8,
    MISTAKE_WIDE_4,
    MISTAKE_ODD_BOTH,
    MISTAKE_PAD_COLS,
    MISTAKE_STALE,
    MISTAKE_CROP_BOTH,
    MISTAKE_TILE_9
};

typedef struct planted_row {
    const char *layout;
    int mistake;
    placing *place;
    const char *what;
} planted_row;

/* A call, read. */
typedef struct conversion {
    const planted_row *row;
    const layout_rule *rule;
    extents x;
    uint64_t experts;
    uint64_t elem_bytes;
    uint64_t keep_rows;
    uint64_t keep_cols;
    uint64_t image; /* elements of an expert's image */
    int is_back;
    uint8_t *dst;
    uint8_t *src;
} conversion;

/* The placing of this direction. */
placing *mistake_place(const conversion *k);
/* Whether the mistake forgets the element. */
int mistake_forgets(const conversion *k, uint64_t e, uint64_t r, uint64_t c);
void mistake_copy(const conversion *k, uint8_t *dst, const uint8_t *src);
/* The image of an expert before its elements come. */
void mistake_spoil_pads(const conversion *k, const extents *x, uint64_t e);

#endif
