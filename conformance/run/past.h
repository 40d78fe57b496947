/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last calls of a subject's process, to find out what a red one needs: a
 * case that is right in a process of its own is judged again behind those that
 * went before it, so that its line of repro names them.
 */
#ifndef MXO_PAST_H
#define MXO_PAST_H

#include "open_judge.h"

typedef struct past past;

/* A case that was judged; all borrowed. */
typedef struct past_call {
    opened_judge *by;
    const test_case *c;
    uint64_t seed;
} past_call;

/* NULL without memory, and nothing is kept. */
past *past_create(void);
void past_destroy(past **p);

/* If the verdict is red and needs calls before it, they go to v->before; the
   call is kept.  NULL keeps and finds nothing. */
void past_find(past *p, const past_call *now, verdict *v);

#endif
