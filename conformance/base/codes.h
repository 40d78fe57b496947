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

typedef enum code_format_number {
    CODE_E2M1,
    CODE_E2M3,
    CODE_E3M2,
    CODE_E4M3,
    CODE_E4M3FN,
    CODE_E4M3FNUZ,
    CODE_E5M2,
    CODE_E5M2FNUZ,
    CODE_F16,
    CODE_BF16,
    CODE_F32,
    CODE_F64,
    CODE_E8M0,
    CODE_INT8,
    CODE_FORMATS
} code_format_number;

extern const code_format code_formats[CODE_FORMATS];

/* NULL if the name is not that of a number format.  For every element it is
   slow: name the format's number there. */
const code_format *code_format_by_name(const char *name);
/* The value of a code; NAN and infinities included. */
double code_value(const code_format *f, uint64_t code);
int code_is_nan(const code_format *f, uint64_t code);
/* x times 2^exponent, as ldexp has it, for every element of a large input. */
double code_scaled(double x, int exponent);
/* Largest finite magnitude code of a float format. */
uint64_t code_last_finite(const code_format *f);
/* The code nearest to x, which is no NaN; ties to even; beyond the range the
   last finite.  Not for E8M0 and int8. */
uint64_t code_nearest(const code_format *f, double x);

#endif
