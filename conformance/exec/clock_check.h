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

/* The call that was checked last. */
typedef struct clock_check {
    char op[64];
    uint64_t n_bytes;
} clock_check;

/* The text of a reply: DEVICE and a sentence if it is no time, or longer than
   what passed. */
mxo_status timed_read(timed *t, const char *text, mxo_text why);
/* Whether this call differs from the one checked last. */
int clock_check_is_due(clock_check *c, const char *op, uint64_t n_bytes);
/* How many runs to ask for after a request of few. */
uint32_t clock_check_repeat(const timed *few);
/* Do more runs take more time by both clocks alike? */
mxo_status clock_check_weigh(const timed *few, const timed *many, mxo_text why);

#endif
