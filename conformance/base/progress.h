/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One status line on a terminal: done of total, red, time so far and time
 * left.  Nothing is shown where nobody looks, nor in the first two seconds.
 */
#ifndef MXO_PROGRESS_H
#define MXO_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

typedef struct progress {
    int is_shown; /* standard error is a terminal */
    int is_drawn;
    uint64_t total; /* 0: not known */
    double start_s;
    double last_s;
} progress;

void progress_begin(progress *p, uint64_t total, int is_wanted);
/* what (NULL: nothing) is cut to the width. */
void progress_show(progress *p, uint64_t done, uint64_t red, const char *what);
/* Wipe the line, before other output and at the end. */
void progress_wipe(progress *p);

/* The line in buf, at most columns characters. */
void progress_line(char *buf, size_t columns, const uint64_t done_total_red[3],
                   double elapsed_s, const char *what);

#endif
