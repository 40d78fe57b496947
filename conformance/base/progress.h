/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One status line on a terminal: done of total, red, time so far and time
 * left.  Nothing is shown where nobody looks, nor in the first two seconds.
 */
#ifndef MXO_PROGRESS_H
#define MXO_PROGRESS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRESS_WHAT = 128 };

typedef struct progress {
    int is_shown; /* standard error is a terminal */
    int is_drawn;
    uint64_t total;   /* 0: not known */
    const char *unit; /* of done and total: " MB"; NULL: cases */
    double limit_s;   /* it ends after so long; 0: not known */
    double start_s;
    double last_s; /* drawn or wiped */
    uint64_t done;
    uint64_t red;
    uint64_t work;       /* for the time left, where cases differ in length */
    uint64_t total_work; /* 0: every case is as long */
    char what[PROGRESS_WHAT];
    int ticks; /* a thread draws it where nothing happens for a second */
    int is_over;
    pthread_t thread;
    pthread_mutex_t lock; /* of all above, while it ticks */
    pthread_cond_t over;
} progress;

void progress_begin(progress *p, uint64_t total, int is_wanted);
/* Draw it also where one case takes long, until progress_end(). */
void progress_tick(progress *p);
/* Of reading files of so many bytes: in MB, ticking; n more were read (p NULL:
   by whom nobody watches). */
void progress_begin_bytes(progress *p, uint64_t total);
void progress_bytes(progress *p, uint64_t n);
/* what (NULL: nothing) is cut to the width. */
void progress_show(progress *p, uint64_t done, uint64_t red, const char *what);
/* Another total than that of the begin. */
void progress_total(progress *p, uint64_t total);
/* How much of the work is done, before what is shown next. */
void progress_work(progress *p, uint64_t work, uint64_t total);
/* Wipe the line, before other output and at the end. */
void progress_wipe(progress *p);
/* Wipe it for good: nothing is shown any more. */
void progress_end(progress *p);

#endif
