/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reds grouped by cause: one backend and operation, the same sentence but for
 * its numbers, and the same class of shapes (whole blocks of 32, or ragged).
 */
#ifndef MXO_CAUSES_H
#define MXO_CAUSES_H

#include "report.h"

typedef struct cause {
    char backend[BACKEND_NAME];
    char op[96];
    verdict_status status;
    char sentence[512]; /* numbers as # */
    int is_ragged;
    uint64_t n;
    uint64_t index;  /* of the first case, as all that follows */
    char *case_text; /* owned, as the rest */
    char *reason;
    char *detail;
    char *repro;
    char *map; /* where it is wrong; see verdict.h */
} cause;

typedef struct cause_list {
    size_t n;
    cause *cause;  /* owned */
    json_t *place; /* owned: in the list by what makes it one, until sorted */
} cause_list;

/* Nothing if the result is not red. */
void causes_add(cause_list *l, const report_result *r);
/* Most cases first, then by backend, operation and sentence. */
void causes_sort(cause_list *l);
void causes_clear(cause_list *l);
/* "510 reds, 3 causes:" and a block for each, at most so many. */
void causes_print(FILE *out, cause_list *l, size_t limit);
/* "ragged sizes" */
const char *cause_class(const cause *c);

#endif
