/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that belong to groups (experts' tokens, stretches of K): where a group
 * starts in a buffer whose groups are aligned, and which row of the input a
 * row of the buffer is.  Depends on data, so it is no layout of layouts.def.
 */
#ifndef MXO_EMU_LAYOUT_GROUPS_H
#define MXO_EMU_LAYOUT_GROUPS_H

#include "../call.h"

typedef enum groups_rule {
    GROUPS_COMPACT,  /* the input has no gaps */
    GROUPS_IN_PLACE, /* the input is the buffer, any bytes between groups */
    GROUPS_REPEAT    /* no groups: each row stands gran times */
} groups_rule;

typedef struct groups {
    groups_rule rule;
    const mxo_tensor *list; /* i32: sizes, or ends if ends_align > 0 */
    int64_t ends_align;     /* a group starts there after the last one's end */
    int64_t gran;           /* units of the list per row */
    int64_t align;          /* where a group may start in the buffer */
    int64_t rows;           /* of the input */
    int64_t to_rows;        /* of the buffer */
} groups;

/* One group: its first rows and how many there are. */
typedef struct groups_range {
    int64_t src;
    int64_t dst;
    int64_t n;
} groups_range;

/* Group i of the list, given the one before (all 0 before the first); n is
   negative if the list says so. */
groups_range groups_next(const groups *g, uint64_t i, groups_range before);

/* Every group fits the input and the buffer, or a sentence. */
mxo_status groups_check(const groups *g, mxo_text why);

/* Input row of row r of the buffer; -1 if none. */
int64_t groups_source(const groups *g, int64_t r);

/* The next multiple of align. */
int64_t groups_up(int64_t n, int64_t align);

#endif
