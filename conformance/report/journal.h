/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A journal of a run: every verdict is appended as it falls, so that a run
 * that was killed goes on where it was.  The lines are those of a JSON report;
 * a last line that was cut off is written again.  A journal of another build,
 * plan, seed or shard is refused and stays as it is.
 */
#ifndef MXO_JOURNAL_H
#define MXO_JOURNAL_H

#include "record.h"

typedef struct journal {
    const char *path; /* borrowed */
    int fd;           /* -1: no journal */
    json_t *done;     /* owned: lines by backend, seed and case */
} journal;

/* Open or begin the journal of a run. 0, or -1 and a sentence. */
int journal_open(journal *j, const char *path, const report_run *run,
                 mxo_text why);
/* The record of a case, to be released by its caller; NULL if it was not
   judged. */
json_t *journal_find(const journal *j, const char *backend, uint64_t seed,
                     const char *case_text);
int journal_has(const journal *j, const char *backend, uint64_t seed,
                const char *case_text);
/* 0, or -1 with errno: the journal cannot be written. */
int journal_add(journal *j, const report_result *r);
void journal_close(journal *j);

#endif
