/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports of one run: at most one on standard output and one file of each
 * form.  Every command that judges takes the same four options.
 */
#ifndef MXO_REPORT_SET_H
#define MXO_REPORT_SET_H

#include "report.h"
#include "report_file.h"

typedef enum report_form {
    REPORT_JSON,
    REPORT_TAP,
    REPORT_JUNIT,
    REPORT_HTML,
    N_REPORT_FORMS
} report_form;

typedef struct report_options {
    int on_stdout[N_REPORT_FORMS];
    const char *file[N_REPORT_FORMS]; /* NULL: none */
} report_options;

typedef struct report_set {
    int n;
    reporter r[N_REPORT_FORMS + 1];
    report_file file[N_REPORT_FORMS + 1];
} report_set;

/* Take --json, --tap, --junit or --html (path NULL or "-": standard output).
   -1 to go on, or EXIT_USAGE after a sentence: it is there already. */
int report_option(report_options *o, report_form form, const char *path);
/* Two reports to one place? EXIT_PASS, or EXIT_USAGE after a sentence. */
int report_options_check(const report_options *o);
/* Do two names mean one file, which may not be there yet? Never of devices. */
int report_same_place(const char *a, const char *b);
/* Would a report replace this file, which is read? The same; NULL: none. */
int report_options_spare(const report_options *o, const char *path);
int report_options_stdout(const report_options *o); /* a form on it? */

/* Open all; text is the form of standard output if no other is asked for
   (NULL: the command writes it itself). EXIT_PASS or EXIT_USAGE. */
int report_set_open(report_set *s, const report_options *o,
                    const reporter *text);
void report_set_begin(report_set *s, const report_run *run);
void report_set_result(report_set *s, const report_result *r);
void report_set_end(report_set *s, const tally *t);
/* Every file into its place. EXIT_PASS, or EXIT_BROKEN after a sentence. */
int report_set_close(report_set *s);
/* Leave the files as they were. */
void report_set_abandon(report_set *s);

#endif
