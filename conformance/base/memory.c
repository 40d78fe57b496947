/* SPDX-License-Identifier: Apache-2.0 */
/* See memory.h. */
#include "memory.h"

#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *needed(void *memory)
{
    if (memory == NULL) {
        (void)fputs("mxoracle: out of memory\n", stderr);
        exit(EXIT_BROKEN);
    }
    return memory;
}

void *memory_need(size_t n_bytes)
{
    return needed(malloc(n_bytes > 0 ? n_bytes : 1));
}

void *memory_need_more(void *memory, size_t n_bytes)
{
    return needed(realloc(memory, n_bytes));
}

void *memory_need_zeros(size_t n, size_t element_bytes)
{
    return needed(calloc(n > 0 ? n : 1, element_bytes));
}

char *memory_need_text(const char *text)
{
    return needed(strdup(text));
}
