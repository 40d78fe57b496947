/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Few combinations that meet all: every pair, or every three, of values of
 * different axes stands in one of them.
 */
#ifndef MXO_COVER_H
#define MXO_COVER_H

#include <stdint.h>

enum { COVER_AXES = 48, COVER_MOST = 3 };

typedef struct cover cover;

/* strength: 1 to COVER_MOST, at most n_axes; size: values of each axis, at
   least 1; owned by the caller.  NULL: no memory. */
cover *cover_new(int strength, int n_axes, const uint64_t *size);
/* The next combination, one number for each axis; 0: all are met. */
int cover_next(cover *c, uint64_t *choice);
void cover_free(cover *c);

#endif
