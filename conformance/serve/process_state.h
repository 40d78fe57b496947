/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State that a call may not change in its process: floating-point environment,
 * locale, signal handlers and masks, descriptors, working directory, mask of
 * new files, timers, child processes, and that of kernel_state.h.  The serving
 * side puts all of it in order before a call and looks at it after the call.
 */
#ifndef MXO_SERVE_PROCESS_STATE_H
#define MXO_SERVE_PROCESS_STATE_H

#include <mxoracle/abi.h>

typedef struct process_state process_state;

/* As it is now: what it shall be. NULL without memory. */
process_state *process_state_take(void);
void process_state_free(process_state **s);
/* After a context was opened: the files that it put in place of others, and its
   child processes, are as they shall be. */
void process_state_loaded(process_state *s);
/* Put it in order again, as far as this can be done. */
void process_state_reset(process_state *s);
/* 1 and a sentence if rounding, flushing or traps changed, else 0. */
int process_state_numbers_differ(mxo_text what);
/* The same of anything. */
int process_state_differs(process_state *s, mxo_text what);

#endif
