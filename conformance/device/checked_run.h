/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a call with what is checked around it, and the words that a
 * finding gets.
 */
#ifndef MXO_CHECKED_RUN_H
#define MXO_CHECKED_RUN_H

#include "device_buffers.h"

/* Run number 0 or 1, so often before one synchronize(): out receives the bytes
   of the first. */
mxo_status checked_run(stage *g, int run, int n_runs, tensor_set *out,
                       run_checks *d, mxo_text why);

/* The inputs, and what outputs hold, as these ways want them. */
mxo_status checked_turn(stage *g, unsigned ways, mxo_text why);

/* Does another second run in these ways, so often before one synchronize(),
   differ too? */
int checked_differs(stage *g, unsigned ways, int n_runs, tensor_set *out);
/* The way of calling that makes it fail; 0: none. */
unsigned checked_to_blame(stage *g, unsigned ways, int n_runs, tensor_set *out);

int checked_is_wrong(mxo_status status, const run_checks *d);

/* Not a call that is declined. */
int checked_is_failure(mxo_status status);

/* Words behind what was seen first of guards, unwritten and changing bytes, or
   behind the sentence of a status. */
void checked_add_words(const char *words, mxo_status status, run_checks *d,
                       mxo_text why);
/* The words of what was beside a run in these ways, and is no more, if it takes
   that; the way of calling if that alone makes it fail. */
void checked_add_cause(stage *g, unsigned ways, const char *words,
                       tensor_set *out, mxo_status status, run_checks *d,
                       mxo_text why);

#endif
