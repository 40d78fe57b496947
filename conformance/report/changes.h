/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of two runs: new, gone, changed and slower cases. */
#ifndef MXO_CHANGES_H
#define MXO_CHANGES_H

#include "baseline.h"
#include "stored.h"

typedef enum change_kind {
    CHANGE_NEWLY_RED,
    CHANGE_NO_LONGER_RED,
    CHANGE_RED_OTHERWISE, /* red then and now, in another way */
    CHANGE_NEW,
    CHANGE_GONE,
    CHANGE_ANOTHER_STATUS, /* neither red: skipped then, judged now, .. */
    CHANGE_SLOWER,
    N_CHANGES
} change_kind;

typedef struct change {
    change_kind kind;
    char *backend; /* owned, as all texts */
    char *case_text;
    char *reason; /* of the red one of both, now's before then's */
    uint64_t seed;
    int has_no_seed;
    verdict_status was; /* N_VERDICTS: it was not there */
    verdict_status is;
    double was_ms;
    double ms;
} change;

/* The names of older reports, the runs in them, and what has changed. */
typedef struct changes {
    const char *against; /* borrowed; the first of its files */
    int n_files;
    const stored_run *old; /* borrowed */
    baseline *expected;    /* borrowed; to judge the older run by, or NULL */
    double slower;         /* times as long, and a millisecond more */
    json_t *before;        /* owned: places of cases by their keys */
    char *is_met;          /* owned: flags of those that are there now */
    uint64_t count[N_CHANGES];
    size_t n;
    change *item; /* owned */
} changes;

/* "newly_red", as JSON has it, and "newly red". */
const char *change_word(change_kind kind);
const char *change_title(change_kind kind);

/* Of a zero struct with its borrowed members and slower set. 0, or -1: no
   memory. */
int changes_begin(changes *c);
/* A result of the run, after its baseline; the titles of what has changed,
   "newly red, slower", in text ("" if nothing has). */
void changes_take(changes *c, const report_result *r, char *text, size_t size);
/* After all results: the others of the older run are gone. */
void changes_end(changes *c);
void changes_print(FILE *out, const changes *c);
void changes_clear(changes *c);

#endif
