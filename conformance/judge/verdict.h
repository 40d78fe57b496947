/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdict of the judge on one case on one backend.  It travels from worker
 * to parent as a line of JSON, and to every report.
 */
#ifndef MXO_VERDICT_H
#define MXO_VERDICT_H

#include <jansson.h>
#include <stdint.h>

typedef enum verdict_status {
    VERDICT_PASS,
    VERDICT_FAIL,
    VERDICT_CRASH,
    VERDICT_TIMEOUT,
    VERDICT_VACUOUS,
    VERDICT_ERROR,
    VERDICT_SKIP,
    VERDICT_UNSUPPORTED,
    VERDICT_EXPECTED,
    N_VERDICTS
} verdict_status;

/* Elements by the share of their bound that they need: none, up to 1/64, 1/16,
   1/4, 1/2, all of it, more. */
enum { VERDICT_BINS = 7 };
typedef struct verdict_use {
    uint64_t n[VERDICT_BINS];
    double most; /* the largest share */
} verdict_use;

typedef struct verdict {
    verdict_status status;
    uint64_t n_diff; /* elements of outputs */
    uint64_t n_total;
    double ms;
    double oracle_ms; /* of the oracle's first run */
    char reason[512]; /* one sentence; "" on a pass */
    char tensor[64];  /* of the first difference; "" if there is none */
    char index[96];   /* "[16,0]" */
    char want[64];    /* bit patterns in hexadecimal */
    char got[64];
    char kind[64];     /* of the failure, stable under shrinking */
    char rule[64];     /* loosest rule used: "bits", "exact_nan", ... */
    char kernel[256];  /* "" if the backend cannot tell */
    char called[192];  /* how its second run was: "with a stream" */
    char also[192];    /* of a failure: others' rules that accept it */
    char before[1024]; /* of a failure: cases that must go before it */
    char beside[64];   /* of a failure: the other operation that it takes */
    int limits;        /* 1: another case, within declared limits, was judged;
                          2: the case lies outside and was not asked */
    verdict_use use;   /* all zero if bits were compared */
    char *asked;       /* owned; where that is 1, the case; NULL otherwise */
    char *map;    /* owned; JSON: where an output is wrong; NULL if it is not */
    char *detail; /* owned; lines without a last newline; NULL if none */
} verdict;

const char *verdict_name(verdict_status status); /* "pass" */
/* 0, or -1 if there is no status of that name. */
int verdict_by_name(const char *name, verdict_status *status);
/* Does this status make the exit code 1? */
int verdict_is_red(verdict_status status);
void verdict_clear(verdict *v);

/* Status, kind and the sentence. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void verdict_conclude(verdict *v, verdict_status status, const char *kind,
                      const char *format, ...);

/* A copy with texts of its own. */
void verdict_copy(verdict *to, const verdict *from);

/* The first of both that is red, else a pass; more is released. */
void verdict_keep_red(verdict *v, verdict *more);

/* A JSON string; bytes that are not UTF-8 become question marks. */
json_t *verdict_text_json(const char *text);

/* JSON object with every field; NULL without memory. */
json_t *verdict_to_json(const verdict *v);
/* How much of its bounds a verdict used, from "most" and "bins" of an object.
 */
void verdict_use_from_json(verdict_use *use, const json_t *o);
/* 0, or -1 if the object is not one that verdict_to_json made. */
int verdict_from_json(verdict *v, const json_t *object);

#endif
