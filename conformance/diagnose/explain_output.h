/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output explained by what it should be: elements, rows and columns that are
 * elsewhere, missing or repeated.  What is said holds of every element.
 */
#ifndef MXO_EXPLAIN_OUTPUT_H
#define MXO_EXPLAIN_OUTPUT_H

#include "judge/judge.h"

/* Is it all zero? */
int explain_nothing(const evidence *e, char *text, size_t size);

/* 0: nothing that is known. */
int explain_output(const evidence *e, char *text, size_t size);

#endif
