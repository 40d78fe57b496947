/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks shared out among several processes of this program, each for many
 * tasks; results come in the order of the tasks, whichever is done first. Lines
 * of JSON both ways: a process greets, then gives one answer to each request.
 */
#ifndef MXO_PROCESS_POOL_H
#define MXO_PROCESS_POOL_H

#include "worker.h"

/* A status other than 0 ends the run, and is what it returns. */
typedef struct process_pool {
    size_t n_tasks;
    int n_processes;
    const size_t *turn; /* tasks as they are given; NULL: in their order */
    /* 0, or -1 with errno set. */
    int (*start)(void *state, worker *w);
    /* Of each process; the status. */
    int (*greeted)(void *state, const json_t *greeting);
    json_t *(*request)(void *state, size_t task);
    /* The status; *result, which free() releases, goes to told(). */
    int (*answered)(void *state, size_t task, const json_t *answer,
                    void **result);
    /* The process ended instead; the next task gets another. */
    int (*lost)(void *state, size_t task, const char *how, void **result);
    /* A process could not be started or ended without a task. */
    void (*failed)(void *state, const char *why);
    /* A task's result, in turn; the status. */
    int (*told)(void *state, size_t task, const void *result);
    /* How each process ended when the last task was told; NULL: they are
       killed. */
    void (*ended)(void *state, verdict *v);
    void *state;
} process_pool;

/* 0, a callback's status, or PROCESS_POOL_FAILED: without memory or
   processes.  If a stop is requested no further task is begun, and what was
   done is told. */
enum { PROCESS_POOL_FAILED = -1 };
int process_pool_run(const process_pool *p);

#endif
