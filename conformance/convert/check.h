/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that a converted file is what it says, as every report tells it:
 * one case for its header (metadata, names, types, shapes), one per tensor.
 */
#ifndef MXO_CONVERT_CHECK_H
#define MXO_CONVERT_CHECK_H

#include "job.h"
#include "report/report_set.h"

typedef struct check {
    report_run run;
    backend_info info;
    report_set reports;
    tally counts;
    const char *op;    /* borrowed: the conversion */
    const char *repro; /* borrowed */
    const sink *sink;  /* borrowed: what is judged */
    size_t n_judged;   /* tensors */
} check;

/* A planned job's reports, before a byte is compared. EXIT_PASS or EXIT_USAGE
   after a sentence. */
int check_begin(check *c, job *j, const char *repro,
                const report_options *options);
/* The header of the file against the plan: 0, or -1 and a sentence, which is
   reported. forward: the file says of itself what it is. */
int check_header(check *c, job *j, const checkpoint *existing, int forward,
                 mxo_text why);
/* Judge the remainder, then put every report into its place; EXIT_PASS,
   EXIT_BROKEN or that the job was stopped.  has_changed: files did meanwhile,
   and no report is of a whole comparison. */
int check_end(check *c, int has_changed);

#endif
