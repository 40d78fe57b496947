/* SPDX-License-Identifier: Apache-2.0 */
/* Two blobs of one tensor, the right one and the wrong one. */
#ifndef MXO_LAYOUT_PAIR_H
#define MXO_LAYOUT_PAIR_H

#include "base/progress.h"
#include "base/strbuf.h"

#include <mxoracle/abi.h>

#include <stdint.h>

typedef struct pair {
    const char *name;
    const char *layout;
    uint32_t dtype; /* logical */
    uint64_t extent[3];
    const uint8_t *expected;
    const uint8_t *actual;
    uint64_t n; /* bytes of each */
    /* Where sizes were rounded up: row r is live if r % period < live[0], a
       column below live[1]. period 0: not known. */
    uint64_t live[2];
    uint64_t period;
    progress *progress; /* borrowed; counts what was tried; NULL: none */
} pair;

/* Are the right bytes as many as the layout has for the shape, and any at all?
   1, else 0 and a sentence: there is nothing to compare. */
int pair_is_whole(const pair *p, mxo_text why);

/* Of a pair that is whole: lines that say where they differ and which mistake
   it is, and the mistake alone; 0: they are equal wherever the vendor defines
   them. */
int pair_compare(const pair *p, strbuf *out, char *mistake, size_t size);
/* The same on standard output. */
int diagnose_pair(const pair *p);
/* Is this layout the pair's own by another name, at its shape? */
int pair_is_laid_out_as(const pair *p, const char *layout);

/* Two lines on byte `at` of memory: its digits, and the element that belongs
   there. */
void layout_place(const pair *p, uint64_t at, strbuf *out);

#endif
