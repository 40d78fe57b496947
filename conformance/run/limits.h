/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a subject declared that it takes (docs/exec-protocol.md, "Limits"), and
 * which cases are then to be asked.
 */
#ifndef MXO_LIMITS_H
#define MXO_LIMITS_H

#include "case/case_text.h"

#include <jansson.h>

/* Is it what the protocol says? 0, or -1 and a sentence. */
int limits_check(const json_t *limits, mxo_text why);
/* Is anything declared of the operation? NULL declares nothing. */
int limits_speak_of(const json_t *limits, const char *op);
/* Does the case lie within? */
int limits_allow(const json_t *limits, const test_case *c);

typedef enum limits_place {
    LIMITS_WITHIN,
    LIMITS_NEAR,   /* another shape lies within */
    LIMITS_OUTSIDE /* none does */
} limits_place;

/* Where the case lies; NEAR: it has the nearest such shape now. */
limits_place limits_find(const json_t *limits, test_case *c);

#endif
