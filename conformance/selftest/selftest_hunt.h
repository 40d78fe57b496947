/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choice and order of the cases for a device of a zoo.  Only cases that the
 * faultless device passes count, so that a mutant is never "caught" by a case
 * that is red for everybody.
 */
#ifndef MXO_SELFTEST_HUNT_H
#define MXO_SELFTEST_HUNT_H

#include "selftest.h"

/* Cases that the faultless device passes. */
typedef struct case_pool {
    case_list small;
    case_list large; /* outputs of more than 4096 elements */
    uint32_t *kills; /* by each small case; owned */
    size_t n_kills;
} case_pool;

/* Fate of one device. */
typedef struct hunt {
    uint64_t n; /* cases asked */
    int red;
    case_item killer; /* the first red one; its text is borrowed */
    verdict first;    /* its verdict, without detail */
    void (*tick)(void *state, const char *case_text); /* or NULL */
    void *state;
} hunt;

void case_pool_clear(case_pool *pool);

/* Ask all cases and add to the pool what passes. 0, or -1 if the harness
   failed; so the others. */
int hunt_faultless(case_pool *pool, crew *c, const case_list *cases, hunt *h);

/* When a mutant is asked a case. */
typedef enum hunt_stage {
    HUNT_NEAR, /* killers.def or its description name it */
    HUNT_OWN,  /* it is of its operation */
    HUNT_OTHER
} hunt_stage;

hunt_stage hunt_stage_of(const mutant *m, const char *case_text);

/*
 * Until something is red: the case of killers.def; cases that the mutant's
 * description points at; what killed other mutants of the operation, most
 * first; the operation's other cases, small ones first; everybody else's.
 */
int hunt_mutant(case_pool *pool, crew *c, const mutant *m, hunt *h);

/* A legal variant: one in part of its operation's cases, and of every other one
   the first and some more. */
int hunt_legal(const case_pool *pool, crew *c, const mutant *m, uint64_t part,
               hunt *h);

#endif
