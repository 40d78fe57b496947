/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of its own for a subject that may crash or hang: it costs one red
 * file.  The process is forked before any device is open and opens the
 * subject itself.
 */
#ifndef MXO_VECTORS_CELL_H
#define MXO_VECTORS_CELL_H

#include "vectors.h"
#include "walk.h"

#include <sys/types.h>

typedef struct cell {
    pid_t pid; /* 0: none */
    int pipe;
} cell;

/* Did the subject open, and what is it? */
typedef struct cell_greeting {
    mxo_status status;
    char why[256];
    char version[128];
    char device[SUBJECT_TEXT];
} cell_greeting;

/* Open the subject and judge the files from number first on, in a child.
   0, or -1 with errno. */
int cell_start(cell *c, const vector_subject *who, const path_list *list,
               size_t first);
/* The next thing it says, size bytes; 0 if it has ended or the time is up. */
int cell_read(cell *c, void *thing, size_t size, double timeout_s);
/* End it, and say how it ended. */
void cell_stop(cell *c, char *epitaph, size_t size);

/* What the child does; also done in this process where nothing is at risk. */
void cell_greet(const vector_subject *who, judge *j, cell_greeting *g);

#endif
