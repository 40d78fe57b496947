/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows.  After a failed allocation it stays as it is: reports
   lose a line rather than the run. */
#ifndef MXO_STRBUF_H
#define MXO_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

typedef struct strbuf {
    char *text; /* owned; NULL while empty */
    size_t used;
    size_t size;
} strbuf;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void strbuf_add(strbuf *b, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 0)))
#endif
void strbuf_add_list(strbuf *b, const char *format, va_list args);
void strbuf_clear(strbuf *b);
/* The text, never NULL; borrowed. */
const char *strbuf_text(const strbuf *b);

#endif
