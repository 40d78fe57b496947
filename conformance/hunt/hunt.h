/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle fuzz: batches of drawn calls on one subject, until the time is over
 * or enough causes are found.  What fails is shrunk, named, grouped by cause
 * and written down.
 *
 * The calls of batch b depend on the seed, b and what earlier batches found,
 * and on nothing else: not on time nor on the number of workers.
 */
#ifndef MXO_HUNT_H
#define MXO_HUNT_H

#include "draw/draw.h"
#include "run/worker_pool.h"

typedef struct hunt_options {
    const backend_ref *ref;
    worker_pool_options pool;
    uint64_t seed;
    double time_s;
    uint64_t most_cases;  /* 0: as many as there is time for */
    uint64_t most_causes; /* stop at that one; 0: go on */
    const char *folder;   /* where findings are written */
    const char *journal;  /* NULL: none */
    char *const *wanted;  /* patterns that the plan was made of */
    size_t n_wanted;
    int verbose; /* -1: findings and the last line only */
    int color;
} hunt_options;

/* Exit status of the command. The plan's weights are changed. */
int hunt_run(const hunt_options *o, draw_plan *plan);

#endif
