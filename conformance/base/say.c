/* SPDX-License-Identifier: Apache-2.0 */
/* One sentence into a caller's buffer.  See say.h. */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

void say_printable(char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f) {
            *text = '?';
        }
    }
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
