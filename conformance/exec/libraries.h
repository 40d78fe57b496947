/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that a plugin's process has loaded, as it tells them in its hello:
 * a thin plugin whose work is done by a library that it links is another
 * subject when that library is built anew.
 */
#ifndef MXO_EXEC_LIBRARIES_H
#define MXO_EXEC_LIBRARIES_H

#include <jansson.h>

/* Add what is loaded now to an object that is made if there is none: by path
   device, inode, size and time of writing.  A file that has changed since it
   was noted has both; one that was replaced while the loader read it is told as
   the new one. */
void libraries_note(json_t **noted);
/* Give it to a hello, with a digest of what is loaded and not the system's,
   which is the same on another machine. */
void libraries_tell(json_t **noted, json_t *hello);
/* A path that both hellos have, as two files; NULL: there is none. */
const char *libraries_other(const json_t *hello, const json_t *again);
/* Do both say the same besides? */
int libraries_alone_differ(const json_t *hello, const json_t *again);

#endif
