/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed about a run over vectors, as text, TAP or JSON Lines. */
#ifndef MXO_VECTORS_REPORT_H
#define MXO_VECTORS_REPORT_H

#include "cell.h"

/* What became of the files of one operation. */
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
    const char *subject; /* borrowed: its name */
    size_t n_done;
    uint64_t n[VECTOR_UNSUPPORTED + 1]; /* files, of all subjects */
    int refused; /* a subject that was required is no backend */
    size_t n_ops;
    size_t room;
    op_tally *ops; /* owned; of the subject at work */
} vector_report;

void report_start(vector_report *r, size_t n_planned,
                  const vector_options *options);
/* A subject has opened, or has not. */
void report_subject(vector_report *r, const vector_subject *who,
                    const cell_greeting *greeting);
void report_absent(vector_report *r, const vector_subject *who,
                   const cell_greeting *greeting, size_t n_files);
/* 0, or -1: no memory. */
int report_file(vector_report *r, const char *path, const vector_result *v);
/* The subject's tables. */
void report_subject_end(vector_report *r);
/* Prints the closing line and returns the exit status. */
int report_end(vector_report *r);
void report_clear(vector_report *r);

#endif
