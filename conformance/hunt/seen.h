/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hunt has been through: cases per group, and of layouts the lengths
 * of pads and the digits that took each of their values.
 */
#ifndef MXO_HUNT_SEEN_H
#define MXO_HUNT_SEEN_H

#include "draw/draw.h"
#include "judge/verdict.h"

#include <stdio.h>

typedef struct seen_axis {
    uint64_t granule; /* the largest; 0: none */
    uint64_t longest; /* extent met */
    uint8_t *rest;    /* owned: extents modulo the granule that were met */
} seen_axis;

typedef struct seen_group {
    uint64_t n;
    uint64_t n_judged;   /* passes and reds */
    uint64_t n_declined; /* unsupported */
    uint64_t n_red;
    int is_layout; /* 0: not yet asked, 1, -1: it has no granules */
    seen_axis axis[3];
} seen_group;

typedef struct seen {
    uint32_t n;
    seen_group *group; /* owned; as in the plan */
} seen;

/* 0, or -1 without memory. */
int seen_begin(seen *s, const draw_plan *p);
void seen_case(seen *s, uint32_t group, const test_case *c);
void seen_verdict(seen *s, uint32_t group, verdict_status status);
void seen_print(const seen *s, const draw_plan *p, FILE *out);
void seen_clear(seen *s);

#endif
