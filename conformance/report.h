/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every form of report is told, and the numbers they share.  Results
 * arrive in the order of the plan, whatever order workers finish in.
 */
#ifndef MXO_REPORT_H
#define MXO_REPORT_H

#include "backends.h"
#include "verdict.h"

#include <stdio.h>

/* One backend of the run. */
typedef struct backend_info {
    char name[BACKEND_NAME];
    char version[128];
    char device[256];
    char driver[256];
    char why_not[512]; /* not "": its cases are skipped or in error, and why */
    verdict_status absent;     /* SKIP or ERROR, if why_not is not "" */
    char plugin[BACKEND_PATH]; /* given by --plugin; "" otherwise */
} backend_info;

typedef struct report_result {
    const backend_info *backend;
    const char *case_text; /* "*" stands for all n_cases of a missing backend */
    uint64_t n_cases;
    uint64_t seed;
    const verdict *v;
    char repro[1536];
} report_result;

/* Cases of one backend and operation, by status and by rule. */
enum { TALLY_RULES = 6 };

typedef struct tally_row {
    char backend[BACKEND_NAME];
    char op[64];
    uint64_t n[N_VERDICTS];
    uint64_t n_refused;  /* passes of calls that have no answer */
    uint64_t n_declined; /* unsupported though the operation is offered */
    char rule[TALLY_RULES][64]; /* of what passed or failed */
    uint64_t n_by_rule[TALLY_RULES];
    uint64_t n_unknown_kernel;
    verdict_use use; /* of bounds, over all cases */
} tally_row;

/* A status and reason that is not a pass, with how often it was met. */
typedef struct tally_reason {
    char backend[BACKEND_NAME];
    verdict_status status;
    char reason[192];
    uint64_t n;
} tally_reason;

typedef struct tally {
    uint64_t n[N_VERDICTS];
    size_t n_rows;
    size_t n_reasons;
    tally_row *row;       /* owned */
    tally_reason *reason; /* owned; skip and unsupported only */
} tally;

void tally_add(tally *t, const report_result *r);
/* Answers that were judged, right or wrong: a refusal is none. */
uint64_t tally_row_judged(const tally_row *row);
/* Has it declined whatever it was asked of the operations that it offers? */
int tally_is_declined(const tally *t, const char *backend);
void tally_clear(tally *t);
uint64_t tally_total(const tally *t);
uint64_t tally_red(const tally *t);
/* Neither passed nor red. */
uint64_t tally_left_out(const tally *t);

typedef struct report_run {
    const char *version;
    const char *compiler;
    char seeds[64]; /* "1", "1..4" */
    int level;      /* 0: cases were given */
    uint64_t n_planned;
    int n_backends;
    const backend_info *backends;
    uint64_t max_fail;
    int verbose; /* -1 quiet, 0, 1 every case */
    int color;
    const char *also; /* others' rules to name, "a,b" or "all"; NULL: none */
} report_run;

typedef struct reporter reporter;

/* begin once, result for every case in order, end once. */
struct reporter {
    void (*begin)(reporter *r, const report_run *run);
    void (*result)(reporter *r, const report_result *result);
    void (*end)(reporter *r, const tally *t);
    FILE *out; /* borrowed, or owned if close_out */
    int close_out;
    const report_run *run;
    void *state; /* the form's own; freed by end */
};

extern const reporter report_text;
extern const reporter report_tap;
extern const reporter report_junit;
extern const reporter report_json;

/* "mxoracle: 1 of 1284 failed, 96 skipped, seed 1" */
void report_last_line(FILE *out, const report_run *run, const tally *t);

#endif
