/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a baseline names and a whole run has not: coverage that it requires,
 * and expected failures of cases that are in no grid any more.
 */
#ifndef MXO_LOST_H
#define MXO_LOST_H

#include "runopts.h"

#include <jansson.h>

/* Begin with the borrowed pointers, the rest zero. */
typedef struct lost {
    const baseline *expected;
    report_run *run;
    backend_info *infos; /* of the run; room for BACKEND_MAX */
    const tally *counts;
    void (*report)(void *state, report_result *r); /* a red line */
    void *state;
    const run_options *options; /* what was asked for; NULL: everything */
    const backend_list *chosen; /* backends of the run; NULL: of a stored one */
    int n_asked;                /* how many */
    json_t *seen;  /* owned: cases of the run, and lost lines of a stored one */
    json_t *grids; /* owned: cases of all levels, by operation and seed */
} lost;

/* A case of the run, whatever became of it. */
void lost_see_case(lost *l, const char *case_text);
/* A red line that a stored run has already, and that is not said again. */
void lost_see_line(lost *l, const char *backend, const char *case_text);
/* Report all that is lost of what was asked for: red lines. */
void lost_report(lost *l);
void lost_clear(lost *l);

#endif
