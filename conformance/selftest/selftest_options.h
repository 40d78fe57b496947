/* SPDX-License-Identifier: Apache-2.0 */
/* The options of mxoracle selftest. */
#ifndef MXO_SELFTEST_OPTIONS_H
#define MXO_SELFTEST_OPTIONS_H

#include "report/report_set.h"

typedef struct selftest_options {
    const char *backend;
    const char *class_glob;
    const char *id_glob;
    const char *kind; /* NULL: both */
    int level;
    int jobs;            /* processes that judge */
    uint64_t legal_part; /* of a legal variant's cases one in so many */
    uint64_t seed;
    double timeout_s;
    double budget_s;
    int quiet;
    report_options reports;
    int is_tap; /* on standard output, in words of its own */
} selftest_options;

/* Strings are borrowed from argv. Returns -1 to go on, else the exit status. */
int selftest_options_parse(selftest_options *o, int argc, char **argv);

#endif
