/* SPDX-License-Identifier: Apache-2.0 */
/* One sentence into a caller's buffer.  See say.h. */
#include "say.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the character at p, which is UTF-8; 0: it is not. */
static size_t decode(const unsigned char *p, uint32_t *c)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    static const uint8_t sizes[] = {1, 1, 1, 1, 1, 1, 1, 1, /* high nibble */
                                    0, 0, 0, 0, 2, 2, 3, 4};
    const size_t n = *p < 0xf8 ? sizes[*p >> 4] : 0;

    *c = n == 1 ? *p : *p & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        *c = *c << 6 | (p[i] & 0x3f);
    }
    return *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000) ? 0
                                                                           : n;
}

/* Moves a terminal's cursor, ends a line, or turns what follows around. */
static int is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c < 0x202f) ||
           (c >= 0x2066 && c < 0x206a) || c == 0x200e || c == 0x200f ||
           c == 0x61c;
}

static void replace_controls(char *text, const char *kept)
{
    char *to = text;

    for (const char *from = text; *from != '\0';) {
        uint32_t c;
        const size_t n = decode((const unsigned char *)from, &c);

        if (n == 1 && strchr(kept, *from) != NULL) {
            *to++ = *from;
        } else if (n == 0 || is_control(c)) {
            *to++ = '?';
        } else {
            memmove(to, from, n);
            to += n;
        }
        from += n == 0 ? 1 : n;
    }
    *to = '\0';
}

int say_is_printable(const char *text)
{
    size_t n = 1;
    uint32_t c = ' ';

    while (*text != '\0' && n > 0 && !is_control(c)) {
        n = decode((const unsigned char *)text, &c);
        text += n;
    }
    return n > 0 && !is_control(c);
}

void say_copy(char *to, size_t size, const char *from)
{
    size_t n = strlen(from);

    if (n >= size) {
        n = size - 1;
        while (n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80) {
            n--; /* the first byte that is left out begins a character */
        }
    }
    memcpy(to, from, n);
    to[n] = '\0';
}

void say_printable(char *text)
{
    replace_controls(text, "");
}

void say_printable_lines(char *text)
{
    replace_controls(text, "\n\t");
}

mxo_status say(mxo_status status, mxo_text why, const char *format, ...)
{
    va_list args;

    if (why.ptr != NULL && why.size > 0) {
        va_start(args, format);
        (void)vsnprintf(why.ptr, why.size, format, args);
        va_end(args);
        say_printable(why.ptr);
    }
    return status;
}
