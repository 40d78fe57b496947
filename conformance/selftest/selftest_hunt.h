/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choice and order of the cases for a device of a zoo.  Only cases that the
 * faultless device passes count, so that a mutant is never "caught" by a case
 * that is red for everybody.
 */
#ifndef MXO_SELFTEST_HUNT_H
#define MXO_SELFTEST_HUNT_H

#include "selftest.h"

/* The cases of the grids, and how far they are known. */
typedef struct case_pool {
    case_list cases; /* small ones first */
    size_t n_small;  /* with inputs of at most 4096 elements */
    uint8_t *said;   /* owned: of each, what the faultless device did */
    uint32_t *kills; /* owned: by each, of the mutants of killers.def */
    size_t n_passed; /* by the faultless device, as far as it was asked */
    worker_pool *faultless; /* owned: device 0 */
} case_pool;

/* One of several equal shares of the cases that a device is put to. */
typedef struct case_share {
    uint64_t number; /* from 0 */
    uint64_t of;
} case_share;

/* Fate of one device. */
typedef struct hunt {
    uint64_t n; /* cases asked */
    int red;
    uint64_t at;      /* place in the pool of the first red one */
    case_item killer; /* that case; its text is borrowed */
    verdict first;    /* its verdict, without detail */
} hunt;

/* Order the cases and allocate the rest. 0, or -1 without memory. */
int case_pool_begin(case_pool *pool);
void case_pool_clear(case_pool *pool);

/*
 * Until something is red that the faultless device passes: the case of
 * killers.def; cases that the mutant's description points at; what kills other
 * mutants of the operation in that table, most first; the operation's other
 * cases, small ones first; everybody else's. 0, or -1 if the harness failed; so
 * the others.
 */
int hunt_mutant(case_pool *pool, worker_pool *c, const mutant *m, hunt *h);

/* Whether a hunt says anything: the faultless device passes a case.
   It is asked until one is known. */
int hunt_concludes(case_pool *pool, const hunt *h);

/* A legal variant: one in part of its operation's cases (where that is not all,
   of large ones one in four parts), and some of all others'; a share of them.
 */
int hunt_legal(case_pool *pool, worker_pool *c, const mutant *m, uint64_t part,
               const case_share *share, hunt *h);

/* The faultless device itself: one in part of all cases; a share of them. */
int hunt_faultless(case_pool *pool, uint64_t part, const case_share *share,
                   hunt *h);

#endif
