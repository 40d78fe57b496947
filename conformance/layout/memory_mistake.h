/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mistakes that show in memory alone, whatever the layout is: nothing was
 * written, a tail is missing, a nibble is lost, experts are in another order.
 */
#ifndef MXO_LAYOUT_MEMORY_MISTAKE_H
#define MXO_LAYOUT_MEMORY_MISTAKE_H

#include "pair.h"

/* One sentence without a full stop; 0 if none of them fits. */
int memory_mistake(const pair *p, char *text, size_t size);

#endif
