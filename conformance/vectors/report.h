/* SPDX-License-Identifier: Apache-2.0 */
/* Report of a run over vectors: a text of its own on standard output, or the
   forms of report/report_set.h. */
#ifndef MXO_VECTORS_REPORT_H
#define MXO_VECTORS_REPORT_H

#include "base/progress.h"
#include "vectors.h"

/* Verdicts on the files of one operation. */
typedef struct op_tally {
    char op[VECTOR_OP];
    uint64_t n[VECTOR_UNSUPPORTED + 1]; /* files, by verdict */
    uint64_t n_outputs;
    uint64_t n_elements;
    uint64_t n_by_rule;
    char rule[64];
    char reason[256]; /* of the first that is unknown or unsupported */
} op_tally;

typedef struct vector_report {
    vector_options options;
    int is_text; /* on standard output */
    report_set reports;
    int has_begun;
    report_run run;
    tally counts;
    backend_info infos[BACKEND_MAX]; /* of the subjects */
    int current;
    progress progress;
    const vector_subject *subject; /* borrowed */
    char last[REPORT_PATH];        /* its last file; "": none */
    size_t n_done;
    uint64_t n[VECTOR_UNSUPPORTED + 1]; /* files, of all subjects */
    int refused; /* a subject that was required is no backend */
    size_t n_ops;
    size_t room;
    op_tally *ops; /* owned; of the subject at work */
} vector_report;

/* EXIT_PASS, or what went wrong after a sentence. */
int report_start(vector_report *r, const vector_subject *subjects, int n,
                 size_t n_files, const vector_options *options);
/* The turn of a subject: it opens, or does not. */
void report_turn(vector_report *r, const vector_subject *who);
void report_subject(vector_report *r, const vector_subject *who,
                    const vector_greeting *greeting);
void report_absent(vector_report *r, const vector_subject *who,
                   const vector_greeting *greeting, size_t n_files);
void report_judged(vector_report *r, const char *path, const vector_result *v);
/* How a process of the subject ended behind its last file. */
void report_ended(vector_report *r, const verdict *v);
/* The subject's tables. */
void report_subject_end(vector_report *r);
/* Prints the closing line, moves files into place and returns the exit
   status. */
int report_end(vector_report *r);
/* A report that is not ended leaves files as they were. */
void report_clear(vector_report *r);

#endif
