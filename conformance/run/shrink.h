/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest case found that fails in the same way.  Dimensions go down to
 * the smallest legal size, parameters to their defaults, then data is blanked
 * from both ends; a step is kept only if the kind of failure stays.  A case
 * draws the other operation beside it by its sizes: what takes one keeps that.
 */
#ifndef MXO_SHRINK_H
#define MXO_SHRINK_H

#include "worker_pool.h"

#include "base/progress.h"
#include "case/case_text.h"

/* Calls that never end which making one small may cost: each takes all of the
   time that a call has. */
enum { SHRINK_HANGS = 6 };

typedef struct shrinking {
    worker_pool *c;     /* borrowed */
    progress *progress; /* borrowed; NULL: nobody looks */
    uint64_t seed;
    test_case best;       /* in: what fails; out: the smallest */
    char beside[OP_WORD]; /* the operation beside it; "": as it draws it; out:
                             the one that the failure takes */
    uint64_t n_hangs;     /* that were waited for, at most SHRINK_HANGS */
    char kind[sizeof((verdict *)0)->kind]; /* out: how it fails */
    uint64_t n_tried;
    uint64_t n_kept;
} shrinking;

/* The status of the case as it was given; it is made smaller if that is
   red. */
verdict_status shrink_case(shrinking *h);

#endif
