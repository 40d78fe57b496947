/* SPDX-License-Identifier: Apache-2.0 */
/* See strbuf.h. */
#include "strbuf.h"

#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(strbuf *b, size_t more)
{
    const size_t need = b->used + more + 1;

    if (need > b->size) {
        b->size = 2 * need;
        b->text = memory_need_more(b->text, b->size);
    }
}

void strbuf_add_list(strbuf *b, const char *format, va_list args)
{
    va_list again;

    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);

    if (n >= 0) {
        reserve(b, (size_t)n);
        (void)vsnprintf(b->text + b->used, (size_t)n + 1, format, again);
        b->used += (size_t)n;
    }
    va_end(again);
}

void strbuf_add(strbuf *b, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    strbuf_add_list(b, format, args);
    va_end(args);
}

void strbuf_clear(strbuf *b)
{
    free(b->text);
    memset(b, 0, sizeof *b);
}

const char *strbuf_text(const strbuf *b)
{
    return b->text == NULL ? "" : b->text;
}
