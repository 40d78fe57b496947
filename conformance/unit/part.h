/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of what is drawn by the thousand a test asks a part: make check one in as
 * many as the test says, all with WHOLE=1 (ci/nightly), and lanes that build
 * the tree once more, with MXORACLE_PART=N (ci/part), one in N of make check's.
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

/* The step over what ci/nightly asks one by one; make check's is usual. */
static inline uint32_t unit_step(uint32_t usual)
{
    return (getenv("WHOLE") != NULL ? 1 : usual) * unit_part();
}

/* Is the i-th of what is counted asked? */
static inline int unit_asks(uint32_t i)
{
    return i % unit_part() == 0;
}

#endif
