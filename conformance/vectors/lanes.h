/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files judged by several processes at once, each with the subject open; what
 * they find comes in the order of the files.
 */
#ifndef MXO_VECTORS_LANES_H
#define MXO_VECTORS_LANES_H

#include "vectors.h"
#include "walk.h"

#include <jansson.h>

/* Callbacks for a greeting, and for each result in turn; other than 0:
   stop. */
typedef struct lane_sink {
    int (*greeted)(void *state, const vector_greeting *g);
    int (*judged)(void *state, size_t file, const vector_result *result);
    /* How a process ended behind its last file. */
    void (*ended)(void *state, verdict *v);
    void *state;
} lane_sink;

/* 0, or what the sink gave, or -1: no process could be started.  A process
   that ends costs the file it had; the next file gets another. */
int lanes_run(const vector_subject *who, const path_list *list, int jobs,
              const lane_sink *sink);

/* Can every path be sent to another process? */
int lanes_can(const path_list *list);

/* A result as a worker sends it. */
json_t *vector_result_json(const vector_result *r);

#endif
