/* SPDX-License-Identifier: Apache-2.0 */
/* See grown.h. */
#include "grown.h"

#include "memory.h"

enum { FIRST = 16, PARTS = 16 };

void *grown(void *list, size_t n, size_t element_bytes)
{
    size_t step = FIRST;

    while (step <= n / PARTS / 2) {
        step *= 2;
    }
    if (n % step != 0) {
        return list; /* the last step left room */
    }
    return memory_need_more(list, (n + step) * element_bytes);
}
