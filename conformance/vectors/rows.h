/* SPDX-License-Identifier: Apache-2.0 */
/* Running rows of the table on one file. */
#ifndef MXO_VECTORS_ROWS_H
#define MXO_VECTORS_ROWS_H

#include "findings.h"
#include "judge/judge.h"
#include "vectors/map/map.h"

/* One file on its way through the table. */
typedef struct judging {
    judge *j;        /* oracle and subject, open */
    uint32_t n_rows; /* of the table, that were used */
    scope scope;
    findings found;
} judging;

/* Run every row of this operation that fits, and compare its outputs; -1 where
   a row that could not run, which is found, left no sense in the rest. */
int rows_run(judging *j, const map_row *rows, const char *op);

#endif
