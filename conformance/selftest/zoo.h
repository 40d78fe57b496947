/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zoo and the cases that its devices are put to.  What becomes of a device
 * depends on nothing but the cases: not on other devices, nor on their order.
 */
#ifndef MXO_SELFTEST_ZOO_H
#define MXO_SELFTEST_ZOO_H

#include "selftest.h"
#include "selftest_hunt.h"

typedef struct zoo {
    const backend_ref *ref;
    int level; /* of the grids */
    uint64_t seed;
    uint64_t legal_part; /* of a legal variant's cases one in so many */
    double timeout_s;    /* processor time of a case */
    case_pool pool;      /* owned */
} zoo;

/* One that is to be judged. */
typedef struct zoo_device {
    int number;
    mutant m; /* its fault, as it describes it */
} zoo_device;

/* Its cases: the grids' of the operations that the backend has.  EXIT_PASS, or
   another status and a sentence on standard error; so the others. */
int zoo_plan(zoo *z);
void zoo_clear(zoo *z);

/* The description of a device's fault; EXIT_SKIP if there is no such device. */
int zoo_identify(const zoo *z, int device, mutant *m);

/* Shares that its cases are cut into: several for one that takes all of them,
   1 for a mutant, whose next case depends on the last. */
uint64_t zoo_shares(const zoo *z, const zoo_device *device);

/* What becomes of a device by a share of its cases. */
int zoo_judge(zoo *z, int device, const case_share *share, hunt *h);

#endif
