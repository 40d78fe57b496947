/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the published cases notice a changed rule?  Puts every copy of the rules
 * with one of them wrong (select_rules_mutate) to the published cases.
 */
#ifndef MXO_SELECT_MUTANTS_H
#define MXO_SELECT_MUTANTS_H

#include "cases.h"

/* Fate of one changed rule. */
typedef struct selection_fate {
    int number;
    const char *what;
    int killed;
    size_t n_cases;      /* asked until then */
    const char *file;    /* of the case that killed it; borrowed */
    const char *case_id; /* borrowed */
    const char *how;     /* the difference */
} selection_fate;

typedef void selection_report(void *ctx, const selection_fate *fate);

/*
 * Open the published files in a folder of vectors: MXORACLE_VECTORS, where
 * they are installed, or ./vectors and ../vectors. 0, or -1 and a sentence.
 */
enum { SELECTION_FILES = 5 };
int selection_files_open(selection_cases files[SELECTION_FILES], mxo_text why);
void selection_files_close(selection_cases files[SELECTION_FILES]);

/* All changed rules; *n_cases becomes the number of cases. 0, or -1 and a
   sentence if the rules as they are do not pass. */
int selection_mutants(const selection_cases files[SELECTION_FILES],
                      selection_report *report, void *ctx, size_t *n_cases,
                      mxo_text why);

#endif
