/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a worker is waited for.  The limit is one on processor time: on a
 * loaded machine, or under a sanitizer's neighbours, a right backend must not
 * be called hung.  A worker that uses no processor either (a deadlock, a
 * device that does not answer) is given up when the limit has passed by the
 * clock; one that naps, looks and naps again, when it has slept some times the
 * limit.  Waiting for a processor is no sleep, nor is the time in which nobody
 * looked: who waits was stopped then, and the worker with it, perhaps.
 */
#ifndef MXO_CPU_TIMEOUT_H
#define MXO_CPU_TIMEOUT_H

typedef struct cpu_timeout {
    double limit_s; /* of processor time */
    double look_s;  /* of the clock between two looks; as long at first */
    double until;   /* next look, by the clock */
    double asked;   /* when somebody last wanted to know, by the clock */
    double started; /* processor time of the worker at the beginning */
    double met;     /* at the last look */
    double looked;  /* at the last look, the clock */
    double queued;  /* and how long it had waited for a processor */
    double slept;   /* what is neither, since the first look */
} cpu_timeout;

/* cpu_s: what the worker has used so far. */
cpu_timeout cpu_timeout_begin(double limit_s, double now_s, double cpu_s);
/* Has the clock passed the next look? Then cpu_timeout_ends() is to be asked.
   To be called several times a second. */
int cpu_timeout_looks(cpu_timeout *p, double now_s);
/* Whether to give it up; if not, the next look is set.  queue_s: how long it
   has waited for a processor so far; -1: nobody tells. */
int cpu_timeout_ends(cpu_timeout *p, double now_s, double cpu_s,
                     double queue_s);

#endif
