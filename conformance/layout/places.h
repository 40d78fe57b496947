/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few bytes of the actual memory, looked at before a whole tensor is moved:
 * nearly every mistake that was not made is seen there.
 */
#ifndef MXO_LAYOUT_PLACES_H
#define MXO_LAYOUT_PLACES_H

#include "mistake.h"

/* Which element of the logical tensor stands at element i; NULL: i itself. */
typedef struct layout_source {
    uint64_t (*at)(const struct layout_source *how, uint64_t i);
    const layout_evidence *e;
    int axis;
    int move;
    uint64_t distance;
} layout_source;

/* Choose e->place: some spread evenly, some among the first and last wrong
   ones. */
void places_choose(layout_evidence *e);
/* 0: the layout, applied to these bytes, does not give the actual ones. */
int places_fit(const layout_evidence *e, const char *layout,
               const uint8_t *bytes, const layout_source *source);

#endif
