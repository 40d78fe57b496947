/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes with the logical tensor before the layout: rows one late, one column
   for four, bytes with their nibbles swapped. */
#ifndef MXO_LAYOUT_SOURCE_MISTAKE_H
#define MXO_LAYOUT_SOURCE_MISTAKE_H

#include "mistake.h"

/* One sentence without a full stop; 0: none of them gives the actual bytes. */
int source_mistake(const layout_evidence *e, char *text, size_t size);

#endif
