/* SPDX-License-Identifier: Apache-2.0 */
/* A subject's own clock held against the judge's: docs/exec-protocol.md. */
#ifndef MXO_EXEC_CLOCK_CHECK_H
#define MXO_EXEC_CLOCK_CHECK_H

#include <mxoracle/abi.h>

/* One request: runs, what the subject says, what passed here. */
typedef struct timed {
    uint32_t repeat;
    double seconds;
    double wall;
} timed;

/* The request that was checked last, and what each further run took by the
   clock here; 0: too little to say. */
typedef struct clock_check {
    uint64_t request;
    double wall;
} clock_check;

/* The text of a reply: DEVICE and a sentence if it is no time, or longer than
   what passed. */
mxo_status timed_read(timed *t, const char *text, mxo_text why);
/* Whether this request differs from the one checked last, by a digest. */
int clock_check_is_due(clock_check *c, uint64_t request);
/* How many runs to ask for after a request of few. */
uint32_t clock_check_repeat(const timed *few);
/* Do more runs take more time by both clocks alike? */
mxo_status clock_check_weigh(clock_check *c, const timed *few,
                             const timed *many, mxo_text why);
/* Do the next ones, too? */
mxo_status clock_check_hold(const clock_check *c, const timed *t, mxo_text why);

#endif
