/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Red lines of a subject beside its cases: what it declines and does not say
 * so, how its process ends when nothing more is asked.
 */
#ifndef MXO_SUBJECT_LINES_H
#define MXO_SUBJECT_LINES_H

#include "report/baseline.h"
#include "run/backends.h"

typedef struct subject_lines {
    const backend_info *who;
    const backend_ref *ref;
    void (*report)(void *state, report_result *r);
    void *state;
} subject_lines;

/* A given subject that declines part of what it offers and does not say so, in
   limits or a baseline.  One that answers nothing ends the run otherwise. */
void subject_lines_undeclared(const subject_lines *l, const tally *counts,
                              const baseline *expected);
/* One line if the verdict is red; repro shows it again. */
void subject_lines_end(const subject_lines *l, verdict *v, const char *repro);

#endif
