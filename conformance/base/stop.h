/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stopping early and in order: a signal, a time budget or a first failure.
 * Whoever loops over cases asks stop_requested() between two of them; what was
 * judged until then is reported, and the exit status tells why it was not all.
 */
#ifndef MXO_STOP_H
#define MXO_STOP_H

enum { EXIT_BUDGET = 124 }; /* the time budget ran out (as timeout(1)) */

/* SIGINT, SIGTERM, SIGHUP and SIGPIPE stop instead of ending the process; a
   second of a kind, half a second later or more, ends it. Signals that are
   ignored stay ignored. */
void stop_catch_signals(void);
/* From now on so many seconds; 0: no limit. */
void stop_after(double seconds);
/* Stop for a reason of the program's own ("--fail-fast"); borrowed. */
void stop_now(const char *reason);

/* Seconds since some moment; time that the system slept may be left out. */
double clock_s(void);

int stop_requested(void);
/* Seconds that are left of a time budget; -1: there is none. */
double stop_left(void);
/* "SIGINT", "the time budget", what stop_now() was told; NULL: not stopped. */
const char *stop_reason(void);
/* SIGPIPE: whoever read the output has enough of it, which is no fault. */
int stop_is_unread(void);
/* 128 and the signal, EXIT_BUDGET, or otherwise unless those apply. */
int stop_exit_status(int otherwise);
/* The same of a run whose reports have told its reason, NULL: that it is whole.
   A signal that comes later is too late for both. */
int stop_exit_status_of(const char *reason, int otherwise);

/* The status with which a command ends, once all it said has arrived. */
int stop_end(int status);

/* Between these two stands work that asks nothing, however long it takes: a
   fill, a call in this process, a comparison.  If a signal or the end of the
   time budget is two seconds old and it still goes on, leave(state) is called
   in a thread beside it, and the process ends with the status that it returns.
   What leave() reads the work must not write.  They do not nest. */
void stop_work_begin(void);
void stop_work_end(void);
/* From now on, in this process; without memory for a thread nothing is. */
void stop_leave_with(int (*leave)(void *state), void *state);

/* "90", "90s", "10m" or "2h" in seconds; 0 if it is none of them. */
double stop_parse_budget(const char *text);

#endif
