/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input of every form of report, and the numbers they share.  Results
 * arrive in the order of the plan, whatever order workers finish in.
 */
#ifndef MXO_REPORT_H
#define MXO_REPORT_H

#include "base/strbuf.h"
#include "judge/verdict.h"
#include "run/backends.h"

#include <jansson.h>
#include <stdio.h>

/* One backend of the run. */
typedef struct backend_info {
    char name[BACKEND_NAME];
    char version[128];
    char device[256];
    char driver[256];
    char left[256];    /* what loading it changed; "": nothing, or unknown */
    char code[20];     /* digest of what its process loaded; "": unknown */
    char why_not[512]; /* not "": its cases are skipped or in error, and why */
    verdict_status absent; /* SKIP or ERROR, if why_not is not "" */
    int is_given;          /* by --plugin or --exec */
} backend_info;

typedef struct report_result {
    const backend_info *backend;
    const char *case_text; /* "*" stands for all n_cases of a missing backend */
    const char *op;        /* NULL: what stands before ':' in case_text */
    const char *calls;     /* of a vector: the calls it makes; NULL: none */
    uint64_t index;        /* in the plan of the whole run, all shards */
    verdict_status judged; /* before a baseline expected anything */
    uint64_t n_cases;
    uint64_t seed;
    int has_no_seed; /* a line about an operation, not one of its cases */
    const verdict *v;
    const char *change; /* since an older run, "newly red"; NULL or "": none */
    char repro[10240];
} report_result;

/* Cases of one backend and operation, by status and by rule. */
enum { TALLY_RULES = 6, TALLY_REASON = 192 };

typedef struct tally_row {
    char backend[BACKEND_NAME];
    char op[64];
    uint64_t n[N_VERDICTS];
    uint64_t n_refused;    /* passes of calls that have no answer */
    uint64_t n_declined;   /* unsupported though the operation is offered */
    uint64_t n_undeclared; /* and though no declared limit says so */
    char rule[TALLY_RULES][64]; /* of what passed or failed */
    uint64_t n_by_rule[TALLY_RULES];
    uint64_t n_unknown_kernel;
    verdict_use use; /* of bounds, over all cases */
} tally_row;

/* A status and reason that is not a pass, with how often it was met. */
typedef struct tally_reason {
    char backend[BACKEND_NAME];
    verdict_status status;
    char reason[TALLY_REASON];
    uint64_t n;
} tally_reason;

typedef struct tally {
    uint64_t n[N_VERDICTS];
    uint64_t n_lines; /* results: one for all cases of an absent backend */
    size_t n_rows;
    size_t n_reasons;
    tally_row *row;       /* owned */
    tally_reason *reason; /* owned; skip and unsupported only */
    json_t *reasons;      /* owned: their places, until a report sorts them */
} tally;

void tally_add(tally *t, const report_result *r);
/* Answers that were judged, right or wrong: a refusal is none. */
uint64_t tally_row_judged(const tally_row *row);
/* Does it decline of the operation what no limits of its declare?  Then v is
   red and says so. */
int tally_row_undeclared(const tally_row *row, verdict *v);
/* Has it declined whatever it was asked of the operations that it offers? */
int tally_is_declined(const tally *t, const char *backend);
void tally_clear(tally *t);
uint64_t tally_total(const tally *t);
uint64_t tally_red(const tally *t);
uint64_t tally_row_red(const tally_row *row);
/* NULL if nothing of the operation was asked of the backend. */
tally_row *tally_row_of(const tally *t, const char *backend, const char *op);
/* Neither passed nor red. */
uint64_t tally_left_out(const tally *t);

typedef struct report_run {
    const char *command; /* "run", "verify", .. */
    const char *version;
    const char *compiler;
    char machine[256];   /* "name, x86_64, 2 cores"; of shards all, "a; b" */
    char os[256];        /* "Linux 6.1.0" */
    char build[24];      /* of a stored run; "": this program's */
    char started[24];    /* UTC, "2026-01-31T23:59:59Z" */
    double start_s;      /* monotonic */
    const char *stopped; /* why before the end; NULL: it was not */
    uint64_t shard;      /* from 1; 0: not a shard */
    uint64_t n_shards;
    char plan[24];        /* digest of all cases, whatever the shard */
    const char *options;  /* those that bear on a verdict, of a journal; */
    const char *subjects; /* digest of the files that are judged */
    const char *baseline; /* file; NULL: none */
    const struct baseline *expected; /* its content; NULL: none */
    const struct changes *changes;   /* since an older run; NULL: none */
    char seeds[64];                  /* "1", "1..4" */
    int level;                       /* 0: the cases are of no grid */
    uint64_t n_planned;              /* results, as of a tally's n_lines */
    int may_lack; /* a backend may turn out absent: fewer results */
    int n_backends;
    const backend_info *backends;
    uint64_t max_fail;
    int verbose; /* -1 quiet, 0, 1 every case */
    int color;
    const char *also; /* others' rules to name, "a,b" or "all"; NULL: none */
} report_run;

const char *report_compiler(void); /* that built this program */
/* Program, command and time of the begin; the rest is zero. */
void report_run_begin(report_run *run, const char *command);
/* Digest of the program that ran; reads all of it, so only who prints it asks.
 */
const char *report_run_build(const report_run *run);
double report_run_seconds(const report_run *run);
/* The backend of that name, added to the run where it is not there; infos are
   those of the run and have room for BACKEND_MAX. */
const backend_info *report_run_backend(report_run *run,
                                       backend_info infos[BACKEND_MAX],
                                       const char *name);
/* The operation of a result. */
void report_op(const report_result *r, char *op, size_t size);

typedef struct reporter reporter;

/* begin once, result for every case in order, end once. */
struct reporter {
    void (*begin)(reporter *r, const report_run *run);
    void (*result)(reporter *r, const report_result *result);
    void (*end)(reporter *r, const tally *t);
    FILE *out; /* borrowed */
    const report_run *run;
    void *state; /* the form's own; freed by end */
};

extern const reporter report_text;
extern const reporter report_matrix;
extern const reporter report_tap;
extern const reporter report_junit;
extern const reporter report_json;
extern const reporter report_html;

/* "mxoracle: 1 of 1284 failed, 96 skipped, seed 1" */
void report_last_words(strbuf *b, const report_run *run, const tally *t);
/* The same and a newline, folded on a terminal. */
void report_last_line(FILE *out, const report_run *run, const tally *t);

#endif
