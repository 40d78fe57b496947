/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key "flaw" of a case, NAME.TARGET: a call that would be good, but for
 * one thing that must be refused before anything is read or written.  The
 * faults are the rows of invalid_calls.def; the target is a tensor, a dimension
 * or a parameter of the operation.
 */
#ifndef MXO_CASE_INVALID_H
#define MXO_CASE_INVALID_H

#include "test_case.h"

typedef enum invalid_kind {
#define MXO_INVALID_CALL(name, on, status, what) INVALID_##name,
#include "invalid_calls.def"
#undef MXO_INVALID_CALL
    N_INVALID
} invalid_kind;

typedef struct case_invalid {
    invalid_kind kind;
    mxo_status status;  /* OK: SHAPE or PARAM */
    const char *target; /* borrowed from the case; "" of the call itself */
    const char *what;
} case_invalid;

/* 0, or -1 and a sentence: c->flaw is none, or there is nothing that it could
   be done to. */
int case_check_invalid(const test_case *c, mxo_text why);

/* The fault of a call that has one: c->flaw is not empty. */
case_invalid case_invalid_of(const test_case *c);

#endif
