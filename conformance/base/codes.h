/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a number format's bit patterns, for people to read and for
 * filling inputs.  Verdicts compare patterns and never come here.  A second
 * decoder on purpose: a report does not lean on the oracle it reports about.
 */
#ifndef MXO_CODES_H
#define MXO_CODES_H

#include <stdint.h>

typedef struct code_format {
    const char *name; /* "e2m1" */
    int bits;
    int mbits;
    int bias;
    char special; /* 'n' none, 'f' FN, 'z' FNUZ, 'i' IEEE, 'e' E8M0, '8' int8 */
} code_format;

/* NULL if the name is not that of a number format. */
const code_format *code_format_by_name(const char *name);
/* The value of a code; NAN and infinities included. */
double code_value(const code_format *f, uint64_t code);
int code_is_nan(const code_format *f, uint64_t code);
/* Largest finite magnitude code of a float format. */
uint64_t code_last_finite(const code_format *f);
/* The code nearest to x, which is no NaN; ties to even; beyond the range the
   last finite.  Not for E8M0 and int8. */
uint64_t code_nearest(const code_format *f, double x);

#endif
