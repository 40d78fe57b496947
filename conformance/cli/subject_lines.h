/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a subject beside its cases: what it declines and does not say so,
 * how its process ends when nothing more is asked, what loading it changed.
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

/* A note of what loading it left behind.  That is undone before calls are
   judged, as it may only lie in what it links; an engine that loads the same
   does not undo it. */
void subject_lines_left(const backend_info *who);
/* A note that n of n_asked cases lie outside its limits, where any does; n_near
   of them were judged as the nearest within. */
void subject_lines_outside(const backend_info *who, size_t n, size_t n_near,
                           size_t n_asked);

#endif
