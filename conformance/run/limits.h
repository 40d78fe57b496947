/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits that a subject declared (docs/exec-protocol.md, "Limits"), and the
 * cases to ask within them.
 */
#ifndef MXO_LIMITS_H
#define MXO_LIMITS_H

#include "case/case_text.h"
#include "device/device_under_test.h"

#include <jansson.h>

/* Check against the protocol: 0, or -1 and a sentence. */
int limits_check(const json_t *limits, mxo_text why);
/* Whether anything is declared of the operation; NULL declares nothing. */
int limits_speak_of(const json_t *limits, const char *op);
/* Does it take calls of the operation alone that have an answer? */
int limits_legal_only(const json_t *limits, const char *op);
/* Does the case lie within? */
int limits_allow(const json_t *limits, const test_case *c);

typedef enum limits_place {
    LIMITS_WITHIN,
    LIMITS_NEAR,   /* one with other sizes and parameters lies within */
    LIMITS_OUTSIDE /* none does */
} limits_place;

/* Where the case lies; NEAR: it has the nearest sizes within now, and where a
   parameter had its default and that is not taken, a value that is, with which
   the oracle has an answer.  is_drawn: whatever value it had. */
limits_place limits_find(const json_t *limits, subject *oracle, int is_drawn,
                         test_case *c);

#endif
