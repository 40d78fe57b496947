/* SPDX-License-Identifier: Apache-2.0 */
/* Two blobs of one tensor, the right one and the wrong one. */
#ifndef MXO_LAYOUT_PAIR_H
#define MXO_LAYOUT_PAIR_H

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
} pair;

/* Are the right bytes as many as the layout has for the shape, and any at all?
   1, else 0 and a sentence: there is nothing to compare. */
int pair_is_whole(const pair *p, mxo_text why);

/* Of a pair that is whole: say where they differ and which mistake it is; 0:
   they are equal wherever the vendor defines them. */
int diagnose_pair(pair *p);

/* Two lines on byte `at` of memory: its digits, and the element that belongs
   there. */
void layout_place(const pair *p, uint64_t at, strbuf *out);

#endif
