/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports read back: one file, or the shards of one run put together again.
 */
#ifndef MXO_STORED_H
#define MXO_STORED_H

#include "base/progress.h"
#include "record.h"

/* A case as its line: a tree would take ten times as much. */
typedef struct stored_case {
    char *line;  /* owned */
    size_t rank; /* of its backend in the header */
    uint64_t index;
    int is_absent; /* a row "*" */
} stored_case;

typedef struct stored_run {
    json_t *header;     /* owned; of the first file */
    json_t *summary;    /* owned; of the first file; NULL: none */
    stored_case *cases; /* owned; in the order of the plan */
    size_t n_cases;
    json_t *operations; /* owned: names of backend and operation */
    int n_files;
    uint64_t n_shards; /* the run was cut into; 0: it was not */
    uint64_t planned;  /* of all files */
    char *is_there;    /* owned: flags of the shards present */
    char stopped[160]; /* file that was stopped, and by what; "" if none */
} stored_run;

/*
 * Read the files and put them together. They must be complete, of this schema
 * and, if there are several, different shards of one run. 0, or -1 and a
 * sentence.
 */
int stored_read(stored_run *s, char *const paths[], int n, progress *p,
                mxo_text why);
void stored_clear(stored_run *s);

/* Shards that are not among the files, as "3, 5"; "" if none. */
void stored_missing(const stored_run *s, char *text, size_t size);

/* The header, for a report of the whole; infos must have room for
   BACKEND_MAX. */
void stored_describe(const stored_run *s, report_run *run,
                     backend_info infos[BACKEND_MAX]);

/* The record of a case, to be released by its caller. */
json_t *stored_record(const stored_run *s, size_t i);

#endif
