/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes that build the tree once more set MXORACLE_PART=N (ci/part): of what
 * is drawn by the thousand they ask one in N.
 */
#ifndef MXO_UNIT_PART_H
#define MXO_UNIT_PART_H

#include <stdint.h>
#include <stdlib.h>

static inline uint32_t unit_part(void)
{
    const char *text = getenv("MXORACLE_PART");
    const int n = text == NULL ? 1 : atoi(text);

    return n < 1 ? 1 : (uint32_t)n;
}

/* Is the i-th of what is counted asked? */
static inline int unit_asks(uint32_t i)
{
    return i % unit_part() == 0;
}

#endif
