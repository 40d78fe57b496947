/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes with runs of bytes in memory: a tile that is repeated, tiles in the
   order of columns, experts too far apart. */
#ifndef MXO_LAYOUT_BLOCK_MISTAKE_H
#define MXO_LAYOUT_BLOCK_MISTAKE_H

#include "pair.h"

#include <stddef.h>

/* One sentence without a full stop; 0: none of them gives the actual bytes. */
int block_mistake(const pair *p, char *text, size_t size);

#endif
