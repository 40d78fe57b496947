/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coverage of a hunt: cases per group, and of layouts the lengths
 * of pads and the values of digits that the cases drawn had, each counted.
 */
#ifndef MXO_HUNT_SEEN_H
#define MXO_HUNT_SEEN_H

#include "draw/draw.h"
#include "draw/granule.h"
#include "judge/verdict.h"

#include <stdio.h>

enum { SEEN_PADS = 4096 }; /* longer pads are counted as one */

typedef struct seen_axis {
    uint64_t longest; /* extent met */
    uint64_t longest_pad;
    uint8_t *pad; /* owned: lengths of pad that were met */
    axis_digits digits;
    uint8_t *value[GRANULE_MOST]; /* owned: values of each digit that an
                                     element had */
} seen_axis;

typedef struct seen_group {
    uint64_t n;
    uint64_t n_judged;   /* passes and reds */
    uint64_t n_declined; /* unsupported */
    int is_absent;       /* the subject has no such operation */
    uint64_t n_red;
    int is_layout; /* 0: not yet asked, 1, -1: no layout */
    seen_axis axis[3];
} seen_group;

typedef struct seen {
    uint32_t n;
    seen_group *group; /* owned; as in the plan */
} seen;

/* 0, or -1 without memory. */
int seen_begin(seen *s, const draw_plan *p);
void seen_case(seen *s, uint32_t group, const test_case *c);
void seen_verdict(seen *s, uint32_t group, const verdict *v);
void seen_print(const seen *s, const draw_plan *p, FILE *out);
void seen_clear(seen *s);

#endif
