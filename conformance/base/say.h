/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences for people.  A caller lends a buffer; whoever refuses writes one
 * line into it.  Names from hostile files end up here, so control characters
 * never do.
 */
#ifndef MXO_SAY_H
#define MXO_SAY_H

#include <mxoracle/abi.h>

#include <stddef.h>

/* Write the sentence and return status, so that a check is one statement. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
mxo_status
say(mxo_status status, mxo_text why, const char *format, ...);

/* Replace by '?' what is not UTF-8, and characters that move a cursor, end a
   line or change the direction of writing. */
void say_printable(char *text);
/* The same, but newlines and tabs stay. */
void say_printable_lines(char *text);
/* As much of a text as there is room for, in whole characters. */
void say_copy(char *to, size_t size, const char *from);
/* Is there nothing that say_printable() replaces? */
int say_is_printable(const char *text);

#endif
