/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From templates to cases: the grids of cases/<family>.c, files of case
 * lines, and cases given by name, in one list.
 */
#ifndef MXO_GRID_H
#define MXO_GRID_H

#include "case_text.h"

typedef struct case_item {
    char *text; /* owned; default spelling */
    uint64_t seed;
} case_item;

typedef struct case_list {
    size_t n;
    size_t capacity;
    case_item *item;
    size_t n_slots; /* a power of two; items by the hash of text and seed */
    size_t *slot;   /* 1 + its number, or 0 */
} case_list;

/* Append a copy, unless the list has it with this seed already. */
void case_list_add(case_list *l, const char *text, uint64_t seed);
void case_list_clear(case_list *l);

/* How far cases go (reach.h). */
typedef struct reach reach;

/* Append the case and, where it leaves columns dead, those that it takes to
   meet every one of them; r, unless NULL, notes what is new. */
void grid_add_stretches(case_list *l, reach *r, test_case *c, uint64_t seed);

/* Append the cases of one template, as grid_row has it; draws depend on seed
   and template only. 0, or -1 and a sentence. */
int grid_expand(case_list *l, const char *text, int picks, uint64_t seed,
                mxo_text why);
/* Levels of cases count from 1, the fewest cases, to this, all of them. */
enum { GRID_LEVELS = 3 };

/* Append the grids of all families up to a level for the operations that one
   of the patterns matches (no patterns: all). */
int grid_append(case_list *l, int level, char *const patterns[],
                size_t n_patterns, uint64_t seed, mxo_text why);
/* Append the lines of a file; blank lines and lines that start with # are
   comments. */
int grid_read_file(case_list *l, const char *path, uint64_t seed, mxo_text why);

#endif
