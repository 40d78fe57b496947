/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a report as JSON, written and read: docs/reports.md and
 * docs/reports.schema.json describe them.
 */
#ifndef MXO_RECORD_H
#define MXO_RECORD_H

#include "report.h"

#include <jansson.h>
#include <sys/types.h>

enum {
    RECORD_SCHEMA = 2,    /* raised when a reader would misread */
    RECORD_MOST = 1 << 20 /* bytes of a line */
};

json_t *record_header(const report_run *run);
json_t *record_case(const report_result *result);
json_t *record_summary(const report_run *run, const tally *t);

/* A line: compact, one write. 0, or -1. */
int record_write(FILE *out, json_t *record); /* takes the record */
/* A journal's: a process that is killed leaves whole lines and at most one part
   of one.  0, or -1 with errno set. */
int record_append(int fd, json_t *record); /* takes the record */

/* In place of a zero byte: no text has it. */
#define RECORD_ZERO "\1"
/* The next line of a stranger's file, its end included, as getline() has it: a
   length, 0 at the end of the file, or -1: it is too long. */
ssize_t record_next_line(FILE *f, char **line, size_t *size);
/* A stranger's line, its texts made printable; NULL and a sentence without a
   subject if members are unknown, twice there or missing. */
json_t *record_parse(const char *line, mxo_text why);
/* The same of a line that was taken once; NULL of NULL. */
json_t *record_again(const char *line);
/* A stranger's record: its texts made printable, in place. */
void record_clean(json_t *record);
/*
 * Back from a case's record: verdict (to be cleared), text and numbers;
 * strings are borrowed from the record. backend is not set. 0, or -1 if the
 * object is no case.
 */
int record_read(const json_t *record, report_result *result, verdict *v);
/* Is a summary that of so many cases by status, in so many lines?  0, or -1 and
   a sentence without a subject. */
int record_check_summary(const json_t *summary, const uint64_t n[N_VERDICTS],
                         uint64_t n_lines, mxo_text why);
/* Level and begin of a header: 0, or -1 and a sentence without a subject. */
int record_check_header(const json_t *header, mxo_text why);
/* Can a report or journal with this header hold the case: its status as it was
   judged, whatever the baseline says, and its operation?  0, or -1 and a
   sentence without a subject. */
int record_check_case(const report_result *r, const json_t *header,
                      mxo_text why);
/* Headers of two shards: 0, or -1 and a sentence without a subject that says
   what tells their runs apart. */
int record_same_run(const json_t *first, const json_t *other, mxo_text why);
/* Add to a header the machines, systems and devices of another shard. */
void record_join(json_t *header, const json_t *other);
/* What tells a case from every other: owned; NULL without memory. */
char *record_key(const char *backend, uint64_t seed, const char *case_text);
/* The same, whichever way the case is spelt. */
char *record_case_key(const char *backend, uint64_t seed,
                      const char *case_text);
const char *record_text(const json_t *record, const char *key); /* or "" */
uint64_t record_count(const json_t *record, const char *key);   /* or 0 */

#endif
