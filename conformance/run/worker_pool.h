/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging the cases of one backend, in this process or by workers.  A worker is
 * this program started again with the hidden command "worker" (spawned, never
 * forked: a device may be open); it reads cases from one pipe and answers
 * verdicts on another, so that a crash or a hang costs one red line.
 */
#ifndef MXO_CREW_H
#define MXO_CREW_H

#include "case/grid.h"
#include "judge/judge.h"
#include "report/report.h"

typedef enum isolation {
    ISOLATE_AUTO,  /* workers for plugins and for more than one job */
    ISOLATE_NONE,  /* in this process */
    ISOLATE_BATCH, /* workers, each for many cases */
    ISOLATE_CASE,  /* a new worker for every case */
    ISOLATE_SHARED /* workers, each with the subject in its own process: many
                      small cases a second; what a subject does to its process
                      is seen only where it ends it */
} isolation;

typedef struct worker_pool_options {
    isolation isolate;
    int jobs;
    int device;
    double timeout_s; /* of one case, in a worker */
    int is_drawn;     /* as of open_options */
    uint32_t soak;    /* calls before each that is judged */
    char beside[64];  /* as worker_pool_set_beside() */
    int is_silent;    /* as of open_options */
} worker_pool_options;

typedef struct worker_pool worker_pool;

/* Called once per case, in the order of the list. */
typedef void (*worker_pool_sink)(void *state, size_t index, const verdict *v);

/* Opens the backend and describes it. info->why_not tells if it is absent;
   a pool is made all the same. */
worker_pool *worker_pool_create(const backend_ref *ref,
                                const worker_pool_options *options,
                                backend_info *info);
/* Nothing more is asked: a verdict on how the subject's processes end then, a
   pass or of the first that is red. */
void worker_pool_finish(worker_pool *c, verdict *v);
void worker_pool_destroy(worker_pool **c);

/* 0, or -1 if the harness itself failed (a sentence is on stderr).  If a stop
   is requested (base/stop.h) the cases left are not asked. */
int worker_pool_run(worker_pool *c, const case_list *cases,
                    worker_pool_sink sink, void *state);
/* For a sink: the cases left of this list are not asked. */
void worker_pool_enough(worker_pool *c);
/* Whether verdicts come without the words that explain a red one, which cost
   many times what the call does. */
void worker_pool_set_brief(worker_pool *c, int is_brief);
/* The one operation whose call stands beside each case; "": as cases draw it.
 */
void worker_pool_set_beside(worker_pool *c, const char *op);
/* One case, for commands that ask again and again. */
int worker_pool_case(worker_pool *c, const char *text, uint64_t seed,
                     verdict *v);

#endif
