/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a subject prints: a pipe that is read as it comes, of which the first
 * bytes and the last are kept.
 */
#ifndef MXO_EXEC_NOISE_H
#define MXO_EXEC_NOISE_H

#include "base/strbuf.h"

#include <stdint.h>

enum { NOISE_KEPT = 16 << 10 /* from either end */ };

typedef struct noise_pipe {
    int file; /* to be read; does not wait */
    strbuf first;
    strbuf last;
    uint64_t n_dropped; /* bytes between the two */
} noise_pipe;

/* Read the output so far.  What is printed without end is not waited for: a
   pipe holds 1 MiB at most. */
void noise_take(noise_pipe *n);
/* All of it since noise_clear(), without a last newline. */
void noise_say(const noise_pipe *n, strbuf *lines);
void noise_clear(noise_pipe *n);

#endif
