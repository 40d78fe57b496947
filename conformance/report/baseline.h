/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baseline of a run: known failures, each with its reason and a link to its
 * issue, and the number of cases of each backend and operation that must be
 * judged.  A text file, one entry a line, sorted:
 *
 *     mxoracle-baseline 1
 *     cover BACKEND OPERATION CASES
 *     fail BACKEND SEED CASE | REASON | LINK | KIND
 *
 * where fail may also be crash, timeout, vacuous or error.  KIND is that of the
 * failure in a report; without it any is expected.  Lines that start with # are
 * comments.
 */
#ifndef MXO_BASELINE_H
#define MXO_BASELINE_H

#include "report.h"

#include <jansson.h>

typedef struct baseline_entry {
    unsigned line;
    int is_cover;
    char backend[BACKEND_NAME];
    char op[64];     /* of cover */
    uint64_t n;      /* of cover */
    char *case_text; /* owned; of failures, as the rest */
    uint64_t seed;
    verdict_status status;
    char *reason;  /* owned */
    char *link;    /* owned */
    char kind[64]; /* "": any */
} baseline_entry;

typedef struct baseline {
    const char *path; /* borrowed */
    size_t n;
    baseline_entry *entry; /* owned */
    json_t *by_case;       /* owned: place in entry by backend, seed, case */
    json_t *by_operation;  /* owned: of cover, by backend and operation */
} baseline;

/* 0, or -1 and a sentence with the line that is at fault. */
int baseline_read(baseline *b, const char *path, mxo_text why);
void baseline_clear(baseline *b);

/*
 * The verdict in the light of this baseline, whatever another said: red that is
 * expected becomes VERDICT_EXPECTED; a pass that is not, another way of failing
 * and red that nobody expects are red, each in its own words.
 */
void baseline_judge(baseline *b, report_result *r, verdict *v);

/* What was judged, whatever a baseline made of it.  Of a failure that was
   expected only the kind is left, which is then its reason, too. */
void baseline_undo(report_result *r, verdict *v);

/* Whether too few cases of entry i were judged; v is then red and says so. */
int baseline_lost(const baseline *b, size_t i, const tally *t, verdict *v);
/* The verdict on an expected failure, entry i, whose case is in no grid. */
void baseline_lost_case(const baseline *b, size_t i, verdict *v);
/* Cases that the baseline requires of a backend and operation; 0: none. */
uint64_t baseline_required(const baseline *b, const char *backend,
                           const char *op);

/* The header line of a file. */
extern const char baseline_magic[];

#endif
