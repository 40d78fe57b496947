/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test of the judge.  A zoo is a backend each of whose devices makes one
 * small wrong change and says so in place of a driver:
 *   "ID CLASS OPERATION: what is wrong (source)"
 * where OPERATION may be followed by (WORD), which stands in the cases that are
 * worth asking first.  Device 0 has no fault.  Each device is judged on the
 * published cases; it must come out red, those of class Legal must not.
 */
#ifndef MXO_SELFTEST_H
#define MXO_SELFTEST_H

#include "report/report_set.h"
#include "run/worker_pool.h"

enum { SELFTEST_MAX_CLASSES = 16 };

typedef struct mutant {
    char id[16];
    char class_name[32];
    char op[OP_WORD];
    char near[OP_WORD]; /* "" if no cases come first */
    char what[160];
    int legal;
} mutant;

/* Fate of one mutant. */
typedef struct mutant_fate {
    const mutant *m;
    int red;
    uint64_t n_cases;      /* judged until then */
    const char *case_text; /* the first red one; borrowed */
    uint64_t seed;
    const verdict *v; /* of that case */
} mutant_fate;

typedef struct class_score {
    char name[32];
    int legal;
    int n;
    int n_red;
} class_score;

typedef struct selftest_score {
    int n_classes;
    class_score classes[SELFTEST_MAX_CLASSES];
} selftest_score;

/* 0, or -1 if the text is not of that form. */
int mutant_parse(mutant *m, const char *text);

/* As it should be: red if it is wrong, green if it is legal. */
int fate_is_good(const mutant_fate *f);
/* Count it; 0 if there is no room for its class. */
int score_add(selftest_score *s, const mutant_fate *f);
/* Mutants (legal = 0) or legal variants: how many, how many came out red. */
void score_total(const selftest_score *s, int legal, int *n, int *n_red);

/* On standard output, as text or as TAP. */
void selftest_report(int is_tap, const mutant_fate *f, int number);
void selftest_summary(int is_tap, const selftest_score *s, size_t n_cases,
                      const char *stopped);
/* The fate in the words of all reports: a mutant that is caught passes. The
   backend is not set. */
void selftest_result(const mutant_fate *f, int good, report_result *r,
                     verdict *v);

#endif
