/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting another program: the one way in which the judge makes a process.
 * It is spawned, never forked: threads and devices may be open here.
 */
#ifndef MXO_PROCESS_H
#define MXO_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

enum { PROCESS_FILES = 4 };

typedef struct process_plan {
    const char *file;
    char *const *args;
    char *const *environment; /* NULL: this process's */
    int own_group;            /* leader of a process group of its own */
    /* Files for its descriptors 1, 2, ...; 0 is /dev/null and no other is
       open in it. */
    int n_files;
    int files[PROCESS_FILES];
} process_plan;

/* All signals have their defaults in it. 0, or -1 with errno set. */
int process_start(const process_plan *plan, pid_t *pid);
/* Processor time it has used, all threads; 0 where that is not told. */
double process_cpu_s(pid_t pid);
/* How long its threads have waited for a processor; -1 where that is not
   told. */
double process_queue_s(pid_t pid);
/* The same of its whole group, with children that have ended; of it alone where
   the system lists no processes. */
double process_group_cpu_s(pid_t group);
/* Has it ended?  It is not reaped here. */
int process_has_ended(pid_t pid);
/* Does any process of this number still run?  0 is none. */
int process_is_there(pid_t pid);
/* Wait up to grace_s for its end, then kill it (with its group if it leads
   one), reap it, and say how it ended: "exited with status 0".  1 if it did
   that. */
int process_end(pid_t pid, int own_group, double grace_s, char *text,
                size_t size);
/* Seconds of a clock that only goes forward. */
double process_clock(void);

#endif
